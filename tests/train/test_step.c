/* test_step.c: one training step. Micro-batches weigh by their scored positions (known failure J1),
 * padded places count for nothing, decay leaves biases and norms alone, and a step that is not
 * finite says where it began (J6). */
#include <math.h>

#include "training.h"

enum { VOCAB = 8, HIDDEN = 4, LENGTH = 4, ROWS = 2, PLACES = 8 };

typedef struct fixture {
  ath_model *model;
  ath_backend *backend;
  ath_state *state;
  ath_step *step;
} fixture;

static fixture open_step(int rows, bool accumulated, double decay) {
  ath_model_config config = ath_model_config_defaults();
  config.vocab_size = VOCAB;
  config.hidden_size = HIDDEN;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.intermediate_size = 8;
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0;
  config.pad_token_id = 1;
  config.max_position_embeddings = 16;
  fixture f = {0};
  assert_ok(ath_model_create(&config, &f.model));
  assert_ok(ath_backend_open("cpu", &f.backend));
  assert_ok(ath_state_create(f.backend, &f.state));
  ath_step_options options = {.forward = {.batch_size = rows, .length = LENGTH,
                                          .positions = PLACES, .dropout = true},
                              .adam_beta1 = 0.9, .adam_beta2 = 0.999, .adam_epsilon = 1e-8,
                              .weight_decay = decay, .accumulate = accumulated};
  assert_ok(ath_step_create(f.model, &options, f.state, &f.step));
  assert_ok(ath_model_initialise(f.model, f.state, 7, 0));
  return f;
}

static void close_step(fixture *f) {
  ath_step_destroy(f->step);
  ath_state_destroy(f->state);
  ath_backend_close(f->backend);
  ath_model_destroy(f->model);
}

static const ath_parameter *find(const fixture *f, const char *name) {
  for (size_t i = 0; i < ath_model_parameter_count(f->model); i++)
    if (strcmp(ath_model_parameter(f->model, i)->name, name) == 0)
      return ath_model_parameter(f->model, i);
  fail_msg("no parameter %s", name);
  return NULL;
}

static void read_parameter(const fixture *f, const char *name, float *out) {
  assert_ok(ath_state_read(f->state, name, out, ath_type_bytes(&find(f, name)->type)));
}

static void write_parameter(const fixture *f, const char *name, const float *values) {
  assert_ok(ath_state_write(f->state, name, values, ath_type_bytes(&find(f, name)->type)));
}

/* Arrays of one batch; `scored` places, of which place i asks for labels[i]. */
typedef struct arrays {
  int32_t ids[ROWS * 2 * LENGTH], mask[ROWS * 2 * LENGTH], positions[PLACES], labels[PLACES];
  float weights[PLACES];
} arrays;

static ath_batch make_batch(arrays *a, int first_id, int scored, const int32_t *labels) {
  memset(a, 0, sizeof *a);
  for (int i = 0; i < ROWS * 2 * LENGTH; i++) {
    a->ids[i] = 2 + (first_id + i) % (VOCAB - 2);
    a->mask[i] = 1;
  }
  for (int i = 0; i < scored; i++) {
    a->positions[i] = i;
    a->labels[i] = labels[i];
    a->weights[i] = 1;
  }
  return (ath_batch){.input_ids = a->ids, .attention_mask = a->mask, .positions = a->positions,
                     .labels = a->labels, .weights = a->weights, .scored = scored};
}

/* A model whose logits are the decoder's bias, whatever the input. */
static void make_constant_model(const fixture *f, const float bias[VOCAB]) {
  static const float zeros[VOCAB * HIDDEN];
  write_parameter(f, "roberta.embeddings.word_embeddings.weight", zeros);
  write_parameter(f, "lm_head.bias", bias);
}

static void micro_batches_weigh_by_their_scored_positions(void **state) {
  (void)state;
  fixture f = open_step(ROWS, true, 0);
  /* Label 5 costs 4.0, label 6 costs 1.0; label 7 takes the rest of the probability. */
  float bias[VOCAB];
  for (int i = 0; i < VOCAB; i++) bias[i] = -1e4f;
  bias[5] = -4.0f;
  bias[6] = -1.0f;
  bias[7] = (float)log(1 - exp(-4) - exp(-1));
  make_constant_model(&f, bias);
  arrays one, three;
  ath_batch first = make_batch(&one, 0, 1, (int32_t[]){5});
  ath_batch second = make_batch(&three, 3, 3, (int32_t[]){6, 6, 6});
  ath_step_result result;
  assert_ok(ath_step_add(f.step, &first));
  assert_ok(ath_step_apply(f.step, &second, 0, 0, &result));
  assert_near(result.loss / result.weight, 1.75, 0, 1e-6);
  assert_near(result.weight, 4, 0, 0);
  /* The next step starts from zero: the same again. */
  assert_ok(ath_step_add(f.step, &first));
  assert_ok(ath_step_apply(f.step, &second, 1, 0, &result));
  assert_near(result.loss / result.weight, 1.75, 0, 1e-6);
  close_step(&f);
}

static void two_micro_batches_do_what_one_batch_of_both_does(void **state) {
  (void)state;
  fixture halves = open_step(ROWS, true, 0.1), whole = open_step(2 * ROWS, false, 0.1);
  arrays a, b, both;
  ath_batch first = make_batch(&a, 0, 3, (int32_t[]){2, 3, 4});
  ath_batch second = make_batch(&b, ROWS * LENGTH, 1, (int32_t[]){5});
  ath_batch joined = make_batch(&both, 0, 4, (int32_t[]){2, 3, 4, 5});
  both.positions[3] = ROWS * LENGTH; /* row 0 of the second half */
  ath_step_result from_halves, from_whole;
  for (int step = 0; step < 3; step++) {
    assert_ok(ath_step_add(halves.step, &first));
    assert_ok(ath_step_apply(halves.step, &second, step, 1e-2, &from_halves));
    assert_ok(ath_step_apply(whole.step, &joined, step, 1e-2, &from_whole));
    assert_near(from_halves.loss, from_whole.loss, 1e-5, 1e-5);
    assert_near(from_halves.norm, from_whole.norm, 1e-5, 1e-4);
  }
  close_step(&halves);
  close_step(&whole);
}

static void a_batch_without_scored_positions_changes_only_by_decay(void **state) {
  (void)state;
  fixture f = open_step(ROWS, false, 0);
  arrays a;
  ath_batch batch = make_batch(&a, 0, 0, NULL);
  float before[VOCAB * HIDDEN], after[VOCAB * HIDDEN];
  read_parameter(&f, "roberta.embeddings.word_embeddings.weight", before);
  ath_step_result result;
  assert_ok(ath_step_apply(f.step, &batch, 0, 0.1, &result));
  read_parameter(&f, "roberta.embeddings.word_embeddings.weight", after);
  assert_memory_equal(before, after, sizeof before);
  assert_near(result.loss, 0, 0, 0);
  assert_null(ath_step_culprit(f.step));
  close_step(&f);
}

static void decay_acts_on_matrices_and_embeddings_only(void **state) {
  (void)state;
  fixture f = open_step(ROWS, false, 0.5);
  arrays a;
  ath_batch batch = make_batch(&a, 0, 0, NULL); /* no gradient: what changes, decay changed */
  ath_step_result result;
  for (size_t i = 0; i < ath_model_parameter_count(f.model); i++) {
    const ath_parameter *p = ath_model_parameter(f.model, i);
    float ones[3 * HIDDEN * HIDDEN * 4];
    assert_true(sizeof ones >= ath_type_bytes(&p->type));
    for (size_t j = 0; j < sizeof ones / sizeof *ones; j++) ones[j] = 1;
    write_parameter(&f, p->name, ones);
  }
  assert_ok(ath_step_apply(f.step, &batch, 0, 0.1, &result));
  for (size_t i = 0; i < ath_model_parameter_count(f.model); i++) {
    const ath_parameter *p = ath_model_parameter(f.model, i);
    float values[3 * HIDDEN * HIDDEN * 4];
    read_parameter(&f, p->name, values);
    bool spared = strstr(p->name, "bias") != NULL || strstr(p->name, "LayerNorm") != NULL ||
                  strstr(p->name, "layer_norm") != NULL;
    if (fabsf(values[0] - (spared ? 1.0f : 0.95f)) > 1e-6f)
      fail_msg("%s: 1 became %g", p->name, values[0]);
  }
  close_step(&f);
}

static void a_step_that_is_not_finite_names_the_gradient(void **state) {
  (void)state;
  fixture f = open_step(ROWS, false, 0);
  arrays a;
  ath_batch batch = make_batch(&a, 0, 2, (int32_t[]){2, 3});
  float bias[VOCAB] = {0};
  bias[4] = NAN;
  write_parameter(&f, "lm_head.bias", bias);
  ath_step_result result;
  assert_ok(ath_step_apply(f.step, &batch, 0, 1e-3, &result));
  assert_true(isnan(result.loss) && isnan(result.norm));
  assert_non_null(ath_step_culprit(f.step));
  assert_string_equal(ath_step_culprit(f.step), "roberta.embeddings.word_embeddings.weight");
  close_step(&f);
}

/* --- a run that diverges ------------------------------------------------------------------- */

static void a_diverging_run_says_where_and_logs_the_nan(void **state) {
  (void)state;
  corpus data;
  make_corpus(&data);
  ath_train_options options = small_run(&data);
  options.learning_rate = 1e30;
  options.max_grad_norm = 0;
  options.warmup_steps = 0;
  options.lr_scheduler_type = "constant";
  options.save_steps = 1;
  ath_train_summary summary;
  assert_fails(ath_train(&options, &summary), ATH_DIVERGED, "training diverged in batch");
  assert_non_null(strstr(ath_error_text(), "learning rate 1e+30"));
  assert_non_null(strstr(ath_error_text(), "gradient that is not finite is roberta."));
  assert_non_null(strstr(ath_error_text(), "checkpoint-"));
  size_t size;
  char *log = file_bytes(in_folder(data.output, "log.jsonl"), &size);
  assert_true(strstr(log, "\"loss\": NaN") != NULL || strstr(log, "\"grad_norm\": NaN") != NULL ||
              strstr(log, "Infinity") != NULL);
  free(log);
  FILE *model = fopen(in_folder(data.output, "model.safetensors"), "rb");
  assert_null(model); /* nothing was saved over what the user has */
  ath_train_options_free(&options);
  free_corpus(&data);
}

static void a_loss_that_stays_worse_than_guessing_stops_the_run(void **state) {
  (void)state;
  corpus data;
  make_corpus(&data);
  ath_train_options options = small_run(&data);
  options.learning_rate = 10;
  options.max_steps = 40;
  ath_train_summary summary;
  assert_fails(ath_train(&options, &summary), ATH_DIVERGED, "worse than guessing");
  assert_non_null(strstr(ath_error_text(), "3 reports in a row"));
  ath_train_options_free(&options);
  free_corpus(&data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(micro_batches_weigh_by_their_scored_positions),
    cmocka_unit_test(two_micro_batches_do_what_one_batch_of_both_does),
    cmocka_unit_test(a_batch_without_scored_positions_changes_only_by_decay),
    cmocka_unit_test(decay_acts_on_matrices_and_embeddings_only),
    cmocka_unit_test(a_step_that_is_not_finite_names_the_gradient),
    cmocka_unit_test(a_diverging_run_says_where_and_logs_the_nan),
    cmocka_unit_test(a_loss_that_stays_worse_than_guessing_stops_the_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
