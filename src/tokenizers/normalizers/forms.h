/* forms.h: Unicode's four normal forms (UAX 15), and what other normalisers share with them. */
#ifndef ATHANOR_TOKENIZERS_NORMALIZERS_FORMS_H
#define ATHANOR_TOKENIZERS_NORMALIZERS_FORMS_H

#include "tokenizers/pipeline.h"

typedef enum ath_form { ATH_NFC, ATH_NFD, ATH_NFKC, ATH_NFKD } ath_form;

/* Replaces *text by its normal form; leaves it alone when it is in that form. */
ath_status ath_normal_form(ath_run *run, ath_form form, ath_text *text) ATH_MUST_CHECK;

/* Small letters (lowercase.c). */
ath_status ath_lower_case(ath_run *run, ath_text *text) ATH_MUST_CHECK;

/* Takes away the characters that have one of the flags (character_tables.h; strip_accents.c). */
ath_status ath_strip_characters(ath_run *run, ath_text *text, unsigned flags) ATH_MUST_CHECK;

/* Whether a grapheme (UAX 29) ends between two characters of which one is ASCII and no line feed
 * (precompiled.c). */
bool ath_graphemes_part(uint32_t before, uint32_t after);

#endif
