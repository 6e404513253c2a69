/* weights.c: parameters to and from model.safetensors, under the names the Hub knows. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/safetensors.h"
#include "base/bf16.h"
#include "base/buffer.h"
#include "base/log.h"
#include "base/text.h"
#include "models/parameters.h"

enum { LIST_TEXT_MAX = 600, LISTED_MAX = 8 };

static const char PREFIX[] = "roberta.";

/* Tensors beyond the model that published files hold. The first group carries nothing: the tied
 * decoder again, and a table of 0, 1, 2, …; the second are heads of other tasks. */
static const char *const repeated[] = {"lm_head.decoder.weight", "lm_head.decoder.bias",
                                       "embeddings.position_ids"};
static const char *const other_heads[] = {"pooler.", "classifier.", "qa_outputs."};

static const char *without_prefix(const char *name) {
  return strncmp(name, PREFIX, sizeof PREFIX - 1) == 0 ? name + sizeof PREFIX - 1 : name;
}

/* --- reading ------------------------------------------------------------------------------- */

/* A file's tensors and which of them were used. */
typedef struct source {
  const ath_safetensors *file;
  const char *path;
  bool *used; /* [count] */
} source;

/* Whether `name`, as the file has it, means the Hub's name `wanted`. */
static bool means(const char *name, const char *wanted) {
  name = without_prefix(name);
  wanted = without_prefix(wanted);
  if (strcmp(name, wanted) == 0) return true;
  /* Old files call LayerNorm's weight and bias gamma and beta. */
  const char *old = strstr(name, "LayerNorm."), *new = strstr(wanted, "LayerNorm.");
  if (old == NULL || new == NULL || old - name != new - wanted) return false;
  if (memcmp(name, wanted, (size_t)(old - name)) != 0) return false;
  const char *old_end = old + strlen("LayerNorm."), *new_end = new + strlen("LayerNorm.");
  return (strcmp(old_end, "gamma") == 0 && strcmp(new_end, "weight") == 0) ||
         (strcmp(old_end, "beta") == 0 && strcmp(new_end, "bias") == 0);
}

/* A straight walk: files hold some hundreds of tensors and are read once. */
static const ath_tensor_entry *find(source *from, const char *wanted) {
  size_t count = ath_safetensors_count(from->file);
  for (size_t i = 0; i < count; i++) {
    const ath_tensor_entry *entry = ath_safetensors_at(from->file, i);
    if (from->used[i] || !means(entry->name, wanted)) continue;
    from->used[i] = true;
    return entry;
  }
  return NULL;
}

/* Copies a tensor's numbers into f32; the file's may be bf16. */
static ath_status copy_values(const source *from, const ath_tensor_entry *entry,
                              const ath_type *wanted, float *values) {
  ath_type type = entry->type;
  type.dtype = ATH_F32;
  char found[96], expected[96];
  if (!ath_type_equal(&type, wanted) ||
      (entry->type.dtype != ATH_F32 && entry->type.dtype != ATH_BF16))
    return ath_fail(ATH_MISMATCH, "%s: %s is %s; the configuration wants %s", from->path,
                    entry->name, ath_type_text(&entry->type, found),
                    ath_type_text(wanted, expected));
  int64_t count = ath_type_count(wanted);
  if (entry->type.dtype == ATH_F32) {
    memcpy(values, entry->data, (size_t)count * sizeof *values);
    return ATH_OK;
  }
  const uint8_t *bytes = entry->data;
  for (int64_t i = 0; i < count; i++)
    values[i] = ath_bf16_to_float((uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8));
  return ATH_OK;
}

/* Appends a name to a list in a text, of which the first LISTED_MAX are spelt out. */
static ath_status list_name(ath_buffer *list, size_t *listed, const char *name) {
  if (++*listed > LISTED_MAX) return ATH_OK;
  return ath_buffer_format(list, "%s%s", *listed > 1 ? ", " : "", name);
}

typedef struct missing_list {
  ath_buffer body, head; /* names of tensors the file lacks */
  size_t body_count, head_count;
} missing_list;

/* Writes the variable only when all its parts were found: half a joint product is of no use. */
static ath_status load_parameter(source *from, const ath_parameter *p, ath_state *state,
                                 missing_list *missing) {
  size_t bytes = ath_type_bytes(&p->type);
  int64_t part = ath_type_count(&p->part_type);
  assert((size_t)part * (size_t)p->parts * sizeof(float) == bytes);
  float *values = malloc(bytes);
  if (values == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to read %s", p->name);
  ath_status status = ATH_OK;
  int found = 0;
  for (int i = 0; i < p->parts && status == ATH_OK; i++) {
    const ath_tensor_entry *entry = find(from, p->hub[i]);
    if (entry != NULL) {
      status = copy_values(from, entry, &p->part_type, values + i * part);
      found++;
    } else if (p->head) {
      status = list_name(&missing->head, &missing->head_count, p->hub[i]);
    } else {
      status = list_name(&missing->body, &missing->body_count, p->hub[i]);
    }
  }
  if (status == ATH_OK && found == p->parts)
    status = ath_state_write(state, p->name, values, bytes);
  free(values);
  return status;
}

static bool begins_with_any(const char *name, const char *const *beginnings, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) return true;
  return false;
}

static bool is_repeated(const char *name) {
  for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++)
    if (ath_ends_with(name, repeated[i])) return true;
  return false;
}

/* Sorts what the file has beyond the model into heads of other tasks and strangers. */
static ath_status check_rest(const source *from, ath_buffer *strangers, size_t *count) {
  for (size_t i = 0; i < ath_safetensors_count(from->file); i++) {
    const char *name = ath_safetensors_at(from->file, i)->name;
    if (from->used[i] || is_repeated(name)) continue;
    if (begins_with_any(without_prefix(name), other_heads,
                        sizeof other_heads / sizeof *other_heads))
      ath_log(ATH_LOG_WARNING, "%s: %s belongs to another task and is left aside", from->path,
              name);
    else
      ATH_TRY(list_name(strangers, count, name));
  }
  return ATH_OK;
}

static const char *listed_text(const ath_buffer *list) {
  return list->length > 0 ? list->bytes : "none";
}

/* Variables are written as they are met, but a caller that is refused does not use the state. */
static ath_status load_all(const ath_model *self, source *from, ath_state *state) {
  missing_list missing = {.body = ath_buffer_make(LISTED_MAX * ATH_PARAMETER_NAME_MAX),
                          .head = ath_buffer_make(LISTED_MAX * ATH_PARAMETER_NAME_MAX)};
  ath_buffer strangers = ath_buffer_make(1 << 16);
  size_t stranger_count = 0;
  ath_status status = ATH_OK;
  for (size_t i = 0; i < self->count && status == ATH_OK; i++)
    status = load_parameter(from, &self->parameters[i], state, &missing);
  if (status == ATH_OK) status = check_rest(from, &strangers, &stranger_count);
  if (status == ATH_OK && (missing.body_count > 0 || stranger_count > 0))
    status = ath_fail(ATH_MISMATCH,
                      "%s does not hold this model: %zu tensors are missing (%.*s), %zu are "
                      "unexpected (%.*s); the first %d of each are named", from->path,
                      missing.body_count, LIST_TEXT_MAX / 2, listed_text(&missing.body),
                      stranger_count, LIST_TEXT_MAX / 2, listed_text(&strangers), LISTED_MAX);
  if (status == ATH_OK && missing.head_count > 0)
    ath_log(ATH_LOG_WARNING, "%s has no masked-language-model head (%s): it starts from scratch",
            from->path, listed_text(&missing.head));
  ath_buffer_free(&missing.body);
  ath_buffer_free(&missing.head);
  ath_buffer_free(&strangers);
  return status;
}

ath_status ath_model_load(const ath_model *self, ath_state *state, const char *path) {
  ath_safetensors *file = NULL;
  ATH_TRY(ath_safetensors_open(path, &file));
  source from = {.file = file, .path = path,
                 .used = calloc(ath_safetensors_count(file) + 1, sizeof *from.used)};
  ath_status status = from.used != NULL ? load_all(self, &from, state)
                                        : ath_fail(ATH_NO_MEMORY, "%s: no memory", path);
  free(from.used);
  ath_safetensors_close(file);
  return status;
}

/* --- writing ------------------------------------------------------------------------------- */

ath_status ath_model_save(const ath_model *self, const ath_state *state, const char *path) {
  size_t bytes = (size_t)ath_model_size(self) * sizeof(float), count = 0, filled = 0;
  ath_tensor_entry *entries =
      calloc(self->count * ATH_PARAMETER_PARTS_MAX, sizeof *entries);
  char *values = malloc(bytes);
  ath_status status = ATH_OK;
  if (entries == NULL || values == NULL)
    status = ath_fail(ATH_NO_MEMORY, "%s: no memory for %zu bytes of weights", path, bytes);
  for (size_t i = 0; i < self->count && status == ATH_OK; i++) {
    const ath_parameter *p = &self->parameters[i];
    assert(filled + ath_type_bytes(&p->type) <= bytes);
    status = ath_state_read(state, p->name, values + filled, ath_type_bytes(&p->type));
    for (int part = 0; part < p->parts; part++) {
      entries[count++] = (ath_tensor_entry){p->hub[part], p->part_type, values + filled};
      filled += ath_type_bytes(&p->part_type);
    }
  }
  assert(status != ATH_OK || filled == bytes);
  if (status == ATH_OK) status = ath_safetensors_save(path, entries, count);
  free(values);
  free(entries);
  return status;
}
