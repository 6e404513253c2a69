/* state.h: the variables of the CPU engine: named memory that programs share. */
#ifndef ATHANOR_BACKENDS_CPU_STATE_H
#define ATHANOR_BACKENDS_CPU_STATE_H

#include "backends/backend_table.h"

ath_status ath_cpu_state_create(ath_backend *backend, ath_state **out);
void ath_cpu_state_destroy(ath_state *self);
ath_status ath_cpu_state_write(ath_state *self, const char *name, const void *data, size_t bytes);
ath_status ath_cpu_state_read(const ath_state *self, const char *name, void *data, size_t bytes);
bool ath_cpu_state_variable(const ath_state *self, size_t index, const char **name,
                            ath_type *type);

/* The memory of a variable, made and zeroed if the state has none of this name; it stays where it
 * is until the state is destroyed. ATH_MISMATCH where the state's is of another type. */
ath_status ath_cpu_state_bind(ath_state *self, const char *name, const ath_type *type,
                              void **memory) ATH_MUST_CHECK;

#endif
