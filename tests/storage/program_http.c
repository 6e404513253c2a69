/* program_http.c: exchanges over HTTP for tests/storage/test_http.py.
 *
 *     program METHOD URL [bearer=TOKEN] [redirects=N] [body=N] [seconds=S] [times=N] [retry=1]
 *             [maximum=N] [header=NAME:VALUE]
 *
 * Prints one JSON object: the answer of the last exchange, or what failed. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "storage/http.h"
#include "storage/retry.h"

static const char *option(int argc, char **argv, const char *name, const char *otherwise) {
  size_t length = strlen(name);
  for (int i = 3; i < argc; i++)
    if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') return argv[i] + length + 1;
  return otherwise;
}

/* The body is a…z over and over. */
static ath_status give(void *context, uint64_t at, void *bytes, size_t room, size_t *count) {
  (void)context;
  for (size_t i = 0; i < room; i++) ((char *)bytes)[i] = (char)('a' + (at + i) % 26);
  *count = room;
  return ATH_OK;
}

static void put(const char *name, const char *text) {
  ath_buffer quoted = ath_buffer_make(1 << 26);
  if (ath_buffer_json(&quoted, text, strlen(text)) == ATH_OK)
    printf("\"%s\": %s, ", name, quoted.bytes);
  ath_buffer_free(&quoted);
}

static ath_status exchange(ath_http *http, const ath_http_request *request, bool again,
                           ath_http_answer *answer, int *tries) {
  ath_retry retry = ath_retry_begin(&ath_retry_default, NULL);
  ath_status status;
  do {
    status = ath_http_exchange(http, request, answer);
  } while (again && ath_retry_again(&retry, status, answer));
  *tries = retry.tries;
  if (!again || (status == ATH_OK && answer->status < 300)) return status;
  return ath_retry_fail(&retry, status, answer, request->text, "asking");
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  ath_http *http;
  ath_http_answer answer = {0};
  ath_buffer text = ath_buffer_make(strtoull(option(argc, argv, "maximum", "1048576"), NULL, 10));
  char *header = strdup(option(argc, argv, "header", ""));
  char *colon = header != NULL ? strchr(header, ':') : NULL;
  ath_http_request request = {
    .method = argv[1], .url = argv[2], .bearer = option(argc, argv, "bearer", NULL),
    .redirects = atoi(option(argc, argv, "redirects", "0")),
    .seconds = atof(option(argc, argv, "seconds", "0")), .text = &text, .read = give,
    .size = strtoull(option(argc, argv, "body", "0"), NULL, 10)};
  if (colon != NULL) {
    *colon = '\0';
    request.headers[0] = (ath_http_header){header, colon + 1};
  }
  int tries = 0, times = atoi(option(argc, argv, "times", "1"));
  bool again = option(argc, argv, "retry", NULL) != NULL;
  ath_status status = ath_http_create(&http);
  for (int i = 0; i < times && status == ATH_OK; i++)
    status = exchange(http, &request, again, &answer, &tries);
  printf("{");
  if (status != ATH_OK) put("error", ath_error_text());
  if (answer.url != NULL) put("url", answer.url);
  put("body", text.length > 0 ? text.bytes : "");
  if (answer.status != 0 && ath_http_header_of(http, "x-word") != NULL)
    put("word", ath_http_header_of(http, "x-word"));
  printf("\"code\": %d, \"status\": %d, \"wait\": %g, \"tries\": %d}\n", (int)status, answer.status,
         answer.retry_after, tries);
  ath_http_destroy(http);
  ath_buffer_free(&text);
  free(header);
  return 0;
}
