/* test_plot.c: batch sizes as text, and the drawing of a plan. */
#include <math.h>

#include "base/buffer.h"
#include "plan/points.h"
#include "testing.h"

/* --- batch sizes --------------------------------------------------------------------------- */

static void batch_sizes_are_numbers_with_commas_between(void **state) {
  (void)state;
  static const char *const wrong[] = {"", ",", "8,", ",8", "8,,9", "8 9", "0", "65537", "-1",
                                      "8x", "99999999999999999999"};
  int64_t sizes[ATH_BATCH_SIZES_MAX];
  int count;
  assert_ok(ath_batch_sizes_parse(NULL, sizes, &count));
  assert_int_equal(count, 0);
  assert_ok(ath_batch_sizes_parse("8,65536,1", sizes, &count));
  assert_int_equal(count, 3);
  assert_true(sizes[0] == 8 && sizes[1] == 65536 && sizes[2] == 1);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_fails(ath_batch_sizes_parse(wrong[i], sizes, &count), ATH_USAGE, "8,16,32");
  char many[2 * ATH_BATCH_SIZES_MAX + 2];
  for (size_t i = 0; i < sizeof many - 1; i++) many[i] = i % 2 == 0 ? '7' : ',';
  many[sizeof many - 1] = '\0';
  assert_fails(ath_batch_sizes_parse(many, sizes, &count), ATH_USAGE, "more than 64");
}

static void points_lie_in_the_order_of_the_batches(void **state) {
  (void)state;
  ath_plan_point room[ATH_POINTS_MAX];
  ath_plan_report report = {.points = room};
  static const int64_t batches[] = {16, 8, 32, 1};
  for (size_t i = 0; i < 4; i++)
    ath_points_add(&report, (ath_plan_point){.batch_per_chip = batches[i]});
  assert_int_equal(report.point_count, 4);
  for (size_t i = 0; i + 1 < 4; i++)
    assert_true(room[i].batch_per_chip < room[i + 1].batch_per_chip);
  assert_ptr_equal(ath_points_find(&report, 32), &room[3]);
  assert_null(ath_points_find(&report, 31));
}

/* --- the drawing --------------------------------------------------------------------------- */

static int count_of(const char *text, const char *part) {
  int count = 0;
  for (; (text = strstr(text, part)) != NULL; text += strlen(part)) count++;
  return count;
}

/* Two slices of one generation, one of them with a batch that does not fit, and GPUs, of which no
 * times are known. */
static void draw(ath_buffer *out) {
  ath_plan_point small[] = {{8, true, 2000000000, 0.010}, {16, true, 3000000000, 0.0175}};
  ath_plan_point large[] = {{8, true, 2500000000, 0.011}, {64, false, 18000000000, NAN}};
  ath_plan_point gpu[] = {{8, true, 2750000000, NAN}};
  ath_plan_report reports[] = {
    {.topology = "v5e:2x2", .memory = {.limit = 16000000000}, .points = small, .point_count = 2},
    {.topology = "v5e:4x4", .memory = {.limit = 16000000000}, .points = large, .point_count = 2},
    {.topology = "h100:8", .memory = {.limit = 76000000000}, .points = gpu, .point_count = 1}};
  assert_ok(ath_plan_plot(&(ath_plan){reports, 3}, out));
}

static void each_compiled_batch_is_a_mark_with_its_numbers(void **state) {
  (void)state;
  ath_buffer svg = ath_buffer_make(1 << 20);
  draw(&svg);
  assert_int_equal(count_of(svg.bytes, "<circle"), 3 + 5);
  assert_int_equal(count_of(svg.bytes, " data-seconds="), 3);
  assert_int_equal(count_of(svg.bytes, " data-bytes="), 5);
  const char *wanted[] = {
    "data-topology=\"v5e:2x2\" data-batch=\"16\" data-seconds=\"0.0175\"",
    "data-topology=\"v5e:2x2\" data-batch=\"16\" data-bytes=\"3000000000\"",
    "data-topology=\"h100:8\" data-batch=\"8\" data-bytes=\"2750000000\"",
    "fill=\"none\" data-topology=\"v5e:4x4\" data-batch=\"64\" data-bytes=\"18000000000\"",
    "18 GB, does not fit"};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    if (strstr(svg.bytes, wanted[i]) == NULL) fail_msg("%s: not in the drawing", wanted[i]);
  assert_int_equal(count_of(svg.bytes, "does not fit"), 1);
  ath_buffer_free(&svg);
}

static void a_limit_that_slices_share_is_drawn_once(void **state) {
  (void)state;
  ath_buffer svg = ath_buffer_make(1 << 20);
  draw(&svg);
  assert_int_equal(count_of(svg.bytes, "data-limit=\"16000000000\""), 1);
  assert_int_equal(count_of(svg.bytes, "data-limit=\"76000000000\""), 1);
  ath_buffer_free(&svg);
}

static void without_times_the_panel_says_so(void **state) {
  (void)state;
  ath_buffer svg = ath_buffer_make(1 << 20);
  ath_plan_point point = {8, true, 2750000000, NAN};
  ath_plan_report report = {.topology = "h100:8", .memory = {.limit = 76000000000},
                            .points = &point, .point_count = 1};
  assert_ok(ath_plan_plot(&(ath_plan){&report, 1}, &svg));
  assert_int_equal(count_of(svg.bytes, ">not known<"), 1);
  assert_null(strstr(svg.bytes, "nan"));
  assert_null(strstr(svg.bytes, "inf"));
  ath_buffer_free(&svg);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(batch_sizes_are_numbers_with_commas_between),
    cmocka_unit_test(points_lie_in_the_order_of_the_batches),
    cmocka_unit_test(each_compiled_batch_is_a_mark_with_its_numbers),
    cmocka_unit_test(a_limit_that_slices_share_is_drawn_once),
    cmocka_unit_test(without_times_the_panel_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
