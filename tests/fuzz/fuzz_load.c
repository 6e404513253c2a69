/* fuzz_load.c: any bytes as tokenizer.json. What loads is used. */
#include "fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ath_tokenizer *tokenizer = NULL;
  say_nothing();
  if (load_file(data, size, &tokenizer) == ATH_OK) use_tokenizer(tokenizer);
  else MUST(tokenizer == NULL && *ath_error_text() != '\0');
  ath_tokenizer_destroy(tokenizer);
  return 0;
}
