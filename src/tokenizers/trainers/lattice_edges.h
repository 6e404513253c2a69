/* lattice_edges.h: where the pieces stand in the words, by the positions at which they begin.
 *
 *     word     ▁          a                    b                   edges of a position, in any
 *     edges    "▁a" "▁!"  "ab" "a!"            "b!"                order; the last ("!") is the
 *                                                                  character that begins there
 *     edge     bit 31: last of its position │ bits 24–30: length in bytes │ bits 0–23: piece
 */
#ifndef ATHANOR_TOKENIZERS_LATTICE_EDGES_H
#define ATHANOR_TOKENIZERS_LATTICE_EDGES_H

#include "tokenizers/trainers/suffix_pieces.h"

typedef uint32_t ath_edge;

#define ATH_LAST_EDGE 0x80000000u

static inline uint32_t ath_edge_piece(ath_edge e) { return e & 0xFFFFFF; }
static inline uint32_t ath_edge_length(ath_edge e) { return (e >> 24) & 0x7F; }

enum { ATH_EDGES_AHEAD = 16 }; /* so many behind the last one may be read, and are 0 */

/* Makes the edges of all words, one word after another: *edges, to be released with free(), and
 * `first`, each word's first edge. */
ath_status ath_lattice_edges_make(const ath_seed_pieces *seeds, int threads, size_t *first,
                                  ath_edge **edges, size_t *count) ATH_MUST_CHECK;

#endif
