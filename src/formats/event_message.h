/* event_message.h: the framed records of an event file, with the time given by the caller. Each
 * call appends one record. */
#ifndef ATHANOR_FORMATS_EVENT_MESSAGE_H
#define ATHANOR_FORMATS_EVENT_MESSAGE_H

#include <stdint.h>

#include "athanor/status.h"
#include "base/buffer.h"

/* `wall_time` is in seconds since 1970. */
ath_status ath_event_version(double wall_time, ath_buffer *out) ATH_MUST_CHECK;
ath_status ath_event_session_start(double wall_time, int64_t step, ath_buffer *out) ATH_MUST_CHECK;
ath_status ath_event_scalar(double wall_time, int64_t step, const char *tag, float value,
                            ath_buffer *out) ATH_MUST_CHECK;

#endif
