/* bpe.c: the byte-pair encoding model (Sennrich et al. 2016) read, made and written.
 *
 * {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
 *  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
 *  "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}
 *
 * Older files have "a b" for a merge, and lack what was added later. */
#include "tokenizers/models/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizers/models/kinds.h"

#define MARK "\xE2\x96\x81" /* "▁" */

/* --- making one ----------------------------------------------------------------------------- */

ath_status ath_bpe_create(ath_arena *arena, ath_bpe **out) {
  *out = ath_arena_alloc(arena, sizeof **out);
  if (*out == NULL) return ATH_NO_MEMORY;
  (*out)->unknown_id = -1;
  (*out)->vocabulary.arena = arena;
  return ATH_OK;
}

/* Most merges make the token after the one that the last merge made, as trainers number them;
 * to try that first saves most searches. */
static int32_t find_made(const ath_bpe *self, const char *bytes, size_t length) {
  const ath_merges *merges = &self->merges;
  int32_t next = merges->count > 0 ? merges->items[merges->count - 1].id + 1 : -1;
  const ath_vocabulary_entry *entry = ath_vocabulary_entry_of(&self->vocabulary, next);
  if (entry != NULL && entry->length == length && memcmp(entry->bytes, bytes, length) == 0)
    return next;
  return ath_vocabulary_id(&self->vocabulary, bytes, length);
}

static ath_status not_there(const char *token, size_t length) {
  int shown = length < 100 ? (int)length : 100;
  return ath_fail(ATH_INVALID, "the token \"%.*s\" is not in the vocabulary", shown, token);
}

ath_status ath_bpe_add_merge(ath_bpe *self, const char *left, size_t left_length,
                             const char *right, size_t right_length) {
  enum { ROOM = 256 };
  char room[ROOM], *made = room;
  size_t prefix = self->prefix.length, length = left_length + right_length - prefix;
  ath_merge merge = {ath_vocabulary_id(&self->vocabulary, left, left_length),
                     ath_vocabulary_id(&self->vocabulary, right, right_length), -1};
  if (merge.left < 0) return not_there(left, left_length);
  if (merge.right < 0) return not_there(right, right_length);
  if (right_length < prefix)
    return ath_fail(ATH_INVALID, "\"%.100s\" is shorter than the prefix that is taken off it",
                    right);
  if (length > ROOM) made = malloc(length);
  if (made == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a merge");
  memcpy(made, left, left_length);
  memcpy(made + left_length, right + prefix, right_length - prefix);
  merge.id = find_made(self, made, length);
  ath_status status = merge.id >= 0 ? ATH_OK : not_there(made, length);
  if (status == ATH_OK) ath_merges_add(&self->merges, merge);
  if (made != room) free(made);
  return status;
}

/* The ids of the characters of at most two bytes, with the affixes that `variant` says. */
static ath_status fill_letters(ath_bpe *self, int variant) {
  if (((variant & 1) != 0 && self->prefix.length == 0) ||
      ((variant & 2) != 0 && self->suffix.length == 0))
    return ATH_OK;
  int32_t *ids = ath_arena_alloc(self->vocabulary.arena, ATH_BPE_LETTERS * sizeof *ids);
  if (ids == NULL) return ATH_NO_MEMORY;
  char name[2 * ATH_BPE_AFFIX_MAX + 4];
  size_t start = variant & 1 ? self->prefix.length : 0;
  if (start > 0) memcpy(name, self->prefix.bytes, start);
  for (unsigned c = 0; c < ATH_BPE_LETTERS; c++) {
    size_t end = start;
    if (c >= 0x80) name[end++] = (char)(0xC0 | c >> 6);
    name[end++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3F) : c);
    if (variant & 2) memcpy(name + end, self->suffix.bytes, self->suffix.length);
    if (variant & 2) end += self->suffix.length;
    ids[c] = ath_vocabulary_id(&self->vocabulary, name, end);
  }
  self->letters[variant] = ids;
  return ATH_OK;
}

static bool is_byte_token(const ath_bpe *self, int32_t id) {
  for (int byte = 0; byte < 256; byte++)
    if (self->byte_ids[byte] == id) return true;
  return false;
}

/* Models without pre-tokeniser get whole texts as words, and almost never merge across the mark
 * that stands for a space. Where no merge joins anything that ends in a byte to anything that
 * begins with the mark, the text can be cut: its parts merge as they would together. */
static void find_mark_cuts(ath_bpe *self) {
  self->cuts_at_mark = self->merges.growing && self->dropout == 0 && !self->ignore_merges &&
                       self->prefix.length == 0 && self->suffix.length == 0 &&
                       self->unknown_id >= 0 &&
                       ath_vocabulary_id(&self->vocabulary, MARK, strlen(MARK)) >= 0;
  for (uint32_t i = 0; self->cuts_at_mark && i < self->merges.count; i++) {
    const ath_merge *merge = &self->merges.items[i];
    const ath_vocabulary_entry *left = ath_vocabulary_entry_of(&self->vocabulary, merge->left);
    const ath_vocabulary_entry *right = ath_vocabulary_entry_of(&self->vocabulary, merge->right);
    if (right->length < strlen(MARK) || memcmp(right->bytes, MARK, strlen(MARK)) != 0) continue;
    /* What stands for unknown characters may end in any byte. */
    if (left->length == 0 || left->id == self->unknown_id || is_byte_token(self, left->id))
      self->cuts_at_mark = false;
    else
      self->joins_mark[(uint8_t)left->bytes[left->length - 1]] = true;
  }
}

ath_status ath_bpe_finish(ath_bpe *self) {
  const ath_vocabulary *vocabulary = &self->vocabulary;
  assert(vocabulary->size <= ATH_MERGE_IDS_MAX && self->prefix.length <= ATH_BPE_AFFIX_MAX);
  assert(self->suffix.length <= ATH_BPE_AFFIX_MAX);
  if (self->unknown.bytes != NULL)
    self->unknown_id = ath_vocabulary_id(vocabulary, self->unknown.bytes, self->unknown.length);
  ath_byte_tokens_find(ath_vocabulary_kind_id, vocabulary, self->byte_ids);
  for (int variant = 0; variant < 4; variant++) ATH_TRY(fill_letters(self, variant));
  find_mark_cuts(self);
  return ATH_OK;
}

/* --- reading -------------------------------------------------------------------------------- */

/* A string, or null, which is as good as nothing. */
static ath_status read_text(const ath_json *json, const char *key, size_t most, ath_arena *arena,
                            ath_bpe_text *out) {
  ath_json member = ath_json_member(json, key);
  if (ath_json_absent(&member)) return ATH_OK;
  ATH_TRY(ath_json_string(&member, &out->bytes, &out->length));
  if (out->length > most)
    return ath_json_fail(&member, ATH_UNSUPPORTED, "%zu bytes; at most %zu are supported",
                         out->length, most);
  out->bytes = ath_arena_string_n(arena, out->bytes, out->length);
  return out->bytes != NULL ? ATH_OK : ATH_NO_MEMORY;
}

static ath_status read_flag(const ath_json *json, const char *key, bool *out) {
  ath_json member = ath_json_member(json, key);
  if (ath_json_absent(&member)) return ATH_OK;
  return ath_json_flag(&member, out);
}

static ath_status read_dropout(const ath_json *json, ath_bpe *self) {
  ath_json member = ath_json_member(json, "dropout");
  if (ath_json_absent(&member)) return ATH_OK;
  ATH_TRY(ath_json_number(&member, &self->dropout));
  if (!(self->dropout >= 0 && self->dropout <= 1))
    return ath_json_fail(&member, ATH_INVALID, "%g is not between 0 and 1", self->dropout);
  self->has_dropout = true;
  return ATH_OK;
}

typedef struct pair {
  const char *left, *right;
  size_t left_length, right_length;
} pair;

/* "a b", with the one space that it must have; or ["a", "b"], whose tokens may hold spaces. */
static ath_status read_pair(const ath_json *json, pair *out) {
  if (json_is_string(json->value)) {
    size_t length;
    ATH_TRY(ath_json_string(json, &out->left, &length));
    const char *space = memchr(out->left, ' ', length);
    size_t before = space != NULL ? (size_t)(space - out->left) : length;
    if (space == NULL || memchr(space + 1, ' ', length - before - 1) != NULL)
      return ath_json_fail(json, ATH_INVALID, "expected two tokens and one space between them, "
                           "found \"%.100s\"", out->left);
    *out = (pair){out->left, space + 1, before, length - before - 1};
    return ATH_OK;
  }
  size_t count;
  ATH_TRY(ath_json_array(json, &count));
  if (count != 2)
    return ath_json_fail(json, ATH_INVALID, "expected two tokens, found %zu", count);
  ath_json left = ath_json_item(json, 0), right = ath_json_item(json, 1);
  ATH_TRY(ath_json_string(&left, &out->left, &out->left_length));
  return ath_json_string(&right, &out->right, &out->right_length);
}

/* A list made from an old merges.txt may have kept its first line. */
static bool is_version(const ath_json *json) {
  return json_is_string(json->value) &&
         strncmp(json_string_value(json->value), "#version", 8) == 0;
}

static ath_status read_merges(const ath_json *json, ath_bpe *self) {
  size_t count;
  ATH_TRY(ath_json_array(json, &count));
  if (count > ATH_MERGES_MAX)
    return ath_json_fail(json, ATH_UNSUPPORTED, "%zu merges; at most %d are supported", count,
                         ATH_MERGES_MAX);
  ATH_TRY(ath_merges_init(&self->merges, self->vocabulary.arena, count));
  for (size_t i = 0; i < count; i++) {
    ath_json item = ath_json_item(json, i);
    if (is_version(&item)) continue;
    pair p;
    ATH_TRY(read_pair(&item, &p));
    ath_status status = ath_bpe_add_merge(self, p.left, p.left_length, p.right, p.right_length);
    if (status == ATH_INVALID)
      return ath_json_fail(&item, status, "%s", ath_error_text());
    ATH_TRY(status);
  }
  return ATH_OK;
}

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {
      "type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
      "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges", NULL};
  ath_json_check_keys(json, known);
  ath_bpe *self;
  ATH_TRY(ath_bpe_create(arena, &self));
  ATH_TRY(read_dropout(json, self));
  ATH_TRY(read_text(json, "unk_token", UINT32_MAX, arena, &self->unknown));
  ATH_TRY(read_text(json, "continuing_subword_prefix", ATH_BPE_AFFIX_MAX, arena, &self->prefix));
  ATH_TRY(read_text(json, "end_of_word_suffix", ATH_BPE_AFFIX_MAX, arena, &self->suffix));
  ATH_TRY(read_flag(json, "fuse_unk", &self->fuse_unknown));
  ATH_TRY(read_flag(json, "byte_fallback", &self->byte_fallback));
  ATH_TRY(read_flag(json, "ignore_merges", &self->ignore_merges));
  ath_json vocab = ath_json_member(json, "vocab"), merges = ath_json_member(json, "merges");
  ATH_TRY(ath_vocabulary_read(&vocab, arena, &self->vocabulary));
  if (self->vocabulary.size > ATH_MERGE_IDS_MAX)
    return ath_json_fail(&vocab, ATH_UNSUPPORTED, "the id %d; those of a BPE model are below %d",
                         self->vocabulary.size - 1, ATH_MERGE_IDS_MAX);
  ATH_TRY(read_merges(&merges, self));
  *data = self;
  return ath_bpe_finish(self);
}

/* --- writing -------------------------------------------------------------------------------- */

static void put_text(ath_json_writer *out, const char *key, const ath_bpe_text *text) {
  if (text->bytes == NULL) ath_json_put_null(out, key);
  else ath_json_put_string(out, key, text->bytes, text->length);
}

/* A pair that came twice is written at its later place, the one that counts. */
static void put_merge(const ath_bpe *self, uint32_t rank, ath_json_writer *out) {
  const ath_merge *merge = &self->merges.items[rank];
  if (ath_merges_rank(&self->merges, merge->left, merge->right) != rank) return;
  const ath_vocabulary_entry *left = ath_vocabulary_entry_of(&self->vocabulary, merge->left);
  const ath_vocabulary_entry *right = ath_vocabulary_entry_of(&self->vocabulary, merge->right);
  ath_json_open(out, NULL, '[');
  ath_json_put_string(out, NULL, left->bytes, left->length);
  ath_json_put_string(out, NULL, right->bytes, right->length);
  ath_json_close(out, ']');
}

static void write(const void *data, ath_json_writer *out) {
  const ath_bpe *self = data;
  if (self->has_dropout) ath_json_put_number(out, "dropout", self->dropout);
  else ath_json_put_null(out, "dropout");
  put_text(out, "unk_token", &self->unknown);
  put_text(out, "continuing_subword_prefix", &self->prefix);
  put_text(out, "end_of_word_suffix", &self->suffix);
  ath_json_put_flag(out, "fuse_unk", self->fuse_unknown);
  ath_json_put_flag(out, "byte_fallback", self->byte_fallback);
  ath_json_put_flag(out, "ignore_merges", self->ignore_merges);
  ath_vocabulary_write(&self->vocabulary, out);
  ath_json_open(out, "merges", '[');
  for (uint32_t rank = 0; rank < self->merges.count; rank++) put_merge(self, rank, out);
  ath_json_close(out, ']');
}

const ath_model_kind ath_model_bpe = {
    {"BPE", read, write}, ath_bpe_encode, ath_vocabulary_kind_size, ath_vocabulary_kind_id,
    ath_vocabulary_kind_token};
