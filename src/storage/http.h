/* http.h: one HTTP exchange after another, through libcurl, which is loaded when it is first
 * needed.
 *
 * A client keeps its connections open between exchanges. An answer of any number is no failure of
 * the exchange: the caller looks at `status`. What fails is what gave no answer: no connection,
 * one that was cut, a time that ran out (ATH_IO, naming the host and what happened), a certificate
 * that is not trusted (ATH_DENIED), or `stop` (ATH_INTERRUPTED). Nothing is tried twice here:
 * retry.h.
 *
 * Certificates are checked against the system's (CURL_CA_BUNDLE, SSL_CERT_FILE); proxies are those
 * of the environment (https_proxy, no_proxy), as for curl. */
#ifndef ATHANOR_STORAGE_HTTP_H
#define ATHANOR_STORAGE_HTTP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "base/buffer.h"

typedef struct ath_http ath_http;
ath_status ath_http_create(ath_http **out) ATH_MUST_CHECK; /* one thread at a time uses it */
void ath_http_destroy(ath_http *self);                     /* NULL is allowed */

typedef struct ath_http_header {
  const char *name, *value;
} ath_http_header;

enum { ATH_HTTP_HEADERS_MAX = 24, ATH_HTTP_URL_MAX = 8192, ATH_HTTP_SPEED_MIN = 1000 };

typedef struct ath_http_request {
  const char *method; /* "GET", "HEAD", "POST", "PUT", "DELETE" */
  const char *url;
  ath_http_header headers[ATH_HTTP_HEADERS_MAX]; /* up to the first without a name */
  /* "Authorization: Bearer …", or NULL; never sent to another origin (scheme, host, port) that a
   * redirect leads to, never printed. */
  const char *bearer;
  int redirects;  /* how many are followed; with 0 a 3xx is the answer; never from https to http */
  double seconds; /* of the whole exchange; 0: as long as ATH_HTTP_SPEED_MIN bytes a second move
                     (30 s of less, or what ATHANOR_STALL_SECONDS says, is a failure) */
  const volatile sig_atomic_t *stop; /* or NULL */

  /* What is sent: `body`, or what `read` brings, of `size` bytes in all. `read` may be asked to
   * begin again (at == 0), where a redirect repeats the body. */
  const void *body;
  uint64_t size;
  ath_status (*read)(void *context, uint64_t at, void *bytes, size_t room, size_t *count);
  void *read_context;

  /* Where the answer's body goes: into `text`, which is emptied first, but for answers 200–299,
   * which `take` gets where it is given. The text's maximum bounds it: a longer one is ATH_INVALID
   * for answers 200–299 and cut for others. Without either it is dropped. */
  ath_buffer *text;
  ath_status (*take)(void *context, const void *bytes, size_t count);
  void *take_context;
} ath_http_request;

/* The answer's lines lie in the client and stay until its next exchange. */
typedef struct ath_http_answer {
  int status;         /* 200, 404, … */
  const char *url;    /* where it came from in the end */
  double sending;     /* seconds until the last bytes of the body went out; after a failure too */
  double retry_after; /* seconds, of Retry-After (a number or a date) or RateLimit; −1: not said */
} ath_http_answer;

/* On failure *answer has status 0. */
ath_status ath_http_exchange(ath_http *self, const ath_http_request *request,
                             ath_http_answer *answer) ATH_MUST_CHECK;
/* A header of the last answer by its name, in any case; NULL if it has none. `take` may ask too. */
const char *ath_http_header_of(const ath_http *self, const char *name);

/* "a b/ä" → "a%20b%2F%C3%A4": RFC 3986's unreserved characters and those in `keep` stay. */
ath_status ath_http_escape(ath_buffer *out, const char *text, const char *keep) ATH_MUST_CHECK;

/* What `link` on the page `base` leads to, without its fragment. */
ath_status ath_http_resolve(const char *base, const char *link, char out[ATH_HTTP_URL_MAX])
    ATH_MUST_CHECK;

/* "https://host:443"; empty for what is no address. */
enum { ATH_HTTP_ORIGIN_MAX = 512 };
void ath_http_origin(const char *url, char out[ATH_HTTP_ORIGIN_MAX]);

#endif
