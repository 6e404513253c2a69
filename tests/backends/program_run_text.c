/* program_run_text.c: runs StableHLO text on a plugin, for tests that are written in Python:
 * `backends_program_run_text PLUGIN DEVICES` reads lines
 *
 *     MODULE INPUTS RESULTS f32:4x6 i32: -> f32:4x6
 *
 * with the file of a module, a file of its arguments' bytes one after another, one to be written
 * with its results, and the types of both; it answers each with "ok" or a failure's text. On
 * several devices each is given all arguments, and the results are those of the first; or, where
 * the file of arguments has them once for each device, each its own, and the results are those of
 * all, one device after another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/client.h"
#include "storage/file.h"

enum { TYPES_MAX = 4096, DEVICES_MAX = 16, FILE_LIMIT = 1 << 30 };

typedef struct job {
  ath_pjrt_client *client;
  int devices, argument_count, result_count;
  bool own; /* each device has arguments of its own */
  char *module, *inputs, *results;
  ath_type types[TYPES_MAX]; /* arguments, then results */
  ath_pjrt_executable *program;
  ath_pjrt_buffer *arguments[TYPES_MAX], *outputs[TYPES_MAX]; /* [device][…] */
} job;

/* "f32:4x6", or "f32:" for a scalar. */
static ath_status parse_type(const char *text, ath_type *out) {
  *out = (ath_type){.dtype = ATH_DTYPE_COUNT};
  size_t name = strcspn(text, ":");
  for (int t = 0; t < ATH_DTYPE_COUNT; t++)
    if (strlen(ath_dtype_name(t)) == name && strncmp(ath_dtype_name(t), text, name) == 0)
      out->dtype = t;
  if (out->dtype == ATH_DTYPE_COUNT) return ath_fail(ATH_INVALID, "no type: %s", text);
  const char *at = text + name; /* at the ":", then at each "x" */
  while (*at != '\0' && at[1] != '\0' && out->rank < ATH_MAX_RANK) {
    char *end;
    out->dims[out->rank++] = strtoll(at + 1, &end, 10);
    at = end;
  }
  return ATH_OK;
}

static ath_status parse_job(job *self, char *line) {
  bool results = false;
  self->module = strtok(line, " \n");
  self->inputs = strtok(NULL, " \n");
  self->results = strtok(NULL, " \n");
  if (self->results == NULL) return ath_fail(ATH_INVALID, "three files are wanted");
  for (char *word; (word = strtok(NULL, " \n")) != NULL;) {
    if (strcmp(word, "->") == 0) {
      results = true;
      continue;
    }
    int at = self->argument_count + self->result_count;
    if ((at + 1) * self->devices > TYPES_MAX) return ath_fail(ATH_INVALID, "too many types");
    ATH_TRY(parse_type(word, &self->types[at]));
    if (results) self->result_count++;
    else self->argument_count++;
  }
  return ATH_OK;
}

static ath_status compile(job *self) {
  ath_buffer text = ath_buffer_make(FILE_LIMIT);
  ath_pjrt_compile_options options = {.partitions = self->devices};
  ath_status status = ath_file_read(self->module, &text);
  if (status == ATH_OK)
    status = ath_pjrt_compile(self->client, text.bytes, text.length, &options, &self->program);
  ath_buffer_free(&text);
  return status;
}

static size_t bytes_of_arguments(const job *self) {
  size_t bytes = 0;
  for (int i = 0; i < self->argument_count; i++) bytes += ath_type_bytes(&self->types[i]);
  return bytes;
}

static ath_status put_arguments(job *self) {
  ath_buffer bytes = ath_buffer_make(FILE_LIMIT);
  ath_status status = ath_file_read(self->inputs, &bytes);
  size_t all = bytes_of_arguments(self), at = 0;
  self->own = self->devices > 1 && bytes.length == all * (size_t)self->devices;
  if (status == ATH_OK && !self->own && bytes.length != all)
    status = ath_fail(ATH_INVALID, "%s: %zu bytes, not %zu", self->inputs, bytes.length, all);
  for (int i = 0; i < self->devices * self->argument_count && status == ATH_OK; i++) {
    int device = i / self->argument_count, argument = i % self->argument_count;
    const ath_type *type = &self->types[argument];
    if (argument == 0 && !self->own) at = 0;
    status = ath_pjrt_buffer_create(self->client, device, type, bytes.bytes + at,
                                    &self->arguments[i]);
    at += ath_type_bytes(type);
  }
  ath_buffer_free(&bytes);
  return status;
}

static ath_status take_results(job *self) {
  ath_buffer bytes = ath_buffer_make(FILE_LIMIT);
  ath_status status = ATH_OK;
  int count = self->result_count * (self->own ? self->devices : 1);
  for (int i = 0; i < count && status == ATH_OK; i++) {
    size_t size = ath_type_bytes(&self->types[self->argument_count + i % self->result_count]);
    status = ath_buffer_reserve(&bytes, size);
    if (status == ATH_OK)
      status = ath_pjrt_buffer_read(self->outputs[i], bytes.bytes + bytes.length, size);
    bytes.length += size;
  }
  if (status == ATH_OK) status = ath_file_write(self->results, bytes.bytes, bytes.length);
  ath_buffer_free(&bytes);
  return status;
}

static ath_status run(job *self, char *line) {
  ATH_TRY(parse_job(self, line));
  ATH_TRY(compile(self));
  int count = ath_pjrt_executable_result_count(self->program);
  if (count != self->result_count)
    return ath_fail(ATH_MISMATCH, "%d results, not %d", count, self->result_count);
  ATH_TRY(put_arguments(self));
  ATH_TRY(ath_pjrt_execute(self->program, self->arguments, self->argument_count, self->outputs));
  return take_results(self);
}

static void release(job *self) {
  for (int i = 0; i < TYPES_MAX; i++) {
    ath_pjrt_buffer_destroy(self->arguments[i]);
    ath_pjrt_buffer_destroy(self->outputs[i]);
  }
  if (self->program != NULL) ath_pjrt_executable_destroy(self->program);
}

static ath_status open_client(const char *path, int devices, ath_pjrt_client **out) {
  ath_pjrt_plugin *plugin;
  ath_pjrt_option option = {.name = "cpu_device_count", .kind = ATH_PJRT_INTEGER,
                            .integer = devices};
  if (devices < 1 || devices > DEVICES_MAX) return ath_fail(ATH_USAGE, "PLUGIN DEVICES");
  ATH_TRY(ath_pjrt_plugin_load(path, false, &plugin));
  return ath_pjrt_client_create(plugin, &option, 1, out);
}

int main(int argc, char **argv) {
  static char line[1 << 20];
  static job one;
  int devices = argc > 2 ? atoi(argv[2]) : 0;
  ath_pjrt_client *client;
  if (open_client(argc > 1 ? argv[1] : "", devices, &client) != ATH_OK) {
    fprintf(stderr, "%s\n", ath_error_text());
    return 1;
  }
  while (fgets(line, sizeof line, stdin) != NULL) {
    one = (job){.client = client, .devices = devices};
    puts(run(&one, line) == ATH_OK ? "ok" : ath_error_text());
    fflush(stdout);
    release(&one);
  }
  ath_pjrt_client_destroy(client);
  return 0;
}
