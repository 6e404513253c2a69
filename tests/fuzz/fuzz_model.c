/* fuzz_model.c: any bytes as a *.model file, which is a SentencePiece model or tiktoken's ranks. */
#include "fuzzing.h"
#include "tokenizers/files/convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char path[64];
  ath_tokenizer *tokenizer = NULL;
  say_nothing();
  if (path[0] == '\0') snprintf(path, sizeof path, "/dev/shm/athanor-fuzz-%d.model", (int)getpid());
  FILE *file = fopen(path, "wb");
  MUST(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
  /* Ranks of a number that is not known want to be told how text is cut. */
  const ath_convert_options options = {.pattern = "gpt2"};
  ath_status status = ath_tokenizer_load(path, &tokenizer);
  if (status != ATH_OK) status = ath_tokenizer_convert(path, &options, &tokenizer);
  if (status == ATH_OK) use_tokenizer(tokenizer);
  else MUST(tokenizer == NULL && *ath_error_text() != '\0');
  ath_tokenizer_destroy(tokenizer);
  remove(path);
  return 0;
}
