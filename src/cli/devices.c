/* devices.c: athanor devices. */
#include <string.h>
#include <unistd.h>

#include "backends/pjrt/client.h"
#include "backends/pjrt/places.h"
#include "cli/child.h"
#include "cli/cli.h"

enum { OUTPUT_BYTES_MAX = 1 << 20, PROBE_SECONDS = 60 };

/* --- one device name ---------------------------------------------------------------------- */

typedef struct probe {
  const char *device;
  bool json;
} probe;

static ath_status put_memory(ath_buffer *out, const ath_pjrt_client *client, int device,
                             bool json) {
  int64_t limit, used;
  if (ath_pjrt_client_device_memory(client, device, &limit, &used) != ATH_OK)
    return json ? ath_buffer_string(out, ", \"memory_bytes\": null") : ATH_OK;
  if (json) return ath_buffer_format(out, ", \"memory_bytes\": %lld", (long long)limit);
  return ath_buffer_format(out, " with %.1f GB each", (double)limit / 1e9);
}

static ath_status put_client(ath_buffer *out, const ath_pjrt_plugin *plugin,
                             const ath_pjrt_client *client, bool json) {
  int count = ath_pjrt_client_device_count(client);
  const char *kind = ath_pjrt_client_device_kind(client, 0);
  const char *path = ath_pjrt_plugin_path(plugin);
  if (!json) {
    ATH_TRY(ath_buffer_format(out, "%d × %s", count, kind));
    ATH_TRY(put_memory(out, client, 0, false));
    return ath_buffer_format(out, ", by %s", path);
  }
  ATH_TRY(ath_buffer_format(out, ", \"count\": %d, \"kind\": ", count));
  ATH_TRY(ath_buffer_json(out, kind, strlen(kind)));
  ATH_TRY(put_memory(out, client, 0, true));
  ATH_TRY(ath_buffer_string(out, ", \"plugin\": "));
  return ath_buffer_json(out, path, strlen(path));
}

static ath_status ask_plugin(const void *context, ath_buffer *out) {
  const probe *self = context;
  ath_pjrt_plugin *plugin;
  ath_pjrt_client *client;
  ATH_TRY(ath_pjrt_plugin_load(self->device, false, &plugin));
  ATH_TRY(ath_pjrt_client_create(plugin, NULL, 0, &client));
  ath_status status = put_client(out, plugin, client, self->json);
  ath_pjrt_client_destroy(client);
  return status;
}

/* The embedded engine, which is always there. */
static ath_status ask_cpu(ath_buffer *out, bool json) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (json)
    return ath_buffer_string(out, ", \"count\": 1, \"kind\": \"cpu\", \"memory_bytes\": null, "
                                  "\"plugin\": null");
  return ath_buffer_format(out, "the engine of this program, on %ld processor%s", processors,
                           processors == 1 ? "" : "s");
}

static ath_status ask(const probe *self, ath_buffer *text) {
  if (strcmp(self->device, "cpu") == 0) return ask_cpu(text, self->json);
  return ath_cli_in_child(ask_plugin, self, PROBE_SECONDS, text);
}

static ath_status put_answer(ath_buffer *out, const probe *self, ath_status found,
                             const ath_buffer *text) {
  if (!self->json) {
    ATH_TRY(ath_buffer_format(out, "%-8s ", self->device));
    ATH_TRY(ath_cli_put_visible(out, text->bytes, text->length));
    return ath_buffer_byte(out, '\n');
  }
  ATH_TRY(ath_buffer_string(out, "{\"device\": "));
  ATH_TRY(ath_buffer_json(out, self->device, strlen(self->device)));
  if (found == ATH_OK) ATH_TRY(ath_buffer_append(out, text->bytes, text->length));
  ATH_TRY(ath_buffer_string(out, ", \"error\": "));
  if (found == ATH_OK) ATH_TRY(ath_buffer_string(out, "null"));
  else ATH_TRY(ath_buffer_json(out, text->bytes, text->length));
  return ath_buffer_string(out, "}\n");
}

/* Prints a line on a device; *found is whether it can be used. */
static ath_status show(const char *device, bool json, ath_status *found) {
  probe self = {device, json};
  ath_buffer text = ath_buffer_make(OUTPUT_BYTES_MAX), out = ath_buffer_make(OUTPUT_BYTES_MAX);
  ath_status status = ATH_OK;
  *found = ask(&self, &text);
  if (*found != ATH_OK) {
    ath_buffer_clear(&text);
    status = ath_buffer_string(&text, ath_error_text());
  }
  if (status == ATH_OK) status = put_answer(&out, &self, *found, &text);
  if (status == ATH_OK) {
    fwrite(out.bytes, 1, out.length, stdout);
    fflush(stdout);
  }
  ath_buffer_free(&text);
  ath_buffer_free(&out);
  return status;
}

/* --- the command -------------------------------------------------------------------------- */

static ath_status show_all(bool json) {
  ath_status ignored;
  ATH_TRY(show("cpu", json, &ignored));
  for (const ath_pjrt_kind *kind = ath_pjrt_kinds; kind->device != NULL; kind++)
    ATH_TRY(show(kind->device, json, &ignored));
  return ATH_OK;
}

/* Those asked for by name must be there. */
static ath_status show_named(const ath_operands *operands, bool json) {
  ath_status worst = ATH_OK;
  int missing = 0;
  for (int i = 0; i < operands->count; i++) {
    ath_status found;
    ATH_TRY(show(operands->items[i], json, &found));
    if (found != ATH_OK) {
      worst = found;
      missing++;
    }
  }
  if (missing == 0) return ATH_OK;
  return ath_fail(worst, "%d of the %d devices asked for cannot be used here", missing,
                  operands->count);
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  bool json = false;
  const ath_option options[] = {
    {"json", ATH_OPTION_FLAG, &json, NULL, .help = "Print one JSON object per device name"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  return operands.count == 0 ? show_all(json) : show_named(&operands, json);
}

const ath_command ath_command_devices = {
  .name = "devices",
  .summary = "what --device can be on this machine, and why not",
  .operands = "[DEVICE…]",
  .details =
      "  cpu      the engine of this program: always there\n"
      "  xla:cpu  XLA on the processor (athanor plugins install cpu)\n"
      "  tpu      a TPU of this machine or slice (athanor plugins install tpu)\n"
      "  cuda     NVIDIA GPUs (athanor plugins install cuda)\n"
      "  FILE.so  any other PJRT plugin\n"
      "Each plugin is asked in a process of its own. With names given, the exit code tells\n"
      "whether all of them can be used. A device is never replaced by another one.\n\n"
      "Examples:\n"
      "  athanor devices\n"
      "  athanor devices tpu --json && athanor train … --device tpu",
  .run = run,
};
