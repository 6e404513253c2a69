/* status.c: the failure text of each thread, and the names of the statuses. */
#include "athanor/status.h"

#include <assert.h>
#include <string.h>

#include "base/outcome.h"

/* Fixed and in place, because the failure to be told may be that memory has run out. */
static _Thread_local char text[ATH_ERROR_TEXT_MAX];

/* In all three: the arguments may point into the old text, so the new one is formed beside it. */

ath_status ath_fail(ath_status status, const char *format, ...) {
  char fresh[ATH_ERROR_TEXT_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fresh, sizeof fresh, format, arguments);
  va_end(arguments);
  memcpy(text, fresh, sizeof fresh);
  return status == ATH_OK ? ATH_INTERNAL : status;
}

/* The list in status.h; a program that has to choose an exit code needs no finer one. */
static ath_status status_of_errno(int error_number) {
  switch (error_number) {
    case ENOENT: case ENOTDIR: return ATH_NOT_FOUND;
    case EACCES: case EPERM: case EROFS: return ATH_DENIED;
    case ENOSPC: case EDQUOT: return ATH_NO_SPACE;
    case ENOMEM: return ATH_NO_MEMORY;
    case EINVAL: case EISDIR: return ATH_INVALID;
    default: return ATH_IO;
  }
}

ath_status ath_fail_errno(int error_number, const char *format, ...) {
  char fresh[ATH_ERROR_TEXT_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fresh, sizeof fresh, format, arguments);
  va_end(arguments);
  char reason[128];
  const char *said = strerror_r(error_number, reason, sizeof reason);
  return ath_fail(status_of_errno(error_number), "%s: %s", fresh, said);
}

ath_status ath_context(ath_status status, const char *format, ...) {
  if (status == ATH_OK) return status;
  char fresh[ATH_ERROR_TEXT_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fresh, sizeof fresh, format, arguments);
  va_end(arguments);
  size_t length = strlen(fresh);
  assert(length < sizeof fresh);
  snprintf(fresh + length, sizeof fresh - length, ": %s", text);
  memcpy(text, fresh, sizeof fresh);
  return status;
}

const char *ath_error_text(void) { return text; }

const char *ath_status_name(ath_status status) {
  switch (status) {
#define NAME_CASE(name, number, meaning) case name: return #name;
    ATH_STATUS_LIST(NAME_CASE)
#undef NAME_CASE
  }
  return "?";
}

const char *ath_status_meaning(ath_status status) {
  switch (status) {
#define MEANING_CASE(name, number, meaning) case name: return meaning;
    ATH_STATUS_LIST(MEANING_CASE)
#undef MEANING_CASE
  }
  return "?";
}
