/* build_unigram.c: the Unigram tokenizer around trained pieces. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizers/trainers/build.h"

typedef struct model {
  const ath_build *build;
  const ath_unigram_piece *pieces;
  size_t count;
} model;

/* The nearest number of 15 significant digits. The tokenizers library reads longer ones off by a
 * last bit (its JSON reader does not round exactly); these it reads as they are written. */
static double round_score(double score) {
  char text[32];
  snprintf(text, sizeof text, "%.14e", score);
  return strtod(text, NULL);
}

static void write_entry(const char *text, double score, ath_json_writer *out) {
  ath_json_open(out, NULL, '[');
  ath_json_put_text(out, NULL, text);
  ath_json_put_number(out, NULL, score);
  ath_json_close(out, ']');
}

/* An ath_model_writer. */
static void write_model(const void *context, ath_json_writer *out) {
  const model *self = context;
  ath_json_put_text(out, "type", "Unigram");
  ath_json_put_integer(out, "unk_id", ath_build_special(self->build, "<unk>", strlen("<unk>")));
  ath_json_open(out, "vocab", '[');
  for (size_t i = 0; i < self->build->special_count; i++)
    write_entry(self->build->specials[i], 0, out);
  for (size_t i = 0; i < self->count; i++)
    write_entry(self->pieces[i].text, round_score(self->pieces[i].score), out);
  ath_json_close(out, ']');
}

static ath_status check_piece(const ath_build *build, size_t index,
                              const ath_unigram_piece *piece) {
  size_t length = strlen(piece->text);
  if (length == 0) return ath_fail(ATH_INVALID, "piece %zu is empty", index);
  if (ath_utf8_prefix(piece->text, length) != length)
    return ath_fail(ATH_INVALID, "piece %zu is not UTF-8", index);
  if (ath_build_special(build, piece->text, length) >= 0)
    return ath_fail(ATH_INVALID, "piece %zu, \"%s\", is a special token", index, piece->text);
  if (isfinite(piece->score)) return ATH_OK;
  return ath_fail(ATH_INVALID, "the score of piece %zu, \"%s\", is not finite", index,
                  piece->text);
}

ath_status ath_build_unigram(const ath_build *self, const ath_unigram_piece *pieces, size_t count,
                             ath_tokenizer **out) {
  if (count > (size_t)ATH_VOCAB_SIZE_MAX - self->special_count)
    return ath_fail(ATH_INVALID, "%zu pieces are too many", count);
  for (size_t i = 0; i < count; i++) ATH_TRY(check_piece(self, i, &pieces[i]));
  return ath_build_tokenizer(self, write_model, &(model){self, pieces, count}, out);
}
