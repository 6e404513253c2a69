"""Trains tokenizers with the program, and makes texts to train on."""
import random

from driving import succeed


def train_on(texts, folder, model, *options):
    """The path of the tokenizer.json that a model trained on these lines has."""
    text = folder / "text.txt"
    text.write_bytes("".join(line + "\n" for line in texts).encode())
    succeed("tokenizer", "train", "--model", model, *options, "--input", text,
            "--output", folder / "tokenizer")
    return folder / "tokenizer" / "tokenizer.json"


def random_texts(seed):
    """Words of one to five letters' alphabet, short and long: pairs tie, runs overlap."""
    draw = random.Random(seed)
    letters = draw.choice(["a", "ab", "abc", "abcdé", "aé语"])
    longest = draw.choice([4, 12, 40])

    def word():
        return "".join(draw.choice(letters) for _ in range(draw.randint(1, longest)))
    return [" ".join(word() for _ in range(draw.randint(1, 40)))
            for _ in range(draw.randint(1, 20))]
