/* heads.c: what stands on the encoder: the masked-language-model head and its loss. */
#include <assert.h>

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
