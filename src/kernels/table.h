/* table.h: the kernels of a table by name, so that the tables of the instruction sets are
 * declared and filled from one list. Internal to kernels/. */
#ifndef ATHANOR_KERNELS_TABLE_H
#define ATHANOR_KERNELS_TABLE_H

#include "kernels/kernels.h"

/* Every function of ath_kernels. */
#define ATH_KERNEL_LIST(X, isa)                                                       \
  X(add, isa) X(multiply, isa) X(scale, isa) X(dropout, isa)                          \
  X(activation, isa) X(activation_backward, isa)                                      \
  X(reduce_rows, isa) X(sum, isa) X(sum_of_squares, isa)                              \
  X(layer_norm, isa) X(layer_norm_backward, isa)                                      \
  X(attention_scratch, isa) X(attention, isa) X(attention_backward, isa)              \
  X(gather, isa) X(scatter_add, isa)                                                  \
  X(cross_entropy, isa) X(cross_entropy_backward, isa)                                \
  X(adamw, isa)

/* ath_add_avx2 has the type that the table's member `add` points to. */
#define ATH_KERNEL_DECLARE(name, isa) extern __typeof__(*((ath_kernels *)0)->name) \
    ath_##name##_##isa;
#define ATH_KERNEL_ENTRY(name, isa) .name = ath_##name##_##isa,

ATH_KERNEL_LIST(ATH_KERNEL_DECLARE, reference)

/* The most threads that a kernel with scratch per thread uses: a constant of the machine. */
int ath_thread_limit(void);

#endif
