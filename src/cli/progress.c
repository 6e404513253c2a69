/* progress.c: how messages and progress look on standard error: a bar that redraws itself on a
 * terminal; elsewhere a plain line every ten seconds, and when a report is due, at most one a
 * second. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"

enum { BAR_CELLS = 20, BAR_CELLS_LEAST = 6, SAMPLES = 32 };

typedef struct display {
  bool terminal;
  bool bar_shown;          /* the cursor stands at the end of a bar */
  char task[96];           /* the task being shown; a new one starts a new line */
  double task_begun, last_drawn;
  /* Recent (time, done) pairs: the time left follows the present speed, not the average. */
  struct { double time; uint64_t done; } samples[SAMPLES];
  unsigned sample_count;
} display;

static display screen;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void clear_bar(void) {
  if (screen.bar_shown) fputs("\r\033[K", stderr);
  screen.bar_shown = false;
}

static void show_message(void *context, ath_log_level level, const char *text) {
  char given[ATH_CLI_GIVEN_MAX];
  (void)context;
  clear_bar();
  ath_cli_say(stderr, level == ATH_LOG_WARNING ? "warning: " : "", ath_cli_as_given(text, given));
}

/* "1:02:03" or "4:05". */
static const char *clock_text(double seconds, char out[24]) {
  long s = seconds > 0 ? (long)(seconds + 0.5) : 0;
  if (s >= 3600) snprintf(out, 24, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  else snprintf(out, 24, "%ld:%02ld", s / 60, s % 60);
  return out;
}

/* Large numbers are given in thousands, millions and so on, by three digits, so that they keep
 * their width: 345678 is "346 k", 12345678 "12.3 M". */
static int unit_of(double value) {
  int unit = 0;
  for (; value >= 999.5 && unit < 4; unit++) value /= 1000;
  return unit;
}

static double scaled(double value, int unit) {
  for (int i = 0; i < unit; i++) value /= 1000;
  return value;
}

/* How many decimals make three digits of it. */
static int decimals_of(double value, int unit) {
  double shown = scaled(value, unit);
  return unit == 0 || shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
}

/* −1 when it cannot be told: a file that grows while it is read may even pass its total. */
static double seconds_left(const ath_progress *p, double time) {
  unsigned kept = screen.sample_count < SAMPLES ? screen.sample_count : SAMPLES;
  if (kept < 2 || p->total < p->done) return -1;
  unsigned oldest = (screen.sample_count - kept) % SAMPLES;
  double span = time - screen.samples[oldest].time;
  double done = (double)p->done - (double)screen.samples[oldest].done;
  if (span <= 0 || done <= 0) return -1;
  return (double)(p->total - p->done) * span / done;
}

/* --- one line, as wide as there is room ------------------------------------------------------ */

/* What a line consists of, in its order; beside the bar. */
enum { TASK, SHARE, COUNT, RATE, FIRST_DETAIL, MORE_DETAIL, CLOCK, PARTS };

typedef struct line_parts {
  char text[PARTS][128];
} line_parts;

/* Counts of steps, records and lines stay exact: one wants to find a step again. Bytes are shown in
 * the unit of the total, with its decimals, so that the line does not jump. */
static void say_count(const ath_progress *p, char *out, size_t size) {
  static const char *const plain[] = {"", " k", " M", " G", " T"};
  static const char *const bytes[] = {"bytes", "kB", "MB", "GB", "TB"};
  bool in_bytes = p->unit != NULL && strcmp(p->unit, "bytes") == 0;
  double top = (double)(p->total > 0 ? p->total : p->done);
  int unit = top >= (in_bytes ? 1e4 : 1e7) ? unit_of(top) : 0;
  int decimals = decimals_of(top, unit);
  int used = snprintf(out, size, " %.*f", decimals, scaled((double)p->done, unit));
  if (p->total > 0)
    used += snprintf(out + used, size - (size_t)used, "/%.*f", decimals,
                     scaled((double)p->total, unit));
  snprintf(out + used, size - (size_t)used, "%s %s", in_bytes ? "" : plain[unit],
           in_bytes ? bytes[unit] : p->unit != NULL ? p->unit : "");
}

static void say_rate(const ath_progress *p, char *out, size_t size) {
  static const char *const units[] = {"", " k", " M", " G", " T"};
  int unit = p->rate >= 1e4 ? unit_of(p->rate) : 0;
  snprintf(out, size, " · %.*f%s %s", decimals_of(p->rate, unit), scaled(p->rate, unit),
           units[unit], p->rate_unit);
}

/* "loss 3.214 · lr 1.0e-4": the first is worth more. */
static void say_detail(const char *detail, line_parts *out) {
  const char *more = strstr(detail, " · ");
  size_t first = more != NULL ? (size_t)(more - detail) : strlen(detail);
  snprintf(out->text[FIRST_DETAIL], sizeof out->text[0], " · %.*s", (int)first, detail);
  if (more != NULL) snprintf(out->text[MORE_DETAIL], sizeof out->text[0], "%s", more);
}

static void say_parts(const ath_progress *p, double time, line_parts *out) {
  char clock[24];
  size_t size = sizeof out->text[0];
  memset(out, 0, sizeof *out);
  snprintf(out->text[TASK], size, "%s", p->task);
  if (p->total > 0 && screen.terminal)
    snprintf(out->text[SHARE], size, " %3.0f%%", 100.0 * (double)p->done / (double)p->total);
  say_count(p, out->text[COUNT], size);
  if (p->rate > 0) say_rate(p, out->text[RATE], size);
  if (p->detail != NULL && p->detail[0] != '\0') say_detail(p->detail, out);
  double left = seconds_left(p, time);
  if (p->finished)
    snprintf(out->text[CLOCK], size, " · took %s", clock_text(time - screen.task_begun, clock));
  else if (left >= 0)
    snprintf(out->text[CLOCK], size, " · %s left", clock_text(left, clock));
}

/* Characters of a terminal's line; what we write takes one cell each. */
static int width_of(const char *text) {
  int width = 0;
  for (; *text != '\0'; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
  return width;
}

static int width_of_parts(const line_parts *self) {
  int width = 0;
  for (int i = 0; i < PARTS; i++) width += width_of(self->text[i]);
  return width;
}

static int columns_of_terminal(void) {
  struct winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

/* Leaves out what matters least until the rest and a short bar have room; the share and the time
 * left go last. Gives the cells of the bar, which takes what is then free. */
static int fit(line_parts *parts, int columns) {
  static const int order[] = {MORE_DETAIL, RATE, FIRST_DETAIL, COUNT};
  bool bar = parts->text[SHARE][0] != '\0';
  int room = columns - 1 - (bar ? BAR_CELLS_LEAST + 1 : 0);
  for (size_t i = 0; i < sizeof order / sizeof *order && width_of_parts(parts) > room; i++)
    parts->text[order[i]][0] = '\0';
  int cells = columns - 2 - width_of_parts(parts);
  if (!bar || cells < BAR_CELLS_LEAST) return 0;
  return cells < BAR_CELLS ? cells : BAR_CELLS;
}

/* The line as it is written, all at once. */
typedef struct line_bytes {
  char bytes[1024];
  size_t used;
} line_bytes;

static void add(line_bytes *self, const char *text, size_t length) {
  if (length > sizeof self->bytes - self->used) return;
  memcpy(self->bytes + self->used, text, length);
  self->used += length;
}

static void add_bar(line_bytes *self, const ath_progress *p, int cells) {
  int full = (int)((double)p->done / (double)p->total * cells);
  if (cells > 0) add(self, " ", 1);
  for (int i = 0; i < cells; i++) add(self, i < full ? "█" : "░", sizeof "█" - 1);
}

/* Up to `room` characters, which it counts down. */
static void add_within(line_bytes *self, const char *text, int *room) {
  size_t length = 0;
  for (; text[length] != '\0'; length++) {
    bool begins = ((unsigned char)text[length] & 0xC0) != 0x80;
    if (begins && (*room)-- == 0) {
      *room = 0;
      break;
    }
  }
  add(self, text, length);
}

/* On a terminal within its width, short of the last column. */
static void print_line(const ath_progress *p, double time) {
  line_parts parts;
  line_bytes line = {.used = 0};
  say_parts(p, time, &parts);
  int columns = screen.terminal ? columns_of_terminal() : (int)sizeof line.bytes;
  int cells = screen.terminal ? fit(&parts, columns) : 0;
  int room = columns - 1 - (cells > 0 ? cells + 1 : 0);
  if (screen.terminal) add(&line, "\r\033[K", 4);
  for (int i = 0; i < PARTS; i++) {
    if (i == SHARE) add_bar(&line, p, cells);
    add_within(&line, parts.text[i], &room);
  }
  if (!screen.terminal || p->finished) add(&line, "\n", 1);
  fwrite(line.bytes, 1, line.used, stderr);
}

static void begin_task(const ath_progress *p, double time) {
  if (strcmp(screen.task, p->task) == 0) return;
  snprintf(screen.task, sizeof screen.task, "%s", p->task);
  screen.task_begun = time;
  screen.last_drawn = 0;
  screen.sample_count = 0;
  if (screen.bar_shown) fputc('\n', stderr);
  screen.bar_shown = false;
}

static void show_progress(void *context, const ath_progress *p) {
  (void)context;
  double time = now();
  begin_task(p, time);
  double pause = screen.terminal ? 0.1 : p->due ? 1.0 : 10.0;
  if (!p->finished && screen.last_drawn > 0 && time - screen.last_drawn < pause) return;
  if (!screen.terminal && !p->finished && time - screen.task_begun < pause) return;
  unsigned slot = screen.sample_count++ % SAMPLES;
  screen.samples[slot].time = time;
  screen.samples[slot].done = p->done;
  screen.last_drawn = time;
  print_line(p, time);
  screen.bar_shown = screen.terminal && !p->finished;
  if (p->finished) screen.task[0] = '\0';
  fflush(stderr);
}

void ath_cli_leave_bar(void) {
  if (screen.bar_shown) fputc('\n', stderr);
  screen.bar_shown = false;
}

void ath_cli_show_progress(void) {
  screen.terminal = ath_cli_may_steer(STDERR_FILENO);
  ath_log_sink sink = {.message = show_message, .progress = show_progress};
  ath_log_set_sink(&sink);
  atexit(ath_cli_leave_bar);
}
