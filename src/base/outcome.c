/* outcome.c: a status together with its text. */
#include "base/outcome.h"

#include <string.h>

void ath_outcome_keep(ath_outcome *self, ath_status status) {
  self->status = status;
  if (status == ATH_OK) return;
  const char *text = ath_error_text();
  memcpy(self->text, text, strlen(text) + 1); /* which is never longer than ATH_ERROR_TEXT_MAX */
}

ath_status ath_outcome_return(const ath_outcome *self) {
  return self->status == ATH_OK ? ATH_OK : ath_fail(self->status, "%s", self->text);
}
