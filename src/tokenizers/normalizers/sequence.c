/* sequence.c: normalisers one after another. */
#include <string.h>

#include "tokenizers/normalizers/kinds.h"

/* {"type": "Sequence", "normalizers": […]} */
typedef struct sequence {
  size_t count;
  ath_normalizer items[];
} sequence;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "normalizers", NULL};
  ath_json_check_keys(json, known);
  ATH_TRY(ath_check_nesting(json));
  ath_json list = ath_json_member(json, "normalizers");
  size_t count;
  ATH_TRY(ath_json_array(&list, &count));
  sequence *self = ath_arena_alloc(arena, sizeof *self + count * sizeof *self->items);
  if (self == NULL) return ATH_NO_MEMORY;
  self->count = count;
  for (size_t i = 0; i < count; i++) {
    ath_json item = ath_json_item(&list, i);
    ATH_TRY(ath_normalizer_read(&item, arena, &self->items[i]));
  }
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const sequence *self = data;
  ath_json_open(out, "normalizers", '[');
  for (size_t i = 0; i < self->count; i++) {
    const ath_kind *kind = &self->items[i].kind->base;
    ath_json_open(out, NULL, '{');
    ath_json_put_text(out, "type", kind->name);
    kind->write(self->items[i].data, out);
    ath_json_close(out, '}');
  }
  ath_json_close(out, ']');
}

static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  const sequence *self = data;
  assert(text->bytes != NULL);
  for (size_t i = 0; i < self->count; i++)
    ATH_TRY(self->items[i].kind->apply(self->items[i].data, run, text));
  return ATH_OK;
}

const ath_normalizer_kind ath_normalizer_sequence = {{"Sequence", read, write}, apply};
