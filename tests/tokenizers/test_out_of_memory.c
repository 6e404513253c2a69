/* test_out_of_memory.c: every allocation of training, saving, loading, encoding and decoding fails
 * in turn. */
#include "failing_memory.h"

#include "athanor/tokenizer.h"
#include "base/buffer.h"
#include "storage/file.h"

static const char text[] =
    "the fox runs over the dog\nthe dog sleeps under the tree\n``the'' [MASK] fox\n"
    "a tree runs and a fox sleeps\nover and under and over\n";

static char *folder;
static char text_path[4200], tokenizer_path[4200];

static ath_status train(void *context) {
  ath_tokenizer *tokenizer = NULL;
  const char *path = context;
  ath_unigram_options options = ath_unigram_defaults();
  options.common.vocab_size = 40;
  options.common.threads = 1;
  ATH_TRY(ath_unigram_train(&path, 1, &options, &tokenizer, NULL));
  ath_status status = ath_tokenizer_save(tokenizer, tokenizer_path, 0);
  if (status == ATH_OK && ath_tokenizer_hash(tokenizer) == NULL) status = ATH_NO_MEMORY;
  ath_tokenizer_destroy(tokenizer);
  return status;
}

/* A word that the vocabulary lacks, and a special token: both have a text of their own. */
static ath_status use(const ath_tokenizer *tokenizer, ath_encoding *encoding, ath_buffer *out) {
  static const char line[] = "``the'' fox  Z\xC3\xA9 [MASK] runs under a tree";
  unsigned flags = ATH_ENCODE_SPECIAL | ATH_ENCODE_OFFSETS | ATH_ENCODE_TOKENS;
  unsigned shaped = flags | ATH_ENCODE_TYPES | ATH_ENCODE_WORDS | ATH_ENCODE_MASKS |
                    ATH_ENCODE_TRUNCATE | ATH_ENCODE_WINDOWS | ATH_ENCODE_REPAIR;
  ATH_TRY(ath_tokenizer_encode_pair(tokenizer, line, sizeof line - 1, "fox\xFF", 4, shaped,
                                    encoding));
  ATH_TRY(ath_tokenizer_pad(tokenizer, encoding, 1));
  ATH_TRY(ath_tokenizer_encode(tokenizer, line, sizeof line - 1, flags, encoding));
  return ath_tokenizer_decode(tokenizer, encoding->ids, encoding->length, 0, out);
}

/* Windows of nine tokens, filled up to twelve. */
static ath_status shape(ath_tokenizer *tokenizer) {
  ath_truncation truncation = {.max_length = 9, .stride = 1};
  ath_padding padding = {.length = 12, .token = "<pad>"};
  ATH_TRY(ath_tokenizer_set_truncation(tokenizer, &truncation));
  return ath_tokenizer_set_padding(tokenizer, &padding);
}

static ath_status load_and_use(void *context) {
  ath_tokenizer *tokenizer = NULL;
  ATH_TRY(ath_tokenizer_load(context, &tokenizer));
  ath_encoding encoding = {0};
  ath_buffer out = ath_buffer_make(1 << 16);
  ath_status status = shape(tokenizer);
  if (status == ATH_OK) status = use(tokenizer, &encoding, &out);
  ath_encoding_free(&encoding);
  ath_buffer_free(&out);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

/* A call that failed for want of memory leaves the encoding fit for the next one. */
static void an_encoding_is_of_use_after_a_failure(void **state) {
  (void)state;
  ath_tokenizer *tokenizer = NULL;
  ath_encoding good = {0};
  ath_buffer expected = ath_buffer_make(1 << 16);
  assert_ok(ath_tokenizer_load(tokenizer_path, &tokenizer));
  assert_ok(use(tokenizer, &good, &expected));
  int failures = 0;
  for (long n = 0; n < 1000; n++) {
    ath_encoding encoding = {0};
    ath_buffer out = ath_buffer_make(1 << 16);
    allocations_until_failure = n;
    ath_status status = use(tokenizer, &encoding, &out);
    allocations_until_failure = -1;
    failures += status != ATH_OK;
    ath_buffer_clear(&out);
    assert_ok(use(tokenizer, &encoding, &out));
    assert_int_equal(encoding.length, good.length);
    assert_memory_equal(encoding.ids, good.ids, good.length * sizeof *good.ids);
    assert_string_equal(out.bytes, expected.bytes);
    ath_encoding_free(&encoding);
    ath_buffer_free(&out);
    if (status == ATH_OK) break;
  }
  assert_in_range(failures, 5, 999);
  ath_encoding_free(&good);
  ath_buffer_free(&expected);
  ath_tokenizer_destroy(tokenizer);
}

static ath_status train_bpe(void *path) {
  const char *paths[] = {path};
  ath_bpe_options options = ath_bpe_defaults();
  options.common.vocab_size = 300;
  options.common.threads = 1;
  ath_tokenizer *tokenizer = NULL;
  ATH_TRY(ath_bpe_train(paths, 1, &options, &tokenizer, NULL));
  ath_tokenizer_destroy(tokenizer);
  return ATH_OK;
}

static ath_status train_wordpiece(void *path) {
  const char *paths[] = {path};
  ath_wordpiece_options options = ath_wordpiece_defaults();
  options.common.vocab_size = 80;
  options.common.threads = 1;
  ath_tokenizer *tokenizer = NULL;
  ATH_TRY(ath_wordpiece_train(paths, 1, &options, &tokenizer, NULL));
  ath_tokenizer_destroy(tokenizer);
  return ATH_OK;
}

static ath_status train_wordlevel(void *path) {
  const char *paths[] = {path};
  ath_wordlevel_options options = ath_wordlevel_defaults();
  options.common.threads = 1;
  ath_tokenizer *tokenizer = NULL;
  ATH_TRY(ath_wordlevel_train(paths, 1, &options, &tokenizer, NULL));
  ath_tokenizer_destroy(tokenizer);
  return ATH_OK;
}

static void training_reports_every_allocation_that_fails(void **state) {
  (void)state;
  assert_true(fail_each_allocation(train, text_path) > 40);
  assert_true(fail_each_allocation(train_bpe, text_path) > 40);
  assert_true(fail_each_allocation(train_wordpiece, text_path) > 40);
  assert_true(fail_each_allocation(train_wordlevel, text_path) > 20);
}

static void loading_and_use_report_every_allocation_that_fails(void **state) {
  (void)state;
  assert_true(fail_each_allocation(load_and_use, tokenizer_path) > 20);
}

static int setup(void **state) {
  (void)state;
  folder = make_folder();
  snprintf(text_path, sizeof text_path, "%s/text.txt", folder);
  snprintf(tokenizer_path, sizeof tokenizer_path, "%s/tokenizer", folder);
  assert_ok(ath_file_write(text_path, text, sizeof text - 1));
  assert_ok(train(text_path));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(training_reports_every_allocation_that_fails),
    cmocka_unit_test(loading_and_use_report_every_allocation_that_fails),
    cmocka_unit_test(an_encoding_is_of_use_after_a_failure),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
