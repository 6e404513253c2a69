/* parameters.h: places in the list of parameters, for the files of models/. */
#ifndef ATHANOR_MODELS_PARAMETERS_H
#define ATHANOR_MODELS_PARAMETERS_H

#include "athanor/model.h"

/* The list begins with the embeddings, goes on with PER_LAYER parameters for each layer, and ends
 * with the head. */
enum {
  WORD_EMBEDDING, POSITION_EMBEDDING, TYPE_EMBEDDING, EMBEDDING_NORM_SCALE, EMBEDDING_NORM_SHIFT,
  FIRST_LAYER,
};
enum {
  QKV_WEIGHT, QKV_BIAS, ATTENTION_OUT_WEIGHT, ATTENTION_OUT_BIAS,
  ATTENTION_NORM_SCALE, ATTENTION_NORM_SHIFT,
  INNER_WEIGHT, INNER_BIAS, OUT_WEIGHT, OUT_BIAS, OUT_NORM_SCALE, OUT_NORM_SHIFT,
  PER_LAYER,
};
enum { HEAD_WEIGHT, HEAD_BIAS, HEAD_NORM_SCALE, HEAD_NORM_SHIFT, DECODER_BIAS, HEAD_COUNT };

struct ath_model {
  ath_model_config config;
  size_t count;
  ath_parameter parameters[]; /* [count] */
};

#endif
