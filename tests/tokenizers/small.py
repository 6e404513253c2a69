"""Tokenizers small enough to be read in a test: their files, and what the program makes of a
text."""
import json

import pytest

from driving import encode


def numbered(tokens):
    return {token: i for i, token in enumerate(tokens)}


def word_piece(vocabulary, **members):
    return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary, **members}


def bpe(vocabulary, merges, **members):
    return {"type": "BPE", "vocab": vocabulary, "merges": merges, **members}


def unigram(vocabulary, **members):
    return {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": vocabulary, **members}


def token(content, number, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": False, "special": True, **flags}


@pytest.fixture
def make(tmp_path):
    """Writes a tokenizer.json; gives its path."""
    numbers = iter(range(1000))

    def write(model, added=(), **parts):
        file = {"version": "1.0", "truncation": None, "padding": None, "normalizer": None,
                "pre_tokenizer": None, "post_processor": None, "decoder": None, **parts,
                "added_tokens": list(added), "model": model}
        path = tmp_path / f"{next(numbers)}.json"
        path.write_text(json.dumps(file))
        return path

    return write


def pieces(path, text, *options):
    """[(token, start, end)] of a text."""
    (answer,) = encode(path, [text], *options)
    return [(t, *o) for t, o in zip(answer["tokens"], answer["offsets"])]


def tokens(path, text, *options):
    return [piece[0] for piece in pieces(path, text, *options)]
