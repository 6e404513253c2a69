"""Every golden encoding of the Hub's tokenizers: ids with special tokens and without, offsets, and
the text that the ids decode to. They were made by the tokenizers library without truncation and
padding, which some of the files ask for. llama2 has none: one of its merges, made of white space,
is more than the library reads."""
import gzip
import json
import pathlib

import pytest

from driving import SHARED, SPECIAL, ask

FOLDER = pathlib.Path(SHARED) / "data" / "tokenizers"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/tokenizer.json.gz")
               if path.parent.name != "llama2")


@pytest.fixture(scope="module")
def golden():
    encodings = {}
    with gzip.open(FOLDER / "golden_encodings.jsonl.gz", "rt") as lines:
        for line in lines:
            encoding = json.loads(line)
            encodings.setdefault(encoding["tok"], []).append(encoding)
    assert sum(map(len, encodings.values())) == 3235 and set(encodings) <= set(NAMES)
    return encodings


def question(encoding, flags):
    return {"batch": [[encoding["text"]]], "flags": flags, "truncation": None, "padding": None}


@pytest.mark.parametrize("name", NAMES)
def test_every_golden_encoding_is_given(name, golden, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(gzip.decompress((FOLDER / name / "tokenizer.json.gz").read_bytes()))
    encodings = golden[name]
    whole = ask(path, [question(e, SPECIAL) for e in encodings])
    plain = ask(path, [question(e, 0) for e in encodings])
    texts, = ask(path, [{"decode": [e["ids"] for e in encodings], "skip_special": True}])
    differing = []
    for encoding, [[ours]], [[ours_plain]], text in zip(encodings, whole, plain, texts):
        answers = {"ids": ours["ids"], "offsets": ours["offsets"], "ids_nospecial":
                   ours_plain["ids"], "decoded_skip_special": text}
        differing += [(encoding["text"], key, encoding[key], answer)
                      for key, answer in answers.items() if answer != encoding[key]]
    assert not differing, (len(differing), differing[0])
