/* group.h: several processes, one on each host, that run the same programs together.
 *
 * The mesh has the devices of all of them, process 0's first, and every process makes the same
 * calls in the same order with the same sizes: opening, programs, runs, words, gathering. What
 * differs is data: of an input that the mesh cuts, each process gives the rows of its own share
 * (ath_backend_share), and outputs are the same everywhere. A variable is written whole by every
 * process, which keeps the parts of its own devices.
 *
 * A process that fails must end the others (ath_store_table.end_all, or its exit code, which a
 * launcher heeds): their devices wait for its. */
#ifndef ATHANOR_BACKENDS_GROUP_H
#define ATHANOR_BACKENDS_GROUP_H

#include "athanor/backend.h"
#include "backends/processes.h"

/* Opens a device as one of several processes, which find one another through the store; or, where
 * it is NULL, as the device's plugin finds them by itself, if there are any (a TPU slice).
 * ATH_UNSUPPORTED for a device that does not join processes. The store must last longer. */
ath_status ath_backend_join(const char *device, const ath_mesh *mesh, ath_store *store,
                            ath_backend **out) ATH_MUST_CHECK;
/* Whether the device's plugin may find several processes without a store, by what can be seen
 * without it: a TPU that is here, or a plugin's path where the variables of a slice name hosts. */
bool ath_device_finds_processes(const char *device);

typedef struct ath_group {
  int process, processes; /* 0 of 1 where it is alone */
} ath_group;
ath_group ath_backend_group(const ath_backend *self);

/* The parts of a batch, of the mesh's data * fsdp, that this process's devices work on. */
void ath_backend_share(const ath_backend *self, int *first, int *count);

/* Words from each to all, by way of the devices: told without waiting, in order with the programs'
 * runs; hear waits for what was told `ago` (below 2) tellings before the latest, and fills
 * words[process]. Several processes only. */
enum { ATH_WORDS = 8 };
ath_status ath_backend_tell(ath_backend *self, const int32_t words[ATH_WORDS]) ATH_MUST_CHECK;
ath_status ath_backend_hear(ath_backend *self, int ago, int32_t (*words)[ATH_WORDS])
    ATH_MUST_CHECK;

/* Brings the variables whose parts lie on several processes' devices to process 0, one after the
 * other: until the next run or write, it can read all variables. Alone: nothing to do. */
ath_status ath_state_gather(ath_state *self) ATH_MUST_CHECK;

#endif
