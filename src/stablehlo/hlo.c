/* hlo.c: the writer itself: names, types, lines of text, and the failure that sticks to it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/resize.h"
#include "stablehlo/writer.h"

/* A step of a large model has some 10^5 statements and 30 MB of text. */
enum { TEXT_LIMIT = 1 << 30, NAMES_LIMIT = 1 << 24, ARENA_LIMIT = 1 << 28, NAME_LENGTH_MAX = 200 };

ath_status ath_hlo_create(ath_hlo **out) {
  *out = NULL;
  ath_hlo *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a StableHLO writer");
  self->text = ath_buffer_make(TEXT_LIMIT);
  self->node = self->base = "value";
  ath_status status = ath_arena_create(ARENA_LIMIT, &self->arena);
  if (status == ATH_OK) status = ath_hash_map_create(NAMES_LIMIT, &self->bases);
  if (status != ATH_OK) {
    ath_hlo_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_hlo_destroy(ath_hlo *self) {
  if (self == NULL) return;
  ath_buffer_free(&self->text);
  ath_hash_map_destroy(self->bases);
  ath_arena_destroy(self->arena);
  free(self->names);
  free(self);
}

/* --- the failure --------------------------------------------------------------------------- */

ath_status ath_hlo_status(const ath_hlo *self) {
  if (self->failure == ATH_OK) return ATH_OK;
  return ath_fail(self->failure, "%s", self->failure_text);
}

static void fail_text(ath_hlo *self, ath_status status, const char *format, va_list arguments) {
  assert(status != ATH_OK);
  if (self->failure != ATH_OK) return;
  self->failure = status;
  int used = snprintf(self->failure_text, sizeof self->failure_text, "%.*s: ", NAME_LENGTH_MAX,
                      self->node);
  vsnprintf(self->failure_text + used, sizeof self->failure_text - (size_t)used, format,
            arguments);
}

void ath_hlo_fail(ath_hlo *self, ath_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fail_text(self, status, format, arguments);
  va_end(arguments);
}

bool ath_hlo_want(ath_hlo *self, bool condition, const char *format, ...) {
  if (self->failure != ATH_OK) return false;
  if (condition) return true;
  va_list arguments;
  va_start(arguments, format);
  fail_text(self, ATH_INTERNAL, format, arguments);
  va_end(arguments);
  return false;
}

/* Takes over the failure of a buffer, a map or an arena. */
static bool kept(ath_hlo *self, ath_status status) {
  if (status != ATH_OK) ath_hlo_fail(self, status, "StableHLO text: %s", ath_error_text());
  return self->failure == ATH_OK;
}

/* --- names --------------------------------------------------------------------------------- */

/* MLIR takes letters, digits, "$", ".", "_" and "-" in names that do not begin with a digit and are
 * not empty. "$" is kept for telling apart names that are the same after this. */
static void write_identifier(char *out, const char *name) {
  size_t at = 0;
  if (name[0] == '\0' || (name[0] >= '0' && name[0] <= '9')) out[at++] = '_';
  for (; *name != '\0' && at < NAME_LENGTH_MAX; name++) {
    char c = *name;
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '.' || c == '-';
    out[at++] = plain ? c : c == '/' ? '.' : '_';
  }
  out[at] = '\0';
}

/* A name in the arena that no other caller was given. */
static const char *claim(ath_hlo *self, const char *name) {
  char text[NAME_LENGTH_MAX + 16];
  write_identifier(text, name);
  size_t length = strlen(text);
  int32_t times = 0;
  ath_hash_map_get(self->bases, text, length, &times);
  if (!kept(self, ath_hash_map_set(self->bases, text, length, times + 1))) return "";
  if (times > 0) snprintf(text + length, sizeof text - length, "$%d", times + 1);
  const char *copy = ath_arena_string(self->arena, text);
  if (copy == NULL) kept(self, ATH_NO_MEMORY);
  return copy != NULL ? copy : "";
}

void ath_hlo_enter(ath_hlo *self, const char *node) {
  if (self->failure != ATH_OK) return;
  self->node = node;
  self->base = claim(self, node);
  self->serial = 0;
}

/* Values that share a base differ in their serial number. The array starts small: most writers
 * that a test makes hold a few statements. */
static int32_t add_name(ath_hlo *self, value_name name) {
  if (self->failure != ATH_OK) return -1;
  if (self->name_count == self->name_capacity) {
    size_t capacity = self->name_capacity == 0 ? 256 : 2 * self->name_capacity;
    if (capacity > NAMES_LIMIT || !ath_resize(&self->names, capacity * sizeof *self->names)) {
      ath_hlo_fail(self, ATH_NO_MEMORY, "no memory for more than %zu values of StableHLO text",
                   self->name_count);
      return -1;
    }
    self->name_capacity = capacity;
  }
  self->names[self->name_count] = name;
  return (int32_t)self->name_count++;
}

/* Whether a name could be that of a node's statement: "add.1". */
static bool ends_in_serial(const char *name) {
  size_t length = strlen(name), digits = 0;
  while (digits < length && name[length - 1 - digits] >= '0' && name[length - 1 - digits] <= '9')
    digits++;
  return digits > 0 && digits < length && name[length - 1 - digits] == '.';
}

ath_hlo_value ath_hlo_argument(ath_hlo *self, const char *name, const ath_type *type) {
  ath_hlo_value value = ath_hlo_shaped((ath_hlo_dtype)type->dtype, type->rank, type->dims);
  char marked[NAME_LENGTH_MAX + 16];
  const char *base = claim(self, name);
  if (ends_in_serial(base)) {
    snprintf(marked, sizeof marked, "%s$", base);
    base = ath_arena_string(self->arena, marked);
    if (base == NULL) kept(self, ATH_NO_MEMORY);
  }
  value.id = add_name(self, (value_name){.base = base});
  return value;
}

/* --- kept values --------------------------------------------------------------------------- */

void ath_hlo_keep(ath_hlo *self, ath_value output, int role, const ath_hlo_value *values,
                  int count) {
  assert(count > 0 && count <= ATH_HLO_KEPT_MAX);
  kept_values *its = ath_arena_alloc(self->arena, sizeof *its);
  if (its == NULL) {
    ath_hlo_fail(self, ATH_NO_MEMORY, "no memory for values that are kept");
    return;
  }
  *its = (kept_values){
    .next = self->kept, .output = output, .role = role, .count = count};
  memcpy(its->values, values, (size_t)count * sizeof *values);
  self->kept = its;
}

bool ath_hlo_kept(const ath_hlo *self, ath_value output, int role, ath_hlo_value *values,
                  int count) {
  const kept_values *its = self->kept;
  while (its != NULL && (its->output != output || its->role != role)) its = its->next;
  if (its == NULL) return false;
  assert(its->count == count);
  memcpy(values, its->values, (size_t)count * sizeof *values);
  return true;
}

/* --- types --------------------------------------------------------------------------------- */

ath_hlo_value ath_hlo_shaped(ath_hlo_dtype dtype, int rank, const int64_t *dims) {
  assert(rank >= 0 && rank <= ATH_HLO_MAX_RANK);
  ath_hlo_value value = {.id = -1, .dtype = dtype, .rank = rank};
  for (int i = 0; i < rank; i++) value.dims[i] = dims[i];
  return value;
}

bool ath_hlo_same_dims(ath_hlo_value a, ath_hlo_value b) {
  return a.rank == b.rank && memcmp(a.dims, b.dims, (size_t)a.rank * sizeof *a.dims) == 0;
}

bool ath_hlo_has_type(ath_hlo_value value, const ath_type *type) {
  ath_hlo_value wanted = ath_hlo_shaped((ath_hlo_dtype)type->dtype, type->rank, type->dims);
  return value.dtype == wanted.dtype && ath_hlo_same_dims(value, wanted);
}

static const char *dtype_text(ath_hlo_dtype dtype) {
  switch (dtype) {
    case ATH_HLO_F32: return "f32";
    case ATH_HLO_BF16: return "bf16";
    case ATH_HLO_I32: return "i32";
    case ATH_HLO_U32: return "ui32";
    case ATH_HLO_PRED: break;
  }
  assert(dtype == ATH_HLO_PRED);
  return "i1";
}

/* --- text ---------------------------------------------------------------------------------- */

static void put_string(ath_hlo *self, const char *string) {
  if (self->failure == ATH_OK) kept(self, ath_buffer_string(&self->text, string));
}

static void put_integer(ath_hlo *self, int64_t value) {
  if (self->failure == ATH_OK) kept(self, ath_buffer_integer(&self->text, value));
}

static void put_name(ath_hlo *self, const ath_hlo_value *value) {
  if (!ath_hlo_want(self, ath_hlo_given(*value), "a statement lacks an operand")) return;
  assert((size_t)value->id < self->name_count);
  value_name name = self->names[value->id];
  put_string(self, "%");
  put_string(self, name.base);
  if (name.serial == 0) return;
  put_string(self, ".");
  put_integer(self, name.serial);
}

ath_status ath_hlo_print_type(ath_hlo_dtype dtype, int rank, const int64_t *dims,
                              ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, "tensor<"));
  for (int i = 0; i < rank; i++) {
    ATH_TRY(ath_buffer_integer(out, dims[i]));
    ATH_TRY(ath_buffer_byte(out, 'x'));
  }
  ATH_TRY(ath_buffer_string(out, dtype_text(dtype)));
  return ath_buffer_byte(out, '>');
}

static void put_type(ath_hlo *self, const ath_hlo_value *value) {
  if (self->failure == ATH_OK)
    kept(self, ath_hlo_print_type(value->dtype, value->rank, value->dims, &self->text));
}

static void put_list(ath_hlo *self, int count, const int64_t *numbers) {
  for (int i = 0; i < count; i++) {
    put_string(self, i > 0 ? ", " : "");
    put_integer(self, numbers[i]);
  }
}

/* One directive of ath_hlo_put; `list` is passed by pointer so that it goes on where it was. */
static void put_directive(ath_hlo *self, char directive, va_list *list) {
  switch (directive) {
    case 'v': put_name(self, va_arg(*list, const ath_hlo_value *)); return;
    case 't': put_type(self, va_arg(*list, const ath_hlo_value *)); return;
    case 's': put_string(self, va_arg(*list, const char *)); return;
    case 'd': put_integer(self, va_arg(*list, int)); return;
    case 'l': {
      int count = va_arg(*list, int);
      put_list(self, count, va_arg(*list, const int64_t *));
      return;
    }
    default: assert(!"a directive that ath_hlo_put does not know");
  }
}

static void put_formatted(ath_hlo *self, const char *format, va_list *list) {
  while (*format != '\0' && self->failure == ATH_OK) {
    size_t plain = strcspn(format, "%");
    if (!kept(self, ath_buffer_append(&self->text, format, plain))) return;
    format += plain;
    if (*format == '\0') return;
    put_directive(self, format[1], list);
    format += 2;
  }
}

void ath_hlo_put(ath_hlo *self, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_formatted(self, format, &arguments);
  va_end(arguments);
}

void ath_hlo_comment(ath_hlo *self, const char *text, size_t length) {
  const ath_buffer *out = &self->text;
  bool line_begins = out->length == 0 || out->bytes[out->length - 1] == '\n';
  ath_hlo_put(self, line_begins ? "    // " : " // ");
  for (size_t i = 0; i < length && self->failure == ATH_OK; i++) {
    bool control = (unsigned char)text[i] < ' ' || text[i] == 0x7F;
    kept(self, ath_buffer_byte(&self->text, control ? '?' : text[i]));
  }
  put_string(self, "\n");
}

ath_hlo_value ath_hlo_begin(ath_hlo *self, ath_hlo_value result) {
  result.id = add_name(self, (value_name){.base = self->base, .serial = self->serial + 1});
  if (result.id < 0) return ATH_HLO_NONE;
  self->serial++;
  ath_hlo_put(self, "    %v = ", &result);
  return result;
}

ath_hlo_value ath_hlo_statement(ath_hlo *self, ath_hlo_value result, const char *format, ...) {
  ath_hlo_value value = ath_hlo_begin(self, result);
  va_list arguments;
  va_start(arguments, format);
  put_formatted(self, format, &arguments);
  va_end(arguments);
  put_string(self, "\n");
  return self->failure == ATH_OK ? value : ATH_HLO_NONE;
}
