/* fake_testing.h: the fake plugin (fake_plugin.c) as tests load it, behaving as they want. */
#ifndef ATHANOR_TESTS_FAKE_TESTING_H
#define ATHANOR_TESTS_FAKE_TESTING_H

#include <dlfcn.h>

#include "backends/pjrt_testing.h"
#include "storage/file.h"

/* Copies of the fake: a plugin is loaded once a process, and each test wants another one. */
static char *folder;
static int copies;

static inline const char *fake(const char *behaviour) {
  static char path[4096];
  char command[9000];
  snprintf(path, sizeof path, "%s/fake%d.so", folder, copies++);
  snprintf(command, sizeof command, "cp '%s' '%s'", ATHANOR_FAKE_PLUGIN, path);
  assert_int_equal(system(command), 0);
  assert_int_equal(setenv("FAKE_PJRT", behaviour, 1), 0);
  return path;
}

static inline ath_pjrt_plugin *load(const char *behaviour) {
  ath_pjrt_plugin *plugin;
  assert_ok(ath_pjrt_plugin_load(fake(behaviour), false, &plugin));
  return plugin;
}

/* A function of the fake that was loaded from a path. */
static inline void *of_fake(const char *path, const char *name) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  assert_non_null(handle);
  void *symbol = dlsym(handle, name);
  assert_non_null(symbol);
  dlclose(handle);
  return symbol;
}

static inline int number_at(const char *path, const char *name) {
  int (*get)(void);
  void *symbol = of_fake(path, name);
  memcpy(&get, &symbol, sizeof get);
  return get();
}

static inline int number(const ath_pjrt_plugin *plugin, const char *name) {
  return number_at(ath_pjrt_plugin_path(plugin), name);
}

/* Nothing is left over, and no rule was broken. */
static inline void assert_clean(const ath_pjrt_plugin *plugin) {
  assert_int_equal(number(plugin, "fake_live_count"), 0);
  assert_int_equal(number(plugin, "fake_fault_count"), 0);
}

static inline int make_copies_folder(void **state) {
  (void)state;
  folder = make_folder();
  return 0;
}

static inline int remove_copies_folder(void **state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

#endif
