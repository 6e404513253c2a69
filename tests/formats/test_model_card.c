/* test_model_card.c: what a model folder's README.md says, and leaves out. */
#include "testing.h"

#include <math.h>

#include "base/buffer.h"
#include "formats/model_card.h"
#include "storage/file.h"

static void check_card(const ath_model_card *card, const char *const *present,
                       const char *const *absent) {
  char *folder = make_folder();
  ath_buffer text = ath_buffer_make(1 << 20);
  assert_ok(ath_model_card_write(card, folder));
  assert_ok(ath_file_read(in_folder(folder, "README.md"), &text));
  for (; *present != NULL; present++)
    if (strstr(text.bytes, *present) == NULL)
      fail_msg("\"%s\" is missing in:\n%s", *present, text.bytes);
  for (; *absent != NULL; absent++)
    if (strstr(text.bytes, *absent) != NULL)
      fail_msg("\"%s\" should not be in:\n%s", *absent, text.bytes);
  ath_buffer_free(&text);
  remove_folder(folder);
}

static void a_full_card_shows_everything(void **state) {
  (void)state;
  const ath_card_metric metrics[] = {{"loss", 2.5}, {"perplexity", 12.18249}, {"odd", NAN}};
  const ath_card_row parameters[] = {{"learning_rate", "0.0001"}, {"a|b", "two\nlines"}};
  const ath_model_card card = {
      .name = "demo", .description = "A small model.", .data = "Some text.", .language = "en",
      .license = "mit: \"x\"", .mask_token = "<mask>", .metrics = metrics, .metric_count = 3,
      .parameters = parameters, .parameter_count = 2};
  static const char *const present[] = {
      "---\nlanguage: \"en\"\nlicense: \"mit: \\\"x\\\"\"\nlibrary_name: transformers\n"
      "pipeline_tag: fill-mask\ntags:\n- fill-mask\n- athanor\n---\n\n# demo\n\nA small model.\n",
      "| loss | 2.5000 |\n| perplexity | 12.1825 |\n| odd | nan |\n",
      "## Training data\n\nSome text.\n",
      "| learning_rate | 0.0001 |\n| a\\|b | two lines |\n",
      "pipeline(\"fill-mask\"",
      "athanor fill-mask --model . \"The capital of France is <mask>.\"",
      NULL};
  check_card(&card, present, (const char *[]){NULL});
}

static void what_is_unknown_is_left_out(void **state) {
  (void)state;
  const ath_model_card card = {.name = "bare"};
  check_card(&card,
             (const char *[]){"---\nlibrary_name", "# bare\n\n## How to use", "[MASK]", NULL},
             (const char *[]){"license", "language", "Results", "Training data", "Hyper", NULL});
}

static void on_the_hub_it_is_used_by_its_name(void **state) {
  (void)state;
  const ath_model_card card = {.name = "one", .repository = "tester/one"};
  check_card(&card,
             (const char *[]){"With transformers:", "model=\"tester/one\")",
                              "fill-mask --model tester/one \"", NULL},
             (const char *[]){"folder", NULL});
}

static void a_missing_folder_is_reported(void **state) {
  (void)state;
  const ath_model_card card = {.name = "x"};
  assert_fails(ath_model_card_write(&card, "/no/such/folder"), ATH_NOT_FOUND, "README.md");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_full_card_shows_everything),
      cmocka_unit_test(what_is_unknown_is_left_out),
      cmocka_unit_test(on_the_hub_it_is_used_by_its_name),
      cmocka_unit_test(a_missing_folder_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
