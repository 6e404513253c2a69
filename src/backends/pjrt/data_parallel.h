/* data_parallel.h: the simplest way to share a step among devices: each takes a part of the batch,
 * and all hold all parameters. */
#ifndef ATHANOR_BACKENDS_PJRT_DATA_PARALLEL_H
#define ATHANOR_BACKENDS_PJRT_DATA_PARALLEL_H

#include "stablehlo/module.h"

/* Annotations for `devices` devices, to be handed to the module's printer: inputs are split along
 * their first dimension, which must be a multiple of `devices`; the rest is replicated. The struct
 * is the caller's and must not move while the sharding is in use. */
typedef struct ath_data_parallel {
  ath_hlo_sharding sharding;
} ath_data_parallel;
void ath_data_parallel_init(ath_data_parallel *self, int devices);

#endif
