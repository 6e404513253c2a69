/* test_train_unigram.c: training of a Unigram tokenizer from files: what it refuses, what it leaves
 * out, and that the same text always gives the same bytes. */
#include <stdbool.h>

#include "athanor/tokenizer.h"
#include "base/buffer.h"
#include "base/log.h"
#include "base/random.h"
#include "storage/file.h"
#include "testing.h"
#include "tokenizers/trainers/word_count.h"
#include "unigram_testing.h"

static char *folder;

static int open_folder(void **state) {
  (void)state;
  folder = make_folder();
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  remove_folder(folder);
  ath_log_set_sink(NULL);
  return 0;
}

/* What the library logged, joined. */
static char logged[16384];

static void keep_message(void *context, ath_log_level level, const char *text) {
  (void)context, (void)level;
  size_t used = strlen(logged);
  snprintf(logged + used, sizeof logged - used, "%s\n", text);
}

static void start_logging(void) {
  logged[0] = '\0';
  ath_log_set_sink(&(ath_log_sink){.message = keep_message});
}

static const char *text_file(const char *name, const char *text, size_t length) {
  const char *path = in_folder(folder, name);
  assert_ok(ath_file_write(path, text, length));
  return path;
}

static ath_status train(const char *text, size_t length, int32_t vocab_size, int threads,
                        ath_tokenizer **out, ath_training_report *report) {
  const char *path = text_file("text", text, length);
  ath_unigram_options options = ath_unigram_defaults();
  options.common.vocab_size = vocab_size;
  options.common.threads = threads;
  return ath_unigram_train(&path, 1, &options, out, report);
}

/* Words of a language of syllables: enough for pruning to happen. */
static ath_buffer random_text(uint32_t seed, int lines) {
  static const char *const syllables[] = {"ka", "ri", "mo", "té", "sun", "ing", "er", "o",
                                          "na",  "lo", "über", "st", "de", "pra", "zu", "-x"};
  ath_buffer text = ath_buffer_make(1 << 22);
  for (uint32_t line = 0; line < (uint32_t)lines; line++)
    for (uint32_t word = 0; word < 12; word++) {
      uint32_t bits[4];
      ath_random(seed, ATH_RANDOM_SHUFFLE, 0, line, word, bits);
      uint32_t root = ath_below(bits[0], 1 + ath_below(bits[1], 200)); /* small ones more often */
      for (uint32_t left = root * 21 + 5; left > 0; left /= 16)
        assert_ok(ath_buffer_string(&text, syllables[left % 16]));
      assert_ok(ath_buffer_string(&text, word < 11 ? " " : "\n"));
    }
  return text;
}

static ath_buffer saved(const char *text, size_t length, int32_t vocab_size, int threads) {
  ath_tokenizer *tokenizer;
  assert_ok(train(text, length, vocab_size, threads, &tokenizer, NULL));
  assert_ok(ath_tokenizer_save(tokenizer, folder, 0));
  ath_tokenizer_destroy(tokenizer);
  ath_buffer bytes = ath_buffer_make(1 << 24);
  assert_ok(ath_file_read(in_folder(folder, "tokenizer.json"), &bytes));
  return bytes;
}

static void assert_same(const ath_buffer *a, const ath_buffer *b) {
  assert_int_equal(a->length, b->length);
  assert_memory_equal(a->bytes, b->bytes, a->length);
}

static void the_result_does_not_depend_on_threads_or_the_run(void **state) {
  (void)state;
  ath_buffer text = random_text(1, 400);
  ath_buffer first = saved(text.bytes, text.length, 90, 1);
  const int threads[] = {1, 2, 3, 7};
  for (int i = 0; i < 4; i++) {
    ath_buffer other = saved(text.bytes, text.length, 90, threads[i]);
    assert_same(&first, &other);
    ath_buffer_free(&other);
  }
  ath_buffer_free(&first);
  ath_buffer_free(&text);
}

static void the_result_does_not_depend_on_the_order_of_lines(void **state) {
  (void)state;
  ath_buffer text = random_text(2, 200), turned = ath_buffer_make(1 << 22);
  for (size_t end = text.length; end > 0;) {
    size_t begin = end - 1;
    while (begin > 0 && text.bytes[begin - 1] != '\n') begin--;
    assert_ok(ath_buffer_append(&turned, text.bytes + begin, end - begin));
    end = begin;
  }
  ath_buffer a = saved(text.bytes, text.length, 80, 2);
  ath_buffer b = saved(turned.bytes, turned.length, 80, 2);
  assert_same(&a, &b);
  ath_buffer_free(&a);
  ath_buffer_free(&b);
  ath_buffer_free(&text);
  ath_buffer_free(&turned);
}

/* Bug reports: tokenizers#903, #1794: equal scores swap from run to run. */
static void the_reported_words_give_the_same_bytes_four_times(void **state) {
  (void)state;
  ath_buffer text = ath_buffer_make(4096);
  const struct { const char *word; int count; } words[] = {
      {"hug", 10}, {"pug", 5}, {"pun", 12}, {"bun", 4}, {"hugs", 5}};
  for (int w = 0; w < 5; w++)
    for (int i = 0; i < words[w].count; i++)
      assert_ok(ath_buffer_format(&text, "%s\n", words[w].word));
  ath_buffer first = saved(text.bytes, text.length, 16, 2);
  for (int run = 0; run < 3; run++) {
    ath_buffer other = saved(text.bytes, text.length, 16, 2);
    assert_same(&first, &other);
    ath_buffer_free(&other);
  }
  ath_buffer_free(&first);
  ath_buffer_free(&text);
}

static void a_trained_tokenizer_has_the_size_asked_for(void **state) {
  (void)state;
  ath_buffer text = random_text(3, 400);
  ath_tokenizer *tokenizer;
  ath_training_report report;
  assert_ok(train(text.bytes, text.length, 100, 2, &tokenizer, &report));
  assert_int_equal(ath_tokenizer_size(tokenizer), 100);
  assert_int_equal(report.vocab_size, 100);
  assert_int_equal(report.lines, 400);
  assert_int_equal(report.bytes, text.length);
  ath_tokenizer_destroy(tokenizer);
  ath_buffer_free(&text);
}

/* The report's tokens per word, counted again with the tokenizer itself. */
static void the_report_tells_what_encoding_gives(void **state) {
  (void)state;
  ath_buffer text = random_text(4, 100);
  ath_tokenizer *tokenizer;
  ath_training_report report;
  assert_ok(train(text.bytes, text.length, 70, 1, &tokenizer, &report));
  ath_encoding encoding = {0};
  size_t tokens = 0, lines = 0;
  for (char *line = text.bytes, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    assert_ok(ath_tokenizer_encode(tokenizer, line, (size_t)(end - line), 0, &encoding));
    tokens += encoding.length;
    lines++;
  }
  assert_near(report.tokens_per_word, (double)tokens / (double)(lines * 12), 1e-12, 0);
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(tokenizer);
  ath_buffer_free(&text);
}

static void special_tokens_have_the_first_ids_and_score_0(void **state) {
  (void)state;
  ath_buffer text = random_text(5, 100);
  ath_buffer json = saved(text.bytes, text.length, 60, 1);
  ath_tokenizer *tokenizer;
  assert_ok(ath_tokenizer_load(folder, &tokenizer));
  const char *const specials[] = {"[CLS]", "[SEP]", "<unk>", "<pad>", "[MASK]"};
  for (int id = 0; id < 5; id++)
    assert_string_equal(ath_tokenizer_token(tokenizer, id), specials[id]);
  assert_non_null(strstr(json.bytes, "\"vocab\""));
  ath_tokenizer_destroy(tokenizer);
  ath_buffer_free(&json);
  ath_buffer_free(&text);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void a_vocabulary_too_small_for_the_alphabet_names_the_least(void **state) {
  (void)state;
  const char *text = "abc abd aé\n"; /* a b c d é ▁ and five special tokens */
  ath_tokenizer *tokenizer = NULL;
  assert_fails(train(text, strlen(text), 10, 1, &tokenizer, NULL), ATH_INVALID, "at least 11");
  assert_ok(train(text, strlen(text), 11, 1, &tokenizer, NULL));
  assert_int_equal(ath_tokenizer_size(tokenizer), 11);
  ath_tokenizer_destroy(tokenizer);
}

static void text_that_is_not_utf8_is_refused_with_its_place(void **state) {
  (void)state;
  ath_tokenizer *tokenizer = NULL;
  const char text[] = "good line\nsecond \xFF line\n";
  assert_fails(train(text, sizeof text - 1, 50, 1, &tokenizer, NULL), ATH_INVALID, "line 2");
  assert_non_null(strstr(ath_error_text(), "byte 17"));
  assert_non_null(strstr(ath_error_text(), in_folder(folder, "text")));
}

static void files_that_are_missing_or_empty_are_refused_by_name(void **state) {
  (void)state;
  ath_tokenizer *tokenizer = NULL;
  ath_unigram_options options = ath_unigram_defaults();
  const char *missing = in_folder(folder, "missing");
  assert_fails(ath_unigram_train(&missing, 1, &options, &tokenizer, NULL), ATH_NOT_FOUND,
               "missing");
  assert_fails(ath_unigram_train(&missing, 0, &options, &tokenizer, NULL), ATH_USAGE, "no text");
  assert_fails(train("", 0, 50, 1, &tokenizer, NULL), ATH_INVALID, "no text in");
  assert_fails(train("\n\r\n\n", 4, 50, 1, &tokenizer, NULL), ATH_INVALID, "no text in");
  assert_fails(train("\0\n\n\0a\0\n", 7, 50, 1, &tokenizer, NULL), ATH_INVALID,
               "no text in this file: 2 of 3 lines were skipped for NUL");
}

static void options_out_of_range_are_refused(void **state) {
  (void)state;
  ath_tokenizer *tokenizer = NULL;
  const char *path = text_file("text", "a b\n", 4);
#define REFUSED(field, value, part)                                                              \
  do {                                                                                           \
    ath_unigram_options options = ath_unigram_defaults();                                        \
    options.field = value;                                                                       \
    assert_fails(ath_unigram_train(&path, 1, &options, &tokenizer, NULL), ATH_USAGE, part);      \
  } while (0)
  REFUSED(common.vocab_size, 5, "must be 6 to 16777216");
  REFUSED(common.vocab_size, (1 << 24) + 1, "must be 6 to");
  REFUSED(shrinking_factor, 1.0, "between 0 and 1");
  REFUSED(sub_iterations, 0, "EM rounds");
  REFUSED(seed_size, 0, "seed pieces");
  REFUSED(seed_size, 20000000, "seed pieces");
  REFUSED(max_token_length, 32, "1 to 31");
  REFUSED(common.max_word_length, 0, "words of up to");
  REFUSED(common.threads, -1, "threads");
  REFUSED(common.threads, 1025, "threads");
#undef REFUSED
}

/* --- what is left out ------------------------------------------------------------------------ */

static void more_than_the_text_gives_is_said_and_not_invented(void **state) {
  (void)state;
  const char *text = "hug pug pun bun hugs mud cup bud cut gut\n";
  ath_tokenizer *tokenizer = NULL;
  ath_training_report report;
  start_logging();
  assert_ok(train(text, strlen(text), 1000, 1, &tokenizer, &report));
  assert_true(report.vocab_size > 16 && report.vocab_size < 60);
  assert_int_equal(ath_tokenizer_size(tokenizer), report.vocab_size);
  char part[64];
  snprintf(part, sizeof part, "vocabulary of %d, not the 1000", (int)report.vocab_size);
  assert_non_null(strstr(logged, part));
  ath_tokenizer_destroy(tokenizer);
}

static void special_tokens_in_the_text_are_not_learned_from(void **state) {
  (void)state;
  const char *text = "a[MASK]b [MASK] <unk> ab\n[CLS][MASK]ab\n";
  ath_tokenizer *tokenizer = NULL;
  ath_training_report report;
  assert_ok(train(text, strlen(text), 100, 1, &tokenizer, &report));
  for (int32_t id = 5; id < ath_tokenizer_size(tokenizer); id++)
    assert_null(strpbrk(ath_tokenizer_token(tokenizer, id), "[]<>MASKunk"));
  assert_int_equal(ath_tokenizer_id(tokenizer, "[MASK]"), 4);
  ath_tokenizer_destroy(tokenizer);
}

static void lines_end_at_lf_crlf_and_lone_cr_only(void **state) {
  (void)state;
  const char *text = "a\xE2\x80\xA8" "b\xE2\x80\xA9" "c\xC2\x85" "d\x0B" "e\nf\r\ng\rh";
  ath_tokenizer *tokenizer = NULL;
  ath_training_report report;
  assert_ok(train(text, strlen(text), 100, 1, &tokenizer, &report));
  assert_int_equal(report.lines, 4);
  assert_int_equal(report.distinct_words, 4);
  assert_int_equal(ath_tokenizer_id(tokenizer, "\r"), -1);
  assert_true(ath_tokenizer_id(tokenizer, "\xE2\x80\xA8") >= 5);
  ath_tokenizer_destroy(tokenizer);
}

static void lines_with_nul_are_skipped_and_logged(void **state) {
  (void)state;
  const char text[] = "ab\nx\0y\nab\n";
  ath_tokenizer *tokenizer = NULL;
  ath_training_report report;
  start_logging();
  assert_ok(train(text, sizeof text - 1, 100, 1, &tokenizer, &report));
  assert_int_equal(report.lines, 3);
  assert_int_equal(report.lines_skipped, 1);
  assert_non_null(strstr(logged, "line 2 is skipped"));
  assert_int_equal(ath_tokenizer_id(tokenizer, "x"), -1);
  ath_tokenizer_destroy(tokenizer);
}

/* --- the list of words ------------------------------------------------------------------------ */

static ath_word_list count_words(const char *text, size_t max_word_length, size_t maximum) {
  const char *path = text_file("words", text, strlen(text));
  ath_tokenizer *cutter;
  assert_ok(unigram_of(NULL, 0, &cutter));
  ath_word_list list;
  ath_training_report report = {0};
  ath_word_limits limits = {max_word_length, maximum, 2, NULL};
  assert_ok(ath_word_count_files(&path, 1, cutter, &limits, &list, &report));
  assert_int_equal(report.distinct_words, list.count);
  ath_tokenizer_destroy(cutter);
  return list;
}

static uint64_t count_of(const ath_word_list *list, const char *word) {
  for (size_t w = 0; w < list->count; w++)
    if (strcmp(list->text + list->starts[w], word) == 0) return list->counts[w];
  return 0;
}

static void words_are_counted_as_the_model_sees_them(void **state) {
  (void)state;
  ath_word_list list = count_words("a b  ``a''\nb a", 4096, 4 << 20);
  assert_int_equal(count_of(&list, "▁a"), 2);
  assert_int_equal(count_of(&list, "▁b"), 2);
  assert_int_equal(count_of(&list, "▁"), 1);
  assert_int_equal(count_of(&list, "▁\"a\""), 1);
  assert_int_equal(list.count, 4);
  assert_int_equal(list.total, 6);
  ath_word_list_free(&list);
}

static void long_words_are_cut_not_swallowed(void **state) {
  (void)state;
  start_logging();
  ath_word_list list = count_words("éééééaa", 3, 4 << 20);
  assert_int_equal(count_of(&list, "▁éé"), 1);
  assert_int_equal(count_of(&list, "ééé"), 1);
  assert_int_equal(count_of(&list, "aa"), 1);
  assert_int_equal(list.count, 3);
  assert_non_null(strstr(logged, "more than 3 code points"));
  ath_word_list_free(&list);
}

static void the_rarest_words_are_forgotten_when_memory_ends(void **state) {
  (void)state;
  ath_buffer text = ath_buffer_make(1 << 20);
  for (int i = 0; i < 2000; i++) {
    assert_ok(ath_buffer_format(&text, "often w%d", i));
    assert_ok(ath_buffer_string(&text, i % 40 == 39 ? "\n" : " "));
  }
  start_logging();
  ath_word_list list = count_words(text.bytes, 16, 2048);
  assert_true(list.starts[list.count] <= 2048);
  assert_int_equal(count_of(&list, "▁often"), 2000);
  assert_non_null(strstr(logged, "were forgotten"));
  ath_word_list_free(&list);
  ath_buffer_free(&text);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, open_folder, close_folder)
  const struct CMUnitTest tests[] = {
      IN_FOLDER(the_result_does_not_depend_on_threads_or_the_run),
      IN_FOLDER(the_result_does_not_depend_on_the_order_of_lines),
      IN_FOLDER(the_reported_words_give_the_same_bytes_four_times),
      IN_FOLDER(a_trained_tokenizer_has_the_size_asked_for),
      IN_FOLDER(the_report_tells_what_encoding_gives),
      IN_FOLDER(special_tokens_have_the_first_ids_and_score_0),
      IN_FOLDER(a_vocabulary_too_small_for_the_alphabet_names_the_least),
      IN_FOLDER(text_that_is_not_utf8_is_refused_with_its_place),
      IN_FOLDER(files_that_are_missing_or_empty_are_refused_by_name),
      IN_FOLDER(options_out_of_range_are_refused),
      IN_FOLDER(more_than_the_text_gives_is_said_and_not_invented),
      IN_FOLDER(special_tokens_in_the_text_are_not_learned_from),
      IN_FOLDER(lines_end_at_lf_crlf_and_lone_cr_only),
      IN_FOLDER(lines_with_nul_are_skipped_and_logged),
      IN_FOLDER(words_are_counted_as_the_model_sees_them),
      IN_FOLDER(long_words_are_cut_not_swallowed),
      IN_FOLDER(the_rarest_words_are_forgotten_when_memory_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
