/* test_plan.c: the memory plan: storages never overlap in time and place, and random training
 * steps give the same bits under it as in memory of their own and in the plain interpreter. */
#include "athanor/backend.h"
#include "backends/cpu/execute.h"
#include "backends/cpu/plan.h"
#include "random_graph.h"

static bool overlap(const ath_cpu_storage *a, const ath_cpu_storage *b, bool in_time) {
  bool time = a->first <= b->last && b->first <= a->last;
  bool place = a->offset < b->offset + b->size && b->offset < a->offset + a->size;
  return place && (time || !in_time);
}

static void storages_in_use_at_one_time_never_overlap(void **state) {
  (void)state;
  numbers dice = {3};
  for (int round = 0; round < 200; round++) {
    ath_cpu_storage storages[60];
    size_t count = 1 + (size_t)next_below(&dice, 60), total;
    bool reuse = round % 4 != 0;
    for (size_t i = 0; i < count; i++) {
      size_t first = (size_t)next_below(&dice, 40);
      storages[i] = (ath_cpu_storage){.size = (size_t)next_below(&dice, 5000), .first = first,
                                      .last = first + (size_t)next_below(&dice, 10)};
    }
    assert_ok(ath_cpu_allocate(storages, count, reuse, &total));
    for (size_t i = 0; i < count; i++) {
      assert_int_equal(storages[i].offset % 64, 0);
      assert_true(storages[i].offset + storages[i].size <= total);
      for (size_t k = 0; k < i; k++) assert_false(overlap(&storages[i], &storages[k], reuse));
    }
  }
}

static void a_chain_of_storages_takes_two_places(void **state) {
  (void)state;
  ath_cpu_storage storages[10];
  size_t total;
  for (size_t i = 0; i < 10; i++)
    storages[i] = (ath_cpu_storage){.size = 640, .first = i, .last = i + 1};
  assert_ok(ath_cpu_allocate(storages, 10, true, &total));
  assert_int_equal(total, 2 * 640);
  assert_ok(ath_cpu_allocate(storages, 10, false, &total));
  assert_int_equal(total, 10 * 640);
}

/* --- random training steps ---------------------------------------------------------- */

typedef struct engine {
  ath_backend *backend;
  ath_state *state;
  ath_program *program;
} engine;

static engine engine_make(const random_graph *random, bool reuse) {
  engine self;
  assert_ok(ath_backend_open("cpu", &self.backend));
  assert_ok(ath_state_create(self.backend, &self.state));
  assert_ok(ath_cpu_program_make(random->graph, self.state, reuse, &self.program));
  return self;
}

static void engine_free(engine *self) {
  ath_program_destroy(self->program);
  ath_state_destroy(self->state);
  ath_backend_close(self->backend);
}

static void start_equal(interpreter *run, const random_graph *random, engine engines[2]) {
  numbers dice = {11};
  for (int i = 0; i < random->variable_count; i++) {
    ath_value w = random->variables[i];
    fill_numbers(&dice, value_memory(run, w), value_elements(random->graph, w));
    for (int e = 0; e < 2; e++)
      assert_ok(ath_state_write(engines[e].state, ath_graph_value_name(random->graph, w),
                                value_memory(run, w), value_bytes(random->graph, w)));
  }
}

static void compare(const interpreter *run, const random_graph *random, engine *held) {
  float buffer[GRAPH_WIDTH * GRAPH_WIDTH];
  const char *name;
  for (size_t i = 0; i < ath_graph_output_count(random->graph); i++) {
    ath_value value = ath_graph_output_at(random->graph, i, &name);
    assert_ok(ath_program_get_output(held->program, name, buffer));
    assert_memory_equal(buffer, value_memory(run, value), value_bytes(random->graph, value));
  }
}

static void compare_variables(const interpreter *run, const random_graph *random,
                              engine *held) {
  float buffer[GRAPH_WIDTH * GRAPH_WIDTH];
  for (int i = 0; i < random->variable_count; i++) {
    ath_value w = random->variables[i];
    assert_ok(ath_state_read(held->state, ath_graph_value_name(random->graph, w), buffer,
                             value_bytes(random->graph, w)));
    assert_memory_equal(buffer, value_memory(run, w), value_bytes(random->graph, w));
  }
}

static void run_three_steps(const random_graph *random, interpreter *run, engine engines[2]) {
  numbers dice = {13};
  float x[GRAPH_ROWS * GRAPH_WIDTH];
  for (uint32_t step = 1; step <= 3; step++) {
    fill_numbers(&dice, x, GRAPH_ROWS * GRAPH_WIDTH);
    memcpy(value_memory(run, random->pool[0]), x, sizeof x);
    memcpy(value_memory(run, random->step), &step, sizeof step);
    assert_ok(interpreter_run(run));
    for (int e = 0; e < 2; e++) {
      assert_ok(ath_program_set_input(engines[e].program, "x", x));
      assert_ok(ath_program_set_input(engines[e].program, "step", &step));
      assert_ok(ath_program_run(engines[e].program));
      compare(run, random, &engines[e]);
    }
    interpreter_assign(run);
    for (int e = 0; e < 2; e++) compare_variables(run, random, &engines[e]);
  }
}

static void random_steps_give_the_same_bits_under_every_plan(void **state) {
  (void)state;
  size_t planned = 0, unplanned = 0;
  for (uint64_t seed = 0; seed < 120; seed++) {
    random_graph random = random_graph_make(seed);
    ath_value gradients[MAX_VARIABLES];
    assert_ok(ath_graph_gradients(random.graph, random.loss, random.variables,
                                  (size_t)random.variable_count, gradients));
    random_graph_finish(&random, gradients);
    engine engines[2] = {engine_make(&random, true), engine_make(&random, false)};
    ath_program_stats stats = ath_program_get_stats(engines[0].program);
    planned += stats.workspace_bytes;
    unplanned += stats.unplanned_bytes;
    interpreter run = interpreter_make(random.graph);
    start_equal(&run, &random, engines);
    run_three_steps(&random, &run, engines);
    interpreter_free(&run);
    for (int e = 0; e < 2; e++) engine_free(&engines[e]);
    ath_graph_destroy(random.graph);
  }
  assert_true(planned < unplanned / 2);
}

/* The loss with all variables at fixed values, in fresh memory. */
static float loss_now(const random_graph *random) {
  numbers dice = {12};
  interpreter run = interpreter_make(random->graph);
  for (int i = 0; i < random->variable_count; i++)
    fill_numbers(&dice, value_memory(&run, random->variables[i]),
                 value_elements(random->graph, random->variables[i]));
  fill_numbers(&dice, value_memory(&run, random->pool[0]), GRAPH_ROWS * GRAPH_WIDTH);
  *(uint32_t *)value_memory(&run, random->step) = 1;
  assert_ok(interpreter_run(&run));
  float loss = *(float *)value_memory(&run, random->loss);
  interpreter_free(&run);
  return loss;
}

static void pruning_keeps_results_and_drops_the_rest(void **state) {
  (void)state;
  size_t dropped = 0;
  for (uint64_t seed = 500; seed < 520; seed++) {
    random_graph random = random_graph_make(seed);
    ath_graph_output(random.graph, "loss", random.loss);
    size_t before = ath_graph_node_count(random.graph);
    float loss = loss_now(&random);
    assert_ok(ath_graph_prune(random.graph));
    dropped += before - ath_graph_node_count(random.graph);
    float again = loss_now(&random);
    assert_memory_equal(&loss, &again, sizeof loss);
    ath_graph_destroy(random.graph);
  }
  assert_true(dropped > 20);
}

/* --- gradients of random graphs ----------------------------------------------------- */

/* What the loss sums up, summed in double: finer than the loss itself. */
static double loss_at(interpreter *run, const random_graph *random) {
  ath_value terms = ath_graph_producer(random->graph, random->loss)->inputs[0];
  double sum = 0;
  assert_ok(interpreter_run(run));
  for (int64_t i = 0; i < value_elements(random->graph, terms); i++)
    sum += (double)((float *)value_memory(run, terms))[i];
  return sum;
}

/* The slope along a random direction of all variables at once. */
static void check_direction(interpreter *run, random_graph *random, const ath_value *gradients) {
  double ours = 0, slope = 0;
  const float h = 0x1p-10f, shifts[4] = {-2 * h, -h, h, 2 * h};
  const double factors[4] = {1, -8, 8, -1};
  static float origin[MAX_VARIABLES][GRAPH_WIDTH * GRAPH_WIDTH],
               direction[MAX_VARIABLES][GRAPH_WIDTH * GRAPH_WIDTH];
  loss_at(run, random);
  for (int i = 0; i < random->variable_count; i++) {
    int64_t n = value_elements(random->graph, random->variables[i]);
    fill_numbers(&random->numbers, direction[i], n);
    memcpy(origin[i], value_memory(run, random->variables[i]), (size_t)n * sizeof(float));
    for (int64_t k = 0; k < n; k++)
      ours += (double)direction[i][k] * (double)((float *)value_memory(run, gradients[i]))[k];
  }
  for (int s = 0; s < 4; s++) {
    for (int i = 0; i < random->variable_count; i++)
      for (int64_t k = 0; k < value_elements(random->graph, random->variables[i]); k++)
        ((float *)value_memory(run, random->variables[i]))[k] =
            origin[i][k] + shifts[s] * direction[i][k];
    slope += factors[s] * loss_at(run, random) / (12 * (double)h);
  }
  assert_near(ours, slope, 0.02, 0.01);
}

static void gradients_of_random_graphs_are_slopes(void **state) {
  (void)state;
  for (uint64_t seed = 1000; seed < 1100; seed++) {
    random_graph random = random_graph_make(seed);
    ath_value gradients[MAX_VARIABLES];
    assert_ok(ath_graph_gradients(random.graph, random.loss, random.variables,
                                  (size_t)random.variable_count, gradients));
    interpreter run = interpreter_make(random.graph);
    for (int i = 0; i < random.variable_count; i++)
      fill_numbers(&random.numbers, value_memory(&run, random.variables[i]),
                   value_elements(random.graph, random.variables[i]));
    fill_numbers(&random.numbers, value_memory(&run, random.pool[0]), GRAPH_ROWS * GRAPH_WIDTH);
    *(uint32_t *)value_memory(&run, random.step) = 3;
    check_direction(&run, &random, gradients);
    interpreter_free(&run);
    ath_graph_destroy(random.graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(storages_in_use_at_one_time_never_overlap),
    cmocka_unit_test(a_chain_of_storages_takes_two_places),
    cmocka_unit_test(random_steps_give_the_same_bits_under_every_plan),
    cmocka_unit_test(pruning_keeps_results_and_drops_the_rest),
    cmocka_unit_test(gradients_of_random_graphs_are_slopes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
