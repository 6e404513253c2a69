/* profiled_cpu_plugin.c: a CPU plugin as it is (its path is in PROFILED_PLUGIN), with a profiler
 * beside it that records nothing. The journal has a line for each run of a program, with the number
 * of its arguments. */
#include "fake_profiler.h"

#include <dlfcn.h>

static PJRT_LoadedExecutable_Execute *execute;

static PJRT_Error *journal_and_execute(PJRT_LoadedExecutable_Execute_Args *args) {
  char line[64];
  snprintf(line, sizeof line, "run %zu", args->num_args);
  fake_journal(line);
  return execute(args);
}

const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
  static struct { PJRT_Api api; char newer[4096]; } copy; /* a newer plugin's is longer */
  const char *path = getenv("PROFILED_PLUGIN");
  void *handle = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  const PJRT_Api *(*get)(void) = NULL;
  void *symbol = handle != NULL ? dlsym(handle, "GetPjrtApi") : NULL;
  memcpy(&get, &symbol, sizeof get);
  const PJRT_Api *real = get != NULL ? get() : NULL;
  if (real == NULL || real->struct_size > sizeof copy) return NULL;
  memcpy(&copy, real, real->struct_size);
  execute = copy.api.PJRT_LoadedExecutable_Execute;
  copy.api.PJRT_LoadedExecutable_Execute = journal_and_execute;
  copy.api.extension_start = fake_profiler_extension(copy.api.extension_start);
  return &copy.api;
}
