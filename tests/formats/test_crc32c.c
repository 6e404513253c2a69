/* test_crc32c.c: the checksum: published values, and all versions the same. */
#include "testing.h"

#include "athanor/tfrecord.h"
#include "base/random.h"
#include "base/crc32c.h"

/* RFC 3720, appendix B.4, and the check value of CRC-32C. */
static void published_values_come_out(void **state) {
  (void)state;
  uint8_t zeros[32] = {0}, ones[32], rising[32], falling[32];
  memset(ones, 0xff, sizeof ones);
  for (int i = 0; i < 32; i++) rising[i] = (uint8_t)i, falling[i] = (uint8_t)(31 - i);
  assert_int_equal(ath_crc32c(0, "123456789", 9), 0xe3069283);
  assert_int_equal(ath_crc32c(0, zeros, 32), 0x8a9136aa);
  assert_int_equal(ath_crc32c(0, ones, 32), 0x62a8ab43);
  assert_int_equal(ath_crc32c(0, rising, 32), 0x46dd794e);
  assert_int_equal(ath_crc32c(0, falling, 32), 0x113fdb5c);
  assert_int_equal(ath_crc32c(0, "", 0), 0);
  assert_int_equal(ath_crc32c_masked("", 0), 0xa282ead8);
}

static uint8_t *random_bytes(size_t count) {
  uint8_t *bytes = malloc(count);
  assert_non_null(bytes);
  for (size_t i = 0; i < count; i++) {
    uint32_t word[4];
    ath_random(7, ATH_RANDOM_SHUFFLE, 0, i, 0, word);
    bytes[i] = (uint8_t)word[0];
  }
  return bytes;
}

/* Every length up to several rounds of the longest blocks, and every alignment. */
static void all_versions_agree(void **state) {
  (void)state;
  enum { ROUND = 3 * 8 * ATH_CRC32C_BLOCK, MOST = 2 * ROUND + 200 };
  uint8_t *bytes = random_bytes(MOST + 8);
  bool by_instruction = ath_crc32c_has_instruction();
  for (size_t length = 0; length <= MOST; length += length < 600 || length % ROUND < 3 ? 1 : 31) {
    const uint8_t *from = bytes + length % 8;
    uint32_t plain = ath_crc32c_plain(0x1234567, from, length);
    assert_int_equal(ath_crc32c_tables(0x1234567, from, length), plain);
    if (by_instruction)
      assert_int_equal(ath_crc32c_instruction(0x1234567, from, length), plain);
  }
  free(bytes);
}

static void a_register_is_moved_as_by_zero_bytes(void **state) {
  (void)state;
  enum { MOST = 5000 };
  static const uint8_t zeros[MOST];
  bool by_instruction = ath_crc32c_has_instruction();
  for (size_t count = 0; count <= MOST; count += 1 + count / 50) {
    uint32_t state_after = ath_crc32c_plain(0xdeadbeef, zeros, count);
    assert_int_equal(ath_crc32c_shift_plain(0xdeadbeef, count), state_after);
    if (by_instruction)
      assert_int_equal(ath_crc32c_shift_instruction(0xdeadbeef, count), state_after);
  }
  if (!by_instruction) return;
  static const uint64_t far[] = {UINT64_C(1) << 31, UINT64_C(3) << 40 | 5, UINT64_MAX};
  for (size_t i = 0; i < sizeof far / sizeof *far; i++)
    assert_int_equal(ath_crc32c_shift_instruction(1, far[i]), ath_crc32c_shift_plain(1, far[i]));
}

static void two_checksums_are_joined(void **state) {
  (void)state;
  uint8_t *bytes = random_bytes(3000);
  uint32_t whole = ath_crc32c(0, bytes, 3000);
  for (size_t cut = 0; cut <= 3000; cut += 59)
    assert_int_equal(ath_crc32c_join(ath_crc32c(0, bytes, cut),
                                     ath_crc32c(0, bytes + cut, 3000 - cut), 3000 - cut), whole);
  free(bytes);
}

static void a_checksum_continues_over_parts(void **state) {
  (void)state;
  uint8_t *bytes = random_bytes(2000);
  uint32_t whole = ath_crc32c(0, bytes, 2000);
  for (size_t cut = 0; cut <= 2000; cut += 37)
    assert_int_equal(ath_crc32c(ath_crc32c(0, bytes, cut), bytes + cut, 2000 - cut), whole);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(published_values_come_out),
      cmocka_unit_test(all_versions_agree),
      cmocka_unit_test(a_register_is_moved_as_by_zero_bytes),
      cmocka_unit_test(two_checksums_are_joined),
      cmocka_unit_test(a_checksum_continues_over_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
