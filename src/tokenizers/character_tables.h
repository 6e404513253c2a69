/* character_tables.h: what the reference takes each character for, which no single version of
 * Unicode says: its parts are built on several. */
#ifndef ATHANOR_TOKENIZERS_CHARACTER_TABLES_H
#define ATHANOR_TOKENIZERS_CHARACTER_TABLES_H

#include <stddef.h>
#include <stdint.h>

enum { /* the order is that of scripts/make_character_tables.py */
  ATH_IS_MARK = 1 << 0,           /* StripAccents takes it away */
  ATH_IS_NONSPACING = 1 << 1,     /* BertNormalizer does, as an accent */
  ATH_IS_CONTROL = 1 << 2,        /* BertNormalizer does, cleaning */
  ATH_IS_PUNCTUATION = 1 << 3,    /* general category P, or an ASCII symbol */
  ATH_IS_WHITE_SPACE = 1 << 4,    /* Unicode's property White_Space */
  ATH_IS_CHINESE = 1 << 5,        /* BertNormalizer puts spaces around it */
  ATH_IS_NUMERIC = 1 << 6,        /* general category N */
  ATH_IS_WORD = 1 << 7,           /* \w of regular expressions */
  ATH_IS_CANONICAL = 1 << 8,      /* NFD changes it; Hangul syllables are left out here */
  ATH_IS_COMPATIBLE = 1 << 9,     /* NFKD does */
  ATH_IS_UNSTABLE_NFC = 1 << 10,  /* NFC may change it, or join it to what is before */
  ATH_IS_UNSTABLE_NFKC = 1 << 11, /* NFKC may */
};

typedef struct ath_character_record {
  uint16_t flags;
  uint8_t combining; /* canonical combining class */
  int32_t lower;     /* what to add for the small letter */
} ath_character_record;

/* The generated tables (character_tables.c). */
extern const ath_character_record ath_character_records[];
extern const uint32_t ath_character_runs[], ath_script_runs[];
extern const size_t ath_character_run_count, ath_script_run_count;

const ath_character_record *ath_character_look_up(uint32_t character);

/* A number for the character's script; 0 for none in particular, as of spaces. */
uint32_t ath_character_script(uint32_t character);

#endif
