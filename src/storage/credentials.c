/* credentials.c: the token that Cloud Storage wants. */
#include "storage/credentials.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "storage/file.h"
#include "storage/http.h"
#include "storage/jwt.h"
#include "storage/retry.h"

enum {
  FILE_BYTES_MAX = 1 << 18, ANSWER_BYTES_MAX = 1 << 18, HOUR = 3600, EARLY_SECONDS = 225,
  METADATA_SECONDS = 5,
};
#define SCOPE "https://www.googleapis.com/auth/devstorage.read_write"
#define TOKEN_URI "https://oauth2.googleapis.com/token"

static const ath_retry_policy asking = {.tries = 5, .first = 0.5, .longest = 8, .deadline = 60};
/* Elsewhere than at Google's there is no such host. */
static const ath_retry_policy looking = {.tries = 3, .first = 0.25, .longest = 1, .deadline = 10};

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value != NULL && *value != '\0' ? value : NULL;
}

/* --- an answer with a token --------------------------------------------------------------- */

static ath_status read_token(const ath_buffer *text, const char *from, char token[ATH_TOKEN_MAX],
                             double *seconds) {
  json_t *root = json_loadb(text->bytes != NULL ? text->bytes : "", text->length, 0, NULL);
  const char *found = json_string_value(json_object_get(root, "access_token"));
  double lasts = json_number_value(json_object_get(root, "expires_in"));
  ath_status status = ATH_OK;
  if (found == NULL || *found == '\0' || strlen(found) >= ATH_TOKEN_MAX)
    status = ath_fail(ATH_INVALID, "%s: the answer holds no access_token", from);
  else memcpy(token, found, strlen(found) + 1);
  *seconds = lasts > 0 && lasts < 1e9 ? lasts : HOUR;
  json_decref(root);
  return status;
}

static ath_status ask(ath_http_request *request, const ath_retry_policy *policy,
                      char token[ATH_TOKEN_MAX], double *seconds) {
  ath_http *http;
  ath_http_answer answer;
  ath_buffer text = ath_buffer_make(ANSWER_BYTES_MAX);
  ATH_TRY(ath_http_create(&http));
  request->text = &text;
  ath_status status;
  ath_retry retry = ath_retry_begin(policy, NULL);
  do {
    if (request->seconds == 0 || request->seconds > ath_retry_seconds(&retry))
      request->seconds = ath_retry_seconds(&retry);
    status = ath_http_exchange(http, request, &answer);
  } while (ath_retry_again(&retry, status, &answer));
  if (status != ATH_OK || answer.status != 200)
    status = ath_retry_fail(&retry, status, &answer, &text, "asking for a token");
  else status = read_token(&text, request->url, token, seconds);
  ath_buffer_free(&text);
  ath_http_destroy(http);
  return status;
}

/* --- the file's kinds --------------------------------------------------------------------- */

static ath_status want(const json_t *root, const char *name, const char **out) {
  *out = json_string_value(json_object_get(root, name));
  return *out != NULL ? ATH_OK : ath_fail(ATH_INVALID, "it has no \"%s\"", name);
}

/* What a file names is sent secrets: encrypted, unless it stays on this machine. */
static ath_status token_uri(const json_t *root, const char **out) {
  char origin[ATH_HTTP_ORIGIN_MAX];
  *out = json_string_value(json_object_get(root, "token_uri"));
  if (*out == NULL) *out = TOKEN_URI;
  ath_http_origin(*out, origin);
  if (strncasecmp(origin, "https://", 8) == 0 || strncmp(origin, "http://127.0.0.1:", 17) == 0)
    return ATH_OK;
  return ath_fail(ATH_INVALID, "its token_uri is not encrypted");
}

static ath_status post_form(const char *url, const ath_buffer *form, char token[ATH_TOKEN_MAX],
                            double *seconds) {
  ath_http_request request = {
    .method = "POST", .url = url, .body = form->bytes, .size = form->length,
    .headers = {{"Content-Type", "application/x-www-form-urlencoded"}}};
  return ask(&request, &asking, token, seconds);
}

static ath_status add_field(ath_buffer *form, const char *name, const char *value) {
  ATH_TRY(ath_buffer_format(form, "%s%s=", form->length > 0 ? "&" : "", name));
  return ath_http_escape(form, value, "");
}

/* RFC 6749, section 6. */
static ath_status user_form(const json_t *root, ath_buffer *form) {
  static const char *const names[] = {"client_id", "client_secret", "refresh_token"};
  ATH_TRY(add_field(form, "grant_type", "refresh_token"));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value;
    ATH_TRY(want(root, names[i], &value));
    ATH_TRY(add_field(form, names[i], value));
  }
  return ATH_OK;
}

/* RFC 7523: a statement signed by the account's key stands for its password. */
static ath_status make_statement(const json_t *root, const char *uri, ath_buffer *out) {
  const char *email, *key;
  const char *id = json_string_value(json_object_get(root, "private_key_id"));
  time_t now = time(NULL);
  ATH_TRY(want(root, "client_email", &email));
  ATH_TRY(want(root, "private_key", &key));
  json_t *header = json_pack("{ss ss ss*}", "alg", "RS256", "typ", "JWT", "kid", id);
  json_t *claims = json_pack("{ss ss ss sI sI}", "iss", email, "scope", SCOPE, "aud", uri, "iat",
                             (json_int_t)now, "exp", (json_int_t)now + HOUR);
  char *header_text = json_dumps(header, JSON_COMPACT);
  char *claims_text = json_dumps(claims, JSON_COMPACT);
  ath_status status = header_text != NULL && claims_text != NULL
                          ? ath_jwt_sign(out, header_text, claims_text, key)
                          : ath_fail(ATH_INVALID, "its fields are not UTF-8");
  free(header_text);
  free(claims_text);
  json_decref(header);
  json_decref(claims);
  return status;
}

static ath_status account_form(const json_t *root, const char *uri, ath_buffer *form) {
  ath_buffer statement = ath_buffer_make(FILE_BYTES_MAX);
  ath_status status = make_statement(root, uri, &statement);
  if (status == ATH_OK)
    status = add_field(form, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
  if (status == ATH_OK) status = add_field(form, "assertion", statement.bytes);
  ath_buffer_free(&statement);
  return status;
}

static ath_status ask_by(const json_t *root, char token[ATH_TOKEN_MAX], double *seconds) {
  const char *type, *uri;
  ATH_TRY(want(root, "type", &type));
  ATH_TRY(token_uri(root, &uri));
  ath_buffer form = ath_buffer_make(FILE_BYTES_MAX);
  ath_status status;
  if (strcmp(type, "service_account") == 0) status = account_form(root, uri, &form);
  else if (strcmp(type, "authorized_user") == 0) status = user_form(root, &form);
  else status = ath_fail(ATH_UNSUPPORTED, "credentials of the type \"%.40s\" are not known here; "
                         "GOOGLE_OAUTH_ACCESS_TOKEN takes a token itself", type);
  if (status == ATH_OK) status = post_form(uri, &form, token, seconds);
  ath_buffer_free(&form);
  return status;
}

static ath_status ask_by_file(const char *path, char token[ATH_TOKEN_MAX], double *seconds) {
  ath_buffer text = ath_buffer_make(FILE_BYTES_MAX);
  ath_status status = ath_file_read(path, &text);
  if (status == ATH_OK) {
    json_error_t error;
    json_t *root = json_loadb(text.bytes != NULL ? text.bytes : "", text.length, 0, &error);
    status = root == NULL ? ath_fail(ATH_INVALID, "line %d: %s", error.line, error.text)
                          : ask_by(root, token, seconds);
    status = ath_context(status, "%s", path);
    json_decref(root);
  }
  ath_buffer_free(&text);
  return status;
}

/* cloud.google.com/compute/docs/metadata */
static ath_status ask_metadata(char token[ATH_TOKEN_MAX], double *seconds) {
  const char *host = variable("GCE_METADATA_HOST");
  char url[ATH_HTTP_URL_MAX];
  snprintf(url, sizeof url, "http://%s/computeMetadata/v1/instance/service-accounts/default/token",
           host != NULL ? host : "metadata.google.internal");
  ath_http_request request = {.method = "GET", .url = url, .seconds = METADATA_SECONDS,
                              .headers = {{"Metadata-Flavor", "Google"}}};
  ath_status status = ask(&request, &looking, token, seconds);
  if (status == ATH_OK) return ATH_OK;
  return ath_context(ATH_DENIED, "no credentials for Cloud Storage: neither "
                     "GOOGLE_OAUTH_ACCESS_TOKEN nor GOOGLE_APPLICATION_CREDENTIALS is set, "
                     "`gcloud auth application-default login` has left no file, and there is no "
                     "metadata server");
}

/* --- the token kept ----------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char token[ATH_TOKEN_MAX]; /* "": none */
  double until;
} kept;

static ath_status well_known_file(char path[ATH_PATH_MAX]) {
  static const char name[] = "application_default_credentials.json";
  const char *folder = variable("CLOUDSDK_CONFIG"), *home = variable("HOME");
  char gcloud[ATH_PATH_MAX];
  if (folder != NULL) return ath_path_join(path, folder, name);
  ATH_TRY(ath_path_join(gcloud, home != NULL ? home : "", ".config/gcloud"));
  return ath_path_join(path, gcloud, name);
}

static ath_status renew(void) {
  char path[ATH_PATH_MAX];
  double seconds = 0;
  const char *file = variable("GOOGLE_APPLICATION_CREDENTIALS");
  kept.token[0] = '\0';
  if (file == NULL) {
    ATH_TRY(well_known_file(path));
    if (ath_path_exists(path)) file = path;
  }
  if (file != NULL) ATH_TRY(ask_by_file(file, kept.token, &seconds));
  else ATH_TRY(ask_metadata(kept.token, &seconds));
  kept.until = seconds_now() + seconds - (seconds > 2 * EARLY_SECONDS ? EARLY_SECONDS : 0);
  return ATH_OK;
}

static ath_status given_token(const char *given, const char *refused, char token[ATH_TOKEN_MAX]) {
  if (refused != NULL && strcmp(given, refused) == 0)
    return ath_fail(ATH_DENIED, "the token of GOOGLE_OAUTH_ACCESS_TOKEN is not accepted; it may "
                    "have run out");
  if (strlen(given) >= ATH_TOKEN_MAX)
    return ath_fail(ATH_INVALID, "GOOGLE_OAUTH_ACCESS_TOKEN is too long for a token");
  memcpy(token, given, strlen(given) + 1);
  return ATH_OK;
}

ath_status ath_credentials_token(const char *refused, char token[ATH_TOKEN_MAX]) {
  const char *given = variable("GOOGLE_OAUTH_ACCESS_TOKEN");
  if (given != NULL) return given_token(given, refused, token);
  ath_status status = ATH_OK;
  pthread_mutex_lock(&lock);
  bool stale = kept.token[0] == '\0' || seconds_now() > kept.until;
  if (stale || (refused != NULL && strcmp(refused, kept.token) == 0)) status = renew();
  if (status == ATH_OK) memcpy(token, kept.token, strlen(kept.token) + 1);
  pthread_mutex_unlock(&lock);
  return status;
}
