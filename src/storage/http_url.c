/* http_url.c: addresses: escapes, links, origins. */
#include <string.h>

#include "storage/curl.h"
#include "storage/http.h"

ath_status ath_http_escape(ath_buffer *out, const char *text, const char *keep) {
  static const char digits[] = "0123456789ABCDEF";
  static const char unreserved[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  for (; *text != '\0'; text++) {
    unsigned char byte = (unsigned char)*text;
    if (strchr(unreserved, *text) != NULL || strchr(keep, *text) != NULL) {
      ATH_TRY(ath_buffer_byte(out, *text));
    } else {
      const char code[3] = {'%', digits[byte >> 4], digits[byte & 15]};
      ATH_TRY(ath_buffer_append(out, code, sizeof code));
    }
  }
  return ATH_OK;
}

ath_status ath_http_resolve(const char *base, const char *link, char out[ATH_HTTP_URL_MAX]) {
  const ath_curl *curl;
  ATH_TRY(ath_curl_load(&curl));
  char *text = NULL;
  CURLU *url = curl->curl_url();
  bool good = url != NULL && curl->curl_url_set(url, CURLUPART_URL, base, 0) == CURLUE_OK &&
              curl->curl_url_set(url, CURLUPART_URL, link, 0) == CURLUE_OK &&
              curl->curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
              curl->curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK;
  good = good && strlen(text) < ATH_HTTP_URL_MAX;
  ath_status status = good ? ATH_OK : ath_fail(ATH_INVALID, "%s: \"%s\" leads nowhere", base, link);
  if (good) memcpy(out, text, strlen(text) + 1);
  if (text != NULL) curl->curl_free(text);
  if (url != NULL) curl->curl_url_cleanup(url);
  return status;
}

void ath_http_origin(const char *text, char out[ATH_HTTP_ORIGIN_MAX]) {
  static const CURLUPart parts[] = {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT};
  static const char *const before[] = {"", "://", ":"};
  const ath_curl *curl;
  size_t length = 0;
  out[0] = '\0';
  if (ath_curl_load(&curl) != ATH_OK) return;
  CURLU *url = curl->curl_url();
  bool good = url != NULL && curl->curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK;
  for (int i = 0; good && i < 3; i++) {
    char *part = NULL;
    good = curl->curl_url_get(url, parts[i], &part, CURLU_DEFAULT_PORT) == CURLUE_OK;
    if (!good) break;
    int written = snprintf(out + length, ATH_HTTP_ORIGIN_MAX - length, "%s%s", before[i], part);
    curl->curl_free(part);
    length += (size_t)written;
    good = length < ATH_HTTP_ORIGIN_MAX;
  }
  if (!good) out[0] = '\0';
  if (url != NULL) curl->curl_url_cleanup(url);
}
