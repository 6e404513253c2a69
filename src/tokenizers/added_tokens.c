/* added_tokens.c: reading, matching and writing added tokens.
 *
 * {"id": 4, "content": "[MASK]", "single_word": false, "lstrip": true, "rstrip": false,
 *  "normalized": false, "special": true} */
#include "tokenizers/added_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "tokenizers/characters.h"

/* --- reading ------------------------------------------------------------------------------- */

typedef struct reading {
  const ath_model *model;
  const ath_normalizer *normalizer;
  ath_arena *arena;
  ath_added_tokens *out;
  ath_hash_map *contents; /* content to place in the list */
  int32_t next_id;
  ath_run run; /* for the normaliser */
} reading;

/* All flags default to false, as in old files that lack some. */
static ath_status read_flags(const ath_json *json, ath_added_token *token) {
  const struct { const char *key; bool *flag; } flags[] = {
    {"single_word", &token->single_word}, {"lstrip", &token->lstrip},
    {"rstrip", &token->rstrip}, {"normalized", &token->normalized}, {"special", &token->special},
  };
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    ath_json member = ath_json_member(json, flags[i].key);
    ATH_TRY(ath_json_flag(&member, flags[i].flag));
  }
  return ATH_OK;
}

/* What matching and decoding see of the token. */
static ath_status normalize_content(reading *self, const ath_json *json,
                                    ath_added_token *token) {
  token->form = token->content;
  token->form_length = token->length;
  if (!token->normalized || self->normalizer->kind == NULL) return ATH_OK;
  ath_text text = {.bytes = token->content, .length = token->length};
  ATH_TRY(self->normalizer->kind->apply(self->normalizer->data, &self->run, &text));
  token->form_length = text.length;
  if (text.length == 0)
    return ath_json_fail(json, ATH_INVALID, "the normaliser leaves nothing of \"%.100s\"",
                         token->content);
  token->form = ath_arena_string_n(self->arena, text.bytes, text.length);
  return token->form != NULL ? ATH_OK : ATH_NO_MEMORY;
}

/* Gives the token its id; warns when the file says another. */
static ath_status choose_id(reading *self, const ath_json *json, ath_added_token *token) {
  ath_json member = ath_json_member(json, "id");
  int64_t id;
  ATH_TRY(ath_json_integer(&member, 0, INT32_MAX - 1, &id));
  token->id = self->model->kind->id(self->model->data, token->content, token->length);
  if (token->id < 0) token->id = self->next_id++;
  if (token->id != id)
    ath_json_warn(&member, "%lld, but \"%.100s\" gets the id %d, as in the tokenizers library",
                  (long long)id, token->content, token->id);
  return ATH_OK;
}

static ath_status read_token(reading *self, const ath_json *json) {
  static const char *const known[] = {"id", "content", "single_word", "lstrip", "rstrip",
                                      "normalized", "special", NULL};
  ATH_TRY(ath_json_object(json));
  ath_json_check_keys(json, known);
  ath_added_token token = {0};
  ath_json content = ath_json_member(json, "content");
  const char *bytes;
  ATH_TRY(ath_json_string(&content, &bytes, &token.length));
  if (token.length == 0) {
    ath_json_warn(&content, "empty, ignored");
    return ATH_OK;
  }
  int32_t other;
  if (ath_hash_map_get(self->contents, bytes, token.length, &other))
    return ath_json_fail(&content, ATH_INVALID, "\"%.100s\" is added_tokens[%d] already", bytes,
                         other);
  ATH_TRY(ath_hash_map_set(self->contents, bytes, token.length, (int32_t)json->index));
  token.content = ath_arena_string_n(self->arena, bytes, token.length);
  if (token.content == NULL) return ATH_NO_MEMORY;
  ATH_TRY(read_flags(json, &token));
  ATH_TRY(choose_id(self, json, &token));
  ATH_TRY(normalize_content(self, &content, &token));
  assert(token.id >= 0 && token.form != NULL);
  self->out->items[self->out->count++] = token;
  return ATH_OK;
}

static int compare_ids(const void *a, const void *b) {
  const ath_added_token *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

/* Of two pointers to tokens. */
static int compare_contents(const void *a, const void *b) {
  const ath_added_token *x, *y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  size_t shorter = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->content, y->content, shorter);
  return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

/* Lists the tokens in the order of their contents, once they stay where they are. */
static ath_status sort_contents(ath_added_tokens *self, ath_arena *arena) {
  self->by_content = ath_arena_alloc(arena, (self->count + 1) * sizeof *self->by_content);
  if (self->by_content == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < self->count; i++) self->by_content[i] = &self->items[i];
  qsort(self->by_content, self->count, sizeof *self->by_content, compare_contents);
  return ATH_OK;
}

/* Builds the matcher of the tokens that are, or are not, normalised. Of two tokens that the
 * normaliser makes equal, the one of the least id is found. */
static ath_status build_matcher(const ath_added_tokens *tokens, bool normalized, ath_arena *arena,
                                ath_matcher *out) {
  ath_trie_key *keys = malloc((tokens->count + 1) * sizeof *keys);
  if (keys == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the added tokens");
  size_t count = 0, kept = 0;
  out->only = -1;
  for (size_t i = 0; i < tokens->count; i++) {
    const ath_added_token *t = &tokens->items[i];
    if (t->normalized != normalized) continue;
    keys[count++] = (ath_trie_key){t->form, t->form_length, (int32_t)i};
    out->begins[(uint8_t)t->form[0]] = true;
  }
  ath_status status = ath_trie_sort(keys, count);
  for (size_t i = 0; i < count; i++) {
    bool same = kept > 0 && keys[i].length == keys[kept - 1].length &&
                memcmp(keys[i].bytes, keys[kept - 1].bytes, keys[i].length) == 0;
    if (!same) keys[kept++] = keys[i];
    else if (keys[i].value < keys[kept - 1].value) keys[kept - 1].value = keys[i].value;
  }
  assert(kept <= count);
  out->count = kept;
  if (kept > 0 && keys[0].bytes[0] == keys[kept - 1].bytes[0]) /* they are sorted */
    out->only = (uint8_t)keys[0].bytes[0];
  if (status == ATH_OK) status = ath_trie_build(keys, kept, arena, &out->trie);
  free(keys);
  return status;
}

/* Ids are given in the order of the file; the list is then sorted by them. */
static ath_status read_list(reading *self, const ath_json *json) {
  size_t count = 0;
  if (!ath_json_absent(json)) ATH_TRY(ath_json_array(json, &count));
  ATH_TRY(ath_hash_map_create(count + 1, &self->contents));
  self->out->items = ath_arena_alloc(self->arena, count * sizeof *self->out->items);
  if (self->out->items == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    ath_json item = ath_json_item(json, i);
    ATH_TRY(read_token(self, &item));
  }
  if (count > 0) qsort(self->out->items, self->out->count, sizeof *self->out->items, compare_ids);
  ATH_TRY(sort_contents(self->out, self->arena));
  ATH_TRY(build_matcher(self->out, false, self->arena, &self->out->written));
  return build_matcher(self->out, true, self->arena, &self->out->normalized);
}

ath_status ath_added_tokens_read(const ath_json *json, const ath_model *model,
                                 const ath_normalizer *normalizer, ath_arena *arena,
                                 ath_added_tokens *out) {
  *out = (ath_added_tokens){0};
  reading self = {model, normalizer, arena, out, NULL, model->kind->size(model->data), {0}};
  ath_status status = read_list(&self, json);
  ath_hash_map_destroy(self.contents);
  ath_run_free(&self.run);
  return status;
}

void ath_added_tokens_write(const ath_added_tokens *self, ath_json_writer *out) {
  ath_json_open(out, "added_tokens", '[');
  for (size_t i = 0; i < self->count; i++) {
    const ath_added_token *t = &self->items[i];
    ath_json_open(out, NULL, '{');
    ath_json_put_integer(out, "id", t->id);
    ath_json_put_string(out, "content", t->content, t->length);
    ath_json_put_flag(out, "single_word", t->single_word);
    ath_json_put_flag(out, "lstrip", t->lstrip);
    ath_json_put_flag(out, "rstrip", t->rstrip);
    ath_json_put_flag(out, "normalized", t->normalized);
    ath_json_put_flag(out, "special", t->special);
    ath_json_close(out, '}');
  }
  ath_json_close(out, ']');
}

const ath_added_token *ath_added_tokens_by_id(const ath_added_tokens *self, int32_t id) {
  if (self->count == 0) return NULL;
  ath_added_token wanted = {.id = id};
  return bsearch(&wanted, self->items, self->count, sizeof wanted, compare_ids);
}

const ath_added_token *ath_added_tokens_by_content(const ath_added_tokens *self, const char *bytes,
                                                   size_t length) {
  if (self->count == 0) return NULL;
  const ath_added_token wanted = {.content = bytes, .length = length}, *key = &wanted;
  const ath_added_token **found =
      bsearch(&key, self->by_content, self->count, sizeof *self->by_content, compare_contents);
  return found != NULL ? *found : NULL;
}

/* --- matching ------------------------------------------------------------------------------ */

/* The end of the longest token that begins at `at`, and which it is; 0 when none does. */
static size_t match_at(const ath_matcher *self, const ath_text *text, size_t at, int32_t *token) {
  ath_trie_node node = ath_trie_root(&self->trie);
  size_t found = 0;
  for (size_t end = at; end < text->length;) {
    if (!ath_trie_step(&self->trie, &node, (uint8_t)text->bytes[end++])) break;
    int32_t value = ath_trie_value(&self->trie, node);
    if (value < 0) continue;
    *token = value;
    found = end;
  }
  return found;
}

/* The next match from *at on: its beginning goes to *at; its end is returned, 0 for none. */
static size_t find_match(const ath_matcher *self, const ath_text *text, size_t *at,
                         int32_t *token) {
  for (size_t i = *at; i < text->length; i++) {
    if (self->only >= 0) {
      const char *next = memchr(text->bytes + i, self->only, text->length - i);
      if (next == NULL) return 0;
      i = (size_t)(next - text->bytes);
    }
    if (!self->begins[(uint8_t)text->bytes[i]]) continue;
    size_t end = match_at(self, text, i, token);
    if (end == 0) continue;
    *at = i;
    return end;
  }
  return 0;
}

/* Whether no word character touches the match. */
static bool stands_alone(const ath_text *text, size_t start, size_t end) {
  if (start > 0 && ath_is_word_character(ath_character_before(text->bytes, start))) return false;
  return end == text->length || !ath_is_word_character(ath_character_at(text->bytes, end));
}

/* Where the white space before `start` begins, not before `least`. */
static size_t strip_left(const ath_text *text, size_t start, size_t least) {
  while (start > least && ath_is_white_space(ath_character_before(text->bytes, start)))
    do start--;
    while (start > least && ((uint8_t)text->bytes[start] & 0xC0) == 0x80);
  return start;
}

/* Where the white space from `end` on ends. */
static size_t strip_right(const ath_text *text, size_t end) {
  while (end < text->length && ath_is_white_space(ath_character_at(text->bytes, end)))
    end += ath_character_length(text->bytes[end]);
  return end;
}

/* Hands on the text between two tokens, if there is any. */
static ath_status give(const ath_text *text, size_t from, size_t to, ath_run *run,
                       ath_sink next) {
  if (from >= to) return ATH_OK;
  ath_text piece = ath_text_slice(text, from, to);
  return next.take(next.context, run, &piece);
}

static ath_status emit(const ath_added_token *token, ath_run *run, const ath_text *text,
                       size_t from, size_t to) {
  ATH_TRY(ath_run_reserve(run, 1));
  ath_run_emit(run, token->id, text, from, to);
  ath_run_number(run, run->out->length - 1);
  return ath_run_surface(run, text->bytes + from, to - from);
}

ath_status ath_added_tokens_split(const ath_added_tokens *self, const ath_matcher *matcher,
                                  ath_run *run, const ath_text *text, bool skip, ath_sink next) {
  size_t done = 0, at = 0, end;
  int32_t index;
  if (matcher->count == 0) return give(text, 0, text->length, run, next);
  for (; (end = find_match(matcher, text, &at, &index)) != 0; at = end) {
    const ath_added_token *token = &self->items[index];
    size_t from = at, to = end;
    assert(from < to && to <= text->length);
    if (token->single_word && !stands_alone(text, from, to)) continue;
    if (token->lstrip) from = done < from ? strip_left(text, from, done) : done;
    if (token->rstrip) to = strip_right(text, to);
    ATH_TRY(give(text, done, from, run, next));
    /* Nothing is left of a token of white space whose neighbour on the left has taken it. */
    if (!skip && from < to) ATH_TRY(emit(token, run, text, from, to));
    done = to;
  }
  return give(text, done, text->length, run, next);
}
