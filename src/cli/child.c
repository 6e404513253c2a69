/* child.c: work that may end the process or never end, done in a child.
 *
 * The child sends one byte, its status, and then its result or the text of its failure. */
#include "cli/child.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { RESULT_MAX = 1 << 20 };

static void send_all(int file, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t sent = write(file, bytes, count);
    if (sent <= 0 && errno != EINTR) return; /* the parent is gone, or sees that it is cut */
    if (sent > 0) {
      bytes += sent;
      count -= (size_t)sent;
    }
  }
}

static _Noreturn void be_child(ath_status (*work)(const void *, ath_buffer *), const void *context,
                               int file) {
  ath_buffer out = ath_buffer_make(RESULT_MAX);
  ath_status status = work(context, &out);
  char first = (char)status;
  send_all(file, &first, 1);
  if (status != ATH_OK) send_all(file, ath_error_text(), strlen(ath_error_text()));
  else if (out.length > 0) send_all(file, out.bytes, out.length);
  _exit(0); /* without the plugins' own clean-up at the end of a process */
}

/* Reads to the end of the pipe or to the deadline. */
static ath_status receive(int file, double deadline, ath_buffer *out) {
  for (;;) {
    double left = deadline - seconds_now();
    struct pollfd wait = {.fd = file, .events = POLLIN};
    int ready = poll(&wait, 1, left > 0 ? (int)(1000 * left) + 1 : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return ath_fail(ATH_IO, "it does not answer, and was ended");
    ATH_TRY(ath_buffer_reserve(out, 1 << 16));
    ssize_t got = read(file, out->bytes + out->length, 1 << 16);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ath_fail_errno(errno, "reading from a child process");
    if (got == 0) return ATH_OK;
    out->length += (size_t)got;
  }
}

static ath_status understand(const ath_buffer *message, int end, ath_buffer *out) {
  if (message->length == 0 && WIFSIGNALED(end))
    return ath_fail(ATH_INTERNAL, "it ended by signal %d (%s)", WTERMSIG(end),
                    strsignal(WTERMSIG(end)));
  if (message->length == 0) return ath_fail(ATH_INTERNAL, "it ended the process without a word");
  ath_status status = (ath_status)message->bytes[0];
  if (status != ATH_OK)
    return ath_fail(status, "%.*s", (int)(message->length - 1), message->bytes + 1);
  return ath_buffer_append(out, message->bytes + 1, message->length - 1);
}

ath_status ath_cli_in_child(ath_status (*work)(const void *context, ath_buffer *out),
                            const void *context, int seconds, ath_buffer *out) {
  assert(seconds > 0);
  int ends[2], end = 0;
  if (pipe(ends) != 0) return ath_fail_errno(errno, "cannot make a pipe");
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    be_child(work, context, ends[1]);
  }
  int fault = errno;
  close(ends[1]);
  ath_status status =
      child < 0 ? ath_fail_errno(fault, "cannot make a child process") : ATH_OK;
  ath_buffer message = ath_buffer_make(RESULT_MAX + (1 << 17));
  if (status == ATH_OK) status = receive(ends[0], seconds_now() + seconds, &message);
  close(ends[0]);
  if (child > 0) {
    if (status != ATH_OK) kill(child, SIGKILL);
    while (waitpid(child, &end, 0) < 0 && errno == EINTR) continue;
  }
  if (status == ATH_OK) status = understand(&message, end, out);
  ath_buffer_free(&message);
  return status;
}
