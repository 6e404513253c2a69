/* input.c: the lines of standard input or a file, read in blocks. Only LF and CRLF end a line here:
 * a text may hold any other character.
 *
 *     bytes: | given out | the line being looked for … | free |
 *            0          start                  searched = length
 */
#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum { LINE_LIMIT = 64 << 20, BLOCK = 1 << 18 };

static ath_buffer buffer;
static size_t start;
static bool ended;
static int descriptor = STDIN_FILENO;
static const char *name = "standard input";

const char *ath_cli_input_name(void) { return name; }

bool ath_cli_input_is_terminal(void) { return isatty(descriptor); }

ath_status ath_cli_open_input(const char *path) {
  bool standard = strcmp(path, "-") == 0;
  int next = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (next < 0) return ath_fail_errno(errno, "%s", path);
  if (descriptor != STDIN_FILENO) close(descriptor);
  descriptor = next;
  name = standard ? "standard input" : path;
  ath_buffer_clear(&buffer);
  start = 0;
  ended = false;
  return ATH_OK;
}

static ath_status fail_too_long(void) {
  return ath_fail(ATH_INVALID, "%s: a line is longer than %d bytes; break it", name,
                  LINE_LIMIT);
}

/* Reads once, behind what is there, after moving the unfinished line to the front. */
static ath_status read_more(void) {
  if (start > 0) {
    memmove(buffer.bytes, buffer.bytes + start, buffer.length - start);
    buffer.length -= start;
    start = 0;
  }
  if (buffer.length > LINE_LIMIT) return fail_too_long();
  ATH_TRY_CONTEXT(ath_buffer_reserve(&buffer, BLOCK), "%s", name);
  ssize_t got;
  do {
    got = read(descriptor, buffer.bytes + buffer.length, BLOCK);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return ath_fail_errno(errno, "%s", name);
  buffer.length += (size_t)got;
  buffer.bytes[buffer.length] = '\0';
  ended = got == 0;
  return ATH_OK;
}

ath_status ath_cli_read_line(const char **line, size_t *length) {
  if (buffer.maximum == 0) buffer = ath_buffer_make(LINE_LIMIT + 2 * (size_t)BLOCK);
  const char *end = NULL;
  *line = NULL;
  for (size_t searched = start;;) {
    assert(start <= searched && searched <= buffer.length);
    if (searched < buffer.length)
      end = memchr(buffer.bytes + searched, '\n', buffer.length - searched);
    if (end != NULL || ended) break;
    searched = buffer.length - start; /* where it will be after the move */
    ATH_TRY(read_more());
  }
  if (end == NULL && start == buffer.length) return ATH_OK;
  size_t stop = end != NULL ? (size_t)(end - buffer.bytes) : buffer.length;
  if (stop - start > LINE_LIMIT) return fail_too_long();
  char *first = buffer.bytes + start;
  *length = stop - start;
  start = end != NULL ? stop + 1 : stop;
  if (end != NULL && *length > 0 && first[*length - 1] == '\r') --*length;
  first[*length] = '\0'; /* over the line's end */
  *line = first;
  return ATH_OK;
}
