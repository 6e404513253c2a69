"""`tokenizer convert` of bert-base-cased's and roberta-base's older files, on WikiText-2."""
import gzip
import os

from tokenizers import Tokenizer
from transformers import BertTokenizerFast

from driving import SHARED, differences, succeed


def unpack(folder, kind, *names):
    for name in names:
        with gzip.open(os.path.join(SHARED, "data/tokenizers", kind, name + ".gz")) as packed:
            (folder / name).write_bytes(packed.read())


def texts():
    with open(os.path.join(SHARED, "data/text/wikitext-2-raw.test.raw"), encoding="utf-8") as file:
        lines = file.read().split("\n")[:600]
    with open(os.path.join(SHARED, "data/text/enwiki-2019-2MB.wikiextractor.txt"),
              encoding="utf-8", newline="\n") as file:
        lines += file.read(200000).replace("\r", "").split("\n")[:-1]
    return lines + ["Zoë's naïve Ünïcode 日本語 \u200b😀 [MASK] <mask></s>", "  two  spaces  "]


def test_bert_base_cased(tmp_path):
    unpack(tmp_path, "bert-base-cased", "vocab.txt")
    succeed("tokenizer", "convert", "--no-lowercase", tmp_path / "vocab.txt", tmp_path / "made")
    words = (tmp_path / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    reference = BertTokenizerFast(vocab={word: i for i, word in enumerate(words)},
                                  do_lower_case=False)
    assert differences(reference.backend_tokenizer, tmp_path / "made", texts()) == []


def test_bert_base_uncased(tmp_path):
    unpack(tmp_path, "bert-base-uncased", "vocab.txt", "tokenizer.json")
    succeed("tokenizer", "convert", tmp_path / "vocab.txt", tmp_path / "made")
    reference = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    reference.no_truncation()
    reference.no_padding()
    assert differences(reference, tmp_path / "made", texts()) == []


def test_roberta_base(tmp_path):
    unpack(tmp_path, "roberta-base", "vocab.json", "merges.txt", "tokenizer.json")
    succeed("tokenizer", "convert", tmp_path, tmp_path / "made")
    reference = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert differences(reference, tmp_path / "made", texts()) == []
