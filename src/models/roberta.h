/* roberta.h: the encoder, for the heads. */
#ifndef ATHANOR_MODELS_ROBERTA_H
#define ATHANOR_MODELS_ROBERTA_H

#include "models/parameters.h"

/* Hidden states [batch, length, hidden]; adds the inputs that ath_model_logits lists but
 * positions. `parameters` are the graph's variables in the model's order. */
ath_value ath_roberta_encode(const ath_model *self, ath_graph *graph,
                             const ath_forward_options *options, const ath_value *parameters);

#endif
