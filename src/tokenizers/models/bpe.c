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

#include "tokenizers/byte_alphabet.h"
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

/* The same by the bytes that letters stand for. */
static ath_status fill_bytes(ath_bpe *self, int variant) {
  const int32_t *letters = self->letters[variant];
  if (letters == NULL) return ATH_OK;
  int32_t *ids = ath_arena_alloc(self->vocabulary.arena, 256 * sizeof *ids);
  if (ids == NULL) return ATH_NO_MEMORY;
  for (uint32_t c = 0; c < ATH_BPE_LETTERS; c++) {
    int byte = ath_letter_byte(c);
    if (byte < 0) continue;
    ids[byte] = letters[c];
    if (ids[byte] < 0) self->takes_bytes = false;
  }
  self->bytes[variant] = ids;
  return ATH_OK;
}

/* Words that may be tokens as they are have their letters written for that, in little room. */
static bool is_whole_short(const ath_bpe *self) {
  const ath_vocabulary *vocabulary = &self->vocabulary;
  for (uint32_t i = 0; self->ignore_merges && i < vocabulary->count; i++)
    if (vocabulary->entries[i].length > ATH_BPE_WHOLE_MAX) return false;
  return true;
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
  self->takes_bytes = is_whole_short(self);
  for (int variant = 0; variant < 4; variant++) {
    ATH_TRY(fill_letters(self, variant));
    ATH_TRY(fill_bytes(self, variant));
  }
  find_mark_cuts(self);
  self->merged = ath_arena_alloc(vocabulary->arena, sizeof *self->merged);
  if (self->merged == NULL) return ATH_NO_MEMORY;
  return ath_merged_lazy_init(self->merged, vocabulary->arena);
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

/* Merges are read in blocks, whose tokens are looked up together: the left ones, the right ones,
 * and what the two become. */
enum { BLOCK = 32 };
typedef struct merge_reading {
  ath_json_rows rows;
  const ath_bpe *model;
  ath_buffer merges; /* of ath_merge */
  ath_buffer bytes;  /* of the block's tokens */
  size_t count;      /* of the block */
  size_t numbers[BLOCK]; /* in the file's list */
  ath_vocabulary_query queries[3 * BLOCK];
} merge_reading;

/* The right token comes into what the two become without the prefix. */
static ath_status add_pair(merge_reading *self, ath_json_slice left, ath_json_slice right) {
  size_t prefix = self->model->prefix.length, query = 3 * self->count;
  if (right.length < prefix)
    return ath_json_rows_fail(&self->rows, ATH_INVALID, "\"%.*s\" is shorter than the prefix that "
                              "is taken off it", (int)right.length, right.bytes);
  self->numbers[self->count++] = self->rows.count - 1;
  /* Files are smaller than 2^32 bytes. */
  self->queries[query].length = (uint32_t)left.length;
  self->queries[query + 1].length = (uint32_t)right.length;
  self->queries[query + 2].length = (uint32_t)(left.length + right.length - prefix);
  ATH_TRY(ath_buffer_append(&self->bytes, left.bytes, left.length));
  ATH_TRY(ath_buffer_append(&self->bytes, right.bytes + prefix, right.length - prefix));
  return prefix > 0 ? ath_buffer_append(&self->bytes, right.bytes, right.length) : ATH_OK;
}

/* "a b", with the one space that it must have. A list made from an old merges.txt may have kept
 * its first line. */
static ath_status read_line(merge_reading *self) {
  static const char version[] = "#version";
  ath_json_slice line;
  ATH_TRY(ath_json_rows_string(&self->rows, &line));
  if (line.length >= sizeof version - 1 && memcmp(line.bytes, version, sizeof version - 1) == 0)
    return ATH_OK;
  const char *space = memchr(line.bytes, ' ', line.length);
  size_t before = space != NULL ? (size_t)(space - line.bytes) : line.length;
  if (space == NULL || memchr(space + 1, ' ', line.length - before - 1) != NULL)
    return ath_json_rows_fail(&self->rows, ATH_INVALID, "expected two tokens and one space between "
                              "them, found \"%.*s\"",
                              (int)(line.length < 100 ? line.length : 100), line.bytes);
  return add_pair(self, (ath_json_slice){line.bytes, before},
                  (ath_json_slice){space + 1, line.length - before - 1});
}

/* ["a", "b"], whose tokens may hold spaces. */
static ath_status read_pair(merge_reading *self) {
  static const char what[] = "two tokens";
  ath_json_slice left, right;
  ATH_TRY(ath_json_rows_mark(&self->rows, '[', what));
  ATH_TRY(ath_json_rows_string(&self->rows, &left));
  ATH_TRY(ath_json_rows_mark(&self->rows, ',', what));
  ATH_TRY(ath_json_rows_string(&self->rows, &right));
  ATH_TRY(ath_json_rows_mark(&self->rows, ']', what));
  return add_pair(self, left, right);
}

/* Reads rows until the block is full or they end. */
static ath_status read_block(merge_reading *self, bool *more) {
  self->count = 0;
  ath_buffer_clear(&self->bytes);
  while (self->count < BLOCK) {
    ATH_TRY(ath_json_rows_next(&self->rows, more, NULL));
    if (!*more) return ATH_OK;
    ATH_TRY(ath_json_rows_at(&self->rows, '"') ? read_line(self) : read_pair(self));
  }
  return ATH_OK;
}

static ath_status not_there(const merge_reading *self, size_t query) {
  const ath_vocabulary_query *q = &self->queries[query];
  const ath_json row = ath_json_item(self->rows.json, self->numbers[query / 3]);
  return ath_json_fail(&row, ATH_INVALID, "the token \"%.*s\" is not in the vocabulary",
                       q->length < 100 ? (int)q->length : 100, q->bytes);
}

/* What the two become lies there as it is: the left token, and what comes of the right one. */
static void place_queries(merge_reading *self) {
  const char *bytes = self->bytes.bytes;
  bool prefix = self->model->prefix.length > 0;
  for (size_t i = 0; i < self->count; i++) {
    ath_vocabulary_query *left = &self->queries[3 * i], *right = left + 1, *made = left + 2;
    left->bytes = made->bytes = bytes;
    bytes += made->length;
    right->bytes = prefix ? bytes : left->bytes + left->length;
    if (prefix) bytes += right->length;
  }
}

static ath_status resolve_block(merge_reading *self) {
  ath_vocabulary_query *queries = self->queries;
  place_queries(self);
  ath_vocabulary_find_all(&self->model->vocabulary, queries, 3 * self->count);
  for (size_t i = 0; i < 3 * self->count; i++)
    if (queries[i].id < 0) return not_there(self, i);
  for (size_t i = 0; i < self->count; i++) {
    ath_merge merge = {queries[3 * i].id, queries[3 * i + 1].id, queries[3 * i + 2].id};
    ATH_TRY(ath_buffer_append(&self->merges, &merge, sizeof merge));
  }
  return ATH_OK;
}

static ath_status read_rows(merge_reading *self, ath_bpe *model) {
  bool more = true;
  while (more) {
    ATH_TRY(read_block(self, &more));
    ATH_TRY(resolve_block(self));
  }
  size_t count = self->merges.length / sizeof(ath_merge);
  if (count > ATH_MERGES_MAX)
    return ath_json_fail(self->rows.json, ATH_UNSUPPORTED, "%zu merges; at most %d are supported",
                         count, ATH_MERGES_MAX);
  ATH_TRY(ath_merges_init(&model->merges, model->vocabulary.arena, count));
  ath_merges_add_list(&model->merges, (const ath_merge *)(const void *)self->merges.bytes, count);
  return ATH_OK;
}

static ath_status read_merges(const ath_json *json, ath_bpe *self) {
  merge_reading *reading = calloc(1, sizeof *reading);
  if (reading == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the merges");
  ath_status status = ath_json_rows_open(json, '[', &reading->rows);
  size_t most = ath_json_rows_left(&reading->rows);
  reading->model = self;
  reading->merges = ath_buffer_make(most * sizeof(ath_merge));
  reading->bytes = ath_buffer_make(2 * most);
  if (status == ATH_OK) status = read_rows(reading, self);
  ath_json_rows_close(&reading->rows);
  ath_buffer_free(&reading->merges);
  ath_buffer_free(&reading->bytes);
  free(reading);
  return status;
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

static bool takes_bytes(const void *data) { return ((const ath_bpe *)data)->takes_bytes; }

static bool varies(const void *data) { return ((const ath_bpe *)data)->dropout > 0; }

const ath_model_kind ath_model_bpe = {
  .base = {"BPE", read, write},
  .encode = ath_bpe_encode,
  .encode_words = ath_bpe_encode_words,
  .size = ath_vocabulary_kind_size,
  .id = ath_vocabulary_kind_id,
  .token = ath_vocabulary_kind_token,
  .takes_bytes = takes_bytes,
  .varies = varies,
};
