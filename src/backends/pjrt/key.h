/* key.h: what a compiled program depends on beside its text and the device it is for, as parts of a
 * key of the cache. */
#ifndef ATHANOR_BACKENDS_PJRT_KEY_H
#define ATHANOR_BACKENDS_PJRT_KEY_H

#include "backends/pjrt/cache.h"
#include "backends/pjrt/client.h"

/* The plugin: where it lies, its versions, and the file itself, since one that is replaced keeps
 * its path; and the variables from which compilers take options. */
ath_status ath_key_add_plugin(const ath_pjrt_plugin *plugin, ath_buffer *material) ATH_MUST_CHECK;
ath_status ath_key_add_options(const ath_pjrt_compile_options *options, ath_buffer *material)
    ATH_MUST_CHECK;
/* A text under a name; NULL is not there, which is another key than any text. */
ath_status ath_key_add_text(const char *name, const char *text, ath_buffer *material)
    ATH_MUST_CHECK;

#endif
