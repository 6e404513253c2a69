/* gather.c: values whose parts lie on the devices of several processes, brought together by small
 * programs that do nothing but declare their result to be whole on every device. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/group.h"
#include "backends/pjrt/engine.h"
#include "stablehlo/hlo.h"

enum { TEXT_LIMIT = 1 << 14 };

/* A program for one type and one way to cut it. */
typedef struct ath_xla_gathering gathering;
struct ath_xla_gathering {
  ath_type type;
  ath_split split;
  ath_pjrt_executable *executable;
  gathering *next;
};

/* --- programs ------------------------------------------------------------------------------ */

static ath_status print_type(const ath_type *type, ath_buffer *out) {
  return ath_hlo_print_type((ath_hlo_dtype)type->dtype, type->rank, type->dims, out);
}

static ath_status print_program(const ath_xla_backend *self, const gathering *g,
                                ath_buffer *out) {
  ATH_TRY(ath_buffer_format(out, "module @gather attributes {mhlo.num_partitions = %d : i32, "
                            "mhlo.num_replicas = 1 : i32} {\n  func.func public @main(%%x: ",
                            self->devices));
  ATH_TRY(print_type(&g->type, out));
  ATH_TRY(ath_buffer_string(out, " {mhlo.sharding = \""));
  ATH_TRY(ath_split_print(&g->split, &self->mesh, g->type.rank, out));
  ATH_TRY(ath_buffer_string(out, "\"}) -> ("));
  ATH_TRY(print_type(&g->type, out));
  ATH_TRY(ath_buffer_string(out, " {mhlo.sharding = \"{replicated}\"}) {\n    return %x : "));
  ATH_TRY(print_type(&g->type, out));
  return ath_buffer_string(out, "\n  }\n}\n");
}

/* Never from the cache, of which processes may have different ones. */
static ath_status compile(const ath_xla_backend *self, gathering *g) {
  const ath_pjrt_compile_options options = {.partitions = self->devices};
  ath_buffer text = ath_buffer_make(TEXT_LIMIT);
  ath_status status = print_program(self, g, &text);
  if (status == ATH_OK)
    status = ath_pjrt_compile(self->client, text.bytes, text.length, &options, &g->executable);
  ath_buffer_free(&text);
  if (status != ATH_OK) return ath_context(status, "gathering from all processes");
  if (ath_pjrt_executable_result_count(g->executable) == 1 &&
      ath_pjrt_executable_partitions(g->executable) == self->here)
    return ATH_OK;
  return ath_fail(ATH_MISMATCH, "%s: gathering from all processes: the compiled program has %d "
                  "results on %d devices, not 1 on %d", self->name,
                  ath_pjrt_executable_result_count(g->executable),
                  ath_pjrt_executable_partitions(g->executable), self->here);
}

static void destroy(gathering *self) {
  ath_pjrt_executable_destroy(self->executable);
  free(self);
}

/* Variables have few types between them. */
static ath_status find(ath_xla_backend *self, const ath_split *split, const ath_type *type,
                       ath_pjrt_executable **out) {
  for (gathering *g = self->gatherings; g != NULL; g = g->next)
    if (ath_type_equal(&g->type, type) && memcmp(&g->split, split, sizeof *split) == 0) {
      *out = g->executable;
      return ATH_OK;
    }
  gathering *added = calloc(1, sizeof *added);
  if (added == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a program");
  *added = (gathering){.type = *type, .split = *split, .next = self->gatherings};
  ath_status status = compile(self, added);
  if (status != ATH_OK) {
    destroy(added);
    return status;
  }
  self->gatherings = added;
  *out = added->executable;
  return ATH_OK;
}

ath_status ath_xla_gather(ath_xla_backend *self, const ath_split *split, const ath_type *type,
                          ath_pjrt_buffer *const *parts, ath_pjrt_buffer **out) {
  ath_pjrt_executable *executable = NULL;
  ATH_TRY(find(self, split, type, &executable));
  return ath_pjrt_execute(executable, parts, 1, out);
}

void ath_xla_gather_end(ath_xla_backend *self) {
  for (int h = 0; h < ATH_XLA_HISTORY; h++) ath_pjrt_buffer_destroy(self->told[h]);
  while (self->gatherings != NULL) {
    gathering *next = self->gatherings->next;
    destroy(self->gatherings);
    self->gatherings = next;
  }
}

/* --- words --------------------------------------------------------------------------------- */

/* A row for each device, its process's words. */
static ath_type words_type(const ath_xla_backend *self) {
  return ath_type_make(ATH_I32, 2, self->devices, (int)ATH_WORDS);
}

static const ath_split words_split = {.axes = {ATH_AXIS_DATA | ATH_AXIS_FSDP | ATH_AXIS_MODEL}};

static ath_status tell(ath_xla_backend *self, const int32_t *words, ath_pjrt_buffer **mine,
                       ath_pjrt_buffer **all) {
  ath_type type = words_type(self), row = ath_type_make(ATH_I32, 2, 1, (int)ATH_WORDS);
  for (int d = 0; d < self->here; d++)
    ATH_TRY(ath_pjrt_buffer_create(self->client, d, &row, words, &mine[d]));
  ATH_TRY(ath_xla_gather(self, &words_split, &type, mine, all));
  ath_pjrt_buffer_destroy(self->told[ATH_XLA_HISTORY - 1]);
  for (int h = ATH_XLA_HISTORY - 1; h > 0; h--) self->told[h] = self->told[h - 1];
  self->told[0] = all[0];
  all[0] = NULL;
  return ATH_OK;
}

ath_status ath_xla_tell(ath_backend *base, const int32_t *words) {
  ath_xla_backend *self = (ath_xla_backend *)base;
  size_t here = (size_t)self->here;
  assert(self->processes > 1);
  ath_pjrt_buffer **lists = calloc(2 * here, sizeof *lists);
  if (lists == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a few words");
  ath_status status = tell(self, words, lists, lists + here);
  ath_xla_release(self, lists, self->here);
  ath_xla_release(self, lists + here, self->here);
  free(lists);
  return status;
}

ath_status ath_xla_hear(ath_backend *base, int ago, int32_t *words) {
  ath_xla_backend *self = (ath_xla_backend *)base;
  ath_type type = words_type(self);
  size_t bytes = ath_type_bytes(&type);
  assert(ago >= 0 && ago < ATH_XLA_HISTORY && self->told[ago] != NULL);
  int32_t *table = malloc(bytes);
  if (table == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a few words");
  ath_status status = ath_pjrt_buffer_read(self->told[ago], table, bytes);
  for (int p = 0; p < self->processes && status == ATH_OK; p++)
    memcpy(words + p * ATH_WORDS, table + p * self->here * ATH_WORDS, ATH_WORDS * sizeof *words);
  free(table);
  return ath_context(status, "hearing from the other processes");
}

ath_status ath_xla_all(ath_xla_backend *self, bool yes, bool *all) {
  int32_t mine[ATH_WORDS] = {yes};
  *all = yes;
  if (self->processes == 1) return ATH_OK;
  int32_t *words = calloc((size_t)self->processes, sizeof mine);
  if (words == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a few words");
  ath_status status = ath_xla_tell(&self->base, mine);
  if (status == ATH_OK) status = ath_xla_hear(&self->base, 0, words);
  for (int p = 0; p < self->processes && status == ATH_OK; p++) *all &= words[p * ATH_WORDS] != 0;
  free(words);
  return status;
}
