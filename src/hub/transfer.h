/* transfer.h: what several threads have moved so far, shown as one progress. */
#ifndef ATHANOR_HUB_TRANSFER_H
#define ATHANOR_HUB_TRANSFER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ath_hub_transfer {
  pthread_mutex_t lock;
  char task[160];
  uint64_t done, total; /* bytes */
  bool quiet;
} ath_hub_transfer;

/* "<verb> <id>" */
void ath_hub_transfer_init(ath_hub_transfer *self, const char *verb, const char *id, bool quiet);
/* Bytes that went, or with a negative number have to go again. */
void ath_hub_transfer_add(ath_hub_transfer *self, int64_t bytes);
void ath_hub_transfer_finish(ath_hub_transfer *self);

#endif
