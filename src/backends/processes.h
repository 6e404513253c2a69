/* processes.h: several processes of one run, one on each host: how many there are, and a store of
 * keys and values by which they find one another.
 *
 * A launcher (mpirun, srun) starts the processes. A plugin that joins their devices, CUDA's, does
 * so through the store: it puts what each process has, and waits for what the others put. Any store
 * that fills in the table can serve; PMIx, which both launchers offer, is the one that is here.
 * TPUs need none: libtpu finds its slice by itself. */
#ifndef ATHANOR_BACKENDS_PROCESSES_H
#define ATHANOR_BACKENDS_PROCESSES_H

#include "athanor/status.h"
#include "base/buffer.h"

/* --- the launcher -------------------------------------------------------------------------- */

typedef struct ath_launch {
  int rank, size; /* 0 of 1 where no launcher started this process */
  const char *launcher;
} ath_launch;

/* What the launcher left in the environment: Open MPI's mpirun, PMI's (MPICH, Hydra), or srun. */
ath_launch ath_launch_read(void);

/* --- the store ----------------------------------------------------------------------------- */

/* The largest key and value, of any store: PMIx 4.2's daemon ends at values of 4 MiB. */
enum { ATH_STORE_KEY_MAX = 1 << 12, ATH_STORE_VALUE_MAX = 1 << 20 };

/* Keys and values are any bytes. Calls may come from any thread, and several at a time. */
typedef struct ath_store ath_store;
typedef struct ath_store_table {
  /* Copies a value to where every process finds it. A key is put once. */
  ath_status (*put)(ath_store *self, const void *key, size_t key_size, const void *value,
                    size_t value_size);
  /* Appends the value, if any process has put it; ATH_NOT_FOUND otherwise, at once. */
  ath_status (*try_get)(ath_store *self, const void *key, size_t key_size, ath_buffer *out);
  /* Ends all processes of the run, this one too, with this exit code, telling why; or does nothing,
   * where it cannot. */
  void (*end_all)(ath_store *self, int code, const char *why);
  void (*close)(ath_store *self);
} ath_store_table;
struct ath_store {
  const ath_store_table *table;
  int rank, size;
};

/* The launcher's store. Every process of the run calls this, and waits for the others.
 * ATH_UNSUPPORTED, with what to do, where there is no launcher that has one. */
ath_status ath_store_open(ath_store **out) ATH_MUST_CHECK;
/* When no plugin uses it any more. Every process calls this, and waits for the others, though not
 * for ever: values are to be had as long as their owners are there. NULL is allowed. */
void ath_store_close(ath_store *self);

/* ATH_INVALID for a key or a value that is too large. */
ath_status ath_store_put(ath_store *self, const void *key, size_t key_size, const void *value,
                         size_t value_size) ATH_MUST_CHECK;
ath_status ath_store_try_get(ath_store *self, const void *key, size_t key_size, ath_buffer *out)
    ATH_MUST_CHECK;
/* Waits for the value until the time is up: then ATH_NOT_FOUND. */
ath_status ath_store_get(ath_store *self, const void *key, size_t key_size, int milliseconds,
                         ath_buffer *out) ATH_MUST_CHECK;

#endif
