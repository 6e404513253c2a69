/* architecture.c: the model and the training step that a run's settings describe, without its data
 * and without a device. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "athanor/train.h"

/* The ids of roberta-base, for when no tokenizer is at hand. */
enum { BOS_ID = 0, PAD_ID = 1, EOS_ID = 2 };

static int64_t vocabulary(const ath_train_options *o, const ath_tokenizer *tokenizer) {
  int64_t size = o->vocab_size, multiple = o->pad_vocab_to_multiple_of;
  if (size == 0 && tokenizer != NULL) size = ath_tokenizer_size(tokenizer);
  return multiple > 0 ? (size + multiple - 1) / multiple * multiple : size;
}

/* Ids that the configuration lacks. */
static ath_status adopt_ids(ath_model_config *config, const ath_tokenizer *tokenizer) {
  if (tokenizer != NULL) return ath_model_config_adopt_ids(config, tokenizer);
  if (config->bos_token_id < 0) config->bos_token_id = BOS_ID;
  if (config->pad_token_id < 0) config->pad_token_id = PAD_ID;
  if (config->eos_token_id < 0) config->eos_token_id = EOS_ID;
  return ATH_OK;
}

static ath_status from_settings(const ath_train_options *o, const ath_tokenizer *tokenizer,
                                int length, ath_model_config *config) {
  *config = ath_model_config_defaults();
  config->vocab_size = vocabulary(o, tokenizer);
  config->hidden_size = o->hidden_size;
  config->num_hidden_layers = o->num_hidden_layers;
  config->num_attention_heads = o->num_attention_heads;
  config->intermediate_size = o->intermediate_size;
  config->initializer_range = o->initializer_range;
  config->hidden_dropout_prob = o->hidden_dropout_prob;
  config->attention_probs_dropout_prob = o->attention_probs_dropout_prob;
  if (o->hidden_act == NULL || strlen(o->hidden_act) >= sizeof config->hidden_act)
    return ath_fail(ATH_USAGE, "hidden_act: no activation \"%.40s\"",
                    o->hidden_act != NULL ? o->hidden_act : "");
  snprintf(config->hidden_act, sizeof config->hidden_act, "%s", o->hidden_act);
  ATH_TRY(adopt_ids(config, tokenizer));
  config->max_position_embeddings = o->max_position_embeddings;
  if (o->max_position_embeddings == 0)
    config->max_position_embeddings = length + config->pad_token_id + 1;
  return ATH_OK;
}

/* From a file the architecture is taken as it is; only a fresh model's vocabulary is cut to the
 * tokenizer, as its weights are still to be made. */
ath_status ath_train_architecture(const ath_train_options *options,
                                  const ath_tokenizer *tokenizer, int length,
                                  ath_model_config *out) {
  const ath_train_options *o = options;
  const char *file = o->model_name_or_path != NULL ? o->model_name_or_path : o->config_name;
  if (file == NULL) {
    ATH_TRY(from_settings(o, tokenizer, length, out));
  } else {
    ATH_TRY(ath_model_config_load(file, out));
    int64_t size = vocabulary(o, tokenizer);
    if (o->model_name_or_path == NULL && size > 0) out->vocab_size = size;
    ATH_TRY_CONTEXT(adopt_ids(out, tokenizer), "%s", file);
  }
  if (out->vocab_size > 0) return ATH_OK;
  return ath_fail(ATH_USAGE, "neither a tokenizer nor vocab_size says how large the vocabulary is");
}

int64_t ath_train_steps(const ath_train_options *options, int64_t batches_per_epoch) {
  const ath_train_options *o = options;
  assert(o->gradient_accumulation_steps > 0);
  if (o->max_steps > 0) return o->max_steps;
  double batches = o->num_train_epochs * (double)batches_per_epoch;
  return (int64_t)ceil(batches / (double)o->gradient_accumulation_steps);
}

ath_status ath_train_batch_size(int64_t each, const ath_mesh *mesh, int *out) {
  int64_t all = each * ath_mesh_shares(mesh);
  if (all > INT32_MAX)
    return ath_fail(ATH_USAGE, "%lld records on each of %d devices are too many",
                    (long long)each, ath_mesh_shares(mesh));
  *out = (int)all;
  return ATH_OK;
}

int ath_train_groups(const ath_mesh *mesh, int batch_size) {
  int parts = ath_mesh_shares(mesh);
  assert(parts > 0 && batch_size > 0);
  return batch_size % parts == 0 ? parts : 1;
}

static int places(const ath_train_options *options, int batch_size, int length, int groups) {
  int64_t each = options->max_predictions_per_seq;
  assert(batch_size > 0 && length > 0);
  if (each == 0) return ath_batch_positions(batch_size, length, options->mlm_probability, groups);
  int64_t all = batch_size * (each < length ? each : length);
  return all < INT32_MAX ? (int)all : INT32_MAX; /* batches so large are refused */
}

ath_step_options ath_train_step_options(const ath_train_options *options, const ath_mesh *mesh,
                                        int batch_size, int length) {
  const ath_train_options *o = options;
  int groups = ath_train_groups(mesh, batch_size);
  return (ath_step_options){
    .forward = {.batch_size = batch_size, .length = length, .dropout = true,
                .positions = places(o, batch_size, length, groups), .groups = groups,
                .seed = (uint64_t)o->seed, .compute = o->bf16 ? ATH_BF16 : ATH_F32},
    .adam_beta1 = o->adam_beta1, .adam_beta2 = o->adam_beta2, .adam_epsilon = o->adam_epsilon,
    .weight_decay = o->weight_decay, .max_grad_norm = o->max_grad_norm,
    .accumulate = o->gradient_accumulation_steps > 1,
  };
}
