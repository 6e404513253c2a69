/* arena.h: memory that is released all at once (graphs, plans, parsed files).
 * An arena belongs to one thread at a time. */
#ifndef ATHANOR_BASE_ARENA_H
#define ATHANOR_BASE_ARENA_H

#include <stddef.h>

#include "athanor/status.h"

typedef struct ath_arena ath_arena;

/* Creates an arena that refuses (ATH_NO_MEMORY) to hold more than `limit` bytes in all. */
ath_status ath_arena_create(size_t limit, ath_arena **out) ATH_MUST_CHECK;
void ath_arena_destroy(ath_arena *self); /* NULL is allowed */

/* Returns `size` zeroed bytes aligned to 64, valid until the arena is destroyed; NULL, with
 * the failure text set, when memory or the limit is exhausted. Size 0 gives a valid pointer. */
void *ath_arena_alloc(ath_arena *self, size_t size);

/* Has `release` called with `object` when the arena is destroyed, before its memory goes; the last
 * that was asked for comes first. ATH_NO_MEMORY as above: then it is not going to be called. */
ath_status ath_arena_on_destroy(ath_arena *self, void (*release)(void *object),
                                void *object) ATH_MUST_CHECK;

/* Copies a string, or the first `length` bytes of one, into the arena; NULL as above. */
char *ath_arena_string(ath_arena *self, const char *string);
char *ath_arena_string_n(ath_arena *self, const char *string, size_t length);

#endif
