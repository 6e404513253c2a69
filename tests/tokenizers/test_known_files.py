"""What went wrong for others with normalisers, decoders and tokenizer.json files: sections F and H
of ../shared/cases/known_failures.md, whose letters are the names of the tests."""
import json

import pytest

from driving import decode, run
from small import bpe, make, numbered, pieces, token, tokens, unigram, word_piece  # noqa: F401


def letters(text, *more):
    """A model that has each character of a text."""
    return unigram([["<unk>", 0.0], *([c, -1] for c in sorted(set(text))), *more])


# --- F: normalisers, decoders --------------------------------------------------------------------

QUOTES = {"type": "Sequence", "normalizers": [
    {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
    {"type": "Replace", "pattern": {"String": "''"}, "content": '"'}]}


@pytest.mark.parametrize("text, expected", [
    ("```a``", '"`a"'), ("'''", "\"'"), ("a ``b''", 'a "b"'), ("````", '""')])
def test_f1_quotes_are_replaced_from_the_left(make, text, expected):
    path = make(letters("\"'`ab "), normalizer=QUOTES)
    assert "".join(tokens(path, text)) == expected


def test_f2_nfkc_keeps_the_offsets_of_what_it_puts_together(make):
    path = make(letters("마실"), normalizer={"type": "NFKC"})
    assert pieces(path, "\u1106\u1161\u1109\u1175\u11af") == [("마", 0, 2), ("실", 2, 5)]
    dots = make(letters("x", ["▁?", -1], ["......", -1]), normalizer={"type": "NFKC"},
                pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always",
                               "split": True})
    assert pieces(dots, "？……") == [("▁?", 0, 1), ("......", 1, 3)]


@pytest.mark.parametrize("text, expected", [
    ("ﬁ", "fi"), ("①", "1"), ("½", "1⁄2"), ("…", "..."), ("㌔", "キロ"), ("ﾊﾟ", "パ")])
def test_f2_nfkc(make, text, expected):
    path = make(letters("fi1⁄2.キロパ"), normalizer={"type": "NFKC"})
    assert "".join(tokens(path, text)) == expected


@pytest.mark.parametrize("behavior, expected", [
    ("Removed", ["a", "b"]), ("Isolated", ["a", "-", "-", "b", "-"]),
    ("MergedWithPrevious", ["a-", "-", "b-"]), ("MergedWithNext", ["a", "-", "-b", "-"]),
    ("Contiguous", ["a", "--", "b", "-"])])
def test_f3_what_split_does_with_what_it_finds(make, behavior, expected):
    vocabulary = numbered(["[UNK]", "a", "b", "-", "--", "a-", "b-", "-b"])
    path = make(word_piece(vocabulary), pre_tokenizer={
        "type": "Split", "pattern": {"String": "-"}, "behavior": behavior, "invert": False})
    assert tokens(path, "a--b-") == expected


def test_f4_the_clean_up_of_decoded_words(make):
    words = ["do", "n", "'", "t", "##s", ",", "ok", "!"]
    path = make(word_piece(numbered(["[UNK]", *words])),
                decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})
    assert decode(path, [range(1, 9)]) == ["do n ' ts, ok!"]


# --- H: files ------------------------------------------------------------------------------------

def refused(path):
    code, _, messages = run("tokenizer", "info", "--tokenizer", path)
    assert code != 0
    return messages


def test_h1_merges_are_strings_or_pairs(make):
    vocabulary = numbered(["a", "b", "ab", "c", "abc"])
    strings = make(bpe(vocabulary, ["a b", "ab c"]))
    pairs = make(bpe(vocabulary, [["a", "b"], ["ab", "c"]]))
    assert tokens(strings, "abcab") == tokens(pairs, "abcab") == ["abc", "ab"]
    spaced = make(bpe(numbered(["a b", "c", "a bc", "a", " ", "b"]), [["a b", "c"]]))
    assert tokens(spaced, "c") == ["c"]


def test_h1_a_wrong_merge_is_named_by_its_place(make):
    vocabulary = numbered(["a", "b", "ab", "c"])
    assert "model.merges[1]" in refused(make(bpe(vocabulary, ["a b", "a b c"])))
    messages = refused(make(bpe(numbered(["a", "b", "ab"]), ["a b", "ab c"])))
    assert "model.merges[1]" in messages and "c" in messages


def test_h2_old_spellings_and_missing_members_are_read(make):
    model = {"type": "BPE", "vocab": numbered(["a", "b", "ab"]), "merges": ["a b"]}
    path = make(model, [{"id": 3, "content": "<x>"}])
    assert tokens(path, "ab<x>") == ["ab", "<x>"]
    old = make(unigram([["<unk>", 0.0], ["▁a", -1]]),
               pre_tokenizer={"type": "Metaspace", "str_rep": "▁", "replacement": "▁",
                              "add_prefix_space": True})
    assert tokens(old, "a") == ["▁a"]


def test_h2_unknown_members_are_told_and_left(make):
    path = make({**bpe(numbered(["a"]), []), "novelty": 1})
    code, _, messages = run("tokenizer", "encode", "--tokenizer", path, "a")
    assert code == 0 and "novelty" in messages


def test_h3_escapes_are_characters(make):
    path = make(letters('"\0\U0001f600'))
    assert "\\ud83d\\ude00" in path.read_text() and "\\u0000" in path.read_text()
    assert pieces(path, '\U0001f600"\0') == [("\U0001f600", 0, 1), ('"', 1, 2), ("\0", 2, 3)]


def test_h3_a_mark_of_byte_order_and_a_long_line_are_no_harm(make, tmp_path):
    text = make(letters("ab")).read_bytes()
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + text)
    assert tokens(marked, "ab") == ["a", "b"]
    long = tmp_path / "long.json"
    long.write_bytes(text.replace(b"{", b"{" + b" " * 10_000_000, 1))
    assert tokens(long, "ab") == ["a", "b"]


def test_h3_half_a_surrogate_pair_is_told_with_its_place(make, tmp_path):
    path = tmp_path / "half.json"
    path.write_text(make(letters("ab")).read_text().replace('"a"', '"\\ud83d"'))
    messages = refused(path)
    assert "surrogate" in messages.lower() or "\\ud83d" in messages.lower()
    assert any(character.isdigit() for character in messages)
