/* settings.c: the one table of a run's settings. YAML keys, flags, help and the resolved
 * configuration all come from it. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "athanor/train.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "train/profile.h"

#define LARGE 9007199254740992.0 /* 2^53: the whole numbers that a double holds exactly */

/* GROUP is what it is defined to be where a row stands. */
#define ROW(field, kind, least, most, fixed, placeholder, help)                                   \
  {#field, kind, offsetof(ath_train_options, field), least, most, fixed, placeholder, help, GROUP, \
   false}
#define TEXT(field, fixed, placeholder, help) \
  ROW(field, ATH_SETTING_TEXT, 0, 0, fixed, placeholder, help)
#define INTEGER(field, least, most, fixed, help) \
  ROW(field, ATH_SETTING_INTEGER, least, most, fixed, "N", help)
#define NUMBER(field, least, most, fixed, help) \
  ROW(field, ATH_SETTING_NUMBER, least, most, fixed, "X", help)
#define FLAG(field, fixed, help) ROW(field, ATH_SETTING_FLAG, 0, 1, fixed, NULL, help)

static const ath_setting settings[] = {
#define GROUP "Data"
  TEXT(train_dataset, false, "DIR", "Folder of shards to train on"),
  TEXT(eval_dataset, false, "DIR", "Folder of shards to evaluate on; none: no evaluation"),
  TEXT(tokenizer, false, "DIR", "Folder, or tokenizer.json, of the tokenizer that made the "
       "shards; that of model_name_or_path will do"),
  TEXT(output_dir, false, "DIR", "Folder of the run: checkpoints, log, and the model when "
       "done"),
#undef GROUP
#define GROUP "Model"
  TEXT(model_name_or_path, false, "DIR", "Model folder to take architecture and starting weights "
       "from"),
  TEXT(config_name, false, "FILE", "A config.json to take the architecture from, instead of the "
       "settings below"),
  INTEGER(hidden_size, 1, 65536, true, "Width of the hidden states"),
  INTEGER(num_hidden_layers, 1, 512, true, "Layers of the encoder"),
  INTEGER(num_attention_heads, 1, 1024, true, "Attention heads; hidden_size is a multiple"),
  INTEGER(intermediate_size, 1, 262144, true, "Width of the feed-forward layers"),
  TEXT(hidden_act, true, "NAME", "Activation: gelu, gelu_new, gelu_pytorch_tanh, relu or silu"),
  INTEGER(max_position_embeddings, 0, 1048576, true, "Rows of the position table; 0: what the "
          "records need, length + pad id + 1"),
  INTEGER(vocab_size, 0, 1 << 24, true, "Rows of the vocabulary, at least the tokenizer's; 0: as "
          "many as it has"),
  INTEGER(pad_vocab_to_multiple_of, 0, 65536, true, "Grow the vocabulary to a multiple; the added "
          "rows are never predicted; 0: not"),
  NUMBER(hidden_dropout_prob, 0, 0.99, true, "Dropout after embeddings, attention and "
         "feed-forward layers"),
  NUMBER(attention_probs_dropout_prob, 0, 0.99, true, "Dropout of the attention probabilities"),
  NUMBER(initializer_range, 0, 10, true, "Deviation of the initial weights; narrow models learn "
         "sooner with about 1/sqrt(hidden_size)"),
#undef GROUP
#define GROUP "Length of training"
  NUMBER(num_train_epochs, 0, 1e6, true, "Passes over the data, a fraction allowed"),
  INTEGER(max_steps, -1, LARGE, true, "Steps in all, instead of num_train_epochs; -1: not"),
  NUMBER(max_train_minutes, 0, 1e6, false, "Stop early, save and evaluate after so many minutes; "
         "the schedule does not know of it; 0: no bound"),
#undef GROUP
#define GROUP "Optimisation"
  INTEGER(per_device_train_batch_size, 1, 65536, true, "Records per micro-batch on each device "
          "that shares it, data * fsdp of the mesh"),
  INTEGER(gradient_accumulation_steps, 1, 65536, true, "Micro-batches per step, weighted by their "
          "scored positions"),
  INTEGER(max_seq_length, 0, 1048576, true, "Tokens per record, as the shards have them; 0: what "
          "they have. A plan without data needs it"),
  NUMBER(mlm_probability, 1e-4, 1, true, "Share of the tokens that are masked"),
  INTEGER(max_predictions_per_seq, 0, 1048576, true, "Places for masked tokens, per record on "
          "average over a batch; what does not fit stays unmasked; 0: enough by mlm_probability"),
  NUMBER(learning_rate, 0, 1e38, true, "Peak learning rate"),
  TEXT(lr_scheduler_type, true, "NAME", "linear, cosine, constant or constant_with_warmup"),
  INTEGER(warmup_steps, 0, LARGE, true, "Steps over which the rate rises from 0"),
  NUMBER(warmup_ratio, 0, 1, true, "The same as a share of all steps, when warmup_steps is 0"),
  NUMBER(weight_decay, 0, 1e3, true, "Decoupled decay of matrices and embeddings"),
  NUMBER(adam_beta1, 0, 0.999999, true, "Decay of AdamW's first moment"),
  NUMBER(adam_beta2, 0, 0.999999999, true, "Decay of AdamW's second moment"),
  NUMBER(adam_epsilon, 1e-30, 1, true, "AdamW's epsilon"),
  NUMBER(max_grad_norm, 0, 1e38, true, "Gradients are scaled down to this norm; 0: never"),
  INTEGER(seed, 0, LARGE, true, "Of initial weights, order, masks and dropout"),
#undef GROUP
#define GROUP "Reports and evaluation"
  INTEGER(logging_steps, 1, LARGE, false, "Report every so many steps"),
  INTEGER(eval_steps, 0, LARGE, false, "Evaluate every so many steps; 0: only at the end"),
  INTEGER(per_device_eval_batch_size, 1, 65536, false, "Records per batch of evaluation on each "
          "device that shares it"),
  INTEGER(max_eval_samples, 0, LARGE, false, "Evaluate on the first so many records; 0: all"),
  FLAG(profile, false, "Record what the device does in three steps, after the first five, for "
       "TensorBoard's profile tab; on devices that have a profiler: tpu and cuda"),
  TEXT(profile_steps, false, "FIRST:LAST", "Record these steps instead, counted from 1, both "
       "included; a few are enough, each takes megabytes"),
#undef GROUP
#define GROUP "Checkpoints"
  INTEGER(save_steps, 0, LARGE, false, "Write a checkpoint every so many steps; 0: only at the "
          "end"),
  INTEGER(save_total_limit, 0, 1e6, false, "Checkpoints kept, the newest; 0: all"),
  TEXT(resume_from_checkpoint, false, "WHICH", "auto: the newest whole checkpoint in output_dir; "
       "none: start anew; or a checkpoint's folder"),
  FLAG(overwrite_output_dir, false, "Start anew and remove the checkpoints in output_dir"),
#undef GROUP
#define GROUP "Machine"
  TEXT(device, false, "NAME", "Where to compute: cpu, the engine built in; xla:cpu, cuda, "
       "tpu, or a PJRT plugin's path ending in .so"),
  TEXT(mesh, false, "AXES", "Devices that share each batch: data=N, all of them with all weights; "
       "fsdp=N, weights cut among them; model=N, heads and inner columns; together: "
       "data=2,fsdp=4. Results differ by rounding only"),
  FLAG(bf16, true, "Compute in bf16, training and evaluation; weights, moments, norms and losses "
       "stay f32. The device cpu computes in f32 only"),
  INTEGER(threads, 0, ATH_THREADS_MAX, false, "Threads; 0: as OMP_NUM_THREADS says, else all "
          "cores"),
#undef GROUP
#define GROUP "Hugging Face Hub"
  FLAG(push_to_hub, false, "Push the model to the Hub; needs a token (athanor hub login)"),
  TEXT(hub_model_id, false, "USER/NAME", "Where to; the repository is made if it is missing. By "
       "default the name of output_dir, among your own"),
  TEXT(hub_strategy, false, "WHEN", "every_save: after each checkpoint, while training goes on, "
       "unless the push before is still under way; checkpoint: and the checkpoint itself in the "
       "folder last-checkpoint; end: only the finished model"),
  FLAG(hub_private_repo, false, "A repository that is made is private"),
  {"hub_token", ATH_SETTING_TEXT, offsetof(ath_train_options, hub_token), .placeholder = "TOKEN",
   .help = "The token, instead of HF_TOKEN or the one of athanor hub login; written nowhere",
   .group = GROUP, .secret = true},
#undef GROUP
};
enum { SETTING_COUNT = sizeof settings / sizeof *settings };

const ath_setting *ath_train_settings(size_t *count) {
  *count = SETTING_COUNT;
  return settings;
}

ath_status ath_train_options_init(ath_train_options *out) {
  *out = (ath_train_options){
    .hidden_size = 256, .num_hidden_layers = 4, .num_attention_heads = 4,
    .intermediate_size = 1024, .hidden_act = "gelu",
    .hidden_dropout_prob = 0.1, .attention_probs_dropout_prob = 0.1, .initializer_range = 0.02,
    .per_device_train_batch_size = 8, .per_device_eval_batch_size = 8,
    .gradient_accumulation_steps = 1, .num_train_epochs = 3, .max_steps = -1,
    .learning_rate = 5e-5, .lr_scheduler_type = "linear",
    .adam_beta1 = 0.9, .adam_beta2 = 0.999, .adam_epsilon = 1e-8, .max_grad_norm = 1,
    .mlm_probability = 0.15, .seed = 42,
    .logging_steps = 50, .save_steps = 500, .save_total_limit = 3,
    .resume_from_checkpoint = "auto", .device = "cpu", .hub_strategy = "every_save",
  };
  return ath_arena_create(1 << 20, &out->memory);
}

void ath_train_options_free(ath_train_options *self) {
  ath_arena_destroy(self->memory);
  self->memory = NULL;
}

/* --- printing ------------------------------------------------------------------------------ */

/* Text goes between double quotes, where YAML and JSON agree on the escapes. */
ath_status ath_train_setting_print(const ath_setting *setting, const ath_train_options *options,
                                   ath_buffer *out) {
  assert(setting >= settings && setting < settings + SETTING_COUNT);
  const void *place = (const char *)options + setting->offset;
  if (setting->secret) return ath_buffer_string(out, "null");
  switch (setting->kind) {
    case ATH_SETTING_FLAG: return ath_buffer_string(out, *(const bool *)place ? "true" : "false");
    case ATH_SETTING_NUMBER: return ath_buffer_double(out, *(const double *)place);
    case ATH_SETTING_INTEGER:
      return ath_buffer_format(out, "%lld", (long long)*(const int64_t *)place);
    case ATH_SETTING_TEXT: break;
  }
  const char *text = *(const char *const *)place;
  return text != NULL ? ath_buffer_json(out, text, strlen(text)) : ath_buffer_string(out, "null");
}

/* --- checks -------------------------------------------------------------------------------- */

static ath_status check_limits(const ath_setting *s, const ath_train_options *options) {
  const void *place = (const char *)options + s->offset;
  double value = 0;
  if (s->kind == ATH_SETTING_INTEGER) value = (double)*(const int64_t *)place;
  else if (s->kind == ATH_SETTING_NUMBER) value = *(const double *)place;
  else return ATH_OK;
  if (value >= s->minimum && value <= s->maximum) return ATH_OK;
  return ath_fail(ATH_USAGE, "%s is %.12g; it must lie between %.12g and %.12g", s->name, value,
                  s->minimum, s->maximum);
}

static ath_status check_schedule(const ath_train_options *self) {
  ath_schedule_kind kind;
  ATH_TRY(ath_schedule_kind_from_name(self->lr_scheduler_type, &kind));
  if (kind == ATH_SCHEDULE_CONSTANT && (self->warmup_steps > 0 || self->warmup_ratio > 0))
    return ath_fail(ATH_USAGE, "lr_scheduler_type \"constant\" has no warm-up, but warmup_steps is "
                    "%lld and warmup_ratio %g; use constant_with_warmup",
                    (long long)self->warmup_steps, self->warmup_ratio);
  if (self->max_steps == 0 || (self->max_steps < 0 && !(self->num_train_epochs > 0)))
    return ath_fail(ATH_USAGE, "max_steps is %lld and num_train_epochs %g: nothing to train",
                    (long long)self->max_steps, self->num_train_epochs);
  return ATH_OK;
}

ath_status ath_train_options_check(const ath_train_options *self) {
  const struct { const char *name, *value; } needed[] = {
    {"train_dataset", self->train_dataset}, {"output_dir", self->output_dir},
    {"hidden_act", self->hidden_act}, {"lr_scheduler_type", self->lr_scheduler_type},
    {"device", self->device}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (needed[i].value == NULL || *needed[i].value == '\0')
      return ath_fail(ATH_USAGE, "%s is not given; every setting is a flag (with - for _) or a key "
                      "of the --config file", needed[i].name);
  if (self->tokenizer == NULL && self->model_name_or_path == NULL)
    return ath_fail(ATH_USAGE, "tokenizer is not given: the folder that athanor tokenizer train or "
                    "the Hugging Face libraries wrote");
  if (self->config_name != NULL && self->model_name_or_path != NULL)
    return ath_fail(ATH_USAGE, "config_name and model_name_or_path both name an architecture; "
                               "give one of them");
  ath_mesh mesh;
  int64_t first, last;
  ATH_TRY(ath_mesh_parse(self->mesh, &mesh));
  if (self->profile_steps != NULL && *self->profile_steps != '\0')
    ATH_TRY(ath_profile_steps_parse(self->profile_steps, &first, &last));
  for (size_t i = 0; i < SETTING_COUNT; i++) ATH_TRY(check_limits(&settings[i], self));
  return check_schedule(self);
}
