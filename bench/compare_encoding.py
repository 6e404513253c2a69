"""Encoding speed beside tokenizers, SentencePiece and tiktoken, all in one run, in turn, so that a
drift of the machine's speed touches all: a table of medians with their spread, and of ratios.

    PYTHON bench/compare_encoding.py [--threads 1] [--rounds 5] [--clock processor|wall]
        [--tokenizers gpt2,bert-base-uncased,t5-small] [--texts english,chinese,source,emoji]

PYTHON needs `pip install tokenizers sentencepiece tiktoken protobuf`; ours is build/athanor. The
tokenizers and the prose are given, in ../shared/data; what is made of them goes into --folder:

  english  Wikipedia of 2014, the articles' text (20 MB)
  chinese  Chinese Wikipedia, the articles' text (3 MB)
  source   the modules of Python's standard library, and this project's files in C
  emoji    film reviews of SST-2, a sentence a line, with emoji between one word in three and the
           next: plain, with skin colours, joined families, flags

Each library encodes the lines as one batch, once, in a process of its own: caches are new. We
encode all of a text, the peers its first megabytes (--peer-megabytes), as their speed does not
depend on it. By --clock processor a speed is bytes / (processor seconds / threads), which other
work on the machine disturbs little; by --clock wall it is what a user sees.
Last comes one line of 100 MB, all `a`, which only we are given: others take hours for it."""
import argparse
import base64
import collections
import gzip
import json
import lzma
import os
import pathlib
import random
import statistics
import subprocess
import sys
import sysconfig

root = pathlib.Path(__file__).resolve().parents[1]
parser = argparse.ArgumentParser()
parser.add_argument("--athanor", default=str(root / "build/athanor"))
parser.add_argument("--shared", type=pathlib.Path, default=root / "../shared/data")
parser.add_argument("--folder", type=pathlib.Path, default=root / "build/bench_encoding")
parser.add_argument("--tokenizers", default="gpt2,bert-base-uncased,t5-small")
parser.add_argument("--texts", default="english,chinese,source,emoji")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--clock", default="processor", choices=["processor", "wall"])
parser.add_argument("--peer-megabytes", type=float, default=2)
parser.add_argument("--repeated-megabytes", type=int, default=100)
arguments = parser.parse_args()
arguments.folder.mkdir(parents=True, exist_ok=True)
OTHERS = {"gpt2": "tiktoken", "roberta-base": "tiktoken", "t5-small": "spm"}
NAMES = {"tiktoken": "tiktoken", "spm": "SentencePiece"}


# --- texts ------------------------------------------------------------------------------------


def articles(name):
    text = lzma.open(arguments.shared / "text" / name, "rt", encoding="utf-8").read()
    return [line for line in text.split("\n") if line and not line.startswith(("<doc", "</doc"))]


def source():
    folder = pathlib.Path(sysconfig.get_paths()["stdlib"])
    paths = sorted(folder.glob("*.py")) + sorted((root / "src").rglob("*.[ch]"))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths).split("\n")


def emoji(draw):
    plain = [*range(0x1F300, 0x1F650), *range(0x1F680, 0x1F6D0), *range(0x1F90C, 0x1FA00)]
    kind = draw.random()
    if kind < 0.7:
        return "".join(chr(draw.choice(plain)) for _ in range(draw.choice([1, 1, 2, 3])))
    if kind < 0.8:
        return chr(draw.choice([0x1F44D, 0x1F44B, 0x1F64F])) + chr(draw.randrange(0x1F3FB, 0x1F400))
    if kind < 0.9:
        return "\u200d".join(chr(draw.choice([0x1F468, 0x1F469, 0x1F467])) for _ in range(3))
    return "".join(chr(0x1F1E6 + draw.randrange(26)) for _ in range(2)) + "\u2764\ufe0f"


def reviews_with_emoji():
    draw = random.Random(1)
    rows = gzip.open(arguments.shared / "sst2/train.tsv.gz", "rt", encoding="utf-8")
    for row in rows:
        words = row.split("\t")[0].split()
        yield " ".join(word + " " + emoji(draw) if draw.random() < 1 / 3 else word
                       for word in words)


TEXTS = {"english": lambda: articles("enwiki-2014-20MB.wikiextractor.txt.xz"),
         "chinese": lambda: articles("zhwiki-4MB.wikiextractor.txt.xz"),
         "source": source,
         "emoji": lambda: list(reviews_with_emoji())}


def write_text(name):
    """A text, and the lines that begin it for the peers."""
    whole, part = arguments.folder / f"{name}.txt", arguments.folder / f"{name}-part.txt"
    data = "\n".join(TEXTS[name]()).encode()
    whole.write_bytes(data)
    part.write_bytes(data[:int(arguments.peer_megabytes * 1e6)].rpartition(b"\n")[0])
    return whole, part


# --- tokenizers -------------------------------------------------------------------------------


def write_tokenizer(name):
    path = arguments.folder / name / "tokenizer.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.open(arguments.shared / f"tokenizers/{name}/tokenizer.json.gz").read())
    return path


def write_model(path):
    """The Unigram of a tokenizer.json as SentencePiece's own file, to encode to the same ids."""
    from sentencepiece import sentencepiece_model_pb2 as format
    file = json.load(open(path, encoding="utf-8"))
    model = format.ModelProto()
    special = {token["content"] for token in file["added_tokens"]}
    for place, (piece, score) in enumerate(file["model"]["vocab"]):
        kind = format.ModelProto.SentencePiece.NORMAL
        if place == file["model"]["unk_id"]:
            kind = format.ModelProto.SentencePiece.UNKNOWN
        elif piece in special:
            kind = format.ModelProto.SentencePiece.CONTROL
        model.pieces.add(piece=piece, score=score, type=kind)
    model.trainer_spec.model_type = format.TrainerSpec.UNIGRAM
    model.trainer_spec.unk_id = file["model"]["unk_id"]
    model.trainer_spec.bos_id = -1
    model.normalizer_spec.precompiled_charsmap = base64.b64decode(
        file["normalizer"]["precompiled_charsmap"])
    made = path.with_suffix(".model")
    made.write_bytes(model.SerializeToString())
    return made


# --- measuring --------------------------------------------------------------------------------


def speed(command):
    """Megabytes per second, by the clock that was chosen."""
    ran = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True,
                         check=True, env=dict(os.environ, OMP_WAIT_POLICY="passive"))
    found = json.loads(ran.stdout.splitlines()[-1])
    seconds = found["seconds"]
    if arguments.clock == "processor":
        seconds = found["processor_seconds"] / arguments.threads
    return found["bytes"] / 1e6 / seconds


def ours(tokenizer, path):
    return [arguments.athanor, "tokenizer", "bench", "--tokenizer", tokenizer, "--input", path,
            "--threads", arguments.threads, "--json"]


def peer(library, model, path):
    return [sys.executable, root / "bench/peer_encode.py", library, model, path, arguments.threads]


def show(values, digits=0):
    middle = statistics.median(values)
    return f"{middle:.{digits}f} ({min(values):.{digits}f} – {max(values):.{digits}f})"


def one_round(tokenizer, files, commands, found):
    """Of all that is measured, each once, in turn."""
    for text, (whole, part) in files.items():
        us = speed(ours(tokenizer.parent, whole))
        peers = {library: speed(peer(library, model, part)) for library, model in commands}
        found[text, "us"].append(us)
        found[text, "hf"].append(max(peers["hf"], peers["hf_fast"]))
        found[text, "ratio"].append(us / found[text, "hf"][-1])
        for library in peers.keys() & NAMES.keys():
            found[text, library].append(peers[library])
            found[text, "other"].append(us / peers[library])


def compare(name, files):
    tokenizer = write_tokenizer(name)
    commands = [("hf", tokenizer), ("hf_fast", tokenizer)]
    other = OTHERS.get(name)
    if other is not None:
        commands.append((other, write_model(tokenizer) if other == "spm" else tokenizer))
    found = collections.defaultdict(list)
    for _ in range(arguments.rounds):
        one_round(tokenizer, files, commands, found)
    for text in files:
        row = [name, text, show(found[text, "us"]), show(found[text, "hf"], 2),
               show(found[text, "ratio"])]
        row += ["–", "–"] if other is None else [
            f"{NAMES[other]} {show(found[text, other], 1)}", show(found[text, "other"], 1)]
        print("| " + " | ".join(row) + " |", flush=True)


def repeated(name, path):
    tokenizer = arguments.folder / name
    speeds = [speed(ours(tokenizer, path)) for _ in range(min(arguments.rounds, 3))]
    print(f"| {name} | {arguments.repeated_megabytes} MB of `a` | {show(speeds)} | | | | |",
          flush=True)


files = {name: write_text(name) for name in arguments.texts.split(",")}
sizes = ", ".join(f"{name} {paths[0].stat().st_size / 1e6:.1f} MB" for name, paths in files.items())
print(f"MB/s, threads: {arguments.threads}, clock: {arguments.clock}, rounds: {arguments.rounds};"
      f" median (least – most)\n{sizes}; the peers' part {arguments.peer_megabytes} MB\n")
print("| tokenizer | text | Athanor | `tokenizers` | times | best other | times |")
print("|---|---|---|---|---|---|---|")
for name in arguments.tokenizers.split(","):
    compare(name, files)
letters = arguments.folder / "letters.txt"
with open(letters, "wb") as out:
    for _ in range(arguments.repeated_megabytes):
        out.write(b"a" * 1_000_000)
for name in arguments.tokenizers.split(","):
    repeated(name, letters)
letters.unlink()
