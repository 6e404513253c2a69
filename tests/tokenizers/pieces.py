"""Drives tokenizers_program_pieces, which answers for many tokenizers in one process, with random
texts and ids beside the tokenizers library's own tokenizers.

ATHANOR_TEXT_CASES sets the number of random texts (default 6,000), ATHANOR_TEXT_SEED the seed.
"""
import json
import os
import subprocess

PROGRAM = os.path.join(os.environ.get("ATHANOR_PROGRAMS", "build/tests"),
                       "tokenizers_program_pieces")
CASES = int(os.environ.get("ATHANOR_TEXT_CASES", "6000"))
SEED = int(os.environ.get("ATHANOR_TEXT_SEED", "0"))
TEXTS = 50  # per tokenizer

RANGES = [(0x20, 0x7F), (0x20, 0x7F), (0x41, 0x5B), (0, 0x20), (0x7F, 0x100), (0x100, 0x250),
          (0x300, 0x370), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00),
          (0xE00, 0x1000), (0x1100, 0x1200), (0x1AB0, 0x1B00), (0x1DC0, 0x1E00), (0x1E00, 0x2000),
          (0x2000, 0x2070), (0x20A0, 0x2190), (0x2460, 0x2500), (0x3000, 0x3100),
          (0x3100, 0x3400), (0x4E00, 0x5000), (0xA640, 0xA6A0), (0xAC00, 0xAD00), (0xD7B0, 0xD800),
          (0xE000, 0xE010), (0xF900, 0xFB00), (0xFB00, 0xFB50), (0xFDF0, 0xFFFF),
          (0x10000, 0x10100), (0x11000, 0x11A00), (0x1D150, 0x1D200), (0x1D400, 0x1D450),
          (0x1F1E0, 0x1F200), (0x1F300, 0x1F700), (0x20000, 0x20100), (0x2F800, 0x2FA20),
          (0xE0000, 0xE0200), (0, 0x110000)]


def random_character(source):
    while True:
        c = source.randrange(*source.choice(RANGES))
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def serve(requests):
    done = subprocess.run([PROGRAM], input="\n".join(requests).encode() + b"\n",
                          capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().split("\n")[:-1]


def encoded(line):
    if line.startswith("!"):
        return line
    tokens = [item.split(":") for item in line.split(" ")[:-1]]
    return [(bytes.fromhex(t).decode(), int(s), int(e)) for t, s, e in tokens]


def ask(verb, source, folder, count, tokenizer_of, question_of, words_of):
    """Asks about TEXTS random questions of each of so many random tokenizers; gives tokenizer,
    question and the line that answers it."""
    requests, cases = [], []
    for number in range(count):
        tokenizer = tokenizer_of(source)
        path = folder / f"{number}.json"
        path.write_text(tokenizer.to_str())
        questions = [question_of(source) for _ in range(TEXTS)]
        requests.append(f"{verb} {path} " + " ".join(map(words_of, questions)))
        cases += [(tokenizer, question) for question in questions]
    answers = serve(requests)
    assert len(answers) == len(cases)
    return [(*case, line) for case, line in zip(cases, answers)]


def ask_encodings(source, folder, count, tokenizer_of, text_of):
    return ask("encode", source, folder, count, tokenizer_of, text_of,
               lambda text: text.encode().hex())


def ask_decodings(source, folder, count, tokenizer_of, ids_of):
    return ask("decode", source, folder, count, tokenizer_of, ids_of,
               lambda ids: ",".join(map(str, ids)))


def report(differences):
    lines = [f"{len(differences)} differences"]
    for tokenizer, text, theirs, ours in sorted(differences, key=lambda d: len(d[1]))[:6]:
        state = json.loads(tokenizer.to_str())
        lines += [json.dumps([state["normalizer"], state["pre_tokenizer"]]), ascii(text),
                  "  reference " + ascii(theirs), "  ours      " + ascii(ours)]
    return "\n".join(lines)
