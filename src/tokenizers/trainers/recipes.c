/* recipes.c: the pipelines of the tokenizers that are trained here, each that of a well-known
 * model, as tokenizer.json has them. */
#include "tokenizers/trainers/build.h"

#define SPECIAL(name, type) "{\"SpecialToken\":{\"id\":\"" name "\",\"type_id\":" #type "}}"
#define SEQUENCE(name, type) "{\"Sequence\":{\"id\":\"" name "\",\"type_id\":" #type "}}"
#define TOKEN(name, id) \
  "\"" name "\":{\"id\":\"" name "\",\"ids\":[" id "],\"tokens\":[\"" name "\"]}"

/* [CLS] A [SEP], and [CLS] A [SEP] B [SEP]. */
#define TEMPLATE                                                                               \
  "{\"type\":\"TemplateProcessing\",\"single\":["                                              \
  SPECIAL("[CLS]", 0) "," SEQUENCE("A", 0) "," SPECIAL("[SEP]", 0) "],\"pair\":["              \
  SPECIAL("[CLS]", 0) "," SEQUENCE("A", 0) "," SPECIAL("[SEP]", 0) ","                         \
  SEQUENCE("B", 1) "," SPECIAL("[SEP]", 1) "],"                                                \
  "\"special_tokens\":{" TOKEN("[CLS]", "%1$d") "," TOKEN("[SEP]", "%2$d") "}}"

#define METASPACE \
  "{\"type\":\"Metaspace\",\"replacement\":\"▁\",\"prepend_scheme\":\"always\",\"split\":true}"

/* [MASK] takes the space before it, as the example's tokenizer class has it: in training it
 * stands for a piece with its word mark, so a mark of its own left before it would be a text never
 * seen. */
const ath_recipe ath_recipe_unigram = {
  .specials = {"[CLS]", "[SEP]", "<unk>", "<pad>", "[MASK]"},
  .first = "[CLS]", .last = "[SEP]", .mask = "[MASK]", .mask_strips = true,
  .normalizer = "{\"type\":\"Sequence\",\"normalizers\":["
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"``\"},\"content\":\"\\\"\"},"
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"''\"},\"content\":\"\\\"\"}]}",
  .pre_tokenizer = METASPACE, .decoder = METASPACE, .post_processor = TEMPLATE,
};

#define BYTE_LEVEL(prefix_space) \
  "{\"type\":\"ByteLevel\",\"add_prefix_space\":" #prefix_space \
  ",\"trim_offsets\":true,\"use_regex\":true}"

/* <mask> takes the space before it, for the token that it stands for has one of its own. The
 * trainer sees the bytes themselves, cut as ByteLevel does; and special tokens as text, as the
 * reference's does, for its merges are to be the same. */
const ath_recipe ath_recipe_bpe = {
  .specials = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"},
  .first = "<s>", .last = "</s>", .mask = "<mask>", .mask_strips = true,
  .pre_tokenizer = BYTE_LEVEL(false), .decoder = BYTE_LEVEL(true),
  .post_processor = "{\"type\":\"RobertaProcessing\",\"sep\":[\"</s>\",%2$d],"
    "\"cls\":[\"<s>\",%1$d],\"trim_offsets\":true,\"add_prefix_space\":false}",
  .word_cutter = "{\"type\":\"Split\",\"behavior\":\"Isolated\",\"invert\":false,\"pattern\":"
    "{\"Regex\":\"'s|'t|'re|'ve|'m|'ll|'d| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+"
    "|\\\\s+(?!\\\\S)|\\\\s+\"}}",
  .reads_specials = true,
};

#define BERT(is_lowercase)                                                                  \
  .specials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"},                               \
  .first = "[CLS]", .last = "[SEP]", .mask = "[MASK]", .mask_strips = false,                \
  .normalizer = "{\"type\":\"BertNormalizer\",\"clean_text\":true,"                         \
    "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":" is_lowercase "}", \
  .pre_tokenizer = "{\"type\":\"BertPreTokenizer\"}", .post_processor = TEMPLATE

const ath_recipe ath_recipe_bert = {BERT("true")};
const ath_recipe ath_recipe_bert_cased = {BERT("false")};
