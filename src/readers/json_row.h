/* json_row.h: two members of a JSON object, found without making a tree of it. */
#ifndef ATHANOR_READERS_JSON_ROW_H
#define ATHANOR_READERS_JSON_ROW_H

#include <stdbool.h>

#include "base/buffer.h"

typedef enum ath_json_kind {
  ATH_JSON_ABSENT, ATH_JSON_STRING, ATH_JSON_OTHER, ATH_JSON_NULL
} ath_json_kind;

/* A member that is looked for. Its value's bytes lie in the row (in `room`, if it has escapes):
 * of a string what it says, of another value how it is written. Of members of one name the last
 * counts. */
typedef struct ath_json_member {
  const char *name;
  size_t name_length;
  ath_buffer *room;
  ath_json_kind kind;
  const char *bytes;
  size_t length;
} ath_json_member;

/* Whether the row, which must be UTF-8, is one JSON object (RFC 8259) and nothing else; the members
 * are filled in then. Strings with half a surrogate pair are none; neither is what is nested deeper
 * than 512. `scratch` is used on the way. */
ath_status ath_json_row(const char *bytes, size_t length, ath_json_member *members, size_t count,
                        ath_buffer *scratch, bool *good) ATH_MUST_CHECK;

#endif
