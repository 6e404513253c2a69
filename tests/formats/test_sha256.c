/* test_sha256.c: published digests (FIPS 180-4 examples; the empty string). */
#include "testing.h"

#include "formats/sha256.h"
#include "storage/file.h"

static void published_digests_come_out(void **state) {
  (void)state;
  static const struct { const char *text, *digest; } cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
  };
  char *folder = make_folder();
  const char *path = in_folder(folder, "text");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char digest[ATH_SHA256_TEXT];
    size_t length = strlen(cases[i].text);
    ath_sha256_bytes(cases[i].text, length, digest);
    assert_string_equal(digest, cases[i].digest);
    assert_ok(ath_file_write(path, cases[i].text, length));
    assert_ok(ath_sha256_file(path, digest));
    assert_string_equal(digest, cases[i].digest);
  }
  remove_folder(folder);
}

static void a_missing_file_is_not_found(void **state) {
  (void)state;
  char digest[ATH_SHA256_TEXT];
  assert_fails(ath_sha256_file("no/such/file", digest), ATH_NOT_FOUND, "no/such/file");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(published_digests_come_out),
      cmocka_unit_test(a_missing_file_is_not_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
