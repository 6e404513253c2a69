/* json_rows.h: a large object or array read row by row out of the file's bytes. The vocabulary and
 * the merges of a model have hundreds of thousands of values, and a tree of those costs ten times
 * what reading them costs. */
#ifndef ATHANOR_TOKENIZERS_JSON_ROWS_H
#define ATHANOR_TOKENIZERS_JSON_ROWS_H

#include "tokenizers/json.h"

/* A string's bytes, unescaped; it may hold NULs, and none ends it. Valid until two more strings of
 * the same rows were read. */
typedef struct ath_json_slice {
  const char *bytes;
  size_t length;
} ath_json_slice;

typedef struct ath_json_rows {
  const ath_json *json; /* the object or array */
  ath_buffer file;      /* the bytes that errors count in; not ours to free */
  const char *at, *end; /* what is left to read */
  char bracket;         /* which opened it */
  size_t count;         /* rows met so far, the present one included */
  const char *row;      /* where the present one begins */
  int item;             /* of a row that is a pair: which value is next; −1 outside of it */
  ath_buffer unescaped[2];
  int turn;             /* which of them is used next */
  char *composed;       /* the text, where there was only a tree */
} ath_json_rows;

/* Begins to read the rows of an object ('{') or array ('['); fails, saying what was expected and
 * what is there, when it is something else. Close it, whether it fails or not. */
ath_status ath_json_rows_open(const ath_json *json, char bracket, ath_json_rows *out)
    ATH_MUST_CHECK;
/* The same for a file that is one object; `json` has its name alone. */
ath_status ath_json_rows_open_file(const ath_json *json, const ath_buffer *file,
                                   ath_json_rows *out) ATH_MUST_CHECK;
void ath_json_rows_close(ath_json_rows *self);

/* No more bytes than these are left, so all strings to come are shorter together. */
size_t ath_json_rows_left(const ath_json_rows *self);

/* Goes to the next row; *more is false after the last one. An object's row begins with its key. */
ath_status ath_json_rows_next(ath_json_rows *self, bool *more, ath_json_slice *key)
    ATH_MUST_CHECK;

/* Each reads the value that is next, or fails. */
ath_status ath_json_rows_string(ath_json_rows *self, ath_json_slice *out) ATH_MUST_CHECK;
ath_status ath_json_rows_integer(ath_json_rows *self, int64_t least, int64_t most, int64_t *out)
    ATH_MUST_CHECK;
ath_status ath_json_rows_number(ath_json_rows *self, double *out) ATH_MUST_CHECK;
/* Appends a string's bytes, ended by a NUL. */
ath_status ath_json_slice_keep(ath_json_slice string, ath_buffer *out) ATH_MUST_CHECK;
/* Whether the value that is next begins so. */
bool ath_json_rows_at(const ath_json_rows *self, char first);
/* Passes over the '[', ',' or ']' of a row that is an array of two values, which `what` tells. */
ath_status ath_json_rows_mark(ath_json_rows *self, char mark, const char *what) ATH_MUST_CHECK;

/* Fails with "<file>: <path of the present row>: <text>". */
ath_status ath_json_rows_fail(ath_json_rows *self, ath_status status, const char *format, ...)
    ATH_PRINTF(3, 4);

#endif
