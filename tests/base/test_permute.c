/* test_permute.c: the permutation behind the order of records. */
#include "testing.h"

#include <math.h>

#include "base/random.h"

static void the_permutation_is_a_bijection_at_every_size(void **state) {
  (void)state;
  const uint64_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 1000, 4096, 65537};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    uint8_t *seen = calloc(sizes[s], 1);
    for (uint64_t i = 0; i < sizes[s]; i++) {
      uint64_t image = ath_permute(7, 3, sizes[s], i);
      assert_true(image < sizes[s]);
      assert_int_equal(seen[image]++, 0);
    }
    free(seen);
  }
}

/* The place of an item over many epochs is uniform: chi-square over 20 cells of 5,000 epochs, for
 * several items; and neighbours do not stay neighbours. */
static void an_items_place_is_uniform_over_epochs(void **state) {
  (void)state;
  enum { COUNT = 1000, CELLS = 20, EPOCHS = 5000 };
  int neighbours = 0;
  for (uint64_t item = 0; item < COUNT; item += 111) {
    double cells[CELLS] = {0}, chi_square = 0;
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
      uint64_t place = ath_permute(42, epoch, COUNT, item);
      cells[place * CELLS / COUNT]++;
      neighbours += ath_permute(42, epoch, COUNT, (item + 1) % COUNT) == place + 1;
    }
    double expected = (double)EPOCHS / CELLS;
    for (int c = 0; c < CELLS; c++)
      chi_square += (cells[c] - expected) * (cells[c] - expected) / expected;
    assert_true(chi_square < 49.6); /* 19 degrees of freedom: exceeded once in 6,500 */
  }
  assert_near(neighbours, 10 * EPOCHS / (double)COUNT, 5 * sqrt(50.0), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_permutation_is_a_bijection_at_every_size),
    cmocka_unit_test(an_items_place_is_uniform_over_epochs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
