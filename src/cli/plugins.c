/* plugins.c: athanor plugins list and install. */
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/client.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/wheels.h"
#include "readers/duckdb.h"

enum { OUTPUT_BYTES_MAX = 1 << 20, LOAD_SECONDS = 60, ORIGIN_TEXT = 128 };
#define INDEX "https://pypi.org/simple"

/* --- list --------------------------------------------------------------------------------- */

typedef struct listed {
  const ath_pjrt_kind *kind;
  char path[ATH_PATH_MAX];
  bool json;
} listed;

/* Loads the plugin, to ask it; libtpu as for compiling, which needs no TPU. */
static ath_status describe(const void *context, ath_buffer *out) {
  const listed *self = context;
  ath_pjrt_plugin *plugin;
  int major, minor;
  char origin[ORIGIN_TEXT];
  ATH_TRY(ath_pjrt_plugin_load(self->path, true, &plugin));
  ath_pjrt_plugin_version(plugin, &major, &minor);
  ath_wheel_origin(self->path, origin, sizeof origin);
  const char *stablehlo = ath_pjrt_plugin_attribute(plugin, "stablehlo_current_version");
  if (stablehlo == NULL) stablehlo = "?";
  if (!self->json)
    return ath_buffer_format(out, "PJRT %d.%d, StableHLO %s%s%s", major, minor, stablehlo,
                             origin[0] != '\0' ? ", from the wheel " : "", origin);
  ATH_TRY(ath_buffer_format(out, ", \"pjrt_version\": \"%d.%d\", \"stablehlo_version\": ", major,
                            minor));
  ATH_TRY(ath_buffer_json(out, stablehlo, strlen(stablehlo)));
  ATH_TRY(ath_buffer_string(out, ", \"wheel\": "));
  return origin[0] != '\0' ? ath_buffer_json(out, origin, strlen(origin))
                           : ath_buffer_string(out, "null");
}

static ath_status put_json(ath_buffer *out, const listed *self, ath_status status,
                           const ath_buffer *text) {
  ATH_TRY(ath_buffer_format(out, "{\"device\": \"%s\", \"path\": ", self->kind->device));
  if (self->path[0] == '\0') ATH_TRY(ath_buffer_string(out, "null"));
  else ATH_TRY(ath_buffer_json(out, self->path, strlen(self->path)));
  if (status == ATH_OK) ATH_TRY(ath_buffer_append(out, text->bytes, text->length));
  ATH_TRY(ath_buffer_string(out, ", \"error\": "));
  if (status == ATH_OK) ATH_TRY(ath_buffer_string(out, "null"));
  else ATH_TRY(ath_buffer_json(out, text->bytes, text->length));
  return ath_buffer_string(out, "}\n");
}

static ath_status put_text(ath_buffer *out, const listed *self, const ath_buffer *text) {
  if (self->path[0] == '\0') ATH_TRY(ath_buffer_format(out, "%-9s", self->kind->device));
  else ATH_TRY(ath_buffer_format(out, "%-9s%s\n         ", self->kind->device, self->path));
  ATH_TRY(ath_cli_put_visible(out, text->bytes, text->length));
  return ath_buffer_byte(out, '\n');
}

static ath_status list_one(const ath_pjrt_kind *kind, bool json, ath_buffer *out) {
  listed self = {.kind = kind, .json = json};
  ath_buffer text = ath_buffer_make(OUTPUT_BYTES_MAX);
  ath_status found = ath_pjrt_find(kind, self.path), shown = ATH_OK;
  if (found == ATH_OK) found = ath_cli_in_child(describe, &self, LOAD_SECONDS, &text);
  else self.path[0] = '\0';
  if (found != ATH_OK) {
    ath_buffer_clear(&text);
    shown = ath_buffer_string(&text, ath_error_text());
  }
  if (shown == ATH_OK)
    shown = json ? put_json(out, &self, found, &text) : put_text(out, &self, &text);
  ath_buffer_free(&text);
  return shown;
}

/* The one that is no device. It is loaded in a child, as they are. */
static ath_status describe_duckdb(const void *context, ath_buffer *out) {
  const ath_duckdb *db;
  char path[ATH_PATH_MAX], origin[ORIGIN_TEXT];
  const bool *json = context;
  ATH_TRY(ath_duckdb_load(&db, path));
  ath_wheel_origin(path, origin, sizeof origin);
  const char *from = origin[0] != '\0' ? ", from the wheel " : "";
  if (!*json)
    return ath_buffer_format(out, "%s\n         DuckDB %s, reads parquet and SQL%s%s", path,
                             db->library_version(), from, origin);
  ATH_TRY(ath_buffer_string(out, "\"path\": "));
  ATH_TRY(ath_buffer_json(out, path, strlen(path)));
  return ath_buffer_format(out, ", \"version\": \"%s\", \"error\": null",
                           db->library_version());
}

static ath_status list_duckdb(bool json, ath_buffer *out) {
  ath_buffer text = ath_buffer_make(OUTPUT_BYTES_MAX);
  ath_status found = ath_cli_in_child(describe_duckdb, &json, LOAD_SECONDS, &text);
  ath_status shown = ath_buffer_string(out, json ? "{\"library\": \"duckdb\", " : "duckdb   ");
  if (found != ATH_OK) {
    ath_buffer_clear(&text);
    if (json && shown == ATH_OK) shown = ath_buffer_string(&text, "\"path\": null, \"error\": ");
    const char *error = ath_error_text();
    if (shown == ATH_OK)
      shown = json ? ath_buffer_json(&text, error, strlen(error))
                   : ath_cli_put_visible(&text, error, strlen(error));
  }
  if (shown == ATH_OK) shown = ath_buffer_append(out, text.bytes, text.length);
  if (shown == ATH_OK) shown = ath_buffer_string(out, json ? "}\n" : "\n");
  ath_buffer_free(&text);
  return shown;
}

static ath_status run_list(const ath_command *self, int argc, char **argv) {
  bool json = false;
  const ath_option options[] = {
    {"json", ATH_OPTION_FLAG, &json, NULL, .help = "Print one JSON object per plugin"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ath_buffer out = ath_buffer_make(OUTPUT_BYTES_MAX);
  ath_status status = ATH_OK;
  const ath_pjrt_kind *kind = ath_pjrt_kinds;
  for (; kind->device != NULL && status == ATH_OK; kind++) status = list_one(kind, json, &out);
  if (status == ATH_OK) status = list_duckdb(json, &out);
  if (status == ATH_OK) fwrite(out.bytes, 1, out.length, stdout);
  ath_buffer_free(&out);
  return status;
}

const ath_command ath_command_plugins_list = {
  .name = "plugins list",
  .summary = "the plugins, for XLA's devices and DuckDB: where each is, and its version",
  .details =
      "A plugin is one shared library. For a device it is looked for in this order:\n"
      "  1. the variable ATHANOR_PJRT_CPU, ATHANOR_PJRT_TPU or ATHANOR_PJRT_CUDA: a path, which\n"
      "     is then the only place\n"
      "  2. $XDG_DATA_HOME/athanor/plugins (else ~/.local/share/athanor/plugins), where\n"
      "     \"athanor plugins install\" puts it\n"
      "  3. Python wheels: the active environment ($VIRTUAL_ENV), ~/.local, /usr/local, /usr; for\n"
      "     the TPU also /usr/lib/libtpu.so and /lib/libtpu.so\n"
      "A plugin anywhere else is a device itself: --device /path/to/plugin.so\n"
      "DuckDB is looked for likewise: ATHANOR_DUCKDB, that folder, libduckdb.so of the system,\n"
      "and the Python wheel duckdb.\n\n"
      "Example:\n"
      "  athanor plugins list",
  .run = run_list,
};

/* --- install ------------------------------------------------------------------------------ */

static const char *default_index(void) {
  const char *index = getenv("PIP_INDEX_URL");
  return index != NULL && *index != '\0' ? index : INDEX;
}

static ath_status install(const char *name, const char *index, const char *file) {
  const ath_wheel *wheel;
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_wheel_find(name, &wheel));
#ifndef __x86_64__
  return ath_fail(ATH_UNSUPPORTED, "%s is for x86-64 only", wheel->file);
#endif
  ATH_TRY(file != NULL ? ath_wheel_install(wheel, file, path)
                       : ath_wheel_download(wheel, index, path));
  printf("%s (%s %s)\n", path, wheel->project, wheel->version);
  if (wheel->note != NULL) printf("Note: %s\n", wheel->note);
  return ATH_OK;
}

static ath_status run_install(const ath_command *self, int argc, char **argv) {
  const char *index = default_index(), *file = NULL;
  const ath_option options[] = {
    {"index", ATH_OPTION_STRING, &index, "URL",
     .help = "Package index with pip's simple pages; $PIP_INDEX_URL if that is set"},
    {"wheel", ATH_OPTION_STRING, &file, "FILE",
     .help = "Install from this wheel, downloaded before, instead of the index"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count == 0)
    return ath_fail(ATH_USAGE, "athanor plugins install needs a name: cpu, tpu, cuda or duckdb");
  if (file != NULL && operands.count > 1)
    return ath_fail(ATH_USAGE, "--wheel is for one plugin, not %d", operands.count);
  ath_cli_catch_signals();
  for (int i = 0; i < operands.count; i++) ATH_TRY(install(operands.items[i], index, file));
  return ATH_OK;
}

const ath_command ath_command_plugins_install = {
  .name = "plugins install",
  .summary = "download a plugin: cpu, tpu, cuda or duckdb",
  .operands = "NAME…",
  .details =
      "Takes the plugin out of one version of a Python wheel that Athanor was tested with; its\n"
      "SHA-256 is known here and checked, whatever the index says. Python is not needed.\n"
      "  cpu   63 MB download, 202 MB installed    lammps-jax-pjrt-cpu 0.11.2\n"
      "  tpu  137 MB download, 467 MB installed    libtpu 0.0.52\n"
      "  cuda 135 MB download, 391 MB installed    jax-cuda13-pjrt 0.12.0.1; running on a GPU\n"
      "       also needs NVIDIA's CUDA 13 libraries\n"
      "  duckdb 25 MB download, 69 MB installed    duckdb 2.0.1, which reads parquet and SQL\n"
      "They go to $XDG_DATA_HOME/athanor/plugins, else ~/.local/share/athanor/plugins.\n\n"
      "Examples:\n"
      "  athanor plugins install cpu\n"
      "  athanor plugins install tpu --wheel libtpu-0.0.52-cp311-cp311-manylinux_2_31_x86_64.whl",
  .run = run_install,
};
