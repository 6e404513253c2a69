/* lattice.h: all ways to cut each distinct word into pieces, and the two walks that Unigram
 * training makes over them: expected counts and best paths.
 *
 * Sums over words are made of whole numbers, so they are the same for any thread count and any
 * order of the words. */
#ifndef ATHANOR_TOKENIZERS_LATTICE_H
#define ATHANOR_TOKENIZERS_LATTICE_H

#include <stdint.h>

#include "tokenizers/trainers/suffix_pieces.h"

typedef struct ath_lattice ath_lattice;

/* Pieces are numbered as in `seeds`, which may be freed afterwards; the words must outlive the
 * lattice. All walks use up to `threads` threads. */
ath_status ath_lattice_create(const ath_seed_pieces *seeds, int threads, ath_lattice **out)
    ATH_MUST_CHECK;
void ath_lattice_destroy(ath_lattice *self); /* NULL is allowed */

size_t ath_lattice_pieces(const ath_lattice *self);

/* Removes the pieces p with numbers[p] < 0 and gives the others the number numbers[p]: 0 …
 * count − 1 in the old order. Characters must stay. */
void ath_lattice_keep(ath_lattice *self, const int32_t *numbers, size_t count);

/* For pieces with the log probabilities scores[]: how often each is expected to be used in the
 * corpus. Returns the mean over the words of −log P(word). */
double ath_lattice_expect(ath_lattice *self, const double *scores, double *expected);

/* How often each piece is used when every word is cut the most probable way; of equal ways the one
 * whose last piece is longest. Returns the number of pieces used. */
uint64_t ath_lattice_best(ath_lattice *self, const double *scores, uint64_t *uses);

/* The most probable way to write a piece with others: their numbers, the last first, and how many
 * they are; 0 for a character. `thread` is the caller's number, below `threads`: different threads
 * may ask at the same time. */
int ath_lattice_alternative(ath_lattice *self, int thread, size_t piece, const double *scores,
                            int32_t parts[ATH_PIECE_LENGTH_MAX]);

#endif
