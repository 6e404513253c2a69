/* overrides.c: compiler options from ATHANOR_XLA_OPTIONS and ATHANOR_PARTITIONER. */
#include "backends/pjrt/overrides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a value is follows from how it is written. */
static ath_status set_value(ath_pjrt_option *option, const char *text) {
  char *whole_end, *number_end;
  errno = 0;
  long long whole = strtoll(text, &whole_end, 10);
  bool too_large = errno == ERANGE && *whole_end == '\0';
  float number = strtof(text, &number_end);
  bool numeric = *text != '\0' && strspn(text, "+-.0123456789eE") == strlen(text);
  if (too_large || (numeric && *number_end == '\0' && !isfinite(number)))
    return ath_fail(ATH_USAGE, "ATHANOR_XLA_OPTIONS: %s=%.40s is too large a number",
                    option->name, text);
  if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
    option->kind = ATH_PJRT_BOOL;
    option->integer = *text == 't';
  } else if (*text != '\0' && *whole_end == '\0') {
    option->kind = ATH_PJRT_INTEGER;
    option->integer = whole;
  } else if (numeric && *number_end == '\0') {
    option->kind = ATH_PJRT_FLOAT;
    option->number = number;
  } else {
    option->kind = ATH_PJRT_STRING;
    option->string = text;
  }
  return ATH_OK;
}

static ath_status add(ath_xla_overrides *self, char *assignment) {
  char *equals = strchr(assignment, '=');
  if (equals == NULL || equals == assignment)
    return ath_fail(ATH_USAGE, "ATHANOR_XLA_OPTIONS: \"%.80s\" is not name=value", assignment);
  if (self->count == ATH_XLA_OVERRIDES_MAX)
    return ath_fail(ATH_USAGE, "ATHANOR_XLA_OPTIONS: more than %d options", ATH_XLA_OVERRIDES_MAX);
  *equals = '\0';
  ath_pjrt_option *option = &self->items[self->count++];
  option->name = assignment;
  return set_value(option, equals + 1);
}

static ath_status choose_partitioner(bool *shardy) {
  const char *name = getenv("ATHANOR_PARTITIONER");
  *shardy = name != NULL && strcmp(name, "shardy") == 0;
  if (*shardy || name == NULL || *name == '\0' || strcmp(name, "gspmd") == 0) return ATH_OK;
  return ath_fail(ATH_USAGE, "ATHANOR_PARTITIONER is \"%.40s\"; there are gspmd and shardy", name);
}

ath_status ath_xla_overrides_read(ath_xla_overrides *out) {
  const char *given = getenv("ATHANOR_XLA_OPTIONS");
  *out = (ath_xla_overrides){0};
  ATH_TRY(choose_partitioner(&out->shardy));
  if (given == NULL || *given == '\0') return ATH_OK;
  if (snprintf(out->text, sizeof out->text, "%s", given) >= (int)sizeof out->text)
    return ath_fail(ATH_USAGE, "ATHANOR_XLA_OPTIONS: longer than %zu characters",
                    sizeof out->text - 1);
  char *rest = out->text, *assignment;
  while ((assignment = strsep(&rest, ",")) != NULL) ATH_TRY(add(out, assignment));
  return ATH_OK;
}

ath_pjrt_compile_options ath_xla_overrides_options(const ath_xla_overrides *self, int devices) {
  return (ath_pjrt_compile_options){.partitions = devices, .shardy = self->shardy && devices > 1,
                                    .overrides = self->items, .override_count = self->count};
}

ath_status ath_xla_overrides_context(const ath_xla_overrides *self, ath_status status) {
  if (self->count == 0) return status;
  return ath_context(status, "with the options of ATHANOR_XLA_OPTIONS");
}
