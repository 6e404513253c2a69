/* chips.h: the generations of TPUs and GPUs that can be planned for, and slices of them.
 *
 * A slice of TPUs is written as the compiler wants it, "v5e:2x4": a generation and the chips along
 * each axis of its torus. One of GPUs is a kind and how many a host has, "h100:8", of several hosts
 * "h100:2x8". */
#ifndef ATHANOR_PLAN_CHIPS_H
#define ATHANOR_PLAN_CHIPS_H

#include "backends/pjrt/client.h"
#include "plan/cost.h"
#include "plan/gpus.h"

typedef struct ath_chip {
  const char *name;   /* "v5e" */
  double hertz;       /* of the cycles that the compiler counts */
  double flops;       /* bf16 peak of a chip, per second */
  double link;        /* bytes/s of one link between chips, in one direction */
  int axes, wrap;     /* of the torus; an axis of a multiple of `wrap` chips closes to a ring */
  const char *config; /* chip_config_name that makes one device of a chip; NULL: it is one */
  const ath_gpu *gpu; /* NULL: a TPU. Of a GPU the compiler counts no cycles, and nothing above but
                         its name is known */
} ath_chip;

enum { ATH_SLICE_AXES_MAX = 3, ATH_SLICE_NAME_MAX = 32 };

typedef struct ath_slice {
  char name[ATH_SLICE_NAME_MAX];
  const ath_chip *chip;
  int dims[ATH_SLICE_AXES_MAX], axes;
  int chips;
} ath_slice;

/* ATH_USAGE, with what there is, for another generation or a shape that cannot be. */
ath_status ath_slice_parse(const char *text, size_t length, ath_slice *out) ATH_MUST_CHECK;

/* Time that transfers take when nothing runs beside them: ring algorithms on all axes at once,
 * every link at its full speed. */
double ath_slice_transfer_seconds(const ath_slice *self, const ath_cost *cost);

#endif
