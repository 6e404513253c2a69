/* api.h: one checked call of a plugin's function. Only the files that include this one see the
 * plugins' own header.
 *
 * An argument struct carries its size as this build knows it and is zero but for what is set. A
 * plugin that knows less of it ignores the rest, one that knows more takes the rest for unset. A
 * function is called only when it lies within the table's own size and is not NULL. */
#ifndef ATHANOR_BACKENDS_PJRT_API_H
#define ATHANOR_BACKENDS_PJRT_API_H

#include <pjrt_c_api.h>

#include "backends/pjrt/client.h"
#include "backends/pjrt/places.h"
#include "base/outcome.h"

/* What a plugin says of itself, as text. */
typedef struct ath_pjrt_attribute {
  char name[64], text[128];
} ath_pjrt_attribute;

struct ath_pjrt_plugin {
  const PJRT_Api *api;
  char *path;
  bool ahead_of_time;
  const ath_pjrt_kind *kind; /* of the device it was last loaded for; NULL: by its path */
  ath_outcome start;         /* of its initialisation, which is tried once a process */
  int patience;              /* seconds that other processes are waited for; 0: this is the only */
  ath_pjrt_attribute *attributes;
  size_t attribute_count;
  ath_pjrt_plugin *next; /* of those loaded in this process */
};

/* Declares `variable` as the argument struct of PJRT_<name>, with the members given. */
#define ATH_PJRT_ARGS(variable, name, ...)                                       \
  PJRT_##name##_Args variable = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}

#define ATH_PJRT_HAS(plugin, name)                                               \
  ((plugin)->api->struct_size >=                                                 \
       offsetof(PJRT_Api, PJRT_##name) + sizeof (plugin)->api->PJRT_##name &&    \
   (plugin)->api->PJRT_##name != NULL)

/* Calls PJRT_<name>; a status. */
#define ATH_PJRT_CALL(plugin, name, arguments)                                   \
  (ATH_PJRT_HAS(plugin, name)                                                    \
       ? ath_pjrt_check(plugin, "PJRT_" #name, (plugin)->api->PJRT_##name(arguments)) \
       : ath_pjrt_missing(plugin, "PJRT_" #name))

/* Calls a function that releases something. What it may have to say changes nothing, and must not
 * hide the failure that led here. */
#define ATH_PJRT_RELEASE(plugin, name, ...)                                      \
  do {                                                                           \
    ATH_PJRT_ARGS(release_, name, __VA_ARGS__);                                  \
    if (ATH_PJRT_HAS(plugin, name))                                              \
      ath_pjrt_ignore(plugin, (plugin)->api->PJRT_##name(&release_));            \
  } while (0)

/* The status of a call, with the plugin's own text; releases the error. NULL is ATH_OK. */
ath_status ath_pjrt_check(const ath_pjrt_plugin *plugin, const char *function, PJRT_Error *error)
    ATH_MUST_CHECK;
ath_status ath_pjrt_missing(const ath_pjrt_plugin *plugin, const char *function) ATH_MUST_CHECK;
void ath_pjrt_ignore(const ath_pjrt_plugin *plugin, PJRT_Error *error);

/* Waits for an event, and destroys it; NULL is ATH_OK. With other processes, of which one may be
 * gone, not longer than the plugin's patience: then ATH_IO. */
ath_status ath_pjrt_await(const ath_pjrt_plugin *plugin, const char *what, PJRT_Event *event)
    ATH_MUST_CHECK;

/* ATHANOR_PROCESS_TIMEOUT, or the default. */
ath_status ath_pjrt_read_patience(int *seconds) ATH_MUST_CHECK;

/* Options in the plugins' form, in a new array that the caller frees; NULL when there are none. */
ath_status ath_pjrt_options_make(const ath_pjrt_option *options, size_t count,
                                 PJRT_NamedValue **out) ATH_MUST_CHECK;

/* The value after this one: a newer plugin's are longer than this build's. */
static inline const PJRT_NamedValue *ath_pjrt_next_value(const PJRT_NamedValue *value) {
  return (const PJRT_NamedValue *)((const char *)value + value->struct_size);
}
/* A named value as text: "1.20.0" for the list 1, 20, 0. */
void ath_pjrt_value_text(const PJRT_NamedValue *value, char *out, size_t size);

/* A new string of a text that need not end in NUL; NULL without memory. */
char *ath_pjrt_string(const char *text, size_t length);

/* Gives the create call of a client the store's callbacks. */
void ath_pjrt_join(ath_store *store, PJRT_Client_Create_Args *args);

struct ath_pjrt_client {
  ath_pjrt_plugin *plugin;
  PJRT_Client *client;
  char *platform;
  PJRT_Device *const *devices; /* addressable; the client's */
  char **kinds;
  int64_t *ids, *global_ids;   /* of `devices`, and of those of all processes, one after another */
  int device_count, global_count;
  int process, processes;      /* which of how many this is; 0 of 1 */
};

struct ath_pjrt_buffer {
  ath_pjrt_plugin *plugin;
  PJRT_Buffer *buffer;
};

struct ath_pjrt_executable {
  ath_pjrt_plugin *plugin;
  PJRT_LoadedExecutable *loaded; /* NULL when compiled ahead of time */
  PJRT_Executable *executable;
  int partitions, result_count;
  /* Where execute lines up its arguments and results, kept from call to call. */
  PJRT_Buffer **arguments, **results;
  PJRT_Buffer ***argument_lists, ***result_lists;
  int argument_capacity;
};

/* Takes over `loaded` (or NULL) and `executable` (or NULL: asked of `loaded`). */
ath_status ath_pjrt_executable_wrap(ath_pjrt_plugin *plugin, PJRT_LoadedExecutable *loaded,
                                    PJRT_Executable *executable, ath_pjrt_executable **out)
    ATH_MUST_CHECK;

#endif
