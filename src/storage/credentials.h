/* credentials.h: the token that Cloud Storage wants, from Google's application default credentials
 * (cloud.google.com/docs/authentication/application-default-credentials). The first of these that
 * is there counts:
 *
 *   1. GOOGLE_OAUTH_ACCESS_TOKEN: a token itself
 *   2. GOOGLE_APPLICATION_CREDENTIALS: a file with a service account's key or a user's credentials
 *   3. the file that `gcloud auth application-default login` writes
 *      ($CLOUDSDK_CONFIG, else ~/.config/gcloud)
 *   4. the metadata server of a machine of Google's, such as a TPU VM (GCE_METADATA_HOST)
 *
 * A token is kept until shortly before it runs out, and shared by all threads. */
#ifndef ATHANOR_STORAGE_CREDENTIALS_H
#define ATHANOR_STORAGE_CREDENTIALS_H

#include "athanor/status.h"

enum { ATH_TOKEN_MAX = 8192 };

/* `refused` is a token that was not accepted, which another one is got in place of, or NULL.
 * ATH_DENIED when there are no credentials, or no other token. Never prints a token. */
ath_status ath_credentials_token(const char *refused, char token[ATH_TOKEN_MAX]) ATH_MUST_CHECK;

#endif
