/* search.c: bisection, with a guess to begin with. */
#include "plan/search.h"

#include <assert.h>

/* LARGEST_MAX is that of the setting per_device_train_batch_size. */
enum { PROBES_MAX = 10, LARGEST_MAX = 65536, FINE_BELOW = 16, COARSE_STEP = 8 };

static int64_t step_at(int64_t batch) { return batch < FINE_BELOW ? 1 : COARSE_STEP; }

static int64_t round_down(int64_t batch) { return batch - batch % step_at(batch); }

/* A batch between one that fits and one that does not; `high` 0: none is known that does not. */
static int64_t next_probe(int64_t low, int64_t high, int64_t guess) {
  int64_t below = round_down(guess), above = below + step_at(guess);
  if (high == 0) return above > low ? above : round_down(2 * low + 1);
  if (above > low && above < high) return above;
  if (below > low && below < high) return below;
  int64_t middle = round_down((low + high) / 2);
  return middle > low ? middle : low + 1;
}

ath_status ath_search_largest(ath_status (*probe)(void *user, int64_t batch, bool *fits),
                              void *user, int64_t batch, bool fits, int64_t guess,
                              int64_t *largest) {
  int64_t low = fits ? batch : 0, high = fits ? 0 : batch;
  assert(batch > 0 && guess > 0);
  for (int i = 0; i < PROBES_MAX && low < LARGEST_MAX; i++) {
    if (high > 0 && high - low <= step_at(low)) break;
    int64_t next = next_probe(low, high, guess);
    if (next > LARGEST_MAX) next = LARGEST_MAX;
    assert(next > low && (high == 0 || next < high));
    ATH_TRY(probe(user, next, &fits));
    if (fits) low = next;
    else high = next;
  }
  *largest = low;
  return ATH_OK;
}
