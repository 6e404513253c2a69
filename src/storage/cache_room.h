/* cache_room.h: the limit of the cache's size. */
#ifndef ATHANOR_STORAGE_CACHE_ROOM_H
#define ATHANOR_STORAGE_CACHE_ROOM_H

#include <stdint.h>

#include "athanor/status.h"

/* Removes copies beside `entry`, those used longest ago first and none that is in use, until so
 * many bytes more fit. ATH_NO_SPACE when they do not. */
ath_status ath_cache_make_room(const char *entry, uint64_t bytes) ATH_MUST_CHECK;

#endif
