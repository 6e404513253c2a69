/* test_out_of_memory.c: printing a module, with each of its allocations failing in turn. */
#include "failing_memory.h"

#include "modules.h"

static ath_status replicate(void *user, int kind, const char *name, const ath_type *type,
                            ath_buffer *out) {
  (void)user, (void)kind, (void)name, (void)type;
  return ath_buffer_string(out, "{replicated}");
}

static ath_status print(void *graph) {
  ath_hlo_sharding sharding = {.print = replicate, .partitions = 2};
  ath_hlo_module_options options = {.sharding = &sharding};
  ath_hlo_signature signature;
  ath_arena *arena;
  ath_buffer text = ath_buffer_make(1 << 20);
  ATH_TRY(ath_arena_create(1 << 20, &arena));
  ath_status status = ath_hlo_module_print(graph, &options, arena, &signature, &text);
  ath_buffer_free(&text);
  ath_arena_destroy(arena);
  return status;
}

static void each_failing_allocation_is_reported(void **state) {
  (void)state;
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value x = ath_graph_input(g, "x", matrix), w = ath_graph_variable(g, "w", matrix);
  ath_graph_assign(g, w, squared(g, x));
  for (int i = 0; i < 200; i++) x = twice(g, x); /* more values than the first array of names has */
  ath_graph_output(g, "y", x);
  ath_graph_output(g, "one", ath_graph_constant(g, matrix, 1));
  assert_ok(ath_graph_status(g));
  assert_true(fail_each_allocation(print, g) > 20);
  ath_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_failing_allocation_is_reported)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
