"""Preparing data, text to shards, beside the Hugging Face example's way (datasets' map, then
tf.io.TFRecordWriter), in turn, so that a drift of the machine's speed touches both.

    PYTHON bench/compare_prepare.py [--threads 1] [--rounds 3] [--length 128]
        [--tokenizers roberta-base,bert-base-uncased,t5-small] [--peer-megabytes 4]

PYTHON needs tests/requirements.txt and `pip install datasets`; ours is build/athanor. Texts and
tokenizers are given, in ../shared/data: the articles' text of Wikipedia of 2014, 20 MB. We prepare
all of it, with start and loading; the peer its first megabytes, without: its imports take seconds.
Speeds are megabytes of text a second on the processors (of a core), and by the clock."""
import argparse
import gzip
import lzma
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parents[1]
parser = argparse.ArgumentParser()
parser.add_argument("--athanor", default=str(root / "build/athanor"))
parser.add_argument("--shared", type=pathlib.Path, default=root / "../shared/data")
parser.add_argument("--folder", type=pathlib.Path, default=root / "build/bench_prepare")
parser.add_argument("--tokenizers", default="roberta-base,bert-base-uncased,t5-small")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--length", type=int, default=128)
parser.add_argument("--peer-megabytes", type=float, default=4)
parser.add_argument("--no-peer", action="store_true")
arguments = parser.parse_args()
arguments.folder.mkdir(parents=True, exist_ok=True)


def make_texts():
    """The whole text, and the beginning of it for the peer."""
    name = arguments.shared / "text" / "enwiki-2014-20MB.wikiextractor.txt.xz"
    text = lzma.open(name, "rt", encoding="utf-8").read()
    lines = [line for line in text.split("\n") if line and not line.startswith(("<doc", "</doc"))]
    whole, part = arguments.folder / "text.txt", arguments.folder / "part.txt"
    whole.write_text("\n".join(lines) + "\n", encoding="utf-8")
    beginning = whole.read_bytes()[:int(arguments.peer_megabytes * 1e6)]
    part.write_bytes(beginning[:beginning.rindex(b"\n") + 1])
    return whole, part


def tokenizer_file(name):
    path = arguments.folder / name / "tokenizer.json"
    path.parent.mkdir(exist_ok=True)
    with gzip.open(arguments.shared / "tokenizers" / name / "tokenizer.json.gz") as packed:
        path.write_bytes(packed.read())
    return path


def emptied(name):
    folder = arguments.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def ours(text, tokenizer):
    """Seconds by the clock and on processors."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [arguments.athanor, "data", "prepare", "--tokenizer", tokenizer, "--input", text,
         "--output", emptied("ours"), "--max-length", str(arguments.length),
         "--validation-split-percentage", "0", "--threads", str(arguments.threads)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(process.stderr.read().decode())
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


def peer(text, tokenizer):
    done = subprocess.run(
        [sys.executable, root / "bench/peer_prepare.py", text, tokenizer, emptied("peer"),
         str(arguments.length), str(arguments.threads)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return tuple(map(float, done.stdout.split()[-2:]))


def shown(values):
    return f"{statistics.median(values):.4g} ({min(values):.4g} - {max(values):.4g})"


whole, part = make_texts()
print(f"{arguments.threads} thread(s), records of {arguments.length} tokens, "
      f"{arguments.rounds} rounds: median (range)")
for name in arguments.tokenizers.split(","):
    tokenizer = tokenizer_file(name)
    speeds = {"clock": ([], []), "processors": ([], [])}
    for _ in range(arguments.rounds):
        runs = [(ours(whole, tokenizer), whole)]
        if not arguments.no_peer:
            runs.append((peer(part, tokenizer), part))
        for who, (seconds, text) in enumerate(runs):
            for kind, value in zip(speeds, seconds):
                speeds[kind][who].append(text.stat().st_size / 1e6 / value)
    for kind, (mine, other) in speeds.items():
        line = f"{name}, by the {kind}: MB/s {shown(mine)}"
        if other:
            ratios = [a / b for a, b in zip(mine, other)]
            line += f"; datasets and TensorFlow {shown(other)}; ratio {shown(ratios)}"
        print(line, flush=True)
