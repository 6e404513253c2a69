/* program_store.c: one of several processes, started by a launcher, that hold the contract of a
 * store over PMIx; with an argument the process of that number fails instead, and ends all. */
#include "store_contract.h"

enum { SECONDS_MAX = 200 }; /* by which SIGALRM ends a process that hangs */

int main(int argc, char **argv) {
  ath_store *store;
  alarm(SECONDS_MAX);
  if (ath_store_open(&store) != ATH_OK) {
    fprintf(stderr, "%s\n", ath_error_text());
    return 1;
  }
  int failures = 0;
  if (argc > 1) {
    if (store->rank == atoi(argv[1])) store->table->end_all(store, 7, "as the test wants");
    sleep(300);
  } else {
    failures = store_contract(store);
    printf("process %d of %d: %d failures\n", store->rank, store->size, failures);
    fflush(stdout);
  }
  int rank = store->rank;
  ath_store_close(store);
  fprintf(stderr, "process %d: closed\n", rank);
  return failures > 0;
}
