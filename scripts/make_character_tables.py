"""Writes src/tokenizers/character_tables.c: what the tokenizers library takes each character for.

Its parts are built on several versions of Unicode, old and new, so no one version's data gives its
answers. This asks the library itself, code point by code point:

    build/venv/bin/python scripts/make_character_tables.py > src/tokenizers/character_tables.c

Canonical classes are those of Python's unicodedata where the library orders by them. It takes some
minutes.
"""
import sys
import unicodedata

import tokenizers
from tokenizers import normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
FLAGS = ["MARK", "NONSPACING", "CONTROL", "PUNCTUATION", "WHITE_SPACE", "CHINESE", "NUMERIC",
         "WORD", "CANONICAL", "COMPATIBLE", "UNSTABLE_NFC", "UNSTABLE_NFKC"]
BIT = {name: 1 << i for i, name in enumerate(FLAGS)}


def normalized(normalizer):
    """What a normaliser makes of each character that it changes."""
    found = {}
    for c in POINTS:
        text = normalizer.normalize_str(chr(c))
        if text != chr(c):
            found[c] = text
    return found


def cut(pre_tokenizer):
    """The characters that a pre-tokeniser parts from a letter: kept or dropped."""
    kept, dropped = set(), set()
    for c in POINTS:
        words = pre_tokenizer.pre_tokenize_str("a" + chr(c))
        if len(words) == 2:
            kept.add(c)
        elif words[0][0] == "a":
            dropped.add(c)
    return kept, dropped


def combining_class(c):
    """unicodedata's, if the library moves the character by it."""
    value = unicodedata.combining(chr(c))
    if value == 0:
        return 0
    other = "\u0316" if value > 220 else "\u0301"  # 220, 230
    text = "a" + (chr(c) + other if value > 220 else other + chr(c))
    return value if normalizers.NFD().normalize_str(text)[1] != text[1] else 0


def properties():
    forms = {name: normalized(getattr(normalizers, name)())
             for name in ["NFC", "NFD", "NFKC", "NFKD"]}
    lower = normalized(normalizers.Lowercase())
    marks = normalized(normalizers.StripAccents())
    clean = normalized(normalizers.BertNormalizer(True, False, False, False))
    chinese = normalized(normalizers.BertNormalizer(False, True, False, False))
    strip = normalized(normalizers.BertNormalizer(False, False, True, False))
    not_word, space = cut(pre_tokenizers.Whitespace())
    punctuation, _ = cut(pre_tokenizers.Punctuation())
    numeric, _ = cut(pre_tokenizers.Digits())
    seconds = {ord(d[-1]) for c, d in forms["NFD"].items()
               if len(d) > 1 and c not in forms["NFC"]}
    hangul = range(0xAC00, 0xD7A4)
    table = {}
    for c in POINTS:
        flags = {"MARK": c in marks, "NONSPACING": strip.get(c) == "",
                 "CONTROL": clean.get(c) == "", "PUNCTUATION": c in punctuation,
                 "WHITE_SPACE": c in space, "CHINESE": c in chinese, "NUMERIC": c in numeric,
                 "WORD": c not in not_word and c not in space,
                 "CANONICAL": c in forms["NFD"] and c not in hangul,
                 "COMPATIBLE": c in forms["NFKD"] and c not in hangul,
                 "UNSTABLE_NFC": c in forms["NFC"] or c in seconds,
                 "UNSTABLE_NFKC": c in forms["NFKC"] or c in seconds}
        small = lower.get(c, chr(c))
        delta = ord(small) - c if len(small) == 1 else 0  # U+0130 alone has two
        table[c] = (sum(BIT[f] for f in FLAGS if flags[f]), combining_class(c), delta)
    return table


def scripts():
    """A number for each character's script; 0 is that of no script in particular."""
    split = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    samples, table, last = [], {}, None
    for c in POINTS:
        if last is not None and table[last] and split(chr(last) + chr(c)) == [
                (chr(last) + chr(c), (0, 2))] and split(chr(c)):
            table[c] = table[last]
        elif not split(chr(c)):  # what has no script is dropped when it stands alone
            table[c] = 0
        else:
            same = [i for i, s in enumerate(samples) if len(split(chr(s) + chr(c))) == 1]
            if not same:
                samples.append(c)
            table[c] = same[0] + 1 if same else len(samples)
        last = c
    return table


def ranges(table):
    """(first character, value) of each run of equal values; surrogates are like what is before."""
    found = []
    for c in POINTS:
        if not found or found[-1][1] != table[c]:
            found.append((c, table[c]))
    return found


def put(items):
    line = " "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            print(line)
            line = " "
        line += f" {item},"
    print(line)


def main():
    found = ranges(properties())
    records = sorted({r for _, r in found})
    assert len(records) <= 256, len(records)
    version = tokenizers.__version__
    print(f"""/* character_tables.c: what tokenizers {version} takes each character for.
 *
 * Made by scripts/make_character_tables.py: change that, not this. */
#include "tokenizers/character_tables.h"

/* Flags, canonical combining class, distance to the small letter. */
const ath_character_record ath_character_records[] = {{""")
    put("{0x%X, %d, %d}" % r for r in records)
    print("""};

/* A run of characters: the first of them << 8 | number of their record. */
const uint32_t ath_character_runs[] = {""")
    put("0x%X" % (c << 8 | records.index(r)) for c, r in found)
    print("};\nconst size_t ath_character_run_count = %d;" % len(found))
    print("""
/* A run of characters: the first of them << 8 | number of their script, 0 for none. */
const uint32_t ath_script_runs[] = {""")
    found = ranges(scripts())
    put("0x%X" % (c << 8 | s) for c, s in found)
    print("};\nconst size_t ath_script_run_count = %d;" % len(found))


if __name__ == "__main__":
    sys.exit(main())
