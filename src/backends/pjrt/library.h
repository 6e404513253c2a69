/* library.h: whether a file can be a shared library of this machine, asked before it is loaded: the
 * dynamic loader maps what the headers promise, and a file that is cut short ends the process with
 * SIGBUS. */
#ifndef ATHANOR_BACKENDS_PJRT_LIBRARY_H
#define ATHANOR_BACKENDS_PJRT_LIBRARY_H

#include "athanor/status.h"

/* ATH_INVALID: no shared library; ATH_CORRUPT: shorter than its headers say; ATH_UNSUPPORTED: for
 * another kind of machine. The text says what to do. */
ath_status ath_library_check(const char *path) ATH_MUST_CHECK;

#endif
