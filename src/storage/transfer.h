/* transfer.h: what several threads have moved so far, shown as one progress. */
#ifndef ATHANOR_STORAGE_TRANSFER_H
#define ATHANOR_STORAGE_TRANSFER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ath_transfer {
  pthread_mutex_t lock;
  char task[160];
  uint64_t done, total; /* bytes */
  bool quiet;
} ath_transfer;

/* "<verb> <id>" */
void ath_transfer_init(ath_transfer *self, const char *verb, const char *id, bool quiet);
/* Bytes that went, or with a negative number have to go again. */
void ath_transfer_add(ath_transfer *self, int64_t bytes);
/* With a last report, if it came to its end. */
void ath_transfer_finish(ath_transfer *self, bool whole);

/* What copying in this thread, and in threads that ath_parallel starts from it, is counted by from
 * now on; NULL: by nothing. */
void ath_transfer_attend(ath_transfer *self);
ath_transfer *ath_transfer_attended(void);
/* For who copies: counts bytes by that, if there is any. */
void ath_transfer_moved(uint64_t bytes);

#endif
