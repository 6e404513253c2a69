/* lock.c: waiting for a lock of another process. */
#include "storage/lock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum { POLL_NANOSECONDS = 50 * 1000 * 1000, TELL_SECONDS = 10, LOCK_MODE = 0664, OPENS_MAX = 1000 };

/* filelock asks again and again too: neither is told when the other lets go. */
static ath_status wait_for(int file, const char *path, const volatile sig_atomic_t *stop,
                           bool *held) {
  const struct timespec pause = {.tv_nsec = POLL_NANOSECONDS};
  double tell = seconds_now() + TELL_SECONDS;
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EACCES && errno != EINTR) return ATH_OK; /* none here */
    if (stop != NULL && *stop)
      return ath_fail(ATH_INTERRUPTED, "%s: stopped while waiting for it", path);
    if (seconds_now() > tell) {
      ath_log(ATH_LOG_INFO, "%s: waiting for another process that downloads the same", path);
      tell = seconds_now() + TELL_SECONDS;
    }
    nanosleep(&pause, NULL);
  }
  *held = true;
  return ATH_OK;
}

static bool has_name(int file) {
  struct stat state;
  return fstat(file, &state) == 0 && state.st_nlink > 0;
}

/* Whoever had the lock may have removed its file meanwhile: the next one locks another. */
ath_status ath_lock_wait(const char *path, const volatile sig_atomic_t *stop, int *lock) {
  *lock = -1;
  for (int i = 0; i < OPENS_MAX; i++) {
    bool held = false;
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, LOCK_MODE);
    if (file < 0) return ath_fail_errno(errno, "%s", path);
    ath_status status = wait_for(file, path, stop, &held);
    if (held && has_name(file)) {
      *lock = file;
      return ATH_OK;
    }
    close(file);
    if (!held) return status;
  }
  return ath_fail(ATH_IO, "%s: is removed whenever it is locked", path);
}
