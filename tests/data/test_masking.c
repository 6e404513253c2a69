/* test_masking.c: the masking of Devlin et al. 2019, counted. */
#include "testing.h"

#include <math.h>

#include "athanor/dataset.h"

enum { VOCAB = 30000, MASK = 4, SPECIALS = 5, LENGTH = 500, RECORDS = 2000 };

static uint8_t special[VOCAB];

static ath_batch_options options_with(double probability) {
  memset(special, 0, sizeof special);
  memset(special, 1, SPECIALS);
  return (ath_batch_options){.mlm_probability = probability, .mask_replace_prob = 0.8,
                             .random_replace_prob = 0.1, .vocab_size = VOCAB, .mask_id = MASK,
                             .pad_id = 3, .special = special, .seed = 42};
}

/* Case I1: a million maskable tokens. A random word may equal the original one, with chance 1/V;
 * at this vocabulary that is below one in the 15,000. */
static void a_million_tokens_split_80_10_10(void **state) {
  (void)state;
  ath_batch_options options = options_with(0.15);
  int32_t ids[LENGTH], mask[LENGTH], columns[LENGTH], labels[LENGTH];
  int64_t chosen = 0, masked = 0, random = 0, kept = 0, per_column[LENGTH] = {0};
  for (int record = 0; record < RECORDS; record++) {
    for (int i = 0; i < LENGTH; i++) {
      ids[i] = SPECIALS + (record * LENGTH + i) % (VOCAB - SPECIALS);
      mask[i] = 1;
    }
    int count = ath_mask_tokens(&options, 0, (uint64_t)record, ids, mask, LENGTH, columns, labels);
    chosen += count;
    for (int i = 0; i < count; i++) {
      int32_t now = ids[columns[i]];
      per_column[columns[i]]++;
      assert_int_equal(labels[i], SPECIALS + (record * LENGTH + columns[i]) % (VOCAB - SPECIALS));
      if (now == MASK) masked++;
      else if (now == labels[i]) kept++;
      else random++;
      assert_true(now == MASK || (now >= SPECIALS && now < VOCAB));
    }
  }
  assert_near((double)chosen, 150000, 1100, 0);
  assert_near((double)masked / (double)chosen, 0.8, 0.004, 0);
  assert_near((double)random / (double)chosen, 0.1, 0.003, 0);
  assert_near((double)kept / (double)chosen, 0.1, 0.003, 0);
  for (int i = 0; i < LENGTH; i++) /* 5 deviations of a binomial: no column is favoured */
    assert_near((double)per_column[i], RECORDS * 0.15, 5 * sqrt(RECORDS * 0.15 * 0.85), 0);
}

/* Case I2. */
static void only_attended_ordinary_positions_are_chosen(void **state) {
  (void)state;
  ath_batch_options options = options_with(1.0);
  int32_t ids[] = {0, 700, 800, 1, 3, 3}, mask[] = {1, 1, 1, 1, 0, 0}, columns[6], labels[6];
  assert_int_equal(ath_mask_tokens(&options, 0, 0, ids, mask, 6, columns, labels), 2);
  assert_int_equal(columns[0], 1);
  assert_int_equal(columns[1], 2);
  assert_int_equal(labels[0], 700);
  assert_int_equal(labels[1], 800);
  assert_int_equal(ids[0], 0);
  assert_int_equal(ids[3], 1);
  assert_int_equal(ids[4], 3);

  int32_t typed[] = {MASK, 2, 3, 900}, all[] = {1, 1, 1, 1}; /* special tokens typed in text */
  assert_int_equal(ath_mask_tokens(&options, 0, 0, typed, all, 4, columns, labels), 1);
  assert_int_equal(labels[0], 900);
  int32_t unattended[] = {600, 601}, none[] = {0, 0};
  assert_int_equal(ath_mask_tokens(&options, 0, 0, unattended, none, 2, columns, labels), 0);
}

/* Every ordinary id is drawn about equally often, and never one that is special, wherever it
 * stands in the vocabulary (case D5). */
static void random_words_are_uniform_over_ordinary_ids(void **state) {
  (void)state;
  enum { SMALL = 40, ROUNDS = 400 };
  ath_batch_options options = options_with(1.0);
  options.mask_replace_prob = 0.0;
  options.random_replace_prob = 1.0;
  options.vocab_size = SMALL;
  special[17] = special[SMALL - 1] = special[SMALL - 2] = 1;
  int ordinary = SMALL - SPECIALS - 3;
  int64_t seen[SMALL] = {0};
  int32_t ids[LENGTH], mask[LENGTH], columns[LENGTH], labels[LENGTH];
  for (int record = 0; record < ROUNDS; record++) {
    for (int i = 0; i < LENGTH; i++) ids[i] = 20, mask[i] = 1;
    assert_int_equal(ath_mask_tokens(&options, 3, (uint64_t)record, ids, mask, LENGTH, columns,
                                     labels), LENGTH);
    for (int i = 0; i < LENGTH; i++) seen[ids[i]]++;
  }
  double expected = (double)ROUNDS * LENGTH / ordinary, chi_square = 0;
  for (int id = 0; id < SMALL; id++) {
    if (special[id]) assert_int_equal(seen[id], 0);
    else chi_square += (seen[id] - expected) * (seen[id] - expected) / expected;
  }
  assert_true(chi_square < 65.2); /* 31 degrees of freedom: exceeded once in 3,000 */
}

static void a_vocabulary_with_one_ordinary_id_draws_it(void **state) {
  (void)state;
  ath_batch_options options = options_with(1.0);
  options.mask_replace_prob = 0.0;
  options.random_replace_prob = 1.0;
  memset(special, 1, sizeof special);
  special[29000] = 0;
  int32_t ids[] = {29000, 29000}, mask[] = {1, 1}, columns[2], labels[2];
  assert_int_equal(ath_mask_tokens(&options, 0, 0, ids, mask, 2, columns, labels), 2);
  assert_int_equal(ids[0], 29000);
  assert_int_equal(ids[1], 29000);
}

static int count_equal(const int32_t *a, const int32_t *b) {
  int equal = 0;
  for (int i = 0; i < LENGTH; i++) equal += a[i] == b[i];
  return equal;
}

static void masks_depend_on_seed_epoch_and_sample_only(void **state) {
  (void)state;
  ath_batch_options options = options_with(0.15);
  int32_t first[LENGTH], again[LENGTH], mask[LENGTH], columns[LENGTH], labels[LENGTH];
  const struct { uint64_t seed, sample; uint32_t epoch; int same; } cases[] = {
    {42, 7, 1, 1}, {43, 7, 1, 0}, {42, 8, 1, 0}, {42, 7, 2, 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int i = 0; i < LENGTH; i++) first[i] = again[i] = 1000, mask[i] = 1;
    options.seed = 42;
    ath_mask_tokens(&options, 1, 7, first, mask, LENGTH, columns, labels);
    options.seed = cases[c].seed;
    ath_mask_tokens(&options, cases[c].epoch, cases[c].sample, again, mask, LENGTH, columns,
                    labels);
    if (cases[c].same) assert_int_equal(count_equal(first, again), LENGTH);
    else assert_true(count_equal(first, again) < LENGTH - 50);
  }
}

static void places_for_chosen_positions_are_mean_plus_six_deviations(void **state) {
  (void)state;
  /* 32 x 128 at 0.15: 614.4 + 6 * sqrt(522.24) = 751.5, rounded up to 752. */
  assert_int_equal(ath_batch_positions(32, 128, 0.15, 1), 752);
  assert_int_equal(ath_batch_positions(1, 8, 0.15, 1), 8);
  assert_int_equal(ath_batch_positions(1, 13, 1.0, 1), 13);
  /* 8 groups of 4 x 128: 76.8 + 6 * sqrt(65.28) = 125.3, rounded up to 128. */
  assert_int_equal(ath_batch_positions(32, 128, 0.15, 8), 8 * 128);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_million_tokens_split_80_10_10),
    cmocka_unit_test(only_attended_ordinary_positions_are_chosen),
    cmocka_unit_test(random_words_are_uniform_over_ordinary_ids),
    cmocka_unit_test(a_vocabulary_with_one_ordinary_id_draws_it),
    cmocka_unit_test(masks_depend_on_seed_epoch_and_sample_only),
    cmocka_unit_test(places_for_chosen_positions_are_mean_plus_six_deviations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
