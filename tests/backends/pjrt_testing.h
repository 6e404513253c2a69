/* pjrt_testing.h: the plugins that the tests load, where scripts/setup.sh check puts them. */
#ifndef ATHANOR_TESTS_PJRT_TESTING_H
#define ATHANOR_TESTS_PJRT_TESTING_H

#include <unistd.h>

#include "backends/pjrt/client.h"
#include "testing.h"

/* Those for the CPU, by the version of their API, oldest first. */
static const char *const cpu_plugins[] = {
  "build/pjrt/cpu-0.81.so", "build/pjrt/cpu-0.106.so", "build/pjrt/cpu-0.115.so",
};
enum { CPU_PLUGINS = 3 };

/* Whether a plugin is here. Without it the test is skipped, but where ATHANOR_REQUIRE_PLUGINS is
 * set it fails. */
static inline bool have_plugin(const char *path) {
  if (access(path, R_OK) == 0) return true;
  if (getenv("ATHANOR_REQUIRE_PLUGINS") != NULL)
    fail_msg("%s is missing, and ATHANOR_REQUIRE_PLUGINS asks for it", path);
  print_message("%s is missing (scripts/setup.sh check): its part is left out\n", path);
  return false;
}

/* A client of one of the CPU plugins with so many devices. */
static inline ath_pjrt_client *open_cpu(const char *path, int devices) {
  ath_pjrt_plugin *plugin;
  ath_pjrt_client *client;
  ath_pjrt_option option = {.name = "cpu_device_count", .kind = ATH_PJRT_INTEGER,
                            .integer = devices};
  assert_ok(ath_pjrt_plugin_load(path, false, &plugin));
  assert_ok(ath_pjrt_client_create(plugin, &option, 1, &client));
  assert_int_equal(ath_pjrt_client_device_count(client), devices);
  return client;
}

static inline ath_pjrt_executable *compile(ath_pjrt_client *client, const char *text,
                                           int partitions) {
  ath_pjrt_executable *program;
  ath_pjrt_compile_options options = {.partitions = partitions};
  assert_ok(ath_pjrt_compile(client, text, strlen(text), &options, &program));
  return program;
}

static inline ath_pjrt_buffer *put(ath_pjrt_client *client, int device, ath_type type,
                                   const void *data) {
  ath_pjrt_buffer *buffer;
  assert_ok(ath_pjrt_buffer_create(client, device, &type, data, &buffer));
  return buffer;
}

#endif
