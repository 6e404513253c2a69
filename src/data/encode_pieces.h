/* encode_pieces.h: a worker's share of the pieces of a text, encoded. */
#ifndef ATHANOR_DATA_ENCODE_PIECES_H
#define ATHANOR_DATA_ENCODE_PIECES_H

#include "data/cut.h"
#include "data/spans.h"

typedef struct ath_pieces {
  const char *folder;
  ath_piece_format format;
  ath_text_span *spans;
  size_t count;
} ath_pieces;

/* Encodes every share.count-th piece that is not there yet; each thread is at a piece of its own.
 * ATH_INTERRUPTED at the next few hundred kB when options.stop is set: whole pieces are kept. */
ath_status ath_pieces_encode(const ath_pieces *self, const ath_preparation *all,
                             ath_share_of share) ATH_MUST_CHECK;

#endif
