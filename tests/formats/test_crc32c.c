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

/* Every length around the borders of the blocks, at every alignment. */
static void all_versions_agree(void **state) {
  (void)state;
  enum { MOST = 3 * ATH_CRC32C_LONG * 2 + 3 * ATH_CRC32C_SHORT + 64 };
  static const size_t lengths[] = {
      3 * ATH_CRC32C_SHORT - 1, 3 * ATH_CRC32C_SHORT, 3 * ATH_CRC32C_SHORT + 9,
      3 * ATH_CRC32C_LONG - 1,  3 * ATH_CRC32C_LONG,  3 * ATH_CRC32C_LONG + 3 * ATH_CRC32C_SHORT,
      MOST - 8};
  uint8_t *bytes = random_bytes(MOST);
  for (size_t length = 0; length < 600; length++)
    assert_int_equal(ath_crc32c_tables(~0u, bytes + length % 8, length),
                     ath_crc32c_plain(~0u, bytes + length % 8, length));
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (size_t start = 0; start < 8; start++) {
      uint32_t plain = ath_crc32c_plain(0x1234567, bytes + start, lengths[i]);
      assert_int_equal(ath_crc32c_tables(0x1234567, bytes + start, lengths[i]), plain);
      if (ath_crc32c_has_instruction())
        assert_int_equal(ath_crc32c_instruction(0x1234567, bytes + start, lengths[i]), plain);
    }
  free(bytes);
}

static void short_runs_by_instruction_agree(void **state) {
  (void)state;
  if (!ath_crc32c_has_instruction()) skip();
  uint8_t *bytes = random_bytes(1024);
  for (size_t length = 0; length < 1000; length++)
    assert_int_equal(ath_crc32c_instruction(~0u, bytes + length % 8, length),
                     ath_crc32c_plain(~0u, bytes + length % 8, length));
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
      cmocka_unit_test(short_runs_by_instruction_agree),
      cmocka_unit_test(a_checksum_continues_over_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
