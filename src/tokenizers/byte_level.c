/* byte_level.c: the members of "ByteLevel" in and out of tokenizer.json. */
#include "tokenizers/byte_level.h"

static ath_status read(const ath_json *json, ath_arena *arena, void **data,
                       ath_status (*flag)(const ath_json *, bool *)) {
  static const char *const known[] = {"type", "add_prefix_space", "trim_offsets", "use_regex",
                                      NULL};
  ath_json_check_keys(json, known);
  ath_byte_level *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  *self = (ath_byte_level){true, true, true};
  ath_json prefix = ath_json_member(json, "add_prefix_space");
  ath_json trim = ath_json_member(json, "trim_offsets");
  ath_json regex = ath_json_member(json, "use_regex");
  ATH_TRY(flag(&prefix, &self->add_prefix_space));
  ATH_TRY(flag(&trim, &self->trim_offsets));
  ATH_TRY(ath_json_flag(&regex, &self->use_regex));
  *data = self;
  return ATH_OK;
}

ath_status ath_byte_level_read(const ath_json *json, ath_arena *arena, void **data) {
  return read(json, arena, data, ath_json_flag);
}

ath_status ath_byte_level_read_strictly(const ath_json *json, ath_arena *arena, void **data) {
  return read(json, arena, data, ath_json_required_flag);
}

void ath_byte_level_write(const void *data, ath_json_writer *out) {
  const ath_byte_level *self = data;
  ath_json_put_flag(out, "add_prefix_space", self->add_prefix_space);
  ath_json_put_flag(out, "trim_offsets", self->trim_offsets);
  ath_json_put_flag(out, "use_regex", self->use_regex);
}
