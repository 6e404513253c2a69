/* heads.c: what stands on the encoder: the masked-language-model head, its graphs, its loss. */
#include <assert.h>
#include <stdlib.h>

#include "models/roberta.h"

/* Dense, GELU (whatever hidden_act says, as in the reference), LayerNorm, and the product with
 * the word embeddings: x [positions, hidden] → logits [positions, vocabulary]. */
static ath_value masked_lm_head(const ath_model *self, ath_graph *g, const ath_value *parameters,
                                ath_value x) {
  assert(self->count > FIRST_LAYER + HEAD_COUNT);
  const ath_value *p = parameters + self->count - HEAD_COUNT;
  ath_graph_set_scope(g, "lm_head");
  x = ath_activation(g, ath_model_linear(g, x, p[HEAD_WEIGHT], p[HEAD_BIAS]), ATH_GELU);
  x = ath_layer_norm(g, x, p[HEAD_NORM_SCALE], p[HEAD_NORM_SHIFT],
                     (float)self->config.layer_norm_eps);
  ath_value logits = ath_model_linear(g, x, parameters[WORD_EMBEDDING], p[DECODER_BIAS]);
  ath_graph_set_scope(g, NULL);
  return logits;
}

ath_value ath_model_logits(const ath_model *self, ath_graph *graph,
                           const ath_forward_options *options, ath_value *parameters) {
  assert(options->positions > 0);
  for (size_t i = 0; i < self->count; i++)
    parameters[i] =
        ath_graph_variable(graph, self->parameters[i].name, self->parameters[i].type);
  ath_value hidden = ath_roberta_encode(self, graph, options, parameters);
  return masked_lm_head(self, graph, parameters, hidden);
}

static ath_status fill_graph(const ath_model *self, const ath_forward_options *shape,
                             void (*add_outputs)(ath_graph *graph, ath_value logits),
                             ath_graph *graph, ath_value *parameters) {
  add_outputs(graph, ath_model_logits(self, graph, shape, parameters));
  ATH_TRY(ath_graph_status(graph));
  ATH_TRY(ath_graph_fuse(graph));
  return ath_graph_prune(graph);
}

ath_status ath_model_graph_with(const ath_model *self, const ath_forward_options *shape,
                                void (*add_outputs)(ath_graph *graph, ath_value logits),
                                ath_graph **out) {
  ath_graph *graph = NULL;
  *out = NULL;
  ath_value *parameters = calloc(ath_model_parameter_count(self), sizeof *parameters);
  ath_status status = parameters != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory");
  if (status == ATH_OK) status = ath_graph_create(&graph);
  if (status == ATH_OK) status = fill_graph(self, shape, add_outputs, graph, parameters);
  if (status == ATH_OK) *out = graph;
  else ath_graph_destroy(graph);
  free(parameters);
  return status;
}

static void add_logits(ath_graph *graph, ath_value logits) {
  ath_graph_output(graph, "logits", logits);
}

ath_status ath_model_graph(const ath_model *self, const ath_forward_options *shape,
                           ath_graph **out) {
  return ath_model_graph_with(self, shape, add_logits, out);
}

ath_cross_entropy_result ath_masked_lm_loss(ath_graph *graph, ath_value logits) {
  ath_type type = ath_graph_type(graph, logits);
  int places = type.rank == 2 ? (int)type.dims[0] : 1; /* rank 0: the graph has failed already */
  ath_value labels = ath_graph_input(graph, "labels", ath_type_make(ATH_I32, 1, places));
  ath_value weights = ath_graph_input(graph, "weights", ath_type_make(ATH_F32, 1, places));
  ath_graph_set_scope(graph, "loss");
  ath_cross_entropy_result result = ath_cross_entropy(graph, logits, labels, weights);
  ath_graph_set_scope(graph, NULL);
  return result;
}
