/* fuzz_load.c: any bytes as tokenizer.json. What loads also encodes, decodes and saves. */
#include "fuzzing.h"

static void use(const ath_tokenizer *tokenizer) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ath_tokenizer *tokenizer = NULL;
  say_nothing();
  if (load_file(data, size, &tokenizer) == ATH_OK) use(tokenizer);
  else MUST(tokenizer == NULL && *ath_error_text() != '\0');
  ath_tokenizer_destroy(tokenizer);
  return 0;
}
