/* test_batch_masks.c: which tokens of a batch are masked: the same whatever the batch, in groups of
 * their own, and no more than fit. */
#include "batches_fixture.h"

/* A record's masked form is the same in a batch of 3 as in one of 8. */
static void a_records_masks_do_not_depend_on_the_batch_size(void **state) {
  (void)state;
  enum { COUNT = 48 };
  open_records(COUNT);
  int32_t rows[2][COUNT][LENGTH];
  const int sizes[] = {3, 8};
  for (int s = 0; s < 2; s++) {
    ath_batch_options options = options_of(sizes[s]);
    options.positions = sizes[s] * LENGTH; /* room for all, so that none is put back */
    ath_batcher *batcher = NULL;
    assert_ok(ath_batcher_create(data, &options, &batcher));
    for (int at = 0; at < COUNT;) {
      const ath_batch *batch = NULL;
      assert_ok(ath_batcher_next(batcher, &batch));
      for (int row = 0; row < batch->samples; row++, at++)
        memcpy(rows[s][at], batch->input_ids + row * LENGTH, sizeof rows[s][at]);
    }
    ath_batcher_destroy(batcher);
  }
  assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
  close_records();
}

/* Case I6. */
static void evaluation_masks_are_the_same_in_every_pass(void **state) {
  (void)state;
  enum { ROWS = 4 };
  open_records(10);
  ath_batch_options options = options_of(ROWS);
  options.shuffle = false;
  options.fixed_masks = true;
  int places = ath_batch_positions(ROWS, LENGTH, 0.15, 1);
  ath_batcher *batcher = NULL;
  assert_ok(ath_batcher_create(data, &options, &batcher));
  ath_batch first[3];
  const ath_batch *batch = NULL;
  for (int i = 0; i < 3; i++) {
    assert_ok(ath_batcher_next(batcher, &batch));
    copy_batch(batch, &first[i], ROWS, places);
  }
  for (int i = 0; i < 3; i++) {
    assert_ok(ath_batcher_next(batcher, &batch));
    first[i].number += 3;
    first[i].epoch = 1;
    expect_same(batch, &first[i], ROWS, places);
    free_batch(&first[i]);
  }
  ath_batcher_destroy(batcher);
  close_records();
}

/* With too few places the last chosen positions are restored, and counted. */
static void positions_that_do_not_fit_are_left_unmasked(void **state) {
  (void)state;
  open_records(4);
  ath_batch_options options = options_of(4);
  options.mlm_probability = 1.0;
  options.shuffle = false;
  options.positions = 20;
  ath_batcher *batcher = NULL;
  const ath_batch *batch = NULL;
  assert_ok(ath_batcher_create(data, &options, &batcher));
  assert_ok(ath_batcher_next(batcher, &batch));
  /* Rows of 16 with [CLS] in front and 0, 1, 2, 0 paddings: 15 + 14 + 13 + 15 choosable. */
  assert_int_equal(batch->scored, 20);
  assert_int_equal(batch->unscored, 15 + 14 + 13 + 15 - 20);
  assert_int_equal(batch->tokens, 16 + 15 + 14 + 16);
  int last = batch->positions[19];
  for (int i = 1; i < 20; i++) assert_true(batch->positions[i] > batch->positions[i - 1]);
  for (int at = last + 1; at < 4 * LENGTH; at++) {
    uint64_t record = (uint64_t)at / LENGTH;
    int column = at % LENGTH;
    assert_int_equal(batch->input_ids[at],
                     mask_of(record, column, LENGTH) ? token_of(record, column) : 3);
  }
  ath_batcher_destroy(batcher);
  close_records();
}

/* 8 rows in 1, 2, 4 and 8 groups, the last batch padded: the same rows, the same chosen positions
 * in the same order, each group's in its own rows and its own places. */
static void a_groups_places_hold_positions_of_its_own_rows(void **state) {
  (void)state;
  enum { ROWS = 8, PLACES = 64 };
  open_records(13);
  for (int groups = 1; groups <= ROWS; groups *= 2) {
    ath_batch_options one = options_of(ROWS), cut = options_of(ROWS);
    ath_batcher *whole = NULL, *grouped = NULL;
    const ath_batch *a = NULL, *b = NULL;
    one.positions = cut.positions = PLACES;
    cut.groups = groups;
    assert_ok(ath_batcher_create(data, &one, &whole));
    assert_ok(ath_batcher_create(data, &cut, &grouped));
    for (int step = 0; step < 4; step++) {
      assert_ok(ath_batcher_next(whole, &a));
      assert_ok(ath_batcher_next(grouped, &b));
      assert_int_equal(b->unscored, 0);
      assert_int_equal(a->scored, b->scored);
      assert_memory_equal(a->input_ids, b->input_ids, sizeof(int32_t) * ROWS * LENGTH);
      int64_t seen = 0;
      for (int i = 0; i < PLACES; i++) {
        int group = i / (PLACES / groups), rows = ROWS / groups;
        assert_int_equal(b->positions[i] / LENGTH / rows, group);
        if (b->weights[i] == 0) {
          assert_int_equal(b->positions[i], group * rows * LENGTH);
          assert_int_equal(b->labels[i], 0);
          continue;
        }
        assert_int_equal(b->positions[i], a->positions[seen]);
        assert_int_equal(b->labels[i], a->labels[seen++]);
      }
      assert_int_equal(seen, b->scored);
    }
    ath_batcher_destroy(whole);
    ath_batcher_destroy(grouped);
  }
  close_records();
}

/* The first group's rows have 15 + 14 choosable positions and 20 places, the second's 13 + 15. */
static void what_does_not_fit_into_a_group_is_left_unmasked_there(void **state) {
  (void)state;
  open_records(4);
  ath_batch_options options = options_of(4);
  options.mlm_probability = 1.0;
  options.shuffle = false;
  options.positions = 40;
  options.groups = 2;
  ath_batcher *batcher = NULL;
  const ath_batch *batch = NULL;
  assert_ok(ath_batcher_create(data, &options, &batcher));
  assert_ok(ath_batcher_next(batcher, &batch));
  assert_int_equal(batch->scored, 40);
  assert_int_equal(batch->unscored, 15 + 14 - 20 + 13 + 15 - 20);
  for (int at = batch->positions[19] + 1; at < 2 * LENGTH; at++)
    assert_int_equal(batch->input_ids[at], mask_of(1, at % LENGTH, LENGTH)
                                               ? token_of(1, at % LENGTH)
                                               : 3);
  assert_true(batch->positions[20] > 2 * LENGTH && batch->positions[20] < 3 * LENGTH);
  ath_batcher_destroy(batcher);
  close_records();
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_records_masks_do_not_depend_on_the_batch_size),
    cmocka_unit_test(evaluation_masks_are_the_same_in_every_pass),
    cmocka_unit_test(positions_that_do_not_fit_are_left_unmasked),
    cmocka_unit_test(a_groups_places_hold_positions_of_its_own_rows),
    cmocka_unit_test(what_does_not_fit_into_a_group_is_left_unmasked_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
