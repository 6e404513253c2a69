/* sequence.c: post-processors one after another.
 *
 * {"type": "Sequence", "processors": […]} */
#include "tokenizers/post_processors/kinds.h"

typedef struct sequence {
  size_t count;
  ath_post_processor items[];
} sequence;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "processors", NULL};
  ath_json_check_keys(json, known);
  ATH_TRY(ath_check_nesting(json));
  ath_json list = ath_json_member(json, "processors");
  size_t count;
  ATH_TRY(ath_json_array(&list, &count));
  sequence *self = ath_arena_alloc(arena, sizeof *self + count * sizeof *self->items);
  if (self == NULL) return ATH_NO_MEMORY;
  self->count = count;
  for (size_t i = 0; i < count; i++) {
    ath_json item = ath_json_item(&list, i);
    ATH_TRY(ath_post_processor_read(&item, arena, &self->items[i]));
  }
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const sequence *self = data;
  ath_json_open(out, "processors", '[');
  for (size_t i = 0; i < self->count; i++) {
    const ath_kind *kind = &self->items[i].kind->base;
    ath_json_open(out, NULL, '{');
    ath_json_put_text(out, "type", kind->name);
    kind->write(self->items[i].data, out);
    ath_json_close(out, '}');
  }
  ath_json_close(out, ']');
}

/* Each may triple the parts, so their number is bounded. */
static ath_status lay_out(const void *data, ath_arena *arena, bool special, ath_layout *layout) {
  enum { PARTS_MAX = 1 << 16 };
  const sequence *self = data;
  for (size_t i = 0; i < self->count; i++) {
    ATH_TRY(self->items[i].kind->lay_out(self->items[i].data, arena, special, layout));
    if (layout->count > PARTS_MAX)
      return ath_fail(ATH_UNSUPPORTED, "post_processor: more than %d tokens and texts", PARTS_MAX);
  }
  return ATH_OK;
}

const ath_post_processor_kind ath_post_processor_sequence = {{"Sequence", read, write}, lay_out};
