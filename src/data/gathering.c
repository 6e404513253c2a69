/* gathering.c: meeting by way of the launcher's store of keys and values. */
#include "data/gathering.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "base/outcome.h"

/* One of the others may be at it for days; the launcher ends all when one dies. */
enum { ASK_MS = 10000, ASKS_MAX = 30 * 24 * 360 };

ath_status ath_gathering_open(bool launched, ath_gathering *out) {
  *out = (ath_gathering){.size = 1};
  if (!launched) return ATH_OK;
  ATH_TRY(ath_store_open(&out->store));
  out->rank = out->store->rank;
  out->size = out->store->size;
  ath_log_set_process(out->rank, out->size);
  return ATH_OK;
}

void ath_gathering_close(ath_gathering *self) {
  ath_store_close(self->store);
  self->store = NULL;
}

static size_t name_word(char out[64], int meeting, int rank) {
  return (size_t)snprintf(out, 64, "data prepare/%d/%d", meeting, rank);
}

static ath_status hear(const ath_gathering *self, int rank, ath_outcome *out) {
  char key[64];
  ath_buffer heard = ath_buffer_make(sizeof *out);
  size_t length = name_word(key, self->meetings, rank);
  ath_status status = ATH_NOT_FOUND;
  for (int i = 0; i < ASKS_MAX && status == ATH_NOT_FOUND; i++)
    status = ath_store_get(self->store, key, length, ASK_MS, &heard);
  if (status == ATH_OK && heard.length == sizeof *out) memcpy(out, heard.bytes, sizeof *out);
  else if (status == ATH_OK) status = ath_fail(ATH_CORRUPT, "process %d cannot be heard", rank);
  ath_buffer_free(&heard);
  return status;
}

ath_status ath_gathering_meet(ath_gathering *self, ath_status status) {
  if (self->size == 1) return status;
  char key[64];
  ath_outcome own = {.text = ""}, heard, first = {.status = ATH_OK};
  ath_outcome_keep(&own, status);
  size_t length = name_word(key, self->meetings, self->rank);
  ath_status asking = ath_store_put(self->store, key, length, &own, sizeof own);
  int from = -1;
  for (int rank = 0; rank < self->size && asking == ATH_OK; rank++) {
    if (rank == self->rank) continue;
    asking = hear(self, rank, &heard);
    if (asking != ATH_OK || heard.status == ATH_OK || from >= 0) continue;
    first = heard;
    from = rank;
  }
  self->meetings++;
  if (own.status != ATH_OK) return ath_outcome_return(&own);
  ATH_TRY(asking);
  return ath_context(ath_outcome_return(&first), "process %d", from);
}
