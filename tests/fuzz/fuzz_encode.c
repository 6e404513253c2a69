/* fuzz_encode.c: any bytes as text, by each of the seeds: the first byte chooses one, the second
 * what is asked for. What is refused as it is can be encoded repaired. */
#include "seeded.h"

static void encode(const ath_tokenizer *tokenizer, unsigned wish, const char *text, size_t size) {
  static ath_encoding encoding;
  unsigned flags = (wish & 1 ? ATH_ENCODE_SPECIAL : 0) | (wish & 2 ? ATH_ENCODE_REPAIR : 0) |
                   (wish & 4 ? ATH_ENCODE_TRUNCATE : 0) | (wish & 8 ? ATH_ENCODE_WINDOWS : 0);
  encode_and_check(tokenizer, text, size, flags, &encoding);
  size_t count = encoding.length;
  int32_t *ids = malloc(count * sizeof *ids + 1);
  if (count > 0) memcpy(ids, encoding.ids, count * sizeof *ids);
  /* The ids alone are the same, however they are come by. */
  if (ath_tokenizer_encode(tokenizer, text, size, flags, &encoding) == ATH_OK)
    MUST(encoding.length == count &&
         (count == 0 || memcmp(ids, encoding.ids, count * sizeof *ids) == 0));
  else
    MUST(count == 0);
  free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  load_seeds();
  if (size < 2) return 0;
  char *text = malloc(size - 2 + 1); /* of its own, so that a step over its end is seen */
  memcpy(text, data + 2, size - 2);
  encode(seeded[data[0] % seeded_count], data[1], text, size - 2);
  free(text);
  return 0;
}
