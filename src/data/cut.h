/* cut.h: shards out of encoded pieces: any of them, in any order, on any thread or host, each the
 * same as in one pass over the text. */
#ifndef ATHANOR_DATA_CUT_H
#define ATHANOR_DATA_CUT_H

#include "data/layout.h"

/* A process's share: the number of it, and of how many. */
typedef struct ath_share_of {
  int number, count;
} ath_share_of;

/* Writes those shards of all splits that are neither kept nor another one's, telling the journal
 * of each. Of shards of so many bytes a split is one share's, and one thread's, since where one
 * begins follows from all before it. ATH_INTERRUPTED after a shard when options.stop is set. */
ath_status ath_cut(ath_layout *layout, const ath_preparation *all, ath_share_of share, int threads,
                   const char *journal) ATH_MUST_CHECK;

/* Adds what a journal tells of to the lists (manifest.h: in any order). */
ath_status ath_cut_read_journal(const char *path, const ath_preparation *all,
                                ath_shard_list lists[ATH_SPLITS_MAX]) ATH_MUST_CHECK;

#endif
