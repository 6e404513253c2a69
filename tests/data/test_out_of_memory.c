/* test_out_of_memory.c: every allocation of preparing, opening and batching fails in turn. */
#include "failing_memory.h"

#include <sys/stat.h>

#include "prepare_fixture.h"
#include "shards.h"

static char *folder;
static ath_tokenizer *tokenizer;

static int setup(void **state) {
  (void)state;
  folder = make_folder();
  tokenizer = small_tokenizer(0);
  write_text(in_folder(folder, "text.txt"), 0, 200);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  ath_tokenizer_destroy(tokenizer);
  remove_folder(folder);
  return 0;
}

/* Whether by pieces, where the most is kept of each line. */
static ath_deduplicate deduplicate;

static ath_status prepare(void *context) {
  const char *inputs[] = {in_folder(folder, "text.txt")};
  ath_prepare_options options = ath_prepare_defaults();
  options.inputs = inputs;
  options.input_count = 1;
  options.output = context;
  options.max_length = 32;
  options.threads = 1;
  options.overwrite = true;
  options.deduplicate = deduplicate;
  return ath_prepare(tokenizer, &options, NULL);
}

static ath_status open_and_batch(void *context) {
  ath_dataset *data = NULL;
  ath_batcher *batcher = NULL;
  const ath_batch *batch = NULL;
  ATH_TRY(ath_dataset_open(context, &data));
  ath_batch_options options = ath_batch_defaults(tokenizer);
  options.vocab_size = 100; /* of the shards, not of the tokenizer */
  ath_status status = ath_batcher_create(data, &options, &batcher);
  if (status == ATH_OK) status = ath_batcher_next(batcher, &batch);
  if (status == ATH_OK) status = ath_dataset_verify(data);
  ath_batcher_destroy(batcher);
  ath_dataset_close(data);
  return status;
}

static void preparing_reports_every_allocation_that_fails(void **state) {
  (void)state;
  char output[4200];
  snprintf(output, sizeof output, "%s/out", folder);
  assert_true(fail_each_allocation(prepare, output) > 20);
}

static void preparing_by_pieces_reports_every_allocation_that_fails(void **state) {
  deduplicate = ATH_DEDUPLICATE_NEAR;
  preparing_reports_every_allocation_that_fails(state);
  deduplicate = ATH_DEDUPLICATE_NONE;
}

/* With the index in place: one that cannot be saved is no fault, so its memory is no fault. */
static void reading_reports_every_allocation_that_fails(void **state) {
  (void)state;
  char shards[4200];
  snprintf(shards, sizeof shards, "%s/shards", folder);
  assert_int_equal(mkdir(shards, 0777), 0);
  write_shards(shards, 20, 16, 10);
  assert_ok(open_and_batch(shards));
  assert_true(fail_each_allocation(open_and_batch, shards) > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(preparing_reports_every_allocation_that_fails),
    cmocka_unit_test(preparing_by_pieces_reports_every_allocation_that_fails),
    cmocka_unit_test(reading_reports_every_allocation_that_fails),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
