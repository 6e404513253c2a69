/* config.c: config.json of a RoBERTa model, read, checked and written. */
#include <assert.h>
#include <jansson.h>
#include <string.h>

#include "athanor/model.h"
#include "models/activation.h"
#include "storage/file.h"

enum { CONFIG_BYTES_MAX = 1 << 20 };

typedef enum key_kind { INTEGER, NUMBER, TEXT } key_kind;

/* Every key: where it is kept, the values it may have, and what the reference assumes when a file
 * leaves it out (RobertaConfig of transformers). Ids are −1 when not given. */
typedef struct key {
  const char *name;
  key_kind kind;
  size_t offset;
  double least, most, fallback;
} key;

#define INTEGER_KEY(field, least, most, fallback) \
  {#field, INTEGER, offsetof(ath_model_config, field), least, most, fallback}
#define NUMBER_KEY(field, least, most, fallback) \
  {#field, NUMBER, offsetof(ath_model_config, field), least, most, fallback}

static const key keys[] = {
  INTEGER_KEY(vocab_size, 1, 1 << 24, 50265),
  INTEGER_KEY(hidden_size, 1, 1 << 16, 768),
  INTEGER_KEY(num_hidden_layers, 1, 512, 12),
  INTEGER_KEY(num_attention_heads, 1, 1024, 12),
  INTEGER_KEY(intermediate_size, 1, 1 << 18, 3072),
  {"hidden_act", TEXT, offsetof(ath_model_config, hidden_act), 0, 0, 0},
  NUMBER_KEY(hidden_dropout_prob, 0, 0.99, 0.1),
  NUMBER_KEY(attention_probs_dropout_prob, 0, 0.99, 0.1),
  INTEGER_KEY(max_position_embeddings, 1, 1 << 20, 512),
  INTEGER_KEY(type_vocab_size, 1, 1 << 16, 2),
  NUMBER_KEY(initializer_range, 0, 10, 0.02),
  NUMBER_KEY(layer_norm_eps, 1e-30, 1, 1e-12),
  INTEGER_KEY(pad_token_id, -1, 1 << 24, -1),
  INTEGER_KEY(bos_token_id, -1, 1 << 24, -1),
  INTEGER_KEY(eos_token_id, -1, 1 << 24, -1),
};
enum { KEY_COUNT = sizeof keys / sizeof *keys };

/* Where a key's value lies; the same function serves reading and writing. */
static int64_t *integer_at(const ath_model_config *config, const key *k) {
  assert(k->kind == INTEGER);
  return (int64_t *)((char *)(uintptr_t)config + k->offset);
}

static double *number_at(const ath_model_config *config, const key *k) {
  assert(k->kind == NUMBER);
  return (double *)((char *)(uintptr_t)config + k->offset);
}

ath_model_config ath_model_config_defaults(void) {
  ath_model_config config = {.hidden_act = "gelu", .other = "{}"};
  for (const key *k = keys; k < keys + KEY_COUNT; k++) {
    if (k->kind == INTEGER) *integer_at(&config, k) = (int64_t)k->fallback;
    if (k->kind == NUMBER) *number_at(&config, k) = k->fallback;
  }
  /* Where the published roberta-base differs from the class's defaults. */
  config.vocab_size = 0;
  config.max_position_embeddings = 514;
  config.type_vocab_size = 1;
  config.layer_norm_eps = 1e-5;
  return config;
}

/* --- checks -------------------------------------------------------------------------------- */

/* Holds one key against its limits; NaN lies outside of any. */
static ath_status check_range(const ath_model_config *self, const key *k, const char *where) {
  if (k->kind == TEXT) return ATH_OK;
  double value = k->kind == INTEGER ? (double)*integer_at(self, k) : *number_at(self, k);
  if (value >= k->least && value <= k->most) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s: \"%s\" is %.12g; it must lie between %.12g and %.12g", where,
                  k->name, value, k->least, k->most);
}

ath_status ath_model_config_check(const ath_model_config *self, const char *where) {
  assert(where != NULL && memchr(self->hidden_act, 0, sizeof self->hidden_act) != NULL);
  for (const key *k = keys; k < keys + KEY_COUNT; k++) ATH_TRY(check_range(self, k, where));
  ath_activation_kind kind;
  ATH_TRY_CONTEXT(ath_activation_from_name(self->hidden_act, &kind), "%s: \"hidden_act\"", where);
  if (self->hidden_size % self->num_attention_heads != 0)
    return ath_fail(ATH_INVALID,
                    "%s: \"hidden_size\" %lld is not a multiple of \"num_attention_heads\" %lld",
                    where, (long long)self->hidden_size, (long long)self->num_attention_heads);
  const struct { const char *name; int64_t id; } ids[] = {
    {"pad_token_id", self->pad_token_id},
    {"bos_token_id", self->bos_token_id},
    {"eos_token_id", self->eos_token_id},
  };
  for (size_t i = 0; i < 3; i++)
    if (ids[i].id >= self->vocab_size)
      return ath_fail(ATH_INVALID, "%s: \"%s\" is %lld, outside the vocabulary of %lld", where,
                      ids[i].name, (long long)ids[i].id, (long long)self->vocab_size);
  if (self->pad_token_id >= self->max_position_embeddings - 1)
    return ath_fail(ATH_INVALID,
                    "%s: \"max_position_embeddings\" is %lld, which leaves no position after "
                    "\"pad_token_id\" %lld", where, (long long)self->max_position_embeddings,
                    (long long)self->pad_token_id);
  return ATH_OK;
}

int64_t ath_model_config_max_length(const ath_model_config *self) {
  return self->max_position_embeddings - self->pad_token_id - 1;
}

ath_status ath_model_config_check_length(const ath_model_config *self, int64_t length) {
  int64_t most = ath_model_config_max_length(self);
  if (length <= most) return ATH_OK;
  return ath_fail(ATH_MISMATCH,
                  "%lld tokens need %lld rows of positions (they start at pad_token_id + 1 = "
                  "%lld), but max_position_embeddings is %lld: at most %lld tokens fit",
                  (long long)length, (long long)(length + self->pad_token_id + 1),
                  (long long)(self->pad_token_id + 1), (long long)self->max_position_embeddings,
                  (long long)most);
}

/* --- the tokenizer's ids ------------------------------------------------------------------- */

/* An id that the configuration gives wins nothing over the tokenizer: the weights' rows and the
 * positions hang on it, so two different ones mean that model and tokenizer are strangers. */
static ath_status adopt_id(int64_t *id, const char *name, const ath_tokenizer *tokenizer,
                           ath_token_role role) {
  int32_t theirs = ath_tokenizer_special(tokenizer, role);
  if (*id < 0) *id = theirs;
  if (theirs < 0 || *id == theirs) return ATH_OK;
  return ath_fail(ATH_MISMATCH,
                  "the model's %s is %lld, but the tokenizer has %s there and %s at %d; they do "
                  "not belong together (leave %s out of config.json to take the tokenizer's)",
                  name, (long long)*id,
                  ath_tokenizer_token(tokenizer, (int32_t)*id) != NULL
                      ? ath_tokenizer_token(tokenizer, (int32_t)*id) : "no token",
                  ath_tokenizer_token(tokenizer, theirs), theirs, name);
}

ath_status ath_model_config_adopt_ids(ath_model_config *self, const ath_tokenizer *tokenizer) {
  if (ath_tokenizer_special(tokenizer, ATH_TOKEN_MASK) < 0)
    return ath_fail(ATH_MISMATCH, "the tokenizer has no mask token, which masked language "
                                  "modelling needs");
  if (ath_tokenizer_special(tokenizer, ATH_TOKEN_PAD) < 0)
    return ath_fail(ATH_MISMATCH, "the tokenizer has no padding token, from which RoBERTa counts "
                                  "its positions");
  ATH_TRY(adopt_id(&self->pad_token_id, "pad_token_id", tokenizer, ATH_TOKEN_PAD));
  ATH_TRY(adopt_id(&self->bos_token_id, "bos_token_id", tokenizer, ATH_TOKEN_CLS));
  ATH_TRY(adopt_id(&self->eos_token_id, "eos_token_id", tokenizer, ATH_TOKEN_SEP));
  if (ath_tokenizer_size(tokenizer) > self->vocab_size)
    return ath_fail(ATH_MISMATCH, "the tokenizer has %d ids, but the model's vocab_size is %lld",
                    ath_tokenizer_size(tokenizer), (long long)self->vocab_size);
  return ATH_OK;
}

void ath_position_ids(const int32_t *input_ids, int64_t rows, int64_t length, int32_t pad_token_id,
                      int32_t *position_ids) {
  assert(rows >= 0 && length > 0 && pad_token_id >= 0);
  for (int64_t row = 0; row < rows; row++) {
    int32_t count = 0;
    for (int64_t i = row * length; i < (row + 1) * length; i++)
      position_ids[i] = pad_token_id + (input_ids[i] != pad_token_id ? ++count : 0);
  }
}

/* --- reading ------------------------------------------------------------------------------- */

/* Stores one value, of the very kind that the key wants: 8.0 is not taken for 8. */
static ath_status read_key(const char *path, const key *k, const json_t *value,
                           ath_model_config *config) {
  if (k->kind == INTEGER && json_is_integer(value)) {
    *integer_at(config, k) = json_integer_value(value);
  } else if (k->kind == INTEGER && k->least < 0 && json_is_null(value)) {
    *integer_at(config, k) = -1;
  } else if (k->kind == NUMBER && json_is_number(value)) {
    *number_at(config, k) = json_number_value(value);
  } else if (k->kind == TEXT && json_is_string(value) &&
             json_string_length(value) < sizeof config->hidden_act) {
    memcpy((char *)config + k->offset, json_string_value(value), json_string_length(value) + 1);
  } else {
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    ath_status status = ath_fail(ATH_INVALID, "%s: \"%s\" is %.80s; a %s is wanted", path, k->name,
                                 text != NULL ? text : "?",
                                 k->kind == INTEGER ? "whole number"
                                 : k->kind == NUMBER ? "number" : "name");
    free(text);
    return status;
  }
  return ATH_OK;
}

/* What this model would compute differently, and so must not read as if it were the same. */
static ath_status check_variant(const char *path, const json_t *root) {
  const json_t *type = json_object_get(root, "model_type");
  if (!json_is_string(type) || strcmp(json_string_value(type), "roberta") != 0)
    return ath_fail(ATH_UNSUPPORTED, "%s: \"model_type\" is \"%s\"; only \"roberta\" is built here",
                    path, json_is_string(type) ? json_string_value(type) : "not given");
  const json_t *positions = json_object_get(root, "position_embedding_type");
  if (json_is_string(positions) && strcmp(json_string_value(positions), "absolute") != 0)
    return ath_fail(ATH_UNSUPPORTED, "%s: \"position_embedding_type\" is \"%s\"; only \"absolute\" "
                    "is built here", path, json_string_value(positions));
  if (json_is_true(json_object_get(root, "is_decoder")))
    return ath_fail(ATH_UNSUPPORTED, "%s: \"is_decoder\" is true; only encoders are built here",
                    path);
  if (json_is_false(json_object_get(root, "tie_word_embeddings")))
    return ath_fail(ATH_UNSUPPORTED, "%s: \"tie_word_embeddings\" is false; only tied heads are "
                    "built here", path);
  return ATH_OK;
}

/* Keys this program does not know are kept as text, for the file's next reader. */
static void keep_others(json_t *root, ath_model_config *config) {
  for (const key *k = keys; k < keys + KEY_COUNT; k++) json_object_del(root, k->name);
  json_object_del(root, "model_type");
  json_object_del(root, "architectures");
  json_object_del(root, "tie_word_embeddings");
  char *text = json_dumps(root, JSON_COMPACT);
  bool fits = text != NULL && strlen(text) < sizeof config->other;
  snprintf(config->other, sizeof config->other, "%s", fits ? text : "{}");
  free(text);
}

static ath_status read_root(const char *path, json_t *root, ath_model_config *config) {
  if (!json_is_object(root)) return ath_fail(ATH_INVALID, "%s: not a JSON object", path);
  ATH_TRY(check_variant(path, root));
  for (const key *k = keys; k < keys + KEY_COUNT; k++) {
    const json_t *value = json_object_get(root, k->name);
    if (value != NULL) ATH_TRY(read_key(path, k, value, config));
    else if (k->kind == INTEGER) *integer_at(config, k) = (int64_t)k->fallback;
    else if (k->kind == NUMBER) *number_at(config, k) = k->fallback;
  }
  keep_others(root, config);
  return ath_model_config_check(config, path);
}

ath_status ath_model_config_load(const char *path, ath_model_config *out) {
  char joined[ATH_PATH_MAX];
  if (ath_path_is_folder(path)) {
    ATH_TRY(ath_path_join(joined, path, "config.json"));
    path = joined;
  }
  ath_buffer text = ath_buffer_make(CONFIG_BYTES_MAX);
  json_t *root = NULL;
  ath_model_config config = ath_model_config_defaults();
  ath_status status = ath_file_read(path, &text);
  if (status == ATH_NOT_FOUND)
    status = ath_fail(status, "%s: no such file or folder; a model is a folder with config.json, "
                      "or has a name on the Hub, as FacebookAI/roberta-base", path);
  if (status != ATH_OK) goto done;
  json_error_t error;
  root = json_loadb(text.bytes != NULL ? text.bytes : "", text.length, JSON_REJECT_DUPLICATES,
                    &error);
  if (root == NULL)
    status = ath_fail(ATH_INVALID, "%s:%d: not valid JSON: %s", path, error.line, error.text);
  else
    status = read_root(path, root, &config);
  if (status == ATH_OK) *out = config;
done:
  json_decref(root);
  ath_buffer_free(&text);
  return status;
}

/* --- writing ------------------------------------------------------------------------------- */

static json_t *key_value(const ath_model_config *self, const key *k) {
  assert(k >= keys && k < keys + KEY_COUNT);
  if (k->kind == TEXT) return json_string((const char *)self + k->offset);
  if (k->kind == NUMBER) return json_real(*number_at(self, k));
  int64_t value = *integer_at(self, k);
  return value < 0 ? json_null() : json_integer(value);
}

/* The text of `root` with the fewest digits by which every number reads back the same. */
static char *dump_shortest(const json_t *root) {
  char *text = NULL;
  for (size_t digits = 1; digits <= 17; digits++) {
    free(text);
    text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(digits));
    json_t *back = text != NULL ? json_loads(text, 0, NULL) : NULL;
    bool same = back != NULL && json_equal(back, root);
    json_decref(back);
    if (same) break;
  }
  return text;
}

ath_status ath_model_config_save(const ath_model_config *self, const char *path) {
  json_t *root = json_loads(self->other, 0, NULL);
  if (root == NULL) root = json_object();
  int failed = json_object_set_new(root, "architectures", json_pack("[s]", "RobertaForMaskedLM"));
  failed |= json_object_set_new(root, "model_type", json_string("roberta"));
  failed |= json_object_set_new(root, "tie_word_embeddings", json_true());
  for (const key *k = keys; k < keys + KEY_COUNT; k++)
    failed |= json_object_set_new(root, k->name, key_value(self, k));
  char *text = dump_shortest(root);
  ath_buffer out = ath_buffer_make(CONFIG_BYTES_MAX);
  ath_status status = ATH_OK;
  if (failed != 0 || text == NULL) status = ath_fail(ATH_NO_MEMORY, "%s: no memory", path);
  if (status == ATH_OK) status = ath_buffer_format(&out, "%s\n", text);
  if (status == ATH_OK) status = ath_file_write(path, out.bytes, out.length);
  ath_buffer_free(&out);
  free(text);
  json_decref(root);
  return status;
}
