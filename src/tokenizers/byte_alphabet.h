/* byte_alphabet.h: the 256 characters that stand for bytes in the vocabularies of byte-level
 * models (GPT-2's table): the printable bytes of Latin-1 for themselves, the others, in order, from
 * U+0100 on. So a space is Ġ and a line feed Ċ. */
#ifndef ATHANOR_TOKENIZERS_BYTE_ALPHABET_H
#define ATHANOR_TOKENIZERS_BYTE_ALPHABET_H

#include <stddef.h>
#include <stdint.h>

/* The UTF-8 of a byte's character: one byte or two, of which the first two are given always. */
typedef struct ath_byte_letter {
  char utf8[2];
  uint8_t length;
} ath_byte_letter;

extern const ath_byte_letter ath_byte_letters[256];

/* Writes the characters of these bytes; returns where they end, which is at most twice as far. Two
 * bytes are always written, unless there are none. */
char *ath_write_byte_letters(char *out, const char *bytes, size_t length);

/* The byte that a character stands for, or −1. */
int ath_letter_byte(uint32_t c);

#endif
