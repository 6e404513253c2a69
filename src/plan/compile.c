/* compile.c: asking the TPU compiler, and keeping its answers.
 *
 * An answer in the cache is a protocol-buffer message:
 *
 *     1 fits   2..7 memory: arguments, results, aliased, temporary, code, peak   8 limit
 *     9 seconds (a double's bits)   10 reason   11 table of large buffers   12 program
 *
 * so that a better way of adding up costs works on old answers too. */
#include "plan/compile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/key.h"
#include "backends/pjrt/overrides.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/outcome.h"
#include "formats/wire.h"

enum { REASON_MAX = 1 << 16, TABLE_MAX = 1 << 20, PROGRAM_MAX = 1 << 30, ANSWER_MAX = 1 << 30 };
enum { MEMORY_FIELDS = 6, TARGET_MAX = 1 << 14 };

/* Of all answers together; the oldest go first. */
#define CACHE_BYTES ((uint64_t)2 << 30)

void ath_verdict_init(ath_verdict *self) {
  *self = (ath_verdict){.limit = -1};
  self->program = ath_buffer_make(PROGRAM_MAX);
  self->reason = ath_buffer_make(REASON_MAX);
  self->largest = ath_buffer_make(TABLE_MAX);
}

void ath_verdict_free(ath_verdict *self) {
  ath_buffer_free(&self->program);
  ath_buffer_free(&self->reason);
  ath_buffer_free(&self->largest);
}

/* --- an answer as bytes -------------------------------------------------------------------- */

static ath_status put_number(ath_buffer *out, uint32_t field, uint64_t value) {
  uint8_t bytes[20], *end = ath_wire_put_varint(bytes, ath_wire_tag(field, ATH_WIRE_VARINT));
  end = ath_wire_put_varint(end, value);
  return ath_buffer_append(out, bytes, (size_t)(end - bytes));
}

static ath_status put_bytes(ath_buffer *out, uint32_t field, const ath_buffer *what) {
  uint8_t bytes[20], *end = ath_wire_put_head(bytes, field, what->length);
  ATH_TRY(ath_buffer_append(out, bytes, (size_t)(end - bytes)));
  return what->length > 0 ? ath_buffer_append(out, what->bytes, what->length) : ATH_OK;
}

/* The numbers of ath_pjrt_memory in the order of their fields. */
static void memory_numbers(ath_pjrt_memory *m, int64_t *out[MEMORY_FIELDS]) {
  int64_t *all[] = {&m->arguments, &m->results, &m->aliased, &m->temporary, &m->code, &m->peak};
  memcpy(out, all, sizeof all);
}

static ath_status write_answer(ath_verdict *v, ath_buffer *out) {
  int64_t *numbers[MEMORY_FIELDS];
  uint64_t seconds;
  memory_numbers(&v->memory, numbers);
  memcpy(&seconds, &v->seconds, sizeof seconds);
  ATH_TRY(put_number(out, 1, v->fits));
  for (uint32_t i = 0; i < MEMORY_FIELDS; i++)
    ATH_TRY(put_number(out, 2 + i, (uint64_t)*numbers[i]));
  ATH_TRY(put_number(out, 8, (uint64_t)v->limit));
  ATH_TRY(put_number(out, 9, seconds));
  ATH_TRY(put_bytes(out, 10, &v->reason));
  ATH_TRY(put_bytes(out, 11, &v->largest));
  return put_bytes(out, 12, &v->program);
}

static ath_status take_bytes(const ath_wire *inside, ath_buffer *out) {
  ath_buffer_clear(out);
  if (ath_wire_left(inside) == 0) return ATH_OK;
  return ath_buffer_append(out, inside->at, ath_wire_left(inside));
}

static ath_status read_answer(const ath_buffer *bytes, ath_verdict *v) {
  int64_t *numbers[MEMORY_FIELDS];
  ath_wire message = ath_wire_make(bytes->bytes, bytes->length);
  memory_numbers(&v->memory, numbers);
  while (ath_wire_left(&message) > 0) {
    ath_wire_field f = {0};
    ATH_TRY(ath_wire_next(&message, &f));
    if (f.number == 1) v->fits = f.value != 0;
    else if (f.number >= 2 && f.number < 2 + MEMORY_FIELDS)
      *numbers[f.number - 2] = (int64_t)f.value;
    else if (f.number == 8) v->limit = (int64_t)f.value;
    else if (f.number == 9) memcpy(&v->seconds, &f.value, sizeof v->seconds);
    else if (f.number == 10) ATH_TRY(take_bytes(&f.inside, &v->reason));
    else if (f.number == 11) ATH_TRY(take_bytes(&f.inside, &v->largest));
    else if (f.number == 12) ATH_TRY(take_bytes(&f.inside, &v->program));
  }
  v->cached = true;
  return ATH_OK;
}

/* --- the cache ----------------------------------------------------------------------------- */

static ath_status make_key(const ath_pjrt_plugin *plugin, const ath_slice *slice,
                           const ath_buffer *text, const ath_xla_overrides *overrides,
                           char key[ATH_SHA256_TEXT]) {
  ath_buffer material = ath_buffer_make(text->length + (1 << 20));
  ath_pjrt_compile_options options = ath_xla_overrides_options(overrides, slice->chips);
  ath_status status = ath_key_add_text("plan", "2", &material);
  if (status == ATH_OK) status = ath_key_add_plugin(plugin, &material);
  if (status == ATH_OK) status = ath_key_add_options(&options, &material);
  if (status == ATH_OK) status = ath_key_add_text("slice", slice->name, &material);
  if (status == ATH_OK && slice->chip->gpu != NULL)
    status = ath_gpu_print_target(slice->chip->gpu, &material);
  if (status == ATH_OK) status = ath_cache_key_part(&material, "text", text->bytes, text->length);
  if (status == ATH_OK) ath_sha256_bytes(material.bytes, material.length, key);
  ath_buffer_free(&material);
  return status;
}

/* Answers lie in a folder of their own beside the programs that are run. */
static ath_status cache_folder(char out[ATH_PATH_MAX], bool *on) {
  char folder[ATH_PATH_MAX];
  ATH_TRY(ath_cache_folder(folder, on));
  return *on ? ath_path_join(out, folder, "plans") : ATH_OK;
}

/* Without the cache, or with a damaged entry, the compiler is asked. */
static bool find_answer(const char *folder, const char *key, ath_verdict *out) {
  ath_buffer bytes = ath_buffer_make(ANSWER_MAX);
  bool found = ath_cache_read(folder, key, &bytes) == ATH_OK && read_answer(&bytes, out) == ATH_OK;
  ath_buffer_free(&bytes);
  if (found) return true;
  ath_verdict_free(out);
  ath_verdict_init(out);
  return false;
}

static void keep_answer(const char *folder, const char *key, ath_verdict *verdict) {
  ath_buffer bytes = ath_buffer_make(ANSWER_MAX);
  ath_status status = write_answer(verdict, &bytes);
  if (status == ATH_OK)
    status = ath_cache_write(folder, key, bytes.bytes, bytes.length, CACHE_BYTES);
  if (status != ATH_OK) ath_log(ATH_LOG_WARNING, "the plan is not kept: %s", ath_error_text());
  ath_buffer_free(&bytes);
}

/* --- the compiler -------------------------------------------------------------------------- */

/* GPUs are described to the compiler; "1x2x8": one partition of two hosts with eight each. */
static ath_status create_gpus(ath_pjrt_plugin *plugin, const ath_slice *slice,
                              ath_pjrt_topology **out) {
  ath_buffer target = ath_buffer_make(TARGET_MAX);
  char shape[64];
  int each = slice->dims[slice->axes - 1];
  snprintf(shape, sizeof shape, "1x%dx%d", slice->chips / each, each);
  ath_status status = ath_gpu_print_target(slice->chip->gpu, &target);
  const ath_pjrt_option options[] = {
    {.name = "target_config", .kind = ATH_PJRT_STRING, .string = target.bytes},
    {.name = "topology", .kind = ATH_PJRT_STRING, .string = shape}};
  if (status == ATH_OK) status = ath_pjrt_topology_create(plugin, slice->name, options, 2, out);
  ath_buffer_free(&target);
  return status;
}

static ath_status create_tpus(ath_pjrt_plugin *plugin, const ath_slice *slice,
                              ath_pjrt_topology **out) {
  ath_pjrt_option option = {.name = "chip_config_name", .kind = ATH_PJRT_STRING,
                            .string = slice->chip->config};
  ath_status status =
      ath_pjrt_topology_create(plugin, slice->name, &option, slice->chip->config != NULL, out);
  if (status != ATH_UNSUPPORTED || strstr(ath_error_text(), "UNIMPLEMENTED") == NULL)
    return status;
  ath_context(status, "there is no TPU compiler in %s; \"athanor plugins list\" tells where libtpu "
              "is looked for", ath_pjrt_plugin_path(plugin));
  return ATH_MISMATCH;
}

static ath_status create_topology(ath_pjrt_plugin *plugin, const ath_slice *slice,
                                  ath_pjrt_topology **out) {
  return slice->chip->gpu != NULL ? create_gpus(plugin, slice, out)
                                  : create_tpus(plugin, slice, out);
}

static ath_status compile(ath_pjrt_topology *topology, const ath_slice *slice,
                          const ath_buffer *text, const ath_xla_overrides *overrides,
                          ath_pjrt_executable **out) {
  ath_pjrt_compile_options options = ath_xla_overrides_options(overrides, slice->chips);
  return ath_xla_overrides_context(
      overrides, ath_pjrt_topology_compile(topology, text->bytes, text->length, &options, out));
}

/* The report that a failed compile leaves in its folder. */
static ath_status read_table(const char *folder, ath_buffer *out) {
  static const char ending[] = "memory-usage-report.txt";
  char **names, path[ATH_PATH_MAX];
  size_t count;
  ATH_TRY(ath_folder_list(folder, &names, &count));
  ath_status status = ATH_OK;
  for (size_t i = 0; status == ATH_OK && i < count; i++) {
    size_t length = strlen(names[i]);
    if (length < sizeof ending || strcmp(names[i] + length - sizeof ending + 1, ending) != 0)
      continue;
    ath_buffer_clear(out);
    status = ath_path_join(path, folder, names[i]);
    if (status == ATH_OK) status = ath_file_read(path, out);
  }
  ath_folder_list_free(names, count);
  return status;
}

/* Compiles once more, to fail in the same way, with a folder for what the compiler has to say. */
static ath_status explain_failure(ath_pjrt_topology *topology, const ath_slice *slice,
                                  const ath_buffer *text, const ath_xla_overrides *overrides,
                                  ath_buffer *table) {
  const char *base = getenv("TMPDIR");
  char folder[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(folder, base != NULL && *base != '\0' ? base : "/tmp",
                        "athanor-plan-XXXXXX"));
  if (mkdtemp(folder) == NULL) return ath_fail_errno(errno, "%s", folder);
  ath_pjrt_executable *executable = NULL;
  ath_xla_overrides dumping = *overrides;
  dumping.items[dumping.count++] =
      (ath_pjrt_option){.name = "xla_dump_to", .kind = ATH_PJRT_STRING, .string = folder};
  if (compile(topology, slice, text, &dumping, &executable) == ATH_OK)
    ath_pjrt_executable_destroy(executable);
  ath_outcome outcome; /* removing must not lose why there is no table */
  ath_outcome_keep(&outcome, read_table(folder, table));
  ath_status removed = ath_folder_remove(folder);
  return outcome.status != ATH_OK ? ath_outcome_return(&outcome) : removed;
}

/* That it does not fit is an answer also without the table. */
static void add_table(ath_pjrt_topology *topology, const ath_slice *slice, const ath_buffer *text,
                      const ath_xla_overrides *overrides, ath_buffer *table) {
  if (explain_failure(topology, slice, text, overrides, table) == ATH_OK) return;
  ath_log(ATH_LOG_WARNING, "%s: no table of the largest buffers: %s", slice->name,
          ath_error_text());
  ath_buffer_clear(table);
}

int64_t ath_verdict_bytes(const ath_verdict *self) {
  const ath_pjrt_memory *m = &self->memory;
  return m->arguments + m->temporary + m->results - m->aliased + m->code;
}

/* The compiler for GPUs compiles also what does not fit. */
static ath_status compare_memory(const ath_slice *slice, ath_verdict *out) {
  int64_t wanted = ath_verdict_bytes(out);
  out->limit = ath_gpu_memory_limit(slice->chip->gpu);
  out->fits = wanted <= out->limit;
  if (out->fits) return ATH_OK;
  return ath_buffer_format(&out->reason, "the step needs %.2f GB, and of the %.2f GB of an %s a "
                           "program has %.2f", 1e-9 * (double)wanted,
                           1e-9 * (double)slice->chip->gpu->memory, slice->chip->gpu->model,
                           1e-9 * (double)out->limit);
}

static ath_status read_executable(const ath_pjrt_executable *executable, const ath_slice *slice,
                                  ath_verdict *out) {
  out->fits = true;
  ATH_TRY(ath_pjrt_executable_memory(executable, &out->memory));
  ATH_TRY(ath_pjrt_executable_program(executable, &out->program));
  return slice->chip->gpu != NULL ? compare_memory(slice, out) : ATH_OK;
}

static ath_status ask(ath_pjrt_plugin *plugin, const ath_slice *slice, const ath_buffer *text,
                      const ath_xla_overrides *overrides, bool explain, ath_verdict *out) {
  ath_pjrt_topology *topology = NULL;
  ath_pjrt_executable *executable = NULL;
  ATH_TRY(create_topology(plugin, slice, &topology));
  out->limit = ath_pjrt_topology_memory_limit(topology);
  ath_log(ATH_LOG_INFO, "%s: compiling %.1f MB of text", slice->name, 1e-6 * (double)text->length);
  double begin = seconds_now();
  ath_status status = compile(topology, slice, text, overrides, &executable);
  out->seconds = seconds_now() - begin;
  if (status == ATH_OK) {
    status = read_executable(executable, slice, out);
  } else if (status == ATH_NO_MEMORY && strstr(ath_error_text(), "HBM") != NULL) {
    status = ath_buffer_string(&out->reason, ath_error_text());
    if (status == ATH_OK && explain) add_table(topology, slice, text, overrides, &out->largest);
  }
  ath_pjrt_executable_destroy(executable);
  ath_pjrt_topology_destroy(topology);
  return status;
}

ath_status ath_plan_compile(ath_pjrt_plugin *plugin, const ath_slice *slice, const ath_buffer *text,
                            bool explain, ath_verdict *out) {
  char folder[ATH_PATH_MAX], key[ATH_SHA256_TEXT];
  ath_xla_overrides overrides;
  bool on;
  assert(text->length > 0);
  ATH_TRY(ath_xla_overrides_read(&overrides));
  ATH_TRY(cache_folder(folder, &on));
  ATH_TRY(make_key(plugin, slice, text, &overrides, key));
  bool found = on && find_answer(folder, key, out);
  bool whole = out->fits || out->program.length > 0 || out->largest.length > 0;
  if (found && (whole || !explain)) return ATH_OK;
  ath_verdict_free(out);
  ath_verdict_init(out);
  ATH_TRY(ask(plugin, slice, text, &overrides, explain, out));
  if (on) keep_answer(folder, key, out);
  return ATH_OK;
}
