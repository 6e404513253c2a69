/* punctuation.c: text cut at punctuation, each character of it a match of its own.
 *
 * {"type": "Punctuation", "behavior": "Isolated"} */
#include "tokenizers/character_tables.h"
#include "tokenizers/pre_tokenizers/cutter.h"
#include "tokenizers/pre_tokenizers/kinds.h"

typedef struct punctuation {
  ath_behavior behavior;
} punctuation;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "behavior", NULL};
  ath_json_check_keys(json, known);
  punctuation *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json behavior = ath_json_member(json, "behavior");
  self->behavior = ATH_ISOLATED; /* as in old files */
  if (behavior.value != NULL) ATH_TRY(ath_behavior_read(&behavior, &self->behavior));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  ath_behavior_write(((const punctuation *)data)->behavior, "behavior", out);
}

static bool is_punctuation(uint32_t c) {
  return (ath_character_look_up(c)->flags & ATH_IS_PUNCTUATION) != 0;
}

static ath_status split(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  const punctuation *self = data;
  return ath_cut_at(is_punctuation, self->behavior, run, text, next);
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_punctuation = {
    {"Punctuation", read, write}, split, ath_needs_no_origins, NULL};
