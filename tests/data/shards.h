/* shards.h: small shards for the tests, written as other tools write them: without a manifest. */
#ifndef ATHANOR_TESTS_DATA_SHARDS_H
#define ATHANOR_TESTS_DATA_SHARDS_H

#include "testing.h"

#include "athanor/tfrecord.h"
#include "base/buffer.h"

/* The content of token `column` of record `record`: ordinary ids 5 … 99, [CLS] 0 in front. */
static inline int32_t token_of(uint64_t record, int column) {
  return column == 0 ? 0 : (int32_t)(5 + (record * 31 + (uint64_t)column * 7) % 95);
}

/* The last `record % 3` tokens of a record are padding (id 3, mask 0). */
static inline int32_t mask_of(uint64_t record, int column, int length) {
  return column < length - (int)(record % 3);
}

/* Writes dataset-<i>-<n>.tfrecord files that hold `count` records of `length` tokens. */
static inline void write_shards(const char *folder, uint64_t count, int length,
                                uint64_t per_shard) {
  int32_t *ids = malloc(2 * (size_t)length * sizeof *ids), *mask = ids + length;
  ath_buffer buffer = ath_buffer_make(1 << 20);
  for (uint64_t shard = 0, record = 0; record < count; shard++) {
    uint64_t here = count - record < per_shard ? count - record : per_shard;
    char name[64];
    snprintf(name, sizeof name, "dataset-%llu-%llu.tfrecord", (unsigned long long)shard,
             (unsigned long long)here);
    ath_tfrecord_writer *writer = NULL;
    assert_ok(ath_tfrecord_create(in_folder(folder, name), &writer));
    for (uint64_t end = record + here; record < end; record++) {
      for (int i = 0; i < length; i++) {
        mask[i] = mask_of(record, i, length);
        ids[i] = mask[i] ? token_of(record, i) : 3;
      }
      ath_int64_feature features[] = {{"attention_mask", mask, (size_t)length},
                                      {"input_ids", ids, (size_t)length}};
      ath_buffer_clear(&buffer);
      assert_ok(ath_example_write(features, 2, &buffer));
      assert_ok(ath_tfrecord_write(writer, buffer.bytes, buffer.length));
    }
    assert_ok(ath_tfrecord_commit(writer));
  }
  ath_buffer_free(&buffer);
  free(ids);
}

#endif
