"""Byte-level BPE training on 1 MB of text: the merges of the `tokenizers` library at each size."""
from pathlib import Path

import pytest

from driving import SHARED
from test_train_bpe import assert_same

TEXT = Path(SHARED) / "data" / "text" / "wikitext-2-raw.valid.raw"


@pytest.mark.parametrize("vocab_size, min_frequency", [(500, 0), (5000, 2), (30000, 0)])
def test_the_merges_are_those_of_the_reference(vocab_size, min_frequency, tmp_path):
    texts = TEXT.read_text(encoding="utf-8")[:1_000_000].split("\n")
    assert_same(texts, tmp_path, vocab_size, min_frequency)
