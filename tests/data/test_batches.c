/* test_batches.c: order, batching, prefetch, seeking: what reaches a training step. */
#include "testing.h"

#include <math.h>
#include <stdbool.h>

#include "athanor/dataset.h"
#include "base/random.h"
#include "shards.h"

enum { VOCAB = 100, MASK = 4, LENGTH = 16 };

static uint8_t special[VOCAB] = {1, 1, 1, 1, 1};

static ath_batch_options options_of(int batch_size) {
  return (ath_batch_options){.batch_size = batch_size, .shuffle = true, .seed = 42,
                             .mlm_probability = 0.15, .mask_replace_prob = 0.8,
                             .random_replace_prob = 0.1, .vocab_size = VOCAB, .mask_id = MASK,
                             .pad_id = 3, .special = special};
}

static char *folder;
static ath_dataset *data;

static void open_records(uint64_t count) {
  folder = make_folder();
  write_shards(folder, count, LENGTH, 100);
  assert_ok(ath_dataset_open(folder, &data));
}

static void close_records(void) {
  ath_dataset_close(data);
  remove_folder(folder);
}

/* Whether a row, its masks undone, is this record. */
static bool row_is_record(const ath_batch *batch, int row, uint64_t record) {
  int32_t original[LENGTH];
  memcpy(original, batch->input_ids + row * LENGTH, sizeof original);
  for (int64_t i = 0; i < batch->scored; i++)
    if (batch->positions[i] / LENGTH == row)
      original[batch->positions[i] % LENGTH] = batch->labels[i];
  for (int i = 0; i < LENGTH; i++)
    if (original[i] != (mask_of(record, i, LENGTH) ? token_of(record, i) : 3)) return false;
  return true;
}

static int64_t record_of_row(const ath_batch *batch, int row, uint64_t count) {
  for (uint64_t record = 0; record < count; record++)
    if (row_is_record(batch, row, record)) return (int64_t)record;
  return -1;
}

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

static void copy_batch(const ath_batch *from, ath_batch *to, int rows, int places) {
  size_t tokens = (size_t)rows * LENGTH * sizeof(int32_t), chosen = (size_t)places * 4;
  *to = *from;
  to->input_ids = memcpy(malloc(tokens), from->input_ids, tokens);
  to->attention_mask = memcpy(malloc(tokens), from->attention_mask, tokens);
  to->positions = memcpy(malloc(chosen), from->positions, chosen);
  to->labels = memcpy(malloc(chosen), from->labels, chosen);
  to->weights = memcpy(malloc(chosen), from->weights, chosen);
}

static void expect_same(const ath_batch *a, const ath_batch *b, int rows, int places) {
  assert_int_equal(a->number, b->number);
  assert_int_equal(a->epoch, b->epoch);
  assert_int_equal(a->samples, b->samples);
  assert_int_equal(a->scored, b->scored);
  assert_int_equal(a->tokens, b->tokens);
  assert_memory_equal(a->input_ids, b->input_ids, (size_t)rows * LENGTH * 4);
  assert_memory_equal(a->attention_mask, b->attention_mask, (size_t)rows * LENGTH * 4);
  assert_memory_equal(a->positions, b->positions, (size_t)places * 4);
  assert_memory_equal(a->labels, b->labels, (size_t)places * 4);
  assert_memory_equal(a->weights, b->weights, (size_t)places * 4);
}

static void free_batch(ath_batch *batch) {
  free(batch->input_ids);
  free(batch->attention_mask);
  free(batch->positions);
  free(batch->labels);
  free(batch->weights);
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

/* --- the permutation behind the order ------------------------------------------------------- */

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
    cmocka_unit_test(the_last_batch_is_padded_and_every_row_comes_once),
    cmocka_unit_test(an_epoch_holds_every_record_once_in_an_order_of_its_own),
    cmocka_unit_test(seeking_continues_exactly_where_an_unbroken_run_would_be),
    cmocka_unit_test(a_records_masks_do_not_depend_on_the_batch_size),
    cmocka_unit_test(evaluation_masks_are_the_same_in_every_pass),
    cmocka_unit_test(positions_that_do_not_fit_are_left_unmasked),
    cmocka_unit_test(a_groups_places_hold_positions_of_its_own_rows),
    cmocka_unit_test(what_does_not_fit_into_a_group_is_left_unmasked_there),
    cmocka_unit_test(an_id_outside_the_vocabulary_names_its_record),
    cmocka_unit_test(shares_of_several_processes_make_up_the_batch_to_the_bit),
    cmocka_unit_test(options_out_of_range_are_refused),
    cmocka_unit_test(the_permutation_is_a_bijection_at_every_size),
    cmocka_unit_test(an_items_place_is_uniform_over_epochs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
