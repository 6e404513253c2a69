"""Drives the program's tokenizer commands, a line of text in, an object out."""
import json
import os
import subprocess

ATHANOR = os.environ.get("ATHANOR", "build/athanor")
PROGRAM = os.path.join(os.environ.get("ATHANOR_PROGRAMS", "build/tests"),
                       "tokenizers_program_encode")
SHARED = os.environ.get("ATHANOR_SHARED", "../shared")


def run(*arguments, data=b""):
    """Runs the program; gives its exit code, output and messages."""
    done = subprocess.run([ATHANOR, *map(str, arguments)], input=data, capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def succeed(*arguments, data=b""):
    code, output, messages = run(*arguments, data=data)
    assert code == 0, messages
    return output


def lines_of(texts):
    """The bytes of these texts as lines; none may hold a line feed or end in a carriage return."""
    for text in texts:
        assert "\n" not in text and not text.endswith("\r")
    return "".join(text + "\n" for text in texts).encode()


def encode(tokenizer, texts, *options):
    output = succeed("tokenizer", "encode", "--tokenizer", tokenizer, "--json", *options,
                     data=lines_of(texts))
    answers = [json.loads(line) for line in output.decode().split("\n")[:-1]]
    assert len(answers) == len(texts)
    return answers


def decode(tokenizer, ids, *options):
    """The texts of lists of ids, whose tokens hold no line feed."""
    data = "".join(" ".join(map(str, i)) + "\n" for i in ids).encode()
    output = succeed("tokenizer", "decode", "--tokenizer", tokenizer, *options, data=data)
    return output.decode().split("\n")[:-1]


def differences(reference, tokenizer, texts):
    """The texts whose ids, tokens or offsets are not those of a tokenizers.Tokenizer."""
    found = []
    for text, ours in zip(texts, encode(tokenizer, texts)):
        theirs = reference.encode(text)
        expected = {"ids": theirs.ids, "tokens": theirs.tokens,
                    "offsets": [list(o) for o in theirs.offsets]}
        if ours != expected:
            found.append((text, expected, ours))
    return found


# What program_encode.c takes as "flags".
SPECIAL, TRUNCATE, WINDOWS, REPAIR = 1, 128, 256, 512


def ask(path, questions):
    """The answers of program_encode.c to a list of questions."""
    data = "".join(json.dumps(question) + "\n" for question in questions).encode()
    done = subprocess.run([PROGRAM, str(path)], input=data, capture_output=True)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    answers = [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
    assert len(answers) == len(questions)
    return answers
