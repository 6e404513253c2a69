/* fuzz_example.c: any bytes as an Example or SequenceExample, and as a line of JSON. What becomes
 * JSON becomes a message again, which has the same JSON. */
#include "fuzzing.h"

#include "athanor/rows.h"
#include "formats/example_json.h"

enum { TEXT_MAX = 1 << 26, LENGTH = 16 };

/* A message, whose JSON must be read back and be the same. */
static void check_message(const void *bytes, size_t size) {
  ath_buffer json = ath_buffer_make(TEXT_MAX), message = ath_buffer_make(TEXT_MAX);
  ath_buffer again = ath_buffer_make(TEXT_MAX);
  if (ath_example_to_json(bytes, size, &json) != ATH_OK) {
    MUST(*ath_error_text() != '\0');
  } else if (ath_example_from_json(json.bytes, json.length, &message) == ATH_OK) {
    MUST(ath_example_to_json(message.bytes, message.length, &again) == ATH_OK);
    MUST(again.length == json.length && memcmp(again.bytes, json.bytes, json.length) == 0);
  } else {
    /* A NUL in a name is the one thing that the reader of JSON does not take. */
    MUST(strstr(json.bytes, "\\u0000") != NULL);
  }
  ath_buffer_free(&json);
  ath_buffer_free(&message);
  ath_buffer_free(&again);
}

static void check_text(const char *text, size_t size) {
  ath_buffer message = ath_buffer_make(TEXT_MAX);
  if (ath_example_from_json(text, size, &message) == ATH_OK)
    check_message(message.bytes, message.length);
  else
    MUST(*ath_error_text() != '\0');
  ath_buffer_free(&message);
}

/* The readers of prepared records stay within what they were given. */
static void check_rows(const uint8_t *bytes, size_t size) {
  int32_t *ids = malloc(LENGTH * sizeof *ids), *mask = malloc(LENGTH * sizeof *mask);
  ath_text_row text = {.input_ids = ids, .attention_mask = mask, .length = LENGTH};
  ath_image_row image;
  MUST(ids != NULL && mask != NULL);
  if (ath_text_row_read(bytes, size, &text) != ATH_OK) MUST(*ath_error_text() != '\0');
  if (ath_image_row_read(bytes, size, &image) == ATH_OK) {
    const uint8_t *at = image.image.bytes;
    MUST(at >= bytes && image.image.length <= (size_t)(bytes + size - at));
  }
  free(ids);
  free(mask);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  say_nothing();
  uint8_t *bytes = malloc(size + (size == 0)); /* of its own, so that a step over it is seen */
  MUST(bytes != NULL);
  if (size > 0) memcpy(bytes, data, size);
  check_message(bytes, size);
  check_text((const char *)bytes, size);
  check_rows(bytes, size);
  free(bytes);
  return 0;
}
