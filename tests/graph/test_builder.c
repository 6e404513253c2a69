/* test_builder.c: building, naming, failing, pruning and printing graphs, and the order of
 * differentiation, with two operations of the test's own: graph/ knows none. */
#include "graph/op.h"
#include "testing.h"

/* twice: y = 2 x; pair: two inputs of one type → two outputs, the second optional input counted. */
static ath_status twice_infer(const void *attributes, const ath_type *inputs, int input_count,
                              ath_type *outputs, int output_count) {
  (void)attributes, (void)output_count;
  char text[96];
  if (input_count != 1 || inputs[0].dtype != ATH_F32)
    return ath_fail(ATH_INVALID, "x is %s, not f32", ath_type_text(&inputs[0], text));
  outputs[0] = inputs[0];
  return ATH_OK;
}

static ath_value twice(ath_graph *g, ath_value x);

static void twice_grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                       const bool *wanted, ath_value *input_gradients) {
  (void)node;
  assert_true(wanted[0]); /* otherwise nobody should have asked */
  input_gradients[0] = twice(g, output_gradients[0]);
}

static ath_status twice_describe(const void *attributes, ath_buffer *out) {
  return ath_buffer_format(out, "factor=%d", *(const int *)attributes);
}

static const ath_op twice_op = {
  .name = "twice", .infer = twice_infer, .grad = twice_grad, .describe = twice_describe};

static ath_value twice(ath_graph *g, ath_value x) {
  int factor = 2;
  ath_value y;
  ath_graph_add(g, &twice_op, &factor, sizeof factor, &x, 1, &y, 1);
  return y;
}

static ath_status pair_infer(const void *attributes, const ath_type *inputs, int input_count,
                             ath_type *outputs, int output_count) {
  (void)attributes, (void)input_count, (void)output_count;
  outputs[0] = inputs[0];
  outputs[1] = ath_type_make(ATH_F32, 1, ath_type_given(&inputs[1]) ? 2 : 1);
  return ATH_OK;
}

static const ath_op pair_op = {.name = "pair", .infer = pair_infer};

static ath_value pair(ath_graph *g, ath_value a, ath_value b, ath_value *second) {
  ath_value inputs[2] = {a, b}, outputs[2];
  ath_graph_add(g, &pair_op, NULL, 0, inputs, 2, outputs, 2);
  *second = outputs[1];
  return outputs[0];
}

static ath_graph *new_graph(void) {
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  return g;
}

static const ath_type vector = {.dtype = ATH_F32, .rank = 1, .dims = {3}};
static const ath_type scalar = {.dtype = ATH_F32};

static void nodes_are_named_by_scope_and_operation(void **state) {
  (void)state;
  ath_graph *g = new_graph();
  ath_value x = ath_graph_input(g, "x", vector), second;
  assert_string_equal(ath_graph_value_name(g, twice(g, x)), "twice");
  char scope[16] = "layer.3";
  ath_graph_set_scope(g, scope);
  strcpy(scope, "overwritten"); /* names are copied */
  assert_string_equal(ath_graph_value_name(g, twice(g, x)), "layer.3/twice");
  assert_string_equal(ath_graph_value_name(g, twice(g, x)), "layer.3/twice_2");
  pair(g, x, ATH_NO_VALUE, &second);
  assert_string_equal(ath_graph_value_name(g, second), "layer.3/pair.1");
  ath_graph_set_scope(g, NULL);
  assert_string_equal(ath_graph_value_name(g, twice(g, x)), "twice_2");
  assert_ok(ath_graph_status(g));
  ath_graph_destroy(g);
}

static void an_optional_input_may_be_left_out(void **state) {
  (void)state;
  ath_graph *g = new_graph();
  ath_value x = ath_graph_input(g, "x", vector), second;
  pair(g, x, ATH_NO_VALUE, &second);
  assert_int_equal(ath_graph_type(g, second).dims[0], 1);
  pair(g, x, x, &second);
  assert_int_equal(ath_graph_type(g, second).dims[0], 2);
  assert_int_equal(ath_graph_uses(g, x), 3);
  assert_ok(ath_graph_status(g));
  ath_graph_destroy(g);
}

static void the_first_failure_sticks(void **state) {
  (void)state;
  ath_graph *g = new_graph();
  ath_value ids = ath_graph_input(g, "ids", ath_type_make(ATH_I32, 1, 3)), second;
  ath_graph_set_scope(g, "here");
  assert_int_equal(twice(g, ids), ATH_NO_VALUE);
  assert_int_equal(twice(g, ATH_NO_VALUE), ATH_NO_VALUE);
  assert_int_equal(ath_graph_input(g, "ids", vector), ATH_NO_VALUE);
  assert_int_equal(pair(g, ids, ATH_NO_VALUE, &second), ATH_NO_VALUE);
  ath_graph_output(g, "y", ATH_NO_VALUE);
  ath_graph_assign(g, ATH_NO_VALUE, ATH_NO_VALUE);
  ath_fail(ATH_IO, "something else in between");
  assert_fails(ath_graph_status(g), ATH_INVALID,
               "here/twice: x is i32[3], not f32 (inputs: ids)");
  assert_fails(ath_graph_prune(g), ATH_INVALID, "here/twice");
  assert_int_equal(ath_graph_node_count(g), 0);
  ath_graph_destroy(g);
}

/* Each of these is refused with this text. */
static void refused(void (*build)(ath_graph *g), const char *text) {
  ath_graph *g = new_graph();
  build(g);
  assert_fails(ath_graph_status(g), ATH_INVALID, text);
  ath_graph_destroy(g);
}

static void two_inputs(ath_graph *g) {
  ath_graph_input(g, "x", vector);
  ath_graph_variable(g, "x", vector); /* another kind: allowed */
  ath_graph_input(g, "x", vector);
}
static void empty_dimension(ath_graph *g) {
  ath_graph_input(g, "x", ath_type_make(ATH_F32, 2, 3, 0));
}
static void huge(ath_graph *g) {
  ath_graph_input(g, "x", (ath_type){.rank = 3, .dims = {1 << 30, 1 << 30, 1 << 30}});
}
static void two_outputs(ath_graph *g) {
  ath_value x = ath_graph_input(g, "x", vector);
  ath_graph_output(g, "y", x);
  ath_graph_output(g, "y", x);
}
static void assign_input(ath_graph *g) {
  ath_value x = ath_graph_input(g, "x", vector);
  ath_graph_assign(g, x, x);
}
static void assign_other_type(ath_graph *g) {
  ath_value w = ath_graph_variable(g, "w", vector);
  ath_graph_assign(g, w, ath_graph_constant(g, scalar, 0));
}
static void assign_twice(ath_graph *g) {
  ath_value w = ath_graph_variable(g, "w", vector), x = ath_graph_input(g, "x", vector);
  ath_graph_assign(g, w, x);
  ath_graph_assign(g, w, twice(g, w));
}
static void no_such_value(ath_graph *g) { twice(g, 77); }

static void mistakes_of_the_caller_are_named(void **state) {
  (void)state;
  refused(two_inputs, "x: the graph already has an input of this name");
  refused(empty_dimension, "x: f32[3, 0] has a dimension below 1");
  refused(huge, "has more than 2^40 elements");
  refused(two_outputs, "output y: made twice");
  refused(assign_input, "which is not a variable");
  refused(assign_other_type, "w: a variable of type f32[3] cannot hold constant f32[]");
  refused(assign_twice, "w: assigned twice, from x and from twice");
  refused(no_such_value, "twice: there is no value 77");
}

static void pruning_keeps_what_outputs_and_assignments_need(void **state) {
  (void)state;
  ath_graph *g = new_graph();
  ath_value x = ath_graph_input(g, "x", vector), w = ath_graph_variable(g, "w", vector);
  ath_value a = twice(g, x), b = twice(g, a), unused = twice(g, b);
  ath_value c = twice(g, w);
  ath_graph_output(g, "b", b);
  ath_graph_assign(g, w, c);
  assert_int_equal(ath_graph_uses(g, b), 2);
  assert_ok(ath_graph_prune(g));
  assert_int_equal(ath_graph_node_count(g), 3);
  for (size_t i = 0; i < 3; i++)
    assert_int_not_equal(ath_graph_node(g, i)->outputs[0], unused);
  assert_int_equal(ath_graph_uses(g, b), 1);
  ath_graph_destroy(g);
}

static void differentiation_touches_only_what_lies_between(void **state) {
  (void)state;
  ath_graph *g = new_graph();
  ath_graph_set_scope(g, "block");
  ath_value w = ath_graph_variable(g, "w", scalar), x = ath_graph_input(g, "x", scalar);
  ath_value other = ath_graph_variable(g, "other", scalar);
  ath_value far = twice(g, twice(g, x)); /* does not depend on w: twice_grad is not called */
  ath_value y = twice(g, w);
  ath_value loss = ath_graph_sum(g, ath_graph_sum(g, y, far), y);
  ath_graph_set_scope(g, "later");
  size_t before = ath_graph_node_count(g);
  ath_value wrt[3] = {w, other, w}, gradients[3];
  assert_ok(ath_graph_gradients(g, loss, wrt, 3, gradients));
  /* y is read twice: one sum of the two ones, then one doubling of it. */
  assert_int_equal(ath_graph_node_count(g), before + 2);
  assert_string_equal(ath_graph_value_name(g, gradients[0]), "block/twice_4");
  assert_int_equal(gradients[2], gradients[0]);
  assert_int_equal(ath_graph_kind(g, gradients[1]), ATH_VALUE_CONSTANT);
  assert_true(ath_graph_constant_fill(g, gradients[1]) == 0);
  assert_string_equal(ath_graph_value_name(g, twice(g, w)), "later/twice"); /* scope is back */
  ath_graph_destroy(g);
}

static void gradients_are_taken_of_scalars_alone(void **state) {
  (void)state;
  ath_graph *g = new_graph();
  ath_value w = ath_graph_variable(g, "w", vector), gradient;
  ath_value y = twice(g, w);
  assert_fails(ath_graph_gradients(g, y, &w, 1, &gradient), ATH_INVALID,
               "twice: gradients are taken of a scalar f32[], not of f32[3]");
  ath_value none = 99;
  ath_value loss = ath_graph_variable(g, "s", scalar);
  assert_fails(ath_graph_gradients(g, loss, &none, 1, &gradient), ATH_INVALID,
               "there is no value 99");
  assert_ok(ath_graph_status(g)); /* refused before anything was added */
  ath_graph_destroy(g);
}

static void a_graph_prints_one_line_per_node(void **state) {
  (void)state;
  ath_graph *g = new_graph();
  ath_value x = ath_graph_input(g, "x", ath_type_make(ATH_F32, 2, 4, 3)), second;
  ath_value w = ath_graph_variable(g, "w", vector);
  ath_value one = ath_graph_constant(g, scalar, 1);
  ath_graph_set_scope(g, "layer.0");
  ath_value y = twice(g, x);
  pair(g, one, ATH_NO_VALUE, &second);
  ath_graph_assign(g, w, twice(g, w));
  ath_graph_output(g, "y", y);
  ath_buffer text = ath_buffer_make(4096);
  assert_ok(ath_graph_print(g, &text));
  assert_string_equal(text.bytes, "%0 input x: f32[4, 3]\n"
                                  "%1 variable w: f32[3]\n"
                                  "%2 constant 1: f32[]\n"
                                  "%3 layer.0/twice: f32[4, 3] <- %0 {factor=2}\n"
                                  "%4, %5 layer.0/pair: f32[], f32[1] <- %2 -\n"
                                  "%6 layer.0/twice_2: f32[3] <- %1 {factor=2}\n"
                                  "variable w := %6\n"
                                  "output y = %3\n");
  ath_buffer_free(&text);
  ath_graph_destroy(g);
}

static void a_graph_of_many_nodes_keeps_them_all(void **state) {
  (void)state;
  ath_graph *g = new_graph();
  ath_value x = ath_graph_input(g, "x", vector), y = x;
  for (int i = 0; i < 5000; i++) y = twice(g, y);
  assert_ok(ath_graph_status(g));
  assert_int_equal(ath_graph_node_count(g), 5000);
  assert_string_equal(ath_graph_value_name(g, y), "twice_5000");
  for (size_t i = 4999; i > 0; i--)
    assert_int_equal(ath_graph_node(g, i)->inputs[0], ath_graph_node(g, i - 1)->outputs[0]);
  ath_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(nodes_are_named_by_scope_and_operation),
    cmocka_unit_test(an_optional_input_may_be_left_out),
    cmocka_unit_test(the_first_failure_sticks),
    cmocka_unit_test(mistakes_of_the_caller_are_named),
    cmocka_unit_test(pruning_keeps_what_outputs_and_assignments_need),
    cmocka_unit_test(differentiation_touches_only_what_lies_between),
    cmocka_unit_test(gradients_are_taken_of_scalars_alone),
    cmocka_unit_test(a_graph_prints_one_line_per_node),
    cmocka_unit_test(a_graph_of_many_nodes_keeps_them_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
