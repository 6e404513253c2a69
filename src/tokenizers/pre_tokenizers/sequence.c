/* sequence.c: pre-tokenisers one after another: each cuts the words of the one before it.
 *
 * {"type": "Sequence", "pretokenizers": […]} */
#include "tokenizers/pre_tokenizers/kinds.h"

typedef struct sequence {
  size_t count;
  size_t steps; /* with those of sequences within it */
  ath_pre_tokenizer items[];
} sequence;

static size_t steps_of(const ath_pre_tokenizer *item) {
  if (item->kind != &ath_pre_tokenizer_sequence) return 1;
  return 1 + ((const sequence *)item->data)->steps;
}

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "pretokenizers", NULL};
  ath_json_check_keys(json, known);
  ATH_TRY(ath_check_nesting(json));
  ath_json list = ath_json_member(json, "pretokenizers");
  size_t count;
  ATH_TRY(ath_json_array(&list, &count));
  sequence *self = ath_arena_alloc(arena, sizeof *self + count * sizeof *self->items);
  if (self == NULL) return ATH_NO_MEMORY;
  self->count = count;
  self->steps = 0;
  for (size_t i = 0; i < count; i++) {
    ath_json item = ath_json_item(&list, i);
    ATH_TRY(ath_pre_tokenizer_read(&item, arena, &self->items[i]));
    self->steps += steps_of(&self->items[i]);
  }
  if (self->steps > ATH_PRE_TOKENIZERS_MAX)
    return ath_json_fail(&list, ATH_INVALID, "%zu pre-tokenisers in a row; at most %d",
                         self->steps, ATH_PRE_TOKENIZERS_MAX);
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const sequence *self = data;
  ath_json_open(out, "pretokenizers", '[');
  for (size_t i = 0; i < self->count; i++) {
    const ath_kind *kind = &self->items[i].kind->base;
    ath_json_open(out, NULL, '{');
    ath_json_put_text(out, "type", kind->name);
    kind->write(self->items[i].data, out);
    ath_json_close(out, '}');
  }
  ath_json_close(out, ']');
}

typedef struct step {
  const sequence *sequence;
  size_t index;
  ath_sink last;
} step;

/* Hands a word to the item of that index, or out of the sequence when there is none. */
static ath_status cut_further(void *context, ath_run *run, const ath_text *text) {
  const step *self = context;
  if (self->index == self->sequence->count)
    return self->last.take(self->last.context, run, text);
  assert(text->length > 0);
  const ath_pre_tokenizer *item = &self->sequence->items[self->index];
  step next = {self->sequence, self->index + 1, self->last};
  return item->kind->split(item->data, run, text, (ath_sink){cut_further, &next});
}

static ath_status split(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  step first = {data, 0, next};
  return cut_further(&first, run, text);
}

static bool needs_origins(const void *data) {
  const sequence *self = data;
  for (size_t i = 0; i < self->count; i++)
    if (self->items[i].kind->needs_origins(self->items[i].data)) return true;
  return false;
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_sequence = {
    {"Sequence", read, write}, split, needs_origins};
