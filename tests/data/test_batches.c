/* test_batches.c: order, batching, prefetch, seeking: what reaches a training step. */
#include "batches_fixture.h"

/* Case I5: 8,551 rows in batches of 8 are 1,068 full ones and one of 7; 1,043 are 130 and one
 * of 3. Every row comes exactly once. */
static void the_last_batch_is_padded_and_every_row_comes_once(void **state) {
  (void)state;
  const struct { uint64_t rows; uint64_t batches; int last; } cases[] = {
    {8551, 1069, 7}, {1043, 131, 3}, {5, 1, 5}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    open_records(cases[c].rows);
    ath_batch_options options = options_of(8);
    options.shuffle = false;
    ath_batcher *batcher = NULL;
    assert_ok(ath_batcher_create(data, &options, &batcher));
    assert_int_equal(ath_batcher_per_epoch(batcher), cases[c].batches);
    uint64_t rows = 0;
    const ath_batch *batch = NULL;
    for (uint64_t b = 0; b < cases[c].batches; b++) {
      assert_ok(ath_batcher_next(batcher, &batch));
      assert_int_equal(batch->number, b);
      assert_int_equal(batch->samples, b + 1 < cases[c].batches ? 8 : cases[c].last);
      for (int row = 0; row < batch->samples; row++, rows++)
        assert_true(row_is_record(batch, row, rows));
    }
    assert_int_equal(rows, cases[c].rows);
    for (int i = cases[c].last * LENGTH; i < 8 * LENGTH; i++) {
      assert_int_equal(batch->attention_mask[i], 0);
      assert_int_equal(batch->input_ids[i], 3);
    }
    int places = ath_batch_positions(8, LENGTH, 0.15, 1);
    for (int i = 0; i < places; i++) {
      assert_true(batch->weights[i] == (i < batch->scored ? 1.0f : 0.0f));
      if (i >= batch->scored) assert_int_equal(batch->positions[i] + batch->labels[i], 0);
      else assert_true(batch->positions[i] < cases[c].last * LENGTH);
    }
    ath_batcher_destroy(batcher);
    close_records();
  }
}

static void an_epoch_holds_every_record_once_in_an_order_of_its_own(void **state) {
  (void)state;
  enum { COUNT = 90 };
  open_records(COUNT);
  ath_batch_options options = options_of(7);
  ath_batcher *batcher = NULL;
  assert_ok(ath_batcher_create(data, &options, &batcher));
  int64_t order[2][COUNT];
  for (int epoch = 0; epoch < 2; epoch++) {
    int seen[COUNT] = {0}, at = 0;
    for (uint64_t b = 0; b < ath_batcher_per_epoch(batcher); b++) {
      const ath_batch *batch = NULL;
      assert_ok(ath_batcher_next(batcher, &batch));
      assert_int_equal(batch->epoch, epoch);
      for (int row = 0; row < batch->samples; row++) {
        int64_t record = record_of_row(batch, row, COUNT);
        assert_in_range(record, 0, COUNT - 1);
        assert_int_equal(seen[record]++, 0);
        order[epoch][at++] = record;
      }
    }
    assert_int_equal(at, COUNT);
  }
  assert_memory_not_equal(order[0], order[1], sizeof order[0]);
  ath_batcher_destroy(batcher);
  close_records();
}

/* Case J3: 10 items, batches of 2, 3 epochs; from any step on, the batches are those of the
 * unbroken run. */
static void seeking_continues_exactly_where_an_unbroken_run_would_be(void **state) {
  (void)state;
  enum { STEPS = 15, ROWS = 2 };
  open_records(10);
  ath_batch_options options = options_of(ROWS);
  int places = ath_batch_positions(ROWS, LENGTH, 0.15, 1);
  ath_batch whole[STEPS];
  ath_batcher *batcher = NULL, *resumed = NULL;
  const ath_batch *batch = NULL;
  assert_ok(ath_batcher_create(data, &options, &batcher));
  for (int step = 0; step < STEPS; step++) {
    assert_ok(ath_batcher_next(batcher, &batch));
    copy_batch(batch, &whole[step], ROWS, places);
  }
  assert_ok(ath_batcher_create(data, &options, &resumed));
  for (int start = 0; start < STEPS; start++) {
    assert_ok(ath_batcher_seek(resumed, (uint64_t)start));
    for (int step = start; step < STEPS; step++) {
      assert_ok(ath_batcher_next(resumed, &batch));
      expect_same(batch, &whole[step], ROWS, places);
    }
  }
  for (int step = 0; step < STEPS; step++) free_batch(&whole[step]);
  ath_batcher_destroy(resumed);
  ath_batcher_destroy(batcher);
  close_records();
}

static void an_id_outside_the_vocabulary_names_its_record(void **state) {
  (void)state;
  open_records(10);
  ath_batch_options options = options_of(2);
  options.shuffle = false;
  options.vocab_size = 99; /* the shards go up to 99 */
  uint64_t record = 0;
  for (int found = 0; !found; record += !found)
    for (int i = 0; i < LENGTH; i++)
      found |= mask_of(record, i, LENGTH) && token_of(record, i) == 99;
  char part[64];
  snprintf(part, sizeof part, "record %llu: token", (unsigned long long)record);
  ath_batcher *batcher = NULL;
  const ath_batch *batch = NULL;
  assert_ok(ath_batcher_create(data, &options, &batcher));
  for (uint64_t b = 0; b < record / 2; b++) assert_ok(ath_batcher_next(batcher, &batch));
  for (int again = 0; again < 3; again++) {
    assert_fails(ath_batcher_next(batcher, &batch), ATH_INVALID, part);
    assert_non_null(strstr(ath_error_text(), "is id 99, but the vocabulary has 99"));
  }
  if (record >= 2) { /* the failure is not for ever: an earlier batch can be had */
    assert_ok(ath_batcher_seek(batcher, 0));
    assert_ok(ath_batcher_next(batcher, &batch));
  }
  ath_batcher_destroy(batcher);
  close_records();
}

/* What process `share` of `shares` holds of a batch, beside the whole batch. */
static void expect_share(const ath_batch *part, const ath_batch *whole, int share, int rows,
                         int places) {
  assert_int_equal(part->number, whole->number);
  assert_int_equal(part->epoch, whole->epoch);
  assert_int_equal(part->samples, whole->samples);
  size_t row = (size_t)(share * rows * LENGTH), place = (size_t)(share * places);
  assert_memory_equal(part->input_ids, whole->input_ids + row, (size_t)rows * LENGTH * 4);
  assert_memory_equal(part->attention_mask, whole->attention_mask + row,
                      (size_t)rows * LENGTH * 4);
  assert_memory_equal(part->positions, whole->positions + place, (size_t)places * 4);
  assert_memory_equal(part->labels, whole->labels + place, (size_t)places * 4);
  assert_memory_equal(part->weights, whole->weights + place, (size_t)places * 4);
}

/* Batches of 8 of 45 records, 4 groups: over the padded last batch of an epoch, whose last groups
 * have no record at all, and on into the next. */
static void shares_of_several_processes_make_up_the_batch_to_the_bit(void **state) {
  (void)state;
  enum { ROWS = 8, GROUPS = 4, BATCHES = 13 };
  open_records(45);
  int places = ath_batch_positions(ROWS, LENGTH, 0.15, GROUPS);
  for (int shares = 1; shares <= GROUPS; shares *= 2) {
    ath_batcher *one = NULL, *each[GROUPS] = {0};
    ath_batch_options options = options_of(ROWS);
    options.groups = GROUPS;
    assert_ok(ath_batcher_create(data, &options, &one));
    options.group_count = GROUPS / shares;
    for (int s = 0; s < shares; s++) {
      options.first_group = s * options.group_count;
      assert_ok(ath_batcher_create(data, &options, &each[s]));
      assert_int_equal(ath_batcher_per_epoch(each[s]), 6);
    }
    for (int b = 0; b < BATCHES; b++) {
      const ath_batch *whole, *part;
      int64_t scored = 0, tokens = 0, unscored = 0;
      assert_ok(ath_batcher_next(one, &whole));
      for (int s = 0; s < shares; s++) {
        assert_ok(ath_batcher_next(each[s], &part));
        expect_share(part, whole, s, ROWS / shares, places / shares);
        scored += part->scored;
        tokens += part->tokens;
        unscored += part->unscored;
      }
      assert_int_equal(scored, whole->scored);
      assert_int_equal(tokens, whole->tokens);
      assert_int_equal(unscored, whole->unscored);
    }
    ath_batcher_destroy(one);
    for (int s = 0; s < shares; s++) ath_batcher_destroy(each[s]);
  }
  close_records();
}

static void options_out_of_range_are_refused(void **state) {
  (void)state;
  open_records(3);
  ath_batcher *batcher = NULL;
  ath_batch_options options = options_of(0);
  assert_fails(ath_batcher_create(data, &options, &batcher), ATH_INVALID, "batch size 0");
  options = options_of(4);
  options.mlm_probability = 0.0;
  assert_fails(ath_batcher_create(data, &options, &batcher), ATH_INVALID, "mlm_probability is 0");
  options = options_of(4);
  options.random_replace_prob = 0.3;
  assert_fails(ath_batcher_create(data, &options, &batcher), ATH_INVALID, "together at most 1");
  options = options_of(4);
  options.groups = 3;
  assert_fails(ath_batcher_create(data, &options, &batcher), ATH_INVALID,
               "a batch of 4 cannot be cut into 3 equal groups");
  options = options_of(4);
  options.groups = 4;
  options.positions = 6;
  assert_fails(ath_batcher_create(data, &options, &batcher), ATH_INVALID,
               "6 places for chosen positions cannot be cut into 4 equal groups");
  options = options_of(4);
  options.groups = 2;
  options.first_group = 1;
  options.group_count = 2;
  assert_fails(ath_batcher_create(data, &options, &batcher), ATH_INVALID,
               "a share of 2 groups from group 1, and there are 2");
  options = options_of(4);
  options.mask_id = -1;
  assert_fails(ath_batcher_create(data, &options, &batcher), ATH_INVALID, "needs a mask token");
  options = options_of(4);
  options.pad_id = VOCAB;
  assert_fails(ath_batcher_create(data, &options, &batcher), ATH_INVALID, "padding token");
  options = options_of(4);
  assert_ok(ath_batcher_create(data, &options, &batcher));
  const ath_batch *batch = NULL;
  assert_ok(ath_batcher_seek(batcher, 65536));
  assert_fails(ath_batcher_next(batcher, &batch), ATH_INVALID, "epoch 65536");
  ath_batcher_destroy(batcher);
  close_records();
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_last_batch_is_padded_and_every_row_comes_once),
    cmocka_unit_test(an_epoch_holds_every_record_once_in_an_order_of_its_own),
    cmocka_unit_test(seeking_continues_exactly_where_an_unbroken_run_would_be),
    cmocka_unit_test(an_id_outside_the_vocabulary_names_its_record),
    cmocka_unit_test(shares_of_several_processes_make_up_the_batch_to_the_bit),
    cmocka_unit_test(options_out_of_range_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
