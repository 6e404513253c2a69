/* http.c: one HTTP exchange after another, through libcurl. */
#include "storage/http.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "storage/curl.h"
#include "storage/http_lines.h"

enum {
  CONNECT_SECONDS = 20, STALL_SECONDS = 30, BUFFER_BYTES = 1 << 19, HEADER_BYTES_MAX = 1 << 16,
};

struct ath_http {
  const ath_curl *curl;
  CURL *easy;
  ath_buffer lines;
  char url[ATH_HTTP_URL_MAX];
  char error[CURL_ERROR_SIZE];
};

ath_status ath_http_create(ath_http **out) {
  const ath_curl *curl;
  *out = NULL;
  ATH_TRY(ath_curl_load(&curl));
  ath_http *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a connection");
  self->curl = curl;
  self->lines = ath_buffer_make(ATH_HTTP_LINES_BYTES_MAX);
  self->easy = curl->curl_easy_init();
  if (self->easy == NULL) {
    ath_http_destroy(self);
    return ath_fail(ATH_NO_MEMORY, "no memory for a connection");
  }
  *out = self;
  return ATH_OK;
}

void ath_http_destroy(ath_http *self) {
  if (self == NULL) return;
  if (self->easy != NULL) self->curl->curl_easy_cleanup(self->easy);
  ath_buffer_free(&self->lines);
  free(self);
}

const char *ath_http_header_of(const ath_http *self, const char *name) {
  return ath_http_lines_find(&self->lines, name);
}

/* --- one exchange without redirects ------------------------------------------------------- */

typedef struct transfer {
  ath_http *http;
  const ath_http_request *request;
  bool follows;      /* a redirect's own text is not wanted */
  bool sends;
  uint64_t sent;     /* where the next bytes of the body begin */
  double began, sending;
  ath_status status; /* what stopped it from this side */
} transfer;

static long answer_of(const ath_http *self) {
  long answer = 0;
  self->curl->curl_easy_getinfo(self->easy, CURLINFO_RESPONSE_CODE, &answer);
  return answer;
}

static bool is_redirect(long answer) {
  return answer == 301 || answer == 302 || answer == 303 || answer == 307 || answer == 308;
}

static size_t on_line(char *bytes, size_t size, size_t count, void *context) {
  transfer *self = context;
  self->status = ath_http_lines_add(&self->http->lines, bytes, size * count);
  if (self->status != ATH_OK && size * count > self->http->lines.maximum - self->http->lines.length)
    self->status = ath_fail(ATH_INVALID, "the answer's headers have more than %zu bytes",
                            self->http->lines.maximum);
  return self->status == ATH_OK ? size * count : 0;
}

static ath_status take(transfer *self, const char *bytes, size_t count) {
  const ath_http_request *request = self->request;
  long answer = answer_of(self->http);
  bool good = answer >= 200 && answer < 300;
  if (self->follows && is_redirect(answer)) return ATH_OK;
  if (good && request->take != NULL) return request->take(request->take_context, bytes, count);
  if (request->text == NULL) return ATH_OK;
  size_t room = request->text->maximum - request->text->length;
  if (count > room && good)
    return ath_fail(ATH_INVALID, "the answer has more than %zu bytes", request->text->maximum);
  return ath_buffer_append(request->text, bytes, count < room ? count : room);
}

/* Taking fewer bytes than were offered ends the run. */
static size_t on_bytes(char *bytes, size_t size, size_t count, void *context) {
  transfer *self = context;
  self->status = take(self, bytes, size * count);
  return self->status == ATH_OK ? size * count : 0;
}

static ath_status give(transfer *self, char *bytes, size_t room, size_t *count) {
  const ath_http_request *request = self->request;
  uint64_t left = request->size - self->sent;
  if (room > left) room = (size_t)left;
  *count = room;
  if (room == 0) return ATH_OK;
  if (request->read != NULL) {
    ATH_TRY(request->read(request->read_context, self->sent, bytes, room, count));
    assert(*count <= room);
    if (*count == 0) return ath_fail(ATH_IO, "what was to be sent became shorter");
  } else {
    memcpy(bytes, (const char *)request->body + self->sent, room);
  }
  self->sent += *count;
  return ATH_OK;
}

/* Without a way to go back curl cannot send a body again by itself where a connection that it had
 * kept ends without an answer: whether the server acted on the first is the caller's question. */
static size_t on_room(char *bytes, size_t size, size_t count, void *context) {
  transfer *self = context;
  size_t given = 0;
  self->sending = seconds_now() - self->began;
  self->status = give(self, bytes, size * count, &given);
  return self->status == ATH_OK ? given : CURL_READFUNC_ABORT;
}

static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up_now) {
  transfer *self = context;
  (void)total, (void)now, (void)up_total, (void)up_now;
  if (self->request->stop == NULL || !*self->request->stop) return 0;
  self->status = ath_fail(ATH_INTERRUPTED, "stopped while waiting for the network");
  return 1;
}

static long stall_seconds(void) {
  const char *text = getenv("ATHANOR_STALL_SECONDS");
  long seconds = text != NULL ? strtol(text, NULL, 10) : 0;
  return seconds > 0 ? seconds : STALL_SECONDS;
}

static void set_certificates(const ath_http *self) {
  const char *bundle = getenv("CURL_CA_BUNDLE");
  if (bundle == NULL || *bundle == '\0') bundle = getenv("SSL_CERT_FILE");
  if (bundle != NULL && *bundle != '\0')
    self->curl->curl_easy_setopt(self->easy, CURLOPT_CAINFO, bundle);
}

static void set_connection(ath_http *self, const ath_http_request *request) {
  __typeof__(self->curl->curl_easy_setopt) set = self->curl->curl_easy_setopt;
  set(self->easy, CURLOPT_ERRORBUFFER, self->error);
  set(self->easy, CURLOPT_USERAGENT, "athanor");
  set(self->easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(self->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  set(self->easy, CURLOPT_NOSIGNAL, 1L);
  set(self->easy, CURLOPT_BUFFERSIZE, (long)BUFFER_BYTES);
  set(self->easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)BUFFER_BYTES);
  set(self->easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
  set(self->easy, CURLOPT_LOW_SPEED_LIMIT, (long)ATH_HTTP_SPEED_MIN);
  set(self->easy, CURLOPT_LOW_SPEED_TIME, stall_seconds());
  if (request->seconds > 0)
    set(self->easy, CURLOPT_TIMEOUT_MS, (long)(1e3 * request->seconds) + 1);
  set_certificates(self);
}

static void set_request(transfer *run, struct curl_slist *headers) {
  ath_http *self = run->http;
  const ath_http_request *request = run->request;
  __typeof__(self->curl->curl_easy_setopt) set = self->curl->curl_easy_setopt;
  set(self->easy, CURLOPT_URL, self->url);
  set(self->easy, CURLOPT_HTTPHEADER, headers);
  if (strcmp(request->method, "HEAD") == 0) set(self->easy, CURLOPT_NOBODY, 1L);
  if (run->sends) {
    set(self->easy, CURLOPT_UPLOAD, 1L);
    set(self->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->size);
    set(self->easy, CURLOPT_READFUNCTION, on_room);
    set(self->easy, CURLOPT_READDATA, run);
  }
  set(self->easy, CURLOPT_HEADERFUNCTION, on_line);
  set(self->easy, CURLOPT_HEADERDATA, run);
  set(self->easy, CURLOPT_WRITEFUNCTION, on_bytes);
  set(self->easy, CURLOPT_WRITEDATA, run);
  set(self->easy, CURLOPT_NOPROGRESS, 0L);
  set(self->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
  set(self->easy, CURLOPT_XFERINFODATA, run);
}

/* A line break in a value would be a header of its own. */
static ath_status add_header(const ath_curl *curl, struct curl_slist **list, const char *name,
                             const char *value) {
  ath_buffer line = ath_buffer_make(HEADER_BYTES_MAX);
  struct curl_slist *longer = NULL;
  ath_status status = ath_buffer_format(&line, "%s: %s", name, value);
  if (status == ATH_OK && strpbrk(line.bytes, "\r\n") != NULL)
    status = ath_fail(ATH_INVALID, "a line break in the header %s", name);
  if (status == ATH_OK) {
    longer = curl->curl_slist_append(*list, line.bytes);
    if (longer == NULL) status = ath_fail(ATH_NO_MEMORY, "no memory for a header");
  }
  if (longer != NULL) *list = longer;
  ath_buffer_free(&line);
  return status;
}

/* Without the waiting for "100 Continue" that curl is in the habit of. */
static ath_status make_headers(const ath_http *self, const ath_http_request *request, bool trusted,
                               struct curl_slist **list) {
  for (int i = 0; i < ATH_HTTP_HEADERS_MAX && request->headers[i].name != NULL; i++)
    ATH_TRY(add_header(self->curl, list, request->headers[i].name, request->headers[i].value));
  struct curl_slist *longer = self->curl->curl_slist_append(*list, "Expect:");
  if (longer == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a header");
  *list = longer;
  if (request->bearer == NULL || !trusted) return ATH_OK;
  ath_buffer value = ath_buffer_make(HEADER_BYTES_MAX);
  ath_status status = ath_buffer_format(&value, "Bearer %s", request->bearer);
  if (status == ATH_OK) status = add_header(self->curl, list, "Authorization", value.bytes);
  ath_buffer_free(&value);
  return status;
}

static ath_status fail_exchange(const ath_http *self, CURLcode code) {
  char origin[ATH_HTTP_ORIGIN_MAX];
  ath_http_origin(self->url, origin);
  ath_status status = code == CURLE_PEER_FAILED_VERIFICATION ? ATH_DENIED
                      : code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT
                          ? ATH_INVALID : ATH_IO;
  return ath_fail(status, "%s: %s", origin[0] != '\0' ? origin : self->url,
                  self->error[0] != '\0' ? self->error : self->curl->curl_easy_strerror(code));
}

/* Some TLS libraries write to a closed connection without asking that no signal comes of it. */
static CURLcode perform(const ath_http *self) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  CURLcode code = self->curl->curl_easy_perform(self->easy);
  if (!sigismember(&before, SIGPIPE))
    while (sigtimedwait(&pipe, NULL, &(struct timespec){0}) > 0) {
    }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return code;
}

static ath_status exchange_once(transfer *run, bool trusted) {
  ath_http *self = run->http;
  struct curl_slist *headers = NULL;
  run->sent = 0;
  run->began = seconds_now();
  run->sending = 0;
  ath_buffer_clear(&self->lines);
  if (run->request->text != NULL) ath_buffer_clear(run->request->text);
  ath_status status = make_headers(self, run->request, trusted, &headers);
  if (status == ATH_OK) {
    self->error[0] = '\0';
    self->curl->curl_easy_reset(self->easy); /* which keeps the connections */
    set_connection(self, run->request);
    set_request(run, headers);
    self->curl->curl_easy_setopt(self->easy, CURLOPT_CUSTOMREQUEST, run->request->method);
    CURLcode code = perform(self);
    status = run->status;
    if (status == ATH_OK && code != CURLE_OK) status = fail_exchange(self, code);
  }
  self->curl->curl_slist_free_all(headers);
  return status;
}

/* --- redirects ---------------------------------------------------------------------------- */

static ath_status copy_url(char out[ATH_HTTP_URL_MAX], const char *url) {
  size_t length = strlen(url);
  if (length >= ATH_HTTP_URL_MAX)
    return ath_fail(ATH_INVALID, "an address of more than %d bytes", ATH_HTTP_URL_MAX - 1);
  memcpy(out, url, length + 1);
  return ATH_OK;
}

/* They are followed by hand: libcurl goes by the host's name where an origin is more than that. */
static ath_status follow(ath_http *self, const char *location, bool *trusted) {
  char next[ATH_HTTP_URL_MAX], here[ATH_HTTP_ORIGIN_MAX], there[ATH_HTTP_ORIGIN_MAX];
  ATH_TRY(ath_http_resolve(self->url, location, next));
  ath_http_origin(self->url, here);
  ath_http_origin(next, there);
  if (strncasecmp(here, "https:", 6) == 0 && strncasecmp(there, "https:", 6) != 0)
    return ath_fail(ATH_DENIED, "%s redirects to %s, which is not encrypted", here, there);
  *trusted = *trusted && there[0] != '\0' && strcasecmp(here, there) == 0;
  return copy_url(self->url, next);
}

/* Called after an exchange, so that the library is there. */
static time_t date_of(const char *text) {
  const ath_curl *curl;
  return ath_curl_load(&curl) == ATH_OK ? curl->curl_getdate(text, NULL) : (time_t)-1;
}

ath_status ath_http_exchange(ath_http *self, const ath_http_request *request,
                             ath_http_answer *answer) {
  ath_http_request now = *request;
  transfer run = {.http = self, .request = &now,
                       .sends = now.size > 0 || strcmp(now.method, "PUT") == 0 ||
                                strcmp(now.method, "POST") == 0};
  bool trusted = true;
  *answer = (ath_http_answer){.url = self->url, .retry_after = -1};
  ATH_TRY(copy_url(self->url, request->url));
  for (int left = request->redirects;; left--) {
    run.follows = left > 0;
    ath_status done = exchange_once(&run, trusted);
    answer->sending = run.sending;
    ATH_TRY(done);
    long status = answer_of(self);
    const char *location = ath_http_header_of(self, "location");
    if (!is_redirect(status) || location == NULL || request->redirects == 0) {
      answer->status = (int)status;
      answer->retry_after = ath_http_lines_wait(&self->lines, time(NULL), date_of);
      return ATH_OK;
    }
    if (left == 0)
      return ath_fail(ATH_IO, "%s: more than %d redirects", request->url, request->redirects);
    if (status == 303 || (status < 303 && strcmp(now.method, "POST") == 0)) {
      now.method = strcmp(now.method, "HEAD") == 0 ? "HEAD" : "GET";
      now.size = 0;
      run.sends = false;
    }
    ATH_TRY(follow(self, location, &trusted));
  }
}
