/* unicode_classes.h: letters, numbers, marks and white space, as the regular expressions of the
 * reference library tell them apart: Unicode 16, \s being the property White_Space. */
#ifndef ATHANOR_TOKENIZERS_UNICODE_CLASSES_H
#define ATHANOR_TOKENIZERS_UNICODE_CLASSES_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Each character is in one class. */
typedef enum ath_class {
  ATH_CLASS_OTHER,
  ATH_CLASS_SPACE,
  ATH_CLASS_NUMBER,   /* N */
  ATH_CLASS_UPPER,    /* Lu */
  ATH_CLASS_TITLE,    /* Lt */
  ATH_CLASS_LOWER,    /* Ll */
  ATH_CLASS_MODIFIER, /* Lm */
  ATH_CLASS_LETTER,   /* Lo */
  ATH_CLASS_MARK,     /* M */
  ATH_CLASS_COUNT
} ath_class;

/* Sets of classes, a bit each. */
enum {
  ATH_SET_OTHER = 1 << ATH_CLASS_OTHER,
  ATH_SET_SPACE = 1 << ATH_CLASS_SPACE,
  ATH_SET_NUMBER = 1 << ATH_CLASS_NUMBER,
  ATH_SET_UPPER = 1 << ATH_CLASS_UPPER,
  ATH_SET_TITLE = 1 << ATH_CLASS_TITLE,
  ATH_SET_LOWER = 1 << ATH_CLASS_LOWER,
  ATH_SET_MODIFIER = 1 << ATH_CLASS_MODIFIER,
  ATH_SET_LETTER = 1 << ATH_CLASS_LETTER,
  ATH_SET_MARK = 1 << ATH_CLASS_MARK,
  ATH_SET_LETTERS = ATH_SET_UPPER | ATH_SET_TITLE | ATH_SET_LOWER | ATH_SET_MODIFIER |
                    ATH_SET_LETTER, /* L */
};

/* unicode_classes.c: for each 128 characters their page, and two characters in each byte of it. */
extern const uint8_t ath_class_pages[0x110000 / 128];
extern const uint8_t ath_class_members[];

static inline unsigned ath_class_of(uint32_t c) {
  assert(c < 0x110000);
  unsigned pair = ath_class_members[ath_class_pages[c >> 7] * 64u + (c >> 1 & 63)];
  return (c & 1 ? pair >> 4 : pair) & 15;
}

/* The set that holds the character's class alone. */
static inline unsigned ath_set_of(uint32_t c) { return 1u << ath_class_of(c); }

#endif
