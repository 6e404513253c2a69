/* library.c: shared libraries that are loaded when they are first needed. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

ath_status ath_library_look_up(void *library, const char *file, const ath_symbol *symbols,
                               size_t count) {
  for (size_t i = 0; i < count; i++) {
    void *found = dlsym(library, symbols[i].name);
    if (found == NULL)
      return ath_fail(ATH_UNSUPPORTED, "%s has no %s: it is of another version", file,
                      symbols[i].name);
    memcpy(symbols[i].target, &found, sizeof found);
  }
  return ATH_OK;
}

ath_status ath_library_load(const char *file, const char *advice, const ath_symbol *symbols,
                            size_t count) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return ath_fail(ATH_UNSUPPORTED, "the library %s is missing (%s)", file, advice);
  return ath_library_look_up(library, file, symbols, count);
}
