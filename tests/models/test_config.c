/* test_config.c: config.json read, refused and written; ids and positions (known failure K1). */
#include "athanor/model.h"
#include "testing.h"

static char *folder;

static int set_up(void **state) {
  (void)state;
  folder = make_folder();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

static const char *write_config(const char *text) {
  const char *path = in_folder(folder, "config.json");
  FILE *file = fopen(path, "w");
  fputs(text, file);
  fclose(file);
  return path;
}

static ath_status load(const char *text, ath_model_config *out) {
  return ath_model_config_load(write_config(text), out);
}

/* --- reading ------------------------------------------------------------------------------- */

static void the_published_file_is_read(void **state) {
  (void)state;
  /* config.json of FacebookAI/roberta-base, as published. */
  const char *text =
      "{\"architectures\": [\"RobertaForMaskedLM\"], \"attention_probs_dropout_prob\": 0.1,"
      "\"bos_token_id\": 0, \"eos_token_id\": 2, \"hidden_act\": \"gelu\","
      "\"hidden_dropout_prob\": 0.1, \"hidden_size\": 768, \"initializer_range\": 0.02,"
      "\"intermediate_size\": 3072, \"layer_norm_eps\": 1e-05, \"max_position_embeddings\": 514,"
      "\"model_type\": \"roberta\", \"num_attention_heads\": 12, \"num_hidden_layers\": 12,"
      "\"pad_token_id\": 1, \"type_vocab_size\": 1, \"vocab_size\": 50265}";
  ath_model_config config;
  assert_ok(load(text, &config));
  assert_int_equal(config.hidden_size, 768);
  assert_int_equal(config.vocab_size, 50265);
  assert_int_equal(config.pad_token_id, 1);
  assert_true(config.layer_norm_eps == 1e-5);
  ath_model *model;
  assert_ok(ath_model_create(&config, &model));
  assert_int_equal(ath_model_size(model), 124697433); /* transformers: num_parameters() */
  ath_model_destroy(model);
  assert_ok(ath_model_config_load(folder, &config)); /* the folder will do as well */
}

static void keys_left_out_take_the_references_defaults(void **state) {
  (void)state;
  ath_model_config config;
  assert_ok(load("{\"model_type\": \"roberta\"}", &config));
  assert_int_equal(config.vocab_size, 50265);
  assert_int_equal(config.type_vocab_size, 2);
  assert_int_equal(config.max_position_embeddings, 512);
  assert_true(config.layer_norm_eps == 1e-12);
  assert_int_equal(config.pad_token_id, -1); /* the tokenizer decides */
}

static void impossible_values_are_refused_by_name(void **state) {
  (void)state;
  static const struct {
    const char *key, *message;
  } table[] = {
    {"\"hidden_size\": 0", "\"hidden_size\" is 0; it must lie between 1 and"},
    {"\"hidden_size\": 770", "\"hidden_size\" 770 is not a multiple of \"num_attention_heads\" 12"},
    {"\"hidden_size\": \"big\"", "\"hidden_size\" is \"big\"; a whole number is wanted"},
    {"\"num_hidden_layers\": 1.5", "\"num_hidden_layers\" is 1.5"},
    {"\"hidden_dropout_prob\": 1.0", "\"hidden_dropout_prob\" is 1;"},
    {"\"layer_norm_eps\": -1e-5", "\"layer_norm_eps\" is -1e-05"},
    {"\"pad_token_id\": 60000", "\"pad_token_id\" is 60000, outside the vocabulary of 50265"},
    {"\"pad_token_id\": 511", "leaves no position after \"pad_token_id\" 511"},
    {"\"vocab_size\": 99999999999999999999", "not valid JSON"},
    {"\"hidden_size\": 12, \"hidden_size\": 24", "duplicate"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char text[256];
    ath_model_config config;
    snprintf(text, sizeof text, "{\"model_type\": \"roberta\", %s}", table[i].key);
    assert_fails(load(text, &config), ATH_INVALID, table[i].message);
    assert_non_null(strstr(ath_error_text(), "config.json"));
  }
}

static void other_models_are_refused(void **state) {
  (void)state;
  ath_model_config config;
  assert_fails(load("{\"model_type\": \"bert\"}", &config), ATH_UNSUPPORTED, "\"bert\"");
  assert_fails(load("{}", &config), ATH_UNSUPPORTED, "not given");
  assert_fails(load("{\"model_type\": \"roberta\", \"tie_word_embeddings\": false}", &config),
               ATH_UNSUPPORTED, "tie_word_embeddings");
  assert_fails(load("{\"model_type\": \"roberta\", \"is_decoder\": true}", &config),
               ATH_UNSUPPORTED, "is_decoder");
  assert_fails(load("{\"model_type\": \"roberta\", \"position_embedding_type\": "
                    "\"relative_key\"}", &config), ATH_UNSUPPORTED, "relative_key");
  assert_fails(load("{\"model_type\": \"roberta\", \"hidden_act\": \"mish\"}", &config),
               ATH_UNSUPPORTED, "no activation \"mish\"");
  assert_fails(load("[1, 2]", &config), ATH_INVALID, "not a JSON object");
  assert_fails(load("{\n\"model_type\": \n", &config), ATH_INVALID, "config.json:");
  assert_fails(ath_model_config_load("no/such", &config), ATH_NOT_FOUND, "no/such");
}

static void what_is_written_reads_back_the_same_and_keeps_other_keys(void **state) {
  (void)state;
  ath_model_config config, back;
  assert_ok(load("{\"model_type\": \"roberta\", \"hidden_dropout_prob\": 0.1, \"eos_token_id\": 7,"
                 "\"layer_norm_eps\": 1.25e-7, \"classifier_dropout\": null, \"my_key\": [1, 2]}",
                 &config));
  const char *path = in_folder(folder, "written.json");
  assert_ok(ath_model_config_save(&config, path));
  assert_ok(ath_model_config_load(path, &back));
  assert_memory_equal(&config, &back, sizeof config);
  FILE *file = fopen(path, "r");
  char text[4096] = {0};
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  assert_non_null(strstr(text, "\"my_key\": ["));
  assert_non_null(strstr(text, "\"hidden_dropout_prob\": 0.1,"));
  assert_non_null(strstr(text, "\"pad_token_id\": null"));
  assert_non_null(strstr(text, "\"RobertaForMaskedLM\""));
}

/* --- positions ----------------------------------------------------------------------------- */

static void positions_count_from_the_padding_id(void **state) {
  (void)state;
  const int32_t ids[6] = {0, 5, 6, 2, 1, 1}, wanted[6] = {2, 3, 4, 5, 1, 1};
  int32_t positions[6];
  ath_position_ids(ids, 1, 6, 1, positions);
  assert_memory_equal(positions, wanted, sizeof wanted);
  /* Each row counts for itself; padding inside a row is passed over. */
  const int32_t two[8] = {3, 8, 3, 9, 8, 9, 8, 9}, wanted_two[8] = {3, 4, 3, 5, 4, 5, 6, 7};
  int32_t found[8];
  ath_position_ids(two, 2, 4, 3, found);
  assert_memory_equal(found, wanted_two, sizeof wanted_two);
}

static void a_length_the_position_table_cannot_hold_is_refused(void **state) {
  (void)state;
  ath_model_config config = ath_model_config_defaults();
  config.max_position_embeddings = 514;
  config.pad_token_id = 1;
  assert_int_equal(ath_model_config_max_length(&config), 512);
  assert_ok(ath_model_config_check_length(&config, 512));
  config.pad_token_id = 3; /* the tokenizer of Hugging Face's TPU example */
  assert_int_equal(ath_model_config_max_length(&config), 510);
  assert_fails(ath_model_config_check_length(&config, 512), ATH_MISMATCH,
               "512 tokens need 516 rows of positions");
  assert_non_null(strstr(ath_error_text(), "is 514: at most 510 tokens fit"));
  ath_model *model;
  ath_graph *graph;
  config.vocab_size = 100;
  assert_ok(ath_model_create(&config, &model));
  assert_ok(ath_graph_create(&graph));
  ath_value *parameters = calloc(ath_model_parameter_count(model), sizeof *parameters);
  ath_forward_options options = {.batch_size = 1, .length = 512, .positions = 8};
  assert_int_equal(ath_model_logits(model, graph, &options, parameters), ATH_NO_VALUE);
  assert_fails(ath_graph_status(graph), ATH_MISMATCH, "at most 510 tokens fit");
  free(parameters);
  ath_graph_destroy(graph);
  ath_model_destroy(model);
}

/* --- the tokenizer's ids ------------------------------------------------------------------- */

static ath_tokenizer *make_tokenizer(void) {
  const char *path = in_folder(folder, "text.txt");
  FILE *file = fopen(path, "w");
  for (int i = 0; i < 50; i++) fputs("some words and some more words\n", file);
  fclose(file);
  ath_unigram_options options = ath_unigram_defaults();
  options.common.vocab_size = 30;
  ath_tokenizer *tokenizer = NULL;
  assert_ok(ath_unigram_train(&path, 1, &options, &tokenizer, NULL));
  return tokenizer;
}

static void ids_come_from_the_tokenizer_and_a_clash_is_refused(void **state) {
  (void)state;
  ath_tokenizer *tokenizer = make_tokenizer();
  ath_model_config config = ath_model_config_defaults();
  config.vocab_size = 100;
  assert_ok(ath_model_config_adopt_ids(&config, tokenizer));
  assert_int_equal(config.bos_token_id, 0);
  assert_int_equal(config.eos_token_id, 1);
  assert_int_equal(config.pad_token_id, 3);
  config.pad_token_id = 1; /* roberta-base's: the tokenizer has [SEP] there */
  assert_fails(ath_model_config_adopt_ids(&config, tokenizer), ATH_MISMATCH,
               "pad_token_id is 1, but the tokenizer has [SEP] there and <pad> at 3");
  config.pad_token_id = 3;
  config.vocab_size = 4;
  assert_fails(ath_model_config_adopt_ids(&config, tokenizer), ATH_MISMATCH,
               "but the model's vocab_size is 4");
  ath_tokenizer_destroy(tokenizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_published_file_is_read),
    cmocka_unit_test(keys_left_out_take_the_references_defaults),
    cmocka_unit_test(impossible_values_are_refused_by_name),
    cmocka_unit_test(other_models_are_refused),
    cmocka_unit_test(what_is_written_reads_back_the_same_and_keeps_other_keys),
    cmocka_unit_test(positions_count_from_the_padding_id),
    cmocka_unit_test(a_length_the_position_table_cannot_hold_is_refused),
    cmocka_unit_test(ids_come_from_the_tokenizer_and_a_clash_is_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
