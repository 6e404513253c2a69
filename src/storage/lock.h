/* lock.h: locks among processes, each by flock on a file of its own, as filelock in Python has
 * them. */
#ifndef ATHANOR_STORAGE_LOCK_H
#define ATHANOR_STORAGE_LOCK_H

#include <signal.h>

#include "athanor/status.h"

/* Waits until no other process has the lock at `path`, whose file is made if missing, and takes it;
 * the log tells of a wait of many seconds. Closing *lock lets go, and so does the end of the
 * process. ATH_INTERRUPTED when `stop`, which may be NULL, was set. Where the file system knows no
 * locks *lock is −1 and there is none. */
ath_status ath_lock_wait(const char *path, const volatile sig_atomic_t *stop, int *lock)
    ATH_MUST_CHECK;

#endif
