/* hash_map.h: byte strings to 32-bit numbers. Not safe for concurrent writes. */
#ifndef ATHANOR_BASE_HASH_MAP_H
#define ATHANOR_BASE_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

typedef struct ath_hash_map ath_hash_map;

/* A map that refuses (ATH_NO_MEMORY) to hold more than `maximum` keys. */
ath_status ath_hash_map_create(size_t maximum, ath_hash_map **out) ATH_MUST_CHECK;
void ath_hash_map_destroy(ath_hash_map *self); /* NULL is allowed */

/* Sets the number of a key, which is copied. */
ath_status ath_hash_map_set(ath_hash_map *self, const char *key, size_t length, int32_t value)
    ATH_MUST_CHECK;

/* Gives the key's number in `*value` and returns true, or returns false. */
bool ath_hash_map_get(const ath_hash_map *self, const char *key, size_t length, int32_t *value);

size_t ath_hash_map_count(const ath_hash_map *self);

/* FNV-1a with a final mix: 64 bits of a byte string. */
uint64_t ath_hash_bytes(const void *bytes, size_t length);

#endif
