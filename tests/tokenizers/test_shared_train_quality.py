"""Unigram training on 5 MB of text against the `tokenizers` library, vocabulary of 8000: no more
tokens per word of text not seen, and the same bytes for one thread and two."""
import lzma
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from driving import SHARED, succeed

TEXT = Path(SHARED) / "data" / "text"
SPECIALS = ["[CLS]", "[SEP]", "<unk>", "<pad>", "[MASK]"]
SIZE = 8000
PART = 2_500_000  # bytes of the large file


def training_text():
    with lzma.open(TEXT / "enwiki-2014-20MB.wikiextractor.txt.xz") as file:
        part = file.read(PART).rsplit(b"\n", 1)[0] + b"\n"
    names = ["wikitext-2-raw.test.raw", "enwiki-2019-2MB.wikiextractor.txt"]
    return b"".join((TEXT / name).read_bytes() for name in names) + part


def pipeline(model):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def held_out_lines():
    return (TEXT / "wikitext-2-raw.valid.raw").read_text(encoding="utf-8").split("\n")


def tokens(tokenizer, lines):
    return sum(len(e.ids) for e in tokenizer.encode_batch(lines, add_special_tokens=False))


@pytest.fixture(scope="module")
def text_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "train.txt"
    path.write_bytes(training_text())
    assert path.stat().st_size >= 5_000_000
    return path


def train(text_file, folder, threads):
    succeed("tokenizer", "train", "--vocab-size", SIZE, "--threads", threads,
            "--input", text_file, "--output", folder)
    return folder / "tokenizer.json"


@pytest.fixture(scope="module")
def ours(text_file, tmp_path_factory):
    return train(text_file, tmp_path_factory.mktemp("ours"), 2)


def test_one_thread_gives_the_same_bytes(text_file, ours, tmp_path):
    assert train(text_file, tmp_path, 1).read_bytes() == ours.read_bytes()


def test_the_library_reads_the_file_and_finds_the_same_pipeline(ours):
    read = Tokenizer.from_file(str(ours))
    assert read.get_vocab_size() == SIZE
    assert [read.token_to_id(token) for token in SPECIALS] == [0, 1, 2, 3, 4]
    expected = pipeline(models.Unigram())
    for text in ["``Quoted'' text, don't", "  two  spaces ", "tab\there"]:
        words = [word for word, _ in expected.pre_tokenizer.pre_tokenize_str(
            expected.normalizer.normalize_str(text))]
        found = [word for word, _ in read.pre_tokenizer.pre_tokenize_str(
            read.normalizer.normalize_str(text))]
        assert found == words


def test_no_more_tokens_per_word_than_the_library(text_file, ours):
    reference = pipeline(models.Unigram())
    trainer = trainers.UnigramTrainer(vocab_size=SIZE, unk_token="<unk>", special_tokens=SPECIALS,
                                      show_progress=False)
    lines = text_file.read_text(encoding="utf-8").split("\n")
    reference.train_from_iterator(lines, trainer=trainer)
    assert reference.get_vocab_size() == SIZE
    held_out = held_out_lines()
    words = sum(len(reference.pre_tokenizer.pre_tokenize_str(line)) for line in held_out)
    found = tokens(Tokenizer.from_file(str(ours)), held_out) / words
    wanted = tokens(reference, held_out) / words
    print(f"tokens per word: {found:.4f}, reference {wanted:.4f}")
    assert found <= wanted
