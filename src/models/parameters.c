/* parameters.c: the list of a model's parameters: variable in the graph, type, Hub names. */
#include "models/parameters.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A list being filled in; `count` is checked against the layout of parameters.h at the end. */
typedef struct list {
  ath_parameter *items;
  size_t count;
  bool head;
} list;

/* Appends a parameter stored on the Hub under the same name; split_qkv changes that. `columns` is
 * not read for vectors. */
static void add(list *self, ath_parameter_kind kind, const char *prefix, const char *name,
                int rank, int64_t rows, int64_t columns) {
  ath_parameter *p = &self->items[self->count++];
  *p = (ath_parameter){.kind = kind, .head = self->head, .parts = 1};
  p->type = rank == 1 ? ath_type_make(ATH_F32, 1, (int)rows)
                      : ath_type_make(ATH_F32, 2, (int)rows, (int)columns);
  p->part_type = p->type;
  int length = snprintf(p->name, sizeof p->name, "%s%s", prefix, name);
  assert(length > 0 && (size_t)length < sizeof p->name);
  (void)length;
  memcpy(p->hub[0], p->name, sizeof p->name);
}

/* Makes the latest parameter the joint one of query, key and value, its name ending `kind`. */
static void split_qkv(list *self, const char *prefix, const char *kind) {
  static const char *const parts[ATH_PARAMETER_PARTS_MAX] = {"query", "key", "value"};
  ath_parameter *p = &self->items[self->count - 1];
  p->parts = ATH_PARAMETER_PARTS_MAX;
  assert(p->type.dims[0] % p->parts == 0);
  p->part_type.dims[0] = p->type.dims[0] / p->parts;
  for (int i = 0; i < p->parts; i++)
    snprintf(p->hub[i], sizeof p->hub[i], "%sattention.self.%s.%s", prefix, parts[i], kind);
}

/* The two vectors of a LayerNorm; the matrix and bias of a linear layer, as torch names them. */
static void add_norm(list *self, const char *prefix, const char *name, int64_t width) {
  char full[ATH_PARAMETER_NAME_MAX];
  snprintf(full, sizeof full, "%s.weight", name);
  add(self, ATH_PARAMETER_NORM_SCALE, prefix, full, 1, width, 0);
  snprintf(full, sizeof full, "%s.bias", name);
  add(self, ATH_PARAMETER_NORM_SHIFT, prefix, full, 1, width, 0);
}

static void add_linear(list *self, const char *prefix, const char *name, int64_t out, int64_t in) {
  char full[ATH_PARAMETER_NAME_MAX];
  snprintf(full, sizeof full, "%s.weight", name);
  add(self, ATH_PARAMETER_MATRIX, prefix, full, 2, out, in);
  snprintf(full, sizeof full, "%s.bias", name);
  add(self, ATH_PARAMETER_BIAS, prefix, full, 1, out, 0);
}

/* In the order of the enumeration in parameters.h. */
static void add_layer(list *self, const ath_model_config *config, int64_t layer) {
  char prefix[48];
  snprintf(prefix, sizeof prefix, "roberta.encoder.layer.%d.", (int)layer);
  int64_t hidden = config->hidden_size, inner = config->intermediate_size;
  add(self, ATH_PARAMETER_MATRIX, prefix, "attention.self.qkv.weight", 2, 3 * hidden, hidden);
  split_qkv(self, prefix, "weight");
  add(self, ATH_PARAMETER_BIAS, prefix, "attention.self.qkv.bias", 1, 3 * hidden, 0);
  split_qkv(self, prefix, "bias");
  add_linear(self, prefix, "attention.output.dense", hidden, hidden);
  add_norm(self, prefix, "attention.output.LayerNorm", hidden);
  add_linear(self, prefix, "intermediate.dense", inner, hidden);
  add_linear(self, prefix, "output.dense", hidden, inner);
  add_norm(self, prefix, "output.LayerNorm", hidden);
}

static void add_all(list *self, const ath_model_config *config) {
  const char *embeddings = "roberta.embeddings.";
  int64_t hidden = config->hidden_size;
  add(self, ATH_PARAMETER_EMBEDDING, embeddings, "word_embeddings.weight", 2, config->vocab_size,
      hidden);
  add(self, ATH_PARAMETER_EMBEDDING, embeddings, "position_embeddings.weight", 2,
      config->max_position_embeddings, hidden);
  add(self, ATH_PARAMETER_EMBEDDING, embeddings, "token_type_embeddings.weight", 2,
      config->type_vocab_size, hidden);
  add_norm(self, embeddings, "LayerNorm", hidden);
  assert(self->count == FIRST_LAYER);
  for (int64_t layer = 0; layer < config->num_hidden_layers; layer++) {
    add_layer(self, config, layer);
    assert(self->count == FIRST_LAYER + (size_t)(layer + 1) * PER_LAYER);
  }
  self->head = true;
  add_linear(self, "", "lm_head.dense", hidden, hidden);
  add_norm(self, "", "lm_head.layer_norm", hidden);
  add(self, ATH_PARAMETER_BIAS, "", "lm_head.bias", 1, config->vocab_size, 0);
}

ath_status ath_model_create(const ath_model_config *config, ath_model **out) {
  ATH_TRY(ath_model_config_check(config, "model configuration"));
  if (config->pad_token_id < 0)
    return ath_fail(ATH_INVALID, "model configuration: \"pad_token_id\" is not known");
  size_t count = FIRST_LAYER + (size_t)config->num_hidden_layers * PER_LAYER + HEAD_COUNT;
  ath_model *self = calloc(1, sizeof *self + count * sizeof *self->parameters);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of %zu parameters", count);
  self->config = *config;
  self->count = count;
  list all = {.items = self->parameters};
  add_all(&all, config);
  assert(all.count == count);
  *out = self;
  return ATH_OK;
}

void ath_model_destroy(ath_model *self) {
  free(self);
}

const ath_model_config *ath_model_get_config(const ath_model *self) {
  return &self->config;
}

size_t ath_model_parameter_count(const ath_model *self) {
  return self->count;
}

const ath_parameter *ath_model_parameter(const ath_model *self, size_t index) {
  assert(index < self->count);
  return &self->parameters[index];
}

int64_t ath_model_size(const ath_model *self) {
  int64_t size = 0;
  for (size_t i = 0; i < self->count; i++) size += ath_type_count(&self->parameters[i].type);
  return size;
}

bool ath_parameter_decays(const ath_parameter *parameter) {
  return parameter->kind == ATH_PARAMETER_MATRIX || parameter->kind == ATH_PARAMETER_EMBEDDING;
}
