/* sequence.c: pre-tokenisers one after another: each cuts the words of the one before it.
 *
 * {"type": "Sequence", "pretokenizers": […]} */
#include "tokenizers/byte_level.h"
#include "tokenizers/pre_tokenizers/kinds.h"

/* Pre-tokenisers in a row, with those of sequences within it. */
static size_t steps_of(const ath_sequence *self) {
  size_t steps = 0;
  for (size_t i = 0; i < self->count; i++) {
    const ath_sequence *within = ath_part_sequence(self->items[i]);
    steps += within != NULL ? 1 + steps_of(within) : 1;
  }
  return steps;
}

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  ATH_TRY(ath_sequence_read(json, "pretokenizers", &ath_pre_tokenizer_kinds, arena, data));
  size_t steps = steps_of(*data);
  if (steps <= ATH_PRE_TOKENIZERS_MAX) return ATH_OK;
  ath_json list = ath_json_member(json, "pretokenizers");
  return ath_json_fail(&list, ATH_INVALID, "%zu pre-tokenisers in a row; at most %d", steps,
                       ATH_PRE_TOKENIZERS_MAX);
}

static void write(const void *data, ath_json_writer *out) {
  ath_sequence_write(data, "pretokenizers", out);
}

typedef struct step {
  const ath_sequence *sequence;
  size_t index;
  ath_sink last;
} step;

/* The first item from that index on that does anything. */
static size_t skip_idle(const ath_sequence *self, size_t index, const ath_run *run) {
  while (index < self->count && ath_byte_level_is_idle(self->items[index], run)) index++;
  return index;
}

/* Hands a word to the item of that index, or out of the sequence when there is none. */
static ath_status cut_further(void *context, ath_run *run, const ath_text *text) {
  const step *self = context;
  if (self->index == self->sequence->count)
    return self->last.take(self->last.context, run, text);
  assert(text->length > 0);
  const ath_part *item = &self->sequence->items[self->index];
  step next = {self->sequence, skip_idle(self->sequence, self->index + 1, run), self->last};
  ath_sink sink = {cut_further, &next, NULL};
  if (next.index == self->sequence->count) sink = self->last;
  return ATH_KIND_OF(ath_pre_tokenizer_kind, *item)->split(item->data, run, text, sink);
}

static ath_status split(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  step first = {data, skip_idle(data, 0, run), next};
  return cut_further(&first, run, text);
}

static bool needs_origins(const void *data) {
  const ath_sequence *self = data;
  for (size_t i = 0; i < self->count; i++)
    if (ATH_KIND_OF(ath_pre_tokenizer_kind, self->items[i])->needs_origins(self->items[i].data))
      return true;
  return false;
}

/* What the first one parts, the others never see together. */
static ath_border border(const void *data, uint8_t character) {
  const ath_sequence *self = data;
  if (self->count == 0) return ATH_NO_BORDER;
  const ath_part *first = &self->items[0];
  const ath_pre_tokenizer_kind *kind = ATH_KIND_OF(ath_pre_tokenizer_kind, *first);
  return kind->border != NULL ? kind->border(first->data, character) : ATH_NO_BORDER;
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_sequence = {
    {"Sequence", read, write}, split, needs_origins, border};
