/* test_rows.c: the layouts of prepared records. TensorFlow's view of them is in
 * test_reference_libraries.py. */
#include "testing.h"

#include "athanor/rows.h"
#include "base/buffer.h"
#include "formats/hex.h"

enum { LENGTH = 4 };

/* The bytes are those of TensorFlow's SerializeToString(deterministic=True). */
static void a_labelled_text_comes_back(void **state) {
  (void)state;
  int32_t ids[LENGTH], mask[LENGTH], back_ids[LENGTH], back_mask[LENGTH];
  const int32_t tokens[] = {0, 300, 2};
  ath_text_row row = {.input_ids = ids, .attention_mask = mask, .length = LENGTH,
                      .labelled = true, .label = 3};
  ath_buffer out = ath_buffer_make(1 << 16);
  assert_ok(ath_text_row_fill(&row, tokens, 3, 1));
  assert_ok(ath_text_row_write(&row, &out));
  assert_hex(out.bytes, out.length,
             "0a45 0a1a0a0e617474656e74696f6e5f6d61736b1208 1a060a04 01010100"
             "0a16 0a09696e7075745f696473 1209 1a070a05 00ac020201"
             "0a0f 0a066c6162656c73 1205 1a030a01 03");
  ath_text_row back = {.input_ids = back_ids, .attention_mask = back_mask, .length = LENGTH};
  assert_ok(ath_text_row_read(out.bytes, out.length, &back));
  assert_true(back.labelled && back.label == 3);
  assert_memory_equal(back_ids, ids, sizeof ids);
  assert_memory_equal(back_mask, ((const int32_t[]){1, 1, 1, 0}), sizeof mask);
  assert_fails(ath_text_row_fill(&row, ids, LENGTH + 1, 1), ATH_INVALID, "do not fit a row of 4");
  back.length = LENGTH - 1;
  assert_fails(ath_text_row_read(out.bytes, out.length, &back), ATH_INVALID, "more than the 3");
  ath_buffer_clear(&out);
  row.labelled = false;
  assert_ok(ath_text_row_write(&row, &out));
  back = (ath_text_row){.input_ids = back_ids, .attention_mask = back_mask, .length = LENGTH};
  assert_ok(ath_text_row_read(out.bytes, out.length, &back));
  assert_false(back.labelled);
  ath_buffer_free(&out);
}

static void a_row_that_is_none_is_refused(void **state) {
  (void)state;
  static const int32_t ids[] = {5, 6, 7, 8}, mask[] = {1, 1, 2, 0}, ones[] = {1, 1, 1, 1};
  int32_t back_ids[LENGTH], back_mask[LENGTH];
  const struct { ath_int64_feature features[3]; size_t count; const char *part; } cases[] = {
      {{{"attention_mask", mask, 4}, {"input_ids", ids, 4}}, 2, "value 2 is 2, not 0 or 1"},
      {{{"attention_mask", ones, 3}, {"input_ids", ids, 4}}, 2, "attention_mask has 3 values"},
      {{{"attention_mask", ones, 4}, {"input_ids", ids, 4}, {"labels", ids, 0}}, 3, "is empty"},
      {{{"attention_mask", ones, 4}, {"input_ids", ids, 4}, {"labels", ids, 2}}, 3,
       "more than the 1"}};
  ath_buffer out = ath_buffer_make(1 << 16);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_text_row back = {.input_ids = back_ids, .attention_mask = back_mask, .length = LENGTH};
    ath_buffer_clear(&out);
    assert_ok(ath_example_write(cases[i].features, cases[i].count, &out));
    assert_fails(ath_text_row_read(out.bytes, out.length, &back), ATH_INVALID, cases[i].part);
  }
  ath_buffer_free(&out);
}

static void an_image_comes_back(void **state) {
  (void)state;
  ath_image_row row = {.image = {"\xff\xd8\xff\xe0 and more", 13}, .label = -7}, back = {0};
  ath_buffer out = ath_buffer_make(1 << 16);
  assert_ok(ath_image_row_write(&row, &out));
  assert_ok(ath_image_row_read(out.bytes, out.length, &back));
  assert_int_equal(back.label, -7);
  assert_int_equal(back.image.length, 13);
  assert_memory_equal(back.image.bytes, row.image.bytes, 13);
  row.image = (ath_bytes){"GIF89a", 6};
  assert_fails(ath_image_row_write(&row, &out), ATH_INVALID, "6 bytes, is no JPEG file");
  const int32_t one = 1;
  ath_buffer_clear(&out);
  assert_ok(ath_example_write(&(ath_int64_feature){"image", &one, 1}, 1, &out));
  assert_fails(ath_image_row_read(out.bytes, out.length, &back), ATH_INVALID,
               "feature \"image\" is not one byte string");
  ath_buffer_clear(&out);
  assert_ok(ath_example_write(&(ath_int64_feature){"label", &one, 1}, 1, &out));
  assert_fails(ath_image_row_read(out.bytes, out.length, &back), ATH_NOT_FOUND, "\"image\"");
  ath_buffer_free(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_labelled_text_comes_back),
      cmocka_unit_test(a_row_that_is_none_is_refused),
      cmocka_unit_test(an_image_comes_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
