/* test_steady_memory.c: a run allocates nothing: this program's own malloc counts the calls of
 * every library in it. */
#include <stdatomic.h>

#include "athanor/backend.h"
#include "athanor/ops.h"
#include "testing.h"

static atomic_int calls;

#if defined(__has_feature) /* clang says it another way than gcc */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifndef __SANITIZE_ADDRESS__
/* glibc's own names for its allocator, which stays in use. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  atomic_fetch_add(&calls, 1);
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  atomic_fetch_add(&calls, 1);
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  atomic_fetch_add(&calls, 1);
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add(&calls, 1);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  atomic_fetch_add(&calls, 1);
  *out = __libc_memalign(alignment, size);
  return *out == NULL ? ENOMEM : 0;
}
#endif

enum { BATCH = 4, LENGTH = 32, HIDDEN = 32, CLASSES = 50, WEIGHTS = 7 };

static ath_value w(ath_graph *g, const char *name, int rank, int rows, int columns) {
  return ath_graph_variable(g, name, rank == 2 ? ath_type_make(ATH_F32, 2, rows, columns)
                                               : ath_type_make(ATH_F32, 1, rows));
}

static ath_value scalar(ath_graph *g, const char *name, ath_dtype dtype) {
  return ath_graph_input(g, name, (ath_type){.dtype = dtype});
}

/* One operation of nearly every kind, with its gradient, clipping and AdamW. */
static ath_graph *training_step(void) {
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value ids = ath_graph_input(g, "ids", ath_type_make(ATH_I32, 2, BATCH, LENGTH));
  ath_value mask = ath_graph_input(g, "mask", ath_type_make(ATH_I32, 2, BATCH, LENGTH));
  ath_value labels = ath_graph_input(g, "labels", ath_type_make(ATH_I32, 1, BATCH * LENGTH));
  ath_value weights = ath_graph_input(g, "weights", ath_type_make(ATH_F32, 1, BATCH * LENGTH));
  ath_dropout_place place = {.rate = 0.1f, .seed = 1, .site = 1,
                             .step = scalar(g, "step", ATH_U32)};
  ath_value wrt[WEIGHTS] = {
    w(g, "table", 2, CLASSES, HIDDEN), w(g, "qkv", 2, 3 * HIDDEN, HIDDEN),
    w(g, "bias", 1, 3 * HIDDEN, 0),    w(g, "out", 2, HIDDEN, HIDDEN),
    w(g, "out_bias", 1, HIDDEN, 0),    w(g, "gamma", 1, HIDDEN, 0),
    w(g, "beta", 1, HIDDEN, 0)};
  ath_value x = ath_embedding(g, wrt[0], ids, 0);
  ath_value y = ath_attention(g, ath_linear(g, x, wrt[1], wrt[2]), mask, 4, place);
  y = ath_dropout(g, ath_linear(g, y, wrt[3], wrt[4]), place);
  y = ath_layer_norm(g, ath_add(g, x, y), wrt[5], wrt[6], 1e-5f);
  y = ath_gelu(g, ath_linear(g, y, wrt[3], wrt[4]), 0);
  y = ath_reshape(g, y, ath_type_make(ATH_F32, 2, BATCH * LENGTH, HIDDEN));
  ath_cross_entropy_result result =
      ath_cross_entropy(g, ath_linear(g, y, wrt[0], ATH_NO_VALUE), labels, weights);
  ath_value gradients[WEIGHTS];
  assert_ok(ath_graph_fuse(g));
  assert_ok(ath_graph_gradients(g, result.loss, wrt, WEIGHTS, gradients));
  ath_clip_result clip =
      ath_clip(g, ath_sum_of_squares(g, gradients, WEIGHTS), result.weight, 1);
  ath_adamw_scalars scalars = {scalar(g, "rate", ATH_F32), scalar(g, "c1", ATH_F32),
                               scalar(g, "c2", ATH_F32), clip.scale};
  for (int i = 0; i < WEIGHTS; i++) {
    char names[2][32];
    ath_type type = ath_graph_type(g, wrt[i]);
    snprintf(names[0], sizeof names[0], "m%d", i);
    snprintf(names[1], sizeof names[1], "v%d", i);
    ath_adamw(g, wrt[i], ath_graph_variable(g, names[0], type),
              ath_graph_variable(g, names[1], type), gradients[i], scalars,
              (ath_adamw_options){.beta1 = 0.9f, .beta2 = 0.99f, .epsilon = 1e-6f});
  }
  ath_graph_output(g, "loss", result.loss);
  ath_graph_output(g, "weight", result.weight);
  assert_ok(ath_graph_prune(g));
  return g;
}

static int32_t ids[BATCH * LENGTH], mask[BATCH * LENGTH];
static float weights[BATCH * LENGTH];
static float rate = 0.01f, correction1 = 1, correction2 = 1;
static uint32_t step;

static void set_inputs(ath_program *program) {
  for (int i = 0; i < BATCH * LENGTH; i++) {
    ids[i] = (i * 7 + i / 9) % CLASSES;
    mask[i] = i % 11 != 0;
    weights[i] = i % 3 == 0;
  }
  assert_ok(ath_program_set_input(program, "ids", ids));
  assert_ok(ath_program_set_input(program, "labels", ids));
  assert_ok(ath_program_set_input(program, "mask", mask));
  assert_ok(ath_program_set_input(program, "weights", weights));
  assert_ok(ath_program_set_input(program, "step", &step));
  assert_ok(ath_program_set_input(program, "rate", &rate));
  assert_ok(ath_program_set_input(program, "c1", &correction1));
  assert_ok(ath_program_set_input(program, "c2", &correction2));
}

static void start_weights(ath_state *state) {
  const char *name;
  ath_type type;
  for (size_t i = 0; ath_state_variable(state, i, &name, &type); i++) {
    if ((name[0] == 'm' || name[0] == 'v') && name[1] >= '0' && name[1] <= '9') continue;
    size_t n = (size_t)ath_type_count(&type);
    float *values = malloc(n * sizeof *values);
    for (size_t k = 0; k < n; k++)
      values[k] = (float)((k * 2654435761u + i) % 1000) / 5000.0f - 0.1f;
    assert_ok(ath_state_write(state, name, values, n * sizeof *values));
    free(values);
  }
}

static void a_training_step_allocates_nothing_and_learns(void **state) {
  (void)state;
  ath_backend *backend;
  ath_state *variables;
  ath_program *program;
  assert_ok(ath_backend_open("cpu", &backend));
  assert_ok(ath_state_create(backend, &variables));
  ath_graph *graph = training_step();
  assert_ok(ath_program_create(graph, variables, &program));
  ath_graph_destroy(graph);
  set_inputs(program);
  start_weights(variables);
  float first, loss;
  for (step = 1; step <= 2; step++) assert_ok(ath_program_run(program)); /* threads start here */
  assert_ok(ath_program_get_output(program, "loss", &first));
  int before = atomic_load(&calls);
#ifndef __SANITIZE_ADDRESS__
  assert_true(before > 100); /* making the program did allocate, and was counted */
#endif
  for (step = 3; step <= 60; step++) {
    assert_ok(ath_program_run(program));
    assert_ok(ath_program_get_output(program, "loss", &loss));
  }
  assert_int_equal(atomic_load(&calls), before);
  assert_true(loss < first / 2);
  ath_program_destroy(program);
  ath_state_destroy(variables);
  ath_backend_close(backend);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_training_step_allocates_nothing_and_learns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
