"""Byte-level BPE training on 10 MB of text: the merges of the `tokenizers` library at three sizes.
It finds them once: those of a smaller vocabulary are the first of those of a larger one."""
import json
import lzma
from pathlib import Path

import pytest

from driving import SHARED
from test_train_bpe import reference_model, train

TEXT = Path(SHARED) / "data" / "text"


def training_lines():
    with lzma.open(TEXT / "enwiki-2014-20MB.wikiextractor.txt.xz") as file:
        english = file.read(8_000_000).rsplit(b"\n", 1)[0].decode()
    with lzma.open(TEXT / "zhwiki-4MB.wikiextractor.txt.xz") as file:
        chinese = file.read(1_000_000).rsplit(b"\n", 1)[0].decode()
    wiki = (TEXT / "wikitext-2-raw.valid.raw").read_text(encoding="utf-8")
    return (english + "\n" + chinese + "\n" + wiki).split("\n")


@pytest.fixture(scope="module")
def texts():
    lines = training_lines()
    assert sum(len(line.encode()) + 1 for line in lines) > 10_000_000
    return lines


@pytest.fixture(scope="module")
def reference(texts):
    return reference_model(texts, 32000)


@pytest.mark.parametrize("vocab_size", [1000, 8000, 32000])
def test_the_merges_are_those_of_the_reference(vocab_size, texts, reference, tmp_path):
    ours = json.loads(train(texts, tmp_path, vocab_size).read_text())["model"]
    vocab, merges = reference
    assert len(ours["vocab"]) == vocab_size
    assert ours["merges"] == merges[:len(ours["merges"])]
    assert ours["vocab"] == {token: id for token, id in vocab.items() if id < vocab_size}
