/* test_pjrt_options.c: the bytes of compile options, against those found to work by experiment
 * (../shared/design/pjrt.md, section 1) and against the format's rules. */
#include "backends/pjrt/client.h"
#include "backends/pjrt/compile_options.h"
#include "backends/pjrt/overrides.h"
#include "formats/wire.h"
#include "testing.h"

static void assert_bytes(const ath_pjrt_compile_options *options, const int64_t *ids,
                         const char *bytes, size_t count) {
  ath_buffer out = ath_buffer_make(1 << 16);
  assert_ok(ath_pjrt_compile_options_assign(options, ids, &out));
  assert_int_equal(out.length, count);
  assert_memory_equal(out.bytes, bytes, count);
  ath_buffer_free(&out);
}
#define BYTES(text) text, sizeof(text) - 1

static void options_are_the_bytes_that_plugins_were_seen_to_take(void **state) {
  (void)state;
  assert_bytes(&(ath_pjrt_compile_options){.partitions = 1}, NULL,
               BYTES("\x1a\x04\x20\x01\x28\x01"));
  assert_bytes(&(ath_pjrt_compile_options){.partitions = 4}, NULL,
               BYTES("\x1a\x06\x20\x01\x28\x04\x30\x01"));
  assert_bytes(&(ath_pjrt_compile_options){.partitions = 4, .shardy = true}, NULL,
               BYTES("\x1a\x09\x20\x01\x28\x04\x30\x01\x98\x01\x01"));
}

/* DeviceAssignmentProto: 1 replicas, 2 partitions, 3 per partition a packed list of one id. */
static void a_device_is_written_for_each_partition(void **state) {
  (void)state;
  static const int64_t ids[2] = {5, 300};
  assert_bytes(&(ath_pjrt_compile_options){.partitions = 2}, ids,
               BYTES("\x1a\x17\x20\x01\x28\x02\x30\x01"
                     "\x4a\x0f\x08\x01\x10\x02\x1a\x03\x0a\x01\x05\x1a\x04\x0a\x02\xac\x02"));
}

/* Map entries: field 7 { 1: name, 2 { 1 string | 2 bool | 3 integer | 4 double } }. */
static void overrides_are_map_entries_of_every_kind(void **state) {
  (void)state;
  const ath_pjrt_option overrides[] = {
    {.name = "s", .kind = ATH_PJRT_STRING, .string = "xy"},
    {.name = "b", .kind = ATH_PJRT_BOOL, .integer = 1},
    {.name = "i", .kind = ATH_PJRT_INTEGER, .integer = 300},
    {.name = "f", .kind = ATH_PJRT_FLOAT, .number = 0.5f},
  };
  ath_pjrt_compile_options options = {.partitions = 1, .overrides = overrides,
                                      .override_count = 4};
  assert_bytes(&options, NULL,
               BYTES("\x1a\x04\x20\x01\x28\x01"
                     "\x3a\x09\x0a\x01s\x12\x04\x0a\x02xy"
                     "\x3a\x07\x0a\x01" "b\x12\x02\x10\x01"
                     "\x3a\x08\x0a\x01i\x12\x03\x18\xac\x02"
                     "\x3a\x0e\x0a\x01" "f\x12\x09\x21\0\0\0\0\0\0\xe0\x3f"));
}

static void what_cannot_be_said_is_refused(void **state) {
  (void)state;
  ath_buffer out = ath_buffer_make(1 << 16), small = ath_buffer_make(4);
  static const int64_t list[2] = {1, 2};
  ath_pjrt_option integers = {.name = "l", .kind = ATH_PJRT_INTEGERS, .integers = list, .count = 2};
  assert_fails(ath_pjrt_compile_options_write(
                   &(ath_pjrt_compile_options){.partitions = 1, .overrides = &integers,
                                               .override_count = 1}, &out),
               ATH_INVALID, "a list of integers");
  assert_fails(ath_pjrt_compile_options_write(&(ath_pjrt_compile_options){.partitions = 0}, &out),
               ATH_INVALID, "0 partitions");
  assert_fails(ath_pjrt_compile_options_write(&(ath_pjrt_compile_options){.partitions = 1 << 20},
                                              &out), ATH_INVALID, "partitions");
  assert_fails(ath_pjrt_compile_options_write(&(ath_pjrt_compile_options){.partitions = 1}, &small),
               ATH_NO_MEMORY, "");
  ath_buffer_free(&out);
  ath_buffer_free(&small);
}

/* --- options from the environment ---------------------------------------------------------- */

static void a_values_kind_follows_from_how_it_is_written(void **state) {
  (void)state;
  ath_xla_overrides o;
  setenv("ATHANOR_XLA_OPTIONS", "a=true,b=-7,c=2.5e3,d=inf,e=nan,f=0x10,g=,h=9223372036854775807",
         1);
  assert_ok(ath_xla_overrides_read(&o));
  assert_int_equal(o.count, 8);
  assert_true(o.items[0].kind == ATH_PJRT_BOOL && o.items[0].integer == 1);
  assert_true(o.items[1].kind == ATH_PJRT_INTEGER && o.items[1].integer == -7);
  assert_true(o.items[2].kind == ATH_PJRT_FLOAT && o.items[2].number == 2500);
  for (int i = 3; i < 7; i++) assert_int_equal(o.items[i].kind, ATH_PJRT_STRING);
  assert_true(o.items[7].kind == ATH_PJRT_INTEGER && o.items[7].integer == INT64_MAX);
  unsetenv("ATHANOR_XLA_OPTIONS");
}

static void a_number_that_is_too_large_is_refused(void **state) {
  (void)state;
  static const char *const large[] = {"a=9223372036854775808", "a=-99999999999999999999",
                                      "a=1e99", "x=1,a=-4e38"};
  for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
    ath_xla_overrides o;
    setenv("ATHANOR_XLA_OPTIONS", large[i], 1);
    assert_fails(ath_xla_overrides_read(&o), ATH_USAGE, "too large a number");
    assert_non_null(strstr(ath_error_text(), "ATHANOR_XLA_OPTIONS: a="));
  }
  unsetenv("ATHANOR_XLA_OPTIONS");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(options_are_the_bytes_that_plugins_were_seen_to_take),
    cmocka_unit_test(a_device_is_written_for_each_partition),
    cmocka_unit_test(overrides_are_map_entries_of_every_kind),
    cmocka_unit_test(what_cannot_be_said_is_refused),
    cmocka_unit_test(a_values_kind_follows_from_how_it_is_written),
    cmocka_unit_test(a_number_that_is_too_large_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
