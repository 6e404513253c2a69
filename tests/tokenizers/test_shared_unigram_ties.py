"""Words of one or two letters over and over, which a Unigram model can cut in many ways with the
same pieces: T5's and a translation model's ids beside the tokenizers library. The last bits of the
scores decide there, which both read from the same file."""
import gzip
import itertools
import pathlib
import random

import pytest
from tokenizers import Tokenizer

from driving import SHARED, differences

DATA = pathlib.Path(SHARED) / "data/tokenizers"


def texts():
    source = random.Random("ties")
    letters = "abcdefghijklmnopqrstuvwxyzé.-0123456789"
    for letter in letters:
        yield from (letter * count for count in [*range(2, 24), 59, 200])
    for pair in itertools.product("agsxr1", repeat=2):
        yield from ("".join(pair) * count for count in [2, 3, 5, 8, 31])
    for _ in range(2000):
        few = [source.choice(letters) for _ in range(2)]
        yield "".join(source.choice(few) for _ in range(source.randint(2, 60)))


@pytest.mark.parametrize("name", ["t5-small", "nmt"])
def test_of_paths_that_tie_the_reference_s_is_taken(name, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(gzip.open(DATA / name / "tokenizer.json.gz").read())
    assert differences(Tokenizer.from_file(str(path)), path, list(texts())) == []
