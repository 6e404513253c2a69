"""Who asks for ids alone gets those that come with tokens and offsets: the given tokenizers, on the
golden texts, on prose of two languages, and on random texts of words that are met again."""
import gzip
import json
import lzma
import pathlib
import random

import pytest

from driving import SHARED
from pieces import SEED, random_character, serve

DATA = pathlib.Path(SHARED) / "data"
NAMES = sorted(path.parent.name for path in DATA.glob("tokenizers/*/tokenizer.json.gz")
               if path.parent.name != "llama2")  # which is refused


def prose(name, lines):
    text = lzma.open(DATA / "text" / name, "rt", encoding="utf-8")
    return [next(text).rstrip("\n") for _ in range(lines)]


def random_texts(words, count):
    """Of a few hundred words and as many characters, with spaces between one in two of them."""
    source = random.Random(SEED)
    pool = [source.choice(words) for _ in range(300)] + [random_character(source)
                                                         for _ in range(300)]
    pool += [",", ".", "  ", "\t", "\u0301", "\u200d", "\u0600", "\r", "``", "=\u0338", "\u00a0"]
    return ["".join(source.choice(pool) + source.choice(["", " "])
                    for _ in range(source.randrange(40))) for _ in range(count)]


@pytest.fixture(scope="module")
def texts():
    with gzip.open(DATA / "tokenizers/golden_encodings.jsonl.gz", "rt") as lines:
        golden = sorted({json.loads(line)["text"] for line in lines})
    english = prose("enwiki-2014-20MB.wikiextractor.txt.xz", 1500)
    chinese = prose("zhwiki-4MB.wikiextractor.txt.xz", 300)
    words = " ".join(english + chinese).split(" ")
    return golden + english + chinese + random_texts(words, 3000)


@pytest.mark.parametrize("name", NAMES)
def test_ids_alone_are_those_that_come_with_offsets(name, texts, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(gzip.decompress((DATA / "tokenizers" / name / "tokenizer.json.gz")
                                     .read_bytes()))
    questions = " ".join(text.encode().hex() for text in texts if text)
    answers = serve([f"encode {path} {questions}"])
    assert len(answers) == sum(map(bool, texts))
    assert not [line for line in answers if line.startswith("!")]
