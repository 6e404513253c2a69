/* build.c: the masked-language-model tokenizer around a trained vocabulary. */
#include "tokenizers/trainers/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizers/models/kinds.h"
#include "tokenizers/models/unigram.h"
#include "tokenizers/tokenizer.h"

const char *const ath_build_specials[ATH_BUILD_SPECIALS] = {"[CLS]", "[SEP]", "<unk>", "<pad>",
                                                            "[MASK]"};
enum { UNKNOWN_ID = 2 };

#define ADDED(id, content, lstrip) \
  "{\"id\":" #id ",\"content\":\"" content "\",\"lstrip\":" #lstrip \
  ",\"normalized\":false,\"special\":true}"
#define SPECIAL(name, type) "{\"SpecialToken\":{\"id\":\"" name "\",\"type_id\":" #type "}}"
#define SEQUENCE(name, type) "{\"Sequence\":{\"id\":\"" name "\",\"type_id\":" #type "}}"
#define TOKEN(name, id) \
  "\"" name "\":{\"id\":\"" name "\",\"ids\":[" #id "],\"tokens\":[\"" name "\"]}"
#define METASPACE \
  "{\"type\":\"Metaspace\",\"replacement\":\"▁\",\"prepend_scheme\":\"always\",\"split\":true}"

/* The pipeline of the "train from scratch" example, said as tokenizer.json says it. [MASK] takes
 * the space before it, as the example's tokenizer class has it: in training it stands for a piece
 * with its word mark, so a mark of its own left before it would be a text never seen. */
static const char pipeline[] =
    "{\"version\":\"1.0\",\"added_tokens\":["
    ADDED(0, "[CLS]", false) "," ADDED(1, "[SEP]", false) "," ADDED(2, "<unk>", false) ","
    ADDED(3, "<pad>", false) "," ADDED(4, "[MASK]", true) "],"
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":["
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"``\"},\"content\":\"\\\"\"},"
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"''\"},\"content\":\"\\\"\"}]},"
    "\"pre_tokenizer\":" METASPACE ","
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":["
    SPECIAL("[CLS]", 0) "," SEQUENCE("A", 0) "," SPECIAL("[SEP]", 0) "],\"pair\":["
    SPECIAL("[CLS]", 0) "," SEQUENCE("A", 0) "," SPECIAL("[SEP]", 0) ","
    SEQUENCE("B", 1) "," SPECIAL("[SEP]", 1) "],"
    "\"special_tokens\":{" TOKEN("[CLS]", 0) "," TOKEN("[SEP]", 1) "}},"
    "\"decoder\":" METASPACE "}";

/* The nearest number of 15 significant digits. The tokenizers library reads longer ones off by a
 * last bit (its JSON reader does not round exactly); these it reads as they are written. */
static double round_score(double score) {
  char text[32];
  snprintf(text, sizeof text, "%.14e", score);
  return strtod(text, NULL);
}

static ath_status add_piece(ath_unigram *model, size_t index, const ath_unigram_piece *piece) {
  size_t length = strlen(piece->text);
  if (length == 0) return ath_fail(ATH_INVALID, "piece %zu is empty", index);
  if (ath_utf8_prefix(piece->text, length) != length)
    return ath_fail(ATH_INVALID, "piece %zu is not UTF-8", index);
  if (!isfinite(piece->score))
    return ath_fail(ATH_INVALID, "the score of piece %zu, \"%s\", is not finite", index,
                    piece->text);
  const char *copy = ath_arena_string_n(model->arena, piece->text, length);
  if (copy == NULL) return ATH_NO_MEMORY;
  ath_unigram_add(model, copy, length, round_score(piece->score));
  return ATH_OK;
}

/* The special tokens, then the pieces. */
static ath_status build_model(const ath_unigram_piece *pieces, size_t count, ath_arena *arena,
                              ath_unigram **out) {
  if (count > INT32_MAX - ATH_BUILD_SPECIALS)
    return ath_fail(ATH_INVALID, "%zu pieces are too many", count);
  ath_unigram *model = NULL;
  ATH_TRY(ath_unigram_create(arena, ATH_BUILD_SPECIALS + count, &model));
  for (size_t i = 0; i < ATH_BUILD_SPECIALS; i++)
    ath_unigram_add(model, ath_build_specials[i], strlen(ath_build_specials[i]), 0);
  assert(model->count == ATH_BUILD_SPECIALS);
  model->unknown = UNKNOWN_ID;
  for (size_t i = 0; i < count; i++) ATH_TRY(add_piece(model, i, &pieces[i]));
  int32_t doubled;
  ATH_TRY(ath_unigram_finish(model, &doubled));
  if (doubled >= 0)
    return ath_fail(ATH_INVALID, "the piece \"%s\" is there twice, or is a special token",
                    model->pieces[doubled].bytes);
  *out = model;
  return ATH_OK;
}

ath_status ath_tokenizer_build_parts(ath_tokenizer *self, const char *text) {
  json_error_t error;
  json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (tree == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a tokenizer");
  ath_json root = {.value = tree, .key = "built-in pipeline"};
  ath_status status = ath_tokenizer_read_parts(&root, self);
  json_decref(tree);
  ATH_TRY(status);
  return ath_tokenizer_finish(self);
}

static ath_status build(ath_tokenizer *self, const ath_unigram_piece *pieces, size_t count) {
  ath_unigram *model = NULL;
  ATH_TRY(build_model(pieces, count, self->arena, &model));
  self->model = (ath_model){&ath_model_unigram, model};
  return ath_tokenizer_build_parts(self, pipeline);
}

ath_status ath_tokenizer_build_unigram(const ath_unigram_piece *pieces, size_t count,
                                       ath_tokenizer **out) {
  ath_tokenizer *self;
  ATH_TRY(ath_tokenizer_create(&self));
  ath_status status = build(self, pieces, count);
  if (status == ATH_OK) *out = self;
  else ath_tokenizer_destroy(self);
  return status;
}
