/* roberta.c: the forward pass of RoBERTa's encoder (Liu et al. 2019; post-norm transformer layers
 * of Devlin et al. 2019), written in plain operations; ath_graph_fuse joins them later.
 *
 * In bf16 the embeddings are looked up, added and normalised in f32, so that the gradients of rows
 * that many tokens share are added up in f32. From there on activations are bf16, and each matrix
 * is converted where it is used.
 *
 * Only the chosen places (the masked ones) are asked for, and within a layer a place depends on the
 * others through keys and values alone. So what follows the last layer's attention is computed for
 * the chosen places only: the same numbers for a part of the work, as if the last layer of a base
 * model cost two fifths. */
#include "models/roberta.h"

#include <assert.h>

#include "models/activation.h"

/* What the functions of this file share while they build. */
typedef struct builder {
  const ath_model *model;
  ath_graph *graph;
  const ath_forward_options *options;
  const ath_value *parameters;
  ath_value mask, step, positions;
} builder;

/* Dropout places are numbered in the order in which the forward pass meets them. */
enum { EMBEDDING_SITE, FIRST_LAYER_SITE };
enum { ATTENTION_SITE, ATTENTION_OUT_SITE, OUT_SITE, SITES_PER_LAYER };

/* Rate 0, which adds no node, unless dropout was asked for. Chosen places are masked as they would
 * be if all were computed: by their token's row, wherever they stand among the chosen. */
static ath_dropout_place dropout_at(const builder *b, double rate, int site, bool chosen) {
  assert(rate >= 0 && rate < 1 && site >= 0);
  ath_dropout_place place = {.seed = b->options->seed, .site = (uint32_t)site, .step = b->step};
  if (b->options->dropout) place.rate = (float)rate;
  place.by_rows = chosen;
  place.rows = b->positions;
  return place;
}

static ath_value norm(const builder *b, ath_value x, ath_value scale, ath_value shift) {
  return ath_layer_norm(b->graph, x, scale, shift, (float)b->model->config.layer_norm_eps);
}

ath_value ath_model_linear(ath_graph *graph, ath_value x, ath_value weight, ath_value bias) {
  ath_value converted = ath_convert(graph, weight, ath_graph_type(graph, x).dtype);
  return ath_linear(graph, x, converted, bias);
}

/* word[ids] + type[0] + position[position_ids], normalised. Every token has type 0. */
static ath_value embed(const builder *b) {
  ath_graph *g = b->graph;
  const ath_model_config *config = &b->model->config;
  const ath_value *p = b->parameters;
  ath_graph_set_scope(g, "embeddings");
  ath_type rows = ath_type_make(ATH_I32, 2, b->options->batch_size, b->options->length);
  ath_type one = ath_type_make(ATH_I32, 1, 1);
  ath_type width = ath_type_make(ATH_F32, 1, (int)config->hidden_size);
  ath_value ids = ath_graph_input(g, "input_ids", rows);
  ath_value position_ids = ath_graph_input(g, "position_ids", rows);
  int32_t pad = (int32_t)config->pad_token_id;
  ath_value words = ath_embedding(g, p[WORD_EMBEDDING], ids, pad);
  ath_value positions = ath_embedding(g, p[POSITION_EMBEDDING], position_ids, pad);
  ath_value type = ath_embedding(g, p[TYPE_EMBEDDING], ath_graph_constant(g, one, 0), -1);
  ath_value sum = ath_add(g, ath_add(g, words, ath_reshape(g, type, width)), positions);
  ath_value x = norm(b, sum, p[EMBEDDING_NORM_SCALE], p[EMBEDDING_NORM_SHIFT]);
  x = ath_convert(g, x, b->options->compute);
  return ath_dropout(g, x, dropout_at(b, config->hidden_dropout_prob, EMBEDDING_SITE, false));
}

/* [batch, length, hidden] → the chosen places [positions, hidden]. */
static ath_value choose(const builder *b, ath_value x) {
  ath_type type = ath_graph_type(b->graph, x);
  ath_type flat = ath_type_make(b->options->compute, 2, b->options->batch_size * b->options->length,
                                (int)b->model->config.hidden_size);
  if (type.rank < 0) return x; /* the graph has failed already */
  int groups = b->options->groups > 1 ? b->options->groups : 1;
  return ath_choose_rows(b->graph, ath_reshape(b->graph, x, flat), b->positions, groups);
}

/* x ← norm(x + attention(x)), x ← norm(x + feed_forward(x)); the last layer gives the chosen places
 * only. */
static ath_value layer(const builder *b, ath_value x, int index) {
  assert(index >= 0 && index < b->model->config.num_hidden_layers);
  ath_graph *g = b->graph;
  const ath_model_config *config = &b->model->config;
  const ath_value *p = b->parameters + FIRST_LAYER + index * PER_LAYER;
  int site = FIRST_LAYER_SITE + index * SITES_PER_LAYER;
  int heads = (int)config->num_attention_heads;
  bool last = index == config->num_hidden_layers - 1;
  double rate = config->hidden_dropout_prob;
  ath_activation_kind activation = ATH_GELU;
  if (ath_activation_from_name(config->hidden_act, &activation) != ATH_OK)
    return ath_graph_fail(g, ATH_UNSUPPORTED, "hidden_act %s", config->hidden_act);
  char scope[40];

  snprintf(scope, sizeof scope, "layer.%d/attention", index);
  ath_graph_set_scope(g, scope);
  ath_value qkv = ath_model_linear(g, x, p[QKV_WEIGHT], p[QKV_BIAS]);
  ath_value context =
      ath_attention(g, qkv, b->mask, heads,
                    dropout_at(b, config->attention_probs_dropout_prob, site + ATTENTION_SITE,
                               false));
  if (last) context = choose(b, context), x = choose(b, x);
  ath_value out = ath_model_linear(g, context, p[ATTENTION_OUT_WEIGHT], p[ATTENTION_OUT_BIAS]);
  out = ath_dropout(g, out, dropout_at(b, rate, site + ATTENTION_OUT_SITE, last));
  x = norm(b, ath_add(g, x, out), p[ATTENTION_NORM_SCALE], p[ATTENTION_NORM_SHIFT]);

  snprintf(scope, sizeof scope, "layer.%d/feed_forward", index);
  ath_graph_set_scope(g, scope);
  ath_value inner = ath_model_linear(g, x, p[INNER_WEIGHT], p[INNER_BIAS]);
  inner = ath_activation(g, inner, activation);
  out = ath_model_linear(g, inner, p[OUT_WEIGHT], p[OUT_BIAS]);
  out = ath_dropout(g, out, dropout_at(b, rate, site + OUT_SITE, last));
  return norm(b, ath_add(g, x, out), p[OUT_NORM_SCALE], p[OUT_NORM_SHIFT]);
}

ath_value ath_roberta_encode(const ath_model *self, ath_graph *graph,
                             const ath_forward_options *options, const ath_value *parameters) {
  assert(options->batch_size > 0 && options->length > 0);
  ath_status fits = ath_model_config_check_length(&self->config, options->length);
  if (fits != ATH_OK) return ath_graph_fail(graph, fits, "%s", ath_error_text());
  builder b = {.model = self, .graph = graph, .options = options, .parameters = parameters,
               .step = ATH_NO_VALUE};
  ath_type rows = ath_type_make(ATH_I32, 2, options->batch_size, options->length);
  b.mask = ath_graph_input(graph, "attention_mask", rows);
  b.positions =
      ath_graph_input(graph, "positions", ath_type_make(ATH_I32, 1, options->positions));
  if (options->dropout) b.step = ath_graph_input(graph, "step", ath_type_make(ATH_U32, 0));
  ath_value x = embed(&b);
  for (int i = 0; i < self->config.num_hidden_layers; i++) x = layer(&b, x, i);
  ath_graph_set_scope(graph, NULL);
  return x;
}
