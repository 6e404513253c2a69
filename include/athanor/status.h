/* status.h: how every fallible function of Athanor reports what went wrong.
 *
 * A function that can fail returns `ath_status`; 0 (ATH_OK) is success. The text is
 * written where the fault is found, by `ath_fail`, and says what, where and what to do:
 *
 *     train/dataset-3-5000.tfrecord: record 17 at byte 6562: data checksum does not match
 *
 * The text belongs to the calling thread and stays until that thread's next failure.
 * Callers that know more about "where" put it in front with `ath_context` and pass the
 * status on. The command line prints the text on one line and exits with the status's
 * number, which the README documents.
 *
 * Example
 *
 *     static ath_status read_length(const char *path, long *length) {
 *       FILE *file = fopen(path, "rb");
 *       if (file == NULL) return ath_fail_errno(errno, "%s", path);
 *       int found = fscanf(file, "%ld", length);
 *       fclose(file);
 *       if (found != 1) return ath_fail(ATH_INVALID, "%s: no number in it", path);
 *       return ATH_OK;
 *     }
 *
 *     ath_status read_both(long *a, long *b) {
 *       ATH_TRY(read_length("a.txt", a));
 *       ATH_TRY_CONTEXT(read_length("b.txt", b), "second file");
 *       return ATH_OK;
 *     }
 */
#ifndef ATHANOR_STATUS_H
#define ATHANOR_STATUS_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The one list of statuses: name, number (which is also the command's exit code), meaning. */
#define ATH_STATUS_LIST(X)                                                    \
  X(ATH_OK, 0, "success")                                                     \
  X(ATH_INTERNAL, 1, "a fault in Athanor itself")                             \
  X(ATH_USAGE, 2, "unknown command or option, or a value out of range")       \
  X(ATH_INVALID, 3, "an input is not valid: wrong content, encoding or size") \
  X(ATH_CORRUPT, 4, "a file is damaged: a checksum or a length does not match") \
  X(ATH_MISMATCH, 5, "two inputs do not belong together")                     \
  X(ATH_NOT_FOUND, 6, "a file, folder or name does not exist")                \
  X(ATH_DENIED, 7, "no permission")                                           \
  X(ATH_NO_SPACE, 8, "the disk is full")                                      \
  X(ATH_IO, 9, "reading or writing failed")                                   \
  X(ATH_NO_MEMORY, 10, "memory ran out")                                      \
  X(ATH_UNSUPPORTED, 11, "not supported by this build, machine or device")    \
  X(ATH_DIVERGED, 12, "training produced NaN or diverged")                    \
  X(ATH_INTERRUPTED, 13, "stopped by a signal; the work so far was saved")

typedef enum ath_status {
#define ATH_STATUS_ENUM(name, number, meaning) name = number,
  ATH_STATUS_LIST(ATH_STATUS_ENUM)
#undef ATH_STATUS_ENUM
} ath_status;

#define ATH_MUST_CHECK __attribute__((warn_unused_result))
#define ATH_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Records the formatted text for this thread and returns `status` (never ATH_OK).
 * Texts over 1023 bytes are cut at the end. */
ath_status ath_fail(ath_status status, const char *format, ...) ATH_PRINTF(2, 3);

/* As ath_fail, for a failed system call: chooses the status from `error_number` (ENOENT
 * and ENOTDIR → ATH_NOT_FOUND; EACCES, EPERM and EROFS → ATH_DENIED; ENOSPC and EDQUOT →
 * ATH_NO_SPACE; ENOMEM → ATH_NO_MEMORY; EINVAL and EISDIR → ATH_INVALID; others ATH_IO) and
 * appends the system's description. */
ath_status ath_fail_errno(int error_number, const char *format, ...) ATH_PRINTF(2, 3);

/* Puts "<context>: " before the recorded text and returns `status` unchanged.
 * Does nothing when `status` is ATH_OK. */
ath_status ath_context(ath_status status, const char *format, ...) ATH_PRINTF(2, 3);

/* This thread's latest failure text; "" if there was none. Valid until the next failure. */
const char *ath_error_text(void);

/* The name ("ATH_CORRUPT") and the meaning of a status; "?" for an unknown number. */
const char *ath_status_name(ath_status status);
const char *ath_status_meaning(ath_status status);

/* Returns from the calling function when `expression` fails. */
#define ATH_TRY(expression)                          \
  do {                                               \
    ath_status ath_try_status_ = (expression);       \
    if (ath_try_status_ != ATH_OK) return ath_try_status_; \
  } while (0)

/* The same, with "<context>: " put before the text. */
#define ATH_TRY_CONTEXT(expression, ...)                             \
  do {                                                               \
    ath_status ath_try_status_ = (expression);                       \
    if (ath_try_status_ != ATH_OK) return ath_context(ath_try_status_, __VA_ARGS__); \
  } while (0)

/* For functions that clean up at one label: sets the local variable `status` and jumps there. */
#define ATH_TRY_GOTO(expression, label)              \
  do {                                               \
    status = (expression);                           \
    if (status != ATH_OK) goto label;                \
  } while (0)

#ifdef __cplusplus
}
#endif

#endif
