/* batches_fixture.h: a dataset of so many records, and batches beside what they should be. */
#ifndef ATHANOR_TESTS_DATA_BATCHES_FIXTURE_H
#define ATHANOR_TESTS_DATA_BATCHES_FIXTURE_H

#include "testing.h"

#include <stdbool.h>

#include "athanor/dataset.h"
#include "shards.h"

enum { VOCAB = 100, MASK = 4, LENGTH = 16 };

static uint8_t special[VOCAB] = {1, 1, 1, 1, 1};

static inline ath_batch_options options_of(int batch_size) {
  return (ath_batch_options){.batch_size = batch_size, .shuffle = true, .seed = 42,
                             .mlm_probability = 0.15, .mask_replace_prob = 0.8,
                             .random_replace_prob = 0.1, .vocab_size = VOCAB, .mask_id = MASK,
                             .pad_id = 3, .special = special};
}

static char *folder;
static ath_dataset *data;

static inline void open_records(uint64_t count) {
  folder = make_folder();
  write_shards(folder, count, LENGTH, 100);
  assert_ok(ath_dataset_open(folder, &data));
}

static inline void close_records(void) {
  ath_dataset_close(data);
  remove_folder(folder);
}

/* Whether a row, its masks undone, is this record. */
static inline bool row_is_record(const ath_batch *batch, int row, uint64_t record) {
  int32_t original[LENGTH];
  memcpy(original, batch->input_ids + row * LENGTH, sizeof original);
  for (int64_t i = 0; i < batch->scored; i++)
    if (batch->positions[i] / LENGTH == row)
      original[batch->positions[i] % LENGTH] = batch->labels[i];
  for (int i = 0; i < LENGTH; i++)
    if (original[i] != (mask_of(record, i, LENGTH) ? token_of(record, i) : 3)) return false;
  return true;
}

static inline int64_t record_of_row(const ath_batch *batch, int row, uint64_t count) {
  for (uint64_t record = 0; record < count; record++)
    if (row_is_record(batch, row, record)) return (int64_t)record;
  return -1;
}

static inline void copy_batch(const ath_batch *from, ath_batch *to, int rows, int places) {
  size_t tokens = (size_t)rows * LENGTH * sizeof(int32_t), chosen = (size_t)places * 4;
  *to = *from;
  to->input_ids = memcpy(malloc(tokens), from->input_ids, tokens);
  to->attention_mask = memcpy(malloc(tokens), from->attention_mask, tokens);
  to->positions = memcpy(malloc(chosen), from->positions, chosen);
  to->labels = memcpy(malloc(chosen), from->labels, chosen);
  to->weights = memcpy(malloc(chosen), from->weights, chosen);
}

static inline void expect_same(const ath_batch *a, const ath_batch *b, int rows, int places) {
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

static inline void free_batch(ath_batch *batch) {
  free(batch->input_ids);
  free(batch->attention_mask);
  free(batch->positions);
  free(batch->labels);
  free(batch->weights);
}

#endif
