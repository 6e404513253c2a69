/* lattice.c: the words' edges in one array, built once from the suffix array and thinned out as
 * pieces are dropped: no look-up of text is ever needed again.
 *
 *     word     ▁          a                    b                   edges of a position, in any
 *     edges    "▁a" "▁!"  "ab" "a!"            "b!"                order; the last ("!") is the
 *                                                                  character that begins there
 *     edge     bit 31: last of its position │ bits 24–30: length in bytes │ bits 0–23: piece
 */
#include "tokenizers/models/lattice.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum {
  CHUNKS = 256,              /* parts of the words that threads take in turn */
  PIECE_BYTES = 128,         /* more than any piece has, see length_of */
  BLOCK_BITS = 16,           /* byte positions whose edges are counted together */
  FRACTION_BITS_MAX = 24,    /* of expected counts as whole numbers */
  SHIFT_BITS = 128,          /* a step of rescaling */
  AHEAD = 16,                /* occurrences ahead that are fetched: they are far apart in memory */
};

#define LAST_EDGE 0x80000000u
#define NO_PIECE 0xFFFFFFFFu
static const double TINY = 0x1p-128, ENLARGE = 0x1p128;

typedef uint32_t edge;

static inline uint32_t piece_of(edge e) { return e & 0xFFFFFF; }
static inline uint32_t length_of(edge e) { return (e >> 24) & 0x7F; }

/* What a thread works with. The arrays of doubles have an element for each byte position of a
 * word and PIECE_BYTES more. */
typedef struct worker {
  double *forward, *backward;
  int32_t *shifts;  /* how often `forward` had been enlarged by SHIFT_BITS at a position */
  edge *chosen;     /* best path: the edge that ends at a position */
  int64_t *sums;    /* per piece */
} worker;

struct ath_lattice {
  const ath_word_list *words;
  edge *edges;
  size_t *first;              /* per word: its first edge; the words of a chunk are contiguous */
  size_t chunks[CHUNKS + 1];  /* the first word of each chunk */
  double losses[CHUNKS];
  uint32_t *occurrences;      /* per piece: a place in the text where it stands */
  uint8_t *lengths;           /* per piece, in bytes */
  size_t pieces, characters;
  int reach;                  /* code points of the longest piece */
  double *probabilities;      /* per piece */
  double fraction;            /* expected counts are summed in units of 1 / fraction */
  int threads;
  worker *workers;
};

size_t ath_lattice_pieces(const ath_lattice *self) { return self->pieces; }

/* --- building ----------------------------------------------------------------------------- */

/* Where the edges of each byte position go: base[position >> BLOCK_BITS] + offset[position]. */
typedef struct edge_places {
  size_t *base;
  uint32_t *offset;
} edge_places;

static size_t place_of(const edge_places *self, size_t position) {
  return self->base[position >> BLOCK_BITS] + self->offset[position];
}

static void count_edges(const ath_seed_pieces *seeds, edge_places *places) {
  for (size_t p = 0; p < seeds->count; p++)
    for (uint32_t i = seeds->pieces[p].first; i < seeds->pieces[p].last; i++)
      places->offset[seeds->suffixes[i]]++;
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

static void put_edges(ath_lattice *self, const ath_seed_pieces *seeds, size_t piece,
                      edge_places *places) {
  const ath_seed_piece *seed = &seeds->pieces[piece];
  edge e = (edge)piece | (edge)seed->length << 24 | (seed->is_character ? LAST_EDGE : 0);
  for (uint32_t i = seed->first; i < seed->last; i++) {
    if (i + AHEAD < seed->last)
      __builtin_prefetch(&self->edges[place_of(places, (size_t)seeds->suffixes[i + AHEAD])], 1);
    size_t at = (size_t)seeds->suffixes[i];
    self->edges[place_of(places, at)] = e;
    places->offset[at]++;
  }
}

/* Cuts the words into chunks with about the same number of edges. */
static void cut_chunks(ath_lattice *self, size_t edges) {
  size_t w = 0;
  for (size_t c = 0; c < CHUNKS; c++) {
    while (w < self->words->count && self->first[w] < edges / CHUNKS * c) w++;
    self->chunks[c] = w;
  }
  self->chunks[0] = 0;
  self->chunks[CHUNKS] = self->words->count;
}

static ath_status build_edges(ath_lattice *self, const ath_seed_pieces *seeds) {
  size_t positions = seeds->suffix_count, total = 0;
  edge_places places = {
      .base = malloc(((positions >> BLOCK_BITS) + 1) * sizeof *places.base),
      .offset = calloc(positions, sizeof *places.offset)};
  if (places.base != NULL && places.offset != NULL) {
    count_edges(seeds, &places);
    total = assign_places(&places, positions);
    self->edges = malloc(total * sizeof *self->edges);
  }
  if (self->edges != NULL) {
    for (size_t w = 0; w < self->words->count; w++)
      self->first[w] = place_of(&places, self->words->starts[w]);
    for (size_t p = self->characters; p < self->pieces; p++) put_edges(self, seeds, p, &places);
    for (size_t p = 0; p < self->characters; p++) put_edges(self, seeds, p, &places);
    cut_chunks(self, total);
  }
  free(places.base);
  free(places.offset);
  if (self->edges == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory for the %zu edges of %zu pieces in %zu words", total,
                    self->pieces, self->words->count);
  return ATH_OK;
}

static bool make_worker(worker *self, size_t positions, size_t pieces) {
  self->forward = malloc(positions * sizeof *self->forward);
  self->backward = malloc(positions * sizeof *self->backward);
  self->shifts = malloc(positions * sizeof *self->shifts);
  self->chosen = malloc(positions * sizeof *self->chosen);
  self->sums = malloc(pieces * sizeof *self->sums);
  return self->forward != NULL && self->backward != NULL && self->shifts != NULL &&
         self->chosen != NULL && self->sums != NULL;
}

static ath_status make_workers(ath_lattice *self) {
  size_t longest = 0;
  for (size_t w = 0; w < self->words->count; w++) {
    size_t length = self->words->starts[w + 1] - self->words->starts[w];
    if (length > longest) longest = length;
  }
  self->workers = calloc((size_t)self->threads, sizeof *self->workers);
  bool made = self->workers != NULL;
  for (int t = 0; t < self->threads && made; t++)
    made = make_worker(&self->workers[t], longest + PIECE_BYTES, self->pieces);
  if (!made) return ath_fail(ATH_NO_MEMORY, "no memory for %d training threads", self->threads);
  return ATH_OK;
}

/* The finest unit in which the expected counts of all pieces together cannot overflow: a path
 * uses at most one piece for each character of the corpus. */
static double choose_fraction(const ath_seed_pieces *seeds) {
  double characters = 1;
  for (size_t p = 0; p < seeds->character_count; p++)
    characters += (double)seeds->pieces[p].count;
  int bits = 61 - ilogb(characters);
  return ldexp(1, bits < FRACTION_BITS_MAX ? bits : FRACTION_BITS_MAX);
}

ath_status ath_lattice_create(const ath_seed_pieces *seeds, int threads, ath_lattice **out) {
  assert(threads > 0 && seeds->count < 1 << 24);
  ath_lattice *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a lattice");
  *self = (ath_lattice){.words = seeds->words, .pieces = seeds->count, .threads = threads,
                        .characters = seeds->character_count, .reach = seeds->max_length,
                        .fraction = choose_fraction(seeds)};
  self->first = malloc(self->words->count * sizeof *self->first);
  self->occurrences = malloc(self->pieces * sizeof *self->occurrences);
  self->lengths = malloc(self->pieces * sizeof *self->lengths);
  self->probabilities = malloc(self->pieces * sizeof *self->probabilities);
  ath_status status = ATH_OK;
  if (self->first == NULL || self->occurrences == NULL || self->lengths == NULL ||
      self->probabilities == NULL)
    status = ath_fail(ATH_NO_MEMORY, "no memory for %zu pieces", self->pieces);
  for (size_t p = 0; p < self->pieces && status == ATH_OK; p++) {
    self->occurrences[p] = (uint32_t)seeds->suffixes[seeds->pieces[p].first];
    self->lengths[p] = seeds->pieces[p].length;
  }
  if (status == ATH_OK) status = build_edges(self, seeds);
  if (status == ATH_OK) status = make_workers(self);
  if (status != ATH_OK) {
    ath_lattice_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_lattice_destroy(ath_lattice *self) {
  if (self == NULL) return;
  for (int t = 0; self->workers != NULL && t < self->threads; t++) {
    free(self->workers[t].forward);
    free(self->workers[t].backward);
    free(self->workers[t].shifts);
    free(self->workers[t].chosen);
    free(self->workers[t].sums);
  }
  free(self->workers);
  free(self->edges);
  free(self->first);
  free(self->occurrences);
  free(self->lengths);
  free(self->probabilities);
  free(self);
}

static size_t word_length(const ath_lattice *self, size_t w) {
  return self->words->starts[w + 1] - self->words->starts[w] - 1;
}

/* --- dropping pieces ---------------------------------------------------------------------- */

/* Moves the edges that stay to the front of their chunk. */
static void thin_out_chunk(ath_lattice *self, size_t c, const int32_t *numbers) {
  if (self->chunks[c] == self->chunks[c + 1]) return;
  edge *to = self->edges + self->first[self->chunks[c]];
  for (size_t w = self->chunks[c]; w < self->chunks[c + 1]; w++) {
    const edge *from = self->edges + self->first[w];
    size_t length = word_length(self, w);
    self->first[w] = (size_t)(to - self->edges);
    for (size_t at = 0; at < length;) {
      edge e = *from++;
      int32_t number = numbers[piece_of(e)];
      if (number >= 0) *to++ = (e & 0xFF000000u) | (edge)number;
      if (e & LAST_EDGE) at += length_of(e);
      assert(number >= 0 || !(e & LAST_EDGE));
    }
  }
}

void ath_lattice_keep(ath_lattice *self, const int32_t *numbers, size_t count) {
#pragma omp parallel for schedule(dynamic) num_threads(self->threads)
  for (size_t c = 0; c < CHUNKS; c++) thin_out_chunk(self, c, numbers);
  for (size_t p = 0; p < self->pieces; p++) {
    if (numbers[p] < 0) continue;
    assert((size_t)numbers[p] <= p);
    self->occurrences[numbers[p]] = self->occurrences[p];
    self->lengths[numbers[p]] = self->lengths[p];
  }
  self->pieces = count;
}

/* --- expected counts ---------------------------------------------------------------------- */

/* Enlarges the values at a byte of a word and after it, as far as a piece reaches: all that later
 * steps of a walk read. Done when all of them have become so small that a long word would
 * underflow. Returns how often: 0 or 1. */
static int enlarge(double *values, const char *text, int reach) {
  int n = 0;
  for (int c = 0; c <= reach; c++) {
    if (values[n] >= TINY) return 0;
    if (text[n++] == '\0') break;
    while (ath_utf8_continues(text[n])) n++;
  }
  for (int i = 0; i < n; i++) values[i] *= ENLARGE;
  return 1;
}

/* forward[i] = the sum over all ways to cut the first i bytes, of their probability. Returns the
 * end of the word's edges. */
static const edge *walk_forward(const ath_lattice *self, size_t w, worker *me) {
  const char *text = self->words->text + self->words->starts[w];
  const edge *e = self->edges + self->first[w];
  size_t length = word_length(self, w);
  double *forward = me->forward;
  memset(forward, 0, (length + PIECE_BYTES) * sizeof *forward);
  forward[0] = 1;
  int shift = 0;
  for (size_t at = 0; at < length;) {
    if (forward[at] < TINY) shift += enlarge(forward + at, text + at, self->reach);
    me->shifts[at] = shift;
    double here = forward[at];
    edge current;
    do {
      current = *e++;
      forward[at + length_of(current)] += here * self->probabilities[piece_of(current)];
    } while (!(current & LAST_EDGE));
    at += length_of(current);
  }
  me->shifts[length] = shift;
  assert(forward[length] > 0);
  return e;
}

/* The same from the end of the word, adding each edge's share of the word's probability, times
 * `weight`, to the sum of its piece. */
static void walk_backward(const ath_lattice *self, size_t w, const edge *end, double weight,
                          worker *me) {
  const char *text = self->words->text + self->words->starts[w];
  const edge *begin = self->edges + self->first[w];
  size_t length = word_length(self, w);
  double *backward = me->backward;
  memset(backward + length, 0, PIECE_BYTES * sizeof *backward);
  backward[length] = 1;
  int shift = 0;
  double whole = weight / me->forward[length];
  for (size_t at = length; end > begin;) {
    edge current = *--end;
    assert(current & LAST_EDGE);
    size_t step = length_of(current);
    for (at -= step; step > 1; step--) backward[at + step - 1] = 0;
    double share = me->forward[at] * whole;
    int shifts = me->shifts[at] + shift - me->shifts[length];
    if (shifts != 0) share = ldexp(share, -SHIFT_BITS * shifts);
    double sum = 0;
    for (;;) {
      double x = self->probabilities[piece_of(current)] * backward[at + length_of(current)];
      me->sums[piece_of(current)] += (int64_t)(share * x + 0.5);
      sum += x;
      if (end == begin || (end[-1] & LAST_EDGE)) break;
      current = *--end;
    }
    backward[at] = sum;
    if (sum < TINY) shift += enlarge(backward + at, text + at, self->reach);
  }
}

static double expect_chunk(const ath_lattice *self, size_t c, worker *me) {
  double loss = 0;
  for (size_t w = self->chunks[c]; w < self->chunks[c + 1]; w++) {
    double count = (double)self->words->counts[w];
    const edge *end = walk_forward(self, w, me);
    walk_backward(self, w, end, count * self->fraction, me);
    size_t length = word_length(self, w);
    loss -= count * (log(me->forward[length]) - me->shifts[length] * (SHIFT_BITS * M_LN2));
  }
  return loss;
}

static void clear_sums(ath_lattice *self) {
  for (int t = 0; t < self->threads; t++)
    memset(self->workers[t].sums, 0, self->pieces * sizeof *self->workers[t].sums);
}

static int64_t sum_of(const ath_lattice *self, size_t piece) {
  int64_t sum = 0;
  for (int t = 0; t < self->threads; t++) sum += self->workers[t].sums[piece];
  return sum;
}

double ath_lattice_expect(ath_lattice *self, const double *scores, double *expected) {
  for (size_t p = 0; p < self->pieces; p++) self->probabilities[p] = exp(scores[p]);
  clear_sums(self);
#pragma omp parallel for schedule(dynamic) num_threads(self->threads)
  for (size_t c = 0; c < CHUNKS; c++)
    self->losses[c] = expect_chunk(self, c, &self->workers[omp_get_thread_num()]);
  double loss = 0;
  for (size_t c = 0; c < CHUNKS; c++) loss += self->losses[c];
  for (size_t p = 0; p < self->pieces; p++)
    expected[p] = (double)sum_of(self, p) / self->fraction;
  return loss / (double)self->words->total;
}

/* --- best paths --------------------------------------------------------------------------- */

/* Fills chosen[i], the last edge of the best way to cut the first i bytes. Edges that lead beyond
 * `length` or are the piece `without` are left out. */
static void walk_best(const double *scores, const edge *e, size_t length, uint32_t without,
                      worker *me) {
  double *best = me->forward;
  for (size_t i = 1; i <= length + PIECE_BYTES - 1; i++) best[i] = -INFINITY;
  best[0] = 0;
  for (size_t at = 0; at < length;) {
    edge current;
    do {
      current = *e++;
      size_t to = at + length_of(current);
      double score = best[at] + scores[piece_of(current)];
      if (score > best[to] && piece_of(current) != without) {
        best[to] = score;
        me->chosen[to] = current;
      }
    } while (!(current & LAST_EDGE));
    at += length_of(current);
  }
}

static uint64_t best_of_chunk(const ath_lattice *self, size_t c, const double *scores, worker *me) {
  uint64_t tokens = 0;
  for (size_t w = self->chunks[c]; w < self->chunks[c + 1]; w++) {
    size_t length = word_length(self, w);
    walk_best(scores, self->edges + self->first[w], length, NO_PIECE, me);
    for (size_t at = length; at > 0; at -= length_of(me->chosen[at])) {
      me->sums[piece_of(me->chosen[at])] += (int64_t)self->words->counts[w];
      tokens += self->words->counts[w];
    }
  }
  return tokens;
}

uint64_t ath_lattice_best(ath_lattice *self, const double *scores, uint64_t *uses) {
  uint64_t tokens = 0;
  clear_sums(self);
#pragma omp parallel for schedule(dynamic) num_threads(self->threads) reduction(+ : tokens)
  for (size_t c = 0; c < CHUNKS; c++)
    tokens += best_of_chunk(self, c, scores, &self->workers[omp_get_thread_num()]);
  for (size_t p = 0; p < self->pieces; p++) uses[p] = (uint64_t)sum_of(self, p);
  return tokens;
}

/* The word of a text position, by halving. */
static size_t word_at(const ath_word_list *words, uint32_t position) {
  size_t low = 0, high = words->count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (words->starts[middle] <= position) low = middle;
    else high = middle;
  }
  return low;
}

int ath_lattice_alternative(ath_lattice *self, int thread, size_t piece, const double *scores,
                            int32_t parts[ATH_PIECE_LENGTH_MAX]) {
  assert(thread < self->threads && piece < self->pieces);
  worker *me = &self->workers[thread];
  uint32_t position = self->occurrences[piece];
  size_t w = word_at(self->words, position), length = self->lengths[piece];
  const edge *e = self->edges + self->first[w];
  for (uint32_t at = self->words->starts[w]; at < position; e++)
    if (*e & LAST_EDGE) at += length_of(*e);
  walk_best(scores, e, length, (uint32_t)piece, me);
  if (isinf(me->forward[length])) return 0;
  int count = 0;
  for (size_t at = length; at > 0; at -= length_of(me->chosen[at])) {
    assert(count < ATH_PIECE_LENGTH_MAX);
    parts[count++] = (int32_t)piece_of(me->chosen[at]);
  }
  return count;
}
