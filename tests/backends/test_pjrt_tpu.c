/* test_pjrt_tpu.c: compiling for TPU slices that are not there, with the real compiler in libtpu.
 * The devices and limits of the slices are those of ../shared/design/pjrt.md, section 4. */
#include <time.h>

#include "backends/pjrt_testing.h"
#include "formats/wire.h"

static const char libtpu[] = "build/pjrt/libtpu.so";

/* The plugin for compiling; NULL where it is not here. */
static ath_pjrt_plugin *load(void) {
  ath_pjrt_plugin *plugin;
  if (!have_plugin(libtpu)) return NULL;
  assert_ok(ath_pjrt_plugin_load(libtpu, true, &plugin));
  return plugin;
}

static const ath_pjrt_option megacore = {.name = "chip_config_name", .kind = ATH_PJRT_STRING,
                                         .string = "megacore"};

static void slices_have_the_devices_of_their_generation(void **state) {
  (void)state;
  static const struct {
    const char *name, *kind;
    int options, devices;
    double limit;
  } slices[] = {
    {"v4:2x2x1", "TPU v4", 0, 8, 32.7e9},      {"v4:2x2x1", "TPU v4", 1, 4, 33.0e9},
    {"v5e:2x4", "TPU v5 lite", 0, 8, 16.9e9},  {"v5p:2x2x1", "TPU v5", 0, 4, 102.8e9},
    {"v6e:2x4", "TPU v6 lite", 0, 8, 33.5e9},  {"v5p:8x8x8", "TPU v5", 0, 512, 102.8e9},
  };
  ath_pjrt_plugin *plugin = load();
  if (plugin == NULL) return;
  for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
    ath_pjrt_topology *topology;
    assert_ok(ath_pjrt_topology_create(plugin, slices[i].name, &megacore,
                                       (size_t)slices[i].options, &topology));
    assert_int_equal(ath_pjrt_topology_device_count(topology), slices[i].devices);
    assert_string_equal(ath_pjrt_topology_device_kind(topology), slices[i].kind);
    assert_near((double)ath_pjrt_topology_memory_limit(topology), slices[i].limit, 0, 0.003);
    ath_pjrt_topology_destroy(topology);
  }
}

static void a_slice_that_does_not_exist_is_refused_by_name(void **state) {
  (void)state;
  static const char *const names[] = {"v9:1x1", "v5e-8", "v4:3x3x3", "v5litepod:2x4", ""};
  ath_pjrt_option wrong = {.name = "no_such_option", .kind = ATH_PJRT_INTEGER, .integer = 1};
  ath_pjrt_plugin *plugin = load();
  if (plugin == NULL) return;
  ath_pjrt_topology *topology;
  for (int i = 0; i < 4; i++) {
    assert_true(ath_pjrt_topology_create(plugin, names[i], NULL, 0, &topology) != ATH_OK);
    assert_null(topology);
    assert_non_null(strstr(ath_error_text(), names[i]));
  }
  assert_fails(ath_pjrt_topology_create(plugin, "v5e:2x4", &wrong, 1, &topology), ATH_INVALID,
               "no_such_option");
}

static void a_program_compiled_ahead_tells_memory_and_cycles_but_does_not_run(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%x: tensor<1024x1024xbf16>) -> tensor<1024x1024xf32> {\n"
      "  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]\n"
      "      : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>\n"
      "  return %0 : tensor<1024x1024xf32>\n}\n";
  ath_pjrt_plugin *plugin = load();
  if (plugin == NULL) return;
  ath_pjrt_topology *topology;
  ath_pjrt_executable *program;
  ath_pjrt_compile_options one = {.partitions = 1}, many = {.partitions = 9};
  assert_ok(ath_pjrt_topology_create(plugin, "v5e:2x4", NULL, 0, &topology));
  assert_ok(ath_pjrt_topology_compile(topology, text, strlen(text), &one, &program));
  ath_pjrt_memory memory;
  assert_ok(ath_pjrt_executable_memory(program, &memory));
  assert_true(memory.arguments == 2 << 20 && memory.results == 4 << 20);
  assert_true(memory.code > 0);
  ath_buffer hlo = ath_buffer_make(1 << 24);
  assert_ok(ath_pjrt_executable_program(program, &hlo));
  assert_non_null(memmem(hlo.bytes, hlo.length, "estimated_cycles", 16));
  assert_fails(ath_pjrt_execute(program, NULL, 0, NULL), ATH_UNSUPPORTED, "ahead of time");
  ath_buffer_free(&hlo);
  ath_pjrt_executable_destroy(program);
  assert_fails(ath_pjrt_topology_compile(topology, text, strlen(text), &many, &program),
               ATH_INVALID, "the topology has 8");
  ath_pjrt_topology_destroy(topology);
}

/* An argument of 8 GB and a result of 16, on a chip of 16. */
static void a_program_that_does_not_fit_the_chip_is_no_memory(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%x: tensor<65536x65536xbf16>) -> tensor<65536x65536xf32> {\n"
      "  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]\n"
      "      : (tensor<65536x65536xbf16>, tensor<65536x65536xbf16>) -> tensor<65536x65536xf32>\n"
      "  return %0 : tensor<65536x65536xf32>\n}\n";
  ath_pjrt_plugin *plugin = load();
  if (plugin == NULL) return;
  ath_pjrt_topology *topology;
  ath_pjrt_executable *program;
  ath_pjrt_compile_options one = {.partitions = 1};
  assert_ok(ath_pjrt_topology_create(plugin, "v5e:2x4", NULL, 0, &topology));
  assert_fails(ath_pjrt_topology_compile(topology, text, strlen(text), &one, &program),
               ATH_NO_MEMORY, "exceeds available HBM");
  assert_null(program);
  ath_pjrt_topology_destroy(topology);
}

/* XSpace: field 1 is a plane, XPlane: field 2 its name (tsl/profiler/protobuf/xplane.proto). */
static void a_profile_is_a_message_with_planes(void **state) {
  (void)state;
  ath_pjrt_plugin *plugin = load();
  if (plugin == NULL) return;
  ath_pjrt_profile *profile;
  ath_pjrt_topology *topology;
  assert_ok(ath_pjrt_profile_start(plugin, &profile));
  assert_ok(ath_pjrt_topology_create(plugin, "v5e:2x4", NULL, 0, &topology));
  ath_pjrt_topology_destroy(topology);
  ath_buffer out = ath_buffer_make(1 << 26);
  assert_ok(ath_pjrt_profile_stop(profile, &out));
  ath_wire space = ath_wire_make(out.bytes, out.length);
  int planes = 0, named = 0;
  while (space.at < space.end) {
    ath_wire_field field;
    assert_ok(ath_wire_next(&space, &field));
    if (field.number != 1) continue;
    planes++;
    while (field.inside.at < field.inside.end) {
      ath_wire_field inner;
      assert_ok(ath_wire_next(&field.inside, &inner));
      named += inner.number == 2 && ath_wire_left(&inner.inside) > 0 && *inner.inside.at == '/';
    }
  }
  assert_true(planes >= 1);
  assert_int_equal(named, planes); /* "/host:CPU", "/device:…" */
  ath_buffer_free(&out);
}

static void one_process_does_not_both_compile_ahead_and_use_the_tpu(void **state) {
  (void)state;
  if (load() == NULL) return;
  ath_pjrt_plugin *plugin;
  assert_fails(ath_pjrt_plugin_load(libtpu, false, &plugin), ATH_UNSUPPORTED, "cannot both");
}

/* libtpu itself would take minutes to say so. */
static void a_machine_without_a_tpu_says_so_at_once(void **state) {
  (void)state;
  if (access("/dev/accel0", F_OK) == 0 || access("/dev/vfio/0", F_OK) == 0) skip();
  struct timespec before, after;
  ath_pjrt_plugin *plugin;
  clock_gettime(CLOCK_MONOTONIC, &before);
  assert_fails(ath_pjrt_plugin_load("tpu", false, &plugin), ATH_UNSUPPORTED, "/dev/accel0");
  clock_gettime(CLOCK_MONOTONIC, &after);
  assert_true(after.tv_sec - before.tv_sec < 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(slices_have_the_devices_of_their_generation),
    cmocka_unit_test(a_slice_that_does_not_exist_is_refused_by_name),
    cmocka_unit_test(a_program_compiled_ahead_tells_memory_and_cycles_but_does_not_run),
    cmocka_unit_test(a_program_that_does_not_fit_the_chip_is_no_memory),
    cmocka_unit_test(a_profile_is_a_message_with_planes),
    cmocka_unit_test(one_process_does_not_both_compile_ahead_and_use_the_tpu),
    cmocka_unit_test(a_machine_without_a_tpu_says_so_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
