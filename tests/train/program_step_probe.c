/* program_step_probe.c: runs our model on given batches, for test_torch_agreement.py.
 *
 *     train_program_step_probe MODEL INPUT OUTPUT STEPS RATE WARMUP DECAY CLIP
 *
 * INPUT holds input_ids, attention_mask [micro-batches, rows, length], positions, labels, weights
 * [micro-batches, places]. OUTPUT gets logits and loss of the first micro-batch, its gradients as
 * "grad.<Hub name>", and after STEPS steps over all micro-batches the "loss" and "norm" of each
 * step and the parameters as "param.<Hub name>". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/safetensors.h"
#include "athanor/train.h"

enum { ENTRIES_MAX = 4096, NAME_LENGTH_MAX = 128 };

typedef struct probe {
  ath_model *model;
  ath_backend *backend;
  ath_state *state;
  ath_safetensors *input;
  int micro, rows, length, places;
  ath_forward_options shape;
  ath_tensor_entry entries[ENTRIES_MAX];
  char names[ENTRIES_MAX][NAME_LENGTH_MAX];
  size_t count;
} probe;

static const void *input_at(const probe *p, const char *name, int micro) {
  const ath_tensor_entry *entry = ath_safetensors_find(p->input, name);
  if (entry == NULL) return NULL;
  size_t bytes = ath_type_bytes(&entry->type) / (size_t)p->micro;
  return (const char *)entry->data + (size_t)micro * bytes;
}

static void *copy_of(const void *data, size_t bytes) {
  void *copy = malloc(bytes);
  memcpy(copy, data, bytes);
  return copy;
}

static ath_batch batch_at(const probe *p, int micro) {
  size_t tokens = (size_t)p->rows * (size_t)p->length * 4, places = (size_t)p->places * 4;
  return (ath_batch){
    .number = (uint64_t)micro, .samples = p->rows,
    .input_ids = copy_of(input_at(p, "input_ids", micro), tokens),
    .attention_mask = copy_of(input_at(p, "attention_mask", micro), tokens),
    .positions = copy_of(input_at(p, "positions", micro), places),
    .labels = copy_of(input_at(p, "labels", micro), places),
    .weights = copy_of(input_at(p, "weights", micro), places),
  };
}

static void add_entry(probe *p, const char *prefix, const char *name, ath_type type,
                      const void *data) {
  snprintf(p->names[p->count], NAME_LENGTH_MAX, "%s%s", prefix, name);
  p->entries[p->count] = (ath_tensor_entry){p->names[p->count], type, data};
  p->count++;
}

/* Adds a variable-shaped value under its Hub names. */
static void add_parameter(probe *p, const char *prefix, const ath_parameter *parameter,
                          const char *data) {
  for (int part = 0; part < parameter->parts; part++)
    add_entry(p, prefix, parameter->hub[part], parameter->part_type,
              data + (size_t)part * ath_type_bytes(&parameter->part_type));
}

/* --- forward and gradients ----------------------------------------------------------------- */

static ath_status build(const probe *p, ath_graph *graph) {
  size_t count = ath_model_parameter_count(p->model);
  ath_value *parameters = calloc(count, sizeof *parameters);
  ath_value *gradients = calloc(count, sizeof *gradients);
  ath_value logits = ath_model_logits(p->model, graph, &p->shape, parameters);
  ath_cross_entropy_result sums = ath_masked_lm_loss(graph, logits);
  ath_graph_output(graph, "logits", logits);
  ath_graph_output(graph, "loss", sums.loss);
  ath_graph_output(graph, "weight", sums.weight);
  ath_status status = ath_graph_status(graph);
  if (status == ATH_OK) status = ath_graph_fuse(graph);
  if (status == ATH_OK)
    status = ath_graph_gradients(graph, sums.loss, parameters, count, gradients);
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    char name[32];
    snprintf(name, sizeof name, "gradient.%zu", i);
    ath_graph_output(graph, name, gradients[i]);
  }
  if (status == ATH_OK) status = ath_graph_status(graph);
  if (status == ATH_OK) status = ath_graph_prune(graph);
  free(parameters);
  free(gradients);
  return status;
}

static ath_status bind(const probe *p, ath_program *program, const ath_batch *batch) {
  int32_t *positions = malloc((size_t)p->rows * (size_t)p->length * 4);
  ath_position_ids(batch->input_ids, p->rows, p->length,
                   (int32_t)ath_model_get_config(p->model)->pad_token_id, positions);
  ATH_TRY(ath_program_set_input(program, "input_ids", batch->input_ids));
  ATH_TRY(ath_program_set_input(program, "attention_mask", batch->attention_mask));
  ATH_TRY(ath_program_set_input(program, "position_ids", positions));
  ATH_TRY(ath_program_set_input(program, "positions", batch->positions));
  ATH_TRY(ath_program_set_input(program, "labels", batch->labels));
  return ath_program_set_input(program, "weights", batch->weights);
}

static ath_status read_outputs(probe *p, ath_program *program) {
  int64_t vocab = ath_model_get_config(p->model)->vocab_size;
  ath_type logits = ath_type_make(ATH_F32, 2, p->places, (int)vocab);
  ath_type sums = ath_type_make(ATH_F32, 1, 2);
  float *values = malloc(ath_type_bytes(&logits)), *pair = malloc(2 * sizeof *pair);
  ATH_TRY(ath_program_get_output(program, "logits", values));
  ATH_TRY(ath_program_get_output(program, "loss", &pair[0]));
  ATH_TRY(ath_program_get_output(program, "weight", &pair[1]));
  add_entry(p, "", "logits", logits, values);
  add_entry(p, "", "loss_and_weight", sums, pair);
  for (size_t i = 0; i < ath_model_parameter_count(p->model); i++) {
    const ath_parameter *parameter = ath_model_parameter(p->model, i);
    char name[32];
    snprintf(name, sizeof name, "gradient.%zu", i);
    char *data = malloc(ath_type_bytes(&parameter->type));
    ATH_TRY(ath_program_get_output(program, name, data));
    add_parameter(p, "grad.", parameter, data);
  }
  return ATH_OK;
}

static ath_status probe_gradients(probe *p, const char *weights) {
  ath_graph *graph = NULL;
  ath_program *program = NULL;
  ath_batch batch = batch_at(p, 0);
  ATH_TRY(ath_graph_create(&graph));
  ATH_TRY(build(p, graph));
  ATH_TRY(ath_program_create(graph, p->state, &program));
  ATH_TRY(ath_model_load(p->model, p->state, weights));
  ATH_TRY(bind(p, program, &batch));
  ATH_TRY(ath_program_run(program));
  ATH_TRY(read_outputs(p, program));
  ath_program_destroy(program);
  ath_graph_destroy(graph);
  return ATH_OK;
}

/* --- steps --------------------------------------------------------------------------------- */

static ath_status probe_steps(probe *p, int steps, const ath_step_options *options,
                              const ath_schedule *schedule) {
  ath_step *step = NULL;
  float *losses = calloc((size_t)steps, sizeof *losses);
  float *norms = calloc((size_t)steps, sizeof *norms);
  ATH_TRY(ath_step_create(p->model, options, p->state, &step));
  for (int i = 0; i < steps; i++) {
    ath_step_result result;
    for (int m = 0; m < p->micro - 1; m++) {
      ath_batch batch = batch_at(p, m);
      ATH_TRY(ath_step_add(step, &batch));
    }
    ath_batch last = batch_at(p, p->micro - 1);
    ATH_TRY(ath_step_apply(step, &last, i, ath_schedule_rate(schedule, i), &result));
    losses[i] = result.loss / result.weight;
    norms[i] = result.norm;
  }
  ath_step_destroy(step);
  ath_type row = ath_type_make(ATH_F32, 1, steps);
  add_entry(p, "", "losses", row, losses);
  add_entry(p, "", "norms", row, norms);
  for (size_t i = 0; i < ath_model_parameter_count(p->model); i++) {
    const ath_parameter *parameter = ath_model_parameter(p->model, i);
    char *data = malloc(ath_type_bytes(&parameter->type));
    ATH_TRY(ath_state_read(p->state, parameter->name, data, ath_type_bytes(&parameter->type)));
    add_parameter(p, "param.", parameter, data);
  }
  return ATH_OK;
}

static ath_status run(probe *p, char **argv) {
  ath_model_config config;
  char weights[4096];
  snprintf(weights, sizeof weights, "%s/model.safetensors", argv[1]);
  ATH_TRY(ath_model_config_load(argv[1], &config));
  ATH_TRY(ath_model_create(&config, &p->model));
  ATH_TRY(ath_backend_open("cpu", &p->backend));
  ATH_TRY(ath_state_create(p->backend, &p->state));
  ATH_TRY(ath_safetensors_open(argv[2], &p->input));
  const ath_tensor_entry *ids = ath_safetensors_find(p->input, "input_ids");
  const ath_tensor_entry *places = ath_safetensors_find(p->input, "positions");
  if (ids == NULL || places == NULL) return ath_fail(ATH_INVALID, "%s: no inputs", argv[2]);
  p->micro = (int)ids->type.dims[0];
  p->rows = (int)ids->type.dims[1];
  p->length = (int)ids->type.dims[2];
  p->places = (int)places->type.dims[1];
  p->shape = (ath_forward_options){.batch_size = p->rows, .length = p->length,
                                   .positions = p->places};
  ATH_TRY(probe_gradients(p, weights));
  int steps = atoi(argv[4]);
  ath_schedule schedule = {.kind = ATH_SCHEDULE_LINEAR, .peak = atof(argv[5]),
                           .warmup_steps = atoi(argv[6]), .total_steps = steps};
  ath_step_options options = {.forward = p->shape, .adam_beta1 = 0.9, .adam_beta2 = 0.999,
                              .adam_epsilon = 1e-8, .weight_decay = atof(argv[7]),
                              .max_grad_norm = atof(argv[8]), .accumulate = p->micro > 1};
  ATH_TRY(probe_steps(p, steps, &options, &schedule));
  return ath_safetensors_save(argv[3], p->entries, p->count);
}

int main(int argc, char **argv) {
  static probe p;
  if (argc != 9) return 2;
  ath_status status = run(&p, argv);
  if (status != ATH_OK) fprintf(stderr, "%s\n", ath_error_text());
  return (int)status;
}
