/* byte_level.c: the post-processor that adds no tokens, but takes white space off the offsets.
 *
 * {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true} */
#include "tokenizers/post_processors/kinds.h"
#include "tokenizers/post_processors/trim.h"

typedef struct byte_level {
  bool add_prefix_space, trim_offsets, use_regex;
} byte_level;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "add_prefix_space", "trim_offsets", "use_regex",
                                      NULL};
  ath_json_check_keys(json, known);
  byte_level *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  *self = (byte_level){true, true, true};
  ath_json prefix = ath_json_member(json, "add_prefix_space");
  ath_json trim = ath_json_member(json, "trim_offsets");
  ath_json regex = ath_json_member(json, "use_regex");
  ATH_TRY(ath_json_flag(&prefix, &self->add_prefix_space));
  ATH_TRY(ath_json_flag(&trim, &self->trim_offsets));
  ATH_TRY(ath_json_flag(&regex, &self->use_regex)); /* only the pre-tokeniser heeds it */
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const byte_level *self = data;
  ath_json_put_flag(out, "add_prefix_space", self->add_prefix_space);
  ath_json_put_flag(out, "trim_offsets", self->trim_offsets);
  ath_json_put_flag(out, "use_regex", self->use_regex);
}

static ath_status lay_out(const void *data, ath_arena *arena, bool special, ath_layout *layout) {
  (void)arena;
  (void)special;
  const byte_level *self = data;
  return self->trim_offsets ? ath_layout_add_trim(layout, self->add_prefix_space) : ATH_OK;
}

const ath_post_processor_kind ath_post_processor_byte_level = {
    {"ByteLevel", read, write}, lay_out};
