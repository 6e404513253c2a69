/* lattice.c: walks over the words' edges, which are made once and thinned out as pieces are
 * dropped: no look-up of text is ever needed again. */
#include "tokenizers/trainers/lattice.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "tokenizers/trainers/lattice_edges.h"

enum {
  CHUNKS = 256,              /* parts of the words that threads take in turn */
  FRACTION_BITS_MAX = 24,    /* of expected counts as whole numbers */
  SHIFT_BITS = 128,          /* a step of rescaling */
};

#define NO_PIECE 0xFFFFFFFFu
static const double TINY = 0x1p-128, ENLARGE = 0x1p128;

/* What a thread has of each piece, side by side: a walk forward that reads the probability brings
 * the sum along for the walk back. */
typedef struct share {
  double probability;
  int64_t sum;
} share;

/* What a thread works with. The first four have an element for each byte position of a word. */
typedef struct worker {
  double *forward, *backward;
  int32_t *shifts;  /* how often `forward` had been enlarged by SHIFT_BITS at a position */
  ath_edge *chosen; /* best path: the edge that ends at a position */
  share *shares;    /* per piece */
} worker;

struct ath_lattice {
  const ath_word_list *words;
  ath_edge *edges;
  size_t *first;              /* per word: its first edge; the words of a chunk are contiguous */
  size_t chunks[CHUNKS + 1];  /* the first word of each chunk */
  double losses[CHUNKS];
  uint32_t *occurrences;      /* per piece: a place in the text where it stands */
  uint8_t *lengths;           /* per piece, in bytes */
  size_t pieces, characters;
  int reach;                  /* code points of the longest piece */
  double fraction;            /* expected counts are summed in units of 1 / fraction */
  int threads;
  worker *workers;
};

size_t ath_lattice_pieces(const ath_lattice *self) { return self->pieces; }

/* --- building ----------------------------------------------------------------------------- */

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

static bool make_worker(worker *self, size_t positions, size_t pieces) {
  self->forward = malloc(positions * sizeof *self->forward);
  self->backward = malloc(positions * sizeof *self->backward);
  self->shifts = malloc(positions * sizeof *self->shifts);
  self->chosen = malloc(positions * sizeof *self->chosen);
  self->shares = ath_memory_alloc(pieces * sizeof *self->shares);
  return self->forward != NULL && self->backward != NULL && self->shifts != NULL &&
         self->chosen != NULL && self->shares != NULL;
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
    made = make_worker(&self->workers[t], longest, self->pieces);
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
  self->occurrences = ath_memory_alloc(self->pieces * sizeof *self->occurrences);
  self->lengths = malloc(self->pieces * sizeof *self->lengths);
  ath_status status = ATH_OK;
  if (self->first == NULL || self->occurrences == NULL || self->lengths == NULL)
    status = ath_fail(ATH_NO_MEMORY, "no memory for %zu pieces", self->pieces);
  for (size_t p = 0; p < self->pieces && status == ATH_OK; p++) {
    self->occurrences[p] = (uint32_t)seeds->suffixes[seeds->pieces[p].first];
    self->lengths[p] = seeds->pieces[p].length;
  }
  size_t edges = 0;
  if (status == ATH_OK)
    status = ath_lattice_edges_make(seeds, threads, self->first, &self->edges, &edges);
  if (status == ATH_OK) cut_chunks(self, edges);
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
    free(self->workers[t].shares);
  }
  free(self->workers);
  free(self->edges);
  free(self->first);
  free(self->occurrences);
  free(self->lengths);
  free(self);
}

static size_t word_length(const ath_lattice *self, size_t w) {
  return self->words->starts[w + 1] - self->words->starts[w] - 1;
}

/* --- dropping pieces ---------------------------------------------------------------------- */

/* Moves the edges that stay to the front of their chunk. */
static void thin_out_chunk(ath_lattice *self, size_t c, const int32_t *numbers) {
  if (self->chunks[c] == self->chunks[c + 1]) return;
  ath_edge *to = self->edges + self->first[self->chunks[c]];
  for (size_t w = self->chunks[c]; w < self->chunks[c + 1]; w++) {
    const ath_edge *from = self->edges + self->first[w];
    size_t length = word_length(self, w);
    self->first[w] = (size_t)(to - self->edges);
    for (size_t at = 0; at < length;) {
      __builtin_prefetch(&numbers[ath_edge_piece(from[ATH_EDGES_AHEAD])]);
      ath_edge e = *from++;
      int32_t number = numbers[ath_edge_piece(e)];
      if (number >= 0) *to++ = (e & 0xFF000000u) | (ath_edge)number;
      if (e & ATH_LAST_EDGE) at += ath_edge_length(e);
      assert(number >= 0 || !(e & ATH_LAST_EDGE));
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
static const ath_edge *walk_forward(const ath_lattice *self, size_t w, worker *me) {
  const char *text = self->words->text + self->words->starts[w];
  const ath_edge *e = self->edges + self->first[w];
  size_t length = word_length(self, w);
  double *forward = me->forward;
  memset(forward, 0, (length + 1) * sizeof *forward);
  forward[0] = 1;
  int shift = 0;
  for (size_t at = 0; at < length;) {
    if (forward[at] < TINY) shift += enlarge(forward + at, text + at, self->reach);
    me->shifts[at] = shift;
    double here = forward[at];
    ath_edge current;
    do {
      __builtin_prefetch(&me->shares[ath_edge_piece(e[ATH_EDGES_AHEAD])], 1);
      current = *e++;
      double probability = me->shares[ath_edge_piece(current)].probability;
      forward[at + ath_edge_length(current)] += here * probability;
    } while (!(current & ATH_LAST_EDGE));
    at += ath_edge_length(current);
  }
  me->shifts[length] = shift;
  assert(forward[length] > 0);
  return e;
}

/* The same from the end of the word, adding each edge's share of the word's probability, times
 * `weight`, to the sum of its piece. */
static void walk_backward(const ath_lattice *self, size_t w, const ath_edge *end, double weight,
                          worker *me) {
  const char *text = self->words->text + self->words->starts[w];
  const ath_edge *begin = self->edges + self->first[w];
  size_t length = word_length(self, w);
  double *backward = me->backward;
  backward[length] = 1;
  int shift = 0;
  double whole = weight / me->forward[length];
  for (size_t at = length; end > begin;) {
    ath_edge current = *--end;
    assert(current & ATH_LAST_EDGE);
    size_t step = ath_edge_length(current);
    for (at -= step; step > 1; step--) backward[at + step - 1] = 0;
    double part = me->forward[at] * whole;
    int shifts = me->shifts[at] + shift - me->shifts[length];
    if (shifts != 0) part = ldexp(part, -SHIFT_BITS * shifts);
    double sum = 0;
    for (;;) {
      share *piece = &me->shares[ath_edge_piece(current)];
      double x = piece->probability * backward[at + ath_edge_length(current)];
      piece->sum += (int64_t)(part * x + 0.5);
      sum += x;
      if (end == begin || (end[-1] & ATH_LAST_EDGE)) break;
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
    const ath_edge *end = walk_forward(self, w, me);
    walk_backward(self, w, end, count * self->fraction, me);
    size_t length = word_length(self, w);
    loss -= count * (log(me->forward[length]) - me->shifts[length] * (SHIFT_BITS * M_LN2));
  }
  return loss;
}

/* Readies all workers for pieces of these log probabilities. */
static void clear_shares(ath_lattice *self, const double *scores) {
#pragma omp parallel for schedule(static) num_threads(self->threads)
  for (size_t p = 0; p < self->pieces; p++) {
    share fresh = {exp(scores[p]), 0};
    for (int t = 0; t < self->threads; t++) self->workers[t].shares[p] = fresh;
  }
}

static int64_t sum_of(const ath_lattice *self, size_t piece) {
  int64_t sum = 0;
  for (int t = 0; t < self->threads; t++) sum += self->workers[t].shares[piece].sum;
  return sum;
}

double ath_lattice_expect(ath_lattice *self, const double *scores, double *expected) {
  clear_shares(self, scores);
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
static void walk_best(const double *scores, const ath_edge *e, size_t length, uint32_t without,
                      worker *me) {
  double *best = me->forward;
  for (size_t i = 1; i <= length; i++) best[i] = -INFINITY;
  best[0] = 0;
  for (size_t at = 0; at < length;) {
    ath_edge current;
    do {
      __builtin_prefetch(&scores[ath_edge_piece(e[ATH_EDGES_AHEAD])]);
      current = *e++;
      size_t to = at + ath_edge_length(current);
      double score = best[at] + scores[ath_edge_piece(current)];
      if (to <= length && score > best[to] && ath_edge_piece(current) != without) {
        best[to] = score;
        me->chosen[to] = current;
      }
    } while (!(current & ATH_LAST_EDGE));
    at += ath_edge_length(current);
  }
}

static uint64_t best_of_chunk(const ath_lattice *self, size_t c, const double *scores, worker *me) {
  uint64_t tokens = 0;
  for (size_t w = self->chunks[c]; w < self->chunks[c + 1]; w++) {
    size_t length = word_length(self, w);
    walk_best(scores, self->edges + self->first[w], length, NO_PIECE, me);
    for (size_t at = length; at > 0; at -= ath_edge_length(me->chosen[at])) {
      me->shares[ath_edge_piece(me->chosen[at])].sum += (int64_t)self->words->counts[w];
      tokens += self->words->counts[w];
    }
  }
  return tokens;
}

uint64_t ath_lattice_best(ath_lattice *self, const double *scores, uint64_t *uses) {
  uint64_t tokens = 0;
  clear_shares(self, scores);
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
  const ath_edge *e = self->edges + self->first[w];
  for (uint32_t at = self->words->starts[w]; at < position; e++)
    if (*e & ATH_LAST_EDGE) at += ath_edge_length(*e);
  walk_best(scores, e, length, (uint32_t)piece, me);
  if (isinf(me->forward[length])) return 0;
  int count = 0;
  for (size_t at = length; at > 0; at -= ath_edge_length(me->chosen[at])) {
    assert(count < ATH_PIECE_LENGTH_MAX);
    parts[count++] = (int32_t)ath_edge_piece(me->chosen[at]);
  }
  return count;
}
