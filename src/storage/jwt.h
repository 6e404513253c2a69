/* jwt.h: signed statements (RFC 7519) by which a service account asks for a token. */
#ifndef ATHANOR_STORAGE_JWT_H
#define ATHANOR_STORAGE_JWT_H

#include "athanor/status.h"
#include "base/buffer.h"

/* Appends header.claims.signature, signed by RS256 with the RSA key of a PEM text ("BEGIN PRIVATE
 * KEY", PKCS #8, or "BEGIN RSA PRIVATE KEY"). Header and claims are JSON. */
ath_status ath_jwt_sign(ath_buffer *out, const char *header, const char *claims, const char *pem)
    ATH_MUST_CHECK;

#endif
