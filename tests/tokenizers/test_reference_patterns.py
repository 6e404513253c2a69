"""Random Split, ByteLevel and Replace, with strings and regular expressions, beside the tokenizers
library: words and offsets, decoded texts and written files must be equal.

Variables of pieces.py set the number of random texts and the seed.
"""
import json
import random

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from pieces import (CASES, SEED, TEXTS, ask_decodings, ask_encodings, encoded, random_character,
                    report, serve)

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{SUFFIX}|"
         rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{SUFFIX}|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CLIP = (r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|"
        r"[^\s\p{L}\p{N}]+")
KNOWN = [GPT2, CL100K, CL100K.replace("{1,3}", ""), O200K, CLIP, r"\s+", r"\p{N}", r"\p{N}{1,3}",
         "[0-9][0-9][0-9]", CL100K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?i:[sdmt]|ll|ve|re)"),
         CL100K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)",
                        "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])")]
OTHERS = ["a", "a*", "", "x*", r"\s", r"(?<=a)b", r"(?=b)", "^", "$", r"\p{L}+",
          r"\p{Lu}\p{Ll}*", r"[^\p{L}\p{M}]+", r"(a)\1", r"a++", r"\R", r"\p{Han}", r"[一-龥]+",
          r"\.|,", r"a|b|$", r"\P{L}", r"[\r\n]", r" ?[a-z]+", "(?i)SS", r"[\p{N}&&[^1]]",
          r"\p{M}", r"(?i:é|ſ)", r"\p{^N}+", r"(?<x>b)a\k<x>", r"[ \t]+$", "a{1,2}+",
          r"\p{Letter}", r"\p{Lowercase_Letter}+"]
STRINGS = ["a", " ", "ab", "", "  ", "é", "\n", "'", ".", "aa", "▁", "你"]
PARTS = [" ", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u3000", "\u0085",
         "\u2028", "a", "b", "ab", "aa", "aab", "ba", "x", "S", "ss", "ß", "the", "Hello",
         "HTTPServer", "'s", "'S", "'ll", "'LL", "'re", "'ve", "'ſ", "'m", "'", "’s", "!",
         "...", "?!", "/", "//", "é", "e\u0301", "É", "你", "好", "½", "1", "12", "12345", "１２",
         "٣", "Ⅷ", "😀", "👩\u200d👧", "ǅ", "ʰ", "\u0301", "\u1c89", "\U00010d41", "\U0002ebf1",
         "<|startoftext|>", "ĠĊ", "▁", "\u180e", "\u200b", "\x1c"]


def random_text(source):
    return "".join(source.choice(PARTS) if source.random() < 0.85 else random_character(source)
                   for _ in range(source.randint(0, 14)))


def random_pattern(source):
    kind = source.random()
    if kind < 0.25:
        return source.choice(STRINGS)
    return Regex(source.choice(KNOWN if kind < 0.6 else OTHERS))


def random_cutter(source):
    p = pre_tokenizers
    flag = lambda: source.random() < 0.5
    return source.choice([
        lambda: p.ByteLevel(flag(), flag(), source.random() < 0.8),
        lambda: p.Split(random_pattern(source),
                        source.choice(["removed", "isolated", "merged_with_previous",
                                       "merged_with_next", "contiguous"]), flag()),
        lambda: p.Split(random_pattern(source), "isolated"),
        lambda: p.Digits(flag()),
    ])()


def random_replacement(source):
    return (random_pattern(source), source.choice(["", " ", "_", "ab", "é", "<>", "x"]))


def random_tokenizer(source):
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0)], 0))
    if source.random() < 0.3:
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Replace(*random_replacement(source))
             for _ in range(source.randint(1, 2))])
        if source.random() < 0.5:
            tokenizer.pre_tokenizer = pre_tokenizers.FixedLength(1)  # shows each character's place
            return tokenizer
    cutters = [random_cutter(source) for _ in range(source.randint(1, 3))]
    tokenizer.pre_tokenizer = (cutters[0] if len(cutters) == 1
                               else pre_tokenizers.Sequence(cutters))
    return tokenizer


def comes_from_nowhere(tokens):
    """Whether a Replace matched the empty string at the text's beginning. What it put there is at
    (0, 0), and the reference, which is known to be wrong, repeats it when it is cut."""
    return any(start == end for _, start, end in tokens)


@pytest.mark.parametrize("part", range(4))
def test_patterns_cut_and_replace_as_in_the_reference(part, tmp_path):
    source = random.Random(1000 * part + 31 + SEED)
    differences = []
    for tokenizer, text, line in ask_encodings(source, tmp_path, CASES // TEXTS // 4,
                                               random_tokenizer, random_text):
        try:
            encoding = tokenizer.encode(text)
        except BaseException as failure:  # some texts that a Replace makes longer and shorter
            assert type(failure).__name__ == "PanicException"
            assert "Replace" in tokenizer.to_str() and not line.startswith("!")
            continue
        theirs = [(t, s, e) for t, (s, e) in zip(encoding.tokens, encoding.offsets)]
        ours = encoded(line)
        if ours != theirs and not comes_from_nowhere(theirs):
            differences.append((tokenizer, text, theirs, ours))
    assert not differences, report(differences)


def test_patterns_replace_in_decoders_as_in_the_reference(tmp_path):
    source = random.Random(77 + SEED)
    pieces = [("<unk>", 0.0)] + [(p, -1.0) for p in dict.fromkeys(PARTS)]

    def random_decoding(source):
        tokenizer = Tokenizer(models.Unigram(pieces, 0))
        tokenizer.decoder = decoders.Replace(*random_replacement(source))
        return tokenizer

    def random_ids(source):
        return [source.randrange(1, len(pieces)) for _ in range(source.randint(1, 8))]

    for tokenizer, ids, line in ask_decodings(source, tmp_path, CASES // TEXTS // 4,
                                              random_decoding, random_ids):
        assert bytes.fromhex(line).decode() == tokenizer.decode(ids, False), tokenizer.to_str()


def test_patterns_are_written_as_the_reference_writes_them(tmp_path):
    source = random.Random(5)
    paths = []
    for number in range(60):
        tokenizer = random_tokenizer(source)
        paths.append(tmp_path / f"{number}.json")
        tokenizer.save(str(paths[-1]))
    for path, line in zip(paths, serve([f"write {path}" for path in paths]), strict=True):
        assert bytes.fromhex(line).decode() == path.read_text()


@pytest.mark.parametrize("pattern, fault", [
    ("(", "end pattern with unmatched parenthesis"), ("[b-a]", "empty range in char class"),
    (r"\p{Foo}", "invalid character property name {Foo}"), ("(?s)", "undefined group option")])
def test_a_pattern_without_meaning_is_refused_with_its_place(pattern, fault, tmp_path):
    with pytest.raises(Exception, match=fault.replace("{", r"\{")):
        Regex(pattern)
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0)], 0))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(), pre_tokenizers.Split(Regex("a"), "isolated")])
    state = json.loads(tokenizer.to_str())
    state["pre_tokenizer"]["pretokenizers"][1]["pattern"]["Regex"] = pattern
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(state))
    (line,) = serve([f"write {path}"])
    assert line == (f"! {path}: pre_tokenizer.pretokenizers[1].pattern.Regex: not a regular "
                    f"expression of Oniguruma's: {fault}")
