/* download.c: files from the web, through libcurl. */
#include "cli/download.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "storage/file.h"

enum {
  TRIES = 3, REDIRECTS_MAX = 5, CONNECT_SECONDS = 20, STALLED_SECONDS = 30, STALLED_BYTES = 100,
  STATUS_NONE_FOUND = 400,
};

/* --- the library -------------------------------------------------------------------------- */

/* The functions used; their types are those of curl.h. */
#define CURL_FUNCTIONS(X)                                                                   \
  X(curl_global_init) X(curl_easy_init) X(curl_easy_setopt) X(curl_easy_perform)            \
  X(curl_easy_getinfo) X(curl_easy_strerror) X(curl_easy_cleanup) X(curl_url)               \
  X(curl_url_set) X(curl_url_get) X(curl_url_cleanup) X(curl_free)

/* curl.h has checking macros in front of two of them. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
static struct {
#define DECLARE(name) __typeof__(name) *name;
  CURL_FUNCTIONS(DECLARE)
#undef DECLARE
} curl;

static ath_status load_function(void *library, const char *name, void *target) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) return ath_fail(ATH_UNSUPPORTED, "libcurl is too old: it has no %s", name);
  memcpy(target, &symbol, sizeof symbol);
  return ATH_OK;
}

/* Debian has it built with OpenSSL or with GnuTLS; either will do. */
static ath_status load_library(void) {
  static bool loaded;
  if (loaded) return ATH_OK;
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return ath_fail(ATH_UNSUPPORTED, "downloading needs the library libcurl.so.4 (Debian: apt-get "
                    "install libcurl4); or download the wheel elsewhere and give it by --wheel");
#define LOAD(name) ATH_TRY(load_function(library, #name, &curl.name));
  CURL_FUNCTIONS(LOAD)
#undef LOAD
  if (curl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return ath_fail(ATH_INTERNAL, "libcurl does not start");
  loaded = true;
  return ATH_OK;
}

/* --- one transfer ------------------------------------------------------------------------- */

/* Where the bytes go: a page or a file. */
typedef struct sink {
  ath_buffer *page;
  ath_file_writer *file;
  uint64_t written, maximum;
  const char *task;
  bool finished;     /* reported */
  ath_status status; /* what stopped it from this side */
} sink;

static ath_status take(sink *self, const char *bytes, size_t count) {
  if (self->page != NULL) return ath_buffer_append(self->page, bytes, count);
  self->written += count;
  if (self->written > self->maximum)
    return ath_fail(ATH_INVALID, "the file is larger than %llu bytes",
                    (unsigned long long)self->maximum);
  return ath_file_writer_write(self->file, bytes, count);
}

/* Taking fewer bytes than were offered ends the transfer. */
static size_t on_bytes(char *bytes, size_t size, size_t count, void *context) {
  sink *self = context;
  self->status = take(self, bytes, size * count);
  return self->status == ATH_OK ? size * count : 0;
}

static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up_now) {
  sink *self = context;
  (void)up_total, (void)up_now;
  if (self->task != NULL && total > 0 && !self->finished) {
    self->finished = now == total; /* curl goes on calling afterwards */
    ath_log_progress(&(ath_progress){.task = self->task, .unit = "bytes", .done = (uint64_t)now,
                                     .total = (uint64_t)total, .finished = self->finished});
  }
  if (!ath_cli_stop) return 0;
  self->status = ath_fail(ATH_INTERRUPTED, "stopped while downloading; nothing was changed");
  return 1;
}

static void set_options(CURL *easy, const char *url, sink *to, char error[CURL_ERROR_SIZE]) {
  curl.curl_easy_setopt(easy, CURLOPT_URL, url);
  curl.curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
  curl.curl_easy_setopt(easy, CURLOPT_USERAGENT, "athanor");
  curl.curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
  curl.curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
  curl.curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
  curl.curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl.curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
  curl.curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)STALLED_BYTES);
  curl.curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)STALLED_SECONDS);
  curl.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
  curl.curl_easy_setopt(easy, CURLOPT_WRITEDATA, to);
  curl.curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl.curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl.curl_easy_setopt(easy, CURLOPT_XFERINFODATA, to);
}

/* *again: another try may do better. */
static ath_status transfer(const char *url, sink *to, bool *again) {
  char error[CURL_ERROR_SIZE] = "";
  *again = false;
  CURL *easy = curl.curl_easy_init();
  if (easy == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a download");
  set_options(easy, url, to, error);
  CURLcode code = curl.curl_easy_perform(easy);
  long answer = 0;
  curl.curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer);
  curl.curl_easy_cleanup(easy);
  if (to->status != ATH_OK) return ath_context(to->status, "%s", url);
  if (code == CURLE_OK) return ATH_OK;
  if (error[0] == '\0') snprintf(error, sizeof error, "%s", curl.curl_easy_strerror(code));
  bool refused = answer >= STATUS_NONE_FOUND && answer < 500;
  *again = !refused;
  return ath_fail(refused ? ATH_NOT_FOUND : ATH_IO, "%s: %s", url, error);
}

ath_status ath_download_page(const char *url, ath_buffer *out) {
  ATH_TRY(load_library());
  ath_status status = ATH_OK;
  bool again = true;
  for (int i = 0; i < TRIES && again; i++) {
    if (i > 0) sleep((unsigned)i);
    ath_buffer_clear(out);
    sink to = {.page = out};
    status = transfer(url, &to, &again);
  }
  return status;
}

static ath_status try_file(const char *url, const char *path, sink *to, bool *again) {
  *again = false;
  ATH_TRY(ath_file_writer_open(path, &to->file));
  ath_status status = transfer(url, to, again);
  if (status == ATH_OK) return ath_file_writer_commit(to->file);
  ath_file_writer_abandon(to->file);
  return status;
}

ath_status ath_download_file(const char *url, const char *path, uint64_t maximum,
                             const char *task) {
  ATH_TRY(load_library());
  ath_status status = ATH_OK;
  bool again = true;
  for (int i = 0; i < TRIES && again; i++) {
    if (i > 0) sleep((unsigned)i);
    sink to = {.maximum = maximum, .task = task};
    status = try_file(url, path, &to, &again);
  }
  return status;
}

ath_status ath_download_resolve(const char *base, const char *link, char **out) {
  *out = NULL;
  ATH_TRY(load_library());
  char *text = NULL;
  CURLU *url = curl.curl_url();
  bool good = url != NULL && curl.curl_url_set(url, CURLUPART_URL, base, 0) == CURLUE_OK &&
              curl.curl_url_set(url, CURLUPART_URL, link, 0) == CURLUE_OK &&
              curl.curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
              curl.curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK;
  if (good) *out = strdup(text);
  if (text != NULL) curl.curl_free(text);
  if (url != NULL) curl.curl_url_cleanup(url);
  return *out != NULL ? ATH_OK : ath_fail(ATH_INVALID, "%s: \"%s\" leads nowhere", base, link);
}
