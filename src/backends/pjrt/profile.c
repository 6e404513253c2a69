/* profile.c: the profiler of a plugin, an extension of the PJRT API.
 *
 * Its header is no part of pjrt_c_api.h; the structs are those of OpenXLA's profiler_c_api.h as the
 * plugins of TPU and CUDA have them (libtpu 0.0.52, jax-cuda13-pjrt 0.12). The table's first member
 * is its size, and a function is called only when it lies within. */
#include <stdlib.h>

#include "backends/pjrt/api.h"

enum { EXTENSIONS_MAX = 256, MESSAGE_MAX = 600 };

typedef struct profiler profiler;             /* the plugin's */
typedef struct profiler_error profiler_error; /* the plugin's */

typedef struct error_args {
  size_t struct_size;
  void *private_data;
  profiler_error *error;
} error_args;

typedef struct message_args {
  size_t struct_size;
  void *private_data;
  const profiler_error *error;
  const char *message; /* out; need not end in NUL */
  size_t message_size;
} message_args;

typedef struct create_args {
  size_t struct_size;
  const char *options; /* a ProfileOptions message */
  size_t options_size;
  profiler *profiler;  /* out */
} create_args;

typedef struct plain_args {
  size_t struct_size;
  profiler *profiler;
} plain_args;

typedef struct collect_args {
  size_t struct_size;
  profiler *profiler;
  uint8_t *buffer; /* NULL: the plugin gives its own, or only the size */
  size_t size;
} collect_args;

typedef struct profiler_table {
  size_t struct_size;
  void *private_data;
  void (*error_destroy)(error_args *args);
  void (*error_message)(message_args *args);
  void *error_code;
  profiler_error *(*create)(create_args *args);
  profiler_error *(*destroy)(plain_args *args);
  profiler_error *(*start)(plain_args *args);
  profiler_error *(*stop)(plain_args *args);
  profiler_error *(*collect)(collect_args *args);
} profiler_table;

typedef struct profiler_extension {
  PJRT_Extension_Base base;
  const profiler_table *table;
} profiler_extension;

struct ath_pjrt_profile {
  ath_pjrt_plugin *plugin;
  const profiler_table *table;
  profiler *profiler;
};

static ath_status check(const ath_pjrt_profile *self, const char *what, profiler_error *error) {
  if (error == NULL) return ATH_OK;
  message_args said = {.struct_size = sizeof said, .error = error};
  self->table->error_message(&said);
  size_t length = said.message == NULL ? 0
                  : said.message_size < MESSAGE_MAX ? said.message_size : MESSAGE_MAX;
  ath_status status = ath_fail(ATH_INTERNAL, "%s: the profiler fails to %s: %.*s",
                               self->plugin->path, what, (int)length,
                               length > 0 ? said.message : "");
  error_args args = {.struct_size = sizeof args, .error = error};
  self->table->error_destroy(&args);
  return status;
}

/* Its place in the chain and its size as the plugins have them; others are not this one. */
static const profiler_table *find_table(const ath_pjrt_plugin *plugin) {
  const PJRT_Extension_Base *at = plugin->api->extension_start;
  for (int i = 0; at != NULL && i < EXTENSIONS_MAX; i++, at = at->next) {
    if (at->type != PJRT_Extension_Type_Profiler || at->struct_size < sizeof(profiler_extension))
      continue;
    const profiler_table *table = ((const profiler_extension *)at)->table;
    bool whole = table != NULL && table->struct_size >= sizeof *table &&
                 table->error_destroy != NULL && table->error_message != NULL &&
                 table->create != NULL && table->destroy != NULL && table->start != NULL &&
                 table->stop != NULL && table->collect != NULL;
    return whole ? table : NULL;
  }
  return NULL;
}

static void ignore(const ath_pjrt_profile *self, profiler_error *error) {
  error_args args = {.struct_size = sizeof args, .error = error};
  if (error != NULL) self->table->error_destroy(&args);
}

static void destroy(ath_pjrt_profile *self) {
  plain_args args = {.struct_size = sizeof args, .profiler = self->profiler};
  if (self->profiler != NULL) ignore(self, self->table->destroy(&args));
  free(self);
}

/* ProfileOptions (tsl/profiler/protobuf/profiler_options.proto). Without it all levels are 0, which
 * records nothing: 2 host level 2, 3 device level 1, 5 version 1, 7 programs with their operations.
 * These are the defaults of TensorFlow and JAX. */
static const char profile_options[] = {0x10, 2, 0x18, 1, 0x28, 1, 0x38, 1};

static ath_status begin(ath_pjrt_profile *self) {
  create_args create = {.struct_size = sizeof create, .options = profile_options,
                        .options_size = sizeof profile_options};
  ATH_TRY(check(self, "begin", self->table->create(&create)));
  self->profiler = create.profiler;
  plain_args start = {.struct_size = sizeof start, .profiler = self->profiler};
  return check(self, "start", self->table->start(&start));
}

bool ath_pjrt_profile_is_there(const ath_pjrt_plugin *plugin) {
  return find_table(plugin) != NULL;
}

ath_status ath_pjrt_profile_start(ath_pjrt_plugin *plugin, ath_pjrt_profile **out) {
  *out = NULL;
  const profiler_table *table = find_table(plugin);
  if (table == NULL) return ath_fail(ATH_UNSUPPORTED, "%s: has no profiler", plugin->path);
  ath_pjrt_profile *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a profile");
  *self = (ath_pjrt_profile){.plugin = plugin, .table = table};
  ath_status status = begin(self);
  if (status != ATH_OK) {
    destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

/* The plugin gives its own buffer, or a size for ours; a NUL ends the message and is no part of
 * it. */
static ath_status collect(ath_pjrt_profile *self, ath_buffer *out) {
  collect_args args = {.struct_size = sizeof args, .profiler = self->profiler};
  ATH_TRY(check(self, "tell its data", self->table->collect(&args)));
  if (args.size == 0) return ATH_OK;
  size_t before = out->length;
  if (args.buffer != NULL) {
    ATH_TRY(ath_buffer_append(out, args.buffer, args.size));
  } else {
    ATH_TRY(ath_buffer_reserve(out, args.size));
    size_t size = args.size; /* that there is room for, whatever it says the second time */
    args.buffer = (uint8_t *)out->bytes + before;
    ATH_TRY(check(self, "hand over its data", self->table->collect(&args)));
    out->length += size;
  }
  if (out->bytes[out->length - 1] == '\0') out->length--;
  return ATH_OK;
}

ath_status ath_pjrt_profile_stop(ath_pjrt_profile *self, ath_buffer *out) {
  plain_args args = {.struct_size = sizeof args, .profiler = self->profiler};
  ath_status status = check(self, "stop", self->table->stop(&args));
  if (status == ATH_OK) status = collect(self, out);
  destroy(self);
  return status;
}

void ath_pjrt_profile_abandon(ath_pjrt_profile *self) {
  if (self == NULL) return;
  plain_args args = {.struct_size = sizeof args, .profiler = self->profiler};
  ignore(self, self->table->stop(&args));
  destroy(self);
}
