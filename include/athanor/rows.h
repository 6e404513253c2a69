/* rows.h: the records that are prepared for training, as tf.train.Examples (athanor/example.h):
 *
 *     chunk of text    attention_mask, input_ids: int64[length]      for masked language modelling
 *     labelled text    attention_mask, input_ids: int64[length]; labels: int64[1]
 *     labelled image   image: bytes[1], a JPEG file; label: int64[1]
 *
 * All texts of a file have one length: shorter ones are padded, with 0 in the mask. These are the
 * layouts that tf.io.parse_example takes with FixedLenFeature, under the names that the examples of
 * transformers use; other features beside them are no fault. Features are written in the order of
 * their names, as TensorFlow does.
 *
 * Example
 *
 *     ath_status copy_row(const void *bytes, size_t length, struct ath_buffer *out) {
 *       int32_t ids[128], mask[128];
 *       ath_text_row row = {.input_ids = ids, .attention_mask = mask, .length = 128};
 *       ATH_TRY(ath_text_row_read(bytes, length, &row));
 *       return ath_text_row_write(&row, out);
 *     }
 */
#ifndef ATHANOR_ROWS_H
#define ATHANOR_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/example.h"
#include "athanor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ath_text_row {
  int32_t *input_ids, *attention_mask; /* [length] */
  size_t length;
  bool labelled;
  int32_t label;
} ath_text_row;

/* Puts `count` ids into the row, then pad_id up to its length, and the mask that goes with them.
 * ATH_INVALID for more ids than the row is long. */
ath_status ath_text_row_fill(ath_text_row *self, const int32_t *ids, size_t count, int32_t pad_id)
    ATH_MUST_CHECK;
ath_status ath_text_row_write(const ath_text_row *self, struct ath_buffer *out) ATH_MUST_CHECK;
/* Into a row whose arrays and length are set; finds out whether it has a label. ATH_NOT_FOUND for a
 * missing list; ATH_INVALID for one that is not as long as the row, for a mask of other numbers
 * than 0 and 1, and for more or fewer labels than one. */
ath_status ath_text_row_read(const void *bytes, size_t length, ath_text_row *self) ATH_MUST_CHECK;

typedef struct ath_image_row {
  ath_bytes image; /* of a row that was read, in the message */
  int64_t label;
} ath_image_row;

/* ATH_INVALID for an image that does not begin as a JPEG file does. */
ath_status ath_image_row_write(const ath_image_row *self, struct ath_buffer *out) ATH_MUST_CHECK;
ath_status ath_image_row_read(const void *bytes, size_t length, ath_image_row *self)
    ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
