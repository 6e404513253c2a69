/* api.c: what every call of a plugin shares: errors, events, named values. */
#include "backends/pjrt/api.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_TEXT_MAX = 900, OPTIONS_MAX = 64 };

/* --- errors ------------------------------------------------------------------------------ */

static const struct {
  PJRT_Error_Code code;
  const char *name;
  ath_status status;
} codes[] = {
  {PJRT_Error_Code_CANCELLED, "CANCELLED", ATH_IO},
  {PJRT_Error_Code_UNKNOWN, "UNKNOWN", ATH_INTERNAL},
  {PJRT_Error_Code_INVALID_ARGUMENT, "INVALID_ARGUMENT", ATH_INVALID},
  {PJRT_Error_Code_DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", ATH_IO},
  {PJRT_Error_Code_NOT_FOUND, "NOT_FOUND", ATH_NOT_FOUND},
  {PJRT_Error_Code_ALREADY_EXISTS, "ALREADY_EXISTS", ATH_INVALID},
  {PJRT_Error_Code_PERMISSION_DENIED, "PERMISSION_DENIED", ATH_DENIED},
  {PJRT_Error_Code_RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED", ATH_NO_MEMORY},
  {PJRT_Error_Code_FAILED_PRECONDITION, "FAILED_PRECONDITION", ATH_UNSUPPORTED},
  {PJRT_Error_Code_ABORTED, "ABORTED", ATH_IO},
  {PJRT_Error_Code_OUT_OF_RANGE, "OUT_OF_RANGE", ATH_INVALID},
  {PJRT_Error_Code_UNIMPLEMENTED, "UNIMPLEMENTED", ATH_UNSUPPORTED},
  {PJRT_Error_Code_INTERNAL, "INTERNAL", ATH_INTERNAL},
  {PJRT_Error_Code_UNAVAILABLE, "UNAVAILABLE", ATH_IO},
  {PJRT_Error_Code_DATA_LOSS, "DATA_LOSS", ATH_CORRUPT},
  {PJRT_Error_Code_UNAUTHENTICATED, "UNAUTHENTICATED", ATH_DENIED},
};

/* What a plugin's text means to the user, where it does not say so itself. */
static const struct {
  const char *part, *meaning;
  ath_status status;
} meanings[] = {
  {"No jellyfish device found", "no TPU found on this machine", ATH_UNSUPPORTED},
  {"libtpu_lockfile", "another process on this machine holds the TPU, or left its lock behind",
   ATH_DENIED},
  {"No visible GPU devices", "no NVIDIA GPU found on this machine", ATH_UNSUPPORTED},
};

/* Copies a plugin's text as one line; what is too long is cut. */
static void copy_line(const char *text, size_t length, char out[ERROR_TEXT_MAX]) {
  size_t n = 0;
  for (size_t i = 0; i < length && n + 1 < ERROR_TEXT_MAX; i++) {
    bool blank = (unsigned char)text[i] <= ' ';
    if (blank && (n == 0 || out[n - 1] == ' ')) continue;
    out[n++] = blank ? ' ' : text[i];
  }
  while (n > 0 && out[n - 1] == ' ') n--;
  out[n] = '\0';
}

static PJRT_Error_Code code_of(const ath_pjrt_plugin *plugin, PJRT_Error *error) {
  ATH_PJRT_ARGS(args, Error_GetCode, .error = error);
  PJRT_Error *second = plugin->api->PJRT_Error_GetCode(&args);
  ath_pjrt_ignore(plugin, second);
  return second == NULL ? args.code : PJRT_Error_Code_UNKNOWN;
}

void ath_pjrt_ignore(const ath_pjrt_plugin *plugin, PJRT_Error *error) {
  if (error == NULL) return;
  ATH_PJRT_ARGS(args, Error_Destroy, .error = error);
  plugin->api->PJRT_Error_Destroy(&args);
}

ath_status ath_pjrt_check(const ath_pjrt_plugin *plugin, const char *function,
                          PJRT_Error *error) {
  if (error == NULL) return ATH_OK;
  ATH_PJRT_ARGS(args, Error_Message, .error = error);
  plugin->api->PJRT_Error_Message(&args);
  char text[ERROR_TEXT_MAX];
  copy_line(args.message, args.message != NULL ? args.message_size : 0, text);
  PJRT_Error_Code code = code_of(plugin, error);
  ath_pjrt_ignore(plugin, error);

  ath_status status = ATH_INTERNAL;
  const char *name = "an unknown code";
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    if (codes[i].code != code) continue;
    status = codes[i].status;
    name = codes[i].name;
  }
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
    if (strstr(text, meanings[i].part) != NULL)
      return ath_fail(meanings[i].status, "%s (%s of %s: %s)", meanings[i].meaning, function,
                      plugin->path, text);
  return ath_fail(status, "%s: %s: %s: %s", plugin->path, function, name, text);
}

ath_status ath_pjrt_missing(const ath_pjrt_plugin *plugin, const char *function) {
  return ath_fail(ATH_UNSUPPORTED, "%s: the plugin has no %s (its API is %d.%d)", plugin->path,
                  function, plugin->api->pjrt_api_version.major_version,
                  plugin->api->pjrt_api_version.minor_version);
}

/* --- named values ------------------------------------------------------------------------ */

static ath_status make_value(const ath_pjrt_option *option, PJRT_NamedValue *out) {
  *out = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE, .name = option->name,
                           .name_size = strlen(option->name), .value_size = 1};
  switch (option->kind) {
    case ATH_PJRT_STRING:
      out->type = PJRT_NamedValue_kString;
      out->string_value = option->string;
      out->value_size = strlen(option->string);
      return ATH_OK;
    case ATH_PJRT_INTEGER:
      out->type = PJRT_NamedValue_kInt64;
      out->int64_value = option->integer;
      return ATH_OK;
    case ATH_PJRT_FLOAT:
      out->type = PJRT_NamedValue_kFloat;
      out->float_value = option->number;
      return ATH_OK;
    case ATH_PJRT_BOOL:
      out->type = PJRT_NamedValue_kBool;
      out->bool_value = option->integer != 0;
      return ATH_OK;
    case ATH_PJRT_INTEGERS:
      out->type = PJRT_NamedValue_kInt64List;
      out->int64_array_value = option->integers;
      out->value_size = option->count;
      return ATH_OK;
  }
  return ath_fail(ATH_INTERNAL, "option %s has the unknown kind %d", option->name,
                  (int)option->kind);
}

ath_status ath_pjrt_options_make(const ath_pjrt_option *options, size_t count,
                                 PJRT_NamedValue **out) {
  *out = NULL;
  if (count == 0) return ATH_OK;
  assert(count <= OPTIONS_MAX);
  PJRT_NamedValue *values = calloc(count, sizeof *values);
  if (values == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu options", count);
  for (size_t i = 0; i < count; i++) {
    ath_status status = make_value(&options[i], &values[i]);
    if (status != ATH_OK) {
      free(values);
      return status;
    }
  }
  *out = values;
  return ATH_OK;
}

static void list_text(const int64_t *values, size_t count, char *out, size_t size) {
  size_t n = 0;
  for (size_t i = 0; i < count && n < size; i++) {
    int added = snprintf(out + n, size - n, "%s%lld", i > 0 ? "." : "", (long long)values[i]);
    if (added < 0) return;
    n += (size_t)added;
  }
}

void ath_pjrt_value_text(const PJRT_NamedValue *value, char *out, size_t size) {
  assert(size > 0);
  out[0] = '\0';
  switch (value->type) {
    case PJRT_NamedValue_kString:
      snprintf(out, size, "%.*s", (int)(value->value_size < size ? value->value_size : size),
               value->string_value);
      return;
    case PJRT_NamedValue_kInt64:
      snprintf(out, size, "%lld", (long long)value->int64_value);
      return;
    case PJRT_NamedValue_kInt64List:
      list_text(value->int64_array_value, value->value_size, out, size);
      return;
    case PJRT_NamedValue_kFloat: snprintf(out, size, "%g", (double)value->float_value); return;
    case PJRT_NamedValue_kBool:
      snprintf(out, size, "%s", value->bool_value ? "true" : "false");
      return;
  }
}

char *ath_pjrt_string(const char *text, size_t length) {
  return text != NULL ? strndup(text, length) : strdup("");
}
