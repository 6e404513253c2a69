/* mirror.h: a local folder that is kept in Cloud Storage while a run writes to it.
 *
 * A thread looks at the folder every second and sends what is new or has changed, a file that grows
 * no oftener than every ten seconds, and what says that others are complete after all others; what
 * is gone here it deletes there. The run never waits for it; a failure is tried again with the next
 * change, and only the last one counts: ath_mirror_close sends what is left.
 *
 * A record beside the folder ("<folder>.mirror") tells which version of each file was here, so that
 * after a kill the next run on this machine goes on with what is here, and one on another machine
 * with what is there. */
#ifndef ATHANOR_STORAGE_MIRROR_H
#define ATHANOR_STORAGE_MIRROR_H

#include <stdbool.h>

#include "athanor/status.h"

typedef struct ath_mirror_options {
  const char *location, *folder; /* gs://…, and the local folder, which is made */
  /* File names that go last, and among them the later in the list later; ended by NULL. */
  const char *const *last;
  /* Of folders called this and a number, only the one with the highest number in which there is
   * `complete` is brought here; NULL: all are. */
  const char *numbered, *complete;
  bool fresh; /* these folders are deleted first, there and here */
} ath_mirror_options;

typedef struct ath_mirror ath_mirror;
/* Brings the folder in line with what is there, and begins. The options' strings must stay. */
ath_status ath_mirror_open(const ath_mirror_options *options, ath_mirror **out) ATH_MUST_CHECK;
ath_status ath_mirror_close(ath_mirror *self) ATH_MUST_CHECK; /* NULL is allowed */

#endif
