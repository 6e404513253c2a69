/* duplicates.h: which lines of a text are like an earlier one. */
#ifndef ATHANOR_DATA_DUPLICATES_H
#define ATHANOR_DATA_DUPLICATES_H

#include "athanor/dataset.h"
#include "data/piece.h"

/* What is decided of a line: the number of its split, or one of these. */
enum { ATH_CHOICE_LEFT_OUT = 0xFF, ATH_CHOICE_DUPLICATE = 0xFE };

/* All lines: piece p has those from first[p] to first[p + 1]. */
typedef struct ath_rows {
  const ath_piece *pieces;
  const uint64_t *first; /* [count + 1] */
  size_t count;
} ath_rows;

/* Marks lines in choices[first[count]]; the others are left as they are. Exact ones have the text
 * of an earlier line, near ones are like an earlier line by `similarity` or more (minhash.h),
 * whether that one is marked or not: so it does not matter in which order they are found, and of a
 * group the first stays. Each line is compared with the first one of each of its bands. Uses about
 * `memory` bytes and as many passes as that takes; neither memory nor threads change the result. */
ath_status ath_duplicates_mark(const ath_rows *rows, ath_deduplicate kind, double similarity,
                               uint64_t memory, int threads, uint8_t *choices) ATH_MUST_CHECK;

#endif
