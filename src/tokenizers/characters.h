/* characters.h: what sort of character stands at a place in well-formed UTF-8. */
#ifndef ATHANOR_TOKENIZERS_CHARACTERS_H
#define ATHANOR_TOKENIZERS_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character that begins at, or ends just before, byte `at`. */
uint32_t ath_character_at(const char *bytes, size_t at);
uint32_t ath_character_before(const char *bytes, size_t at);
/* The character's UTF-8; returns how many bytes. */
size_t ath_character_write(uint32_t character, char out[4]);

/* Unicode's property White_Space: \s of the reference's regular expressions. */
bool ath_is_white_space(uint32_t c);
/* Alphabetic, mark, decimal digit, connector punctuation or joiner (UTS 18, annex C): \w. */
bool ath_is_word_character(uint32_t c);

#endif
