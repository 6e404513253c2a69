/* test_trie.c: a walk through a trie meets just the keys that begin there, of random keys of few
 * and of all bytes, beside a search of the list. */
#include "testing.h"

#include "tokenizers/models/trie.h"

enum { KEYS = 3000, LONGEST = 6, TEXTS = 20000 };

static uint32_t next_random(void) {
  static uint64_t state = 88172645463325252u; /* xorshift64, Marsaglia 2003 */
  state ^= state << 13;
  state ^= state >> 7;
  return (uint32_t)((state ^= state << 17) >> 16);
}

static size_t draw(char *out, unsigned letters) {
  size_t length = 1 + next_random() % LONGEST;
  for (size_t i = 0; i < length; i++) out[i] = (char)(next_random() % letters);
  return length;
}

/* The value of these bytes in the list of keys; −1 when they are none. */
static int32_t find(const ath_trie_key *keys, size_t count, const char *bytes, size_t length) {
  for (size_t i = 0; i < count; i++)
    if (keys[i].length == length && memcmp(keys[i].bytes, bytes, length) == 0)
      return keys[i].value;
  return -1;
}

static void check_walk(const ath_trie *trie, const ath_trie_key *keys, size_t count,
                       const char *bytes, size_t length) {
  ath_trie_node node = ath_trie_root(trie);
  size_t at = 0;
  while (at < length && ath_trie_step(trie, &node, (uint8_t)bytes[at])) {
    at++;
    assert_int_equal(ath_trie_value(trie, node), find(keys, count, bytes, at));
  }
  for (; at < length; at++) assert_int_equal(find(keys, count, bytes, at + 1), -1);
}

static void check(size_t wanted, unsigned letters) {
  static char room[KEYS][LONGEST];
  static ath_trie_key keys[KEYS];
  size_t count = 0;
  for (size_t i = 0; i < wanted; i++) {
    size_t length = draw(room[count], letters);
    if (find(keys, count, room[count], length) >= 0) continue;
    keys[count] = (ath_trie_key){room[count], length, (int32_t)next_random() & INT32_MAX};
    count++;
  }
  ath_arena *arena;
  ath_trie trie;
  assert_ok(ath_arena_create(1 << 26, &arena));
  assert_ok(ath_trie_sort(keys, count));
  assert_ok(ath_trie_build(keys, count, arena, &trie));
  for (size_t i = 0; i < count; i++)
    check_walk(&trie, keys, count, keys[i].bytes, keys[i].length);
  for (size_t i = 0; i < TEXTS / KEYS * count; i++) {
    char text[LONGEST];
    check_walk(&trie, keys, count, text, draw(text, letters));
  }
  ath_arena_destroy(arena);
}

static void keys_of_few_bytes_are_met(void **state) {
  (void)state;
  for (size_t count = 0; count < 20; count++) check(count, 2);
  check(KEYS, 3);
  check(KEYS, 16);
}

static void keys_of_all_bytes_are_met(void **state) {
  (void)state;
  check(1, 256);
  check(KEYS, 256);
}

/* Nodes with one child of each byte and with all of them: where places and bases get scarce. */
static void full_nodes_and_single_children_are_met(void **state) {
  (void)state;
  static char room[256 + 256][3];
  static ath_trie_key keys[256 + 256];
  for (size_t i = 0; i < 256; i++) {
    room[i][0] = (char)i;
    memcpy(room[256 + i], (char[]){(char)i, (char)(255 - i), (char)i}, 3);
    keys[i] = (ath_trie_key){room[i], 1, (int32_t)i};
    keys[256 + i] = (ath_trie_key){room[256 + i], 3, (int32_t)(256 + i)};
  }
  ath_arena *arena;
  ath_trie trie;
  assert_ok(ath_arena_create(1 << 26, &arena));
  assert_ok(ath_trie_sort(keys, 512));
  assert_ok(ath_trie_build(keys, 512, arena, &trie));
  for (unsigned i = 0; i < 1 << 16; i++) {
    char text[] = {(char)i, (char)(i >> 8), (char)i};
    check_walk(&trie, keys, 512, text, sizeof text);
  }
  ath_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(keys_of_few_bytes_are_met),
    cmocka_unit_test(keys_of_all_bytes_are_met),
    cmocka_unit_test(full_nodes_and_single_children_are_met),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
