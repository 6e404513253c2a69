/* lost_file.c: a file that was mapped and cannot be read any more, because another process cut it
 * or its disk failed. The system then sends SIGBUS, which would end the process without a word;
 * here it ends with the file's name and the exit code of a failed read. Only what a signal handler
 * may call is called. */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum { LINE_MAX_BYTES = 4096 + 256 };

static void say(const char *text, size_t length) {
  ssize_t written = write(STDERR_FILENO, text, length);
  (void)written;
}

static uintptr_t read_hex(const char **at) {
  uintptr_t value = 0;
  for (;; ++*at) {
    char c = **at;
    if (c >= '0' && c <= '9') value = value * 16 + (uintptr_t)(c - '0');
    else if (c >= 'a' && c <= 'f') value = value * 16 + (uintptr_t)(c - 'a' + 10);
    else return value;
  }
}

/* The next line, cut at the end of `line`; false at the end. */
static bool next_line(int file, char line[LINE_MAX_BYTES]) {
  static char bytes[4096];
  static size_t at, have;
  size_t length = 0;
  for (;;) {
    if (at == have) {
      ssize_t got = read(file, bytes, sizeof bytes);
      at = 0;
      have = got > 0 ? (size_t)got : 0;
      if (have == 0) return false;
    }
    char c = bytes[at++];
    if (c == '\n') break;
    if (length < LINE_MAX_BYTES - 1) line[length++] = c;
  }
  line[length] = '\0';
  return true;
}

/* Of a line "start-end rights offset device inode   /path": the path, if `address` lies there. */
static const char *path_at(const char *line, uintptr_t address) {
  const char *at = line;
  uintptr_t start = read_hex(&at);
  if (*at++ != '-') return NULL;
  uintptr_t end = read_hex(&at);
  return address >= start && address < end ? strchr(line, '/') : NULL;
}

static void say_path(uintptr_t address) {
  static char line[LINE_MAX_BYTES];
  const char *path = NULL;
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  while (file >= 0 && path == NULL && next_line(file, line)) path = path_at(line, address);
  if (path == NULL) path = "a file";
  say(path, strlen(path));
}

static void on_bus(int number, siginfo_t *info, void *context) {
  static const char before[] = "athanor: ";
  static const char after[] = " cannot be read any more: it became shorter while it was read, or "
                              "its disk failed; try again when nothing changes it\n";
  static atomic_flag told = ATOMIC_FLAG_INIT;
  (void)context;
  if (info->si_code != BUS_ADRERR) { /* no fault of a file's */
    signal(number, SIG_DFL);
    return;
  }
  while (atomic_flag_test_and_set(&told)) pause(); /* other threads meet the same */
  say(before, sizeof before - 1);
  say_path((uintptr_t)info->si_addr);
  say(after, sizeof after - 1);
  _exit(ATH_IO);
}

void ath_cli_catch_lost_files(void) {
  struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, NULL);
}
