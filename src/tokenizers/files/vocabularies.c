/* vocabularies.c: vocab.txt, or vocab.json and merges.txt, put together into the tree of the
 * tokenizer.json that says the same, and read as that. The pipelines are those that the papers'
 * own programs had in code: Devlin et al. 2018 (BERT), Radford et al. 2019 (GPT-2), Liu et al.
 * 2019 (RoBERTa); BERT's may be changed in a tokenizer_config.json.
 *
 *     vocab.txt     one token a line, whose number from 0 is its id
 *     merges.txt    "#version: 0.2", then "left right" a line, the most frequent first */
#include "tokenizers/files/vocabularies.h"

#include <string.h>

#include "storage/file.h"
#include "tokenizers/files/lines.h"

#define FILE_LIMIT ((size_t)1 << 30)
enum { CONFIG_BYTES_MAX = 16 << 20 };

static ath_status no_memory(void) { return ath_fail(ATH_NO_MEMORY, "no memory to convert"); }

/* --- lines --------------------------------------------------------------------------------- */

/* Both are ath_line_takers. */
static ath_status take_token(void *vocab, const char *path, size_t number, const char *line,
                             size_t length) {
  const json_t *other = json_object_getn(vocab, line, length);
  if (other != NULL)
    return ath_fail(ATH_INVALID, "%s: line %zu: \"%.*s\" is the token of line %lld already", path,
                    number + 1, (int)(length < 100 ? length : 100), line,
                    (long long)json_integer_value(other) + 1);
  json_t *id = json_integer((json_int_t)number);
  return json_object_setn_new(vocab, line, length, id) == 0 ? ATH_OK : no_memory();
}

static ath_status take_merge(void *merges, const char *path, size_t number, const char *line,
                             size_t length) {
  static const char version[] = "#version";
  if (length == 0) return ATH_OK;
  if (number == 0 && length >= sizeof version - 1 && memcmp(line, version, sizeof version - 1) == 0)
    return ATH_OK;
  const char *space = memchr(line, ' ', length);
  if (space == NULL || memchr(space + 1, ' ', length - (size_t)(space + 1 - line)) != NULL)
    return ath_fail(ATH_INVALID, "%s: line %zu: expected two tokens with a space between them",
                    path, number + 1);
  return json_array_append_new(merges, json_stringn(line, length)) == 0 ? ATH_OK : no_memory();
}

/* --- parts --------------------------------------------------------------------------------- */

static bool id_of(const json_t *vocab, const char *token, int *id) {
  const json_t *value = json_object_get(vocab, token);
  *id = (int)json_integer_value(value);
  return value != NULL;
}

/* The special tokens of this list, which NULL ends, as far as the vocabulary has them. Those of
 * byte-level models are found in the text as it comes out of the normaliser, as they always were;
 * a mask takes the space before it along there. */
static json_t *added_tokens(const json_t *vocab, const char *const *names, bool byte_level) {
  json_t *list = json_array();
  for (; list != NULL && *names != NULL; names++) {
    int id;
    if (!id_of(vocab, *names, &id)) continue;
    json_t *token =
        json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", id, "content", *names,
                  "single_word", 0, "lstrip", byte_level && strcmp(*names, "<mask>") == 0,
                  "rstrip", 0, "normalized", byte_level, "special", 1);
    if (json_array_append_new(list, token) == 0) continue;
    json_decref(list); /* out of memory, as where there is no list */
    list = NULL;
  }
  return list;
}

static json_t *special_part(const char *token, int type) {
  return json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", token, "type_id", type);
}

static json_t *text_part(const char *name, int type) {
  return json_pack("{s:{s:s, s:i}}", "Sequence", "id", name, "type_id", type);
}

static json_t *template_token(const char *token, int id) {
  return json_pack("{s:s, s:[i], s:[s]}", "id", token, "ids", id, "tokens", token);
}

/* [CLS] A [SEP], and [CLS] A [SEP] B [SEP], where the vocabulary has both. */
static json_t *bert_template(const json_t *vocab) {
  int cls, sep;
  if (!id_of(vocab, "[CLS]", &cls) || !id_of(vocab, "[SEP]", &sep)) return json_null();
  return json_pack("{s:s, s:[o, o, o], s:[o, o, o, o, o], s:{s:o, s:o}}",
                   "type", "TemplateProcessing",
                   "single", special_part("[CLS]", 0), text_part("A", 0), special_part("[SEP]", 0),
                   "pair", special_part("[CLS]", 0), text_part("A", 0), special_part("[SEP]", 0),
                   text_part("B", 1), special_part("[SEP]", 1),
                   "special_tokens", "[CLS]", template_token("[CLS]", cls),
                   "[SEP]", template_token("[SEP]", sep));
}

/* What a tokenizer_config.json says about the text. */
typedef struct bert_config {
  bool lowercase, chinese;
  json_t *accents; /* true, false, or null: as the case */
} bert_config;

/* Takes over the vocabulary, as the next one does, and the configuration's value. */
static json_t *bert_tree(json_t *vocab, const bert_config *config) {
  static const char *const names[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", NULL};
  json_t *added = added_tokens(vocab, names, false), *template = bert_template(vocab);
  json_t *normalizer = json_pack("{s:s, s:b, s:b, s:o, s:b}", "type", "BertNormalizer",
                                 "clean_text", 1, "handle_chinese_chars", config->chinese,
                                 "strip_accents", config->accents, "lowercase", config->lowercase);
  json_t *model = json_pack("{s:s, s:s, s:s, s:i, s:o}", "type", "WordPiece", "unk_token", "[UNK]",
                            "continuing_subword_prefix", "##", "max_input_chars_per_word", 100,
                            "vocab", vocab);
  return json_pack("{s:s, s:o, s:o, s:{s:s}, s:o, s:{s:s, s:s, s:b}, s:o}", "version", "1.0",
                   "added_tokens", added, "normalizer", normalizer, "pre_tokenizer", "type",
                   "BertPreTokenizer", "post_processor", template, "decoder", "type", "WordPiece",
                   "prefix", "##", "cleanup", 1, "model", model);
}

static json_t *byte_level(bool prefix, bool trim) {
  return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", prefix,
                   "trim_offsets", trim, "use_regex", 1);
}

static json_t *byte_level_post(const json_t *vocab) {
  int cls, sep;
  if (!id_of(vocab, "<s>", &cls) || !id_of(vocab, "</s>", &sep)) return byte_level(true, false);
  return json_pack("{s:s, s:[s, i], s:[s, i], s:b, s:b}", "type", "RobertaProcessing",
                   "sep", "</s>", sep, "cls", "<s>", cls, "trim_offsets", 1,
                   "add_prefix_space", 0);
}

static json_t *byte_level_tree(json_t *vocab, json_t *merges) {
  static const char *const names[] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>",
                                      NULL};
  json_t *added = added_tokens(vocab, names, true), *post = byte_level_post(vocab);
  json_t *model = json_pack("{s:s, s:n, s:n, s:s, s:s, s:b, s:b, s:o, s:o}", "type", "BPE",
                            "dropout", "unk_token", "continuing_subword_prefix", "",
                            "end_of_word_suffix", "", "fuse_unk", 0, "byte_fallback", 0,
                            "vocab", vocab, "merges", merges);
  return json_pack("{s:s, s:o, s:n, s:o, s:o, s:o, s:o}", "version", "1.0", "added_tokens", added,
                   "normalizer", "pre_tokenizer", byte_level(false, true), "post_processor", post,
                   "decoder", byte_level(true, true), "model", model);
}

/* --- files --------------------------------------------------------------------------------- */

/* Takes over the members that are there; others than the letters' case stay what BERT's are. */
static ath_status read_members(const ath_json *root, bert_config *out) {
  ath_json lowercase = ath_json_member(root, "do_lower_case");
  ath_json chinese = ath_json_member(root, "tokenize_chinese_chars");
  ath_json accents = ath_json_member(root, "strip_accents");
  ATH_TRY(ath_json_flag(&lowercase, &out->lowercase));
  ATH_TRY(ath_json_flag(&chinese, &out->chinese));
  bool strip;
  if (ath_json_absent(&accents)) return ATH_OK;
  ATH_TRY(ath_json_required_flag(&accents, &strip));
  out->accents = json_boolean(strip);
  return ATH_OK;
}

/* Reads the tokenizer_config.json beside the vocabulary, where there is one. */
static ath_status read_config(const char *path, bert_config *out) {
  char file[ATH_PATH_MAX];
  const char *slash = strrchr(path, '/');
  int folder = slash != NULL ? (int)(slash - path) + 1 : 0;
  int length = snprintf(file, sizeof file, "%.*stokenizer_config.json", folder, path);
  if (length >= (int)sizeof file || !ath_path_exists(file)) return ATH_OK;
  json_t *tree;
  ath_json root;
  ATH_TRY(ath_json_load(file, CONFIG_BYTES_MAX, true, &tree, &root));
  ath_status status = read_members(&root, out);
  json_decref(tree);
  return status;
}

ath_status ath_bert_vocabulary_read(const char *path, ath_letter_case letters, json_t **tree) {
  bert_config config = {true, true, json_null()};
  ATH_TRY(read_config(path, &config));
  if (letters == ATH_CASE_KEPT) config.lowercase = false;
  json_t *vocab = json_object();
  ath_status status = vocab != NULL ? ath_each_line(path, take_token, vocab) : no_memory();
  if (status == ATH_OK && json_object_size(vocab) == 0)
    status = ath_fail(ATH_INVALID, "%s: is empty; each line should be a token", path);
  if (status == ATH_OK && json_object_get(vocab, "[UNK]") == NULL)
    status = ath_fail(ATH_INVALID, "%s: has no token [UNK], and so is no vocab.txt of BERT's",
                      path);
  if (status != ATH_OK) {
    json_decref(vocab);
    return status;
  }
  *tree = bert_tree(vocab, &config);
  return *tree != NULL ? ATH_OK : no_memory();
}

ath_status ath_byte_level_vocabulary_read(const char *vocab_path, const char *merges_path,
                                          json_t **tree) {
  json_t *vocab, *merges = json_array();
  ath_json root;
  ath_status status = ath_json_load(vocab_path, FILE_LIMIT, false, &vocab, &root);
  if (status == ATH_OK) {
    status = merges != NULL ? ath_each_line(merges_path, take_merge, merges) : no_memory();
    if (status == ATH_OK) {
      *tree = byte_level_tree(vocab, merges);
      return *tree != NULL ? ATH_OK : no_memory();
    }
    json_decref(vocab);
  }
  json_decref(merges);
  return status;
}
