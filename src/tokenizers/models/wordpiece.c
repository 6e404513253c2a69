/* wordpiece.c: the WordPiece model of BERT (Schuster & Nakajima 2012; Wu et al. 2016): from left to
 * right the longest piece that is in the vocabulary; pieces inside a word carry a prefix. A word
 * that cannot be cut so to its end is one unknown token.
 *
 * {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
 *  "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "ab": 1, "##c": 2}}
 *
 * One trie serves the first piece and the others, which begin at the prefix's node. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizers/models/kinds.h"
#include "tokenizers/models/trie.h"
#include "tokenizers/models/vocabulary.h"
#include "tokenizers/models/word_cache.h"

typedef struct text {
  const char *bytes;
  size_t length;
} text;

typedef struct wordpiece {
  ath_vocabulary vocabulary; /* the first member: the kind's functions look it up */
  text unknown, prefix;
  int32_t unknown_id;     /* −1: the vocabulary does not have it */
  int64_t longest;        /* of the words that are cut, in characters */
  ath_trie trie;          /* token to id; the empty token is not in it */
  ath_trie_node inner;    /* the node at the prefix's end */
  bool has_inner;         /* whether any token begins with the prefix */
} wordpiece;

/* --- reading and writing -------------------------------------------------------------------- */

/* Keeps a string member; without it, the default that BERT has. */
static ath_status read_text(const ath_json *json, const char *key, const char *missing,
                            ath_arena *arena, text *out) {
  ath_json member = ath_json_member(json, key);
  *out = (text){missing, strlen(missing)};
  if (member.value == NULL) return ATH_OK;
  ATH_TRY(ath_json_string(&member, &out->bytes, &out->length));
  out->bytes = ath_arena_string_n(arena, out->bytes, out->length);
  return out->bytes != NULL ? ATH_OK : ATH_NO_MEMORY;
}

static ath_status build_trie(wordpiece *self, ath_arena *arena) {
  const ath_vocabulary *vocabulary = &self->vocabulary;
  ath_trie_key *keys = malloc((vocabulary->count + 1) * sizeof *keys);
  if (keys == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the vocabulary");
  size_t count = 0;
  for (uint32_t i = 0; i < vocabulary->count; i++) {
    const ath_vocabulary_entry *entry = &vocabulary->entries[i];
    if (entry->length > 0) keys[count++] = (ath_trie_key){entry->bytes, entry->length, entry->id};
  }
  ath_status status = ath_trie_sort(keys, count);
  if (status == ATH_OK) status = ath_trie_build(keys, count, arena, &self->trie);
  free(keys);
  return status;
}

/* Follows the prefix's bytes through the trie. */
static void find_inner(wordpiece *self) {
  self->inner = ath_trie_root(&self->trie);
  self->has_inner = true;
  for (size_t i = 0; i < self->prefix.length && self->has_inner; i++)
    self->has_inner = ath_trie_step(&self->trie, &self->inner, (uint8_t)self->prefix.bytes[i]);
}

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "unk_token", "continuing_subword_prefix",
                                      "max_input_chars_per_word", "vocab", NULL};
  ath_json_check_keys(json, known);
  wordpiece *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ATH_TRY(read_text(json, "unk_token", "[UNK]", arena, &self->unknown));
  ATH_TRY(read_text(json, "continuing_subword_prefix", "##", arena, &self->prefix));
  ath_json longest = ath_json_member(json, "max_input_chars_per_word");
  self->longest = 100;
  if (longest.value != NULL)
    ATH_TRY(ath_json_integer(&longest, 0, INT64_MAX, &self->longest));
  ath_json vocab = ath_json_member(json, "vocab");
  ATH_TRY(ath_vocabulary_read(&vocab, arena, &self->vocabulary));
  ATH_TRY(build_trie(self, arena));
  find_inner(self);
  self->unknown_id = ath_vocabulary_id(&self->vocabulary, self->unknown.bytes,
                                       self->unknown.length);
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const wordpiece *self = data;
  ath_json_put_string(out, "unk_token", self->unknown.bytes, self->unknown.length);
  ath_json_put_string(out, "continuing_subword_prefix", self->prefix.bytes, self->prefix.length);
  ath_json_put_integer(out, "max_input_chars_per_word", self->longest);
  ath_vocabulary_write(&self->vocabulary, out);
}

/* --- encoding ------------------------------------------------------------------------------- */

/* Whether a word has more characters than are cut. */
static bool is_too_long(const wordpiece *self, const ath_text *word) {
  if (word->length <= (uint64_t)self->longest) return false;
  return ath_utf8_count(word->bytes, word->length) > (uint64_t)self->longest;
}

/* The longest token from byte `from` on, and where it ends; −1 when there is none. */
static int32_t longest_piece(const wordpiece *self, const ath_text *word, size_t from,
                             size_t *end) {
  if (from > 0 && !self->has_inner) return -1;
  ath_trie_node node = from > 0 ? self->inner : ath_trie_root(&self->trie);
  int32_t id = -1;
  for (size_t at = from; at < word->length;) {
    if (!ath_trie_step(&self->trie, &node, (uint8_t)word->bytes[at++])) break;
    int32_t found = ath_trie_value(&self->trie, node);
    if (found < 0) continue;
    id = found;
    *end = at;
  }
  return id;
}

static ath_status cut(const void *model, ath_run *run, const ath_text *word,
                      ath_word_piece **pieces, size_t *count) {
  const wordpiece *self = model;
  *pieces = ath_run_scratch(run, ATH_SCRATCH_PIECES, word->length * sizeof **pieces);
  if (*pieces == NULL) return ATH_NO_MEMORY;
  *count = 0;
  bool known = !is_too_long(self, word);
  for (size_t at = 0; known && at < word->length;) {
    int32_t id = longest_piece(self, word, at, &at);
    known = id >= 0;
    (*pieces)[*count] = (ath_word_piece){id, (uint32_t)at};
    *count += known;
  }
  if (known) return ATH_OK;
  if (self->unknown_id < 0)
    return ath_fail(ATH_INVALID, "the word \"%.*s\" needs the unknown token \"%.100s\" "
                    "(model.unk_token), which is not in the vocabulary",
                    ath_word_shown(word), word->bytes,
                    self->unknown.bytes);
  **pieces = (ath_word_piece){self->unknown_id, (uint32_t)word->length};
  *count = 1;
  return ATH_OK;
}

static ath_status encode(const void *data, ath_run *run, const ath_text *word) {
  return ath_word_encode(data, cut, -1, run, word);
}

const ath_model_kind ath_model_wordpiece = {
  .base = {"WordPiece", read, write},
  .encode = encode,
  .size = ath_vocabulary_kind_size,
  .id = ath_vocabulary_kind_id,
  .token = ath_vocabulary_kind_token,
};
