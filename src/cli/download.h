/* download.h: files from the web. */
#ifndef ATHANOR_CLI_DOWNLOAD_H
#define ATHANOR_CLI_DOWNLOAD_H

#include "athanor/status.h"
#include "base/buffer.h"

/* A page into `out`, whose maximum bounds it. ATH_NOT_FOUND for an answer like 404; a server in
 * trouble is asked three times. */
ath_status ath_download_page(const char *url, ath_buffer *out) ATH_MUST_CHECK;

/* A file, atomically, of at most `maximum` bytes, with progress under `task`. A first signal stops
 * it (ATH_INTERRUPTED). */
ath_status ath_download_file(const char *url, const char *path, uint64_t maximum, const char *task)
    ATH_MUST_CHECK;

#endif
