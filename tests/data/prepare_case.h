/* prepare_case.h: one text and one tokenizer, made once for all tests of a file, and the options to
 * prepare them with. */
#ifndef ATHANOR_TESTS_DATA_PREPARE_CASE_H
#define ATHANOR_TESTS_DATA_PREPARE_CASE_H

#include "prepare_fixture.h"

static char *folder;
static ath_tokenizer *tokenizer;
static char text_path[4096];
static const char *inputs[2] = {text_path, text_path};

enum { LINES = 3000 };

static int setup(void **state) {
  (void)state;
  folder = make_folder();
  tokenizer = small_tokenizer(0);
  snprintf(text_path, sizeof text_path, "%s/text.txt", folder);
  write_text(text_path, 0, LINES);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  ath_tokenizer_destroy(tokenizer);
  remove_folder(folder);
  return 0;
}

static inline ath_prepare_options options_to(const char *name) {
  static char outputs[4][4200];
  static int turn;
  char *output = outputs[turn++ % 4];
  snprintf(output, sizeof outputs[0], "%s/%s", folder, name);
  ath_prepare_options options = ath_prepare_defaults();
  options.inputs = inputs;
  options.input_count = 1;
  options.output = output;
  options.max_length = 32;
  options.shard_records = 100;
  options.threads = 1;
  return options;
}

/* The plain version: all lines encoded one by one into one long array. */
static inline int32_t *encode_all(uint64_t lines, bool keep_blank, size_t *count) {
  int32_t *all = malloc(lines * 256 * sizeof *all);
  ath_encoding encoding = {0};
  *count = 0;
  for (uint64_t i = 0; i < lines; i++) {
    char line[256];
    size_t length = text_line(i, line);
    if (length == 0 && !keep_blank) continue;
    assert_ok(ath_tokenizer_encode(tokenizer, line, length, ATH_ENCODE_SPECIAL, &encoding));
    memcpy(all + *count, encoding.ids, encoding.length * sizeof *all);
    *count += encoding.length;
  }
  ath_encoding_free(&encoding);
  return all;
}

#endif
