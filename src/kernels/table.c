/* table.c: one table per instruction set, and the choice among them at start-up. */
#include <stdlib.h>
#include <string.h>

#include "kernels/table.h"

static const ath_kernels reference = {.isa = "reference",
                                      ATH_KERNEL_LIST(ATH_KERNEL_ENTRY, reference)};

const ath_kernels *ath_kernels_named(const char *isa) {
  if (strcmp(isa, "reference") == 0) return &reference;
  return NULL;
}

ath_status ath_kernels_get(const ath_kernels **out) {
  *out = &reference;
  return ATH_OK;
}
