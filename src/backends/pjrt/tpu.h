/* tpu.h: what libtpu has to find in the environment before it is loaded, and whether there is a
 * TPU at all: libtpu itself would ask a metadata server for minutes first. */
#ifndef ATHANOR_BACKENDS_PJRT_TPU_H
#define ATHANOR_BACKENDS_PJRT_TPU_H

#include <stdbool.h>

#include "athanor/status.h"

/* Sets the environment so that libtpu compiles for slices that are not there: it asks no metadata
 * server, takes no lock, and logs nothing (but where TPU_LOG_DIR says). Before other threads
 * run. */
ath_status ath_tpu_prepare_ahead_of_time(void) ATH_MUST_CHECK;

/* Looks for a TPU below `root` ("" for this machine): /dev/accel* or a numbered entry of /dev/vfio.
 * ATH_UNSUPPORTED names what was looked for. On a machine that is no Google virtual machine the
 * metadata server is switched off, and the variables of a slice are checked: TPU_WORKER_ID within
 * TPU_WORKER_HOSTNAMES, bounds of three numbers that multiply to the number of hosts. */
ath_status ath_tpu_prepare(const char *root) ATH_MUST_CHECK;
/* The first of these looks alone. */
bool ath_tpu_is_here(const char *root);
/* How many hosts TPU_WORKER_HOSTNAMES names; 0: it is not set, and libtpu finds out. */
long ath_tpu_hosts(void);

#endif
