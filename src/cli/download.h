/* download.h: files from the web, through libcurl. It is loaded when it is first needed: linked, it
 * and what it needs would take thirty times as long to load as the program itself. */
#ifndef ATHANOR_CLI_DOWNLOAD_H
#define ATHANOR_CLI_DOWNLOAD_H

#include "athanor/status.h"
#include "base/buffer.h"

/* A page into `out`, whose maximum bounds it. ATH_NOT_FOUND for an answer like 404; other failures
 * are tried three times. */
ath_status ath_download_page(const char *url, ath_buffer *out) ATH_MUST_CHECK;

/* A file, atomically, of at most `maximum` bytes, with progress under `task`. A first signal stops
 * it (ATH_INTERRUPTED). */
ath_status ath_download_file(const char *url, const char *path, uint64_t maximum, const char *task)
    ATH_MUST_CHECK;

/* What `link` on the page `base` leads to. The caller frees it. */
ath_status ath_download_resolve(const char *base, const char *link, char **out) ATH_MUST_CHECK;

#endif
