/* preparation.h: what is common to the two ways of preparing: stream.h, one process in one pass,
 * and worker.h, several that share the text, or a text that is freed of duplicates first. */
#ifndef ATHANOR_DATA_PREPARATION_H
#define ATHANOR_DATA_PREPARATION_H

#include <jansson.h>

#include "athanor/dataset.h"
#include "data/output.h"
#include "data/split.h"
#include "data/text_hash.h"

typedef struct ath_preparation {
  const ath_tokenizer *tokenizer;
  const ath_prepare_options *options;
  json_t *recipe, *modified;
  ath_split splits[ATH_SPLITS_MAX];
  ath_manifest manifests[ATH_SPLITS_MAX]; /* of a dataset found finished */
  size_t count;
  int train, validation; /* numbers of the splits, or −1 for one that gets no lines */
  uint64_t total_bytes, lines, skipped, duplicates;
  size_t kept[ATH_SPLITS_MAX]; /* shards found complete */
  double began;                /* seconds_now */
  bool unfinished;             /* others have still to encode `missing` pieces, or are writing */
  uint64_t missing;
  int process;                 /* number of this one under mpirun, otherwise 0 */
} ath_preparation;

/* The split of line `number` of the whole text; `hash` counts where lines are chosen by it. */
int ath_preparation_choose(const ath_preparation *self, uint64_t number, const ath_text_hash *hash);

/* Tells of so many bytes of the text read, and tokens made of those that this run has read. */
void ath_preparation_report(const ath_preparation *self, uint64_t bytes, uint64_t tokens,
                            int finished);

/* Every split got at least one record; what was written is of no use otherwise, and removed. */
ath_status ath_preparation_check_sizes(const ath_preparation *self) ATH_MUST_CHECK;
ath_status ath_preparation_write_manifests(const ath_preparation *self) ATH_MUST_CHECK;
/* Of a dataset that is there already: says so, and which inputs are newer. */
ath_status ath_preparation_keep(const ath_preparation *self) ATH_MUST_CHECK;

#endif
