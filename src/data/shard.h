/* shard.h: one shard being written: records of equal length in, a file and its entry in the
 * manifest out. */
#ifndef ATHANOR_DATA_SHARD_H
#define ATHANOR_DATA_SHARD_H

#include <stdbool.h>
#include <stdint.h>

#include "athanor/tfrecord.h"
#include "data/manifest.h"
#include "storage/file.h"

typedef struct ath_shard {
  char folder[ATH_PATH_MAX];
  ath_compression compression; /* none, until somebody says otherwise */
  int max_length;
  uint64_t limit_records, limit_bytes; /* when it is full; one of them is 0 */
  int32_t *tokens; /* the record that ath_shard_write takes, and as many ones, for the mask */
  uint64_t records, record_bytes; /* so far; of the last record, framing included */
  ath_tfrecord_writer *writer;    /* NULL as long as it has no record */
  ath_buffer example;
} ath_shard;

ath_status ath_shard_create(const char *folder, int max_length, uint64_t limit_records,
                            uint64_t limit_bytes, ath_shard *out) ATH_MUST_CHECK;
/* Releases everything; what was written without being closed is thrown away. */
void ath_shard_free(ath_shard *self);

/* Writes the record that is in `tokens` to the shard of this number. */
ath_status ath_shard_write(ath_shard *self, uint64_t index) ATH_MUST_CHECK;
/* By bytes: when another record of the same size would not fit. */
bool ath_shard_is_full(const ath_shard *self);
/* Flushes the shard to disk under its name, and is ready for the next one. */
ath_status ath_shard_close(ath_shard *self, uint64_t index, ath_shard_entry *out) ATH_MUST_CHECK;

#endif
