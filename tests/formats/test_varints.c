/* test_varints.c: lists of varints: the fast versions give what the plain ones do. */
#include "testing.h"

#include "base/random.h"
#include "formats/varints.h"
#include "formats/wire.h"

enum { VALUES_MAX = 300, TURNS = 4000 };

/* Lists of every mix of lengths: each turn other bounds, now and then a negative or large one. */
static size_t draw(uint64_t turn, int32_t values[VALUES_MAX]) {
  uint32_t r[4];
  ath_random(3, ATH_RANDOM_SHUFFLE, 0, turn, 0, r);
  size_t count = r[0] % VALUES_MAX;
  unsigned least = r[1] % 32, span = 1 + r[2] % 32;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t q[4];
    ath_random(3, ATH_RANDOM_SHUFFLE, 1, turn, i, q);
    unsigned shift = least + q[1] % span;
    values[i] = (int32_t)(q[0] >> (shift > 31 ? 31 : shift));
    if (turn % 3 > 0) values[i] &= INT32_MAX;
  }
  return count;
}

static void sizes_and_bytes_agree(void **state) {
  (void)state;
  if (!ath_varints_has_fast()) skip();
  for (uint64_t turn = 0; turn < TURNS; turn++) {
    int32_t values[VALUES_MAX];
    size_t count = draw(turn, values), size = ath_varints_size_plain(values, count);
    assert_int_equal(ath_varints_size_fast(values, count), size);
    /* Of exactly their size, so that a sanitizer sees a byte too many. */
    uint8_t *plain = malloc(size + 1), *fast = malloc(size);
    assert_ptr_equal(ath_varints_put_plain(plain, size, values, count), plain + size);
    assert_ptr_equal(ath_varints_put_fast(fast, size, values, count), fast + size);
    if (size > 0) assert_memory_equal(plain, fast, size);
    free(plain);
    free(fast);
  }
}

/* Reads with one version until nothing more comes, one number by the plainest way, and so on. */
static size_t take_all(bool fast, const uint8_t *bytes, size_t length, int64_t *values,
                       size_t capacity, size_t *at) {
  int32_t some[VALUES_MAX];
  size_t total = 0;
  *at = 0;
  while (*at < length && total < capacity) {
    size_t count = 0;
    (fast ? ath_varints_take_fast : ath_varints_take_plain)(bytes, length, at, some,
                                                            capacity - total, &count);
    for (size_t i = 0; i < count; i++) values[total++] = some[i];
    if (*at == length || total == capacity) break;
    ath_wire wire = ath_wire_make(bytes + *at, length - *at);
    uint64_t value;
    if (ath_wire_varint(&wire, &value) != ATH_OK) break;
    values[total++] = (int64_t)value;
    *at = length - ath_wire_left(&wire);
  }
  return total;
}

static void what_is_read_agrees(void **state) {
  (void)state;
  for (uint64_t turn = 0; turn < TURNS; turn++) {
    int32_t values[VALUES_MAX];
    uint32_t r[4];
    ath_random(4, ATH_RANDOM_SHUFFLE, 0, turn, 0, r);
    size_t count = draw(turn, values), size = ath_varints_size_plain(values, count);
    uint8_t *bytes = malloc(size);
    ath_varints_put_plain(bytes, size, values, count);
    for (uint32_t k = 0; turn % 4 == 0 && size > 0 && k < 3; k++) /* damage */
      bytes[r[k] % size] ^= (uint8_t)(1u << r[3] % 8);
    size_t capacity = turn % 5 == 0 ? r[0] % VALUES_MAX : VALUES_MAX;
    int64_t plain[VALUES_MAX], fast[VALUES_MAX];
    size_t plain_at, fast_at, found = take_all(false, bytes, size, plain, capacity, &plain_at);
    if (turn % 4 > 0) {
      assert_int_equal(found, count < capacity ? count : capacity);
      for (size_t i = 0; i < found; i++) assert_int_equal(plain[i], values[i]);
    }
    if (ath_varints_has_fast()) {
      assert_int_equal(take_all(true, bytes, size, fast, capacity, &fast_at), found);
      assert_int_equal(fast_at, plain_at);
      if (found > 0) assert_memory_equal(plain, fast, found * sizeof *plain);
    }
    free(bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_and_bytes_agree),
      cmocka_unit_test(what_is_read_agrees),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
