/* sha256.c: SHA-256 (FIPS 180-4) by libnettle. */
#include "formats/sha256.h"

#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdint.h>

#include "storage/file.h"

_Static_assert(ATH_SHA256_TEXT == BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE) + 1, "digits and NUL");

void ath_sha256_bytes(const void *bytes, size_t count, char out[ATH_SHA256_TEXT]) {
  struct sha256_ctx context;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&context);
  sha256_update(&context, count, bytes);
  sha256_digest(&context, sizeof digest, digest);
  base16_encode_update(out, sizeof digest, digest);
  out[ATH_SHA256_TEXT - 1] = '\0';
}

ath_status ath_sha256_file(const char *path, char out[ATH_SHA256_TEXT]) {
  ath_mapping file;
  ATH_TRY(ath_file_map(path, &file));
  ath_sha256_bytes(file.bytes, file.size, out);
  ath_file_unmap(&file);
  return ATH_OK;
}
