/* curl.c: loading libcurl. */
#include "storage/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/outcome.h"

static ath_curl functions;

static ath_status load_function(void *library, const char *name, void *target) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) return ath_fail(ATH_UNSUPPORTED, "libcurl is too old: it has no %s", name);
  memcpy(target, &symbol, sizeof symbol);
  return ATH_OK;
}

/* Debian has it built with OpenSSL or with GnuTLS; either will do. */
static ath_status load(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return ath_fail(ATH_UNSUPPORTED, "the network needs the library libcurl.so.4 (Debian: apt-get "
                    "install libcurl4)");
#define LOAD(name) ATH_TRY(load_function(library, #name, &functions.name));
  CURL_FUNCTIONS(LOAD)
#undef LOAD
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
