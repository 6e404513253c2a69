/* merged_tokens.c: how tokens were made, and cutting by that.
 *
 * Merges of a rank come when all of lower ranks are done, since each has parts that were made by
 * lower ones. So two neighbours, taken apart again merge by merge, the latest first, show all that
 * lay beside their border while they grew. They stay apart if no pair there had a merge that came
 * before the one that took it away. */
#include "tokenizers/models/merged_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizers/models/trie.h"

enum {
  TOKEN_MAX = 4096,      /* bytes */
  BYTES_MAX = 1 << 26,   /* of all tokens */
  ARENA_MAX = 1 << 30,
  MASK = ATH_MERGE_IDS_MAX - 1,
  WORTH_WORDS = 8192,    /* merging these takes as long as making the tables */
};

struct ath_merged_tokens {
  const ath_merges *merges;
  ath_arena *arena;
  uint64_t *parts;    /* by id: 1 + the rank that made it (0: it is a byte), left and right part */
  uint16_t *lengths;  /* bytes; 0: merging does not make it */
  int32_t *shorter;   /* the longest token that begins it; −1: none */
  ath_trie trie;
};

/* --- tokens side by side -------------------------------------------------------------------- */

static inline uint32_t made(uint64_t parts) {
  return (uint32_t)(parts >> 2 * ATH_MERGE_ID_BITS);
}

/* Whether the tokens stay apart that lie side by side until the merge `limit` comes. Of merges of
 * the same rank the left one comes first: one that would take the right token away comes after the
 * pair's own. */
static inline bool stay_apart(const ath_merged_tokens *self, int32_t left, int32_t right,
                              uint32_t limit) {
  for (;;) {
    if (ath_merges_rank(self->merges, left, right) < limit) return false;
    uint64_t of_left = self->parts[left], of_right = self->parts[right];
    uint32_t left_made = made(of_left), right_made = made(of_right);
    if (left_made > right_made) {
      limit = left_made - 1;
      left = (int32_t)(of_left & MASK);
    } else if (right_made > 0) {
      limit = right_made;
      right = (int32_t)(of_right >> ATH_MERGE_ID_BITS & MASK);
    } else {
      return true;
    }
  }
}

/* --- making the tables ----------------------------------------------------------------------- */

typedef struct making {
  ath_merged_tokens *self;
  size_t ids;      /* more than any */
  char **bytes;    /* by id; NULL: merging does not make it */
  uint16_t *lengths; /* of those that could be made, though others may come before */
  size_t total;
} making;

static int32_t greatest_id(const ath_merges *merges, const int32_t bytes[256]) {
  int32_t most = 0;
  for (int b = 0; b < 256; b++) most = bytes[b] > most ? bytes[b] : most;
  for (uint32_t i = 0; i < merges->count; i++) {
    const ath_merge *merge = &merges->items[i];
    most = merge->left > most ? merge->left : most;
    most = merge->right > most ? merge->right : most;
    most = merge->id > most ? merge->id : most;
  }
  return most;
}

/* Notes down how each token is made. False where one is made in two ways, or of parts that are not
 * there when its merge comes. */
static bool survey(making *m, const int32_t bytes[256]) {
  const ath_merges *merges = m->self->merges;
  for (int b = 0; b < 256; b++) {
    if (m->lengths[bytes[b]] != 0) return false;
    m->lengths[bytes[b]] = 1;
  }
  for (uint32_t rank = 0; rank < merges->count; rank++) {
    ath_merge merge = merges->items[rank];
    size_t length = (size_t)m->lengths[merge.left] + m->lengths[merge.right];
    if (m->lengths[merge.left] == 0 || m->lengths[merge.right] == 0) continue;
    if (m->lengths[merge.id] != 0 || length > TOKEN_MAX) return false;
    m->lengths[merge.id] = (uint16_t)length;
    m->self->parts[merge.id] = (uint64_t)(rank + 1) << 2 * ATH_MERGE_ID_BITS |
                               (uint64_t)merge.left << ATH_MERGE_ID_BITS | (uint64_t)merge.right;
    m->total += length;
  }
  for (uint32_t rank = 0; rank < merges->count; rank++) { /* parts that came too late */
    ath_merge merge = merges->items[rank];
    bool passed = made(m->self->parts[merge.id]) != rank + 1;
    if (passed && m->lengths[merge.left] > 0 && m->lengths[merge.right] > 0) return false;
  }
  return m->total <= BYTES_MAX;
}

/* The bytes of all tokens that merging makes of their own bytes. */
static bool spell(making *m, const int32_t bytes[256], char *room) {
  ath_merged_tokens *self = m->self;
  for (int b = 0; b < 256; b++, room++) {
    *room = (char)b;
    m->bytes[bytes[b]] = room;
    self->lengths[bytes[b]] = 1;
  }
  size_t count = 256;
  for (uint32_t rank = 0; rank < self->merges->count; rank++) {
    ath_merge merge = self->merges->items[rank];
    const char *left = m->bytes[merge.left], *right = m->bytes[merge.right];
    if (left == NULL || right == NULL) continue;
    if (!stay_apart(self, merge.left, merge.right, rank)) continue;
    size_t first = self->lengths[merge.left], second = self->lengths[merge.right];
    m->bytes[merge.id] = room;
    self->lengths[merge.id] = (uint16_t)(first + second);
    memcpy(room, left, first);
    memcpy(room + first, right, second);
    room += first + second;
    count++;
  }
  return count <= m->ids;
}

/* Sorted, each key comes right after those that begin it, but for others that these begin. */
static void find_shorter(ath_merged_tokens *self, const ath_trie_key *keys, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const ath_trie_key *key = &keys[i], *before = i > 0 ? &keys[i - 1] : NULL;
    int32_t found = before != NULL ? before->value : -1;
    size_t common = 0;
    while (before != NULL && common < before->length && common < key->length &&
           before->bytes[common] == key->bytes[common])
      common++;
    while (found >= 0 && self->lengths[found] > common) found = self->shorter[found];
    self->shorter[key->value] = found;
  }
}

static ath_status build(making *m, ath_trie_key *keys) {
  ath_merged_tokens *self = m->self;
  size_t count = 0;
  for (size_t id = 0; id < m->ids; id++)
    if (m->bytes[id] != NULL)
      keys[count++] = (ath_trie_key){m->bytes[id], self->lengths[id], (int32_t)id};
  ATH_TRY(ath_trie_sort(keys, count));
  find_shorter(self, keys, count);
  return ath_trie_build(keys, count, self->arena, &self->trie);
}

static ath_status make(making *m, const int32_t bytes[256], bool *made_all) {
  *made_all = survey(m, bytes);
  if (!*made_all) return ATH_OK;
  char *room = malloc(256 + m->total);
  ath_trie_key *keys = malloc(m->ids * sizeof *keys);
  ath_status status = room != NULL && keys != NULL
                          ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory for the tokens");
  if (status == ATH_OK) *made_all = spell(m, bytes, room);
  if (status == ATH_OK && *made_all) status = build(m, keys);
  free(room);
  free(keys);
  return status;
}

static ath_status create(const ath_merges *merges, size_t ids, ath_merged_tokens **out) {
  ath_arena *arena;
  ATH_TRY(ath_arena_create(ARENA_MAX, &arena));
  ath_merged_tokens *self = ath_arena_alloc(arena, sizeof *self);
  if (self != NULL) {
    *self = (ath_merged_tokens){
        .merges = merges, .arena = arena,
        .parts = ath_arena_alloc(arena, ids * sizeof *self->parts),
        .lengths = ath_arena_alloc(arena, ids * sizeof *self->lengths),
        .shorter = ath_arena_alloc(arena, ids * sizeof *self->shorter)};
    if (self->parts != NULL && self->lengths != NULL && self->shorter != NULL) {
      *out = self;
      return ATH_OK;
    }
  }
  ath_arena_destroy(arena);
  return ATH_NO_MEMORY;
}

ath_status ath_merged_tokens_create(const ath_merges *merges, const int32_t bytes[256],
                                    ath_merged_tokens **out) {
  *out = NULL;
  if (!merges->growing || merges->count >= ATH_MERGE_IDS_MAX) return ATH_OK;
  making m = {.ids = (size_t)greatest_id(merges, bytes) + 1};
  ATH_TRY(create(merges, m.ids, &m.self));
  m.bytes = calloc(m.ids, sizeof *m.bytes);
  m.lengths = calloc(m.ids, sizeof *m.lengths);
  bool made_all = false;
  ath_status status = m.bytes != NULL && m.lengths != NULL
                          ? make(&m, bytes, &made_all)
                          : ath_fail(ATH_NO_MEMORY, "no memory for the tokens");
  free(m.bytes);
  free(m.lengths);
  if (status == ATH_OK && made_all) *out = m.self;
  else ath_merged_tokens_destroy(m.self);
  return status;
}

void ath_merged_tokens_destroy(ath_merged_tokens *self) {
  if (self != NULL) ath_arena_destroy(self->arena);
}

static void release(void *lazy) {
  ath_merged_lazy *self = lazy;
  ath_merged_tokens_destroy(self->tokens);
  pthread_mutex_destroy(&self->lock);
}

/* --- when they are worth it ------------------------------------------------------------------ */

ath_status ath_merged_lazy_init(ath_merged_lazy *self, ath_arena *arena) {
  if (pthread_mutex_init(&self->lock, NULL) != 0)
    return ath_fail(ATH_NO_MEMORY, "no memory for a lock");
  ath_status status = ath_arena_on_destroy(arena, release, self);
  if (status != ATH_OK) pthread_mutex_destroy(&self->lock);
  return status;
}

ath_status ath_merged_lazy_get(ath_merged_lazy *self, const ath_merges *merges,
                               const int32_t bytes[256], size_t words,
                               const ath_merged_tokens **out) {
  *out = NULL;
  ath_status status = ATH_OK;
  if (!atomic_load_explicit(&self->tried, memory_order_acquire)) {
    size_t before = atomic_fetch_add_explicit(&self->words, words, memory_order_relaxed);
    if (before < WORTH_WORDS) return ATH_OK;
    pthread_mutex_lock(&self->lock);
    if (!atomic_load_explicit(&self->tried, memory_order_relaxed)) {
      status = ath_merged_tokens_create(merges, bytes, &self->tokens);
      atomic_store_explicit(&self->tried, status == ATH_OK, memory_order_release);
    }
    pthread_mutex_unlock(&self->lock);
  }
  *out = self->tokens;
  return status;
}

/* --- cutting --------------------------------------------------------------------------------- */

/* The longest token that begins here: a byte at least. */
static inline int32_t longest(const ath_merged_tokens *self, const char *bytes, size_t length) {
  ath_trie_node node = ath_trie_root(&self->trie);
  int32_t id = -1;
  for (size_t i = 0; i < length && ath_trie_step(&self->trie, &node, (uint8_t)bytes[i]); i++) {
    int32_t found = ath_trie_value(&self->trie, node);
    id = found >= 0 ? found : id;
  }
  return id;
}

/* A border from which no way leads on is shut, so that none is tried twice. */
size_t ath_merged_tokens_cut(const ath_merged_tokens *self, const char *bytes, size_t length,
                             ath_word_piece *out) {
  uint64_t shut[ATH_MERGED_WORD_MAX / 64 + 1];
  size_t count = 0, at = 0;
  assert(length > 0 && length <= ATH_MERGED_WORD_MAX);
  memset(shut, 0, (length / 64 + 1) * sizeof *shut);
  for (int32_t token = longest(self, bytes, length);;) {
    size_t end = at + self->lengths[token];
    bool is_shut = (shut[end / 64] >> (end & 63) & 1) != 0;
    if (!is_shut && (count == 0 || stay_apart(self, out[count - 1].id, token, UINT32_MAX))) {
      out[count++] = (ath_word_piece){token, (uint32_t)end};
      if (end == length) return count;
      at = end;
      token = longest(self, bytes + at, length - at);
      continue;
    }
    token = self->shorter[token];
    while (token < 0) { /* nothing leads on from here */
      assert(count > 0);
      shut[at / 64] |= UINT64_C(1) << (at & 63);
      token = out[--count].id;
      at -= self->lengths[token];
      token = self->shorter[token];
    }
  }
}
