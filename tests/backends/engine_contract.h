/* engine_contract.h: what every engine does, tested from outside: states, inputs, outputs,
 * assignments, refusals. Each engine's test runs CONTRACT_TESTS beside its own. */
#ifndef ATHANOR_TESTS_ENGINE_CONTRACT_H
#define ATHANOR_TESTS_ENGINE_CONTRACT_H

#include <math.h>

#include "athanor/backend.h"
#include "athanor/ops.h"
#include "testing.h"

static const char *contract_device = "cpu";

typedef struct engine {
  ath_backend *backend;
  ath_state *state;
  ath_graph *graph;
} engine;

static engine begin(void) {
  engine self;
  assert_ok(ath_backend_open(contract_device, &self.backend));
  assert_ok(ath_state_create(self.backend, &self.state));
  assert_ok(ath_graph_create(&self.graph));
  return self;
}

/* The program of the graph so far; the graph is destroyed, which a program must survive, and a
 * new one begun. */
static ath_program *make_program(engine *self) {
  ath_program *program;
  assert_ok(ath_program_create(self->graph, self->state, &program));
  ath_graph_destroy(self->graph);
  assert_ok(ath_graph_create(&self->graph));
  return program;
}

static void end(engine *self) {
  ath_graph_destroy(self->graph);
  ath_state_destroy(self->state);
  ath_backend_close(self->backend);
}

static void write_floats(const engine *self, const char *name, const float *values, size_t n) {
  assert_ok(ath_state_write(self->state, name, values, n * sizeof(float)));
}

static void expect_variable(const engine *self, const char *name, const float *values, size_t n) {
  float found[64];
  assert_ok(ath_state_read(self->state, name, found, n * sizeof(float)));
  assert_memory_equal(found, values, n * sizeof(float));
}

static void expect_output(ath_program *program, const char *name, const float *values, size_t n) {
  float found[64];
  assert_ok(ath_program_get_output(program, name, found));
  assert_memory_equal(found, values, n * sizeof(float));
}

static const ath_type scalar = {.dtype = ATH_F32};
static const ath_type pair = {.dtype = ATH_F32, .rank = 1, .dims = {2}};

static void variables_begin_at_zero_and_are_shared_by_name(void **state) {
  (void)state;
  engine e = begin();
  ath_value w = ath_graph_variable(e.graph, "w", pair);
  ath_graph_assign(e.graph, w, ath_add(e.graph, w, ath_graph_constant(e.graph, scalar, 1.5)));
  ath_program *add = make_program(&e);
  w = ath_graph_variable(e.graph, "w", pair);
  ath_graph_output(e.graph, "twice", ath_scale(e.graph, w, 2));
  ath_program *twice = make_program(&e);
  expect_variable(&e, "w", (float[]){0, 0}, 2);
  for (int i = 0; i < 2; i++) assert_ok(ath_program_run(add));
  assert_ok(ath_program_run(twice));
  expect_output(twice, "twice", (float[]){6, 6}, 2);
  write_floats(&e, "w", (float[]){1, -1}, 2);
  assert_ok(ath_program_run(twice));
  expect_output(twice, "twice", (float[]){2, -2}, 2);
  const char *name;
  ath_type type;
  assert_true(ath_state_variable(e.state, 0, &name, &type));
  assert_string_equal(name, "w");
  assert_true(ath_type_equal(&type, &pair));
  assert_false(ath_state_variable(e.state, 1, &name, &type));
  ath_program_destroy(add);
  ath_program_destroy(twice);
  end(&e);
}

static void a_variable_of_another_type_or_size_is_refused(void **state) {
  (void)state;
  engine e = begin();
  ath_graph_variable(e.graph, "layer/w", pair);
  ath_program *program = make_program(&e), *other;
  ath_graph_variable(e.graph, "layer/w", scalar);
  assert_fails(ath_program_create(e.graph, e.state, &other), ATH_MISMATCH,
               "variable layer/w is f32[] in the graph, but f32[2] in the state");
  assert_null(other);
  float values[3] = {0};
  assert_fails(ath_state_write(e.state, "layer/w", values, 12), ATH_MISMATCH,
               "variable layer/w is f32[2], 8 bytes, not 12");
  assert_fails(ath_state_read(e.state, "layer/v", values, 8), ATH_NOT_FOUND,
               "there is no variable layer/v");
  ath_program_destroy(program);
  end(&e);
}

static void inputs_must_be_set_if_they_are_read(void **state) {
  (void)state;
  engine e = begin();
  ath_value x = ath_graph_input(e.graph, "x", pair);
  ath_graph_input(e.graph, "unread", pair);
  ath_graph_output(e.graph, "y", ath_scale(e.graph, x, 3));
  ath_program *program = make_program(&e);
  float first[2] = {1, 2}, second[2] = {5, 6};
  assert_fails(ath_program_run(program), ATH_INVALID, "input x has not been set");
  assert_fails(ath_program_set_input(program, "z", first), ATH_NOT_FOUND, "no input z");
  assert_ok(ath_program_set_input(program, "x", first));
  assert_ok(ath_program_run(program));
  expect_output(program, "y", (float[]){3, 6}, 2);
  first[0] = 7; /* the memory is the caller's, read in each run */
  assert_ok(ath_program_run(program));
  expect_output(program, "y", (float[]){21, 6}, 2);
  assert_ok(ath_program_set_input(program, "x", second));
  assert_ok(ath_program_run(program));
  expect_output(program, "y", (float[]){15, 18}, 2);
  assert_fails(ath_program_get_output(program, "z", first), ATH_NOT_FOUND, "no output z");
  ath_program_destroy(program);
  end(&e);
}

static void outputs_are_values_of_the_run_whatever_happens_after(void **state) {
  (void)state;
  engine e = begin();
  ath_value x = ath_graph_input(e.graph, "x", pair), w = ath_graph_variable(e.graph, "w", pair);
  ath_graph_output(e.graph, "x", ath_reshape(e.graph, x, ath_type_make(ATH_F32, 2, 1, 2)));
  ath_graph_output(e.graph, "before", w);
  ath_value sum = ath_add(e.graph, w, x);
  ath_graph_output(e.graph, "after", sum);
  ath_graph_assign(e.graph, w, sum);
  ath_program *program = make_program(&e);
  float input[2] = {1, 2};
  write_floats(&e, "w", (float[]){10, 20}, 2);
  assert_ok(ath_program_set_input(program, "x", input));
  assert_ok(ath_program_run(program));
  input[0] = 99;
  expect_output(program, "x", (float[]){1, 2}, 2);
  expect_output(program, "before", (float[]){10, 20}, 2);
  expect_output(program, "after", (float[]){11, 22}, 2);
  expect_variable(&e, "w", (float[]){11, 22}, 2);
  ath_program_destroy(program);
  end(&e);
}

static void assignments_read_the_values_from_before_the_run(void **state) {
  (void)state;
  engine e = begin();
  ath_value a = ath_graph_variable(e.graph, "a", pair), b = ath_graph_variable(e.graph, "b", pair);
  ath_value c = ath_graph_variable(e.graph, "c", pair), d = ath_graph_variable(e.graph, "d", pair);
  ath_graph_assign(e.graph, a, b); /* a swap */
  ath_graph_assign(e.graph, b, a);
  ath_graph_assign(e.graph, c, ath_scale(e.graph, c, 2));
  ath_value late = ath_add(e.graph, c, a); /* reads c after the node that makes its new value */
  ath_graph_assign(e.graph, d, ath_graph_constant(e.graph, pair, 8));
  ath_graph_output(e.graph, "late", late);
  ath_program *program = make_program(&e);
  write_floats(&e, "a", (float[]){1, 2}, 2);
  write_floats(&e, "b", (float[]){3, 4}, 2);
  write_floats(&e, "c", (float[]){10, 20}, 2);
  assert_ok(ath_program_run(program));
  expect_variable(&e, "a", (float[]){3, 4}, 2);
  expect_variable(&e, "b", (float[]){1, 2}, 2);
  expect_variable(&e, "c", (float[]){20, 40}, 2);
  expect_variable(&e, "d", (float[]){8, 8}, 2);
  expect_output(program, "late", (float[]){11, 22}, 2);
  ath_program_destroy(program);
  end(&e);
}

/* One value to two variables, through views, from an input, from another variable. */
static void assignments_take_values_of_every_sort(void **state) {
  (void)state;
  engine e = begin();
  ath_type row = ath_type_make(ATH_F32, 2, 1, 2);
  ath_value x = ath_graph_input(e.graph, "x", pair), w[6];
  for (int i = 0; i < 6; i++) {
    char name[8];
    snprintf(name, sizeof name, "w%d", i);
    w[i] = ath_graph_variable(e.graph, name, i < 3 ? pair : row);
  }
  ath_value y = ath_scale(e.graph, x, 2);
  ath_graph_assign(e.graph, w[0], y);
  ath_graph_assign(e.graph, w[1], y);
  ath_graph_assign(e.graph, w[2], x);
  ath_graph_assign(e.graph, w[3], ath_reshape(e.graph, y, row));
  ath_graph_assign(e.graph, w[4], ath_reshape(e.graph, w[0], row));
  ath_graph_assign(e.graph, w[5], ath_reshape(e.graph, ath_reshape(e.graph, w[5], pair), row));
  ath_program *program = make_program(&e);
  float input[2] = {1, 2};
  write_floats(&e, "w0", (float[]){50, 60}, 2);
  write_floats(&e, "w5", (float[]){70, 80}, 2);
  assert_ok(ath_program_set_input(program, "x", input));
  assert_ok(ath_program_run(program));
  expect_variable(&e, "w0", (float[]){2, 4}, 2);
  expect_variable(&e, "w1", (float[]){2, 4}, 2);
  expect_variable(&e, "w2", (float[]){1, 2}, 2);
  expect_variable(&e, "w3", (float[]){2, 4}, 2);
  expect_variable(&e, "w4", (float[]){50, 60}, 2);
  expect_variable(&e, "w5", (float[]){70, 80}, 2);
  ath_program_destroy(program);
  end(&e);
}

static void a_result_never_overwrites_what_its_own_node_still_reads(void **state) {
  (void)state;
  engine e = begin();
  ath_value table = ath_graph_variable(e.graph, "table", ath_type_make(ATH_F32, 2, 3, 2));
  ath_value ids = ath_graph_input(e.graph, "ids", ath_type_make(ATH_I32, 1, 3));
  ath_graph_assign(e.graph, table, ath_embedding(e.graph, table, ids, -1));
  ath_program *program = make_program(&e);
  const int32_t turned[3] = {2, 0, 1};
  write_floats(&e, "table", (float[]){1, 2, 3, 4, 5, 6}, 6);
  assert_ok(ath_program_set_input(program, "ids", turned));
  assert_ok(ath_program_run(program));
  expect_variable(&e, "table", (float[]){5, 6, 1, 2, 3, 4}, 6);
  ath_program_destroy(program);
  end(&e);
}

/* Where the gradient is all that is wanted the gathered rows are never made, nor checked there. */
static void a_bad_id_is_refused_by_the_gradient_alone(void **state) {
  (void)state;
  engine e = begin();
  ath_value table = ath_graph_variable(e.graph, "table", ath_type_make(ATH_F32, 2, 8, 4));
  ath_value ids = ath_graph_input(e.graph, "ids", ath_type_make(ATH_I32, 1, 3)), gradient;
  ath_value loss = ath_reduce_sum(e.graph, ath_embedding(e.graph, table, ids, -1));
  assert_ok(ath_graph_gradients(e.graph, loss, &table, 1, &gradient));
  ath_graph_output(e.graph, "gradient", gradient);
  ath_program *program = make_program(&e);
  for (int bad = 0; bad < 2; bad++) {
    int32_t values[3] = {7, 0, bad ? 8 : -1};
    assert_ok(ath_program_set_input(program, "ids", values));
    assert_fails(ath_program_run(program), ATH_INVALID, "at position 2");
  }
  ath_program_destroy(program);
  end(&e);
}

/* 1 + 2^-8 lies midway between two bf16, of which 1 is the even one. */
static void bf16_is_converted_moved_and_filled_in(void **state) {
  (void)state;
  engine e = begin();
  ath_type four = ath_type_make(ATH_F32, 1, 4), halves = ath_type_make(ATH_BF16, 1, 4);
  ath_value x = ath_convert(e.graph, ath_graph_input(e.graph, "x", four), ATH_BF16);
  x = ath_reshape(e.graph, x, ath_type_make(ATH_BF16, 2, 2, 2));
  ath_graph_output(e.graph, "rounded", ath_convert(e.graph, x, ATH_F32));
  ath_graph_output(e.graph, "constant", ath_graph_constant(e.graph, halves, 0.1));
  ath_program *program = make_program(&e);
  const float values[4] = {1, 1 + 0x1p-8f, 1 + 0x1.8p-7f, -0x1.fffffep127f};
  const float rounded[4] = {1, 1, 1 + 0x1p-6f, -INFINITY};
  const uint16_t tenths[4] = {0x3DCD, 0x3DCD, 0x3DCD, 0x3DCD};
  float found[4];
  uint16_t constant[4];
  assert_ok(ath_program_set_input(program, "x", values));
  assert_ok(ath_program_run(program));
  assert_ok(ath_program_get_output(program, "rounded", found));
  assert_ok(ath_program_get_output(program, "constant", constant));
  assert_memory_equal(found, rounded, sizeof rounded);
  assert_memory_equal(constant, tenths, sizeof tenths);
  ath_program_destroy(program);
  end(&e);
}

static void a_graph_with_a_failure_makes_no_program(void **state) {
  (void)state;
  engine e = begin();
  ath_value x = ath_graph_input(e.graph, "x", pair);
  ath_layer_norm(e.graph, x, x, ATH_NO_VALUE, 1e-5f);
  ath_program *program;
  assert_fails(ath_program_create(e.graph, e.state, &program), ATH_INVALID, "beta is missing");
  end(&e);
}

static void dropout_changes_with_the_step_and_comes_back(void **state) {
  (void)state;
  engine e = begin();
  ath_value step = ath_graph_input(e.graph, "step", (ath_type){.dtype = ATH_U32});
  ath_value ones = ath_graph_constant(e.graph, ath_type_make(ATH_F32, 1, 60), 1);
  ath_dropout_place place = {.rate = 0.5f, .seed = 1, .site = 1, .step = step};
  ath_graph_output(e.graph, "y", ath_dropout(e.graph, ones, place));
  ath_program *program = make_program(&e);
  float runs[3][60];
  const uint32_t steps[3] = {1, 2, 1};
  for (int i = 0; i < 3; i++) {
    assert_ok(ath_program_set_input(program, "step", &steps[i]));
    assert_ok(ath_program_run(program));
    assert_ok(ath_program_get_output(program, "y", runs[i]));
  }
  assert_memory_not_equal(runs[0], runs[1], sizeof runs[0]);
  assert_memory_equal(runs[0], runs[2], sizeof runs[0]);
  ath_program_destroy(program);
  end(&e);
}

#define CONTRACT_TESTS \
  cmocka_unit_test(variables_begin_at_zero_and_are_shared_by_name), \
  cmocka_unit_test(a_variable_of_another_type_or_size_is_refused), \
  cmocka_unit_test(inputs_must_be_set_if_they_are_read), \
  cmocka_unit_test(outputs_are_values_of_the_run_whatever_happens_after), \
  cmocka_unit_test(assignments_read_the_values_from_before_the_run), \
  cmocka_unit_test(assignments_take_values_of_every_sort), \
  cmocka_unit_test(a_result_never_overwrites_what_its_own_node_still_reads), \
  cmocka_unit_test(a_bad_id_is_refused_by_the_gradient_alone), \
  cmocka_unit_test(bf16_is_converted_moved_and_filled_in), \
  cmocka_unit_test(a_graph_with_a_failure_makes_no_program), \
  cmocka_unit_test(dropout_changes_with_the_step_and_comes_back)

#endif
