/* curl.c: loading libcurl. */
#include "storage/curl.h"

#include <pthread.h>

#include "base/outcome.h"

static ath_curl functions;

static ath_status load_from(const char *file) {
#define SYMBOL(name) ATH_LIBRARY_SYMBOL(functions, name),
  const ath_symbol symbols[] = {CURL_FUNCTIONS(SYMBOL)};
#undef SYMBOL
  return ath_library_load(file, "which the network needs; Debian: apt-get install libcurl4",
                          symbols, sizeof symbols / sizeof *symbols);
}

/* Debian has it built with OpenSSL or with GnuTLS; either will do. */
static ath_status load(void) {
  if (load_from("libcurl.so.4") != ATH_OK && load_from("libcurl-gnutls.so.4") != ATH_OK)
    ATH_TRY(load_from("libcurl.so.4")); /* the one to name */
  if (functions.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return ath_fail(ATH_INTERNAL, "libcurl does not start");
  return ATH_OK;
}

static ath_outcome outcome;
static void load_once(void) { ath_outcome_keep(&outcome, load()); }

ath_status ath_curl_load(const ath_curl **out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_once);
  *out = &functions;
  return ath_outcome_return(&outcome);
}
