/* event_message.c: tensorflow.Event messages (tensorflow/core/util/event.proto and framework/
 * summary.proto), each framed as a TFRecord.
 *
 *     Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5;
 *             SessionLog session_log = 7; }
 *     Summary { repeated Value value = 1; }   Value { string tag = 1; float simple_value = 2; }
 *     SessionLog { SessionStatus status = 1; }   START is 1
 *
 * "loss" 0.5 at step 1, at time 0:
 *
 *     09 00 00 00 00 00 00 00 00   wall_time
 *     10 01                        step
 *     2a 0d                        summary, 13 bytes
 *        0a 0b                        value, 11 bytes
 *           0a 04 "loss"                 tag
 *           15 00 00 00 3f               simple_value */
#include "formats/event_message.h"

#include <assert.h>
#include <string.h>

#include "formats/tfrecord_frame.h"
#include "formats/wire.h"

enum {
  EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5,
  EVENT_SESSION_LOG = 7, SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2, SESSION_STATUS = 1,
  SESSION_START = 1,
  HEAD_BYTES_MAX = 32, /* of wall_time, step, and the tag and length of what follows */
  FLOAT_FIELD = 5,     /* bytes of a float with its tag */
};

static uint8_t *put_number(uint8_t *out, uint32_t number, uint64_t value) {
  out = ath_wire_put_varint(out, ath_wire_tag(number, ATH_WIRE_VARINT));
  return ath_wire_put_varint(out, value);
}

static uint8_t *put_bytes(uint8_t *out, uint32_t number, const void *bytes, size_t count) {
  out = ath_wire_put_head(out, number, count);
  memcpy(out, bytes, count);
  return out + count;
}

/* Makes room for an event with `inside` bytes of content and puts all that comes before these.
 * A step of 0 is the default and so is left out. */
static ath_status begin_event(double wall_time, int64_t step, uint32_t field, size_t inside,
                              ath_buffer *out, uint8_t **at) {
  ATH_TRY(ath_buffer_reserve(out, ATH_TFRECORD_HEAD + HEAD_BYTES_MAX + inside + ATH_TFRECORD_TAIL));
  uint8_t *begin = (uint8_t *)out->bytes + out->length + ATH_TFRECORD_HEAD;
  assert(inside > 0);
  uint8_t *put = ath_wire_put_varint(begin, ath_wire_tag(EVENT_WALL_TIME, ATH_WIRE_64));
  memcpy(put, &wall_time, 8);
  put += 8;
  if (step != 0) put = put_number(put, EVENT_STEP, (uint64_t)step);
  *at = ath_wire_put_head(put, field, inside);
  assert(*at - begin <= HEAD_BYTES_MAX);
  return ATH_OK;
}

/* Puts the frame around the event, which ends at `end`. */
static void finish_event(uint8_t *end, ath_buffer *out) {
  uint8_t *head = (uint8_t *)out->bytes + out->length;
  uint8_t *message = head + ATH_TFRECORD_HEAD;
  assert(end > message);
  ath_tfrecord_frame frame = ath_tfrecord_frame_make(message, (size_t)(end - message));
  memcpy(head, frame.head, sizeof frame.head);
  memcpy(end, frame.tail, sizeof frame.tail);
  end[sizeof frame.tail] = 0; /* the buffer's NUL, for which reserve keeps a place */
  out->length += (size_t)(end + sizeof frame.tail - head);
}

ath_status ath_event_version(double wall_time, ath_buffer *out) {
  static const char version[] = "brain.Event:2";
  size_t length = sizeof version - 1;
  uint8_t *at = NULL;
  ATH_TRY(begin_event(wall_time, 0, EVENT_FILE_VERSION, length, out, &at));
  memcpy(at, version, length);
  finish_event(at + length, out);
  return ATH_OK;
}

ath_status ath_event_session_start(double wall_time, int64_t step, ath_buffer *out) {
  uint8_t *at = NULL;
  ATH_TRY(begin_event(wall_time, step, EVENT_SESSION_LOG, 2, out, &at));
  finish_event(put_number(at, SESSION_STATUS, SESSION_START), out);
  return ATH_OK;
}

ath_status ath_event_scalar(double wall_time, int64_t step, const char *tag, float value,
                            ath_buffer *out) {
  size_t tag_length = strlen(tag);
  size_t inside = 1 + ath_wire_varint_size(tag_length) + tag_length + FLOAT_FIELD;
  size_t summary = 1 + ath_wire_varint_size(inside) + inside;
  uint8_t *at = NULL;
  ATH_TRY(begin_event(wall_time, step, EVENT_SUMMARY, summary, out, &at));
  at = ath_wire_put_head(at, SUMMARY_VALUE, inside);
  at = put_bytes(at, VALUE_TAG, tag, tag_length);
  at = ath_wire_put_varint(at, ath_wire_tag(VALUE_SIMPLE, ATH_WIRE_32));
  memcpy(at, &value, 4);
  finish_event(at + 4, out);
  return ATH_OK;
}
