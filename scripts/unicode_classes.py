#!/usr/bin/env python3
"""Writes src/tokenizers/unicode_classes.c: the classes of characters that the scanners of
src/tokenizers/scanners.c ask for, as the regular expressions of the `tokenizers` package have them
(0.23.3: Unicode 16). Run it again when that package moves to a newer Unicode:

    build/venv/bin/python scripts/unicode_classes.py > src/tokenizers/unicode_classes.c
"""
from tokenizers import Regex, pre_tokenizers

# In the order of enum ath_class in unicode_classes.h; what is in none of them is 0.
CLASSES = [r"\s", r"\p{N}", r"\p{Lu}", r"\p{Lt}", r"\p{Ll}", r"\p{Lm}", r"\p{Lo}", r"\p{M}"]
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
PAGE = 128

HEAD = """\
/* unicode_classes.c: the class of each character (Unicode 16), two in a byte, in pages of {page}
 * characters that are kept once each. Made by scripts/unicode_classes.py; not to be edited. */
#include "tokenizers/unicode_classes.h"
"""


def members(pattern):
    """The code points that a pattern for one character matches."""
    remover = pre_tokenizers.Split(Regex(pattern), "removed")
    found = set()
    for first in range(0, len(CHARACTERS), 4096):
        part = CHARACTERS[first:first + 4096]
        left = set("".join(piece for piece, _ in remover.pre_tokenize_str("".join(part))))
        found.update(ord(c) for c in part if c not in left)
    return found


def print_table(name, values):
    print(f"\nconst uint8_t {name}[{len(values)}] = {{")
    line = " "
    for value in values:
        if len(line) + len(str(value)) + 2 > 100:
            print(line)
            line = " "
        line += f"{value},"
    print(line + "\n};")


def main():
    classes = bytearray(0x110000)
    for number, pattern in enumerate(CLASSES, 1):
        for c in members(pattern):
            assert classes[c] == 0, f"U+{c:04X} is in two classes"
            classes[c] = number
    pages, places = {}, []
    for first in range(0, len(classes), PAGE):
        part = classes[first:first + PAGE]
        packed = bytes(low | high << 4 for low, high in zip(part[0::2], part[1::2]))
        places.append(pages.setdefault(packed, len(pages)))
    assert len(pages) <= 256
    print(HEAD.format(page=PAGE), end="")
    print_table("ath_class_pages", places)
    print_table("ath_class_members", b"".join(pages))


main()
