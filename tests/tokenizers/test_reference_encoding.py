"""Ids, tokens, offsets, decoded text and file layout against the tokenizers library: random
vocabularies, pipelines and texts, the same ones in every run."""
import hashlib
import json
import random

import pytest
from tokenizers import (AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors)

from driving import decode, differences, encode, run, succeed

ALPHABET = list("aabbcc  '`\"▁▁<>[]_-9") + [
    "é", "e\u0301", "😀", "\t", "\u00a0", "\u3000", "你", "\u200d", "\0", "ⓐ", "\u2028", "Σ",
    "\u0661", "क", "\u093f", "\u0085", "\r"]
CONTENTS = ["<s>", "[M]", "a", "ab", " a", "\t", "aé", "bb", "  ", "<unk>", "▁b", "``", "é"]
SCORES = [-1.0, -2.0, -1.5, -3.0]


def random_text(source, most):
    text = "".join(source.choice(ALPHABET) for _ in range(source.randint(0, most)))
    return text.rstrip("\r")


def random_vocabulary(source):
    pieces = {"<unk>": 0.0}
    for _ in range(source.randint(1, 40)):
        piece = "".join(source.choice(ALPHABET) for _ in range(source.randint(1, 4)))
        pieces.setdefault(piece, source.choice(SCORES + [round(-source.random() * 8, 6)]))
    if source.random() < 0.7:
        for piece in ["a", "b", "▁", "▁a", "▁b", "ab"]:
            pieces.setdefault(piece, -float(source.randint(1, 4)))
    items = list(pieces.items())
    if source.random() < 0.3:
        source.shuffle(items)
    return items, [piece for piece, _ in items].index("<unk>")


def random_replacement(source):
    pattern = source.choice(["``", "''", " ", "ab", "a", "▁", "é", "  ", "😀", "\u200d"])
    return normalizers.Replace(pattern, source.choice(['"', "", "ab", "▁", "é", "`", "''", " "]))


def random_added_tokens(source):
    return [AddedToken(content, single_word=source.random() < 0.3, lstrip=source.random() < 0.3,
                       rstrip=source.random() < 0.3, normalized=source.random() < 0.5,
                       special=source.random() < 0.5)
            for content in CONTENTS if source.random() < 0.2]


def random_tokenizer(source):
    items, unknown = random_vocabulary(source)
    tokenizer = Tokenizer(models.Unigram(items, unknown))
    if source.random() < 0.7:
        tokenizer.normalizer = normalizers.Sequence(
            [random_replacement(source) for _ in range(source.randint(0, 3))])
    if source.random() < 0.9:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
            replacement=source.choice(["▁", "▁", "_", "é", "😀"]),
            prepend_scheme=source.choice(["always", "first", "never"]),
            split=source.random() < 0.8)
    if source.random() < 0.8:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=source.choice(["<unk> $A", "$A <unk>", "<unk> $A <unk>", "$A"]),
            pair="$A $B:1 <unk>", special_tokens=[("<unk>", unknown)])
    if source.random() < 0.8:
        tokenizer.decoder = decoders.Metaspace(
            replacement=source.choice(["▁", "_"]),
            prepend_scheme=source.choice(["always", "first", "never"]))
    return tokenizer, random_added_tokens(source)


def is_decidable(tokenizer, added):
    """Whether the reference itself has one answer. It hangs on a token that the normaliser makes
    empty, chooses by chance between two that it makes equal, and gives up on a token of white
    space whose neighbour takes that white space."""
    forms = []
    for token in added:
        form = token.content
        if token.normalized and tokenizer.normalizer:
            form = tokenizer.normalizer.normalize_str(form)
        forms.append((token.normalized, form))
    blank = any(form.strip() != form for _, form in forms)
    strips = any(token.lstrip or token.rstrip for token in added)
    empty = any(form == "" for _, form in forms)
    return not empty and len(set(forms)) == len(forms) and not (blank and strips)


@pytest.mark.parametrize("seed", range(40))
def test_random_tokenizers_encode_and_decode_as_the_reference(seed, tmp_path):
    source = random.Random(seed)
    compared = 0
    while compared < 3:
        tokenizer, added = random_tokenizer(source)
        if not is_decidable(tokenizer, added):
            continue
        tokenizer.add_tokens(added)
        compared += 1
        path = tmp_path / f"{compared}.json"
        tokenizer.save(str(path))
        tokenizer = Tokenizer.from_file(str(path))
        texts = [random_text(source, 24) for _ in range(50)]
        found = differences(tokenizer, path, texts)
        assert not found, (tokenizer.to_str(), found[0])
        ids = [tokenizer.encode(text).ids for text in texts]
        assert decode(path, ids) == tokenizer.decode_batch(ids, skip_special_tokens=False)
        assert decode(path, ids, "--skip-special-tokens") == tokenizer.decode_batch(ids)
        ours = json.loads(succeed("tokenizer", "info", "--tokenizer", path, "--json"))
        assert ours["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_special_tokens_can_be_left_out(tmp_path):
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0)], 0))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<unk> $A", pair="$A $B", special_tokens=[("<unk>", 0)])
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    for text in ["aa", ""]:
        expected = tokenizer.encode(text, add_special_tokens=False).ids
        assert encode(path, [text], "--no-special-tokens")[0]["ids"] == expected


def test_scores_are_written_as_the_reference_writes_them(tmp_path):
    source = random.Random(5)
    scores = [0.0, -0.0, 1e-5, 1e-6, -9.9e-6, 1e15, 1e16, -20.0, 5e-324, 1.7976931348623157e308]
    scores += [-source.random() * 10 ** source.randint(-4, 20) for _ in range(2000)]
    tokenizer = Tokenizer(models.Unigram([(str(i), s) for i, s in enumerate(scores)], 0))
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    Tokenizer.from_file(str(path)).save(str(path))  # some scores are read a last bit off
    ours = json.loads(succeed("tokenizer", "info", "--tokenizer", path, "--json"))
    assert ours["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small tokenizer trained by the program."""
    folder = tmp_path_factory.mktemp("trained")
    source = random.Random(1)
    words = ["".join(source.choice("abcdeéf'`") for _ in range(source.randint(1, 8)))
             for _ in range(300)]
    text = "\n".join(" ".join(source.choice(words) for _ in range(12)) for _ in range(400))
    (folder / "text.txt").write_text(text)
    succeed("tokenizer", "train", "--vocab-size", 200, "--input", folder / "text.txt",
            "--output", folder / "tokenizer")
    return folder / "tokenizer"


def test_the_library_writes_a_trained_tokenizer_byte_for_byte_alike(trained):
    path = trained / "tokenizer.json"
    assert Tokenizer.from_file(str(path)).to_str(pretty=True) == path.read_text()


def test_transformers_opens_a_trained_tokenizer_with_the_same_ids(trained):
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(str(trained))
    texts = ["abc ``def'' [MASK] fed", "", " a  b ", "zz é\tq"]
    for text, ours in zip(texts, encode(trained, texts)):
        assert tokenizer(text)["input_ids"] == ours["ids"]
        assert decode(trained, [ours["ids"]]) == [tokenizer.decode(ours["ids"])]
    special = json.loads(succeed("tokenizer", "info", "--tokenizer", trained, "--json"))
    assert special["special"] == {
        "cls": tokenizer.cls_token_id, "sep": tokenizer.sep_token_id,
        "unk": tokenizer.unk_token_id, "pad": tokenizer.pad_token_id,
        "mask": tokenizer.mask_token_id}
    assert len(tokenizer) == special["tokens"]


def test_what_is_not_utf8_is_refused_with_line_and_byte(trained):
    code, output, messages = run("tokenizer", "encode", "--tokenizer", trained,
                                 data=b"good\nbad \xff\n")
    assert code == 3
    assert output.count(b"\n") == 1
    assert "standard input: line 2: invalid UTF-8 at byte 4" in messages
