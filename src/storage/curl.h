/* curl.h: libcurl's functions, found when they are first needed: linked, the library and what it
 * needs would take thirty times as long to load as the program. */
#ifndef ATHANOR_STORAGE_CURL_H
#define ATHANOR_STORAGE_CURL_H

#include <curl/curl.h>

#include "base/library.h"

/* curl.h has checking macros in front of two of them. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

/* The functions used; their types are those of curl.h. */
#define CURL_FUNCTIONS(X)                                                                        \
  X(curl_global_init) X(curl_easy_init) X(curl_easy_reset) X(curl_easy_setopt)                   \
  X(curl_easy_perform) X(curl_easy_getinfo) X(curl_easy_strerror) X(curl_easy_cleanup)           \
  X(curl_slist_append) X(curl_slist_free_all) X(curl_getdate) X(curl_url) X(curl_url_set)        \
  X(curl_url_get) X(curl_url_cleanup) X(curl_free)

typedef struct ath_curl {
#define DECLARE(name) ATH_LIBRARY_POINTER(name);
  CURL_FUNCTIONS(DECLARE)
#undef DECLARE
} ath_curl;

/* The one table, for any thread; ATH_UNSUPPORTED where there is no libcurl. */
ath_status ath_curl_load(const ath_curl **out) ATH_MUST_CHECK;

#endif
