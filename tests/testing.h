/* testing.h: what every C test uses: cmocka, checks of a status, folders to write into. */
#ifndef ATHANOR_TESTING_H
#define ATHANOR_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "athanor/status.h"

/* The call succeeds; otherwise its text is shown. */
#define assert_ok(call)                                                        \
  do {                                                                         \
    ath_status status_ = (call);                                               \
    if (status_ != ATH_OK)                                                     \
      fail_msg("%s: %s: %s", #call, ath_status_name(status_), ath_error_text()); \
  } while (0)

/* The call fails with this status, and its text contains this part. */
#define assert_fails(call, expected, part)                                     \
  do {                                                                         \
    ath_status status_ = (call);                                               \
    if (status_ != (expected))                                                 \
      fail_msg("%s gave %s (%s), not %s", #call, ath_status_name(status_),     \
               ath_error_text(), #expected);                                   \
    if (strstr(ath_error_text(), (part)) == NULL)                              \
      fail_msg("%s: \"%s\" does not contain \"%s\"", #call, ath_error_text(), (part)); \
  } while (0)

/* |a − b| <= absolute + relative * |b|; both are shown. */
#define assert_near(a, b, absolute, relative)                                  \
  do {                                                                         \
    double a_ = (a), b_ = (b), d_ = a_ > b_ ? a_ - b_ : b_ - a_;               \
    if (!(d_ <= (absolute) + (relative) * (b_ < 0 ? -b_ : b_)))                \
      fail_msg("%s = %.9g, not %.9g (difference %.3g)", #a, a_, b_, d_);       \
  } while (0)

/* A new empty folder under $TMPDIR or /tmp. The caller removes it with remove_folder. */
static inline char *make_folder(void) {
  const char *base = getenv("TMPDIR");
  char *path = malloc(4096);
  snprintf(path, 4096, "%s/athanor-test-XXXXXX", base != NULL ? base : "/tmp");
  if (mkdtemp(path) == NULL) fail_msg("cannot make a folder");
  return path;
}

static inline void remove_folder(char *path) {
  char command[5000];
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  if (system(command) != 0) print_message("could not remove %s\n", path);
  free(path);
}

/* "folder/name" in one of four rotating places. */
static inline const char *in_folder(const char *folder, const char *name) {
  static char paths[4][4096];
  static unsigned turn;
  char *path = paths[turn++ % 4];
  snprintf(path, 4096, "%s/%s", folder, name);
  return path;
}

/* LeakSanitizer's own hook: what a plugin's compiler loses (the one of XLA 0.81 to 0.115 loses some
 * bytes for each scatter) is not ours to free. Allocations of ours have no frame in a plugin. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:build/pjrt/\n"; }

#endif
