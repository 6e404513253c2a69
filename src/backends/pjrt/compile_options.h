/* compile_options.h: compile options for devices chosen by the caller. */
#ifndef ATHANOR_BACKENDS_PJRT_COMPILE_OPTIONS_H
#define ATHANOR_BACKENDS_PJRT_COMPILE_OPTIONS_H

#include "backends/pjrt/client.h"

/* As ath_pjrt_compile_options_write, with partition i on the device ids[i] (NULL: left to the
 * plugin). */
ath_status ath_pjrt_compile_options_assign(const ath_pjrt_compile_options *options,
                                           const int64_t *ids, ath_buffer *out) ATH_MUST_CHECK;

#endif
