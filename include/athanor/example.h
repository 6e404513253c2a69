/* example.h: tf.train.Example and tf.train.SequenceExample messages, the usual content of TFRecord
 * files (athanor/tfrecord.h).
 *
 * An Example is a set of named features, each a list of byte strings, of floats or of 64-bit
 * integers. A SequenceExample has such features, called its context, and named lists of features,
 * one for each step. The messages are those of tensorflow/core/example/example.proto; an Example
 * is, byte for byte, a SequenceExample with nothing but a context.
 *
 * What other writers may do is read: lists packed or not, map entries in any order, fields that are
 * not known, of two entries with one name the last. None of these functions keeps anything between
 * calls, and all are safe from any thread. Their failure texts do not name the record: who has it
 * puts it in front.
 *
 * Example
 *
 *     ath_status write_pair(struct ath_buffer *out) {
 *       const int64_t label[] = {3};
 *       const ath_bytes text[] = {{"some text", 9}};
 *       const ath_feature features[] = {
 *         {.name = "label", .kind = ATH_FEATURE_INT64, .count = 1, .integers = label},
 *         {.name = "text", .kind = ATH_FEATURE_BYTES, .count = 1, .strings = text}};
 *       return ath_example_write_any(features, 2, out);
 *     }
 *
 *     ath_status read_ids(const void *bytes, size_t length, int32_t ids[128], int32_t mask[128]) {
 *       ath_int64_list lists[] = {{.name = "input_ids", .values = ids, .capacity = 128},
 *                                 {.name = "attention_mask", .values = mask, .capacity = 128}};
 *       return ath_example_read_lists(bytes, length, lists, 2);
 *     }
 */
#ifndef ATHANOR_EXAMPLE_H
#define ATHANOR_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ath_buffer; /* base/buffer.h */

/* --- integers, fast --------------------------------------------------------------------------
 *
 * Token ids, masks and labels are 32-bit here: every training sample goes through these. */

typedef struct ath_int64_feature {
  const char *name;
  const int32_t *values;
  size_t count;
} ath_int64_feature;

/* Appends an Example of integer features. They are written in the order given (TensorFlow sorts
 * them by name; give them sorted), lists packed. */
ath_status ath_example_write(const ath_int64_feature *features, size_t count,
                             struct ath_buffer *out) ATH_MUST_CHECK;

typedef struct ath_int64_list {
  const char *name;
  int32_t *values; /* [capacity] */
  size_t capacity;
  size_t count;    /* set by reading */
} ath_int64_list;

/* Reads integer lists in one pass over an Example. ATH_NOT_FOUND if a feature is missing;
 * ATH_INVALID if one is of another kind, longer than its capacity, or has a value that does not
 * fit 32 bits; ATH_CORRUPT if the message is malformed. */
ath_status ath_example_read_lists(const void *bytes, size_t length, ath_int64_list *lists,
                                  size_t count) ATH_MUST_CHECK;
/* The same for one list. */
ath_status ath_example_read_int64(const void *bytes, size_t length, const char *name,
                                  int32_t *values, size_t capacity, size_t *count) ATH_MUST_CHECK;

/* --- every kind, writing --------------------------------------------------------------------- */

typedef enum ath_feature_kind {
  ATH_FEATURE_EMPTY, /* no list at all, as in Feature() */
  ATH_FEATURE_BYTES, ATH_FEATURE_FLOAT, ATH_FEATURE_INT64
} ath_feature_kind;

typedef struct ath_bytes {
  const void *bytes;
  size_t length;
} ath_bytes;

typedef struct ath_feature {
  const char *name;
  size_t name_length; /* 0: the name ends at its NUL */
  ath_feature_kind kind;
  size_t count;       /* values, in the one array that the kind says */
  const int64_t *integers;
  const float *floats;
  const ath_bytes *strings;
} ath_feature;

/* A feature list of a SequenceExample; the steps' names are not looked at. */
typedef struct ath_feature_list {
  const char *name;
  size_t name_length;
  const ath_feature *steps;
  size_t count;
} ath_feature_list;

/* Append a message, in the order given. ATH_NO_MEMORY past the buffer's maximum. */
ath_status ath_example_write_any(const ath_feature *features, size_t count,
                                 struct ath_buffer *out) ATH_MUST_CHECK;
ath_status ath_sequence_example_write(const ath_feature *context, size_t count,
                                      const ath_feature_list *lists, size_t list_count,
                                      struct ath_buffer *out) ATH_MUST_CHECK;

/* --- every kind, reading --------------------------------------------------------------------- */

typedef enum ath_feature_place {
  ATH_FEATURE_PLAIN, /* a feature of an Example, or of a SequenceExample's context */
  ATH_FEATURE_STEPS, /* a feature list begins, with `count` steps; it has no values of its own */
  ATH_FEATURE_STEP,  /* the next step of that list */
} ath_feature_place;

/* What a view points to lies in the message; `name` is not NUL-terminated. */
typedef struct ath_feature_view {
  const char *name;
  size_t name_length;
  ath_feature_place place;
  ath_feature_kind kind;
  size_t count;        /* values, or steps */
  const uint8_t *list; /* the encoded list message, and its length */
  size_t list_length;
} ath_feature_view;

/* Calls `visit` for each feature, step and list of an Example or a SequenceExample, as they come,
 * until it fails. Entries that a later one of the same name replaces are visited too. */
ath_status ath_example_visit(const void *bytes, size_t length,
                             ath_status (*visit)(void *context, const ath_feature_view *feature),
                             void *context) ATH_MUST_CHECK;

/* The values of a feature, one after the other. */
typedef struct ath_feature_cursor {
  ath_feature_kind kind;
  const uint8_t *at, *end;         /* of the list */
  const uint8_t *packed_at, *packed_end;
} ath_feature_cursor;

typedef struct ath_feature_value { /* the member that the feature's kind says */
  int64_t integer;
  float real;
  ath_bytes bytes;
} ath_feature_value;

ath_feature_cursor ath_feature_values(const ath_feature_view *feature);
/* Sets *there to false behind the last value. */
ath_status ath_feature_next(ath_feature_cursor *self, ath_feature_value *value, bool *there)
    ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
