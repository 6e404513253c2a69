"""Training of tokenizers beside `tokenizers` and SentencePiece: each a process of its own, in turn,
with its start and all its reading and writing.

    compare_training.py [--input FILE | --megabytes N] [--models bpe,wordpiece,unigram]
                        [--peers tokenizers,sentencepiece] [--vocab-size N] [--threads N]
                        [--rounds N] [--python venv/bin/python] [--athanor build/athanor]

Without --input the text is all of ../shared/data/text, N megabytes of it (default 10); where that
is not enough it begins again, each line with its number before it: new words come with the numbers,
as they would in other text. On a machine that others use as well, look at the processor seconds.
Also says whether the merges of BPE are those of `tokenizers`."""
import argparse
import bz2
import gzip
import itertools
import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing import Process
from pathlib import Path

OPENERS = {".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open}


def shared_lines():
    folder = Path(os.environ.get("ATHANOR_SHARED", "../shared")) / "data" / "text"
    for path in sorted(folder.iterdir()):
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            text = file.read().decode("utf-8", "replace").replace("\0", "")
        yield from (line for line in text.split("\n") if line.strip())


def write_text(path, size):
    lines, written = list(shared_lines()), 0
    with open(path, "wb") as file:
        for number, line in enumerate(itertools.cycle(lines)):
            data = (f"{number} {line}\n" if number >= len(lines) else line + "\n").encode()
            if written + len(data) > size:
                return
            written += file.write(data)


def measured(command):
    """Seconds by the clock, of processors, and the peak of memory in MB of a command."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    messages = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(messages)
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def commands(options, model, text, folder):
    made = {"athanor": [options.athanor, "tokenizer", "train", "--model", model, "--input", text,
                        "--vocab-size", options.vocab_size, "--threads", options.threads,
                        "--output", folder / "athanor"]}
    for peer in options.peers.split(","):
        if peer and not (peer == "sentencepiece" and model == "wordpiece"):
            made[peer] = [options.python, Path(__file__).with_name("peer_train.py"), peer, model,
                          text, options.vocab_size, options.threads, folder / peer]
    return {name: list(map(str, command)) for name, command in made.items()}


def compare(options, model, text, folder):
    found = {}
    for _ in range(options.rounds):
        for name, command in commands(options, model, text, folder).items():
            found.setdefault(name, []).append(measured(command))
    medians = {name: [statistics.median(c) for c in zip(*runs)] for name, runs in found.items()}
    ours = medians["athanor"]
    for name, (seconds, processor, memory) in medians.items():
        print(f"{model:9}  {name:13}  {seconds:8.2f} s  {processor:8.2f} s of processors  "
              f"{memory:6.0f} MB  {seconds / ours[0]:6.1f} ×  {processor / ours[1]:6.1f} ×",
              flush=True)
    if model == "bpe" and "tokenizers" in found:
        files = [folder / "athanor" / "tokenizer.json", folder / "tokenizers.json"]
        merges = [json.loads(file.read_text())["model"]["merges"] for file in files]
        print(f"{len(merges[0])} merges,", "equal" if merges[0] == merges[1] else "NOT EQUAL")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--models", default="bpe,wordpiece,unigram")
    parser.add_argument("--peers", default="tokenizers,sentencepiece")
    parser.add_argument("--vocab-size", type=int, default=32000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--athanor", default="build/athanor")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, text = Path(name), options.input
        if text is None:
            text = folder / "text.txt"
            writer = Process(target=write_text, args=(text, int(options.megabytes * 1e6)))
            writer.start() # its memory would count as that of the programs started later
            writer.join()
        print(f"{os.path.getsize(text) / 1e6:.1f} MB, vocabulary {options.vocab_size}, "
              f"{options.threads} threads; seconds by the clock, ratios to ours at the end")
        for model in options.models.split(","):
            compare(options, model, text, folder)


main()
