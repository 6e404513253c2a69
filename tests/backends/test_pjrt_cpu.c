/* test_pjrt_cpu.c: the client of PJRT on real plugins, all three that run on the CPU. */
#include "backends/pjrt_testing.h"

/* x + w, and the sum of x along each row. */
static const char program_text[] =
    "func.func @main(%x: tensor<2x3xf32>, %w: tensor<2x3xf32>)\n"
    "    -> (tensor<2x3xf32>, tensor<2xf32>) {\n"
    "  %0 = stablehlo.add %x, %w : tensor<2x3xf32>\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]\n"
    "      : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n"
    "  return %0, %1 : tensor<2x3xf32>, tensor<2xf32>\n"
    "}\n";
static const float x[6] = {1, 2, 3, 4, 5, 6}, w[6] = {10, 20, 30, 40, 50, 60};

static void run_program(ath_pjrt_client *client, ath_pjrt_executable *program) {
  ath_type type = ath_type_make(ATH_F32, 2, 2, 3);
  ath_pjrt_buffer *arguments[2] = {put(client, 0, type, x), put(client, 0, type, w)};
  ath_pjrt_buffer *results[2] = {NULL, NULL};
  assert_int_equal(ath_pjrt_executable_result_count(program), 2);
  assert_ok(ath_pjrt_execute(program, arguments, 2, results));
  float sum[6], rows[2];
  assert_ok(ath_pjrt_buffer_wait(results[0]));
  assert_ok(ath_pjrt_buffer_read(results[0], sum, sizeof sum));
  assert_ok(ath_pjrt_buffer_read(results[1], rows, sizeof rows));
  for (int i = 0; i < 6; i++) assert_true(sum[i] == x[i] + w[i]);
  assert_true(rows[0] == 6 && rows[1] == 15);
  for (int i = 0; i < 2; i++) {
    ath_pjrt_buffer_destroy(arguments[i]);
    ath_pjrt_buffer_destroy(results[i]);
  }
}

/* --- what a plugin says of itself --------------------------------------------------------- */

static void a_plugin_tells_its_version_and_attributes(void **state) {
  (void)state;
  static const int minors[CPU_PLUGINS] = {81, 106, 115};
  static const char *const stablehlo[CPU_PLUGINS] = {"1.13.3", "1.16.1", "1.20.0"};
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_plugin *plugin, *again;
    int major, minor;
    assert_ok(ath_pjrt_plugin_load(cpu_plugins[i], false, &plugin));
    ath_pjrt_plugin_version(plugin, &major, &minor);
    assert_int_equal(major, 0);
    assert_int_equal(minor, minors[i]);
    assert_string_equal(ath_pjrt_plugin_attribute(plugin, "stablehlo_current_version"),
                        stablehlo[i]);
    assert_null(ath_pjrt_plugin_attribute(plugin, "no such attribute"));
    assert_string_equal(ath_pjrt_plugin_path(plugin), cpu_plugins[i]);
    assert_ok(ath_pjrt_plugin_load(cpu_plugins[i], false, &again));
    assert_ptr_equal(plugin, again);
  }
}

static void a_client_has_the_devices_asked_for(void **state) {
  (void)state;
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 3);
    int64_t limit, used;
    assert_string_equal(ath_pjrt_client_platform(client), "cpu");
    assert_string_equal(ath_pjrt_client_device_kind(client, 2), "cpu");
    assert_fails(ath_pjrt_client_device_memory(client, 0, &limit, &used), ATH_UNSUPPORTED,
                 "PJRT_Device_MemoryStats");
    ath_pjrt_client_destroy(client);
  }
}

/* --- transfers ---------------------------------------------------------------------------- */

static void round_trip(ath_pjrt_client *client, int device, ath_type type) {
  size_t bytes = ath_type_bytes(&type);
  unsigned char *data = malloc(bytes), *back = malloc(bytes);
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(i * 37 + 11);
  ath_pjrt_buffer *buffer = put(client, device, type, data);
  unsigned char first = data[0];
  data[0] ^= 0xFF; /* the host's memory may be reused at once */
  assert_ok(ath_pjrt_buffer_wait(buffer));
  assert_ok(ath_pjrt_buffer_read(buffer, back, bytes));
  data[0] = first;
  assert_memory_equal(data, back, bytes);
  assert_fails(ath_pjrt_buffer_read(buffer, back, bytes - 1), ATH_MISMATCH, "is read as");
  ath_pjrt_buffer_destroy(buffer);
  free(data);
  free(back);
}

static void every_type_comes_back_as_it_went(void **state) {
  (void)state;
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 2);
    for (int dtype = 0; dtype < ATH_DTYPE_COUNT; dtype++) {
      round_trip(client, 0, ath_type_make((ath_dtype)dtype, 0));
      round_trip(client, 1, ath_type_make((ath_dtype)dtype, 1, 1000));
      round_trip(client, 1, ath_type_make((ath_dtype)dtype, 5, 2, 3, 5, 7, 11));
    }
    ath_pjrt_client_destroy(client);
  }
}

/* The transpose's result has a layout of its own on some devices. */
static void a_result_is_read_in_row_major_order(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {\n"
      "  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
      "  return %0 : tensor<3x2xf32>\n}\n";
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 1);
    ath_pjrt_executable *program = compile(client, text, 1);
    ath_pjrt_buffer *argument = put(client, 0, ath_type_make(ATH_F32, 2, 2, 3), x), *result;
    assert_ok(ath_pjrt_execute(program, &argument, 1, &result));
    float back[6], wanted[6] = {1, 4, 2, 5, 3, 6};
    assert_ok(ath_pjrt_buffer_read(result, back, sizeof back));
    assert_memory_equal(back, wanted, sizeof back);
    ath_pjrt_buffer_destroy(argument);
    ath_pjrt_buffer_destroy(result);
    ath_pjrt_executable_destroy(program);
    ath_pjrt_client_destroy(client);
  }
}

/* --- programs ----------------------------------------------------------------------------- */

static void a_program_runs(void **state) {
  (void)state;
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 1);
    ath_pjrt_executable *program = compile(client, program_text, 1);
    run_program(client, program);
    run_program(client, program);
    ath_pjrt_executable_destroy(program);
    ath_pjrt_client_destroy(client);
  }
}

static void a_program_comes_back_from_its_bytes(void **state) {
  (void)state;
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 1);
    ath_pjrt_executable *program = compile(client, program_text, 1), *again;
    ath_buffer bytes = ath_buffer_make(1 << 24), small = ath_buffer_make(16);
    assert_fails(ath_pjrt_executable_serialize(program, &small), ATH_NO_MEMORY, "");
    assert_ok(ath_pjrt_executable_serialize(program, &bytes));
    ath_pjrt_executable_destroy(program);
    assert_ok(ath_pjrt_executable_load(client, bytes.bytes, bytes.length, &again));
    assert_int_equal(ath_pjrt_executable_partitions(again), 1);
    run_program(client, again);
    ath_pjrt_executable_destroy(again);
    /* Which code it is differs between the plugins. */
    assert_true(ath_pjrt_executable_load(client, "not a program", 13, &again) != ATH_OK);
    assert_non_null(strstr(ath_error_text(), "PJRT_Executable_DeserializeAndLoad"));
    assert_null(again);
    ath_buffer_free(&bytes);
    ath_buffer_free(&small);
    ath_pjrt_client_destroy(client);
  }
}

/* 48 bytes of arguments and 32 of results follow from the program's types. */
static void a_program_tells_its_memory_and_its_optimised_form(void **state) {
  (void)state;
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 1);
    ath_pjrt_executable *program = compile(client, program_text, 1);
    ath_pjrt_memory memory;
    assert_ok(ath_pjrt_executable_memory(program, &memory));
    assert_int_equal(memory.arguments, 48);
    assert_true(memory.results >= 32); /* a table of the results may be counted in */
    assert_int_equal(memory.aliased, 0);
    ath_buffer hlo = ath_buffer_make(1 << 24);
    assert_ok(ath_pjrt_executable_program(program, &hlo));
    assert_true(hlo.length > 32);
    assert_non_null(memmem(hlo.bytes, hlo.length, "main", 4));
    ath_buffer_free(&hlo);
    ath_pjrt_executable_destroy(program);
    ath_pjrt_client_destroy(client);
  }
}

static void a_donated_argument_is_used_up_but_still_destroyed(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%x: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}) -> tensor<2x3xf32> {\n"
      "  %0 = stablehlo.add %x, %x : tensor<2x3xf32>\n"
      "  return %0 : tensor<2x3xf32>\n}\n";
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 1);
    ath_pjrt_executable *program = compile(client, text, 1);
    ath_pjrt_buffer *state_buffer = put(client, 0, ath_type_make(ATH_F32, 2, 2, 3), x), *next;
    for (int step = 0; step < 3; step++) { /* issued one after another, nothing waited for */
      assert_ok(ath_pjrt_execute(program, &state_buffer, 1, &next));
      if (step == 0) {
        ath_pjrt_buffer *none;
        assert_fails(ath_pjrt_execute(program, &state_buffer, 1, &none), ATH_INVALID,
                     "PJRT_LoadedExecutable_Execute");
        assert_null(none);
      }
      ath_pjrt_buffer_destroy(state_buffer);
      state_buffer = next;
    }
    float back[6];
    assert_ok(ath_pjrt_buffer_read(state_buffer, back, sizeof back));
    for (int k = 0; k < 6; k++) assert_true(back[k] == 8 * x[k]);
    ath_pjrt_buffer_destroy(state_buffer);
    ath_pjrt_memory memory;
    assert_ok(ath_pjrt_executable_memory(program, &memory));
    assert_int_equal(memory.aliased, 24);
    ath_pjrt_executable_destroy(program);
    ath_pjrt_client_destroy(client);
  }
}

/* Each device's rows of x are added up, and the sums over the devices: partition i has row i. */
static void a_program_for_four_devices_puts_partition_i_on_device_i(void **state) {
  (void)state;
  static const char text[] =
      "module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "func.func public @main(%x: tensor<4x2xf32> {mhlo.sharding = \"{devices=[4,1]<=[4]}\"})\n"
      "    -> (tensor<4x2xf32> {mhlo.sharding = \"{devices=[4,1]<=[4]}\"},\n"
      "        tensor<2xf32> {mhlo.sharding = \"{replicated}\"}) {\n"
      "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %0 = stablehlo.add %x, %x : tensor<4x2xf32>\n"
      "  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]\n"
      "      : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>\n"
      "  return %0, %1 : tensor<4x2xf32>, tensor<2xf32>\n}\n}\n";
  static const float rows[4][2] = {{1, 2}, {10, 20}, {100, 200}, {1000, 2000}};
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 4);
    ath_pjrt_executable *program = compile(client, text, 4);
    assert_int_equal(ath_pjrt_executable_partitions(program), 4);
    ath_pjrt_buffer *arguments[4], *results[8];
    for (int d = 0; d < 4; d++)
      arguments[d] = put(client, d, ath_type_make(ATH_F32, 2, 1, 2), rows[d]);
    assert_ok(ath_pjrt_execute(program, arguments, 1, results));
    for (int d = 0; d < 4; d++) {
      float twice[2], sums[2];
      assert_ok(ath_pjrt_buffer_read(results[2 * d], twice, sizeof twice));
      assert_ok(ath_pjrt_buffer_read(results[2 * d + 1], sums, sizeof sums));
      assert_true(twice[0] == 2 * rows[d][0] && twice[1] == 2 * rows[d][1]);
      assert_true(sums[0] == 1111 && sums[1] == 2222);
    }
    for (int k = 0; k < 4; k++) ath_pjrt_buffer_destroy(arguments[k]);
    for (int k = 0; k < 8; k++) ath_pjrt_buffer_destroy(results[k]);
    ath_buffer bytes = ath_buffer_make(1 << 24);
    assert_ok(ath_pjrt_executable_serialize(program, &bytes));
    ath_pjrt_executable_destroy(program);
    assert_ok(ath_pjrt_executable_load(client, bytes.bytes, bytes.length, &program));
    assert_int_equal(ath_pjrt_executable_partitions(program), 4);
    ath_pjrt_executable_destroy(program);
    ath_pjrt_client_destroy(client);
    client = open_cpu(cpu_plugins[i], 2); /* its devices 2 and 3 are not there */
    assert_true(ath_pjrt_executable_load(client, bytes.bytes, bytes.length, &program) != ATH_OK);
    assert_null(program);
    ath_buffer_free(&bytes);
    ath_pjrt_client_destroy(client);
  }
}

/* --- errors ------------------------------------------------------------------------------- */

static void a_refused_program_says_where_and_why(void **state) {
  (void)state;
  static const char text[] = "func.func @main() {\n  %0 = stablehlo.nonsense : tensor<f32>\n}\n";
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 2);
    ath_pjrt_executable *program;
    ath_pjrt_compile_options one = {.partitions = 1}, four = {.partitions = 4}, none = {0};
    assert_true(ath_pjrt_compile(client, text, strlen(text), &one, &program) != ATH_OK);
    assert_null(program);
    assert_non_null(strstr(ath_error_text(), "PJRT_Client_Compile: "));
    assert_non_null(strstr(ath_error_text(), "-:2:8: error: custom op 'stablehlo.nonsense'"));
    assert_null(strchr(ath_error_text(), '\n'));
    assert_fails(ath_pjrt_compile(client, text, strlen(text), &four, &program), ATH_UNSUPPORTED,
                 "for 4 devices, and here are 2");
    assert_fails(ath_pjrt_compile(client, text, strlen(text), &none, &program), ATH_INVALID,
                 "0 partitions");
    ath_pjrt_client_destroy(client);
  }
}

static void a_wrong_compiler_option_is_named_and_ends_nothing(void **state) {
  (void)state;
  ath_pjrt_option wrong = {.name = "xla_no_such_flag", .kind = ATH_PJRT_BOOL, .integer = 1};
  ath_pjrt_option right = {.name = "xla_cpu_enable_fast_math", .kind = ATH_PJRT_BOOL};
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 1);
    ath_pjrt_executable *program;
    ath_pjrt_compile_options options = {.partitions = 1, .overrides = &wrong, .override_count = 1};
    assert_fails(ath_pjrt_compile(client, program_text, strlen(program_text), &options, &program),
                 ATH_INVALID, "xla_no_such_flag");
    options.overrides = &right;
    assert_ok(ath_pjrt_compile(client, program_text, strlen(program_text), &options, &program));
    run_program(client, program);
    ath_pjrt_executable_destroy(program);
    ath_pjrt_client_destroy(client);
  }
}

/* The argument lies on the wrong one of two devices: the run refuses, and nothing is left over. */
static void an_argument_on_another_device_is_refused(void **state) {
  (void)state;
  for (int i = 0; i < CPU_PLUGINS; i++) {
    if (!have_plugin(cpu_plugins[i])) continue;
    ath_pjrt_client *client = open_cpu(cpu_plugins[i], 2);
    ath_pjrt_executable *program = compile(client, program_text, 1);
    ath_type type = ath_type_make(ATH_F32, 2, 2, 3);
    ath_pjrt_buffer *arguments[2] = {put(client, 0, type, x), put(client, 1, type, w)};
    ath_pjrt_buffer *results[2];
    assert_fails(ath_pjrt_execute(program, arguments, 2, results), ATH_INVALID, "device");
    assert_null(results[0]);
    assert_fails(ath_pjrt_execute(program, arguments, 1, results), ATH_INVALID,
                 "PJRT_LoadedExecutable_Execute");
    ath_pjrt_buffer_destroy(arguments[0]);
    ath_pjrt_buffer_destroy(arguments[1]);
    ath_pjrt_executable_destroy(program);
    ath_pjrt_client_destroy(client);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_plugin_tells_its_version_and_attributes),
    cmocka_unit_test(a_client_has_the_devices_asked_for),
    cmocka_unit_test(every_type_comes_back_as_it_went),
    cmocka_unit_test(a_result_is_read_in_row_major_order),
    cmocka_unit_test(a_program_runs),
    cmocka_unit_test(a_program_comes_back_from_its_bytes),
    cmocka_unit_test(a_program_tells_its_memory_and_its_optimised_form),
    cmocka_unit_test(a_donated_argument_is_used_up_but_still_destroyed),
    cmocka_unit_test(a_program_for_four_devices_puts_partition_i_on_device_i),
    cmocka_unit_test(a_refused_program_says_where_and_why),
    cmocka_unit_test(a_wrong_compiler_option_is_named_and_ends_nothing),
    cmocka_unit_test(an_argument_on_another_device_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
