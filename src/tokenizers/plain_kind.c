/* plain_kind.c: reading and writing parts that have nothing but their "type". */
#include "tokenizers/pipeline.h"

ath_status ath_read_nothing(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", NULL};
  static char nothing;
  (void)arena;
  ath_json_check_keys(json, known);
  *data = &nothing;
  return ATH_OK;
}

void ath_write_nothing(const void *data, ath_json_writer *out) { (void)data, (void)out; }
