"""Real and awkward text against the tokenizers library reading our tokenizer.json: every line,
id by id and offset by offset."""
import pathlib

import pytest
from tokenizers import Tokenizer

from driving import SHARED, differences, run, succeed

TEXT = pathlib.Path(SHARED) / "data" / "text"
IRREGULAR = pathlib.Path(SHARED) / "data" / "irregular"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    output = tmp_path_factory.mktemp("shared") / "tokenizer"
    succeed("tokenizer", "train", "--vocab-size", 8000, "--output", output,
            "--input", TEXT / "wikitext-2-raw.valid.raw")
    return output


@pytest.fixture(scope="module")
def reference(folder):
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def lines(data):
    """The lines as the program sees them: ended by LF or CRLF, which are not part of them."""
    pieces = data.split(b"\n")
    if pieces[-1] == b"":
        pieces.pop()
    return [piece[:-1] if piece.endswith(b"\r") else piece for piece in pieces]


def first_fault(pieces):
    """Number and byte of the first line that is not UTF-8, or None."""
    for number, piece in enumerate(pieces, 1):
        try:
            piece.decode()
        except UnicodeDecodeError as error:
            return number, error.start
    return None


@pytest.mark.parametrize("name", ["wikitext-2-raw.valid.raw", "wikitext-2-raw.test.raw",
                                  "bert_sample_text.txt"])
def test_text_is_encoded_as_the_reference_does(name, folder, reference):
    texts = [piece.decode() for piece in lines((TEXT / name).read_bytes())]
    texts = [text.rstrip("\r") for text in texts]
    assert differences(reference, folder, texts) == []


@pytest.mark.parametrize("path", sorted(IRREGULAR.glob("*.txt")), ids=lambda path: path.name)
def test_irregular_text_is_encoded_or_refused_with_its_place(path, folder, reference):
    data = path.read_bytes()
    pieces = lines(data)
    fault = first_fault(pieces)
    if fault is None:
        texts = [piece.decode().rstrip("\r") for piece in pieces]
        assert differences(reference, folder, texts) == []
        return
    code, _, messages = run("tokenizer", "encode", "--tokenizer", folder, data=data)
    assert code == 3
    number, byte = fault
    assert f"standard input: line {number}: invalid UTF-8 at byte {byte} " in messages
