"""Lists of ranks give the ids of the tiktoken package, for each way to cut text."""
import base64
import json
import random

import pytest
import tiktoken
from tiktoken_ext import openai_public
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from driving import decode, encode, run, succeed

TEXTS = ["the fox runs", "", "I'LL we'll DON'T don't", "a  b   c    ", "x \r\n  y\n\n z",
         "12345 678", "１２3", "naïve Zoë 日本語 テスト", "😀😀 ok", "foo_bar(baz); // x\t\t",
         "HTTPServer camelCase ABCdef", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "trailing  \n  ",
         "hello\u2019s \u00a0nbsp", "a/b//c\r\n", "e\u0301 \u0301x", "'s's 'S", " \t x", "end \n"]
PATTERNS = {
    "gpt2": openai_public.r50k_pat_str,
    "cl100k": None,
    "o200k": None,
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
              r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
             r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


def published_pattern(name, monkeypatch):
    """The expression that the package has for an encoding, without its ranks."""
    if PATTERNS[name] is not None:
        return PATTERNS[name]
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *a, **k: {})
    return getattr(openai_public, name + "_base")()["pat_str"]


@pytest.fixture(scope="module")
def ranks():
    """Ranks of a vocabulary trained on the texts, by the bytes of its tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(TEXTS * 4, trainers.BpeTrainer(
        vocab_size=600, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    letters = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in letters]
    byte_of = {chr(b): b for b in letters} | {chr(256 + i): b for i, b in enumerate(others)}
    vocab = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    return {bytes(byte_of[c] for c in token): rank for token, rank in vocab}


def write(path, ranks):
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank
                              for token, rank in ranks.items()))


def is_line(text):
    return "\n" not in text and not text.endswith("\r")


def random_texts(count):
    draw = random.Random(11)
    pieces = ["the", " fox", " ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "12", "é", "日本", "😀",
              "A", "b", "_", "/", ".", "\u00a0", "\u0301", "ǅ", "ʰ", "aaaa"]
    texts = ("".join(draw.choices(pieces, k=draw.randrange(1, 14))) for _ in range(count))
    return [text for text in texts if is_line(text)]


@pytest.mark.parametrize("name", PATTERNS)
def test_ids_and_texts_are_tiktokens(tmp_path, ranks, name, monkeypatch):
    path = tmp_path / "mine.tiktoken"
    write(path, ranks)
    reference = tiktoken.Encoding(name, pat_str=published_pattern(name, monkeypatch),
                                  mergeable_ranks=ranks, special_tokens={})
    succeed("tokenizer", "convert", "--pattern", name, path, tmp_path / "made")
    texts = [text for text in TEXTS if is_line(text)] + random_texts(1500)
    found = [answer["ids"] for answer in encode(tmp_path / "made", texts)]
    expected = [reference.encode_ordinary(text) for text in texts]
    assert [case for case in zip(texts, found, expected) if case[1] != case[2]] == []
    assert decode(tmp_path / "made", expected) == texts
    # Line feeds, which a line of input cannot hold: the tokenizers library reads the file alike.
    library = Tokenizer.from_file(str(tmp_path / "made/tokenizer.json"))
    for text in TEXTS:
        assert library.encode(text).ids == reference.encode_ordinary(text), text


def test_special_tokens_come_behind_the_ranks(tmp_path, ranks):
    path = tmp_path / "tokenizer.model"
    write(path, ranks)
    succeed("tokenizer", "convert", "--pattern", "cl100k", path, tmp_path / "made")
    assert encode(tmp_path / "made", ["<|endoftext|><|endofprompt|>"])[0]["ids"] == [
        len(ranks), len(ranks) + 4]
    added = json.loads((tmp_path / "made/tokenizer.json").read_text())["added_tokens"]
    assert [token["content"] for token in added if token["special"]] == [
        "<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|endofprompt|>"]


def test_the_number_of_ranks_tells_the_encoding(tmp_path):
    ranks = {bytes([byte]): byte for byte in range(256)}
    for number in range(256, 50256):
        ranks[b"x" + number.to_bytes(3, "big")] = number
    write(tmp_path / "r50k_base.tiktoken", ranks)
    assert encode(tmp_path, ["ab<|endoftext|>"])[0]["ids"] == [97, 98, 50256]


@pytest.mark.parametrize("lines, part", [
    ([], "no known encoding has 256 ranks; athanor tokenizer convert --pattern says"),
    (["--pattern", "cl99k"], 'there is no pattern "cl99k"; there are gpt2, cl100k, o200k'),
    ([b"YWI= 300", b"YWI= 301"], 'the token "ab" of rank 301: "ab" has rank 300'),
    ([b"YWI= 7"], 'the token "ab" of rank 7'),
    ([b"YWI"], "line 257: expected a token in base64, a space and a rank"),
    ([b"YW!= 300"], "line 257: expected a token in base64"),
    ([b"YWI= x"], 'line 257: "x" is no rank below'),
    ([b"YWI= 99999999999999999999"], "is no rank below"),
    ([b"YWI= 300", b"YWE= 12 "], 'line 258: "12 " is no rank'),
    ([b"\xff 300"], "invalid UTF-8"),
])
def test_faults_have_their_line(tmp_path, lines, part):
    path = tmp_path / "mine.tiktoken"
    write(path, {bytes([byte]): byte for byte in range(256)})
    options = lines if lines[:1] == ["--pattern"] else ["--pattern", "gpt2"] if lines else []
    with open(path, "ab") as file:
        file.write(b"".join(line + b"\n" for line in lines if isinstance(line, bytes)))
    code, output, messages = run("tokenizer", "convert", *options, path, tmp_path / "made")
    assert code != 0 and output == b"" and part in messages.splitlines()[-1], messages


def test_every_byte_must_have_a_rank(tmp_path):
    path = tmp_path / "mine.tiktoken"
    write(path, {bytes([byte]): byte for byte in range(255)})
    messages = run("tokenizer", "convert", "--pattern", "gpt2", path, tmp_path / "made")[2]
    assert "there is no rank for the byte 0xFF" in messages
