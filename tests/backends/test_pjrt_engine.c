/* test_pjrt_engine.c: the XLA engine, on every CPU plugin: what all engines do, ids that a device
 * would not refuse, runs that are not waited for, programs that are compiled once. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "engine_contract.h"
#include "pjrt_testing.h"

static char *cache; /* the folder of compiled programs */
static char told[1 << 12];

static void keep_message(void *context, ath_log_level level, const char *text) {
  (void)context, (void)level;
  size_t used = strlen(told);
  snprintf(told + used, sizeof told - used, "%s\n", text);
}

static int set_up(void **state) {
  (void)state;
  cache = make_folder();
  setenv("ATHANOR_COMPILE_CACHE", cache, 1);
  ath_log_set_sink(&(ath_log_sink){.message = keep_message});
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  ath_log_set_sink(NULL);
  remove_folder(cache);
  return 0;
}

/* --- devices ------------------------------------------------------------------------------- */

static void a_device_is_never_replaced_by_another(void **state) {
  (void)state;
  ath_backend *backend;
  setenv("ATHANOR_PJRT_CPU", "/nowhere/plugin.so", 1);
  assert_fails(ath_backend_open("xla:cpu", &backend), ATH_NOT_FOUND, "/nowhere/plugin.so");
  assert_null(backend);
  unsetenv("ATHANOR_PJRT_CPU");
  assert_fails(ath_backend_open("/nowhere/plugin.so", &backend), ATH_NOT_FOUND,
               "/nowhere/plugin.so");
  assert_fails(ath_backend_open("xla", &backend), ATH_UNSUPPORTED, "device xla is not known");
  assert_fails(ath_backend_open("xla:tpu", &backend), ATH_UNSUPPORTED, "there are cpu, xla:cpu");
  assert_null(backend);
}

static void a_device_names_its_plugin(void **state) {
  (void)state;
  ath_backend *backend;
  assert_ok(ath_backend_open(contract_device, &backend));
  assert_non_null(strstr(ath_backend_name(backend), "cpu (cpu, PJRT 0."));
  assert_non_null(strstr(ath_backend_name(backend), strrchr(contract_device, '/') + 1));
  assert_int_equal(ath_backend_history(backend), 2);
  assert_true(ath_backend_computes(backend, ATH_BF16));
  ath_backend_close(backend);
}

static void options_of_the_compiler_come_from_the_environment(void **state) {
  (void)state;
  engine e = begin();
  ath_program *program;
  ath_graph_output(e.graph, "w", ath_scale(e.graph, ath_graph_variable(e.graph, "w", pair), 2));
  static const char *const bad[][2] = {
    {"no_such_option=1", "ATHANOR_XLA_OPTIONS: "},
    {"xla_backend_optimization_level", "is not name=value"},
    {"a=1,=2", "\"=2\" is not name=value"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    setenv("ATHANOR_XLA_OPTIONS", bad[i][0], 1);
    assert_fails(ath_program_create(e.graph, e.state, &program),
                 i == 0 ? ATH_INVALID : ATH_USAGE, bad[i][1]);
    if (i == 0) assert_non_null(strstr(ath_error_text(), "no_such_option"));
  }
  setenv("ATHANOR_XLA_OPTIONS",
         "xla_backend_optimization_level=0,xla_llvm_disable_expensive_passes=true", 1);
  program = make_program(&e);
  assert_ok(ath_program_run(program));
  unsetenv("ATHANOR_XLA_OPTIONS");
  ath_program_destroy(program);
  end(&e);
}

/* --- ids ----------------------------------------------------------------------------------- */

static void a_bad_id_is_refused_before_anything_changes(void **state) {
  (void)state;
  engine e = begin();
  ath_graph_set_scope(e.graph, "embeddings/word");
  ath_value table = ath_graph_variable(e.graph, "table", ath_type_make(ATH_F32, 2, 8, 1));
  ath_value ids = ath_graph_input(e.graph, "ids", ath_type_make(ATH_I32, 2, 1, 3));
  ath_value flat = ath_reshape(e.graph, ids, ath_type_make(ATH_I32, 1, 3)); /* seen through */
  ath_value count = ath_graph_variable(e.graph, "count", scalar);
  ath_graph_output(e.graph, "y", ath_embedding(e.graph, table, flat, -1));
  ath_graph_assign(e.graph, count,
                   ath_add(e.graph, count, ath_graph_constant(e.graph, scalar, 1)));
  ath_program *program = make_program(&e);
  int32_t values[3] = {7, 8, 0};
  write_floats(&e, "table", (float[]){0, 1, 2, 3, 4, 5, 6, 7}, 8);
  assert_ok(ath_program_set_input(program, "ids", values));
  assert_fails(ath_program_run(program), ATH_INVALID,
               "embeddings/word/embedding: ids has 8 at position 1, not one of 8");
  values[1] = -1;
  assert_fails(ath_program_run(program), ATH_INVALID, "ids has -1 at position 1");
  expect_variable(&e, "count", (float[]){0}, 1);
  values[1] = 5;
  assert_ok(ath_program_run(program));
  expect_variable(&e, "count", (float[]){1}, 1);
  expect_output(program, "y", (float[]){7, 5, 0}, 3);
  ath_program_destroy(program);
  end(&e);
}

static void a_label_whose_weight_is_zero_is_not_read(void **state) {
  (void)state;
  engine e = begin();
  ath_value logits = ath_graph_input(e.graph, "logits", ath_type_make(ATH_F32, 2, 2, 4));
  ath_value labels = ath_graph_input(e.graph, "labels", ath_type_make(ATH_I32, 1, 2));
  ath_value weights = ath_graph_input(e.graph, "weights", pair);
  ath_graph_output(e.graph, "loss", ath_cross_entropy(e.graph, logits, labels, weights).loss);
  ath_program *program = make_program(&e);
  const float zeros[8] = {0};
  float factors[2] = {1, 0}, loss;
  const int32_t given[2] = {3, -100};
  assert_ok(ath_program_set_input(program, "logits", zeros));
  assert_ok(ath_program_set_input(program, "labels", given));
  assert_ok(ath_program_set_input(program, "weights", factors));
  assert_ok(ath_program_run(program));
  assert_ok(ath_program_get_output(program, "loss", &loss));
  assert_near(loss, log(4), 1e-6, 0);
  factors[1] = 1;
  assert_fails(ath_program_run(program), ATH_INVALID, "labels has -100 at position 1");
  ath_program_destroy(program);
  end(&e);
}

/* --- runs ---------------------------------------------------------------------------------- */

/* "sum" += x, with the sum and its square as outputs. */
static ath_program *counting_program(engine *e, bool with_outputs) {
  ath_value x = ath_graph_input(e->graph, "x", scalar);
  ath_value sum = ath_graph_variable(e->graph, "sum", scalar);
  ath_value next = ath_add(e->graph, sum, x);
  ath_graph_assign(e->graph, sum, next);
  if (with_outputs) {
    ath_graph_output(e->graph, "sum", next);
    ath_graph_output(e->graph, "square", ath_multiply(e->graph, next, next));
  }
  return make_program(e);
}

static void outputs_of_the_run_before_can_still_be_read(void **state) {
  (void)state;
  engine e = begin();
  ath_program *program = counting_program(&e, true);
  float x, found;
  assert_ok(ath_program_wait(program)); /* for nothing */
  assert_ok(ath_program_set_input(program, "x", &x));
  for (int i = 1; i <= 5; i++) {
    x = (float)i;
    assert_ok(ath_program_run(program));
    x = -1000; /* the run has its copy */
    float expected = (float)(i * (i + 1) / 2), before = (float)(i * (i - 1) / 2);
    assert_ok(ath_program_get_output(program, "square", &found));
    assert_true(found == expected * expected);
    if (i == 1) continue;
    assert_ok(ath_program_get_earlier_output(program, 1, "sum", &found));
    assert_true(found == before);
    assert_ok(ath_program_wait(program));
  }
  ath_program_destroy(program);
  end(&e);
}

static size_t resident_bytes(void) {
  size_t pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%zu %zu", &pages, &resident), 2);
  fclose(file);
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

#ifdef __SANITIZE_ADDRESS__ /* freed memory is kept for a while */
enum { ALLOWED_GROWTH = 512 << 20 };
#else
enum { ALLOWED_GROWTH = 1 << 20 };
#endif

/* The queue in front of the device is bounded, and each run frees what the one before left. */
static void thousands_of_runs_take_no_memory(void **state) {
  (void)state;
  engine e = begin();
  ath_program *both[2] = {counting_program(&e, true), counting_program(&e, false)};
  float x = 1, sum;
  size_t before = 0;
  for (int p = 0; p < 2; p++) assert_ok(ath_program_set_input(both[p], "x", &x));
  for (int i = 0; i < 12000; i++) {
    if (i == 2000) before = resident_bytes();
    assert_ok(ath_program_run(both[i % 2]));
  }
  assert_ok(ath_state_read(e.state, "sum", &sum, sizeof sum));
  assert_true(sum == 12000);
  size_t after = resident_bytes(), allowed = before + ALLOWED_GROWTH;
  if (after > allowed) fail_msg("10000 runs: from %zu to %zu bytes", before, after);
  for (int p = 0; p < 2; p++) ath_program_destroy(both[p]);
  end(&e);
}

static void profile_and_statistics_are_of_the_whole_program(void **state) {
  (void)state;
  engine e = begin();
  ath_value a = ath_graph_variable(e.graph, "a", ath_type_make(ATH_F32, 2, 4, 4));
  ath_graph_output(e.graph, "y", ath_matmul(e.graph, a, a, false, false));
  ath_program *program = make_program(&e);
  ath_buffer text = ath_buffer_make(1 << 12);
  ath_program_profile(program, true);
  for (int i = 0; i < 3; i++) assert_ok(ath_program_run(program));
  assert_ok(ath_program_profile_print(program, &text));
  assert_non_null(strstr(text.bytes, "the whole program"));
  ath_program_stats stats = ath_program_get_stats(program);
  assert_true(stats.flops == 2 * 4 * 4 * 4);
  assert_int_equal(stats.variable_bytes, 64);
  assert_int_equal(stats.nodes, 1);
  ath_buffer_free(&text);
  ath_program_destroy(program);
  end(&e);
}

/* --- the cache ----------------------------------------------------------------------------- */

/* Makes and runs a program; what the engine told of its making. */
static const char *start_anew(float expected) {
  told[0] = '\0';
  engine e = begin();
  ath_program *program = counting_program(&e, true);
  float x = expected;
  assert_ok(ath_program_set_input(program, "x", &x));
  assert_ok(ath_program_run(program));
  expect_output(program, "sum", &expected, 1);
  ath_program_destroy(program);
  end(&e);
  return told;
}

/* The only entry's path. */
static const char *only_entry(void) {
  static char path[4096];
  int count = 0;
  DIR *folder = opendir(cache);
  assert_non_null(folder);
  for (struct dirent *file = readdir(folder); file != NULL; file = readdir(folder)) {
    if (file->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", cache, file->d_name);
    count++;
  }
  closedir(folder);
  assert_int_equal(count, 1);
  return path;
}

static void empty_cache(void) {
  char command[4200];
  snprintf(command, sizeof command, "rm -rf '%s'/*", cache);
  assert_int_equal(system(command), 0);
}

static void a_second_start_compiles_nothing(void **state) {
  (void)state;
  empty_cache();
  assert_non_null(strstr(start_anew(1), ": 1 program compiled in "));
  assert_non_null(strstr(start_anew(2), ": 0 programs compiled in 0.00 s, 1 taken"));
  only_entry();
  setenv("ATHANOR_COMPILE_CACHE", "off", 1);
  assert_non_null(strstr(start_anew(3), ": 1 program compiled in "));
  setenv("ATHANOR_COMPILE_CACHE", cache, 1);
}

/* Changes one byte, `from_end` before the end of the entry. */
static void damage(long from_end) {
  FILE *file = fopen(only_entry(), "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
  int byte = fgetc(file);
  assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
  assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
  fclose(file);
}

static void a_damaged_entry_is_passed_over_and_replaced(void **state) {
  (void)state;
  empty_cache();
  start_anew(1);
  damage(100);
  start_anew(2);
  assert_non_null(strstr(told, "checksum does not match"));
  assert_non_null(strstr(told, ": 1 program compiled in "));
  assert_non_null(strstr(start_anew(3), ": 0 programs compiled"));
  assert_int_equal(truncate(only_entry(), 50), 0);
  assert_non_null(strstr(start_anew(4), ": 1 program compiled in "));
  assert_non_null(strstr(start_anew(5), ": 0 programs compiled"));
}

/* A file that anybody may write might hold anybody's code. */
static void an_entry_that_others_may_write_is_passed_over(void **state) {
  (void)state;
  empty_cache();
  start_anew(1);
  assert_int_equal(chmod(only_entry(), 0666), 0);
  assert_non_null(strstr(start_anew(2), "nobody else may write"));
  assert_non_null(strstr(start_anew(3), ": 0 programs compiled"));
}

static void a_cache_that_cannot_be_written_stops_nothing(void **state) {
  (void)state;
  setenv("ATHANOR_COMPILE_CACHE", "/proc/nothing", 1);
  start_anew(1);
  assert_non_null(strstr(told, "the compiled program is not kept"));
  assert_non_null(strstr(told, ": 1 program compiled in "));
  setenv("ATHANOR_COMPILE_CACHE", cache, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    CONTRACT_TESTS,
    cmocka_unit_test(a_device_is_never_replaced_by_another),
    cmocka_unit_test(a_device_names_its_plugin),
    cmocka_unit_test(options_of_the_compiler_come_from_the_environment),
    cmocka_unit_test(a_bad_id_is_refused_before_anything_changes),
    cmocka_unit_test(a_label_whose_weight_is_zero_is_not_read),
    cmocka_unit_test(outputs_of_the_run_before_can_still_be_read),
    cmocka_unit_test(thousands_of_runs_take_no_memory),
    cmocka_unit_test(profile_and_statistics_are_of_the_whole_program),
    cmocka_unit_test(a_second_start_compiles_nothing),
    cmocka_unit_test(a_damaged_entry_is_passed_over_and_replaced),
    cmocka_unit_test(an_entry_that_others_may_write_is_passed_over),
    cmocka_unit_test(a_cache_that_cannot_be_written_stops_nothing),
  };
  int failed = 0;
  for (int i = 0; i < CPU_PLUGINS; i++) {
    contract_device = cpu_plugins[i];
    if (have_plugin(contract_device)) failed += cmocka_run_group_tests(tests, set_up, tear_down);
  }
  return failed;
}
