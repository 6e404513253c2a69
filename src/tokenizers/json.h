/* json.h: JSON read with errors that name the file and the path inside it, and written as the
 * tokenizers library writes it. */
#ifndef ATHANOR_TOKENIZERS_JSON_H
#define ATHANOR_TOKENIZERS_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "base/buffer.h"

/* A value and the way to it from the file's root, which the errors print. A child refers to its
 * parent, which must outlive it. */
typedef struct ath_json {
  const json_t *value; /* NULL when the key is missing */
  const struct ath_json *parent; /* NULL for the root */
  const char *key;     /* of an object's member; for the root, the file's name */
  size_t index;        /* of an array's item, when `key` is NULL */
  struct ath_json_document *document; /* of a root that has one (json_document.h), or NULL */
} ath_json;

/* Parses a whole file: UTF-8 with or without a byte order mark, an object at the top, no doubled
 * keys. `whole_as_real` reads integers as floating-point numbers, so that none is too big.
 * The caller releases *tree with json_decref; `root` points into it and to `path`. */
ath_status ath_json_load(const char *path, size_t maximum, bool whole_as_real, json_t **tree,
                         ath_json *root) ATH_MUST_CHECK;

/* What it is made of. A byte order mark's length, 0 or 3; a tree of some text, or ATH_INVALID with
 * jansson's words and the place; the failure that tells what is wrong at a byte of a file. */
size_t ath_json_mark(const ath_buffer *file);
ath_status ath_json_parse(const char *path, const char *bytes, size_t length, size_t flags,
                          json_t **tree, size_t *place) ATH_MUST_CHECK;
ath_status ath_json_syntax(const char *path, const ath_buffer *file, size_t place,
                           const char *format, ...) ATH_PRINTF(4, 5);

/* Fails with "<file>: <path>: <text>". */
ath_status ath_json_fail(const ath_json *self, ath_status status, const char *format, ...)
    ATH_PRINTF(3, 4);
void ath_json_warn(const ath_json *self, const char *format, ...) ATH_PRINTF(2, 3);

/* The member of that name; its value is NULL when there is none. */
ath_json ath_json_member(const ath_json *self, const char *key);
ath_json ath_json_item(const ath_json *self, size_t index);
/* Gives an object's members one after another, as the file has them. *place is NULL at first;
 * false at the end. */
bool ath_json_next(const ath_json *self, void **place, ath_json *member);
/* Whether the value is missing or null. */
bool ath_json_absent(const ath_json *self);

/* Each of these fails, saying what was expected and what is there, when the value is missing or
 * of another type. Strings belong to the tree, may hold NULs and are NUL-terminated as well. */
ath_status ath_json_object(const ath_json *self) ATH_MUST_CHECK;
ath_status ath_json_array(const ath_json *self, size_t *count) ATH_MUST_CHECK;
ath_status ath_json_string(const ath_json *self, const char **bytes, size_t *length)
    ATH_MUST_CHECK;
ath_status ath_json_integer(const ath_json *self, int64_t least, int64_t most, int64_t *out)
    ATH_MUST_CHECK;
ath_status ath_json_number(const ath_json *self, double *out) ATH_MUST_CHECK;
ath_status ath_json_required_flag(const ath_json *self, bool *out) ATH_MUST_CHECK;
/* Leaves *out as it is when the value is missing. */
ath_status ath_json_flag(const ath_json *self, bool *out) ATH_MUST_CHECK;

/* Warns of each member that is not in the list, which NULL ends. */
void ath_json_check_keys(const ath_json *self, const char *const *known);

/* --- writing: two spaces per level, one value a line ---------------------------------------- */

typedef struct ath_json_writer {
  ath_buffer *out;
  int depth;
  bool first; /* nothing was written yet at this level */
  ath_status status; /* the first failure; later calls do nothing */
} ath_json_writer;

ath_json_writer ath_json_writer_make(ath_buffer *out);

/* `key` is NULL for an item of an array and for the root. */
void ath_json_open(ath_json_writer *self, const char *key, char bracket); /* '{' or '[' */
void ath_json_close(ath_json_writer *self, char bracket);                 /* '}' or ']' */
void ath_json_put_string(ath_json_writer *self, const char *key, const char *bytes,
                         size_t length);
void ath_json_put_text(ath_json_writer *self, const char *key, const char *string);
void ath_json_put_integer(ath_json_writer *self, const char *key, int64_t value);
/* The same with a key that may hold NULs. */
void ath_json_put_member(ath_json_writer *self, const char *key, size_t length, int64_t value);
void ath_json_put_number(ath_json_writer *self, const char *key, double value);
void ath_json_put_flag(ath_json_writer *self, const char *key, bool value);
void ath_json_put_null(ath_json_writer *self, const char *key);
/* Writes `literal` as it is. */
void ath_json_put_literal(ath_json_writer *self, const char *key, const char *literal);

#endif
