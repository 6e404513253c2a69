/* gpus.h: NVIDIA's GPUs that can be planned for, described to XLA's compiler as it wants them. */
#ifndef ATHANOR_PLAN_GPUS_H
#define ATHANOR_PLAN_GPUS_H

#include <stdbool.h>

#include "base/buffer.h"

typedef struct ath_gpu {
  const char *model;   /* "NVIDIA H100 80GB HBM3", as the driver names it */
  int major, minor;    /* compute capability */
  bool accelerated;    /* has instructions of its own architecture only ("9.0a") */
  int cores, lanes;    /* streaming multiprocessors, f32 lanes of each */
  int shared, optin;   /* bytes of shared memory of a core, and those a block may ask for */
  int64_t bandwidth, l2, memory; /* bytes/s, bytes, bytes as the driver reports them */
  double gigahertz;
} ath_gpu;

extern const ath_gpu ath_gpu_a100, ath_gpu_h100, ath_gpu_h200;

/* Bytes that a program may have: ATH_PJRT_CUDA_MEMORY of all. */
int64_t ath_gpu_memory_limit(const ath_gpu *self);

/* Appends the text of a GpuTargetConfigProto (openxla/xla, stream_executor/
 * device_description.proto). */
ath_status ath_gpu_print_target(const ath_gpu *self, ath_buffer *out) ATH_MUST_CHECK;

#endif
