/* peak.c: the yardstick for a run's utilisation: a large matrix product on the same engine. */
#include <stdlib.h>

#include "base/clock.h"
#include "train/run.h"

enum { SIDE = 768, RUNS = 8 };

static ath_status build(ath_graph *graph) {
  ath_type square = ath_type_make(ATH_F32, 2, SIDE, SIDE);
  ath_value a = ath_graph_input(graph, "a", square);
  ath_graph_output(graph, "c", ath_matmul(graph, a, a, false, true));
  return ath_graph_status(graph);
}

static ath_status time_runs(ath_program *program, double *fastest) {
  *fastest = 1e9;
  for (int i = 0; i < RUNS; i++) {
    double start = seconds_now();
    ATH_TRY(ath_program_run(program));
    double taken = seconds_now() - start;
    if (taken < *fastest) *fastest = taken;
  }
  return ATH_OK;
}

ath_status ath_measure_peak(ath_backend *backend, double *gflops) {
  ath_graph *graph = NULL;
  ath_state *state = NULL;
  ath_program *program = NULL;
  double fastest = 1;
  float *zeros = calloc((size_t)SIDE * SIDE, sizeof *zeros);
  ath_status status = zeros != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory");
  if (status == ATH_OK) status = ath_graph_create(&graph);
  if (status == ATH_OK) status = build(graph);
  if (status == ATH_OK) status = ath_state_create(backend, &state);
  if (status == ATH_OK) status = ath_program_create(graph, state, &program);
  if (status == ATH_OK) status = ath_program_set_input(program, "a", zeros);
  if (status == ATH_OK) status = time_runs(program, &fastest);
  if (status == ATH_OK) *gflops = 2e-9 * SIDE * SIDE * SIDE / fastest;
  ath_program_destroy(program);
  ath_state_destroy(state);
  ath_graph_destroy(graph);
  free(zeros);
  return status;
}
