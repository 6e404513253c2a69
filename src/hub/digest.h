/* digest.h: the checksum by which the Hub names a file's content, taken while the bytes go by: of
 * large files (LFS) SHA-256, of the others git's, SHA-1 of "blob <size>", NUL and the bytes. */
#ifndef ATHANOR_HUB_DIGEST_H
#define ATHANOR_HUB_DIGEST_H

#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdint.h>

#include "athanor/status.h"

enum { ATH_HUB_OID_MAX = 65, ATH_GIT_DIGITS = 40, ATH_LFS_DIGITS = 64 };

typedef struct ath_hub_digest {
  bool large;
  union {
    struct sha256_ctx sha256;
    struct sha1_ctx sha1;
  } context;
} ath_hub_digest;

void ath_hub_digest_begin(ath_hub_digest *self, bool large, uint64_t size);
void ath_hub_digest_add(ath_hub_digest *self, const void *bytes, size_t count);
void ath_hub_digest_end(ath_hub_digest *self, char out[ATH_HUB_OID_MAX]);

/* Of a file's first `size` bytes, which are to be there. */
ath_status ath_hub_digest_file(ath_hub_digest *self, int file, const char *path, uint64_t size)
    ATH_MUST_CHECK;

#endif
