/* suffix_pieces.c: suffix array → longest common prefixes → the nodes of the suffix tree.
 *
 *     suffix array  longest common prefix with the one above     nodes: "ab" ×3, "abc" ×2
 *       ab              -
 *       abc             2  ┐ "ab"
 *       abcd            3  ┘ ┘ "abc"
 *       b               0
 */
#include "tokenizers/trainers/suffix_pieces.h"

#include <assert.h>
#include <divsufsort.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

/* Prefixes are compared to this many bytes: more than the longest piece. */
enum { PREFIX_MAX = 4 * ATH_PIECE_LENGTH_MAX + 1 };

static_assert(PREFIX_MAX <= 127, "a common prefix fits into a byte, and a length into 7 bits");

void ath_seed_pieces_free(ath_seed_pieces *self) {
  free(self->suffixes);
  free(self->pieces);
  *self = (ath_seed_pieces){0};
}

/* prefixes[i] = bytes that suffixes i − 1 and i have in common: within their words, in whole code
 * points, up to PREFIX_MAX. Kasai's walk in text order (CPM 2001) through the array phi of the
 * suffix before (Kärkkäinen, Manzini, Puglisi, CPM 2009). */
static ath_status common_prefixes(const char *text, const int32_t *suffixes, size_t n,
                                  uint8_t **out) {
  int32_t *before = ath_memory_alloc(n * sizeof *before);
  uint8_t *by_position = ath_memory_alloc(n), *prefixes = ath_memory_alloc(n + 1);
  if (before == NULL || by_position == NULL || prefixes == NULL) {
    free(before);
    free(by_position);
    free(prefixes);
    return ath_fail(ATH_NO_MEMORY, "no memory for the common prefixes of %zu suffixes", n);
  }
  before[suffixes[0]] = -1;
  for (size_t i = 1; i < n; i++) before[suffixes[i]] = suffixes[i - 1];
  size_t length = 0;
  for (size_t at = 0; at < n; at++) {
    by_position[at] = 0;
    if (before[at] < 0) {
      length = 0;
      continue;
    }
    const char *a = text + at, *b = text + before[at];
    while (length < PREFIX_MAX && a[length] == b[length] && a[length] != '\0') length++;
    size_t whole = length;
    while (whole > 0 && ath_utf8_continues(a[whole])) whole--;
    by_position[at] = (uint8_t)whole;
    if (length > 0) length--;
  }
  for (size_t i = 0; i < n; i++) prefixes[i] = by_position[suffixes[i]];
  prefixes[0] = prefixes[n] = 0;
  free(before);
  free(by_position);
  *out = prefixes;
  return ATH_OK;
}

/* How often the word that each suffix begins in stands in the corpus. */
static ath_status counts_of_suffixes(const ath_word_list *words, const int32_t *suffixes, size_t n,
                                     uint64_t **out) {
  uint32_t *word_of = ath_memory_alloc(n * sizeof *word_of);
  uint64_t *counts = ath_memory_alloc(n * sizeof *counts);
  if (word_of == NULL || counts == NULL) {
    free(word_of);
    free(counts);
    return ath_fail(ATH_NO_MEMORY, "no memory for the counts of %zu suffixes", n);
  }
  for (size_t w = 0; w < words->count; w++)
    for (uint32_t at = words->starts[w]; at < words->starts[w + 1]; at++)
      word_of[at] = (uint32_t)w;
  for (size_t i = 0; i < n; i++) counts[i] = words->counts[word_of[suffixes[i]]];
  free(word_of);
  *out = counts;
  return ATH_OK;
}

typedef struct piece_list {
  ath_seed_piece *pieces;
  size_t count, capacity;
} piece_list;

static ath_status push(piece_list *self, ath_seed_piece piece) {
  if (self->count == self->capacity) {
    size_t wish = self->capacity == 0 ? 4096 : self->capacity * 2;
    ath_seed_piece *more = realloc(self->pieces, wish * sizeof *more);
    if (more == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu seed pieces", wish);
    self->pieces = more;
    self->capacity = wish;
  }
  self->pieces[self->count++] = piece;
  return ATH_OK;
}

/* What the walks over the suffixes look at. */
typedef struct suffix_view {
  const char *text;
  const int32_t *suffixes;
  const uint8_t *prefixes;
  const uint64_t *counts;
  size_t n;
  int max_length;
} suffix_view;

/* Adds the node "the first `length` bytes of suffixes first … last − 1" if it can be a piece. */
static ath_status add_node(const suffix_view *self, size_t first, size_t last, size_t length,
                           uint64_t count, piece_list *out) {
  assert(first < last && count >= last - first);
  const char *bytes = self->text + self->suffixes[first];
  if (length >= PREFIX_MAX || count < 2 || ath_utf8_continues(bytes[0])) return ATH_OK;
  int characters = (int)ath_utf8_count(bytes, length);
  if (characters < 2 || characters > self->max_length) return ATH_OK;
  return push(out, (ath_seed_piece){.first = (uint32_t)first, .last = (uint32_t)last,
                                    .length = (uint8_t)length, .count = count,
                                    .score = count * (uint64_t)characters});
}

/* An inner node that is open: its suffixes begin at `first`, share `length` bytes, and those seen
 * so far stand `count` times in the corpus. */
typedef struct open_node {
  size_t first, length;
  uint64_t count;
} open_node;

/* Adds the rest of a word from suffix i on, if no other word has it: a leaf here, but an inner
 * node of the corpus when the word stands there twice. */
static ath_status add_leaf(const suffix_view *self, size_t i, piece_list *out) {
  size_t shared = self->prefixes[i] > self->prefixes[i + 1] ? self->prefixes[i]
                                                            : self->prefixes[i + 1];
  size_t length = strnlen(self->text + self->suffixes[i], PREFIX_MAX);
  if (length <= shared) return ATH_OK;
  return add_node(self, i, i + 1, length, self->counts[i], out);
}

/* Suffixes ahead whose text is fetched: their places in it are far apart. */
enum { AHEAD = 16 };

/* Walks the suffixes in order and adds each node when its last suffix is passed. */
static ath_status add_nodes(const suffix_view *self, piece_list *out) {
  open_node stack[PREFIX_MAX + 1] = {{0}};
  size_t top = 0;
  for (size_t i = 1; i <= self->n; i++) {
    if (i + AHEAD < self->n) __builtin_prefetch(self->text + self->suffixes[i + AHEAD]);
    size_t shared = self->prefixes[i], first = i - 1;
    uint64_t count = self->counts[i - 1];
    ATH_TRY(add_leaf(self, i - 1, out));
    while (stack[top].length > shared) {
      const open_node *node = &stack[top--];
      first = node->first;
      count += node->count;
      ATH_TRY(add_node(self, first, i, node->length, count, out));
    }
    if (stack[top].length < shared) stack[++top] = (open_node){first, shared, 0};
    stack[top].count += count;
    assert(top <= PREFIX_MAX);
  }
  return ATH_OK;
}

/* Adds the characters: runs of suffixes that begin with the same code point. */
static ath_status add_characters(const suffix_view *self, piece_list *out) {
  for (size_t i = 0, first = 0; i < self->n; first = i) {
    const char *bytes = self->text + self->suffixes[first];
    size_t length = 1;
    while (ath_utf8_continues(bytes[length])) length++;
    uint64_t count = 0;
    for (; i < self->n && strncmp(bytes, self->text + self->suffixes[i], length) == 0; i++)
      count += self->counts[i];
    if (bytes[0] == '\0' || ath_utf8_continues(bytes[0])) continue;
    ATH_TRY(push(out, (ath_seed_piece){.first = (uint32_t)first, .last = (uint32_t)i,
                                       .length = (uint8_t)length, .is_character = true,
                                       .count = count, .score = count}));
  }
  return ATH_OK;
}

/* Better first; equal ones in the order of their bytes, which is that of their suffixes. */
static int by_score(const void *left, const void *right) {
  const ath_seed_piece *a = left, *b = right;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  return (a->length > b->length) - (a->length < b->length);
}

static ath_status find_pieces(const suffix_view *view, size_t seed_size, ath_seed_pieces *out) {
  piece_list list = {0};
  ath_status status = add_characters(view, &list);
  size_t characters = list.count;
  if (status == ATH_OK) status = add_nodes(view, &list);
  if (status != ATH_OK) {
    free(list.pieces);
    return status;
  }
  qsort(list.pieces, characters, sizeof *list.pieces, by_score);
  qsort(list.pieces + characters, list.count - characters, sizeof *list.pieces, by_score);
  out->pieces = list.pieces;
  out->character_count = characters;
  out->count = list.count - characters < seed_size ? list.count : characters + seed_size;
  return ATH_OK;
}

ath_status ath_seed_pieces_find(const ath_word_list *words, size_t seed_size, int max_length,
                                ath_seed_pieces *out) {
  assert(words->count > 0 && seed_size <= ATH_SEED_SIZE_MAX);
  assert(max_length >= 1 && max_length <= ATH_PIECE_LENGTH_MAX);
  size_t n = words->starts[words->count];
  assert(n <= ATH_WORD_TEXT_MAX);
  *out = (ath_seed_pieces){.words = words, .suffix_count = n, .max_length = max_length};
  uint8_t *prefixes = NULL;
  uint64_t *counts = NULL;
  ath_status status = ATH_OK;
  out->suffixes = ath_memory_alloc(n * sizeof *out->suffixes);
  if (out->suffixes == NULL ||
      divsufsort((const sauchar_t *)words->text, out->suffixes, (saidx_t)n) != 0) {
    status = ath_fail(ATH_NO_MEMORY, "no memory for the suffix array of %zu bytes", n);
    goto done;
  }
  ATH_TRY_GOTO(common_prefixes(words->text, out->suffixes, n, &prefixes), done);
  ATH_TRY_GOTO(counts_of_suffixes(words, out->suffixes, n, &counts), done);
  suffix_view view = {words->text, out->suffixes, prefixes, counts, n, max_length};
  status = find_pieces(&view, seed_size, out);
done:
  free(prefixes);
  free(counts);
  if (status != ATH_OK) ath_seed_pieces_free(out);
  return status;
}
