/* jwt.c: signed statements, by the RSA of nettle. */
#include "storage/jwt.h"

#include <nettle/asn1.h>
#include <nettle/base64.h>
#include <nettle/bignum.h>
#include <nettle/rsa.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { KEY_BYTES_MAX = 1 << 14, KEY_BITS_MAX = 16384 };

/* The base64 between the lines "-----BEGIN …-----" and "-----END …-----". */
static ath_status read_pem(const char *pem, uint8_t der[KEY_BYTES_MAX], size_t *length) {
  struct base64_decode_ctx base64;
  const char *begin = strstr(pem, "PRIVATE KEY-----"), *end = NULL;
  if (begin != NULL) {
    begin += strlen("PRIVATE KEY-----");
    end = strstr(begin, "-----END");
  }
  *length = KEY_BYTES_MAX;
  base64_decode_init(&base64);
  if (end == NULL || BASE64_DECODE_LENGTH((size_t)(end - begin)) > KEY_BYTES_MAX ||
      !base64_decode_update(&base64, length, der, (size_t)(end - begin), begin) ||
      !base64_decode_final(&base64))
    return ath_fail(ATH_INVALID, "the private key is not PEM");
  return ATH_OK;
}

/* PKCS #8 (RFC 5208) has the key in an octet string behind its algorithm; anything else is left as
 * it is. */
static void enter_pkcs8(const uint8_t *der, size_t length, const uint8_t **key, size_t *count) {
  struct asn1_der_iterator outer, inner;
  if (asn1_der_iterator_first(&outer, length, der) != ASN1_ITERATOR_CONSTRUCTED ||
      outer.type != ASN1_SEQUENCE ||
      asn1_der_decode_constructed(&outer, &inner) != ASN1_ITERATOR_PRIMITIVE ||
      inner.type != ASN1_INTEGER || asn1_der_iterator_next(&inner) != ASN1_ITERATOR_CONSTRUCTED ||
      asn1_der_iterator_next(&inner) != ASN1_ITERATOR_PRIMITIVE || inner.type != ASN1_OCTETSTRING)
    return;
  *key = inner.data;
  *count = inner.length;
}

static ath_status read_key(const char *pem, struct rsa_public_key *public,
                           struct rsa_private_key *private) {
  uint8_t der[KEY_BYTES_MAX];
  const uint8_t *key = der;
  size_t length;
  ATH_TRY(read_pem(pem, der, &length));
  enter_pkcs8(der, length, &key, &length);
  int good = rsa_keypair_from_der(public, private, KEY_BITS_MAX, length, key);
  explicit_bzero(der, sizeof der);
  return good ? ATH_OK : ath_fail(ATH_INVALID, "the private key is not an RSA key");
}

/* base64url without padding (RFC 7515). */
static ath_status append_base64(ath_buffer *out, const void *bytes, size_t count) {
  struct base64_encode_ctx base64;
  ATH_TRY(ath_buffer_reserve(out, BASE64_ENCODE_LENGTH(count) + BASE64_ENCODE_FINAL_LENGTH + 1));
  char *to = out->bytes + out->length;
  base64url_encode_init(&base64);
  size_t length = base64_encode_update(&base64, to, count, bytes);
  length += base64_encode_final(&base64, to + length);
  while (length > 0 && to[length - 1] == '=') length--;
  out->length += length;
  out->bytes[out->length] = '\0';
  return ATH_OK;
}

static void random_bytes(void *context, size_t length, uint8_t *to) {
  (void)context;
  for (size_t done = 0; done < length;) {
    ssize_t got = getrandom(to + done, length - done, 0);
    if (got > 0) done += (size_t)got;
  }
}

static ath_status append_signature(ath_buffer *out, size_t from, struct rsa_public_key *public,
                                   struct rsa_private_key *private) {
  struct sha256_ctx hash;
  mpz_t number;
  sha256_init(&hash);
  sha256_update(&hash, out->length - from, (const uint8_t *)out->bytes + from);
  mpz_init(number);
  ath_status status = ATH_OK;
  uint8_t *signature = calloc(1, private->size);
  if (signature == NULL) status = ath_fail(ATH_NO_MEMORY, "no memory for a signature");
  else if (!rsa_sha256_sign_tr(public, private, NULL, random_bytes, &hash, number))
    status = ath_fail(ATH_INVALID, "the private key cannot sign");
  if (status == ATH_OK) {
    nettle_mpz_get_str_256(private->size, signature, number);
    status = ath_buffer_byte(out, '.');
  }
  if (status == ATH_OK) status = append_base64(out, signature, private->size);
  free(signature);
  mpz_clear(number);
  return status;
}

ath_status ath_jwt_sign(ath_buffer *out, const char *header, const char *claims, const char *pem) {
  struct rsa_public_key public;
  struct rsa_private_key private;
  size_t from = out->length;
  rsa_public_key_init(&public);
  rsa_private_key_init(&private);
  ath_status status = read_key(pem, &public, &private);
  if (status == ATH_OK) status = append_base64(out, header, strlen(header));
  if (status == ATH_OK) status = ath_buffer_byte(out, '.');
  if (status == ATH_OK) status = append_base64(out, claims, strlen(claims));
  if (status == ATH_OK) status = append_signature(out, from, &public, &private);
  rsa_private_key_clear(&private);
  rsa_public_key_clear(&public);
  return status;
}
