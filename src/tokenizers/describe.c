/* describe.c: a tokenizer's pipeline in words: the kind of each part, and of those in sequences. */
#include "tokenizers/tokenizer.h"

/* Its kind is NULL where the tokenizer has none. */
static ath_part part_of(const ath_tokenizer *self, ath_tokenizer_part part) {
#define CASE(name, member)                                                            \
  case name:                                                                          \
    if (self->member.kind == NULL) break;                                             \
    return (ath_part){&self->member.kind->base, self->member.data}
  switch (part) {
    CASE(ATH_PART_NORMALIZER, normalizer);
    CASE(ATH_PART_PRE_TOKENIZER, pre_tokenizer);
    CASE(ATH_PART_MODEL, model);
    CASE(ATH_PART_POST_PROCESSOR, post_processor);
    CASE(ATH_PART_DECODER, decoder);
    case ATH_PART_COUNT: assert(!"a part that does not exist");
  }
#undef CASE
  return (ath_part){0};
}

/* As deep as sequences are nested, which their readers limit. */
static ath_status put_part(ath_part part, ath_buffer *out) {
  const ath_sequence *items = ath_part_sequence(part);
  ATH_TRY(ath_buffer_string(out, part.kind->name));
  if (items == NULL) return ATH_OK;
  ATH_TRY(ath_buffer_string(out, " ("));
  for (size_t i = 0; i < items->count; i++) {
    if (i > 0) ATH_TRY(ath_buffer_string(out, ", "));
    ATH_TRY(put_part(items->items[i], out));
  }
  return ath_buffer_byte(out, ')');
}

ath_status ath_tokenizer_describe(const ath_tokenizer *self, ath_tokenizer_part part,
                                  ath_buffer *out) {
  ath_part its = part_of(self, part);
  return its.kind != NULL ? put_part(its, out) : ath_buffer_string(out, "none");
}
