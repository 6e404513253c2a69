/* weak_symbols.h: loading a Python module as a library, without Python. */
#ifndef ATHANOR_READERS_WEAK_SYMBOLS_H
#define ATHANOR_READERS_WEAK_SYMBOLS_H

#include "athanor/status.h"

/* Opens a copy, in memory, of the shared library at `path` in which every undefined symbol that
 * begins with `prefix` or "_" and `prefix` is weak, so that it may be missing: it is at address 0
 * then, and what would use it must not be called. ATH_UNSUPPORTED with the loader's reason. */
ath_status ath_open_with_weak(const char *path, const char *prefix, void **library) ATH_MUST_CHECK;

#endif
