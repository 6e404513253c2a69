/* lattice_edges.c: the suffix array lists a piece's occurrences side by side; from it the edges go
 * to where the occurrences are in the text. Each thread does this for a stretch of the text: all
 * look at the whole array, but going through that in order costs little beside writing the edges,
 * which are far apart. */
#include "tokenizers/trainers/lattice_edges.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { BLOCK_BITS = 16 }; /* byte positions whose edges are counted together */

/* Where the edges of each byte position go: base[position >> BLOCK_BITS] + offset[position]. */
typedef struct edge_places {
  size_t *base;
  uint32_t *offset;
} edge_places;

static size_t place_of(const edge_places *self, size_t position) {
  return self->base[position >> BLOCK_BITS] + self->offset[position];
}

typedef struct stretch {
  size_t begin, end;
} stretch;

static stretch stretch_of(size_t positions, int thread, int threads) {
  size_t t = (size_t)thread, n = (size_t)threads;
  return (stretch){positions * t / n, positions * (t + 1) / n};
}

static bool is_within(const stretch *self, size_t position) {
  return position - self->begin < self->end - self->begin;
}

static void count_edges(const ath_seed_pieces *seeds, stretch mine, edge_places *places) {
  for (size_t p = 0; p < seeds->count; p++)
    for (uint32_t i = seeds->pieces[p].first; i < seeds->pieces[p].last; i++) {
      size_t at = (size_t)seeds->suffixes[i];
      if (is_within(&mine, at)) places->offset[at]++;
    }
}

/* Turns the counts into offsets and returns the number of all edges. */
static size_t assign_places(edge_places *places, size_t positions) {
  size_t total = 0;
  for (size_t at = 0; at < positions; at++) {
    size_t *base = &places->base[at >> BLOCK_BITS];
    if ((at & ((1u << BLOCK_BITS) - 1)) == 0) *base = total;
    uint32_t count = places->offset[at];
    places->offset[at] = (uint32_t)(total - *base);
    total += count;
  }
  return total;
}

static void put_edges(const ath_seed_pieces *seeds, size_t piece, stretch mine,
                      edge_places *places, ath_edge *edges) {
  const ath_seed_piece *seed = &seeds->pieces[piece];
  ath_edge e = (ath_edge)piece | (ath_edge)seed->length << 24;
  if (seed->is_character) e |= ATH_LAST_EDGE;
  for (uint32_t i = seed->first; i < seed->last; i++) {
    size_t ahead = SIZE_MAX, at = (size_t)seeds->suffixes[i];
    if (i + ATH_EDGES_AHEAD < seed->last) ahead = (size_t)seeds->suffixes[i + ATH_EDGES_AHEAD];
    if (is_within(&mine, ahead)) __builtin_prefetch(&edges[place_of(places, ahead)], 1);
    if (!is_within(&mine, at)) continue;
    edges[place_of(places, at)] = e;
    places->offset[at]++;
  }
}

/* Characters last, so that theirs is the last edge of a position. */
static void put_all_edges(const ath_seed_pieces *seeds, stretch mine, edge_places *places,
                          ath_edge *edges) {
  for (size_t p = seeds->character_count; p < seeds->count; p++)
    put_edges(seeds, p, mine, places, edges);
  for (size_t p = 0; p < seeds->character_count; p++) put_edges(seeds, p, mine, places, edges);
}

static ath_status make_edges(const ath_seed_pieces *seeds, int threads, edge_places *places,
                             size_t *first, ath_edge **edges, size_t *count) {
  const ath_word_list *words = seeds->words;
  size_t positions = seeds->suffix_count;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; t++) count_edges(seeds, stretch_of(positions, t, threads), places);
  *count = assign_places(places, positions);
  *edges = ath_memory_alloc((*count + ATH_EDGES_AHEAD) * sizeof **edges);
  if (*edges == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory for the %zu edges of %zu pieces in %zu words", *count,
                    seeds->count, words->count);
  memset(*edges + *count, 0, ATH_EDGES_AHEAD * sizeof **edges);
  for (size_t w = 0; w < words->count; w++) first[w] = place_of(places, words->starts[w]);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; t++)
    put_all_edges(seeds, stretch_of(positions, t, threads), places, *edges);
  return ATH_OK;
}

ath_status ath_lattice_edges_make(const ath_seed_pieces *seeds, int threads, size_t *first,
                                  ath_edge **edges, size_t *count) {
  size_t positions = seeds->suffix_count;
  edge_places places = {
      .base = malloc(((positions >> BLOCK_BITS) + 1) * sizeof *places.base),
      .offset = ath_memory_alloc(positions * sizeof *places.offset)};
  ath_status status = ATH_OK;
  if (places.base == NULL || places.offset == NULL) {
    status = ath_fail(ATH_NO_MEMORY, "no memory for the edges of %zu positions", positions);
  } else {
    memset(places.offset, 0, positions * sizeof *places.offset);
    status = make_edges(seeds, threads, &places, first, edges, count);
  }
  free(places.base);
  free(places.offset);
  return status;
}
