/* test_bf16.c: training in bf16: the step's graph keeps what it learns in f32, its losses follow
 * those of f32, and a device that cannot says so before anything is done. */
#include <math.h>

#include "backends/pjrt_testing.h"
#include "interpreter.h"
#include "training.h"

enum { LAYERS = 2, HIDDEN = 16, VOCAB = 48, BATCH = 4, LENGTH = 8, PLACES = 6, STEPS = 20 };

/* Relative, of a loss. Over 20 steps 0.0009 is the most that was seen. */
static const double TOLERANCE = 0.005;

static ath_model *small_model(void) {
  ath_model_config config = ath_model_config_defaults();
  config.vocab_size = VOCAB;
  config.hidden_size = HIDDEN;
  config.num_hidden_layers = LAYERS;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.pad_token_id = 1;
  config.max_position_embeddings = LENGTH + 2;
  ath_model *model;
  assert_ok(ath_model_create(&config, &model));
  return model;
}

static ath_graph *step_graph(const ath_model *model, ath_dtype compute, bool accumulate) {
  ath_step_options options = {.forward = {.batch_size = BATCH, .length = LENGTH,
                                          .positions = PLACES, .dropout = true, .seed = 5,
                                          .compute = compute},
                              .adam_beta1 = 0.9, .adam_beta2 = 0.999, .adam_epsilon = 1e-8,
                              .weight_decay = 0.01, .max_grad_norm = 1,
                              .accumulate = accumulate};
  ath_graph *graph;
  assert_ok(ath_step_graph(model, &options, true, &graph));
  return graph;
}

/* --- the graph ---------------------------------------------------------------------------- */

/* Weights, moments, accumulated gradients, and with them everything that a checkpoint holds. */
static void every_variable_is_f32_and_every_matrix_converted_once(void **state) {
  (void)state;
  ath_model *model = small_model();
  for (int accumulate = 0; accumulate < 2; accumulate++) {
    ath_graph *graph = step_graph(model, ATH_BF16, accumulate);
    for (size_t v = 0; v < ath_graph_value_count(graph); v++)
      if (ath_graph_kind(graph, (ath_value)v) == ATH_VALUE_VARIABLE)
        assert_int_equal(ath_graph_type(graph, (ath_value)v).dtype, ATH_F32);
    size_t converts = 0, optimiser = 0;
    for (size_t i = 0; i < ath_graph_node_count(graph); i++) {
      const char *name = ath_graph_node(graph, i)->name;
      converts += strcmp(ath_graph_node(graph, i)->op->name, "convert") == 0;
      optimiser += strstr(name, "adamw/convert") != NULL || strstr(name, "clip/convert") != NULL;
    }
    assert_int_equal(converts, 2 * (4 * LAYERS + 2) + 2); /* there and back; see models/test_bf16 */
    assert_int_equal(optimiser, 0);
    ath_graph_destroy(graph);
  }
  ath_model_destroy(model);
}

/* --- twenty steps ------------------------------------------------------------------------- */

/* A value by its name; the graph must have it. */
static void *named(const interpreter *run, const char *name) {
  for (size_t v = 0; v < run->count; v++)
    if (ath_graph_kind(run->graph, (ath_value)v) != ATH_VALUE_RESULT &&
        strcmp(ath_graph_value_name(run->graph, (ath_value)v), name) == 0)
      return run->memory[v];
  fail_msg("no value %s", name);
  return NULL;
}

static float output(const interpreter *run, const char *wanted) {
  for (size_t i = 0; i < ath_graph_output_count(run->graph); i++) {
    const char *name;
    ath_value value = ath_graph_output_at(run->graph, i, &name);
    if (strcmp(name, wanted) == 0) return *(float *)run->memory[value];
  }
  fail_msg("no output %s", wanted);
  return 0;
}

/* Moments 0; matrices wider than the usual 0.02, so that the loss soon leaves log(VOCAB). */
static void initialise(const interpreter *run, const ath_model *model) {
  numbers source = {21};
  for (size_t i = 0; i < ath_model_parameter_count(model); i++) {
    const ath_parameter *p = ath_model_parameter(model, i);
    char moments[2][ATH_PARAMETER_NAME_MAX + 8];
    snprintf(moments[0], sizeof moments[0], "m.%s", p->name);
    snprintf(moments[1], sizeof moments[1], "v.%s", p->name);
    for (int k = 0; k < 2; k++) memset(named(run, moments[k]), 0, ath_type_bytes(&p->type));
    float *values = named(run, p->name);
    bool matrix = ath_parameter_decays(p);
    for (int64_t k = 0; k < ath_type_count(&p->type); k++)
      values[k] = matrix ? 0.3f * next_number(&source)
                         : p->kind == ATH_PARAMETER_NORM_SCALE ? 1.0f : 0.0f;
  }
}

/* Tokens of a few short sequences, so that there is something to learn; every third is asked for.
 */
static void set_batch(const interpreter *run, int step) {
  int32_t *ids = named(run, "input_ids"), *mask = named(run, "attention_mask");
  int32_t *places = named(run, "positions"), *labels = named(run, "labels");
  int32_t *position_ids = named(run, "position_ids");
  float *weights = named(run, "weights");
  for (int i = 0; i < BATCH * LENGTH; i++) {
    ids[i] = 4 + (i / LENGTH + step) % 5 * LENGTH + i % LENGTH;
    position_ids[i] = 2 + i % LENGTH;
    mask[i] = 1;
  }
  for (int i = 0; i < PLACES; i++) {
    places[i] = (3 * i + step) % (BATCH * LENGTH);
    labels[i] = ids[places[i]];
    weights[i] = 1;
  }
  for (int i = 0; i < PLACES; i++) ids[places[i]] = 3;
  *(uint32_t *)named(run, "step") = (uint32_t)step;
  *(float *)named(run, "learning_rate") = 0.01f;
  *(float *)named(run, "correction1") = 1 - powf(0.9f, (float)(step + 1));
  *(float *)named(run, "correction2") = 1 - powf(0.999f, (float)(step + 1));
}

static void train_plainly(ath_dtype compute, float losses[STEPS]) {
  ath_model *model = small_model();
  ath_graph *graph = step_graph(model, compute, false);
  interpreter run = interpreter_make(graph);
  initialise(&run, model);
  for (int step = 0; step < STEPS; step++) {
    set_batch(&run, step);
    assert_ok(interpreter_run(&run));
    losses[step] = output(&run, "loss") / output(&run, "weight");
    interpreter_assign(&run);
  }
  interpreter_free(&run);
  ath_graph_destroy(graph);
  ath_model_destroy(model);
}

static void losses_stay_beside_those_of_f32(void **state) {
  (void)state;
  float half[STEPS], whole[STEPS];
  train_plainly(ATH_BF16, half);
  train_plainly(ATH_F32, whole);
  assert_true(whole[STEPS - 1] < 0.9f * whole[0]);
  int different = 0;
  for (int step = 0; step < STEPS; step++) {
    assert_near(half[step], whole[step], 0, TOLERANCE);
    different += half[step] != whole[step];
  }
  assert_true(different > STEPS / 2); /* bf16 it was */
}

/* --- the setting -------------------------------------------------------------------------- */

static void a_device_of_f32_says_so_at_set_up(void **state) {
  (void)state;
  corpus data;
  make_corpus(&data);
  ath_train_options options = small_run(&data);
  ath_train_summary summary;
  options.bf16 = true;
  assert_fails(ath_train(&options, &summary), ATH_UNSUPPORTED,
               "bf16 is true, but the device cpu computes in f32 only");
  ath_train_options_free(&options);
  free_corpus(&data);
}

/* --- on XLA ------------------------------------------------------------------------------- */

/* The training losses of a run, one for each step. */
static void read_losses(const char *folder, float losses[STEPS]) {
  char path[4200];
  size_t size;
  snprintf(path, sizeof path, "%s/log.jsonl", folder);
  char *text = file_bytes(path, &size);
  for (int step = 0; step < STEPS; step++) {
    char beginning[32];
    snprintf(beginning, sizeof beginning, "{\"step\": %d,", step + 1);
    const char *line = strstr(text, beginning);
    const char *loss = line != NULL ? strstr(line, "\"loss\": ") : NULL;
    if (loss == NULL) fail_msg("%s has no loss of step %d", path, step + 1);
    losses[step] = strtof(loss + 8, NULL);
  }
  free(text);
}

static void train_on(const corpus *data, const char *device, bool bf16, const char *output,
                     ath_train_summary *summary, float losses[STEPS]) {
  ath_train_options options = small_run(data);
  options.device = device;
  options.output_dir = output;
  options.bf16 = bf16;
  options.max_steps = STEPS;
  assert_ok(ath_train(&options, summary));
  read_losses(output, losses);
  ath_train_options_free(&options);
}

/* Beside the embedded engine in f32, which draws the same dropout; and the evaluation of the final
 * weights, in bf16, beside that of the saved model in f32. */
static void a_run_on_xla_stays_beside_f32(void **state) {
  (void)state;
  corpus data;
  float half[STEPS], whole[STEPS];
  ath_train_summary summary;
  ath_eval_result eval;
  ath_eval_options options = {.batch_size = 8, .mlm_probability = 0.15, .seed = 42};
  const char *plugin = cpu_plugins[CPU_PLUGINS - 1];
  if (!have_plugin(plugin)) return;
  setenv("ATHANOR_COMPILE_CACHE", "off", 1);
  make_corpus(&data);
  train_on(&data, "cpu", false, in_folder(data.folder, "f32"), &summary, whole);
  train_on(&data, plugin, true, in_folder(data.folder, "bf16"), &summary, half);
  assert_true(half[STEPS - 1] < half[0]);
  for (int step = 0; step < STEPS; step++) assert_near(half[step], whole[step], 0, TOLERANCE);
  assert_true(memcmp(half, whole, sizeof half) != 0);
  assert_ok(ath_evaluate(in_folder(data.folder, "bf16"), data.validation, "cpu", &options, &eval));
  assert_true(summary.eval.scored == eval.scored && summary.eval.loss != eval.loss);
  assert_near(summary.eval.loss, eval.loss, 0, TOLERANCE);
  free_corpus(&data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_variable_is_f32_and_every_matrix_converted_once),
    cmocka_unit_test(losses_stay_beside_those_of_f32),
    cmocka_unit_test(a_device_of_f32_says_so_at_set_up),
    cmocka_unit_test(a_run_on_xla_stays_beside_f32),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
