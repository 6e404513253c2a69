/* test_pjrt_rules.c: what the client does when a plugin is smaller, newer, foreign, incomplete, or
 * fails; by a plugin made for it (fake_plugin.c). */
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

#include "backends/pjrt/key.h"
#include "backends/pjrt/places.h"
#include "backends/pjrt/tpu.h"
#include "backends/fake_testing.h"
#include "storage/file.h"

static const float values[4] = {1, 2, 3, 4};

/* Everything that the client can do, until the first failure; what was made is released. */
static ath_status use_client(ath_pjrt_client *client) {
  ath_pjrt_compile_options options = {.partitions = 1};
  ath_type type = ath_type_make(ATH_F32, 2, 2, 2);
  ath_pjrt_executable *program = NULL;
  ath_pjrt_buffer *argument = NULL, *result = NULL;
  ath_buffer bytes = ath_buffer_make(100);
  ath_pjrt_memory memory;
  float back[4];
  ath_status status = ATH_OK;
  ATH_TRY_GOTO(ath_pjrt_compile(client, "text", 4, &options, &program), done);
  ATH_TRY_GOTO(ath_pjrt_buffer_create(client, 0, &type, values, &argument), done);
  ATH_TRY_GOTO(ath_pjrt_execute(program, &argument, 1, &result), done);
  ATH_TRY_GOTO(ath_pjrt_buffer_wait(result), done);
  ATH_TRY_GOTO(ath_pjrt_buffer_read(result, back, sizeof back), done);
  assert_memory_equal(back, values, sizeof back);
  ATH_TRY_GOTO(ath_pjrt_executable_serialize(program, &bytes), done);
  ATH_TRY_GOTO(ath_pjrt_executable_program(program, &bytes), done);
  assert_string_equal(bytes.bytes, "bytesprogram");
  ATH_TRY_GOTO(ath_pjrt_executable_memory(program, &memory), done);
done:
  ath_pjrt_buffer_destroy(argument);
  ath_pjrt_buffer_destroy(result);
  ath_pjrt_executable_destroy(program);
  ath_buffer_free(&bytes);
  return status;
}

static ath_status use_topology(ath_pjrt_plugin *plugin) {
  ath_pjrt_compile_options options = {.partitions = 1};
  ath_pjrt_topology *topology;
  ath_pjrt_executable *program = NULL;
  ATH_TRY(ath_pjrt_topology_create(plugin, "fake:1x1", NULL, 0, &topology));
  ath_status status = ath_pjrt_topology_compile(topology, "text", 4, &options, &program);
  ath_pjrt_executable_destroy(program);
  ath_pjrt_topology_destroy(topology);
  return status;
}

static ath_status use(ath_pjrt_plugin *plugin) {
  ath_pjrt_client *client;
  ATH_TRY(ath_pjrt_client_create(plugin, NULL, 0, &client));
  ath_status status = use_client(client);
  ath_pjrt_client_destroy(client);
  ATH_TRY(status);
  return use_topology(plugin);
}

/* --- versions and sizes ------------------------------------------------------------------- */

static void everything_is_released_and_no_rule_is_broken(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("");
  assert_ok(use(plugin));
  assert_clean(plugin);
  assert_int_equal(number(plugin, "fake_initialize_count"), 1);
  ath_pjrt_profile *profile;
  assert_fails(ath_pjrt_profile_start(plugin, &profile), ATH_UNSUPPORTED, "has no profiler");
  assert_null(profile);
}

/* --- profiles ------------------------------------------------------------------------------- */

static ath_status record(ath_pjrt_plugin *plugin, const char *behaviour, ath_buffer *out) {
  ath_pjrt_profile *profile = NULL;
  assert_int_equal(setenv("FAKE_PROFILER", behaviour, 1), 0);
  ath_status status = ath_pjrt_profile_start(plugin, &profile);
  assert_true((status == ATH_OK) == (profile != NULL));
  if (status == ATH_OK) status = ath_pjrt_profile_stop(profile, out);
  assert_int_equal(number(plugin, "fake_profiler_live_count"), 0);
  return status;
}

static void a_profile_is_handed_over_either_way_without_its_nul(void **state) {
  (void)state;
  static const char *const ways[] = {"", "own", "liar", "fail:destroy"};
  ath_pjrt_plugin *plugin = load("profiler");
  assert_true(ath_pjrt_profile_is_there(plugin));
  for (size_t i = 0; i < 4; i++) {
    ath_buffer out = ath_buffer_make(100);
    assert_ok(ath_buffer_string(&out, "before, "));
    assert_ok(record(plugin, ways[i], &out));
    assert_int_equal(out.length, strlen("before, what was recorded"));
    assert_memory_equal(out.bytes, "before, what was recorded", out.length);
    ath_buffer_free(&out);
  }
}

static void an_empty_profile_is_no_failure(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("profiler");
  ath_buffer out = ath_buffer_make(100);
  assert_ok(record(plugin, "empty", &out));
  assert_ok(record(plugin, "empty own", &out));
  assert_int_equal(out.length, 0);
  ath_buffer_free(&out);
}

static void every_failure_of_a_profiler_is_told_in_its_words(void **state) {
  (void)state;
  static const char *const steps[] = {"create", "start", "stop", "collect", "fill"};
  ath_pjrt_plugin *plugin = load("profiler");
  for (size_t i = 0; i < 5; i++) {
    char behaviour[32], part[32];
    ath_buffer out = ath_buffer_make(100);
    snprintf(behaviour, sizeof behaviour, "fail:%s", steps[i]);
    snprintf(part, sizeof part, "no %s today", steps[i]);
    assert_fails(record(plugin, behaviour, &out), ATH_INTERNAL, part);
    ath_buffer_free(&out);
  }
  ath_buffer small = ath_buffer_make(4);
  assert_fails(record(plugin, "", &small), ATH_NO_MEMORY, "");
  ath_buffer_free(&small);
}

static void an_abandoned_profile_leaves_nothing(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("profiler");
  ath_pjrt_profile *profile;
  setenv("FAKE_PROFILER", "fail:stop", 1);
  assert_ok(ath_pjrt_profile_start(plugin, &profile));
  ath_pjrt_profile_abandon(profile);
  ath_pjrt_profile_abandon(NULL);
  assert_int_equal(number(plugin, "fake_profiler_live_count"), 0);
}

static void a_smaller_table_is_used_as_far_as_it_goes(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("small");
  ath_pjrt_client *client;
  assert_ok(ath_pjrt_client_create(plugin, NULL, 0, &client));
  assert_ok(use_client(client));
  /* What it does not have is not called; memory figures are optional, and absent. */
  ath_pjrt_compile_options options = {.partitions = 1};
  ath_pjrt_executable *program;
  ath_pjrt_memory memory;
  assert_ok(ath_pjrt_compile(client, "text", 4, &options, &program));
  assert_ok(ath_pjrt_executable_memory(program, &memory));
  assert_int_equal(memory.arguments, -1);
  assert_int_equal(memory.peak, -1);
  ath_pjrt_executable_destroy(program);
  ath_pjrt_client_destroy(client);
  assert_clean(plugin);
}

static void a_newer_minor_version_with_more_functions_is_used(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("minor");
  int major, minor;
  ath_pjrt_plugin_version(plugin, &major, &minor);
  assert_int_equal(minor, 9999);
  assert_ok(use(plugin));
  assert_clean(plugin);
}

static void another_major_version_is_refused(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin;
  assert_fails(ath_pjrt_plugin_load(fake("major"), false, &plugin), ATH_UNSUPPORTED,
               "its PJRT API is 1.");
  assert_null(plugin);
}

static void a_table_that_is_none_is_refused(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin;
  assert_fails(ath_pjrt_plugin_load(fake("nothing"), false, &plugin), ATH_INVALID,
               "GetPjrtApi gives nothing");
  assert_fails(ath_pjrt_plugin_load(fake("tiny"), false, &plugin), ATH_INVALID, "no PJRT API");
}

static void named_values_are_walked_by_their_own_size(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("");
  assert_string_equal(ath_pjrt_plugin_attribute(plugin, "xla_version"), "42");
  assert_string_equal(ath_pjrt_plugin_attribute(plugin, "stablehlo_current_version"), "9.8.7");
  ath_pjrt_topology *topology;
  assert_ok(ath_pjrt_topology_create(plugin, "fake:1x1", NULL, 0, &topology));
  assert_true(ath_pjrt_topology_memory_limit(topology) == 123456789012);
  assert_int_equal(ath_pjrt_topology_device_count(topology), 1);
  assert_string_equal(ath_pjrt_topology_device_kind(topology), "fake chip");
  ath_pjrt_topology_destroy(topology);
  assert_clean(plugin);
}

static void texts_end_where_the_plugin_says(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("");
  ath_pjrt_client *client;
  int64_t limit, used;
  assert_ok(ath_pjrt_client_create(plugin, NULL, 0, &client));
  assert_string_equal(ath_pjrt_client_platform(client), "fake");
  assert_string_equal(ath_pjrt_client_device_kind(client, 1), "fake chip");
  assert_ok(ath_pjrt_client_device_memory(client, 1, &limit, &used));
  assert_true(limit == 1000 && used == 3);
  ath_pjrt_client_destroy(client);
  assert_clean(plugin);
}

static void every_kind_of_option_reaches_the_plugin(void **state) {
  (void)state;
  static const int64_t bounds[3] = {2, 4, 1};
  const ath_pjrt_option options[] = {
    {.name = "chip_config_name", .kind = ATH_PJRT_STRING, .string = "megacore"},
    {.name = "i", .kind = ATH_PJRT_INTEGER, .integer = 7},
    {.name = "f", .kind = ATH_PJRT_FLOAT, .number = 0.5f},
    {.name = "b", .kind = ATH_PJRT_BOOL, .integer = 1},
    {.name = "list", .kind = ATH_PJRT_INTEGERS, .integers = bounds, .count = 3},
  };
  ath_pjrt_plugin *plugin = load("");
  ath_pjrt_topology *topology;
  assert_ok(ath_pjrt_topology_create(plugin, "fake:1x1", options, 5, &topology));
  const char *(*seen)(void);
  void *symbol = of_fake(ath_pjrt_plugin_path(plugin), "fake_seen_options");
  memcpy(&seen, &symbol, sizeof seen);
  assert_string_equal(seen(), "chip_config_name/0/8;i/1/1;f/3/1;b/4/1;list/2/3;");
  ath_pjrt_topology_destroy(topology);
  assert_clean(plugin);
}

/* --- functions that are missing or fail ---------------------------------------------------- */

static const char *const functions[] = {
  "Client_Create", "Client_PlatformName", "Client_AddressableDevices", "Client_Devices",
  "Device_GetDescription",
  "DeviceDescription_Kind", "DeviceDescription_Id", "Client_Compile",
  "LoadedExecutable_GetExecutable", "LoadedExecutable_AddressableDevices",
  "Executable_NumOutputs", "Executable_NumPartitions", "Client_BufferFromHostBuffer",
  "LoadedExecutable_Execute", "Buffer_ReadyEvent", "Buffer_ElementType", "Buffer_Dimensions",
  "Buffer_ToHostBuffer", "Executable_Serialize", "Executable_OptimizedProgram",
  "TopologyDescription_Create", "TopologyDescription_GetDeviceDescriptions", "Compile",
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void a_missing_function_is_named_and_nothing_leaks(void **state) {
  (void)state;
  for (int i = 0; i < FUNCTIONS; i++) {
    char behaviour[128], name[128];
    snprintf(behaviour, sizeof behaviour, "null:%s", functions[i]);
    snprintf(name, sizeof name, "the plugin has no PJRT_%s", functions[i]);
    ath_pjrt_plugin *plugin = load(behaviour);
    assert_fails(use(plugin), ATH_UNSUPPORTED, name);
    assert_clean(plugin);
  }
}

static void a_failing_function_gives_the_plugins_text_and_nothing_leaks(void **state) {
  (void)state;
  for (int i = 0; i < FUNCTIONS; i++) {
    char behaviour[128], text[256];
    snprintf(behaviour, sizeof behaviour, "fail:%s", functions[i]);
    snprintf(text, sizeof text, "PJRT_%s: INTERNAL: the fake fails in %s", functions[i],
             functions[i]);
    ath_pjrt_plugin *plugin = load(behaviour);
    assert_fails(use(plugin), ATH_INTERNAL, text);
    assert_non_null(strstr(ath_error_text(), ath_pjrt_plugin_path(plugin)));
    assert_clean(plugin);
  }
}

static void functions_of_the_error_path_must_be_there(void **state) {
  (void)state;
  static const char *const needed[] = {"Error_Destroy", "Error_Message", "Error_GetCode",
                                       "Event_Await", "Event_Destroy"};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    char behaviour[128];
    snprintf(behaviour, sizeof behaviour, "null:%s", needed[i]);
    ath_pjrt_plugin *plugin;
    assert_fails(ath_pjrt_plugin_load(fake(behaviour), false, &plugin), ATH_UNSUPPORTED,
                 needed[i]);
  }
}

static void a_plugin_without_initialisation_or_attributes_is_used(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("null:Plugin_Initialize null:Plugin_Attributes");
  assert_null(ath_pjrt_plugin_attribute(plugin, "xla_version"));
  assert_ok(use(plugin));
  assert_clean(plugin);
}

static void a_failing_initialisation_fails_the_load(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin;
  assert_fails(ath_pjrt_plugin_load(fake("fail:Plugin_Initialize"), false, &plugin), ATH_INTERNAL,
               "PJRT_Plugin_Initialize");
  assert_null(plugin);
}

/* One initialisation a process is allowed, also where it fails. */
static void a_failed_initialisation_is_not_tried_again(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin;
  const char *path = fake("fail:Plugin_Initialize");
  for (int i = 0; i < 3; i++) {
    assert_fails(ath_pjrt_plugin_load(path, false, &plugin), ATH_INTERNAL,
                 "PJRT_Plugin_Initialize");
    assert_null(plugin);
  }
  assert_int_equal(number_at(path, "fake_fail_count"), 1);
}

static void a_failing_release_does_not_hide_the_first_failure(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("fail:Client_PlatformName fail:Client_Destroy");
  ath_pjrt_client *client;
  assert_fails(ath_pjrt_client_create(plugin, NULL, 0, &client), ATH_INTERNAL,
               "PJRT_Client_PlatformName");
  assert_null(client);
  assert_clean(plugin); /* the second error was released, too */
}

static void a_run_that_fails_later_says_so_when_its_result_is_awaited(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("late");
  assert_fails(use(plugin), ATH_INTERNAL, "waiting for a result: INTERNAL: the fake fails");
  assert_clean(plugin);
}

/* The codes of absl::Status, and what they are here. */
static void every_code_has_its_status(void **state) {
  (void)state;
  static const struct { int code; ath_status status; } codes[] = {
    {1, ATH_IO}, {2, ATH_INTERNAL}, {3, ATH_INVALID}, {4, ATH_IO}, {5, ATH_NOT_FOUND},
    {7, ATH_DENIED}, {8, ATH_NO_MEMORY}, {9, ATH_UNSUPPORTED}, {11, ATH_INVALID},
    {12, ATH_UNSUPPORTED}, {13, ATH_INTERNAL}, {14, ATH_IO}, {15, ATH_CORRUPT}, {99, ATH_INTERNAL},
  };
  ath_pjrt_plugin *plugin = load("fail:Client_Create");
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    char code[8];
    snprintf(code, sizeof code, "%d", codes[i].code);
    setenv("FAKE_PJRT_CODE", code, 1);
    ath_pjrt_client *client;
    assert_fails(ath_pjrt_client_create(plugin, NULL, 0, &client), codes[i].status, "the fake");
  }
  unsetenv("FAKE_PJRT_CODE");
  assert_clean(plugin);
}

/* --- files -------------------------------------------------------------------------------- */

static void what_is_no_plugin_is_refused(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin;
  assert_fails(ath_pjrt_plugin_load("tpuu", false, &plugin), ATH_UNSUPPORTED, "no device \"tpuu\"");
  assert_fails(ath_pjrt_plugin_load("/nowhere/x.so", false, &plugin), ATH_NOT_FOUND,
               "/nowhere/x.so");
  assert_ok(ath_file_write(in_folder(folder, "text.so"), "hello", 5));
  assert_fails(ath_pjrt_plugin_load(in_folder(folder, "text.so"), false, &plugin), ATH_INVALID,
               "not a shared library");
  assert_fails(ath_pjrt_plugin_load("libm.so.6.so", false, &plugin), ATH_NOT_FOUND, "libm.so.6");
}

/* The first `size` bytes of the fake, with another byte at `at`. */
static const char *altered(size_t size, size_t at, char byte) {
  ath_buffer bytes = ath_buffer_make(1 << 24);
  const char *path = fake("");
  assert_ok(ath_file_read(path, &bytes));
  assert_true(size <= bytes.length && at < bytes.length);
  bytes.bytes[at] = byte;
  assert_ok(ath_file_write(path, bytes.bytes, size > 0 ? size : bytes.length));
  ath_buffer_free(&bytes);
  return path;
}

/* The loader would map what is not there, and the process end with SIGBUS. */
static void a_plugin_cut_short_anywhere_is_told_and_not_loaded(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin;
  uint64_t size;
  assert_ok(ath_file_size(fake(""), &size));
  for (uint64_t length = 5; length < size; length += length < 1024 ? 61 : 4097) {
    const char *path = altered(length, 0, 0x7f);
    assert_fails(ath_pjrt_plugin_load(path, false, &plugin), ATH_CORRUPT, "cut short");
    assert_non_null(strstr(ath_error_text(), path));
    assert_non_null(strstr(ath_error_text(), "athanor plugins install"));
    remove(path);
  }
  assert_fails(ath_pjrt_plugin_load(altered(size - 1, 0, 0x7f), false, &plugin), ATH_CORRUPT,
               "cut short");
}

/* Bytes 4 and 18 of an ELF file are its class and its machine (elf(5)): 32 bits, SPARC. */
static void a_plugin_for_another_machine_is_told(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin;
  assert_fails(ath_pjrt_plugin_load(altered(0, 4, 1), false, &plugin), ATH_UNSUPPORTED,
               "another kind of machine");
  assert_fails(ath_pjrt_plugin_load(altered(0, 18, 2), false, &plugin), ATH_UNSUPPORTED,
               "another kind of machine");
}

/* libm has no GetPjrtApi. */
static void a_library_that_is_no_plugin_is_told(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin;
  Dl_info about;
  double (*function)(double) = exp;
  void *address;
  memcpy(&address, &function, sizeof address);
  assert_true(dladdr(address, &about) != 0);
  assert_int_equal(symlink(about.dli_fname, in_folder(folder, "none.so")), 0);
  assert_fails(ath_pjrt_plugin_load(in_folder(folder, "none.so"), false, &plugin), ATH_INVALID,
               "no function GetPjrtApi");
}

static void a_plugin_for_another_device_is_told(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin;
  ath_pjrt_client *client;
  setenv("ATHANOR_PJRT_CUDA", fake("cpu"), 1);
  assert_ok(ath_pjrt_plugin_load("cuda", false, &plugin));
  assert_fails(ath_pjrt_client_create(plugin, NULL, 0, &client), ATH_MISMATCH,
               "a plugin for the device xla:cpu, not for cuda");
  assert_non_null(strstr(ath_error_text(), "ATHANOR_PJRT_CUDA"));
  assert_clean(plugin);
  /* By its path it is a device of its own. */
  assert_ok(ath_pjrt_plugin_load(getenv("ATHANOR_PJRT_CUDA"), false, &plugin));
  assert_ok(ath_pjrt_client_create(plugin, NULL, 0, &client));
  ath_pjrt_client_destroy(client);
  unsetenv("ATHANOR_PJRT_CUDA");
}

static char *key_material(const ath_pjrt_plugin *plugin) {
  ath_buffer material = ath_buffer_make(1 << 16);
  assert_ok(ath_key_add_plugin(plugin, &material));
  return material.bytes;
}

/* The time of a file says that it was replaced; so does its size. */
static void a_replaced_plugin_or_other_flags_are_another_key(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load("");
  unsetenv("XLA_FLAGS");
  char *first = key_material(plugin), *same = key_material(plugin);
  assert_string_equal(first, same);
  setenv("XLA_FLAGS", "--xla_some_flag", 1);
  char *flags = key_material(plugin);
  unsetenv("XLA_FLAGS");
  const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
  assert_int_equal(utimensat(AT_FDCWD, ath_pjrt_plugin_path(plugin), times, 0), 0);
  char *replaced = key_material(plugin);
  assert_string_not_equal(first, flags);
  assert_string_not_equal(first, replaced);
  assert_non_null(strstr(first, ath_pjrt_plugin_path(plugin)));
  char *all[] = {first, same, flags, replaced};
  for (int i = 0; i < 4; i++) free(all[i]);
}

static void places_are_searched_in_their_order(void **state) {
  (void)state;
  const ath_pjrt_kind *kind = ath_pjrt_kind_find("xla:cpu");
  char found[ATH_PATH_MAX], wanted[ATH_PATH_MAX];
  setenv("XDG_DATA_HOME", folder, 1);
  setenv("HOME", in_folder(folder, "home"), 1);
  unsetenv("VIRTUAL_ENV");
  unsetenv("ATHANOR_PJRT_CPU");
  /* Nothing anywhere, unless this machine has one of the wheels: the text tells where. */
  if (ath_pjrt_find(kind, found) != ATH_OK) {
    assert_fails(ath_pjrt_find(kind, found), ATH_NOT_FOUND, "athanor plugins install cpu");
    assert_non_null(strstr(ath_error_text(), "ATHANOR_PJRT_CPU"));
    assert_non_null(strstr(ath_error_text(), folder));
  }
  setenv("VIRTUAL_ENV", in_folder(folder, "venv"), 1);
  snprintf(wanted, sizeof wanted,
           "%s/venv/lib/python3.99/site-packages/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
           folder);
  char *slash = strrchr(wanted, '/');
  *slash = '\0';
  assert_ok(ath_folder_create(wanted));
  *slash = '/';
  assert_ok(ath_file_write(wanted, "x", 1));
  assert_ok(ath_pjrt_find(kind, found));
  assert_string_equal(found, wanted);
  assert_ok(ath_pjrt_folder_file(kind, wanted));
  assert_ok(ath_folder_create(in_folder(folder, "athanor/plugins/cpu")));
  assert_ok(ath_file_write(wanted, "x", 1));
  assert_ok(ath_pjrt_find(kind, found));
  assert_string_equal(found, wanted);
  setenv("ATHANOR_PJRT_CPU", ATHANOR_FAKE_PLUGIN, 1);
  assert_ok(ath_pjrt_find(kind, found));
  assert_string_equal(found, ATHANOR_FAKE_PLUGIN);
  setenv("ATHANOR_PJRT_CPU", "/nowhere.so", 1);
  assert_fails(ath_pjrt_find(kind, found), ATH_NOT_FOUND, "/nowhere.so");
  unsetenv("ATHANOR_PJRT_CPU");
}

/* --- the TPU's environment ---------------------------------------------------------------- */

static const char *const slice_variables[] = {
  "TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES", "TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS",
  "TPU_CHIPS_PER_PROCESS_BOUNDS", "TPU_CHIPS_PER_HOST_BOUNDS", "TPU_PROCESS_ADDRESSES",
  "TPU_SKIP_MDS_QUERY",
};

static ath_status prepare_with(const char *name, const char *value, const char *name2,
                               const char *value2) {
  for (size_t i = 0; i < sizeof slice_variables / sizeof *slice_variables; i++)
    unsetenv(slice_variables[i]);
  if (name != NULL) setenv(name, value, 1);
  if (name2 != NULL) setenv(name2, value2, 1);
  return ath_tpu_prepare(in_folder(folder, "tpu"));
}

static void a_machine_without_a_tpu_is_told_what_was_looked_for(void **state) {
  (void)state;
  assert_fails(ath_tpu_prepare(in_folder(folder, "empty")), ATH_UNSUPPORTED, "/dev/accel0");
}

static void a_slice_that_does_not_fit_together_is_refused(void **state) {
  (void)state;
  assert_ok(ath_folder_create(in_folder(folder, "tpu/dev/vfio")));
  assert_ok(ath_file_write(in_folder(folder, "tpu/dev/vfio/vfio"), "", 0));
  assert_fails(prepare_with(NULL, NULL, NULL, NULL), ATH_UNSUPPORTED, "no TPU");
  assert_ok(ath_file_write(in_folder(folder, "tpu/dev/vfio/0"), "", 0));
  assert_ok(prepare_with(NULL, NULL, NULL, NULL));
  assert_string_equal(getenv("TPU_SKIP_MDS_QUERY"), "1"); /* no Google machine: no metadata */
  const char *hosts = "TPU_WORKER_HOSTNAMES", *id = "TPU_WORKER_ID";
  assert_ok(prepare_with(hosts, "a,b", id, "1"));
  assert_fails(prepare_with(hosts, "a,b", id, "2"), ATH_INVALID, "TPU_WORKER_ID=2");
  assert_fails(prepare_with(hosts, "a,b", id, "one"), ATH_INVALID, "TPU_WORKER_ID=one");
  assert_fails(prepare_with(hosts, "a,b", NULL, NULL), ATH_INVALID, "0 to 1");
  assert_ok(prepare_with(hosts, "a", NULL, NULL));
  assert_fails(prepare_with(hosts, "a:8470", id, "0"), ATH_INVALID, "without ports");
  assert_fails(prepare_with("TPU_PROCESS_BOUNDS", "1,1,2", hosts, "a"), ATH_MISMATCH,
               "makes 2 hosts");
  assert_fails(prepare_with("TPU_PROCESS_BOUNDS", "1,2", NULL, NULL), ATH_INVALID, "2,2,1");
  assert_fails(prepare_with("TPU_CHIPS_PER_PROCESS_BOUNDS", "2,2,0", NULL, NULL), ATH_INVALID,
               "TPU_CHIPS_PER_PROCESS_BOUNDS=2,2,0");
  assert_ok(prepare_with("TPU_CHIPS_PER_PROCESS_BOUNDS", "2,2,1", NULL, NULL));
}

static void a_google_machine_keeps_its_metadata_server(void **state) {
  (void)state;
  assert_ok(ath_folder_create(in_folder(folder, "tpu/sys/devices/virtual/dmi/id")));
  assert_ok(ath_file_write(in_folder(folder, "tpu/sys/devices/virtual/dmi/id/product_name"),
                           "Google Compute Engine\n", 22));
  assert_ok(ath_folder_create(in_folder(folder, "tpu/dev")));
  assert_ok(ath_file_write(in_folder(folder, "tpu/dev/accel0"), "", 0));
  assert_ok(prepare_with(NULL, NULL, NULL, NULL));
  assert_null(getenv("TPU_SKIP_MDS_QUERY"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(everything_is_released_and_no_rule_is_broken),
    cmocka_unit_test(a_profile_is_handed_over_either_way_without_its_nul),
    cmocka_unit_test(an_empty_profile_is_no_failure),
    cmocka_unit_test(every_failure_of_a_profiler_is_told_in_its_words),
    cmocka_unit_test(an_abandoned_profile_leaves_nothing),
    cmocka_unit_test(a_smaller_table_is_used_as_far_as_it_goes),
    cmocka_unit_test(a_newer_minor_version_with_more_functions_is_used),
    cmocka_unit_test(another_major_version_is_refused),
    cmocka_unit_test(a_table_that_is_none_is_refused),
    cmocka_unit_test(named_values_are_walked_by_their_own_size),
    cmocka_unit_test(texts_end_where_the_plugin_says),
    cmocka_unit_test(every_kind_of_option_reaches_the_plugin),
    cmocka_unit_test(a_missing_function_is_named_and_nothing_leaks),
    cmocka_unit_test(a_failing_function_gives_the_plugins_text_and_nothing_leaks),
    cmocka_unit_test(functions_of_the_error_path_must_be_there),
    cmocka_unit_test(a_plugin_without_initialisation_or_attributes_is_used),
    cmocka_unit_test(a_failing_initialisation_fails_the_load),
    cmocka_unit_test(a_failed_initialisation_is_not_tried_again),
    cmocka_unit_test(a_failing_release_does_not_hide_the_first_failure),
    cmocka_unit_test(a_run_that_fails_later_says_so_when_its_result_is_awaited),
    cmocka_unit_test(every_code_has_its_status),
    cmocka_unit_test(what_is_no_plugin_is_refused),
    cmocka_unit_test(a_plugin_cut_short_anywhere_is_told_and_not_loaded),
    cmocka_unit_test(a_plugin_for_another_machine_is_told),
    cmocka_unit_test(a_library_that_is_no_plugin_is_told),
    cmocka_unit_test(a_plugin_for_another_device_is_told),
    cmocka_unit_test(a_replaced_plugin_or_other_flags_are_another_key),
    cmocka_unit_test(places_are_searched_in_their_order),
    cmocka_unit_test(a_machine_without_a_tpu_is_told_what_was_looked_for),
    cmocka_unit_test(a_slice_that_does_not_fit_together_is_refused),
    cmocka_unit_test(a_google_machine_keeps_its_metadata_server),
  };
  return cmocka_run_group_tests(tests, make_copies_folder, remove_copies_folder);
}
