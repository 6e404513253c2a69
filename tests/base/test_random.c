/* test_random.c: Philox against the authors' published vectors, and the statistics of what is
 * built on it. */
#include "testing.h"

#include <math.h>

#include "base/random.h"

static void philox_gives_the_published_vectors(void **state) {
  (void)state;
  /* Random123's kat_vectors for philox4x32-10 (Salmon et al. 2011): counter, key, result. */
  static const uint32_t vectors[3][10] = {
    {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
    {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
     0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
    {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
     0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
  };
  for (int i = 0; i < 3; i++) {
    uint32_t out[4];
    ath_philox(vectors[i], vectors[i] + 4, out);
    for (int word = 0; word < 4; word++) assert_int_equal(out[word], vectors[i][6 + word]);
  }
}

static void streams_differ_by_seed_purpose_epoch_sample_and_position(void **state) {
  (void)state;
  uint32_t base[4], other[4];
  ath_random(42, ATH_RANDOM_MASKING, 0, 7, 3, base);
  ath_random(43, ATH_RANDOM_MASKING, 0, 7, 3, other);
  assert_memory_not_equal(base, other, sizeof base);
  ath_random(42, ATH_RANDOM_SHUFFLE, 0, 7, 3, other);
  assert_memory_not_equal(base, other, sizeof base);
  ath_random(42, ATH_RANDOM_MASKING, 1, 7, 3, other);
  assert_memory_not_equal(base, other, sizeof base);
  ath_random(42, ATH_RANDOM_MASKING, 0, 7 + (UINT64_C(1) << 32), 3, other);
  assert_memory_not_equal(base, other, sizeof base);
  ath_random(42, ATH_RANDOM_MASKING, 0, 7, 4, other);
  assert_memory_not_equal(base, other, sizeof base);
  ath_random(42, ATH_RANDOM_MASKING, 0, 7, 3, other);
  assert_memory_equal(base, other, sizeof base);
}

static void normal_numbers_have_the_moments_of_a_normal_distribution(void **state) {
  (void)state;
  enum { PAIRS = 200000 };
  double sum = 0, square = 0, fourth = 0;
  for (uint32_t i = 0; i < PAIRS; i++) {
    uint32_t bits[4];
    float two[2];
    ath_random(1, ATH_RANDOM_INITIALISATION, 0, i, 0, bits);
    ath_normal(bits[0], bits[1], two);
    for (int k = 0; k < 2; k++) {
      double x = two[k];
      sum += x;
      square += x * x;
      fourth += x * x * x * x;
    }
  }
  double n = 2.0 * PAIRS; /* five standard errors each */
  assert_near(sum / n, 0.0, 5 / sqrt(n), 0);
  assert_near(square / n, 1.0, 5 * sqrt(2 / n), 0);
  assert_near(fourth / n, 3.0, 5 * sqrt(96 / n), 0);
}

static void the_extreme_bits_give_finite_normal_numbers(void **state) {
  (void)state;
  float two[2];
  ath_normal(0, 0, two);
  assert_true(isfinite(two[0]) && isfinite(two[1]));
  ath_normal(0xffffffffu, 0xffffffffu, two);
  assert_true(isfinite(two[0]) && isfinite(two[1]));
}

static void a_permutation_meets_every_index_once(void **state) {
  (void)state;
  static const uint64_t counts[] = {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    uint8_t seen[4097] = {0};
    for (uint64_t i = 0; i < counts[c]; i++) {
      uint64_t image = ath_permute(9, 2, counts[c], i);
      assert_true(image < counts[c]);
      assert_int_equal(seen[image], 0);
      seen[image] = 1;
    }
  }
}

static void permutations_spread_evenly_and_differ_by_epoch(void **state) {
  (void)state;
  /* Where index 0 lands over many seeds, in ten classes: chi-square with 9 degrees of freedom
   * stays below 33.7 with probability 1 - 1e-4. */
  enum { SEEDS = 20000, COUNT = 1000 };
  int classes[10] = {0};
  int fixed = 0;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    uint64_t image = ath_permute(seed, 0, COUNT, 0);
    classes[image / (COUNT / 10)]++;
    fixed += image == ath_permute(seed, 1, COUNT, 0);
  }
  double chi = 0;
  for (int k = 0; k < 10; k++) chi += pow(classes[k] - SEEDS / 10, 2) / (SEEDS / 10);
  assert_true(chi < 33.7);
  assert_in_range(fixed, 2, 60); /* expected 20 */
}

static void dropout_drops_its_rate_and_no_pattern_between_steps(void **state) {
  (void)state;
  enum { N = 1000000 };
  uint32_t threshold = ath_dropout_threshold(0.1), key[2], next[2];
  ath_dropout_key(42, 1, 0, key);
  ath_dropout_key(42, 2, 0, next);
  int dropped = 0, both = 0, neighbours = 0, before = 0;
  for (uint32_t i = 0; i < N; i++) {
    int drop = ath_dropout_hash(i, key) < threshold;
    int drop_next = ath_dropout_hash(i, next) < threshold;
    dropped += drop;
    both += drop && drop_next;
    neighbours += drop && before;
    before = drop;
  }
  assert_near(dropped, 0.1 * N, 5 * sqrt(0.1 * 0.9 * N), 0);
  assert_near(both, 0.01 * N, 5 * sqrt(0.01 * 0.99 * N), 0);
  assert_near(neighbours, 0.01 * N, 6 * sqrt(0.01 * 0.99 * N), 0);
}

static void dropout_keys_differ_by_seed_step_and_site(void **state) {
  (void)state;
  enum { STEPS = 64, SITES = 32 };
  static uint64_t keys[STEPS * SITES];
  for (uint32_t step = 0; step < STEPS; step++)
    for (uint32_t site = 0; site < SITES; site++) {
      uint32_t key[2];
      ath_dropout_key(42, step, site, key);
      keys[step * SITES + site] = (uint64_t)key[0] << 32 | key[1];
    }
  for (int i = 0; i < STEPS * SITES; i++)
    for (int j = 0; j < i; j++) assert_true(keys[i] != keys[j]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(philox_gives_the_published_vectors),
    cmocka_unit_test(streams_differ_by_seed_purpose_epoch_sample_and_position),
    cmocka_unit_test(normal_numbers_have_the_moments_of_a_normal_distribution),
    cmocka_unit_test(the_extreme_bits_give_finite_normal_numbers),
    cmocka_unit_test(a_permutation_meets_every_index_once),
    cmocka_unit_test(permutations_spread_evenly_and_differ_by_epoch),
    cmocka_unit_test(dropout_drops_its_rate_and_no_pattern_between_steps),
    cmocka_unit_test(dropout_keys_differ_by_seed_step_and_site),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
