/* overrides.c: compiler options from ATHANOR_XLA_OPTIONS. */
#include "backends/pjrt/overrides.h"

#include <stdlib.h>
#include <string.h>

/* What a value is follows from how it is written. */
static void set_value(ath_pjrt_option *option, const char *text) {
  char *whole_end, *number_end;
  long long whole = strtoll(text, &whole_end, 10);
  float number = strtof(text, &number_end);
  if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
    option->kind = ATH_PJRT_BOOL;
    option->integer = *text == 't';
  } else if (*text != '\0' && *whole_end == '\0') {
    option->kind = ATH_PJRT_INTEGER;
    option->integer = whole;
  } else if (*text != '\0' && *number_end == '\0') {
    option->kind = ATH_PJRT_FLOAT;
    option->number = number;
  } else {
    option->kind = ATH_PJRT_STRING;
    option->string = text;
  }
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
  set_value(option, equals + 1);
  return ATH_OK;
}

ath_status ath_xla_overrides_read(ath_xla_overrides *out) {
  const char *given = getenv("ATHANOR_XLA_OPTIONS");
  *out = (ath_xla_overrides){0};
  if (given == NULL || *given == '\0') return ATH_OK;
  if (snprintf(out->text, sizeof out->text, "%s", given) >= (int)sizeof out->text)
    return ath_fail(ATH_USAGE, "ATHANOR_XLA_OPTIONS: longer than %zu characters",
                    sizeof out->text - 1);
  char *rest = out->text, *assignment;
  while ((assignment = strsep(&rest, ",")) != NULL) ATH_TRY(add(out, assignment));
  return ATH_OK;
}
