/* test_engine.c: the embedded engine: what all engines do, its own refusals, its statistics. */
#include "base/buffer.h"
#include "engine_contract.h"

static void devices_are_opened_by_name_alone(void **state) {
  (void)state;
  ath_backend *backend;
  assert_fails(ath_backend_open("quantum", &backend), ATH_UNSUPPORTED,
               "device quantum is not known; there are cpu, xla:cpu");
  assert_null(backend);
  assert_ok(ath_backend_open("cpu", &backend));
  assert_non_null(strstr(ath_backend_name(backend), "cpu ("));
  assert_non_null(strstr(ath_backend_name(backend), "thread"));
  ath_backend_close(backend);
  ath_backend_close(NULL);
  ath_state_destroy(NULL);
  ath_program_destroy(NULL);
}

static void accumulators_and_adamw_take_no_workspace(void **state) {
  (void)state;
  engine e = begin();
  ath_type large = ath_type_make(ATH_F32, 2, 1000, 50);
  ath_value sum = ath_graph_variable(e.graph, "sum", large);
  ath_value p = ath_graph_variable(e.graph, "p", large);
  ath_value m = ath_graph_variable(e.graph, "m", large);
  ath_value v = ath_graph_variable(e.graph, "v", large);
  ath_value s = ath_graph_input(e.graph, "s", scalar);
  ath_value x = ath_graph_input(e.graph, "x", large);
  ath_graph_assign(e.graph, sum, ath_add(e.graph, x, sum));
  ath_adamw(e.graph, p, m, v, x, (ath_adamw_scalars){s, s, s, s}, (ath_adamw_options){0});
  ath_program *program = make_program(&e);
  ath_program_stats stats = ath_program_get_stats(program);
  assert_int_equal(stats.variable_bytes, 4 * 200000);
  assert_int_equal(stats.workspace_bytes, 0);
  ath_program_destroy(program);
  end(&e);
}

static void views_and_elementwise_chains_take_the_memory_of_one(void **state) {
  (void)state;
  engine e = begin();
  ath_type large = ath_type_make(ATH_F32, 2, 1000, 50);
  ath_type turned = ath_type_make(ATH_F32, 2, 50, 1000);
  ath_value x = ath_graph_input(e.graph, "x", large);
  ath_value y = ath_scale(e.graph, x, 2);
  for (int i = 0; i < 4; i++)
    y = ath_gelu(e.graph, ath_reshape(e.graph, y, i % 2 ? large : turned), 0);
  ath_graph_output(e.graph, "y", y);
  ath_program *program = make_program(&e);
  ath_program_stats stats = ath_program_get_stats(program);
  assert_int_equal(stats.workspace_bytes, 200000);
  assert_int_equal(stats.unplanned_bytes, 5 * 200000);
  assert_int_equal(stats.nodes, 5); /* views are not run */
  ath_program_destroy(program);
  end(&e);
}

static void a_node_that_fails_is_named(void **state) {
  (void)state;
  engine e = begin();
  ath_graph_set_scope(e.graph, "embeddings/word");
  ath_value table = ath_graph_variable(e.graph, "table", ath_type_make(ATH_F32, 2, 8, 4));
  ath_value ids = ath_graph_input(e.graph, "ids", ath_type_make(ATH_I32, 1, 3));
  ath_graph_output(e.graph, "y", ath_embedding(e.graph, table, ids, -1));
  ath_program *program = make_program(&e);
  int32_t values[3] = {7, 8, 0};
  assert_ok(ath_program_set_input(program, "ids", values));
  assert_fails(ath_program_run(program), ATH_INVALID,
               "embeddings/word/embedding: id 8 at position 1 is not a row of the table, which "
               "has 8");
  values[1] = 0;
  assert_ok(ath_program_run(program));
  ath_program_destroy(program);
  end(&e);
}

static void bf16_is_refused_with_the_node(void **state) {
  (void)state;
  engine e = begin();
  ath_graph_set_scope(e.graph, "layer.0");
  ath_value x = ath_graph_input(e.graph, "x", ath_type_make(ATH_BF16, 1, 4));
  ath_graph_output(e.graph, "y", ath_scale(e.graph, x, 2));
  ath_program *program;
  assert_fails(ath_program_create(e.graph, e.state, &program), ATH_UNSUPPORTED,
               "layer.0/scale: input 0 is bf16[4], but the CPU engine computes in f32");
  end(&e);
}

static void flops_and_profile_tell_where_time_goes(void **state) {
  (void)state;
  engine e = begin();
  ath_value x = ath_graph_input(e.graph, "x", ath_type_make(ATH_F32, 2, 30, 20));
  ath_value w = ath_graph_variable(e.graph, "w", ath_type_make(ATH_F32, 2, 10, 20));
  ath_graph_output(e.graph, "y", ath_gelu(e.graph, ath_linear(e.graph, x, w, ATH_NO_VALUE), 0));
  ath_program *program = make_program(&e);
  assert_true(ath_program_get_stats(program).flops == 2.0 * 30 * 20 * 10);
  ath_buffer text = ath_buffer_make(4096);
  assert_fails(ath_program_profile_print(program, &text), ATH_INVALID, "no run has been profiled");
  static float values[600];
  assert_ok(ath_program_set_input(program, "x", values));
  ath_program_profile(program, true);
  for (int i = 0; i < 3; i++) assert_ok(ath_program_run(program));
  assert_ok(ath_program_profile_print(program, &text));
  assert_non_null(strstr(text.bytes, "linear"));
  assert_non_null(strstr(text.bytes, "activation"));
  assert_non_null(strstr(text.bytes, "100.0%"));
  ath_buffer_free(&text);
  ath_program_destroy(program);
  end(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    CONTRACT_TESTS,
    cmocka_unit_test(devices_are_opened_by_name_alone),
    cmocka_unit_test(accumulators_and_adamw_take_no_workspace),
    cmocka_unit_test(views_and_elementwise_chains_take_the_memory_of_one),
    cmocka_unit_test(a_node_that_fails_is_named),
    cmocka_unit_test(bf16_is_refused_with_the_node),
    cmocka_unit_test(flops_and_profile_tell_where_time_goes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
