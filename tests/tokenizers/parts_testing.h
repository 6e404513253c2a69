/* parts_testing.h: one part of a tokenizer alone: the model knows nothing, so that each word is a
 * token that shows its text; FixedLength of 1 shows every character. */
#ifndef ATHANOR_PARTS_TESTING_H
#define ATHANOR_PARTS_TESTING_H

#include "tokenizer_testing.h"

#define EACH_CHARACTER "{\"type\":\"FixedLength\",\"length\":1}"

/* JSON of the parts, "null" for none. */
static inline ath_status load_parts(const char *normalizer, const char *pre_tokenizer,
                                    const char *decoder, ath_tokenizer **out) {
  char json[4096];
  snprintf(json, sizeof json,
           "{\"normalizer\":%s,\"pre_tokenizer\":%s,\"decoder\":%s,\"model\":{\"type\":"
           "\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0.0]]}}",
           normalizer, pre_tokenizer, decoder);
  return load_text(json, out);
}

/* What a text becomes: "a(0,1) b(1,2)". */
static inline const char *parts_show(const char *normalizer, const char *pre_tokenizer,
                                     const char *text, size_t length) {
  ath_tokenizer *tokenizer = NULL;
  assert_ok(load_parts(normalizer, pre_tokenizer, "null", &tokenizer));
  const char *line = shown_flags(tokenizer, text, length, 0);
  ath_tokenizer_destroy(tokenizer);
  return line;
}

#define assert_normalizes(normalizer, text, expected) \
  assert_string_equal(parts_show(normalizer, EACH_CHARACTER, text, sizeof text - 1), expected)
#define assert_cuts(pre_tokenizer, text, expected) \
  assert_string_equal(parts_show("null", pre_tokenizer, text, sizeof text - 1), expected)

#endif
