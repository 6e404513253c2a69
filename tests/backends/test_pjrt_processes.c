/* test_pjrt_processes.c: the client as one of several processes; by a plugin made for it
 * (fake_plugin.c), in which this is process 1 of 3 with two devices. */
#include "athanor/backend.h"
#include "backends/fake_testing.h"
#include "backends/memory_store.h"
#include "base/clock.h"

/* Device ids are 70 to 75, and 72 and 73 are here. */
static void assert_assigned(const ath_pjrt_plugin *plugin, ath_pjrt_client *client, int partitions,
                            const char *ids, size_t count) {
  ath_pjrt_compile_options options = {.partitions = partitions};
  ath_pjrt_executable *program;
  assert_ok(ath_pjrt_compile(client, "text", 4, &options, &program));
  assert_int_equal(ath_pjrt_executable_partitions(program), 2);
  ath_pjrt_executable_destroy(program);
  const char *(*seen)(size_t *);
  void *symbol = of_fake(ath_pjrt_plugin_path(plugin), "fake_compile_options");
  memcpy(&seen, &symbol, sizeof seen);
  size_t size;
  const char *bytes = seen(&size);
  assert_non_null(memmem(bytes, size, ids, count));
}

static void a_program_beyond_this_process_runs_on_the_devices_of_all(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("hosts");
  ath_pjrt_client *client;
  assert_ok(ath_pjrt_client_create(plugin, NULL, 0, &client));
  assert_int_equal(ath_pjrt_client_device_count(client), 2);
  assert_int_equal(ath_pjrt_client_process(client), 1);
  assert_int_equal(ath_pjrt_client_process_count(client), 3);
  assert_assigned(plugin, client, 2, "\x1a\x03\x0a\x01\x48\x1a\x03\x0a\x01\x49", 10);
  assert_assigned(plugin, client, 6, "\x1a\x03\x0a\x01\x46\x1a\x03\x0a\x01\x47"
                                     "\x1a\x03\x0a\x01\x48\x1a\x03\x0a\x01\x49"
                                     "\x1a\x03\x0a\x01\x4a\x1a\x03\x0a\x01\x4b", 30);
  ath_pjrt_compile_options seven = {.partitions = 7};
  ath_pjrt_executable *program;
  assert_fails(ath_pjrt_compile(client, "text", 4, &seven, &program), ATH_UNSUPPORTED,
               "for 7 devices, and here are 6");
  ath_pjrt_client_destroy(client);
  assert_clean(plugin);
}

/* The fake's process 1 has the third and fourth device, and says now that they belong to 2. */
static void devices_of_another_process_are_told(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("hosts mixed");
  ath_pjrt_client *client;
  assert_fails(ath_pjrt_client_create(plugin, NULL, 0, &client), ATH_UNSUPPORTED,
               "the 2 devices of process 1 are not those that the plugin lists for it");
  assert_clean(plugin);
}

static void a_slice_of_several_hosts_is_refused_by_the_engine(void **state) {
  (void)state;
  ath_backend *backend = NULL;
  const char *path = fake("hosts");
  assert_fails(ath_backend_open(path, &backend), ATH_UNSUPPORTED,
               "this process has 2 of 6 devices");
  assert_null(backend);
  assert_int_equal(number_at(path, "fake_live_count"), 0);
  assert_int_equal(number_at(path, "fake_fault_count"), 0);
}

/* The fake's process 0 of 2 puts a value and waits for that of process 1. */
static void a_plugin_finds_other_processes_through_the_store(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("join hosts");
  ath_pjrt_client *client = NULL;
  ath_store own = memory_view(0, 2), other = memory_view(1, 2);
  assert_fails(ath_pjrt_client_join(plugin, NULL, 0, &own, &client), ATH_IO,
               "process 0 of 2 waited");
  assert_null(client);
  memory_clear();
  assert_ok(ath_store_put(&other, "n\0\1", 3, "n\0\1", 3));
  assert_ok(ath_pjrt_client_join(plugin, NULL, 0, &own, &client));
  assert_int_equal(ath_pjrt_client_device_count(client), 2); /* of the six of all processes */
  ath_pjrt_client_destroy(client);
  memory_clear();
  assert_clean(plugin);
}

/* --- waiting ------------------------------------------------------------------------------ */

static ath_status wait_for_a_buffer(ath_pjrt_client *client) {
  ath_pjrt_buffer *buffer;
  ath_type type = ath_type_make(ATH_F32, 1, 1);
  float one = 1;
  ATH_TRY(ath_pjrt_buffer_create(client, 0, &type, &one, &buffer));
  ath_status status = ath_pjrt_buffer_wait(buffer);
  ath_pjrt_buffer_destroy(buffer);
  return status;
}

static void a_device_that_answers_is_waited_for_as_ever(void **state) {
  (void)state;
  ath_pjrt_client *client;
  ath_pjrt_plugin *plugin = load("hosts");
  assert_ok(ath_pjrt_client_create(plugin, NULL, 0, &client));
  assert_ok(wait_for_a_buffer(client));
  ath_pjrt_client_destroy(client);
  assert_clean(plugin);
  plugin = load("hosts late");
  assert_ok(ath_pjrt_client_create(plugin, NULL, 0, &client));
  assert_fails(wait_for_a_buffer(client), ATH_INTERNAL, "waiting for a result: INTERNAL: the fake");
  ath_pjrt_client_destroy(client);
  assert_clean(plugin);
}

/* The answer that comes after nobody waits any more is released. */
static void a_device_that_does_not_answer_is_given_up_in_time(void **state) {
  (void)state;
  ath_pjrt_client *client;
  ath_pjrt_plugin *plugin = load("hosts never late");
  setenv("ATHANOR_PROCESS_TIMEOUT", "1", 1);
  assert_ok(ath_pjrt_client_create(plugin, NULL, 0, &client));
  double start = seconds_now();
  assert_fails(wait_for_a_buffer(client), ATH_IO,
               "waiting for a result: nothing has come from the devices for 1 s; another process");
  double waited = seconds_now() - start;
  assert_true(waited >= 1 && waited < 20);
  ath_pjrt_client_destroy(client);
  assert_int_equal(number(plugin, "fake_call_back"), 1);
  assert_clean(plugin);
  unsetenv("ATHANOR_PROCESS_TIMEOUT");
}

static void a_timeout_that_is_none_is_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"0", "-3", "soon", "99999999999"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ath_pjrt_client *client;
    ath_pjrt_plugin *plugin = load("hosts");
    setenv("ATHANOR_PROCESS_TIMEOUT", wrong[i], 1);
    assert_fails(ath_pjrt_client_create(plugin, NULL, 0, &client), ATH_USAGE, wrong[i]);
    assert_clean(plugin);
  }
  unsetenv("ATHANOR_PROCESS_TIMEOUT");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_program_beyond_this_process_runs_on_the_devices_of_all),
    cmocka_unit_test(devices_of_another_process_are_told),
    cmocka_unit_test(a_slice_of_several_hosts_is_refused_by_the_engine),
    cmocka_unit_test(a_plugin_finds_other_processes_through_the_store),
    cmocka_unit_test(a_device_that_answers_is_waited_for_as_ever),
    cmocka_unit_test(a_device_that_does_not_answer_is_given_up_in_time),
    cmocka_unit_test(a_timeout_that_is_none_is_refused),
  };
  return cmocka_run_group_tests(tests, make_copies_folder, remove_copies_folder);
}
