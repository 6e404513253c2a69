/* test_processes.c: what a launcher's environment says, and the contract of a store by a plain one.
 * The same contract over PMIx, between processes, is in test_processes_pmix.py. */
#include "memory_store.h"
#include "store_contract.h"
#include "testing.h"

static void clear_environment(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",
                                      "PMI_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                                      "PMIX_NAMESPACE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

static void assert_launch(int rank, int size, const char *launcher) {
  ath_launch found = ath_launch_read();
  assert_int_equal(found.rank, rank);
  assert_int_equal(found.size, size);
  assert_string_equal(found.launcher, launcher);
}

/* The variables are those of Open MPI's, Hydra's and Slurm's manuals. */
static void a_launcher_is_known_by_its_environment(void **state) {
  (void)state;
  clear_environment();
  assert_launch(0, 1, "no launcher");
  setenv("SLURM_PROCID", "0", 1); /* a batch script's */
  assert_launch(0, 1, "no launcher");
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  setenv("SLURM_PROCID", "3", 1);
  assert_launch(3, 4, "srun");
  setenv("PMI_RANK", "1", 1);
  setenv("PMI_SIZE", "2", 1);
  assert_launch(1, 2, "mpiexec");
  setenv("OMPI_COMM_WORLD_RANK", "7", 1); /* mpirun within a batch script */
  setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  assert_launch(7, 8, "mpirun");
  setenv("OMPI_COMM_WORLD_RANK", "8", 1); /* nonsense is passed over */
  assert_launch(1, 2, "mpiexec");
  clear_environment();
}

static void without_pmix_the_launchers_that_have_it_are_named(void **state) {
  (void)state;
  clear_environment();
  setenv("SLURM_PROCID", "1", 1);
  setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  ath_store *store;
  assert_fails(ath_store_open(&store), ATH_UNSUPPORTED, "process 1 of 2 by srun");
  assert_null(store);
  ath_store_close(store);
  clear_environment();
}

static void *run_contract(void *context) {
  ath_store *store = context;
  return (void *)(intptr_t)store_contract(store);
}

static void assert_contract(int size) {
  ath_store views[VIEWS_MAX];
  pthread_t threads[VIEWS_MAX];
  for (int r = 0; r < size; r++) {
    views[r] = memory_view(r, size);
    assert_int_equal(pthread_create(&threads[r], NULL, run_contract, &views[r]), 0);
  }
  for (int r = 0; r < size; r++) {
    void *failures;
    pthread_join(threads[r], &failures);
    assert_null(failures);
  }
  memory_clear();
}

static void a_store_keeps_its_contract(void **state) {
  (void)state;
  assert_contract(1);
  assert_contract(3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_launcher_is_known_by_its_environment),
    cmocka_unit_test(without_pmix_the_launchers_that_have_it_are_named),
    cmocka_unit_test(a_store_keeps_its_contract),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
