/* tiktoken.c: the files of OpenAI's tiktoken: a token's bytes in base64, a space and its rank, one
 * token a line. The rank is the token's id and says when it is made: of all neighbours that
 * together are a token, those of the least rank become one. So each way to cut a token into two
 * tokens is a merge. The file does not say how text is cut into words; the encoding's name does
 * (github.com/openai/tiktoken, tiktoken_ext/openai_public.py). */
#include "tokenizers/files/tiktoken.h"

#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "storage/file.h"
#include "tokenizers/byte_alphabet.h"
#include "tokenizers/files/lines.h"
#include "tokenizers/files/written.h"
#include "tokenizers/models/bpe.h"
#include "tokenizers/models/kinds.h"
#include "tokenizers/patterns.h"

#define PIPELINE_LIMIT ((size_t)1 << 20)
enum {
  TOKEN_MAX = 4096, /* bytes; the time for a token's merges grows with the square */
  SPECIALS_MAX = 5,
  NAMES_MAX = 256, /* bytes of the list of patterns */
};

/* --- the encodings -------------------------------------------------------------------------- */

typedef struct special {
  const char *text;
  int32_t id;
} special;

typedef struct encoding {
  const char *name;
  size_t ranks[2]; /* of the files of that name */
  const char *pattern; /* NULL: GPT-2's, which ByteLevel has of its own */
  special specials[SPECIALS_MAX]; /* with the ids that they have beside so many ranks */
} encoding;

static const encoding encodings[] = {
  {"gpt2", {50256, 50280}, NULL, {{"<|endoftext|>", 50256}}}, /* r50k, p50k */
  {"cl100k", {100256, 0}, ATH_PATTERN_CL100K,
   {{"<|endoftext|>", 100257}, {"<|fim_prefix|>", 100258}, {"<|fim_middle|>", 100259},
    {"<|fim_suffix|>", 100260}, {"<|endofprompt|>", 100276}}},
  {"o200k", {199998, 0}, ATH_PATTERN_O200K,
   {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
  {"llama3", {128000, 0}, ATH_PATTERN_CL100K_OLDER("\\p{N}{1,3}"),
   {{"<|begin_of_text|>", 128000}, {"<|end_of_text|>", 128001}}},
  {"qwen2", {151643, 0}, ATH_PATTERN_CL100K_OLDER("\\p{N}"),
   {{"<|endoftext|>", 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}}},
};
enum { ENCODINGS = sizeof encodings / sizeof *encodings };

static ath_status find_encoding(const char *path, const char *name, size_t ranks,
                                const encoding **out) {
  char names[NAMES_MAX] = "";
  for (size_t i = 0; i < ENCODINGS; i++) {
    *out = &encodings[i];
    if (name != NULL && strcmp(encodings[i].name, name) == 0) return ATH_OK;
    if (name == NULL && (encodings[i].ranks[0] == ranks || encodings[i].ranks[1] == ranks))
      return ATH_OK;
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", encodings[i].name);
  }
  if (name != NULL)
    return ath_fail(ATH_USAGE, "there is no pattern \"%.40s\"; there are %s", name, names);
  return ath_fail(ATH_INVALID, "%s: no known encoding has %zu ranks; athanor tokenizer convert "
                  "--pattern says how text is cut into words: %s", path, ranks, names);
}

/* --- the ranks ------------------------------------------------------------------------------ */

typedef struct token {
  size_t at, length; /* its letters */
  int32_t rank;
} token;

typedef struct ranks {
  ath_buffer letters, tokens; /* the tokens' letters, each ended by a NUL; of `token` */
  int32_t size;               /* one past the greatest rank */
} ranks;

/* Appends the letters that stand for a token's bytes. */
static ath_status put_letters(ath_buffer *out, const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const ath_byte_letter *letter = &ath_byte_letters[bytes[i]];
    ATH_TRY(ath_buffer_append(out, letter->utf8, letter->length));
  }
  return ath_buffer_byte(out, '\0');
}

static bool decode(const char *text, size_t length, uint8_t *bytes, size_t *count) {
  struct base64_decode_ctx context;
  base64_decode_init(&context);
  *count = TOKEN_MAX;
  return base64_decode_update(&context, count, bytes, length, text) &&
         base64_decode_final(&context);
}

/* An ath_line_taker. */
static ath_status take_rank(void *context, const char *path, size_t number, const char *line,
                            size_t length) {
  ranks *self = context;
  if (length == 0) return ATH_OK;
  const char *space = memchr(line, ' ', length), *end = line + length;
  size_t encoded = space != NULL ? (size_t)(space - line) : 0, count;
  uint8_t bytes[TOKEN_MAX];
  if (encoded > TOKEN_MAX)
    return ath_fail(ATH_UNSUPPORTED, "%s: line %zu: a token of %zu letters; at most %d are "
                    "supported", path, number + 1, encoded, TOKEN_MAX);
  if (encoded == 0 || !decode(line, encoded, bytes, &count) || count == 0)
    return ath_fail(ATH_INVALID, "%s: line %zu: expected a token in base64, a space and a rank",
                    path, number + 1);
  int64_t rank = 0;
  const char *digit = space + 1;
  for (; digit < end && *digit >= '0' && *digit <= '9' && rank < ATH_MERGE_IDS_MAX; digit++)
    rank = rank * 10 + (*digit - '0');
  if (digit == space + 1 || digit < end || rank >= ATH_MERGE_IDS_MAX)
    return ath_fail(ATH_INVALID, "%s: line %zu: \"%.*s\" is no rank below %d", path, number + 1,
                    (int)(end - space - 1 < 40 ? end - space - 1 : 40), space + 1,
                    ATH_MERGE_IDS_MAX);
  token t = {self->letters.length, 0, (int32_t)rank};
  ATH_TRY(put_letters(&self->letters, bytes, count));
  t.length = self->letters.length - t.at - 1;
  if (t.rank >= self->size) self->size = t.rank + 1;
  return ath_buffer_append(&self->tokens, &t, sizeof t);
}

static ath_status add_token(ath_vocabulary *self, const char *path, const char *bytes,
                            size_t length, int32_t id) {
  const ath_vocabulary_entry *other;
  if (ath_vocabulary_add(self, bytes, length, id, &other)) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s: the token \"%.100s\" of rank %d: \"%.100s\" has rank %d", path,
                  bytes, id, other->bytes, other->id);
}

/* Where the file has not the encoding's number of ranks, special tokens come behind the last. */
static int32_t special_id(const ranks *self, const encoding *e, size_t i) {
  size_t count = self->tokens.length / sizeof(token);
  bool known = count == e->ranks[0] || count == e->ranks[1];
  return known ? e->specials[i].id : self->size + (int32_t)i;
}

static ath_status fill_vocabulary(const ranks *self, const char *path, const encoding *e,
                                  ath_bpe *model) {
  ath_vocabulary *vocabulary = &model->vocabulary;
  const token *tokens = (const token *)(const void *)self->tokens.bytes;
  size_t count = self->tokens.length / sizeof *tokens, specials = 0;
  int32_t size = self->size;
  for (; specials < SPECIALS_MAX && e->specials[specials].text != NULL; specials++)
    if (special_id(self, e, specials) >= size) size = special_id(self, e, specials) + 1;
  ath_arena *arena = vocabulary->arena;
  if (size > ATH_MERGE_IDS_MAX) return ath_fail(ATH_UNSUPPORTED, "%s: too many ranks", path);
  ATH_TRY(ath_vocabulary_init(vocabulary, arena, count + specials, size));
  const char *letters = ath_arena_string_n(arena, self->letters.bytes, self->letters.length);
  if (letters == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < count; i++)
    ATH_TRY(add_token(vocabulary, path, letters + tokens[i].at, tokens[i].length, tokens[i].rank));
  for (size_t i = 0; i < specials; i++)
    ATH_TRY(add_token(vocabulary, path, e->specials[i].text, strlen(e->specials[i].text),
                      special_id(self, e, i)));
  for (int byte = 0; byte < 256; byte++) {
    const ath_byte_letter *letter = &ath_byte_letters[byte];
    if (ath_vocabulary_id(vocabulary, letter->utf8, letter->length) < 0)
      return ath_fail(ATH_INVALID, "%s: there is no rank for the byte 0x%02X", path, byte);
  }
  return ATH_OK;
}

/* --- the merges ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
  const ath_merge *x = a, *y = b;
  if (x->left != y->left) return (x->left > y->left) - (x->left < y->left);
  return (x->right > y->right) - (x->right < y->right);
}

/* Of the tokens that have ranks, which were added before the special ones; −1: none. */
static int32_t rank_of(const ath_vocabulary *self, size_t count, const char *bytes,
                       size_t length) {
  int32_t id = ath_vocabulary_id(self, bytes, length);
  const ath_vocabulary_entry *entry = ath_vocabulary_entry_of(self, id);
  return entry != NULL && (size_t)(entry - self->entries) < count ? id : -1;
}

/* All ways to cut a token into two: those of the lesser ranks come first. */
static ath_status find_merges(const ath_vocabulary *self, size_t tokens,
                              const ath_vocabulary_entry *entry, ath_buffer *merges) {
  ath_merge found[TOKEN_MAX];
  size_t count = 0;
  const char *bytes = entry->bytes;
  for (size_t at = 1; at < entry->length; at++) {
    if (ath_utf8_continues(bytes[at])) continue;
    int32_t left = rank_of(self, tokens, bytes, at);
    if (left < 0) continue;
    int32_t right = rank_of(self, tokens, bytes + at, entry->length - at);
    if (right >= 0) found[count++] = (ath_merge){left, right, entry->id};
  }
  assert(count < TOKEN_MAX);
  if (count > 1) qsort(found, count, sizeof *found, compare);
  return ath_buffer_append(merges, found, count * sizeof *found);
}

static ath_status fill_merges(const ranks *self, const char *path, ath_buffer *list,
                              ath_bpe *model) {
  const ath_vocabulary *vocabulary = &model->vocabulary;
  size_t tokens = self->tokens.length / sizeof(token);
  for (int32_t rank = 0; rank < self->size; rank++) {
    const ath_vocabulary_entry *entry = ath_vocabulary_entry_of(vocabulary, rank);
    if (entry == NULL || (size_t)(entry - vocabulary->entries) >= tokens) continue;
    ATH_TRY(find_merges(vocabulary, tokens, entry, list));
  }
  size_t count = list->length / sizeof(ath_merge);
  if (count > ATH_MERGES_MAX)
    return ath_fail(ATH_UNSUPPORTED, "%s: %zu merges; at most %d are supported", path, count,
                    ATH_MERGES_MAX);
  ATH_TRY(ath_merges_init(&model->merges, model->vocabulary.arena, count));
  ath_merges_add_list(&model->merges, (const ath_merge *)(const void *)list->bytes, count);
  return ATH_OK;
}

/* --- the tokenizer -------------------------------------------------------------------------- */

static void put_byte_level(ath_json_writer *out, const char *key, bool use_regex) {
  ath_json_open(out, key, '{');
  ath_json_put_text(out, "type", "ByteLevel");
  ath_json_put_flag(out, "add_prefix_space", false);
  ath_json_put_flag(out, "trim_offsets", false);
  ath_json_put_flag(out, "use_regex", use_regex);
  ath_json_close(out, '}');
}

static void put_cutter(ath_json_writer *out, const encoding *e) {
  ath_open_sequence(out, "pre_tokenizer", "pretokenizers");
  ath_put_split(out, e->pattern, strlen(e->pattern));
  put_byte_level(out, NULL, false);
  ath_close_sequence(out);
}

static ath_status build(const ranks *self, const char *path, const encoding *e,
                        ath_tokenizer *tokenizer) {
  ath_buffer text = ath_buffer_make(PIPELINE_LIMIT);
  ath_json_writer out = ath_json_writer_make(&text);
  ath_json_open(&out, NULL, '{');
  ath_json_open(&out, "added_tokens", '[');
  for (size_t i = 0; i < SPECIALS_MAX && e->specials[i].text != NULL; i++)
    ath_put_special(&out, e->specials[i].text, strlen(e->specials[i].text),
                    special_id(self, e, i));
  ath_json_close(&out, ']');
  if (e->pattern != NULL) put_cutter(&out, e);
  else put_byte_level(&out, "pre_tokenizer", true);
  put_byte_level(&out, "post_processor", true);
  put_byte_level(&out, "decoder", true);
  ath_json_close(&out, '}');
  ath_status status = out.status;
  if (status == ATH_OK) status = ath_tokenizer_read_text(path, &text, tokenizer);
  ath_buffer_free(&text);
  return status;
}

static ath_status make(ranks *self, const char *path, const char *pattern, ath_buffer *merges,
                       ath_tokenizer *tokenizer) {
  const encoding *e;
  ath_bpe *model;
  ATH_TRY(ath_each_line(path, take_rank, self));
  ATH_TRY(find_encoding(path, pattern, self->tokens.length / sizeof(token), &e));
  ATH_TRY(ath_bpe_create(tokenizer->arena, &model));
  ATH_TRY(fill_vocabulary(self, path, e, model));
  ATH_TRY(fill_merges(self, path, merges, model));
  model->ignore_merges = true; /* a word that is a token stays whole, whatever its merges make */
  ATH_TRY(ath_bpe_finish(model));
  tokenizer->model = (ath_model){&ath_model_bpe, model};
  return build(self, path, e, tokenizer);
}

ath_status ath_tiktoken_read(const char *path, const char *pattern, ath_tokenizer *self) {
  const size_t limit = (size_t)4 << 30; /* several times the largest file */
  ranks list = {ath_buffer_make(limit), ath_buffer_make(limit), 0};
  ath_buffer merges = ath_buffer_make(limit);
  ath_status status = make(&list, path, pattern, &merges, self);
  ath_buffer_free(&list.letters);
  ath_buffer_free(&list.tokens);
  ath_buffer_free(&merges);
  return status;
}

bool ath_tiktoken_is(const char *path) {
  ath_mapping file;
  if (ath_file_map(path, &file) != ATH_OK) return false;
  const char *text = (const char *)file.bytes;
  size_t length = 0, count;
  uint8_t bytes[TOKEN_MAX];
  while (length < file.size && length < TOKEN_MAX && text[length] != ' ') length++;
  bool found = length > 0 && length + 1 < file.size && text[length] == ' ' &&
               text[length + 1] >= '0' && text[length + 1] <= '9' &&
               decode(text, length, bytes, &count);
  ath_file_unmap(&file);
  return found;
}
