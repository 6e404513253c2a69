/* prepare_fixture.h: a small tokenizer and text of any length for the tests of preparing. */
#ifndef ATHANOR_TESTS_DATA_PREPARE_FIXTURE_H
#define ATHANOR_TESTS_DATA_PREPARE_FIXTURE_H

#include "testing.h"

#include "athanor/dataset.h"
#include "unigram_testing.h"

/* A Unigram tokenizer of the letters and a few words; `extra` more pieces make it another one. */
static inline ath_tokenizer *small_tokenizer(int extra) {
  static const char *const words[] = {"\u2581the", "\u2581record", "\u2581of", "\u2581token",
                                      "ing", "er", "\u2581", "."};
  enum { WORDS = sizeof words / sizeof *words, LETTERS = 26, EXTRA_MAX = 8 };
  static char names[LETTERS + EXTRA_MAX][8];
  ath_unigram_piece pieces[WORDS + LETTERS + EXTRA_MAX];
  size_t count = 0;
  for (int i = 0; i < WORDS; i++) pieces[count++] = (ath_unigram_piece){words[i], -3.0 - 0.1 * i};
  for (int i = 0; i < LETTERS + extra; i++) {
    snprintf(names[i], sizeof names[i], i < LETTERS ? "%c" : "q%c", 'a' + i % LETTERS);
    pieces[count++] = (ath_unigram_piece){names[i], -5.0 - 0.01 * i};
  }
  ath_tokenizer *tokenizer = NULL;
  assert_ok(unigram_of(pieces, count, &tokenizer));
  return tokenizer;
}

/* Line `number` of the text: between 0 (every eleventh: blank) and about 12 words. */
static inline size_t text_line(uint64_t number, char out[256]) {
  static const char *const words[] = {"the", "record", "of", "tokening", "longer", "abc", "zoo."};
  size_t length = 0;
  uint64_t x = number * UINT64_C(0x9E3779B97F4A7C15);
  int count = number % 11 == 5 ? 0 : (int)(x >> 60) % 12 + 1;
  for (int i = 0; i < count; i++) {
    x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
    length += (size_t)sprintf(out + length, "%s%s", i > 0 ? " " : "", words[(x >> 33) % 7]);
  }
  out[length] = '\0';
  return length;
}

static inline void write_text(const char *path, uint64_t first, uint64_t count) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  char line[256];
  for (uint64_t i = first; i < first + count; i++) {
    text_line(i, line);
    fprintf(file, "%s%s", line, i % 3 == 0 ? "\r\n" : "\n");
  }
  fclose(file);
}

/* Both folders hold the same files with the same bytes. */
static inline bool same_folders(const char *a, const char *b) {
  char command[2 * 4096 + 64];
  snprintf(command, sizeof command, "diff -r '%s' '%s' > /dev/null", a, b);
  return system(command) == 0;
}

#endif
