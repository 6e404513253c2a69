/* test_fusion.c: the fused graph computes what the plain one does, values and gradients, and
 * fusion keeps its hands off values that others read. */
#include "interpreter.h"

enum { BATCH = 2, LENGTH = 5, HIDDEN = 8, INNER = 12, HEADS = 2, VARIABLES = 12 };

typedef struct block {
  ath_graph *graph;
  ath_value w[VARIABLES], x, mask, step, y, loss, gradients[VARIABLES + 1];
  int count;
} block;

static ath_value weight(block *self, int rank, int rows, int columns) {
  char name[16];
  snprintf(name, sizeof name, "w%d", self->count);
  ath_type type = rank == 2 ? ath_type_make(ATH_F32, 2, rows, columns)
                            : ath_type_make(ATH_F32, 1, rows);
  return self->w[self->count++] = ath_graph_variable(self->graph, name, type);
}

static ath_value linear(block *self, ath_value x, int out, int in) {
  ath_value w = weight(self, 2, out, in);
  return ath_linear(self->graph, x, w, weight(self, 1, out, 0));
}

static ath_value residual(block *self, ath_value x, ath_value branch, float rate, uint32_t site) {
  ath_dropout_place place = {.rate = rate, .seed = 7, .site = site, .step = self->step};
  branch = ath_dropout(self->graph, branch, place);
  ath_value sum = site == 0 ? ath_add(self->graph, x, branch) : ath_add(self->graph, branch, x);
  ath_value gamma = weight(self, 1, HIDDEN, 0);
  return ath_layer_norm(self->graph, sum, gamma, weight(self, 1, HIDDEN, 0), 1e-5f);
}

/* One layer of an encoder, written plainly. */
static block block_make(float rate, bool fuse) {
  block self = {0};
  assert_ok(ath_graph_create(&self.graph));
  ath_graph *g = self.graph;
  self.x = ath_graph_variable(g, "x", ath_type_make(ATH_F32, 3, BATCH, LENGTH, HIDDEN));
  self.mask = ath_graph_input(g, "mask", ath_type_make(ATH_I32, 2, BATCH, LENGTH));
  self.step = ath_graph_input(g, "step", ath_type_make(ATH_U32, 0));
  ath_graph_set_scope(g, "layer.0");
  ath_value qkv = linear(&self, self.x, 3 * HIDDEN, HIDDEN);
  ath_dropout_place none = {.step = ATH_NO_VALUE};
  ath_value attended = ath_attention(g, qkv, self.mask, HEADS, none);
  ath_value x = residual(&self, self.x, linear(&self, attended, HIDDEN, HIDDEN), rate, 0);
  ath_value inner = ath_activation(g, linear(&self, x, INNER, HIDDEN), ATH_GELU);
  self.y = residual(&self, x, linear(&self, inner, HIDDEN, INNER), rate, 1);
  if (fuse) assert_ok(ath_graph_fuse(g));
  ath_value weighted = ath_multiply(g, self.y, self.x);
  self.loss = ath_reduce_sum(g, weighted);
  assert_ok(ath_graph_status(g));
  ath_value wrt[VARIABLES + 1];
  memcpy(wrt, self.w, sizeof self.w);
  wrt[VARIABLES] = self.x;
  assert_int_equal(self.count, VARIABLES);
  assert_ok(ath_graph_gradients(g, self.loss, wrt, VARIABLES + 1, self.gradients));
  ath_graph_output(g, "loss", self.loss);
  for (int i = 0; i <= VARIABLES; i++) {
    char name[16];
    snprintf(name, sizeof name, "g%d", i);
    ath_graph_output(g, name, self.gradients[i]);
  }
  assert_ok(ath_graph_prune(g));
  return self;
}

static int nodes_called(const ath_graph *graph, const char *op) {
  int count = 0;
  for (size_t i = 0; i < ath_graph_node_count(graph); i++)
    count += strcmp(ath_graph_node(graph, i)->op->name, op) == 0;
  return count;
}

static interpreter block_run(const block *self) {
  interpreter run = interpreter_make(self->graph);
  numbers dice = {21};
  for (int i = 0; i < VARIABLES; i++)
    fill_numbers(&dice, value_memory(&run, self->w[i]), value_elements(self->graph, self->w[i]));
  fill_numbers(&dice, value_memory(&run, self->x), value_elements(self->graph, self->x));
  for (int i = 0; i < BATCH * LENGTH; i++)
    ((int32_t *)value_memory(&run, self->mask))[i] = i % 4 != 3;
  *(uint32_t *)value_memory(&run, self->step) = 5;
  assert_ok(interpreter_run(&run));
  return run;
}

static void compare(const float *a, const float *b, int64_t n) {
  for (int64_t i = 0; i < n; i++) assert_near((double)a[i], (double)b[i], 2e-5, 2e-5);
}

static void a_fused_layer_equals_the_plain_one(void **state) {
  (void)state;
  for (int dropout = 0; dropout < 2; dropout++) {
    block plain = block_make(dropout ? 0.2f : 0, false);
    block fused = block_make(dropout ? 0.2f : 0, true);
    assert_int_equal(nodes_called(fused.graph, "residual_norm"), 2);
    assert_int_equal(nodes_called(fused.graph, "bias_activation"), 1);
    assert_int_equal(nodes_called(fused.graph, "layer_norm"), 0);
    assert_int_equal(nodes_called(fused.graph, "activation"), 0);
    assert_int_equal(nodes_called(fused.graph, "dropout"), 0);
    assert_int_equal(nodes_called(fused.graph, "add"), 0);
    assert_int_equal(nodes_called(fused.graph, "linear"), 4);
    /* The biases' gradients come with the kernels; qkv's alone is summed by itself. */
    assert_int_equal(nodes_called(fused.graph, "reduce_rows"), 1);
    interpreter a = block_run(&plain), b = block_run(&fused);
    compare(value_memory(&a, plain.y), value_memory(&b, fused.y),
            value_elements(plain.graph, plain.y));
    for (int i = 0; i <= VARIABLES; i++)
      compare(value_memory(&a, plain.gradients[i]), value_memory(&b, fused.gradients[i]),
              value_elements(plain.graph, plain.gradients[i]));
    interpreter_free(&a);
    interpreter_free(&b);
    ath_graph_destroy(plain.graph);
    ath_graph_destroy(fused.graph);
  }
}

typedef struct pieces {
  ath_graph *graph;
  ath_value x, w, bias, gamma, linear, added, y;
} pieces;

static pieces pieces_make(void) {
  pieces self;
  assert_ok(ath_graph_create(&self.graph));
  ath_graph *g = self.graph;
  self.x = ath_graph_input(g, "x", ath_type_make(ATH_F32, 2, 4, 3));
  self.w = ath_graph_variable(g, "w", ath_type_make(ATH_F32, 2, 3, 3));
  self.bias = ath_graph_variable(g, "bias", ath_type_make(ATH_F32, 1, 3));
  self.gamma = ath_graph_variable(g, "gamma", ath_type_make(ATH_F32, 1, 3));
  return self;
}

static void values_that_others_read_are_not_fused_away(void **state) {
  (void)state;
  pieces p = pieces_make();
  ath_graph *g = p.graph;
  p.linear = ath_linear(g, p.x, p.w, p.bias);
  ath_activation(g, p.linear, ATH_GELU);
  ath_graph_output(g, "linear", p.linear);
  p.added = ath_add(g, p.x, ath_scale(g, p.x, 2));
  ath_layer_norm(g, p.added, p.gamma, p.bias, 1e-5f);
  ath_scale(g, p.added, 3);
  size_t before = ath_graph_node_count(g);
  assert_ok(ath_graph_fuse(g));
  assert_int_equal(ath_graph_node_count(g), before);
  assert_int_equal(nodes_called(g, "activation"), 1);
  assert_int_equal(nodes_called(g, "layer_norm"), 1);
  ath_graph_destroy(g);
}

static void a_bias_added_by_itself_is_fused_too(void **state) {
  (void)state;
  pieces p = pieces_make();
  ath_graph *g = p.graph;
  p.added = ath_add(g, ath_linear(g, p.x, p.w, ATH_NO_VALUE), p.bias);
  p.y = ath_activation(g, p.added, ATH_TANH);
  ath_value after = ath_scale(g, p.y, 2);
  ath_graph_output(g, "after", after);
  assert_ok(ath_graph_fuse(g));
  assert_ok(ath_graph_prune(g));
  assert_int_equal(ath_graph_node_count(g), 3);
  assert_string_equal(ath_graph_node(g, 1)->op->name, "bias_activation");
  assert_int_equal(ath_graph_node(g, 1)->outputs[0], p.y); /* the number stays right */
  assert_int_equal(ath_graph_node(g, 1)->inputs[1], p.bias);
  assert_ptr_equal(ath_graph_producer(g, p.y), ath_graph_node(g, 1));
  ath_graph_destroy(g);
}

static void a_sum_of_different_shapes_is_no_residual(void **state) {
  (void)state;
  pieces p = pieces_make();
  ath_graph *g = p.graph;
  ath_layer_norm(g, ath_add(g, p.x, p.bias), p.gamma, p.gamma, 1e-5f);
  assert_ok(ath_graph_fuse(g));
  assert_int_equal(nodes_called(g, "layer_norm"), 1);
  assert_int_equal(nodes_called(g, "residual_norm"), 0);
  ath_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_fused_layer_equals_the_plain_one),
    cmocka_unit_test(values_that_others_read_are_not_fused_away),
    cmocka_unit_test(a_bias_added_by_itself_is_fused_too),
    cmocka_unit_test(a_sum_of_different_shapes_is_no_residual),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
