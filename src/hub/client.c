/* client.c: a conversation with the Hub. */
#include "hub/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "hub/place.h"

enum { ANSWER_MAX = 64 << 20, REDIRECTS_MAX = 5 };

const ath_retry_policy ath_hub_brief = {.tries = 2, .first = 0.5, .longest = 1, .deadline = 15};

ath_status ath_hub_open(const char *token, bool needed, const volatile sig_atomic_t *stop,
                        ath_hub **out) {
  ath_hub *self = calloc(1, sizeof *self);
  *out = NULL;
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to talk to the Hub");
  self->policy = ath_retry_default;
  self->stop = stop;
  self->text = ath_buffer_make(ANSWER_MAX);
  ath_status status = ath_hub_endpoint(self->endpoint);
  if (status == ATH_OK) status = ath_hub_token(token, needed, self->token);
  if (status == ATH_OK && needed && self->token[0] == '\0')
    status = ath_fail(ATH_DENIED, "no token for %s: athanor hub login keeps one, or set HF_TOKEN",
                      self->endpoint);
  if (status == ATH_OK) status = ath_http_create(&self->http);
  if (status == ATH_OK) *out = self;
  else ath_hub_close(self);
  return status;
}

void ath_hub_close(ath_hub *self) {
  if (self == NULL) return;
  ath_http_destroy(self->http);
  ath_buffer_free(&self->text);
  explicit_bzero(self->token, sizeof self->token);
  free(self);
}

const char *ath_hub_bearer(const ath_hub *self, const char *url) {
  size_t length = strlen(self->endpoint);
  bool ours = strncmp(url, self->endpoint, length) == 0 && url[length] == '/';
  return ours && self->token[0] != '\0' ? self->token : NULL;
}

/* --- failures ----------------------------------------------------------------------------- */

/* A server may repeat in its answer what it was sent. */
static ath_status without_token(const ath_hub *self, ath_status status) {
  ath_outcome outcome;
  size_t length = strlen(self->token);
  ath_outcome_keep(&outcome, status);
  if (length == 0 || strstr(outcome.text, self->token) == NULL) return status;
  for (char *at; (at = strstr(outcome.text, self->token)) != NULL;)
    memset(at, '*', length);
  return ath_outcome_return(&outcome);
}

/* The Hub answers 401 or 404 alike for what is missing and for what is private. */
static const char *advice(const ath_hub *self, const ath_http_answer *answer) {
  const char *code = ath_http_header_of(self->http, "X-Error-Code");
  if (code != NULL && strcmp(code, "GatedRepo") == 0)
    return "; ask for access on its page, logged in as yourself";
  if (answer->status == 401 && code == NULL && self->token[0] != '\0')
    return "; this token is not valid: huggingface.co/settings/tokens has those that are";
  bool hidden = answer->status == 401 || (answer->status == 404 && code != NULL &&
                                          strcmp(code, "RepoNotFound") == 0);
  if (!hidden) return "";
  return self->token[0] != '\0' ? "; if it is there, your token has no right to it"
                                : "; if it is there but private, athanor hub login first";
}

ath_status ath_hub_fail(const ath_hub *self, const ath_retry *retry, ath_status status,
                        const ath_http_answer *answer, const ath_buffer *text, const char *what) {
  ath_outcome outcome;
  bool answered = status == ATH_OK;
  status = ath_retry_fail(retry, status, answer, text, what);
  if (answered && *advice(self, answer) != '\0') {
    ath_outcome_keep(&outcome, status);
    status = ath_fail(status, "%s%s", outcome.text, advice(self, answer));
  }
  return without_token(self, status);
}

/* --- requests ----------------------------------------------------------------------------- */

static void add_header(ath_http_request *request, const char *name, const char *value) {
  int at = 0;
  while (request->headers[at].name != NULL) at++;
  if (value != NULL) request->headers[at] = (ath_http_header){name, value};
}

static ath_status parse(const ath_buffer *text, const char *what, json_t **out) {
  json_error_t error;
  *out = json_loadb(text->bytes != NULL ? text->bytes : "", text->length, 0, &error);
  if (*out != NULL) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s: the answer is no JSON (%s at byte %d); is HF_ENDPOINT a Hub?",
                  what, error.text, error.position);
}

ath_status ath_hub_call(ath_hub *self, const char *method, const char *url,
                        const ath_hub_body *body, const char *what, json_t **out) {
  ath_http_request request = {.method = method, .url = url, .redirects = REDIRECTS_MAX,
                              .bearer = ath_hub_bearer(self, url), .stop = self->stop,
                              .text = &self->text};
  if (body != NULL) {
    request.body = body->bytes;
    request.size = body->size;
    add_header(&request, "Content-Type", body->type != NULL ? body->type : "application/json");
    add_header(&request, "Accept", body->accept);
  }
  ath_status status;
  ath_retry retry = ath_retry_begin(&self->policy, self->stop);
  do {
    ath_buffer_clear(&self->text);
    self->answer = (ath_http_answer){0};
    request.seconds = ath_retry_seconds(&retry) + (double)request.size / ATH_HTTP_SPEED_MIN;
    status = ath_http_exchange(self->http, &request, &self->answer);
  } while (ath_retry_again(&retry, status, &self->answer));
  if (status != ATH_OK || self->answer.status / 100 != 2)
    return ath_hub_fail(self, &retry, status, &self->answer, &self->text, what);
  return out != NULL ? parse(&self->text, what, out) : ATH_OK;
}

ath_status ath_hub_api_url(const ath_hub *self, const ath_hub_place *place, const char *action,
                           const char *argument, ath_buffer *out) {
  ath_buffer_clear(out);
  ATH_TRY(ath_buffer_format(out, "%s/api/%s/%s/%s", self->endpoint,
                            ath_hub_kind_plural(place->kind), place->id, action));
  if (argument == NULL) return ATH_OK;
  ATH_TRY(ath_buffer_byte(out, '/'));
  return ath_http_escape(out, argument, "");
}

bool ath_hub_is_hex(const char *text, size_t digits) {
  return text != NULL && strlen(text) == digits &&
         strspn(text, "0123456789abcdef") == digits;
}
