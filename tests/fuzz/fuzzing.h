/* fuzzing.h: what the fuzz targets share. A target is one file fuzz_*.c with the function that
 * libFuzzer calls (llvm.org/docs/LibFuzzer.html); scripts/fuzz.sh builds them with clang and lets
 * it search. In every build mutate.c calls the same function with seeds changed at random, as a
 * test.
 *
 * A target ends by abort when what it looks at is wrong; sanitizers see the rest. */
#ifndef ATHANOR_TESTS_FUZZING_H
#define ATHANOR_TESTS_FUZZING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "athanor/tokenizer.h"
#include "base/buffer.h"
#include "base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                     \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, ath_error_text());\
      abort();                                                                              \
    }                                                                                       \
  } while (0)

/* The folder of the seeds: tests/fuzz/seeds, from wherever the program runs. */
static inline const char *seeds_folder(void) {
  const char *told = getenv("ATHANOR_FUZZ_SEEDS");
  return told != NULL ? told : "tests/fuzz/seeds";
}

/* Warnings about odd files would be most of what is printed. */
static inline void say_nothing(void) { ath_log_set_sink(NULL); }

/* Loads bytes as the file of this name, through memory. */
static inline ath_status load_file(const uint8_t *data, size_t size, ath_tokenizer **out) {
  char path[64];
  int file = memfd_create("tokenizer", MFD_CLOEXEC);
  MUST(file >= 0 && write(file, data, size) == (ssize_t)size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  ath_status status = ath_tokenizer_load(path, out);
  close(file);
  return status;
}

/* Encodes with everything asked for, and holds the encoding against its text. */
static inline void encode_and_check(const ath_tokenizer *tokenizer, const char *text, size_t size,
                                    unsigned flags, ath_encoding *out) {
  flags |= ATH_ENCODE_OFFSETS | ATH_ENCODE_TOKENS | ATH_ENCODE_WORDS | ATH_ENCODE_MASKS |
           ATH_ENCODE_TYPES | ATH_ENCODE_SEQUENCES;
  if (ath_tokenizer_encode(tokenizer, text, size, flags, out) != ATH_OK) {
    MUST(out->length == 0 && *ath_error_text() != '\0');
    return;
  }
  for (size_t i = 0; i < out->length; i++) {
    size_t length;
    const char *token = ath_encoding_token(out, tokenizer, i, &length);
    MUST(out->ids[i] >= 0 && out->ids[i] < ath_tokenizer_size(tokenizer));
    MUST(out->starts[i] <= out->ends[i] && out->ends[i] <= size);
    MUST(token != NULL || length == 0);
  }
}

/* What loads also encodes, decodes and saves. */
static inline void use_tokenizer(const ath_tokenizer *tokenizer) {
  static const char text[] =
      "Hello, w\303\266rld  42 a<s>b [MASK] \360\237\230\200\t\n\xE4\xBD\xA0";
  ath_encoding encoding = {0};
  ath_buffer back = ath_buffer_make(1 << 24);
  encode_and_check(tokenizer, text, sizeof text - 1, ATH_ENCODE_SPECIAL | ATH_ENCODE_TRUNCATE,
                   &encoding);
  if (ath_tokenizer_decode(tokenizer, encoding.ids, encoding.length, 0, &back) != ATH_OK)
    MUST(*ath_error_text() != '\0');
  MUST(ath_tokenizer_hash(tokenizer) != NULL); /* which writes the whole file */
  ath_buffer_free(&back);
  ath_encoding_free(&encoding);
}

#endif
