/* example_json.h: Examples and SequenceExamples as lines of JSON, and back, without loss.
 *
 *     {"input_ids": [0, 1, 300], "weights": [0.5, 1.0], "text": ["some text"]}
 *
 * A list's kind is that of its values: whole numbers are 64-bit integers, numbers with a point or
 * an exponent are floats (then all of the list's are), strings are byte strings in UTF-8. What does
 * not show its kind, or has no JSON, is written so:
 *
 *     {"int64": []}   {"float": []}   {"bytes": []}       lists without values
 *     {"float": [1.0, "NaN", "Infinity", "-Infinity"]}    lists with such
 *     {"base64": "/9j/4AAQ"}                              in place of a byte string not in UTF-8
 *     null                                                a feature without a list
 *
 * A SequenceExample is {"sequence_example": {"context": {…}, "feature_lists": {"x": [step, …]}}},
 * where each step is such a list. Reading also takes a single value for a list of one.
 *
 * Not kept are fields that are not of these messages, how lists were packed, the bits of a NaN, and
 * whether a message without features was there or left out. */
#ifndef ATHANOR_FORMATS_EXAMPLE_JSON_H
#define ATHANOR_FORMATS_EXAMPLE_JSON_H

#include "athanor/example.h"
#include "base/buffer.h"

/* Appends the message as JSON without a line's end. ATH_CORRUPT when it is malformed; ATH_INVALID
 * for a name that is not UTF-8. */
ath_status ath_example_to_json(const void *bytes, size_t length, ath_buffer *out) ATH_MUST_CHECK;

/* Appends the message that the JSON describes. ATH_INVALID, naming the feature, for anything that
 * it cannot be. */
ath_status ath_example_from_json(const char *text, size_t length, ath_buffer *out) ATH_MUST_CHECK;

#endif
