/* nearest.c: the closest of a few names. */
#include "base/nearest.h"

#include <string.h>

enum { LENGTH_MAX = 63 }; /* names of commands, options and keys are shorter */

static int least(int a, int b) { return a < b ? a : b; }

/* By dynamic programming over prefixes; three rows of the table suffice, because a swap looks back
 * two. */
static int distance(const char *a, const char *b) {
  int rows[3][LENGTH_MAX + 1];
  int m = (int)strlen(a), n = (int)strlen(b);
  int *before = rows[0], *last = rows[1], *now = rows[2];
  for (int j = 0; j <= n; j++) last[j] = j;
  for (int i = 1; i <= m; i++) {
    now[0] = i;
    for (int j = 1; j <= n; j++) {
      now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]), least(last[j], now[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = least(now[j], before[j - 2] + 1);
    }
    int *oldest = before;
    before = last;
    last = now;
    now = oldest;
  }
  return last[n];
}

const char *ath_nearest(const char *word, const char *const *candidates, size_t count) {
  if (strlen(word) > LENGTH_MAX) return NULL;
  const char *best = NULL;
  int best_distance = (int)strlen(word) / 3 + 2; /* one slip in any word, and one more per three */
  for (size_t i = 0; i < count; i++) {
    if (strlen(candidates[i]) > LENGTH_MAX) continue;
    int d = distance(word, candidates[i]);
    if (d >= best_distance) continue;
    best_distance = d;
    best = candidates[i];
  }
  return best;
}
