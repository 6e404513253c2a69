"""Running the program as a person or a script does, and the small things its tests work with."""
import json
import os
import random
import subprocess

ATHANOR = os.environ.get("ATHANOR", "build/athanor")
DEADLINE = 60  # seconds that a command may take here


def arguments_of(command):
    return [ATHANOR, *map(str, command)]


def run(*command, data=b"", **more):
    """Exit code, standard output and standard error."""
    done = subprocess.run(arguments_of(command), input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=DEADLINE, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def succeed(*command, **more):
    code, output, messages = run(*command, **more)
    assert code == 0, messages
    return output


def fail(code, part, *command, **more):
    """The command ends with this code, and says why in one last line that holds this part."""
    got, output, messages = run(*command, **more)
    assert got == code, (got, messages)
    last = messages.splitlines()[-1]
    assert last.startswith("athanor: ") and part in last, messages
    return output


def objects(output):
    """The JSON value of each line; nothing else may be there."""
    assert output.endswith("\n")
    return [json.loads(line) for line in output[:-1].split("\n")]


class Run:
    """A small tokenizer, its shards, and settings under which training takes a moment."""

    def __init__(self, folder):
        self.folder, self.text = folder, folder / "text.txt"
        self.tokenizer, self.train = folder / "tokenizer", folder / "data" / "train"
        self.validation, self.model = folder / "data" / "validation", folder / "model"
        words = "the red green fox dog house runs sleeps under over a tree and then".split()
        draw = random.Random(1)
        self.text.write_text("".join(
            " ".join(draw.choices(words, k=9)) + ".\n" for _ in range(400)))
        succeed("tokenizer", "train", "--vocab-size", 60, "--input", self.text,
                "--output", self.tokenizer)
        self.prepared = run(*self.prepare(folder / "data"), "--json")
        self.trained = run(*self.training(self.model), "--max-steps", 3, "--json")

    def prepare(self, output, *more):
        return ("data", "prepare", "--tokenizer", self.tokenizer, "--input", self.text,
                "--max-length", 16, "--output", output, *more)

    def training(self, output, *more):
        return ("train", "--tokenizer", self.tokenizer, "--train-dataset", self.train,
                "--output-dir", output, "--hidden-size", 8, "--num-hidden-layers", 1,
                "--num-attention-heads", 2, "--intermediate-size", 16, "--threads", 1,
                "--logging-steps", 1, *more)
