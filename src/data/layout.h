/* layout.h: where every line of the encoded pieces goes: to which split, or nowhere; and how many
 * tokens of each split stand before each piece, so that any record can be found. Two files in the
 * folder of pieces:
 *
 *     choices       a byte for each line: its split, or one of duplicates.h's
 *     layout.json   { "format": "athanor-layout", "version": 1, "duplicates": 7,
 *                     "tokens": [[train, validation], …],    of each piece
 *                     "kept": {"train": [shards], …} }        written by an earlier run */
#ifndef ATHANOR_DATA_LAYOUT_H
#define ATHANOR_DATA_LAYOUT_H

#include "data/duplicates.h"
#include "data/preparation.h"

#define ATH_LAYOUT_NAME "layout.json"

typedef struct ath_layout {
  const char *folder;   /* of the pieces */
  size_t count;
  ath_piece *pieces;
  uint64_t *first;      /* [count + 1]: lines before each piece */
  uint64_t *tokens[ATH_SPLITS_MAX]; /* [count + 1]: of each split before each piece */
  uint8_t *checked;     /* [count]: whose ids have been verified */
  ath_mapping choices;
  uint64_t duplicates;
  ath_shard_list kept[ATH_SPLITS_MAX];
} ath_layout;

/* Opens the pieces, which must all be there; then either decides, and writes the two files, with
 * the shards that are kept as the caller has set them; or reads what was decided. `folder` and
 * `format` must outlive the layout, which is to be closed after a failure, too. */
ath_status ath_layout_open(const char *folder, size_t count, const ath_piece_format *format,
                           ath_layout *out) ATH_MUST_CHECK;
ath_status ath_layout_decide(ath_layout *self, const ath_preparation *all, int threads)
    ATH_MUST_CHECK;
ath_status ath_layout_read(ath_layout *self, const ath_preparation *all) ATH_MUST_CHECK;
void ath_layout_close(ath_layout *self);

/* Tokens of a split in all pieces. */
static inline uint64_t ath_layout_total(const ath_layout *self, size_t split) {
  return self->tokens[split][self->count];
}

#endif
