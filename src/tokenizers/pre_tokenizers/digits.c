/* digits.c: numbers cut off, whole or each digit for itself; a digit is any numeric character.
 *
 * {"type": "Digits", "individual_digits": false} */
#include "tokenizers/character_tables.h"
#include "tokenizers/pre_tokenizers/cutter.h"
#include "tokenizers/pre_tokenizers/kinds.h"

typedef struct digits {
  bool individual;
} digits;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "individual_digits", NULL};
  ath_json_check_keys(json, known);
  digits *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json individual = ath_json_member(json, "individual_digits");
  ATH_TRY(ath_json_required_flag(&individual, &self->individual));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  ath_json_put_flag(out, "individual_digits", ((const digits *)data)->individual);
}

static bool is_numeric(uint32_t c) {
  return (ath_character_look_up(c)->flags & ATH_IS_NUMERIC) != 0;
}

static ath_status split(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  const digits *self = data;
  return ath_cut_at(is_numeric, self->individual ? ATH_ISOLATED : ATH_CONTIGUOUS, run, text,
                    next);
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_digits = {
    {"Digits", read, write}, split, ath_needs_no_origins, NULL};
