/* client.h: a conversation with the Hub: requests to its API, repeated where that helps, answers as
 * JSON, and failures in words that do not hold the token. */
#ifndef ATHANOR_HUB_CLIENT_H
#define ATHANOR_HUB_CLIENT_H

#include <jansson.h>

#include "hub/environment.h"
#include "storage/retry.h"

typedef struct ath_hub {
  ath_http *http;
  char endpoint[ATH_HUB_ENDPOINT_MAX];
  char token[ATH_HUB_TOKEN_MAX]; /* "": none */
  ath_retry_policy policy;
  const volatile sig_atomic_t *stop;
  ath_buffer text;               /* of the last answer */
  ath_http_answer answer;
} ath_hub;

/* One thread at a time uses it. `needed`: without a token it fails with ATH_DENIED. */
ath_status ath_hub_open(const char *token, bool needed, const volatile sig_atomic_t *stop,
                        ath_hub **out) ATH_MUST_CHECK;
void ath_hub_close(ath_hub *self); /* NULL is allowed */

/* Where it is not sure that the Hub is meant, or there is another way, nobody should wait long to
 * be told that no server answers. */
extern const ath_retry_policy ath_hub_brief;

/* What is sent along: JSON, unless `type` says what else. */
typedef struct ath_hub_body {
  const char *type, *accept;
  const void *bytes;
  size_t size;
} ath_hub_body;

/* Asks `url` and reads the answer's JSON into *out, for the caller to json_decref; `out` may be
 * NULL. `what` stands before the text of a failure. After one, self->answer has the number, 0 where
 * there was no answer. The token goes along where the URL is the endpoint's, and nowhere else. */
ath_status ath_hub_call(ath_hub *self, const char *method, const char *url,
                        const ath_hub_body *body, const char *what, json_t **out) ATH_MUST_CHECK;

/* NULL, or the token for requests to `url`. */
const char *ath_hub_bearer(const ath_hub *self, const char *url);
/* The failure of an exchange in words: as ath_retry_fail, with advice and without the token. */
ath_status ath_hub_fail(const ath_hub *self, const ath_retry *retry, ath_status status,
                        const ath_http_answer *answer, const ath_buffer *text, const char *what)
    ATH_MUST_CHECK;

/* "<endpoint>/api/models/<id>/<action>/<argument>", its argument escaped, which may be NULL. */
ath_status ath_hub_api_url(const ath_hub *self, const ath_hub_place *place, const char *action,
                           const char *argument, ath_buffer *out) ATH_MUST_CHECK;

/* "NAME" alone is one of the user's: asks whose token it is, and makes it "USER/NAME". */
ath_status ath_hub_add_user(ath_hub *self, ath_hub_place *place) ATH_MUST_CHECK;

/* Texts of an answer. NULL where there is none of that name. */
static inline const char *ath_hub_text_of(const json_t *object, const char *name) {
  return json_string_value(json_object_get(object, name));
}
/* Hexadecimal digits, so many of them; what the Hub names so becomes a file's name. */
bool ath_hub_is_hex(const char *text, size_t digits);

#endif
