/* peak.c: the yardstick for a run's utilisation: a large matrix product on the same engine. On an
 * accelerator, which is done with it before it was even asked, a larger one. */
#include <math.h>

#include "base/clock.h"
#include "train/together.h"

enum { SIDE_FIRST = 768, SIDE_MAX = 8 * SIDE_FIRST, RUNS = 8 };
static const double LONG_ENOUGH = 2e-3; /* seconds */

/* A variable stays on the device; as a vector it is whole on every device of a mesh, each of which
 * then does the whole product. */
static ath_status build(ath_graph *graph, ath_dtype dtype, int side) {
  ath_value elements = ath_graph_variable(graph, "a", ath_type_make(dtype, 1, side * side));
  ath_value a = ath_reshape(graph, elements, ath_type_make(dtype, 2, side, side));
  ath_graph_output(graph, "c", ath_matmul(graph, a, a, false, true));
  return ath_graph_status(graph);
}

static ath_status time_runs(ath_program *program, double *fastest) {
  *fastest = 1e9;
  for (int i = 0; i < RUNS; i++) {
    double start = seconds_now();
    ATH_TRY(ath_program_run(program));
    ATH_TRY(ath_program_wait(program));
    double taken = seconds_now() - start;
    if (taken < *fastest) *fastest = taken;
  }
  return ATH_OK;
}

/* Seconds of the fastest product of two matrices of side × side. */
static ath_status time_product(ath_backend *backend, ath_dtype dtype, int side,
                               double *fastest) {
  ath_graph *graph = NULL;
  ath_state *state = NULL;
  ath_program *program = NULL;
  ath_status status = ath_graph_create(&graph);
  if (status == ATH_OK) status = build(graph, dtype, side);
  if (status == ATH_OK) status = ath_state_create(backend, &state);
  if (status == ATH_OK) status = ath_program_create(graph, state, &program);
  if (status == ATH_OK) status = time_runs(program, fastest);
  ath_program_destroy(program);
  ath_state_destroy(state);
  ath_graph_destroy(graph);
  return status;
}

/* Several processes go on to the next size together. */
ath_status ath_measure_peak(ath_run *run, ath_dtype dtype, double *gflops) {
  double fastest = 0;
  int side = SIDE_FIRST;
  ATH_TRY(time_product(run->backend, dtype, side, &fastest));
  ATH_TRY(ath_run_agree_number(run, &fastest));
  while (fastest < LONG_ENOUGH && side < SIDE_MAX) {
    side *= 2;
    ATH_TRY(time_product(run->backend, dtype, side, &fastest));
    ATH_TRY(ath_run_agree_number(run, &fastest));
  }
  *gflops = 2e-9 * pow(side, 3) / fastest;
  return ATH_OK;
}
