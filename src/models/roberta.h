/* roberta.h: the encoder, for the heads. */
#ifndef ATHANOR_MODELS_ROBERTA_H
#define ATHANOR_MODELS_ROBERTA_H

#include "models/parameters.h"

/* The last hidden states of the chosen places, [positions, hidden], of the element type
 * options->compute; adds the inputs that ath_model_logits lists. `parameters` are the graph's
 * variables in the model's order. */
ath_value ath_roberta_encode(const ath_model *self, ath_graph *graph,
                             const ath_forward_options *options, const ath_value *parameters);

/* ath_linear; the weight, an f32 variable, is converted to x's element type. */
ath_value ath_model_linear(ath_graph *graph, ath_value x, ath_value weight, ath_value bias);

#endif
