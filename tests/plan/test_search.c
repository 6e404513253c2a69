/* test_search.c: the search for the largest batch, prices, and the compiler's table of buffers. */
#include "plan/explain.h"
#include "plan/prices.h"
#include "plan/search.h"
#include "storage/file.h"
#include "testing.h"

/* --- the largest batch --------------------------------------------------------------------- */

typedef struct chip {
  int64_t room; /* batches up to this fit */
  int asked, fitted;
} chip;

static ath_status ask(void *user, int64_t batch, bool *fits) {
  chip *self = user;
  *fits = batch <= self->room;
  self->asked++;
  self->fitted += *fits;
  return ATH_OK;
}

static int64_t search(chip *self, int64_t batch, int64_t guess) {
  int64_t largest = -1;
  self->asked = self->fitted = 0;
  assert_ok(ath_search_largest(ask, self, batch, batch <= self->room, guess, &largest));
  return largest;
}

static void the_largest_multiple_of_eight_is_found_from_a_fair_guess(void **state) {
  (void)state;
  for (int64_t room = 16; room < 300; room += 7)
    for (int64_t batch = 8; batch <= 512; batch *= 2) {
      chip self = {.room = room};
      int64_t found = search(&self, batch, room * 5 / 4), wanted = room / 8 * 8;
      if (batch <= room && wanted < batch) wanted = batch;
      if (found != wanted)
        fail_msg("room %lld from %lld: %lld, not %lld", (long long)room, (long long)batch,
                 (long long)found, (long long)wanted);
    }
}

static void small_batches_are_found_to_the_record(void **state) {
  (void)state;
  for (int64_t room = 0; room < 16; room++) {
    chip self = {.room = room};
    assert_int_equal(search(&self, 32, 20), room);
  }
}

static void a_good_guess_costs_one_compile_that_fits(void **state) {
  (void)state;
  chip self = {.room = 75};
  assert_int_equal(search(&self, 32, 74), 72);
  assert_int_equal(self.asked, 2);
  assert_int_equal(self.fitted, 1);
}

static void a_batch_beyond_what_a_run_may_have_is_not_tried(void **state) {
  (void)state;
  chip self = {.room = 1000000};
  assert_int_equal(search(&self, 32, 65536), 65536);
  assert_int_equal(self.asked, 1);
}

static ath_status refuse(void *user, int64_t batch, bool *fits) {
  (void)user;
  (void)fits;
  return ath_fail(ATH_IO, "batch %lld", (long long)batch);
}

static void a_failure_ends_the_search(void **state) {
  (void)state;
  int64_t largest;
  assert_fails(ath_search_largest(refuse, NULL, 8, true, 8, &largest), ATH_IO, "batch 9");
}

/* --- prices -------------------------------------------------------------------------------- */

static double price_in(const char *folder, const char *table, const char *generation) {
  const char *path = in_folder(folder, "prices.txt");
  FILE *file = fopen(path, "w");
  fputs(table, file);
  fclose(file);
  double price = 0;
  assert_ok(ath_price_find(path, generation, &price));
  return price;
}

static void prices_come_from_a_table_of_ones_own(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *table = "# ours\n\n  v5e 0.5 # with discount\nv4\t2\n";
  assert_near(price_in(folder, table, "v5e"), 0.5, 0, 0);
  assert_near(price_in(folder, table, "v4"), 2, 0, 0);
  assert_near(price_in(folder, table, "v6e"), -1, 0, 0); /* not in it */
  remove_folder(folder);
}

static void the_programs_own_table_has_every_generation(void **state) {
  (void)state;
  static const char *const names[] = {"v4", "v5e", "v5p", "v6e"};
  for (size_t i = 0; i < 4; i++) {
    double price;
    assert_ok(ath_price_find(NULL, names[i], &price));
    assert_true(price > 0.1 && price < 100);
  }
}

static void a_line_may_say_that_no_price_is_known(void **state) {
  (void)state;
  static const char *const gpus[] = {"a100", "h100", "h200"};
  char *folder = make_folder();
  assert_near(price_in(folder, "v4 2\nh100 - # ask\n", "h100"), -1, 0, 0);
  assert_near(price_in(folder, "v4 - \nh100 1.5\n", "h100"), 1.5, 0, 0);
  for (size_t i = 0; i < 3; i++) {
    double price;
    assert_ok(ath_price_find(NULL, gpus[i], &price));
    assert_near(price, -1, 0, 0);
  }
  remove_folder(folder);
}

static void what_is_no_price_is_refused_with_its_line(void **state) {
  (void)state;
  static const char *const bad[] = {"v4 2\nv5e\n", "v4 2\nv5e cheap\n", "v4 2\nv5e 1 2\n",
                                    "v4 2\nv5e -1\n", "v4 2\nv5e nan\n", "v4 2\nv5e 1e9\n",
                                    "v4 2\nv5e -x\n", "v4 2\nv5e--\n"};
  char *folder = make_folder();
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    double price;
    FILE *file = fopen(in_folder(folder, "p"), "w");
    fputs(bad[i], file);
    fclose(file);
    assert_fails(ath_price_find(in_folder(folder, "p"), "v4", &price), ATH_INVALID, "p: line 2");
  }
  remove_folder(folder);
}

static ath_status read_prices(const char *table) {
  char *folder = make_folder();
  double price;
  assert_ok(ath_file_write(in_folder(folder, "p"), table, strlen(table)));
  ath_status status = ath_price_find(in_folder(folder, "p"), "v4", &price);
  remove_folder(folder);
  return status;
}

static void an_unknown_generation_is_refused_with_its_line_and_the_nearest(void **state) {
  (void)state;
  assert_fails(read_prices("v4 2\n\nv5ee 1 # dear\n"), ATH_INVALID,
               "p: line 3: no generation \"v5ee\" is known; did you mean \"v5e\"?");
  assert_fails(read_prices("abacus 2\n"), ATH_INVALID, "no generation \"abacus\" is known");
}

static void a_table_without_a_price_is_refused(void **state) {
  (void)state;
  assert_fails(read_prices(""), ATH_INVALID, "p: there is no price in it");
  assert_fails(read_prices("# v4 2\n\n"), ATH_INVALID, "p: there is no price in it");
}

/* --- out of memory ------------------------------------------------------------------------- */

static const char reason[] =
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory "
    "required for HLO temporaries (22.30G) exceeds available HBM (15.75G).";

static void the_memory_wanted_is_read_from_the_compilers_text(void **state) {
  (void)state;
  assert_near((double)ath_wanted_bytes(reason), 22.30 * 1024 * 1024 * 1024, 0, 1e-6);
  assert_int_equal(ath_wanted_bytes("(x) and (1.5M)"), 3 << 19);
  assert_int_equal(ath_wanted_bytes("nothing"), -1);
  assert_int_equal(ath_wanted_bytes("(12)"), -1);
}

static void large_buffers_have_the_names_of_nodes_with_their_shape(void **state) {
  (void)state;
  static const char table[] =
      "Memory Space: default (color=0)\n"
      "  cumulative_size;       size;       offset; used_by_n_values; shapes_list\n"
      "  ------------------------------------------------------------\n"
      "    4.50GiB( 20%);    4.50GiB;            0;                5; 5×f32[12,32,512]\n"
      "    6.00GiB( 27%);    1.50GiB;            0;                1; bf16[32,512]\n"
      "    6.00GiB( 27%);    0.01GiB;            0;                1; f32[9223372036854775807,2]\n"
      "\n"
      "    1.0KiB(100%);    1.0KiB;            0;                1; f32[7]\n";
  static const char module[] =
      "    %layer.0.attention.3 = stablehlo.add %a, %b : tensor<96x32x512xf32>\n"
      "    %layer.1.attention.3 = stablehlo.add %a, %b : tensor<96x32x512xf32>\n"
      "    %loss.1 = stablehlo.convert %x : (tensor<32x512xf32>) -> tensor<32x512xbf16>\n";
  ath_verdict verdict;
  ath_buffer text = ath_buffer_make(1 << 12);
  ath_arena *arena;
  const char *told = NULL;
  ath_verdict_init(&verdict);
  assert_ok(ath_buffer_string(&verdict.reason, reason));
  assert_ok(ath_buffer_string(&verdict.largest, table));
  assert_ok(ath_buffer_string(&text, module));
  assert_ok(ath_arena_create(1 << 20, &arena));
  assert_ok(ath_explain(&verdict, &text, 8, arena, &told)); /* 96 rows are 12 on each of 8 */
  assert_non_null(strstr(told, "4.50GiB  5×f32[12,32,512]"));
  assert_non_null(strstr(told, "layer.N.attention\n"));
  assert_non_null(strstr(told, "  loss\n")); /* not shared: as it is */
  assert_null(strstr(told, "f32[7]"));       /* another memory's */
  assert_non_null(strstr(told, "f32[9223372036854775807,2]")); /* however large: nobody's */
  assert_non_null(strstr(told, "per_device_train_batch_size"));
  ath_arena_destroy(arena);
  ath_buffer_free(&text);
  ath_verdict_free(&verdict);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_largest_multiple_of_eight_is_found_from_a_fair_guess),
    cmocka_unit_test(small_batches_are_found_to_the_record),
    cmocka_unit_test(a_good_guess_costs_one_compile_that_fits),
    cmocka_unit_test(a_batch_beyond_what_a_run_may_have_is_not_tried),
    cmocka_unit_test(a_failure_ends_the_search),
    cmocka_unit_test(prices_come_from_a_table_of_ones_own),
    cmocka_unit_test(the_programs_own_table_has_every_generation),
    cmocka_unit_test(a_line_may_say_that_no_price_is_known),
    cmocka_unit_test(what_is_no_price_is_refused_with_its_line),
    cmocka_unit_test(an_unknown_generation_is_refused_with_its_line_and_the_nearest),
    cmocka_unit_test(a_table_without_a_price_is_refused),
    cmocka_unit_test(the_memory_wanted_is_read_from_the_compilers_text),
    cmocka_unit_test(large_buffers_have_the_names_of_nodes_with_their_shape),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
