/* index.h: where every record of a folder's shards begins, cached beside them in `index.bin`.
 *
 *     "ATHINDEX" | version, shards: uint32 | records: uint64
 *     per shard:   file size: uint64 | changed: int64 ns | records: uint64 | crc of name: uint64
 *     per record:  byte offset of its frame in its shard: uint64
 *     crc32c of all before, zero: uint32                               (little-endian) */
#ifndef ATHANOR_DATA_INDEX_H
#define ATHANOR_DATA_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "storage/file.h"

#define ATH_INDEX_NAME "index.bin"

typedef struct ath_index_shard {
  uint64_t size;
  int64_t changed;
  uint64_t records; /* found by building or loading */
  uint64_t name_crc;
} ath_index_shard;

typedef struct ath_index {
  uint64_t records;
  const uint64_t *offsets; /* in the mapping, or allocated */
  ath_mapping mapping;
  uint64_t *allocated;
} ath_index;

/* Loads the cached index of `folder`, if there is one that fits the shards' names, sizes and
 * times, else reads the frames of every shard and tries to leave a new one there. A folder that
 * cannot be written is no fault. Sets the shards' `records`. */
ath_status ath_index_open(const char *folder, const char *const *names, size_t count,
                          ath_index_shard *shards, ath_index *out) ATH_MUST_CHECK;
void ath_index_close(ath_index *self);

#endif
