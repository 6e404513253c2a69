/* retry.h: trying again with growing pauses, up to a number of tries and an overall deadline.
 *
 *     ath_retry retry = ath_retry_begin(&ath_retry_default, stop);
 *     do {
 *       status = ath_http_exchange(http, &request, &answer);
 *     } while (ath_retry_again(&retry, status, &answer));
 *     if (status != ATH_OK || answer.status != 200)
 *       return ath_retry_fail(&retry, status, &answer, &text, "gs://bucket/name");
 *
 * What is worth another try: no answer at all (ATH_IO), 408, 429 and 5xx. 400, 403, 404 and the
 * like are not; 401, 410 and 412 mean something to the caller, who acts on them himself. The pause
 * is random between half and the whole of a doubling bound, or as long as Retry-After says where
 * that fits into the deadline; where it does not, there is no further try. */
#ifndef ATHANOR_STORAGE_RETRY_H
#define ATHANOR_STORAGE_RETRY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "athanor/status.h"
#include "storage/http.h"

typedef struct ath_retry_policy {
  int tries;             /* at most, the first included */
  double first, longest; /* seconds of the first pause's bound and of the longest */
  double deadline;       /* seconds over all tries and pauses */
} ath_retry_policy;
/* 8 tries, 0.5 s … 32 s, 600 s. The environment's ATHANOR_RETRY_SECONDS replaces the deadline of
 * any policy; a shorter one shortens the pauses in proportion. */
extern const ath_retry_policy ath_retry_default;

typedef struct ath_retry {
  ath_retry_policy policy;
  const volatile sig_atomic_t *stop;
  double began;
  int tries; /* made so far */
} ath_retry;

ath_retry ath_retry_begin(const ath_retry_policy *policy, const volatile sig_atomic_t *stop);
/* What is left of the deadline: the `seconds` of an exchange that is not to outlast it. */
double ath_retry_seconds(const ath_retry *self);
/* After `bytes` came in since it began: it begins anew, unless so few came that a server which cuts
 * or holds back each answer could keep it up for good. */
void ath_retry_renew(ath_retry *self, const ath_retry_policy *policy, uint64_t bytes);
/* Whether to try again; waits before it says so. False as well when `stop` was set. The
 * time in which a body went out is none of the deadline's: on a slow line it may well outlast that,
 * and break only then. */
bool ath_retry_again(ath_retry *self, ath_status status, const ath_http_answer *answer);

/* What to report of an exchange that did not bring what was wanted: "<what>: 503 after 8 tries in
 * 41 s: <the first line of the answer's text or its JSON error message>". The status follows from
 * the answer's: 401, 403 → ATH_DENIED, 404 → ATH_NOT_FOUND, 412 → ATH_MISMATCH, other 4xx →
 * ATH_INVALID, 5xx, 408 and 429 → ATH_IO; a `status` that is not ATH_OK is kept, with the tries
 * added. `text` may be NULL. */
ath_status ath_retry_fail(const ath_retry *self, ath_status status, const ath_http_answer *answer,
                          const ath_buffer *text, const char *what) ATH_MUST_CHECK;

#endif
