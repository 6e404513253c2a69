/* fuzz_decode.c: any bytes as ids, by each of the seeds: the first byte chooses one, the second
 * whether special tokens are left out; each id takes two bytes. */
#include "seeded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  load_seeds();
  if (size < 2) return 0;
  const ath_tokenizer *tokenizer = seeded[data[0] % seeded_count];
  size_t count = (size - 2) / 2;
  int32_t *ids = malloc(count * sizeof *ids + 1);
  for (size_t i = 0; i < count; i++) {
    int32_t id = (int16_t)(data[2 + 2 * i] | data[3 + 2 * i] << 8);
    /* Most are ids that there are. */
    ids[i] = id % 16 == 15 ? id : (id & 0x7FFF) % ath_tokenizer_size(tokenizer);
  }
  ath_buffer out = ath_buffer_make(1 << 24);
  if (ath_tokenizer_decode(tokenizer, ids, count, data[1] & 1, &out) != ATH_OK)
    MUST(*ath_error_text() != '\0');
  ath_buffer_free(&out);
  free(ids);
  return 0;
}
