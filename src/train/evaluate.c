/* evaluate.c: loss, perplexity and accuracy over every record of a data set, once each. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "storage/file.h"
#include "train/bind.h"

struct ath_evaluator {
  const ath_model *model;
  ath_forward_options shape;
  ath_share share;
  ath_batcher *batcher;
  ath_program *program;
  int32_t *position_ids; /* [batch_size, length] */
  float *weights;        /* [positions]: the batch's, without records past the last wanted */
  uint64_t samples;      /* records to score */
};

static void add_sums(ath_graph *graph, ath_value logits) {
  ath_cross_entropy_result sums = ath_masked_lm_loss(graph, logits);
  ath_graph_output(graph, "loss", sums.loss);
  ath_graph_output(graph, "weight", sums.weight);
  ath_graph_output(graph, "correct", sums.correct);
}

ath_status ath_evaluation_graph(const ath_model *model, const ath_forward_options *shape,
                                ath_graph **out) {
  return ath_model_graph_with(model, shape, add_sums, out);
}

static ath_status create_program(ath_evaluator *self, ath_state *state) {
  ath_graph *graph;
  ATH_TRY(ath_evaluation_graph(self->model, &self->shape, &graph));
  ath_status status = ath_program_create(graph, state, &self->program);
  ath_graph_destroy(graph);
  return status;
}

static ath_status create_parts(ath_evaluator *self, const ath_dataset *data,
                               const ath_tokenizer *tokenizer, const ath_eval_options *options,
                               ath_state *state) {
  ath_mesh mesh;
  ATH_TRY(ath_mesh_parse(options->mesh, &mesh));
  int length = ath_dataset_length(data), batch_size;
  ATH_TRY(ath_train_batch_size(options->batch_size, &mesh, &batch_size));
  ATH_TRY(ath_model_config_check_length(ath_model_get_config(self->model), length));
  ath_batch_options batches = ath_batch_defaults(tokenizer);
  batches.batch_size = batch_size;
  batches.mlm_probability = options->mlm_probability;
  batches.seed = options->seed;
  batches.shuffle = false;
  batches.fixed_masks = true;
  batches.groups = ath_train_groups(&mesh, batch_size);
  batches.first_group = options->share.first_group;
  batches.group_count = options->share.group_count;
  batches.positions =
      ath_batch_positions(batch_size, length, options->mlm_probability, batches.groups);
  self->shape = (ath_forward_options){.batch_size = batch_size, .length = length,
                                      .positions = batches.positions, .groups = batches.groups,
                                      .compute = options->compute};
  self->share = options->share;
  self->samples = ath_dataset_size(data);
  if (options->max_samples > 0 && options->max_samples < self->samples)
    self->samples = options->max_samples;
  size_t places = (size_t)batch_size * (size_t)length;
  self->position_ids = calloc(places, sizeof *self->position_ids);
  self->weights = calloc((size_t)batches.positions, sizeof *self->weights);
  if (self->position_ids == NULL || self->weights == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory for a batch");
  ATH_TRY(create_program(self, state));
  return ath_batcher_create(data, &batches, &self->batcher);
}

ath_status ath_evaluator_create(const ath_model *model, const ath_dataset *data,
                                const ath_tokenizer *tokenizer, const ath_eval_options *options,
                                ath_state *state, ath_evaluator **out) {
  ath_evaluator *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory");
  self->model = model;
  ath_status status = create_parts(self, data, tokenizer, options, state);
  if (status != ATH_OK) {
    ath_evaluator_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_evaluator_destroy(ath_evaluator *self) {
  if (self == NULL) return;
  ath_batcher_destroy(self->batcher);
  ath_program_destroy(self->program);
  free(self->position_ids);
  free(self->weights);
  free(self);
}

/* Takes the weight from places in rows past the first `rows`. */
static void keep_rows(ath_evaluator *self, const ath_batch *batch, uint64_t rows) {
  int positions = ath_bind_shape(&self->shape, &self->share).positions;
  assert(rows > 0);
  for (int i = 0; i < positions; i++) {
    bool wanted = (uint64_t)(batch->positions[i] / self->shape.length) < rows;
    self->weights[i] = wanted ? batch->weights[i] : 0;
  }
}

/* Adds the batch's sums of loss, weight and correct answers. */
static ath_status score_batch(ath_evaluator *self, const ath_batch *batch, double sums[3]) {
  static const char *const names[3] = {"loss", "weight", "correct"};
  int32_t pad = (int32_t)ath_model_get_config(self->model)->pad_token_id;
  ATH_TRY(ath_bind_batch(self->program, batch, &self->shape, &self->share, pad,
                         self->position_ids));
  ATH_TRY(ath_program_set_input(self->program, "weights", self->weights));
  ATH_TRY(ath_program_run(self->program));
  for (int i = 0; i < 3; i++) {
    float value;
    ATH_TRY(ath_program_get_output(self->program, names[i], &value));
    sums[i] += value;
  }
  return ATH_OK;
}

ath_status ath_evaluator_run(ath_evaluator *self, ath_eval_result *out) {
  double sums[3] = {0}; /* of loss, weight, correct; the order of batches is fixed */
  uint64_t done = 0, batches = 0;
  double start = seconds_now();
  ATH_TRY(ath_batcher_seek(self->batcher, 0));
  while (done < self->samples) {
    const ath_batch *batch;
    ATH_TRY(ath_batcher_next(self->batcher, &batch));
    assert(batch->samples > 0 && batch->epoch == 0);
    keep_rows(self, batch, self->samples - done);
    ATH_TRY(score_batch(self, batch, sums));
    done += (uint64_t)batch->samples;
    batches++;
    ath_progress progress = {.task = "evaluating", .total = self->samples, .unit = "records"};
    progress.done = done < self->samples ? done : self->samples;
    progress.finished = done >= self->samples;
    ath_log_progress(&progress);
  }
  assert(sums[2] <= sums[1]);
  if (!(sums[1] > 0))
    return ath_fail(ATH_INVALID, "the evaluation data have no position to score: %llu records, "
                    "none with a masked token", (unsigned long long)self->samples);
  if (!isfinite(sums[0]))
    return ath_fail(ATH_DIVERGED, "the evaluation loss is %g: the weights are damaged, or their "
                    "training diverged; use an earlier checkpoint", sums[0] / sums[1]);
  double seconds = seconds_now() - start;
  *out = (ath_eval_result){.loss = sums[0] / sums[1], .perplexity = exp(sums[0] / sums[1]),
                           .accuracy = sums[2] / sums[1], .scored = sums[1],
                           .samples = self->samples, .seconds = seconds,
                           .samples_per_second = (double)self->samples / seconds,
                           .batches_per_second = (double)batches / seconds};
  return ATH_OK;
}

/* --- a model folder ------------------------------------------------------------------------ */

typedef struct parts {
  ath_tokenizer *tokenizer;
  ath_dataset *data;
  ath_model *model;
  ath_backend *backend;
  ath_state *state;
  ath_evaluator *evaluator;
} parts;

static ath_status evaluate_parts(parts *p, const char *folder, const char *data,
                                 const char *device, const ath_eval_options *options,
                                 ath_eval_result *out) {
  ath_model_config config;
  ath_mesh mesh;
  char weights[ATH_PATH_MAX];
  ATH_TRY(ath_mesh_parse(options->mesh, &mesh));
  ATH_TRY(ath_path_join(weights, folder, "model.safetensors"));
  ATH_TRY(ath_model_config_load(folder, &config));
  ATH_TRY(ath_tokenizer_load(folder, &p->tokenizer));
  ATH_TRY_CONTEXT(ath_model_config_adopt_ids(&config, p->tokenizer), "%s", folder);
  ATH_TRY(ath_dataset_open(data, &p->data));
  ATH_TRY_CONTEXT(ath_dataset_check_tokenizer(p->data, p->tokenizer), "%s", data);
  ATH_TRY(ath_model_create(&config, &p->model));
  ATH_TRY(ath_backend_open_mesh(device, &mesh, &p->backend));
  ATH_TRY(ath_state_create(p->backend, &p->state));
  ATH_TRY(ath_evaluator_create(p->model, p->data, p->tokenizer, options, p->state,
                               &p->evaluator));
  ATH_TRY(ath_model_load(p->model, p->state, weights));
  return ath_context(ath_evaluator_run(p->evaluator, out), "%s", folder);
}

ath_status ath_evaluate(const char *model, const char *data, const char *device,
                        const ath_eval_options *options, ath_eval_result *out) {
  parts p = {0};
  ath_status status = evaluate_parts(&p, model, data, device, options, out);
  ath_evaluator_destroy(p.evaluator);
  ath_state_destroy(p.state);
  ath_backend_close(p.backend);
  ath_model_destroy(p.model);
  ath_dataset_close(p.data);
  ath_tokenizer_destroy(p.tokenizer);
  return status;
}
