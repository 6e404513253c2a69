/* fetch.h: one file of a repository into the cache. */
#ifndef ATHANOR_HUB_FETCH_H
#define ATHANOR_HUB_FETCH_H

#include "hub/cache.h"
#include "storage/transfer.h"

/* Has the snapshot of `commit` hold the file: nothing is asked where the cache has its content. A
 * download goes to "<blob>.incomplete", where a later one goes on; it becomes the blob once its
 * checksum is right. ATH_CORRUPT where it is not, even after a second download from the start.
 * *bytes: what came over the network; *brought: it was not here before. */
ath_status ath_hub_fetch(ath_hub *hub, const ath_hub_place *place, const ath_hub_cache *cache,
                         const char *commit, const ath_hub_entry *entry,
                         ath_transfer *transfer, uint64_t *bytes, bool *brought)
    ATH_MUST_CHECK;

#endif
