/* execute.h: programs of the CPU engine. */
#ifndef ATHANOR_BACKENDS_CPU_EXECUTE_H
#define ATHANOR_BACKENDS_CPU_EXECUTE_H

#include "backends/backend_table.h"

/* As ath_program_create; `reuse` as in ath_cpu_plan_make. For tests, which hold both plans
 * equal bit by bit. */
ath_status ath_cpu_program_make(const ath_graph *graph, ath_state *state, bool reuse,
                                ath_program **out) ATH_MUST_CHECK;

ath_status ath_cpu_program_create(const ath_graph *graph, ath_state *state, ath_program **out);
void ath_cpu_program_destroy(ath_program *self);
ath_status ath_cpu_program_set_input(ath_program *self, const char *name, const void *data);
ath_status ath_cpu_program_run(ath_program *self);
ath_status ath_cpu_program_wait(ath_program *self);
ath_status ath_cpu_program_get_output(ath_program *self, int runs_ago, const char *name,
                                      void *data);
ath_program_stats ath_cpu_program_get_stats(const ath_program *self);
void ath_cpu_program_profile(ath_program *self, bool on);
ath_status ath_cpu_program_profile_print(const ath_program *self, ath_buffer *out);

#endif
