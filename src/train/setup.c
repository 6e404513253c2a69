/* setup.c: opens what a run needs, and settles what its options leave open. */
#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "train/together.h"

/* --- inputs -------------------------------------------------------------------------------- */

/* Shards and tokenizer must belong together; without a tokenizer of its own the run takes that of
 * the model it starts from. */
static ath_status open_data(ath_run *self) {
  const ath_train_options *o = &self->options;
  const char *tokenizer = o->tokenizer != NULL ? o->tokenizer : o->model_name_or_path;
  ATH_TRY_CONTEXT(ath_tokenizer_load(tokenizer, &self->tokenizer), "tokenizer");
  ATH_TRY_CONTEXT(ath_dataset_open(o->train_dataset, &self->data), "train_dataset");
  ATH_TRY_CONTEXT(ath_dataset_check_tokenizer(self->data, self->tokenizer),
                  "train_dataset");
  if (o->eval_dataset == NULL || *o->eval_dataset == '\0') return ATH_OK;
  ATH_TRY_CONTEXT(ath_dataset_open(o->eval_dataset, &self->eval_data), "eval_dataset");
  return ath_context(ath_dataset_check_tokenizer(self->eval_data, self->tokenizer),
                     "eval_dataset");
}

static int longest_record(const ath_run *self) {
  int length = ath_dataset_length(self->data);
  int other = self->eval_data != NULL ? ath_dataset_length(self->eval_data) : 0;
  return length > other ? length : other;
}

/* --- architecture -------------------------------------------------------------------------- */

static ath_status find_config(const ath_run *self, ath_model_config *config) {
  const ath_train_options *o = &self->options;
  int length = longest_record(self);
  if (o->max_seq_length > 0 && o->max_seq_length != ath_dataset_length(self->data))
    return ath_fail(ATH_MISMATCH, "max_seq_length is %lld, but the records of %s have %d tokens; "
                    "leave it out, or prepare the data anew", (long long)o->max_seq_length,
                    o->train_dataset, ath_dataset_length(self->data));
  ATH_TRY(ath_train_architecture(o, self->tokenizer, length, config));
  return ath_model_config_check_length(config, length);
}

/* The resolved options say what was taken, wherever it came from. */
static void adopt_config(ath_run *self) {
  assert(self->model != NULL);
  const ath_model_config *config = ath_model_get_config(self->model);
  ath_train_options *o = &self->options;
  o->hidden_size = config->hidden_size;
  o->num_hidden_layers = config->num_hidden_layers;
  o->num_attention_heads = config->num_attention_heads;
  o->intermediate_size = config->intermediate_size;
  o->hidden_act = config->hidden_act;
  o->max_position_embeddings = config->max_position_embeddings;
  o->initializer_range = config->initializer_range;
  o->hidden_dropout_prob = config->hidden_dropout_prob;
  o->attention_probs_dropout_prob = config->attention_probs_dropout_prob;
}

/* --- data order and schedule --------------------------------------------------------------- */

static ath_step_options step_options(const ath_run *self) {
  ath_step_options options = ath_train_step_options(&self->options, &self->mesh, self->batch_size,
                                                    ath_dataset_length(self->data));
  options.share = ath_run_share(self);
  return options;
}

/* Order and masks come from the seed alone; see dataset.h. */
static ath_status open_batches(ath_run *self) {
  const ath_train_options *o = &self->options;
  ath_step_options step = step_options(self);
  ath_batch_options options = ath_batch_defaults(self->tokenizer);
  options.batch_size = step.forward.batch_size;
  options.groups = step.forward.groups;
  options.first_group = step.share.first_group;
  options.group_count = step.share.group_count;
  options.positions = step.forward.positions;
  options.mlm_probability = o->mlm_probability;
  options.seed = (uint64_t)o->seed;
  ATH_TRY(ath_batcher_create(self->data, &options, &self->batcher));
  self->batches_per_epoch = ath_batcher_per_epoch(self->batcher);
  assert(self->batches_per_epoch > 0);
  return ATH_OK;
}

/* Steps run on over the ends of epochs; the last may be short of the wish by less than one. */
static ath_status make_schedule(ath_run *self) {
  const ath_train_options *o = &self->options;
  int64_t steps = ath_train_steps(o, self->batches_per_epoch);
  self->schedule = (ath_schedule){.peak = o->learning_rate, .total_steps = steps > 0 ? steps : 1,
                                  .warmup_steps = o->warmup_steps};
  if (o->warmup_steps == 0)
    self->schedule.warmup_steps =
        (int64_t)ceil((double)self->schedule.total_steps * o->warmup_ratio);
  double epochs = (double)self->schedule.total_steps * (double)o->gradient_accumulation_steps /
                  (double)self->batches_per_epoch;
  if (epochs > ATH_EPOCHS_MAX)
    return ath_fail(ATH_INVALID, "%lld steps are %.0f epochs over %s, and at most %d are possible: "
                    "lower max_steps or num_train_epochs, or train on more data",
                    (long long)self->schedule.total_steps, epochs, o->train_dataset,
                    ATH_EPOCHS_MAX);
  return ath_schedule_kind_from_name(o->lr_scheduler_type, &self->schedule.kind);
}

/* --- device and programs ---------------------------------------------------------------------- */

static ath_status open_device(ath_run *self) {
  const ath_train_options *o = &self->options;
  if (self->backend == NULL)
    ATH_TRY(ath_backend_open_mesh(o->device, &self->mesh, &self->backend));
  if (o->bf16 && !ath_backend_computes(self->backend, ATH_BF16))
    return ath_fail(ATH_UNSUPPORTED, "bf16 is true, but the device %s computes in f32 only; leave "
                    "bf16 out, or choose another device", o->device);
  if (ath_profile_is_wanted(o)) ATH_TRY(ath_backend_profile_check(self->backend));
  return ath_state_create(self->backend, &self->state);
}

static ath_status create_step(ath_run *self) {
  ath_step_options options = step_options(self);
  return ath_step_create(self->model, &options, self->state, &self->step);
}

static ath_status create_evaluator(ath_run *self) {
  const ath_train_options *o = &self->options;
  if (self->eval_data == NULL) return ATH_OK;
  ath_eval_options options = {.batch_size = (int)o->per_device_eval_batch_size,
                              .mlm_probability = o->mlm_probability, .seed = (uint64_t)o->seed,
                              .max_samples = (uint64_t)o->max_eval_samples,
                              .compute = o->bf16 ? ATH_BF16 : ATH_F32, .mesh = o->mesh,
                              .share = ath_run_share(self)};
  return ath_evaluator_create(self->model, self->eval_data, self->tokenizer, &options,
                              self->state, &self->evaluator);
}

static ath_status measure_peak(ath_run *self) {
  ATH_TRY(ath_measure_peak(self, self->options.bf16 ? ATH_BF16 : ATH_F32, &self->peak_gflops));
  self->peak_gflops *= ath_mesh_devices(&self->mesh);
  return ATH_OK;
}

/* Cheap checks first: wrong settings should not cost the opening of a large data set. */
static ath_status open_all(ath_run *self) {
  ATH_TRY(ath_train_options_check(&self->options));
  ATH_TRY(ath_mesh_parse(self->options.mesh, &self->mesh));
  ATH_TRY(ath_train_batch_size(self->options.per_device_train_batch_size, &self->mesh,
                               &self->batch_size));
  ATH_TRY(ath_run_join(self));
  ATH_TRY(ath_run_push_open(self));
  ATH_TRY(open_data(self));
  ath_model_config config;
  ATH_TRY(find_config(self, &config));
  ATH_TRY(ath_model_create(&config, &self->model));
  adopt_config(self);
  ATH_TRY(ath_run_compare(self));
  ATH_TRY(open_batches(self));
  return make_schedule(self);
}

ath_status ath_run_open(ath_run *self, const ath_train_options *options) {
  *self = (ath_run){.options = *options, .lock = -1, .group = {0, 1}};
  return open_all(self);
}

/* A signal is heeded between two programs, as it cannot end their compiler. */
ath_status ath_run_open_device(ath_run *self) {
  ath_status (*const parts[])(ath_run *) = {open_device, create_step, create_evaluator,
                                            measure_peak};
  if (self->options.threads > 0) omp_set_num_threads((int)self->options.threads);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (ath_run_stop_asked(self))
      return ath_fail(ATH_INTERRUPTED, "stopped before the first step; nothing was changed");
    ATH_TRY(parts[i](self));
  }
  return ATH_OK;
}

static void close_device(ath_run *self) {
  ath_evaluator_destroy(self->evaluator);
  ath_step_destroy(self->step);
  ath_state_destroy(self->state);
  ath_backend_close(self->backend);
  ath_store_close(self->store);
}

void ath_run_close(ath_run *self) {
  if (self->made_folder) rmdir(self->options.output_dir); /* which fails where it holds a file */
  if (self->lock >= 0) close(self->lock);
  if (!self->lost) close_device(self);
  ath_batcher_destroy(self->batcher);
  ath_model_destroy(self->model);
  ath_dataset_close(self->eval_data);
  ath_dataset_close(self->data);
  ath_tokenizer_destroy(self->tokenizer);
}
