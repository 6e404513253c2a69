/* test_minhash.c: how alike two texts are by their sketches, beside their sets of shingles counted
 * one by one; and hashes of texts. */
#include "testing.h"

#include <math.h>
#include <stdbool.h>

#include "data/minhash.h"
#include "data/text_hash.h"

enum { WORDS = 200, PAIRS = 400 };

static ath_minhash orders;

static uint64_t seed = 1;

static uint32_t draw(uint32_t below) {
  seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % below;
}

static void write_words(const int *words, int count, char *out) {
  for (int i = 0; i < count; i++) out += sprintf(out, "%sword%d", i > 0 ? " " : "", words[i]);
}

/* Whether shingle i of one is anywhere in the other. */
static bool has_shingle(const int *words, int count, const int *shingle) {
  for (int i = 0; i + 5 <= count; i++)
    if (memcmp(words + i, shingle, 5 * sizeof *words) == 0) return true;
  return false;
}

/* By brute force. Words are so many that no shingle is twice in a text. */
static double jaccard(const int *a, const int *b, int count) {
  int both = 0, shingles = count - 4;
  for (int i = 0; i < shingles; i++) both += has_shingle(b, count, a + i);
  return (double)both / (2 * shingles - both);
}

/* A text and itself with some words changed. */
static double make_pair(int changes, ath_sketch *first, ath_sketch *second) {
  int a[WORDS], b[WORDS];
  char text[WORDS * 16];
  for (int i = 0; i < WORDS; i++) a[i] = b[i] = (int)draw(1000000);
  for (int i = 0; i < changes; i++) b[draw(WORDS)] = (int)draw(1000000);
  write_words(a, WORDS, text);
  ath_minhash_sketch(&orders, text, strlen(text), first);
  write_words(b, WORDS, text);
  ath_minhash_sketch(&orders, text, strlen(text), second);
  return jaccard(a, b, WORDS);
}

static bool shares_band(const ath_sketch *a, const ath_sketch *b) {
  for (int i = 0; i < ATH_BANDS; i++)
    if (a->keys[i] == b->keys[i]) return true;
  return false;
}

/* A share of 120 draws has a deviation of √(s (1 − s) / 120); the mean of the errors tends to 0. */
static void sketches_tell_the_similarity(void **state) {
  (void)state;
  double sum = 0, squares = 0, variance = 0;
  for (int i = 0; i < PAIRS; i++) {
    ath_sketch a, b;
    double right = make_pair(i % 12, &a, &b);
    double error = ath_sketch_similarity(a.firsts, b.firsts) - right;
    if (i % 12 == 0) assert_near(right + error, 1, 1e-12, 0);
    assert_true(fabs(error) < 6 * sqrt(0.25 / ATH_ORDERS));
    sum += error;
    squares += error * error;
    variance += right * (1 - right) / ATH_ORDERS;
  }
  assert_near(sum / PAIRS, 0, 4 * sqrt(variance) / PAIRS, 0);
  assert_true(squares < 1.5 * variance && squares > 0.5 * variance);
}

/* Of those alike by s a share of 1 − (1 − s^6)^20 meets in a band. */
static void alike_texts_share_a_band_as_often_as_they_should(void **state) {
  (void)state;
  double expected = 0, variance = 0;
  int met = 0, alike = 0, alike_met = 0;
  for (int i = 0; i < PAIRS; i++) {
    ath_sketch a, b;
    double s = make_pair(1 + i % 20, &a, &b), p = 1 - pow(1 - pow(s, 6), 20);
    bool shared = shares_band(&a, &b);
    expected += p;
    variance += p * (1 - p);
    met += shared;
    alike += s >= 0.8;
    alike_met += s >= 0.8 && shared;
  }
  assert_near(met, expected, 4 * sqrt(variance), 0);
  assert_true(alike >= 40 && alike_met >= alike - 1);
}

static void expect_alike(const char *first, const char *second, bool alike) {
  ath_sketch a, b;
  ath_minhash_sketch(&orders, first, strlen(first), &a);
  ath_minhash_sketch(&orders, second, strlen(second), &b);
  double similarity = ath_sketch_similarity(a.firsts, b.firsts);
  if (alike) assert_true(similarity > 0.999);
  else assert_true(similarity < 0.6);
}

static void every_machine_finds_the_same(void **state) {
  (void)state;
  ath_minhash plain;
  ath_minhash_init(&plain, true);
  for (int i = 0; i < 50; i++) {
    int words[WORDS];
    char text[WORDS * 16];
    ath_sketch a = {0}, b = {0};
    for (int j = 0; j < WORDS; j++) words[j] = (int)draw(1000000);
    write_words(words, WORDS, text);
    ath_minhash_sketch(&orders, text, strlen(text), &a);
    ath_minhash_sketch(&plain, text, strlen(text), &b);
    assert_memory_equal(&a, &b, sizeof a);
  }
}

static void words_are_what_the_header_says(void **state) {
  (void)state;
  expect_alike("The Quick, brown fox: jumps over it.", "the quick brown FOX jumps   over it", true);
  expect_alike("a b", "A b!", true); /* fewer than five words are one shingle */
  expect_alike("a b", "a c", false);
  expect_alike("a b c d e f", "a b c d e f g h i j k l m n", false);
  expect_alike("我們今天去北京看長城", "我們今天去北京看長城", true);
  expect_alike("我們今天去北京看長城", "他昨天在上海吃飯很高興", false);
  expect_alike("...", "!!!", false); /* without words it is the text that counts */
  expect_alike("...", "...", true);
}

static void hashes_of_texts_go_by_every_byte_but_space_around(void **state) {
  (void)state;
  char text[64], other[64];
  for (size_t length = 1; length <= 40; length++) {
    for (size_t i = 0; i < length; i++) text[i] = (char)('a' + i % 20);
    ath_text_hash hash = ath_text_hash_make(text, length);
    assert_false(ath_text_hash_is_empty(&hash));
    int size = sprintf(other, " \t%.*s\r\n", (int)length, text);
    ath_text_hash spaced = ath_text_hash_make(other, (size_t)size);
    assert_true(hash.high == spaced.high && hash.low == spaced.low);
    for (size_t i = 0; i < length; i++) {
      memcpy(other, text, length);
      other[i] ^= 1;
      ath_text_hash changed = ath_text_hash_make(other, length);
      assert_true(hash.high != changed.high && hash.low != changed.low);
    }
    text[length] = '\0'; /* a NUL is a byte like others */
    ath_text_hash longer = ath_text_hash_make(text, length + 1);
    assert_true(hash.high != longer.high && hash.low != longer.low);
  }
  ath_text_hash none = ath_text_hash_make(" \n\t ", 4);
  assert_true(ath_text_hash_is_empty(&none));
}

int main(void) {
  ath_minhash_init(&orders, false);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(sketches_tell_the_similarity),
    cmocka_unit_test(alike_texts_share_a_band_as_often_as_they_should),
    cmocka_unit_test(every_machine_finds_the_same),
    cmocka_unit_test(words_are_what_the_header_says),
    cmocka_unit_test(hashes_of_texts_go_by_every_byte_but_space_around),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
