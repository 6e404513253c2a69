/* processes.c: what a launcher says of its processes, and what is the same for every store. */
#include "backends/processes.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { PROCESSES_MAX = 1 << 20, PAUSE_FIRST = 500, PAUSE_MAX = 50000 /* microseconds */ };

/* --- the launcher -------------------------------------------------------------------------- */

static bool read_number(const char *name, int least, int *out) {
  const char *text = getenv(name);
  char *end;
  if (text == NULL || *text == '\0') return false;
  long value = strtol(text, &end, 10);
  if (*end != '\0' || value < least || value > PROCESSES_MAX) return false;
  *out = (int)value;
  return true;
}

/* A batch script of Slurm's has no SLURM_STEP_NUM_TASKS: only what srun starts is a process of
 * several. */
ath_launch ath_launch_read(void) {
  static const struct { const char *rank, *size, *launcher; } launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun"},
    {"PMI_RANK", "PMI_SIZE", "mpiexec"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun"},
  };
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
    ath_launch found = {.launcher = launchers[i].launcher};
    if (read_number(launchers[i].size, 1, &found.size) &&
        read_number(launchers[i].rank, 0, &found.rank) && found.rank < found.size)
      return found;
  }
  return (ath_launch){.size = 1, .launcher = "no launcher"};
}

/* --- the store ----------------------------------------------------------------------------- */

void ath_store_close(ath_store *self) {
  if (self != NULL) self->table->close(self);
}

static ath_status check_key(size_t size) {
  if (size > 0 && size <= ATH_STORE_KEY_MAX) return ATH_OK;
  return ath_fail(ATH_INVALID, "a key of %zu bytes; 1 to %d are possible", size,
                  ATH_STORE_KEY_MAX);
}

ath_status ath_store_put(ath_store *self, const void *key, size_t key_size, const void *value,
                         size_t value_size) {
  ATH_TRY(check_key(key_size));
  if (value_size > ATH_STORE_VALUE_MAX)
    return ath_fail(ATH_INVALID, "a value of %zu bytes; at most %d are possible", value_size,
                    ATH_STORE_VALUE_MAX);
  return self->table->put(self, key, key_size, value, value_size);
}

ath_status ath_store_try_get(ath_store *self, const void *key, size_t key_size, ath_buffer *out) {
  ATH_TRY(check_key(key_size));
  return self->table->try_get(self, key, key_size, out);
}

/* Asks again and again, less and less often: stores that tell of news do not do so everywhere. */
ath_status ath_store_get(ath_store *self, const void *key, size_t key_size, int milliseconds,
                         ath_buffer *out) {
  double end = seconds_now() + 1e-3 * milliseconds;
  useconds_t pause = PAUSE_FIRST;
  assert(milliseconds >= 0);
  for (;;) {
    ath_status status = ath_store_try_get(self, key, key_size, out);
    if (status != ATH_NOT_FOUND) return status;
    if (seconds_now() >= end) break;
    usleep(pause);
    pause = 2 * pause < PAUSE_MAX ? 2 * pause : PAUSE_MAX;
  }
  return ath_fail(ATH_NOT_FOUND, "process %d of %d waited %.1f s for what another should have put",
                  self->rank, self->size, 1e-3 * milliseconds);
}
