/* explain.c: the compiler's report of large buffers, translated.
 *
 * A line of its table is
 *     24.00MiB(100%);   24.00MiB;            0;                2; 2×f32[8192,768]
 *     cumulative size   size                 offset            values, and their shapes */
#include "plan/explain.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "plan/names.h"

enum { ROWS_MAX = 15, NAMES_PER_ROW = 3, SHAPE_MAX = 96, TEXT_MAX = 1 << 16 };

int64_t ath_wanted_bytes(const char *reason) {
  static const char units[] = "KMGT";
  const char *at = strchr(reason, '(');
  for (; at != NULL; at = strchr(at + 1, '(')) {
    char *end;
    double value = strtod(at + 1, &end);
    const char *unit = strchr(units, *end);
    if (end == at + 1 || unit == NULL || *end == '\0' || end[1] != ')') continue;
    for (const char *u = units; u <= unit; u++) value *= 1024;
    return value < 9e15 ? (int64_t)value : -1;
  }
  return -1;
}

/* --- shapes -------------------------------------------------------------------------------- */

/* "f32[32,12,512]" as "tensor<32x12x512xf32>", its first dimension `times` as large. */
static bool tensor_text(const char *shape, int times, char out[SHAPE_MAX]) {
  const char *bracket = strchr(shape, '[');
  if (bracket == NULL || !isdigit((unsigned char)bracket[1])) return false;
  char *rest;
  long long first = strtoll(bracket + 1, &rest, 10);
  assert(times > 0);
  if (first > INT64_MAX / times) return false;
  int used = snprintf(out, SHAPE_MAX, "tensor<%lld", first * times);
  for (; *rest != ']' && *rest != '\0' && used < SHAPE_MAX - 1; rest++)
    if (isdigit((unsigned char)*rest)) out[used++] = *rest;
    else if (*rest == ',') out[used++] = 'x';
  bool signless = strncmp(shape, "s32", 3) == 0, logical = strncmp(shape, "pred", 4) == 0;
  const char *type = signless ? "i32" : logical ? "i1" : NULL;
  int length = type != NULL ? (int)strlen(type) : (int)(bracket - shape);
  if (used + length + 3 > SHAPE_MAX) return false;
  out[used++] = 'x';
  memcpy(out + used, type != NULL ? type : shape, (size_t)length);
  memcpy(out + used + length, ">", 2);
  return true;
}

/* Whether this line of the module makes a value of the type: its last type is this one. */
static bool makes(const char *line, const char *type) {
  size_t length = strcspn(line, "\n"), wanted = strlen(type);
  return length > wanted && memcmp(line + length - wanted, type, wanted) == 0;
}

/* Appends the names of the first few nodes with values of a type; how many there were. */
static ath_status put_makers(const ath_line_names *lines, const char *type, int *count,
                             ath_buffer *out) {
  char seen[NAMES_PER_ROW][ATH_PLAN_NAME_MAX], name[ATH_PLAN_NAME_MAX];
  for (int i = 0; i < lines->count && *count < NAMES_PER_ROW; i++) {
    if (!makes(lines->lines[i], type)) continue;
    bool new = true;
    ath_plan_line_name(lines, i + 1, name);
    for (int k = 0; k < *count; k++) new = new && strcmp(seen[k], name) != 0;
    if (!new || name[0] == '\0') continue;
    memcpy(seen[*count], name, sizeof name);
    ATH_TRY(ath_buffer_format(out, "%s%s", *count == 0 ? "  " : ", ", name));
    ++*count;
  }
  return ATH_OK;
}

/* --- rows ---------------------------------------------------------------------------------- */

/* The size and the shapes of one line of the table; false for a line that is none. */
static bool read_row(const char *line, char size[32], char shapes[SHAPE_MAX]) {
  const char *end = line + strcspn(line, "\n"), *field[5];
  int count = 0;
  for (const char *at = line; count < 5 && at != NULL && at < end; count++) {
    field[count] = at + strspn(at, " ");
    at = memchr(at, ';', (size_t)(end - at));
    if (at != NULL) at++;
  }
  if (count < 5 || !isdigit((unsigned char)*field[1])) return false;
  snprintf(size, 32, "%.*s", (int)strcspn(field[1], ";"), field[1]);
  snprintf(shapes, SHAPE_MAX, "%.*s", (int)(end - field[4]), field[4]);
  return true;
}

static ath_status put_row(const ath_line_names *lines, int chips, const char *size,
                          const char *shapes, ath_buffer *out) {
  const char *shape = strstr(shapes, "×");
  char type[SHAPE_MAX];
  int found = 0;
  shape = shape != NULL ? shape + strlen("×") : shapes;
  ATH_TRY(ath_buffer_format(out, "\n    %10s  %-28.60s", size, shapes));
  if (tensor_text(shape, chips, type)) ATH_TRY(put_makers(lines, type, &found, out));
  if (found == 0 && tensor_text(shape, 1, type)) ATH_TRY(put_makers(lines, type, &found, out));
  return ATH_OK;
}

/* The first table is that of the chip's main memory. */
static ath_status put_rows(const ath_verdict *verdict, const ath_line_names *lines, int chips,
                           ath_buffer *out) {
  const char *line = verdict->largest.length > 0 ? verdict->largest.bytes : "";
  int rows = 0;
  if (*line != '\0') ATH_TRY(ath_buffer_string(out, "\n  the largest buffers:"));
  while (*line != '\0' && rows < ROWS_MAX) {
    char size[32], shapes[SHAPE_MAX];
    if (read_row(line, size, shapes)) {
      ATH_TRY(put_row(lines, chips, size, shapes, out));
      rows++;
    } else if (rows > 0) {
      break;
    }
    line += strcspn(line, "\n");
    line += *line == '\n';
  }
  return ATH_OK;
}

static ath_status print(const ath_verdict *verdict, const ath_line_names *lines, int chips,
                        ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, verdict->reason.length > 0 ? verdict->reason.bytes : ""));
  ATH_TRY(put_rows(verdict, lines, chips, out));
  return ath_buffer_string(
      out, "\n  what helps: a lower per_device_train_batch_size with more "
           "gradient_accumulation_steps,\n  bf16: true, mesh: fsdp=N (the chips share weights and "
           "moments), a lower max_seq_length\n  or max_predictions_per_seq, or chips with more "
           "memory");
}

ath_status ath_explain(const ath_verdict *verdict, const ath_buffer *text, int chips,
                       ath_arena *arena, const char **out) {
  ath_buffer buffer = ath_buffer_make(TEXT_MAX);
  ath_line_names lines;
  ath_status status = ath_line_names_make(text, arena, &lines);
  if (status == ATH_OK) status = print(verdict, &lines, chips, &buffer);
  if (status == ATH_OK) {
    *out = ath_arena_string(arena, buffer.bytes);
    if (*out == NULL) status = ATH_NO_MEMORY;
  }
  ath_buffer_free(&buffer);
  return status;
}
