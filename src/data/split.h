/* split.h: one split of a dataset being written: tokens in, records of equal length cut from
 * them, shards of records out. */
#ifndef ATHANOR_DATA_SPLIT_H
#define ATHANOR_DATA_SPLIT_H

#include "data/corpus.h"
#include "data/shard.h"

typedef struct ath_split {
  const char *name; /* "train" */
  char folder[ATH_PATH_MAX];
  int max_length;

  /* What is safe on disk, and where the text goes on after it. A shard ends where a record ends,
   * so there is no remainder to be kept with the place. */
  ath_shard_list shards;
  uint64_t records; /* in complete shards */
  ath_place place;
  size_t noted;     /* of the complete shards, how many the journal tells of */

  ath_place from; /* of this run: tokens before it are in the shards already */
  ath_shard open; /* and in it the record that is being filled, so far with */
  int filled;     /* … tokens */
} ath_split;

/* Prepares writing into `folder`; `shards` and `place` may be set afterwards, before the first
 * tokens, to continue (ath_split_continue). */
ath_status ath_split_create(const char *name, const char *folder, int max_length,
                            uint64_t shard_records, uint64_t shard_bytes, ath_split *out)
    ATH_MUST_CHECK;
/* Takes over the shards of an interrupted run. The list is moved. */
void ath_split_continue(ath_split *self, ath_shard_list *shards, const ath_place *place);

/* Adds the tokens of the line at `place`. */
ath_status ath_split_add(ath_split *self, const int32_t *ids, size_t count,
                         const ath_place *place) ATH_MUST_CHECK;
/* Completes the last shard. What is left in `filled` does not make a record. */
ath_status ath_split_finish(ath_split *self) ATH_MUST_CHECK;
/* Releases everything; an open shard is thrown away. */
void ath_split_free(ath_split *self);

#endif
