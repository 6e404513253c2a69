/* digest.c: the checksums that name contents on the Hub, by libnettle. */
#include "hub/digest.h"

#include <inttypes.h>
#include <nettle/base16.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 20 };

void ath_hub_digest_begin(ath_hub_digest *self, bool large, uint64_t size) {
  char header[32];
  self->large = large;
  if (large) {
    sha256_init(&self->context.sha256);
    return;
  }
  int length = snprintf(header, sizeof header, "blob %" PRIu64, size);
  sha1_init(&self->context.sha1);
  sha1_update(&self->context.sha1, (size_t)length + 1, (const uint8_t *)header);
}

void ath_hub_digest_add(ath_hub_digest *self, const void *bytes, size_t count) {
  if (self->large) sha256_update(&self->context.sha256, count, bytes);
  else sha1_update(&self->context.sha1, count, bytes);
}

void ath_hub_digest_end(ath_hub_digest *self, char out[ATH_HUB_OID_MAX]) {
  uint8_t digest[SHA256_DIGEST_SIZE];
  size_t size = self->large ? SHA256_DIGEST_SIZE : SHA1_DIGEST_SIZE;
  if (self->large) sha256_digest(&self->context.sha256, size, digest);
  else sha1_digest(&self->context.sha1, size, digest);
  base16_encode_update(out, size, digest);
  out[BASE16_ENCODE_LENGTH(size)] = '\0';
}

ath_status ath_hub_digest_file(ath_hub_digest *self, int file, const char *path, uint64_t size) {
  uint8_t *bytes = malloc(READ_BYTES);
  if (bytes == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", path);
  ath_status status = ATH_OK;
  for (uint64_t at = 0; at < size && status == ATH_OK;) {
    uint64_t left = size - at;
    ssize_t got = pread(file, bytes, left < READ_BYTES ? (size_t)left : READ_BYTES, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) status = ath_fail_errno(errno, "%s", path);
    else if (got == 0) status = ath_fail(ATH_INVALID, "%s: became shorter while it was read", path);
    else ath_hub_digest_add(self, bytes, (size_t)got);
    at += got > 0 ? (uint64_t)got : 0;
  }
  free(bytes);
  return status;
}
