/* model.h: RoBERTa for masked language modelling (Liu et al. 2019): its configuration, its
 * parameters under their Hub names, its forward pass as a graph, and filling masks with it.
 *
 * A model folder is what Hugging Face's transformers writes and reads: config.json,
 * model.safetensors and the tokenizer's files. An `ath_model` is the configuration and the list of
 * parameters that follows from it; the parameters' values live in a backend's ath_state, under the
 * names of that list, so that training, evaluation and filling masks share them.
 *
 * Models and configurations are read-only once made and may be used by any thread; functions that
 * touch a graph or a state follow the rules of those.
 *
 * Example
 *
 *     ath_status print_fillings(const char *folder, const char *text) {
 *       ath_filler *filler = NULL;
 *       ath_fill_result result = {0};
 *       ath_status status = ath_filler_open(folder, "cpu", &filler);
 *       if (status == ATH_OK) status = ath_filler_run(filler, text, 5, &result);
 *       for (size_t i = 0; status == ATH_OK && i < result.masks * result.top_k; i++)
 *         printf("%.4f %s\n", result.fillings[i].score, result.fillings[i].sequence);
 *       ath_fill_result_free(&result);
 *       ath_filler_close(filler);
 *       return status;
 *     }
 */
#ifndef ATHANOR_MODEL_H
#define ATHANOR_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/backend.h"
#include "athanor/graph.h"
#include "athanor/ops.h"
#include "athanor/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- configuration ----------------------------------------------------------------------- */

/* The keys of config.json that decide what is computed, under their own names. */
typedef struct ath_model_config {
  int64_t vocab_size; /* rows of the word embedding; may be more than the tokenizer's size */
  int64_t hidden_size, num_hidden_layers, num_attention_heads, intermediate_size;
  char hidden_act[32]; /* gelu, gelu_new, gelu_pytorch_tanh, relu, silu */
  double hidden_dropout_prob, attention_probs_dropout_prob;
  int64_t max_position_embeddings; /* rows of the position table: length + pad_token_id + 1 */
  int64_t type_vocab_size;
  double initializer_range; /* deviation of the initial weights */
  double layer_norm_eps;
  int64_t pad_token_id, bos_token_id, eos_token_id; /* −1: not given */
  char other[4096]; /* JSON object of the keys not listed here, kept when the file is rewritten */
} ath_model_config;

/* roberta-base's shape and constants, vocab_size 0, ids not given. */
ath_model_config ath_model_config_defaults(void);

/* Reads a config.json, or the one in a folder. Keys left out take the reference's defaults. A
 * value that cannot be is ATH_INVALID with key and value; a model_type other than "roberta", or
 * a variant that is not built here (decoder, relative positions, untied head), ATH_UNSUPPORTED. */
ath_status ath_model_config_load(const char *path, ath_model_config *out) ATH_MUST_CHECK;
/* The same checks, for a configuration filled in by hand; `where` begins the text. */
ath_status ath_model_config_check(const ath_model_config *self, const char *where) ATH_MUST_CHECK;
/* Writes config.json as transformers does, atomically. */
ath_status ath_model_config_save(const ath_model_config *self, const char *path) ATH_MUST_CHECK;

/* Holds the configuration against a tokenizer: pad, bos ([CLS]) and eos ([SEP]) ids that are
 * missing are taken from it, others must be the same, there must be a mask token, and the
 * vocabulary must have a row for each id. ATH_MISMATCH gives both numbers. */
ath_status ath_model_config_adopt_ids(ath_model_config *self, const ath_tokenizer *tokenizer)
    ATH_MUST_CHECK;

/* Positions count from pad_token_id + 1, so a table of P rows holds P − pad_token_id − 1 tokens. */
int64_t ath_model_config_max_length(const ath_model_config *self);
/* ATH_MISMATCH, with the numbers, when `length` tokens do not fit. */
ath_status ath_model_config_check_length(const ath_model_config *self, int64_t length)
    ATH_MUST_CHECK;

/* position_ids[rows, length]: pad for padding, else pad + its count among the row's tokens that
 * are not padding, from 1. */
void ath_position_ids(const int32_t *input_ids, int64_t rows, int64_t length, int32_t pad_token_id,
                      int32_t *position_ids);

/* --- parameters -------------------------------------------------------------------------- */

typedef struct ath_model ath_model;

typedef enum ath_parameter_kind {
  ATH_PARAMETER_MATRIX,    /* of a linear layer, [out, in] */
  ATH_PARAMETER_EMBEDDING, /* [rows, width] */
  ATH_PARAMETER_BIAS,
  ATH_PARAMETER_NORM_SCALE,
  ATH_PARAMETER_NORM_SHIFT,
} ath_parameter_kind;

enum { ATH_PARAMETER_NAME_MAX = 96, ATH_PARAMETER_PARTS_MAX = 3 };

/* One variable of the graph. It is stored on the Hub as `parts` tensors of equal row counts, one
 * after another: three for the joint query, key and value product, else one of the same name. */
typedef struct ath_parameter {
  char name[ATH_PARAMETER_NAME_MAX]; /* "roberta.encoder.layer.0.attention.self.qkv.weight" */
  ath_type type;
  ath_parameter_kind kind;
  bool head;  /* belongs to the masked-LM head: may be missing in a file */
  int parts;
  char hub[ATH_PARAMETER_PARTS_MAX][ATH_PARAMETER_NAME_MAX];
  ath_type part_type;
} ath_parameter;

/* Copies the configuration, which must be complete (vocab_size and pad id known). */
ath_status ath_model_create(const ath_model_config *config, ath_model **out) ATH_MUST_CHECK;
void ath_model_destroy(ath_model *self); /* NULL is allowed */
const ath_model_config *ath_model_get_config(const ath_model *self);
size_t ath_model_parameter_count(const ath_model *self);
const ath_parameter *ath_model_parameter(const ath_model *self, size_t index);
/* All numbers that are learned; the tied decoder counts once. */
int64_t ath_model_size(const ath_model *self);
/* Whether AdamW's weight decay acts on it: matrices and embeddings. */
bool ath_parameter_decays(const ath_parameter *parameter);

/* Initial values, as the reference has them: normal(0, initializer_range) for matrices and
 * embeddings, 0 for biases, 1 and 0 for LayerNorm, the padding row of word and position embedding
 * 0. Each value depends on (seed, Hub name, index) alone. Rows of the vocabulary from `used_rows`
 * on (the padding of the vocabulary; 0: none) get zeros and a decoder bias of −10,000: their
 * probability is exactly 0 in f32, and so is every gradient of theirs, so they stay that way in
 * training and in any other program that reads the folder.
 * The variables must exist: create a program over the state first. */
ath_status ath_model_initialise(const ath_model *self, ath_state *state, uint64_t seed,
                                int64_t used_rows) ATH_MUST_CHECK;

/* Reads a safetensors file into the state. Names may lack the prefix "roberta."; LayerNorm's old
 * names gamma and beta are known. Heads of other tasks in the file are left aside with a warning,
 * and a masked-LM head that is missing keeps its initial values with a warning; every other
 * missing or unexpected tensor is listed and the file refused (ATH_MISMATCH). */
ath_status ath_model_load(const ath_model *self, ath_state *state, const char *path)
    ATH_MUST_CHECK;
/* Writes the safetensors file, f32, under the Hub's names; the tied decoder is written once, as
 * the word embedding. */
ath_status ath_model_save(const ath_model *self, const ath_state *state, const char *path)
    ATH_MUST_CHECK;

/* --- the forward pass -------------------------------------------------------------------- */

typedef struct ath_forward_options {
  int batch_size, length; /* of the batch */
  int positions;          /* K: only these places reach the vocabulary projection */
  int groups;             /* as in dataset.h: the places of a part of the rows; 0 counts as 1 */
  bool dropout;           /* with the configuration's rates; needs the input "step" */
  uint64_t seed;          /* of dropout */
  ath_dtype compute;      /* of activations and products: ATH_F32, which is 0, or ATH_BF16 */
} ath_forward_options;

/* Adds the inputs input_ids, attention_mask, position_ids (i32 [batch, length]), positions (i32
 * [K], row * length + column) and, with dropout, step (u32 []); a variable for each parameter,
 * stored in `parameters[ath_model_parameter_count]`; and the forward pass in plain operations.
 * Returns the logits [K, vocab_size], of the element type `compute`. Errors stick to the graph.
 *
 * With ATH_BF16 the variables stay f32. Embeddings are summed and normalised in f32; from there on
 * activations are bf16 and each matrix is converted once, as its gradient is once on its way back,
 * so that gradients of parameters are f32. Biases and LayerNorm's vectors enter as f32. */
ath_value ath_model_logits(const ath_model *self, ath_graph *graph,
                           const ath_forward_options *options, ath_value *parameters);
/* The forward pass as a graph of its own, fused and pruned, with the outputs that `add_outputs`
 * makes of the logits. The caller destroys it. */
ath_status ath_model_graph_with(const ath_model *self, const ath_forward_options *shape,
                                void (*add_outputs)(ath_graph *graph, ath_value logits),
                                ath_graph **out) ATH_MUST_CHECK;
/* The same with the one output logits. */
ath_status ath_model_graph(const ath_model *self, const ath_forward_options *shape,
                           ath_graph **out) ATH_MUST_CHECK;
/* Adds the inputs labels (i32 [K]) and weights (f32 [K]) and the loss over them. */
ath_cross_entropy_result ath_masked_lm_loss(ath_graph *graph, ath_value logits);

/* --- filling masks ----------------------------------------------------------------------- */

typedef struct ath_filling {
  double score;    /* probability */
  int32_t token;
  char *token_str; /* decoded alone: a bare word mark gives "" */
  char *piece;     /* the token as the vocabulary has it */
  char *sequence;  /* the text with it filled in, decoded */
} ath_filling;

typedef struct ath_fill_result {
  size_t masks, top_k;
  ath_filling *fillings; /* [masks][top_k], best first */
} ath_fill_result;
void ath_fill_result_free(ath_fill_result *self);

/* A model folder, loaded to fill masks. */
typedef struct ath_filler ath_filler;
ath_status ath_filler_open(const char *folder, const char *device, ath_filler **out)
    ATH_MUST_CHECK;
void ath_filler_close(ath_filler *self); /* NULL is allowed */
/* The spelling of the mask token, "[MASK]". */
const char *ath_filler_mask(const ath_filler *self);
/* The `top_k` likeliest tokens of each mask in the text, every mask seen by itself, as the
 * reference's pipeline gives them. ATH_INVALID for a text without a mask, or too long for the
 * position table. The strings belong to the result; free it. */
ath_status ath_filler_run(ath_filler *self, const char *text, int top_k, ath_fill_result *out)
    ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
