/* test_bf16.c: RoBERTa in bf16: which values change their type and which do not, how few are
 * converted, and loss and gradients beside those of f32. */
#include <math.h>

#include "athanor/model.h"
#include "interpreter.h"

enum { LAYERS = 2, HIDDEN = 16, VOCAB = 40, BATCH = 2, LENGTH = 8, PLACES = 4 };
enum { MAX_PARAMETERS = 64 };

typedef struct built {
  ath_model *model;
  ath_graph *graph;
  ath_value parameters[MAX_PARAMETERS], gradients[MAX_PARAMETERS], loss;
  size_t count;
} built;

/* Forward pass, loss and gradients, as the training step has them. */
static built build(ath_dtype compute) {
  ath_model_config config = ath_model_config_defaults();
  config.vocab_size = VOCAB;
  config.hidden_size = HIDDEN;
  config.num_hidden_layers = LAYERS;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.pad_token_id = 1;
  config.max_position_embeddings = LENGTH + 2;
  built b = {0};
  assert_ok(ath_model_create(&config, &b.model));
  assert_ok(ath_graph_create(&b.graph));
  b.count = ath_model_parameter_count(b.model);
  assert_true(b.count <= MAX_PARAMETERS);
  ath_forward_options options = {.batch_size = BATCH, .length = LENGTH, .positions = PLACES,
                                 .dropout = true, .seed = 3, .compute = compute};
  ath_value logits = ath_model_logits(b.model, b.graph, &options, b.parameters);
  assert_int_equal(ath_graph_type(b.graph, logits).dtype, compute);
  b.loss = ath_masked_lm_loss(b.graph, logits).loss;
  assert_ok(ath_graph_status(b.graph));
  assert_ok(ath_graph_fuse(b.graph));
  assert_ok(ath_graph_gradients(b.graph, b.loss, b.parameters, b.count, b.gradients));
  ath_graph_output(b.graph, "loss", b.loss);
  for (size_t i = 0; i < b.count; i++)
    ath_graph_output(b.graph, ath_model_parameter(b.model, i)->name, b.gradients[i]);
  assert_ok(ath_graph_prune(b.graph));
  return b;
}

static void destroy(built *b) {
  ath_graph_destroy(b->graph);
  ath_model_destroy(b->model);
}

static size_t count_nodes(const ath_graph *graph, const char *op) {
  size_t count = 0;
  for (size_t i = 0; i < ath_graph_node_count(graph); i++)
    count += strcmp(ath_graph_node(graph, i)->op->name, op) == 0;
  return count;
}

/* --- types -------------------------------------------------------------------------------- */

static void parameters_and_their_gradients_are_f32(void **state) {
  (void)state;
  built b = build(ATH_BF16);
  for (size_t i = 0; i < b.count; i++) {
    assert_int_equal(ath_graph_type(b.graph, b.parameters[i]).dtype, ATH_F32);
    assert_int_equal(ath_graph_type(b.graph, b.gradients[i]).dtype, ATH_F32);
  }
  assert_int_equal(ath_graph_type(b.graph, b.loss).dtype, ATH_F32);
  destroy(&b);
}

/* Outside the embeddings the first input of every operation is an activation or its gradient:
 * bf16, but for the converts and for the sum of the f32 gradients that the word embedding gets from
 * two places. */
static void everything_behind_the_embeddings_computes_in_bf16(void **state) {
  (void)state;
  built b = build(ATH_BF16);
  size_t halves = 0;
  for (size_t i = 0; i < ath_graph_node_count(b.graph); i++) {
    const ath_node *node = ath_graph_node(b.graph, i);
    const char *op = node->op->name;
    if (strncmp(node->name, "embeddings/", 11) == 0 || strcmp(op, "convert") == 0) continue;
    if (strcmp(op, "sum") == 0 && ath_graph_type(b.graph, node->inputs[0]).dims[0] == VOCAB)
      continue;
    int first = strcmp(op, "embedding_backward") == 0; /* its ids come first */
    if (ath_graph_type(b.graph, node->inputs[first]).dtype != ATH_BF16)
      fail_msg("%s reads no bf16", node->name);
    halves++;
  }
  assert_true(halves > 10 * LAYERS);
  destroy(&b);
}

/* Four matrices a layer, the head's, and the word embedding as the decoder, there and back, and the
 * embeddings' sum there and back. */
static void each_matrix_is_converted_once_and_its_gradient_once_back(void **state) {
  (void)state;
  built half = build(ATH_BF16), whole = build(ATH_F32);
  size_t matrices = 4 * LAYERS + 2;
  assert_int_equal(count_nodes(half.graph, "convert"), 2 * matrices + 2);
  assert_int_equal(count_nodes(whole.graph, "convert"), 0);
  assert_int_equal(ath_graph_node_count(half.graph),
                   ath_graph_node_count(whole.graph) + 2 * matrices + 2);
  destroy(&half);
  destroy(&whole);
}

/* Only the chosen places reach the product with the vocabulary. */
static void places_are_gathered_before_the_vocabulary(void **state) {
  (void)state;
  built b = build(ATH_BF16);
  for (size_t v = 0; v < ath_graph_value_count(b.graph); v++) {
    ath_type type = ath_graph_type(b.graph, (ath_value)v);
    if (type.rank == 2 && type.dims[1] == VOCAB) assert_int_equal(type.dims[0], PLACES);
  }
  destroy(&b);
}

/* --- numbers ------------------------------------------------------------------------------ */

typedef struct outcome {
  float loss;
  float *gradients[MAX_PARAMETERS];
} outcome;

static void set_inputs(const built *b, interpreter *run) {
  static const int32_t labels[PLACES] = {7, 3, 38, 0}, positions[PLACES] = {2, 5, 11, 0};
  static const float weights[PLACES] = {1, 1, 1, 0};
  numbers source = {11};
  for (size_t v = 0; v < run->count; v++) {
    ath_value value = (ath_value)v;
    if (ath_graph_kind(b->graph, value) != ATH_VALUE_INPUT) continue;
    const char *name = ath_graph_value_name(b->graph, value);
    int32_t *to = value_memory(run, value);
    int64_t n = value_elements(b->graph, value);
    for (int64_t i = 0; i < n; i++) {
      if (strcmp(name, "input_ids") == 0) to[i] = 2 + next_below(&source, VOCAB - 2);
      else if (strcmp(name, "position_ids") == 0) to[i] = 2 + (int32_t)i % LENGTH;
      else to[i] = 1; /* attention_mask and step */
    }
    if (strcmp(name, "labels") == 0) memcpy(to, labels, sizeof labels);
    if (strcmp(name, "positions") == 0) memcpy(to, positions, sizeof positions);
    if (strcmp(name, "weights") == 0) memcpy(to, weights, sizeof weights);
  }
}

/* Matrices as they are drawn for so narrow a model, norms near 1, biases near 0. */
static void set_parameters(const built *b, interpreter *run) {
  numbers source = {12};
  for (size_t i = 0; i < b->count; i++) {
    ath_parameter_kind kind = ath_model_parameter(b->model, i)->kind;
    float *to = value_memory(run, b->parameters[i]);
    int64_t n = value_elements(b->graph, b->parameters[i]);
    fill_numbers(&source, to, n);
    for (int64_t k = 0; k < n; k++) {
      to[k] *= kind == ATH_PARAMETER_MATRIX || kind == ATH_PARAMETER_EMBEDDING ? 0.4f : 0.1f;
      if (kind == ATH_PARAMETER_NORM_SCALE) to[k] += 1;
    }
  }
}

static outcome run_model(ath_dtype compute) {
  built b = build(compute);
  interpreter run = interpreter_make(b.graph);
  set_inputs(&b, &run);
  set_parameters(&b, &run);
  assert_ok(interpreter_run(&run));
  outcome out = {.loss = *(float *)value_memory(&run, b.loss)};
  for (size_t i = 0; i < b.count; i++) {
    size_t bytes = value_bytes(b.graph, b.gradients[i]);
    out.gradients[i] = memcpy(aligned_memory(bytes), value_memory(&run, b.gradients[i]), bytes);
  }
  interpreter_free(&run);
  destroy(&b);
  return out;
}

static void loss_and_gradients_are_those_of_f32_but_for_rounding(void **state) {
  (void)state;
  outcome half = run_model(ATH_BF16), whole = run_model(ATH_F32);
  built b = build(ATH_F32);
  assert_near(half.loss, whole.loss, 0, 5e-3);
  for (size_t i = 0; i < b.count; i++) {
    double difference = 0, length = 0;
    int64_t n = value_elements(b.graph, b.parameters[i]);
    for (int64_t k = 0; k < n; k++) {
      double mine = (double)half.gradients[i][k], theirs = (double)whole.gradients[i][k];
      difference += (mine - theirs) * (mine - theirs);
      length += theirs * theirs;
    }
    if (!(length > 0 && sqrt(difference / length) < 0.05))
      fail_msg("%s: the gradient is %g of its length %g apart",
               ath_model_parameter(b.model, i)->name, sqrt(difference / length), sqrt(length));
    free(half.gradients[i]);
    free(whole.gradients[i]);
  }
  destroy(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(parameters_and_their_gradients_are_f32),
    cmocka_unit_test(everything_behind_the_embeddings_computes_in_bf16),
    cmocka_unit_test(each_matrix_is_converted_once_and_its_gradient_once_back),
    cmocka_unit_test(places_are_gathered_before_the_vocabulary),
    cmocka_unit_test(loss_and_gradients_are_those_of_f32_but_for_rounding),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
