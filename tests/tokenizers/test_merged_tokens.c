/* test_merged_tokens.c: cutting by how tokens were made gives what merging gives, with random
 * merges in the order of a trainer, on random words and on repeats; and merges that cannot be
 * foreseen so are told. */
#include "testing.h"

#include "tokenizers/models/merged_tokens.h"

enum { LETTERS = 3, MERGES = 60, WORDS = 300, LONGEST = 200 };

static uint64_t random_state;
static uint32_t next_random(uint32_t below) {
  random_state ^= random_state << 13; /* xorshift64, Marsaglia 2003 */
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 16) % below;
}

static int32_t bytes[256];

/* Merges of tokens that are there, each giving a new one; `wild` ones may come in any order, and
 * give a token that is there. */
static void make_merges(ath_merges *merges, ath_arena *arena, bool wild) {
  size_t wanted = 1 + next_random(MERGES);
  int32_t ids[LETTERS + MERGES];
  ath_merge list[MERGES];
  size_t count = 0;
  for (int i = 0; i < LETTERS; i++) ids[i] = bytes[(uint8_t)('a' + i)];
  for (size_t i = 0; i < wanted; i++) {
    int32_t known = (int32_t)(LETTERS + count);
    ath_merge m = {ids[next_random((uint32_t)known)], ids[next_random((uint32_t)known)],
                   256 + (int32_t)count};
    bool twice = false;
    for (size_t k = 0; k < count; k++) twice |= list[k].left == m.left && list[k].right == m.right;
    if (twice) continue;
    if (wild && count > 0 && next_random(8) == 0) m.id = list[next_random((uint32_t)count)].id;
    if (m.id == m.left || m.id == m.right) continue;
    ids[LETTERS + count] = m.id;
    list[count++] = m;
  }
  for (size_t i = 0; wild && i < 2 && count > 1; i++) {
    size_t a = next_random((uint32_t)count), b = next_random((uint32_t)count);
    ath_merge m = list[a];
    list[a] = list[b];
    list[b] = m;
  }
  assert_ok(ath_merges_init(merges, arena, count));
  ath_merges_add_list(merges, list, count);
}

static size_t draw_word(char *out) {
  size_t length = 1 + next_random(next_random(4) == 0 ? LONGEST : 24);
  size_t period = next_random(3) == 0 ? 1 + next_random(4) : length;
  for (size_t i = 0; i < length; i++)
    out[i] = i < period ? (char)('a' + next_random(LETTERS)) : out[i - period];
  if (next_random(20) == 0) out[next_random((uint32_t)length)] = '\0';
  return length;
}

static void compare(const ath_merged_tokens *fast, const ath_merges *merges, ath_run *run) {
  char word[LONGEST];
  ath_word_piece expected[LONGEST], found[LONGEST];
  size_t count = draw_word(word), length = count;
  for (size_t i = 0; i < length; i++)
    expected[i] = (ath_word_piece){bytes[(uint8_t)word[i]], (uint32_t)i + 1};
  assert_ok(ath_merges_apply(merges, run, expected, &count));
  assert_int_equal(ath_merged_tokens_cut(fast, word, length, found), count);
  assert_memory_equal(found, expected, count * sizeof *found);
}

/* How many of so many random lists of merges have tables. */
static int compare_all(int lists, bool wild) {
  int made = 0;
  for (int i = 0; i < lists; i++) {
    ath_arena *arena;
    ath_merges merges;
    ath_merged_tokens *fast;
    ath_run run = {0};
    assert_ok(ath_arena_create(1 << 26, &arena));
    make_merges(&merges, arena, wild);
    assert_ok(ath_merged_tokens_create(&merges, bytes, &fast));
    made += fast != NULL;
    for (int w = 0; fast != NULL && w < WORDS; w++) compare(fast, &merges, &run);
    ath_merged_tokens_destroy(fast);
    ath_run_free(&run);
    ath_arena_destroy(arena);
  }
  return made;
}

static void words_are_cut_as_they_would_be_merged(void **state) {
  (void)state;
  assert_int_equal(compare_all(400, false), 400);
}

static void merges_in_another_order_have_tables_only_where_these_are_right(void **state) {
  (void)state;
  int made = compare_all(400, true);
  assert_in_range(made, 1, 399);
}

int main(void) {
  random_state = 88172645463325252u;
  for (int b = 0; b < 256; b++) bytes[b] = 255 - b;
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(words_are_cut_as_they_would_be_merged),
    cmocka_unit_test(merges_in_another_order_have_tables_only_where_these_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
