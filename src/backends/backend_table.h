/* backend_table.h: the functions that an engine provides, and the common start of its objects.
 * Every member does what the public function of its name in backend.h says. */
#ifndef ATHANOR_BACKENDS_BACKEND_TABLE_H
#define ATHANOR_BACKENDS_BACKEND_TABLE_H

#include "athanor/backend.h"
#include "backends/group.h"
#include "base/buffer.h"

typedef struct ath_backend_table {
  bool (*accepts)(const char *device); /* whether ath_backend_open is asked for this engine */
  bool f32_only;                       /* see ath_backend_computes */
  int history;                         /* of how many runs a program keeps the outputs */

  ath_status (*open)(const char *device, const ath_mesh *mesh, ath_backend **out);
  /* As one of several processes, see group.h. An engine that is one process has none of these. */
  ath_status (*join)(const char *device, const ath_mesh *mesh, ath_store *store,
                     ath_backend **out);
  ath_group (*group)(const ath_backend *self);
  void (*share)(const ath_backend *self, int *first, int *count);
  ath_status (*tell)(ath_backend *self, const int32_t *words);
  ath_status (*hear)(ath_backend *self, int ago, int32_t *words); /* [process][ATH_WORDS] */
  ath_status (*state_gather)(ath_state *self);
  void (*close)(ath_backend *self);
  const char *(*name)(const ath_backend *self);
  ath_status (*profile_check)(const ath_backend *self);
  ath_status (*profile_start)(ath_backend *self); /* NULL, as the next, where check fails always */
  ath_status (*profile_stop)(ath_backend *self, ath_buffer *out);

  ath_status (*state_create)(ath_backend *backend, ath_state **out);
  void (*state_destroy)(ath_state *self);
  ath_status (*state_write)(ath_state *self, const char *name, const void *data, size_t bytes);
  ath_status (*state_read)(const ath_state *self, const char *name, void *data, size_t bytes);
  bool (*state_variable)(const ath_state *self, size_t index, const char **name, ath_type *type);

  ath_status (*program_create)(const ath_graph *graph, ath_state *state, ath_program **out);
  void (*program_destroy)(ath_program *self);
  ath_status (*program_set_input)(ath_program *self, const char *name, const void *data);
  ath_status (*program_run)(ath_program *self);
  ath_status (*program_wait)(ath_program *self);
  /* runs_ago < history, and less than there were */
  ath_status (*program_get_output)(ath_program *self, int runs_ago, const char *name, void *data);
  ath_program_stats (*program_get_stats)(const ath_program *self);
  void (*program_profile)(ath_program *self, bool on);
  ath_status (*program_profile_print)(const ath_program *self, ath_buffer *out);
} ath_backend_table;

/* An engine's own structs begin with these. */
struct ath_backend { const ath_backend_table *table; };
struct ath_state { const ath_backend_table *table; };
struct ath_program { const ath_backend_table *table; };

extern const ath_backend_table ath_cpu_backend;
extern const ath_backend_table ath_xla_backend_table;

#endif
