"""What went wrong for others when they encoded, with the right values that the public reports and
runs of the reference gave: sections A to E of ../shared/cases/known_failures.md, whose letters are
the names of the tests."""
import json
import resource

import pytest

from driving import ask, decode, encode, run, succeed
from small import bpe, make, numbered, pieces, token, tokens, unigram, word_piece  # noqa: F401

BERT_NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                   "strip_accents": None, "lowercase": True}
BERT = {"normalizer": BERT_NORMALIZER, "pre_tokenizer": {"type": "BertPreTokenizer"}}


# --- A: WordPiece, BERT's text -------------------------------------------------------------------

def test_a1_a_word_with_an_emoji_is_one_unknown(make):
    path = make(word_piece({"[UNK]": 0, "ab": 4, "##c": 5}), **BERT)
    assert pieces(path, "ab😀") == [("[UNK]", 0, 3)]
    assert pieces(path, "😀😀") == [("[UNK]", 0, 2)]
    assert pieces(path, "ab 😀 abc") == [("ab", 0, 2), ("[UNK]", 3, 4), ("ab", 5, 7),
                                        ("##c", 7, 8)]
    assert encode(path, ["ab 😀 abc"])[0]["ids"] == [4, 0, 4, 5]


def test_a2_a_word_of_more_than_the_limits_characters_is_unknown(make):
    path = make(word_piece({"[UNK]": 0, "x": 1, "##x": 2}), **BERT)
    assert tokens(path, "x" * 100) == ["x"] + ["##x"] * 99
    assert pieces(path, "x" * 101) == [("[UNK]", 0, 101)]


@pytest.mark.parametrize("text, lowercase, strip, word, end", [
    ("caf\u00e9", True, None, "cafe", 4), ("cafe\u0301", True, None, "cafe", 4),
    ("CAF\u00c9", True, None, "cafe", 4), ("caf\u00e9", False, None, "caf\u00e9", 4),
    ("caf\u00e9", False, True, "cafe", 4), ("CAF\u00c9", True, False, "caf\u00e9", 4)])
def test_a3_accents_go_by_strip_accents_or_with_the_case(make, text, lowercase, strip, word, end):
    normalizer = {**BERT_NORMALIZER, "lowercase": lowercase, "strip_accents": strip}
    path = make(word_piece(numbered(["[UNK]", "cafe", "caf\u00e9"])),
                **{**BERT, "normalizer": normalizer})
    assert pieces(path, text) == [(word, 0, end)]


def test_a3_strip_accents_alone_leaves_composed_letters(make):
    path = make(word_piece(numbered(["[UNK]", "\u00e9", "e"])),
                normalizer={"type": "StripAccents"})
    assert tokens(path, "\u00e9") == ["\u00e9"]


def test_a4_invisible_characters_vanish_and_spaces_part_words(make):
    path = make(word_piece(numbered(["[UNK]", "ab", "a", "b"])), **BERT)
    for invisible in "\u200b\u00ad\u0000\ufffd\u200d\u0085\u000b":
        assert pieces(path, f"a{invisible}b") == [("ab", 0, 3)], ascii(invisible)
    for space in "\t\u00a0\u3000\u2028":
        assert pieces(path, f"a{space}b") == [("a", 0, 1), ("b", 2, 3)], ascii(space)


def test_a6_chinese_characters_are_words_and_kana_are_not(make):
    vocabulary = numbered(["[UNK]", "你", "好", "ab", "かな", "한국"])
    path = make(word_piece(vocabulary), **BERT)
    assert pieces(path, "你好ab") == [("你", 0, 1), ("好", 1, 2), ("ab", 2, 4)]
    whole = make(word_piece(vocabulary),
                 **{**BERT, "normalizer": {**BERT_NORMALIZER, "handle_chinese_chars": False}})
    assert pieces(whole, "你好") == [("[UNK]", 0, 2)]
    ends = make(word_piece(numbered(["[UNK]", "a"])), **BERT)
    # The case has 2B820 for 2B920, as BERT's own code; the reference leaves the 256 before it.
    for first, last in [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
                        (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF),
                        (0x2F800, 0x2FA1F)]:
        for character in (chr(first), chr(last)):
            assert len(tokens(ends, f"a{character}a")) == 3, ascii(character)
    for text in ("aかa", "a한a", "a\u4dc0a"):
        assert tokens(ends, text) == ["[UNK]"], text


def bert_with_specials(make):
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[MASK]": 3, "ab": 4, "##c": 5, "mask": 6,
                  "[": 7, "]": 8}
    special = [token(t, vocabulary[t]) for t in ("[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    return make(word_piece(vocabulary), special, **BERT,
                post_processor={"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]})


def test_a8_special_tokens_are_found_as_written(make):
    path = bert_with_specials(make)
    (answer,) = encode(path, ["ab[MASK]abc"])
    assert answer["ids"] == [1, 4, 3, 4, 5, 2] and answer["offsets"][2] == [2, 8]
    assert tokens(path, "[mask]", "--no-special-tokens") == ["[", "mask", "]"]
    (answer,) = encode(path, ["[SEP]"], "--details")
    assert answer["ids"] == [1, 2, 2] and answer["special_tokens_mask"] == [1, 0, 1]


# --- B: byte-level BPE ---------------------------------------------------------------------------

BYTE_LETTERS = [chr(c) for c in [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x144)]]


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
              "use_regex": True}


def letters_of_words(make, words):
    """A byte-level tokenizer that has each of these words whole."""
    vocabulary = numbered(BYTE_LETTERS + [word for word in words if len(word) > 1])
    return make(bpe(vocabulary, [], ignore_merges=True), pre_tokenizer=BYTE_LEVEL)


def test_b1_offsets_count_characters_of_several_bytes_once(make):
    path = letters_of_words(make, ["ĠâŃ¢", "Ġj"])
    assert pieces(path, "i ⭢ j") == [("i", 0, 1), ("ĠâŃ¢", 1, 3), ("Ġj", 3, 5)]


@pytest.mark.parametrize("text, expected", [
    ("  hello   world  ", [("Ġ", 0, 1), ("Ġhello", 1, 7), ("ĠĠ", 7, 9), ("Ġworld", 9, 15),
                           ("ĠĠ", 15, 17)]),
    ("I'LL we'll", ["I", "'", "LL", "Ġwe", "'ll"]), ("a\r\nb", ["a", "č", "Ċ", "b"]),
    ("hello\u2019s", ["hello", "âĢĻ", "s"]), (" \t x", [("Ġĉ", 0, 2), ("Ġx", 2, 4)]),
    ("１２3", [("ï¼ĳï¼Ĵ3", 0, 3)])])
def test_b2_words_are_cut_as_gpt2_does(make, text, expected):
    words = [e if isinstance(e, str) else e[0] for e in expected]
    path = letters_of_words(make, words)
    answer = json.loads(succeed("tokenizer", "encode", "--tokenizer", path, "--json", text))
    found = [(t, *o) for t, o in zip(answer["tokens"], answer["offsets"])]
    assert [f[0] for f in found] == words
    assert all(f == e for f, e in zip(found, expected) if not isinstance(e, str))


def test_b3_the_alphabet_of_bytes(make):
    path = letters_of_words(make, [])
    assert len(BYTE_LETTERS) == 256
    for byte, letter in [(0x20, "Ġ"), (0x0A, "Ċ"), (0x0D, "č"), (0x09, "ĉ"), (0x21, "!")]:
        answer = json.loads(succeed("tokenizer", "encode", "--tokenizer", path, "--json",
                                    "x" + chr(byte) + "x"))
        assert answer["tokens"] == ["x", letter, "x"]
    assert tokens(path, "í") == ["Ã", "Ń"]  # C3 AD


def test_b4_a_character_without_a_token(make):
    vocabulary = numbered(["a", "b", "ab"])
    assert pieces(make(bpe(vocabulary, [["a", "b"]])), "axb") == [("ab", 0, 2)]
    vocabulary["<unk>"] = 3
    unknown = make(bpe(vocabulary, [["a", "b"]], unk_token="<unk>"))
    assert pieces(unknown, "axxb") == [("a", 0, 1), ("<unk>", 1, 2), ("<unk>", 2, 3), ("b", 3, 4)]
    fused = make(bpe(vocabulary, [["a", "b"]], unk_token="<unk>", fuse_unk=True))
    assert pieces(fused, "axxb") == [("a", 0, 1), ("<unk>", 1, 3), ("b", 3, 4)]


def test_b5_merges_go_by_their_order(make):
    path = make(bpe(numbered(["a", "b", "c", "ab", "bc"]), [["b", "c"], ["a", "b"]]))
    assert pieces(path, "abc") == [("a", 0, 1), ("bc", 1, 3)]


@pytest.mark.parametrize("letter", ["a", "^"])
def test_b6_long_repeats_take_time_in_step_with_their_length(make, letter):
    twice = [letter, letter * 2, letter * 4, letter * 8]
    path = make(bpe(numbered(BYTE_LETTERS + twice[1:]), [[half, half] for half in twice[:-1]]),
                pre_tokenizer=BYTE_LEVEL)

    def seconds(count):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        (answer,) = encode(path, [letter * count])
        assert answer["ids"] == [258] * (count // 8)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    short, long = min(seconds(100_000) for _ in range(3)), min(seconds(1_600_000) for _ in range(3))
    assert long < 16 * 6 * max(short, 0.02), "a quadratic way takes 256 times as long"


def test_b7_what_is_not_utf8_is_refused_or_replaced(make):
    path = letters_of_words(make, [])
    for data, at, marks in [(b"a\xffb", 1, 1), (b"\xed\xa0\x80", 0, 3), (b"\xf0\x9f\x98", 0, 1)]:
        code, _, messages = run("tokenizer", "encode", "--tokenizer", path, "--json",
                                data=data + b"\n")
        assert code != 0 and f"byte {at}" in messages, messages
        output = succeed("tokenizer", "encode", "--tokenizer", path, "--json", "--replace-invalid",
                         data=data + b"\n")
        assert "".join(json.loads(output)["tokens"]).count("ï¿½") == marks


# --- C: Unigram and Metaspace --------------------------------------------------------------------

UNIGRAM = [["<unk>", 0.0], ["a", -1], ["b", -1], ["ab", -1.5], ["abc", -5], ["c", -2], ["▁", -3],
           ["▁a", -2]]


def metaspace(scheme="always"):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}


def test_c1_the_best_path_and_fused_unknowns(make):
    path = make(unigram(UNIGRAM))
    assert encode(path, ["abc"])[0]["ids"] == [3, 5]
    assert pieces(path, "xyz") == [("xyz", 0, 3)] and encode(path, ["xyz"])[0]["ids"] == [0]
    assert encode(path, ["axyb"])[0] == {"ids": [1, 0, 2], "tokens": ["a", "xy", "b"],
                                         "offsets": [[0, 1], [1, 3], [3, 4]]}
    assert tokens(path, "aab") == ["a", "ab"] and tokens(path, "") == []


def test_c2_of_equal_paths_the_longer_last_piece_wins(make):
    path = make(unigram([["<unk>", 0.0], ["a", -1], ["aa", -2]]))
    assert tokens(path, "aa") == ["aa"]
    assert pieces(path, "aaa") == [("a", 0, 1), ("aa", 1, 3)]
    assert tokens(path, "aaaa") == ["aa", "aa"]


def test_c3_spaces_of_metaspace(make):
    path = make(unigram(UNIGRAM), pre_tokenizer=metaspace())
    assert pieces(path, "a b") == [("▁a", 0, 1), ("▁", 1, 2), ("b", 2, 3)]
    assert pieces(path, " a") == [("▁a", 0, 2)]
    assert tokens(path, "a  b") == ["▁a", "▁", "▁", "b"]
    assert pieces(path, "a ") == [("▁a", 0, 1), ("▁", 1, 2)]
    assert pieces(path, "\ta") == [("▁", 0, 1), ("\t", 0, 1), ("a", 1, 2)]


@pytest.mark.parametrize("scheme, answers", [
    ("always", [["▁a", "<s>", "▁a"], ["<s>", "▁a"], ["▁", "<s>", "▁a"]]),
    ("first", [["▁a", "<s>", "a"], ["<s>", "a"], ["▁", "<s>", "▁a"]]),
    ("never", [["a", "<s>", "a"], ["<s>", "a"], ["▁", "<s>", "▁a"]])])
def test_c4_the_space_after_a_special_token(make, scheme, answers):
    vocabulary = UNIGRAM + [["<s>", 0.0]]
    path = make(unigram(vocabulary), [token("<s>", 8)], pre_tokenizer=metaspace(scheme))
    assert [tokens(path, text) for text in ("a<s>a", "<s>a", " <s> a")] == answers
    if scheme == "first":
        return
    old = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": scheme == "always"}
    path = make(unigram(vocabulary), [token("<s>", 8)], pre_tokenizer=old)
    assert [tokens(path, text) for text in ("a<s>a", "<s>a", " <s> a")] == answers


def test_c6_a_unigram_without_unknown_says_what_is_missing(make):
    path = make(unigram([["a", -1], ["b", -1]], unk_id=None))
    code, _, messages = run("tokenizer", "encode", "--tokenizer", path, "z")
    assert code != 0 and "unk" in messages, messages


# --- D: added and special tokens -----------------------------------------------------------------

def saw(make, **flags):
    return make(word_piece(numbered(["[UNK]", "i", "saw", "a", "b"])),
                [token("Yesterday", 5, special=False, **flags)],
                normalizer={"type": "Lowercase"}, pre_tokenizer={"type": "Whitespace"})


def test_d1_added_tokens_are_found_in_the_text_or_in_what_is_made_of_it(make):
    assert pieces(saw(make, normalized=True), "YESTERDAY i saw")[0][1:] == (0, 9)
    assert encode(saw(make, normalized=True), ["YESTERDAY i saw"])[0]["ids"] == [5, 1, 2]
    assert encode(saw(make, normalized=False), ["YESTERDAY i saw"])[0]["ids"] == [0, 1, 2]
    for normalized in (True, False):
        assert encode(saw(make, normalized=normalized), ["Yesterday i"])[0]["ids"] == [5, 1]
    (answer,) = encode(saw(make), ["Yesterdays"])
    assert (answer["ids"], answer["offsets"]) == ([5, 0], [[0, 9], [9, 10]])
    (answer,) = encode(saw(make, single_word=True), ["Yesterdays Yesterday"])
    assert (answer["ids"], answer["offsets"]) == ([0, 5], [[0, 10], [11, 20]])


@pytest.mark.parametrize("flags, start, end", [({"lstrip": True}, 1, 13), ({"rstrip": True}, 4, 15),
                                               ({"lstrip": True, "rstrip": True}, 1, 15)])
def test_d2_added_tokens_take_the_spaces_beside_them(make, flags, start, end):
    path = make(word_piece(numbered(["[UNK]", "i", "a"])),
                [token("yesterday", 3, special=False, **flags)],
                pre_tokenizer={"type": "Whitespace"})
    for text in ("i   yesterday  a", "i\u00a0\u00a0 yesterday\u2003\u00a0a"):
        (answer,) = encode(path, [text])
        assert [start, end] in answer["offsets"] and 3 in answer["ids"]


@pytest.mark.parametrize("trim, mask, after", [(True, [2, 8], [9, 10]), (False, [1, 8], [8, 10])])
def test_d4_robertas_mask_takes_the_space_before_it(make, trim, mask, after):
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5, "Ġb": 6, "Ġa": 7,
                  "Ġ": 8, "<mask>": 9}
    path = make(bpe(vocabulary, [["Ġ", "b"], ["Ġ", "a"]]),
                [token("<s>", 0), token("</s>", 2), token("<mask>", 9, lstrip=True)],
                pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False,
                               "trim_offsets": trim, "use_regex": True},
                post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2],
                                "cls": ["<s>", 0], "trim_offsets": trim,
                                "add_prefix_space": False},
                decoder={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": trim,
                         "use_regex": True})
    (answer,) = encode(path, ["a <mask> b"])
    assert answer["ids"] == [0, 4, 9, 6, 2]
    assert answer["offsets"][2:4] == [mask, after]
    assert encode(path, ["a<mask>b"])[0]["ids"] == [0, 4, 9, 5, 2]
    assert decode(path, [answer["ids"]]) == ["<s>a<mask> b</s>"]


# --- E: pairs, windows, padding ------------------------------------------------------------------

def test_e1_pairs_and_empty_texts(make):
    path = bert_with_specials(make)
    (answer,) = encode(path, ["ab"], "--pair", "abc", "--details")
    assert answer["ids"] == [1, 4, 2, 4, 5, 2] and answer["type_ids"] == [0, 0, 0, 1, 1, 1]
    assert answer["special_tokens_mask"] == [1, 0, 1, 0, 0, 1]
    assert encode(path, [""])[0]["offsets"] == [[0, 0], [0, 0]]
    (answer,) = encode(path, ["ab"], "--pair", "", "--details")
    assert answer["ids"] == [1, 4, 2, 2] and answer["type_ids"] == [0, 0, 0, 1]


def test_e1_robertas_pairs_have_one_type(make):
    vocabulary = numbered(["<s>", "</s>", "a", "b"])
    path = make(word_piece(vocabulary, unk_token="a"), [token("<s>", 0), token("</s>", 1)],
                post_processor={"type": "RobertaProcessing", "sep": ["</s>", 1],
                                "cls": ["<s>", 0], "trim_offsets": True,
                                "add_prefix_space": False})
    (answer,) = encode(path, ["a"], "--pair", "b", "--details")
    assert answer["tokens"] == ["<s>", "a", "</s>", "</s>", "b", "</s>"]
    assert answer["type_ids"] == [0] * 6


def fifty_words(make, specials=False):
    vocabulary = numbered(["[UNK]"] + [f"w{i}" for i in range(1, 51)] + ["[CLS]", "[SEP]"])
    ends = {"type": "BertProcessing", "sep": ["[SEP]", 52], "cls": ["[CLS]", 51]}
    return make(word_piece(vocabulary), pre_tokenizer={"type": "WhitespaceSplit"},
                post_processor=ends if specials else None)


def words(count):
    return " ".join(f"w{i}" for i in range(1, count + 1))


def test_e2_windows_overlap_by_the_stride(make):
    (answer,) = encode(fifty_words(make), [words(50)], "--max-length", "10", "--windows",
                       "--stride", "2")
    windows = [answer["ids"]] + [window["ids"] for window in answer["overflowing"]]
    assert windows == [list(range(first, first + 10)) for first in (1, 9, 17, 25, 33, 41)]


def test_e3_a_stride_without_room_is_refused(make):
    path = fifty_words(make, specials=True)
    (answer,) = encode(path, [words(30)], "--max-length", "10", "--windows", "--stride", "7")
    assert len(answer["ids"]) == 10 and len(answer["overflowing"]) == 22
    for stride in ("8", "9"):
        code, _, messages = run("tokenizer", "encode", "--tokenizer", path, "--json", "--windows",
                                "--max-length", "10", "--stride", stride, words(30))
        assert code != 0 and stride in messages, messages


def test_e4_a_length_below_the_special_tokens_is_refused(make):
    code, _, messages = run("tokenizer", "encode", "--tokenizer", fifty_words(make, specials=True),
                            "--json", "--max-length", "1", words(30))
    assert code != 0 and "2" in messages, messages


def test_e6_padding_to_a_length_and_to_a_multiple(make):
    path = fifty_words(make)
    fill = {"length": 6, "multiple": 0, "side": 0, "id": 99, "type_id": 0, "token": "[PAD]"}
    (answers,) = ask(path, [{"batch": [[words(4)]], "flags": 0, "padding": fill}])
    ((window,),) = answers
    assert window["ids"] == [1, 2, 3, 4, 99, 99] and window["types"] == [0] * 6
    assert window["attention"] == [1, 1, 1, 1, 0, 0]
    assert window["special"] == [0, 0, 0, 0, 1, 1]
    assert window["offsets"][4:] == [[0, 0], [0, 0]]
    fill.update(length=0, multiple=8)
    (answers,) = ask(path, [{"batch": [[words(3)], [words(9)]], "flags": 0, "padding": fill}])
    assert [len(window["ids"]) for (window,) in answers] == [16, 16]
