/* test_out_of_memory.c: building, differentiating, fusing and planning with the n-th allocation
 * failing: each time ATH_NO_MEMORY comes out, and nothing is left behind (the sanitizer build
 * sees leaks). */
#include "failing_memory.h"

#include "athanor/backend.h"
#include "athanor/ops.h"
#include "base/buffer.h"

static void build(ath_graph *g) {
  ath_value ids = ath_graph_input(g, "ids", ath_type_make(ATH_I32, 1, 3));
  ath_value table = ath_graph_variable(g, "table", ath_type_make(ATH_F32, 2, 5, 4));
  ath_value w = ath_graph_variable(g, "w", ath_type_make(ATH_F32, 2, 4, 4));
  ath_value b = ath_graph_variable(g, "b", ath_type_make(ATH_F32, 1, 4));
  ath_graph_set_scope(g, "layer");
  ath_value x = ath_embedding(g, table, ids, -1);
  ath_value y = ath_layer_norm(g, ath_add(g, x, ath_linear(g, x, w, b)), b, b, 1e-5f);
  ath_value loss = ath_reduce_sum(g, ath_gelu(g, ath_linear(g, y, w, b), 0));
  ath_value wrt[3] = {table, w, b}, gradients[3] = {ATH_NO_VALUE, ATH_NO_VALUE, ATH_NO_VALUE};
  if (ath_graph_fuse(g) != ATH_OK) return;
  if (ath_graph_gradients(g, loss, wrt, 3, gradients) != ATH_OK) {
    ath_graph_fail(g, ATH_NO_MEMORY, "%s", ath_error_text()); /* may not have stuck */
    return;
  }
  for (int i = 0; i < 3; i++) ath_graph_assign(g, wrt[i], ath_add(g, wrt[i], gradients[i]));
  ath_graph_output(g, "loss", loss);
}

static ath_status build_and_print(void *context) {
  (void)context;
  ath_graph *g;
  ATH_TRY(ath_graph_create(&g));
  build(g);
  ath_buffer text = ath_buffer_make(1 << 16);
  ath_status status = ath_graph_status(g);
  if (status == ATH_OK) status = ath_graph_prune(g);
  if (status == ATH_OK) status = ath_graph_print(g, &text);
  ath_buffer_free(&text);
  ath_graph_destroy(g);
  return status;
}

static void a_graph_survives_every_failing_allocation(void **state) {
  (void)state;
  assert_true(fail_each_allocation(build_and_print, NULL) > 5);
}

static ath_status make_program(void *context) {
  const ath_graph *g = context;
  ath_backend *backend = NULL;
  ath_state *state = NULL;
  ath_program *program = NULL;
  ath_status status = ath_backend_open("cpu", &backend);
  if (status == ATH_OK) status = ath_state_create(backend, &state);
  if (status == ATH_OK) status = ath_program_create(g, state, &program);
  ath_program_destroy(program);
  ath_state_destroy(state);
  ath_backend_close(backend);
  return status;
}

static void a_program_survives_every_failing_allocation(void **state) {
  (void)state;
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  build(g);
  assert_ok(ath_graph_status(g));
  assert_true(fail_each_allocation(make_program, g) > 15);
  ath_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_graph_survives_every_failing_allocation),
    cmocka_unit_test(a_program_survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
