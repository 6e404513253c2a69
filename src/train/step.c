/* step.c: one training step as a graph: forward, loss, gradients, clipping, AdamW.
 *
 * Without accumulation there is one program. With it, a first program adds a micro-batch's
 * gradients and sums to variables, and the second, for the last micro-batch, adds them to its own,
 * updates, and sets them to zero. Losses and gradients are sums over scored positions and are
 * divided by the count of all of them once, at the end, so that micro-batches with few positions
 * do not weigh more than they should. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/bind.h"

struct ath_step {
  const ath_model *model;
  ath_step_options options;
  ath_program *add, *apply; /* add is NULL without accumulation */
  int32_t *position_ids;
  size_t count;             /* parameters */
  size_t culprit;           /* index of a parameter, or `count` */
  uint32_t dropout_step;    /* inputs of the programs, by pointer */
  float learning_rate, correction1, correction2;
};

/* A graph being built. */
typedef struct builder {
  const ath_step *step;
  ath_graph *graph;
  ath_value *parameters, *gradients; /* [count] */
  ath_cross_entropy_result sums;     /* of this micro-batch; with accumulation, of all so far */
} builder;

/* The variable that goes with a parameter: "m.<name>", "v.<name>", "sum.<name>". */
static ath_value prefixed_variable(const builder *b, const char *prefix, const char *name,
                                   ath_type type) {
  char full[ATH_PARAMETER_NAME_MAX + 8];
  snprintf(full, sizeof full, "%s.%s", prefix, name);
  return ath_graph_variable(b->graph, full, type);
}

/* --- the graph ----------------------------------------------------------------------------- */

/* Fusion comes before differentiation, so that fused nodes bring their own gradient kernels. */
static ath_status build_gradients(builder *b) {
  const ath_step *step = b->step;
  assert(step->count == ath_model_parameter_count(step->model));
  ath_value logits =
      ath_model_logits(step->model, b->graph, &step->options.forward, b->parameters);
  b->sums = ath_masked_lm_loss(b->graph, logits);
  ATH_TRY(ath_graph_status(b->graph));
  ATH_TRY(ath_graph_fuse(b->graph));
  return ath_graph_gradients(b->graph, b->sums.loss, b->parameters, step->count, b->gradients);
}

/* value + the variable "sum.<name>", which then holds that, or 0 when the step ends here. */
static ath_value accumulate(const builder *b, const char *name, ath_value value, bool last) {
  ath_type type = ath_graph_type(b->graph, value);
  ath_value sum = prefixed_variable(b, "sum", name, type);
  ath_value total = ath_add(b->graph, sum, value);
  ath_graph_assign(b->graph, sum, last ? ath_graph_constant(b->graph, type, 0) : total);
  return total;
}

static void accumulate_all(builder *b, bool last) {
  assert(b->step->options.accumulate);
  ath_graph_set_scope(b->graph, "accumulate");
  for (size_t i = 0; i < b->step->count; i++) {
    const ath_parameter *p = ath_model_parameter(b->step->model, i);
    b->gradients[i] = accumulate(b, p->name, b->gradients[i], last);
  }
  b->sums.loss = accumulate(b, "loss", b->sums.loss, last);
  b->sums.weight = accumulate(b, "weight", b->sums.weight, last);
  b->sums.correct = accumulate(b, "correct", b->sums.correct, last);
}

/* Each parameter's sum of squares is an output of its own: should the norm not be finite, they
 * tell where it began. */
static ath_clip_result clip(const builder *b) {
  ath_graph_set_scope(b->graph, "clip");
  ath_value total = ATH_NO_VALUE;
  for (size_t i = 0; i < b->step->count; i++) {
    char name[32];
    snprintf(name, sizeof name, "square.%zu", i);
    ath_value square = ath_sum_of_squares(b->graph, &b->gradients[i], 1);
    ath_graph_output(b->graph, name, square);
    total = i == 0 ? square : ath_add(b->graph, total, square);
  }
  return ath_clip(b->graph, total, b->sums.weight, (float)b->step->options.max_grad_norm);
}

/* AdamW on every parameter; decay on matrices and embeddings only. */
static void update(const builder *b, ath_value gradient_scale) {
  const ath_step_options *options = &b->step->options;
  ath_type scalar = ath_type_make(ATH_F32, 0);
  ath_adamw_scalars scalars = {
    .learning_rate = ath_graph_input(b->graph, "learning_rate", scalar),
    .correction1 = ath_graph_input(b->graph, "correction1", scalar),
    .correction2 = ath_graph_input(b->graph, "correction2", scalar),
    .gradient_scale = gradient_scale,
  };
  ath_graph_set_scope(b->graph, "adamw");
  for (size_t i = 0; i < b->step->count; i++) {
    const ath_parameter *p = ath_model_parameter(b->step->model, i);
    ath_adamw_options adamw = {
      .beta1 = (float)options->adam_beta1, .beta2 = (float)options->adam_beta2,
      .epsilon = (float)options->adam_epsilon,
      .weight_decay = ath_parameter_decays(p) ? (float)options->weight_decay : 0,
    };
    ath_adamw(b->graph, b->parameters[i], prefixed_variable(b, "m", p->name, p->type),
              prefixed_variable(b, "v", p->name, p->type), b->gradients[i], scalars, adamw);
  }
}

/* The whole of one program: of a step's last micro-batch, or of one before. */
static ath_status build(builder *b, bool last) {
  ATH_TRY(build_gradients(b));
  if (b->step->options.accumulate) accumulate_all(b, last);
  if (last) {
    ath_clip_result clipped = clip(b);
    update(b, clipped.scale);
    ath_graph_set_scope(b->graph, NULL);
    ath_graph_output(b->graph, "loss", b->sums.loss);
    ath_graph_output(b->graph, "weight", b->sums.weight);
    ath_graph_output(b->graph, "correct", b->sums.correct);
    ath_graph_output(b->graph, "norm", clipped.norm);
  }
  ATH_TRY(ath_graph_status(b->graph));
  return ath_graph_prune(b->graph);
}

/* What is the same for every graph of a step. */
static ath_step step_shape(const ath_model *model, const ath_step_options *options) {
  const ath_model_config *config = ath_model_get_config(model);
  ath_step shape = {.model = model, .options = *options};
  shape.count = shape.culprit = ath_model_parameter_count(model);
  if (config->hidden_dropout_prob == 0 && config->attention_probs_dropout_prob == 0)
    shape.options.forward.dropout = false; /* nothing would read the input "step" */
  return shape;
}

ath_status ath_step_graph(const ath_model *model, const ath_step_options *options, bool last,
                          ath_graph **out) {
  ath_step shape = step_shape(model, options);
  builder b = {.step = &shape};
  *out = NULL;
  assert(last || options->accumulate);
  b.parameters = calloc(shape.count, sizeof *b.parameters);
  b.gradients = calloc(shape.count, sizeof *b.gradients);
  ath_status status = ATH_OK;
  if (b.parameters == NULL || b.gradients == NULL)
    status = ath_fail(ATH_NO_MEMORY, "no memory for the training step");
  if (status == ATH_OK) status = ath_graph_create(&b.graph);
  if (status == ATH_OK) status = build(&b, last);
  if (status == ATH_OK) *out = b.graph;
  else ath_graph_destroy(b.graph);
  free(b.parameters);
  free(b.gradients);
  return status;
}

/* --- creation ------------------------------------------------------------------------------ */

static ath_status create_program(const ath_step *self, ath_state *state, bool last,
                                 ath_program **out) {
  ath_graph *graph;
  ATH_TRY(ath_step_graph(self->model, &self->options, last, &graph));
  ath_status status = ath_program_create(graph, state, out);
  ath_graph_destroy(graph);
  return status;
}

/* Inputs that stay at one place in memory for all runs. */
static ath_status set_scalars(ath_step *self, ath_program *program, bool last) {
  if (self->options.forward.dropout)
    ATH_TRY(ath_program_set_input(program, "step", &self->dropout_step));
  if (!last) return ATH_OK;
  ATH_TRY(ath_program_set_input(program, "learning_rate", &self->learning_rate));
  ATH_TRY(ath_program_set_input(program, "correction1", &self->correction1));
  return ath_program_set_input(program, "correction2", &self->correction2);
}

static ath_status create_programs(ath_step *self, ath_state *state) {
  ATH_TRY(create_program(self, state, true, &self->apply));
  ATH_TRY(set_scalars(self, self->apply, true));
  if (!self->options.accumulate) return ATH_OK;
  ATH_TRY(create_program(self, state, false, &self->add));
  return set_scalars(self, self->add, false);
}

ath_status ath_step_create(const ath_model *model, const ath_step_options *options,
                           ath_state *state, ath_step **out) {
  ath_step *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the training step");
  *self = step_shape(model, options);
  size_t places = (size_t)options->forward.batch_size * (size_t)options->forward.length;
  self->position_ids = calloc(places, sizeof *self->position_ids);
  ath_status status = self->position_ids != NULL
                          ? create_programs(self, state)
                          : ath_fail(ATH_NO_MEMORY, "no memory for the training step");
  if (status != ATH_OK) {
    ath_step_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_step_destroy(ath_step *self) {
  if (self == NULL) return;
  ath_program_destroy(self->add);
  ath_program_destroy(self->apply);
  free(self->position_ids);
  free(self);
}

/* --- running ------------------------------------------------------------------------------- */

/* Dropout counts micro-batches, so that each has masks of its own and a resumed run the same. */
static ath_status run(ath_step *self, ath_program *program, const ath_batch *batch) {
  assert(program == self->apply || program == self->add);
  int32_t pad = (int32_t)ath_model_get_config(self->model)->pad_token_id;
  self->dropout_step = (uint32_t)batch->number;
  ATH_TRY(ath_bind_batch(program, batch, &self->options.forward, &self->options.share, pad,
                         self->position_ids));
  return ath_program_run(program);
}

ath_status ath_step_add(ath_step *self, const ath_batch *batch) {
  assert(self->add != NULL);
  return run(self, self->add, batch);
}

/* Finds the first gradient whose sum of squares is not finite. */
static ath_status find_culprit(ath_step *self, int steps_ago) {
  for (self->culprit = 0; self->culprit < self->count; self->culprit++) {
    char name[32];
    float square;
    snprintf(name, sizeof name, "square.%zu", self->culprit);
    ATH_TRY(ath_program_get_earlier_output(self->apply, steps_ago, name, &square));
    if (!isfinite(square)) break;
  }
  return ATH_OK;
}

ath_status ath_step_start(ath_step *self, const ath_batch *batch, int64_t step,
                          double learning_rate) {
  assert(step >= 0 && learning_rate >= 0);
  self->learning_rate = (float)learning_rate;
  self->correction1 = (float)(1 - pow(self->options.adam_beta1, (double)(step + 1)));
  self->correction2 = (float)(1 - pow(self->options.adam_beta2, (double)(step + 1)));
  return run(self, self->apply, batch);
}

ath_status ath_step_read(ath_step *self, int steps_ago, ath_step_result *result) {
  const struct {
    const char *name;
    float *value;
  } outputs[] = {{"loss", &result->loss}, {"weight", &result->weight},
                 {"correct", &result->correct}, {"norm", &result->norm}};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
    ATH_TRY(ath_program_get_earlier_output(self->apply, steps_ago, outputs[i].name,
                                           outputs[i].value));
  self->culprit = self->count;
  if (isfinite(result->loss) && isfinite(result->norm)) return ATH_OK;
  return find_culprit(self, steps_ago);
}

ath_status ath_step_apply(ath_step *self, const ath_batch *batch, int64_t step,
                          double learning_rate, ath_step_result *result) {
  ATH_TRY(ath_step_start(self, batch, step, learning_rate));
  return ath_step_read(self, 0, result);
}

const char *ath_step_culprit(const ath_step *self) {
  assert(self->culprit <= self->count);
  if (self->culprit == self->count) return NULL;
  return ath_model_parameter(self->model, self->culprit)->name;
}

ath_program *ath_step_program(const ath_step *self) { return self->apply; }
