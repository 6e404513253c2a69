/* download.c: files from the web. */
#include "cli/download.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/cli.h"
#include "storage/file.h"
#include "storage/http.h"
#include "storage/retry.h"

enum { REDIRECTS_MAX = 5 };

static const ath_retry_policy policy = {.tries = 3, .first = 1, .longest = 4, .deadline = 86400};

/* A file on its way. */
typedef struct sink {
  const ath_http *http;
  ath_file_writer *file;
  uint64_t written, maximum;
  const char *task;
} sink;

static void report(const sink *self) {
  const char *length = ath_http_header_of(self->http, "content-length");
  uint64_t total = length != NULL ? strtoull(length, NULL, 10) : 0;
  if (self->task == NULL || total == 0) return;
  ath_log_progress(&(ath_progress){.task = self->task, .unit = "bytes", .done = self->written,
                                   .total = total, .finished = self->written == total});
}

static ath_status take(void *context, const void *bytes, size_t count) {
  sink *self = context;
  self->written += count;
  if (self->written > self->maximum)
    return ath_fail(ATH_INVALID, "the file is larger than %llu bytes",
                    (unsigned long long)self->maximum);
  report(self);
  return ath_file_writer_write(self->file, bytes, count);
}

/* One try. What a failed answer says goes to `text`. */
static ath_status fetch_file(ath_http *http, const ath_http_request *request, const char *path,
                             sink *to, ath_http_answer *answer) {
  *answer = (ath_http_answer){0};
  to->written = 0;
  ATH_TRY(ath_file_writer_open(path, &to->file));
  ath_status status = ath_http_exchange(http, request, answer);
  if (status == ATH_OK && answer->status == 200) return ath_file_writer_commit(to->file);
  ath_file_writer_abandon(to->file);
  if (status == ATH_INTERRUPTED)
    return ath_fail(ATH_INTERRUPTED, "stopped while downloading; nothing was changed");
  return status;
}

static ath_status fetch(ath_http *http, ath_http_request *request, const char *path, sink *to) {
  ath_http_answer answer;
  ath_retry retry = ath_retry_begin(&policy, &ath_cli_stop);
  ath_status status;
  do {
    status = path != NULL ? fetch_file(http, request, path, to, &answer)
                          : ath_http_exchange(http, request, &answer);
  } while (ath_retry_again(&retry, status, &answer));
  if (status == ATH_OK && answer.status == 200) return ATH_OK;
  return ath_retry_fail(&retry, status, &answer, request->text, request->url);
}

ath_status ath_download_page(const char *url, ath_buffer *out) {
  ath_http *http;
  ath_http_request request = {.method = "GET", .url = url, .redirects = REDIRECTS_MAX,
                              .stop = &ath_cli_stop, .text = out};
  ATH_TRY(ath_http_create(&http));
  ath_status status = fetch(http, &request, NULL, NULL);
  ath_http_destroy(http);
  return status;
}

ath_status ath_download_file(const char *url, const char *path, uint64_t maximum,
                             const char *task) {
  ath_http *http;
  ATH_TRY(ath_http_create(&http));
  sink to = {.http = http, .maximum = maximum, .task = task};
  ath_buffer text = ath_buffer_make(1 << 12);
  ath_http_request request = {.method = "GET", .url = url, .redirects = REDIRECTS_MAX,
                              .stop = &ath_cli_stop, .text = &text, .take = take,
                              .take_context = &to};
  ath_status status = fetch(http, &request, path, &to);
  ath_buffer_free(&text);
  ath_http_destroy(http);
  return status;
}
