/* library.h: shared libraries that are loaded when they are first needed. */
#ifndef ATHANOR_BASE_LIBRARY_H
#define ATHANOR_BASE_LIBRARY_H

#include <stddef.h>

#include "athanor/status.h"

/* Where the address of a function goes: `target` is the address of a pointer to it. */
typedef struct ath_symbol {
  const char *name;
  void *target;
} ath_symbol;

/* For a table of functions whose types are those of a header:
 *     static struct { ATH_LIBRARY_POINTER(inflate); } z;
 *     … {ATH_LIBRARY_SYMBOL(z, inflate)} … */
#define ATH_LIBRARY_POINTER(name) __typeof__(name) *name
#define ATH_LIBRARY_SYMBOL(table, function) {#function, &(table).function}

/* Opens the library `file` and looks up the symbols. ATH_UNSUPPORTED names what is missing, with
 * `advice` behind it ("Debian: apt-get install libzstd1"). The library stays loaded. */
ath_status ath_library_load(const char *file, const char *advice, const ath_symbol *symbols,
                            size_t count) ATH_MUST_CHECK;

/* The same for a library that is open already. */
ath_status ath_library_look_up(void *library, const char *file, const ath_symbol *symbols,
                               size_t count) ATH_MUST_CHECK;

#endif
