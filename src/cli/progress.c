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

enum { BAR_CELLS = 20, LINE_MAX_BYTES = 512, SAMPLES = 32 };

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
  (void)context;
  clear_bar();
  fprintf(stderr, "%s%s\n", level == ATH_LOG_WARNING ? "warning: " : "", text);
}

/* "1:02:03" or "4:05". */
static const char *clock_text(double seconds, char out[24]) {
  long s = seconds > 0 ? (long)(seconds + 0.5) : 0;
  if (s >= 3600) snprintf(out, 24, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  else snprintf(out, 24, "%ld:%02ld", s / 60, s % 60);
  return out;
}

/* Numbers from `exact` on are given in thousands, millions and so on, so that they keep their
 * width: 345678 is "346 k", 12345678 "12.3 M". */
static int unit_of(double value, double exact) {
  int unit = 0;
  if (value < exact) return 0;
  for (; value >= 10000 && unit < 4; unit++) value /= 1000;
  return unit;
}

static const char *in_unit(double value, int unit, char out[24]) {
  for (int i = 0; i < unit; i++) value /= 1000;
  snprintf(out, 24, "%.*f", unit == 0 || value >= 100 ? 0 : 1, value);
  return out;
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

static void add(char *line, const char *format, ...) ATH_PRINTF(2, 3);
static void add(char *line, const char *format, ...) {
  size_t length = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line + length, LINE_MAX_BYTES - length, format, arguments);
  va_end(arguments);
}

static void add_bar(char *line, const ath_progress *p) {
  int full = (int)((double)p->done / (double)p->total * BAR_CELLS);
  add(line, " ");
  for (int i = 0; i < BAR_CELLS; i++) add(line, "%s", i < full ? "█" : "░");
  add(line, " %3.0f%%", 100.0 * (double)p->done / (double)p->total);
}

static void compose(char *line, const ath_progress *p, double time) {
  static const char *const units[] = {"", " k", " M", " G", " T"};
  char a[24], b[24];
  line[0] = '\0';
  add(line, "%s", p->task);
  if (p->total > 0 && screen.terminal) add_bar(line, p);
  /* Counts of steps, records and lines stay exact: one wants to find a step again. */
  int unit = unit_of((double)(p->total > 0 ? p->total : p->done), 1e7);
  int rate_unit = unit_of(p->rate, 1e4);
  add(line, " %s", in_unit((double)p->done, unit, a));
  if (p->total > 0) add(line, "/%s", in_unit((double)p->total, unit, b));
  add(line, "%s %s", units[unit], p->unit != NULL ? p->unit : "");
  if (p->rate > 0)
    add(line, " · %s%s %s", in_unit(p->rate, rate_unit, a), units[rate_unit], p->rate_unit);
  if (p->detail != NULL) add(line, " · %s", p->detail);
  double left = seconds_left(p, time);
  if (p->finished) add(line, " · took %s", clock_text(time - screen.task_begun, a));
  else if (left >= 0) add(line, " · %s left", clock_text(left, a));
}

/* Cuts the line to the terminal's width, at a character's border. */
static void cut(char *line) {
  struct winsize size;
  int columns = 100;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) columns = size.ws_col;
  int shown = 0;
  for (char *p = line; *p != '\0'; p++) {
    if (((unsigned char)*p & 0xC0) == 0x80) continue;
    if (shown++ == columns - 1) {
      *p = '\0';
      return;
    }
  }
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
  char line[LINE_MAX_BYTES];
  compose(line, p, time);
  if (screen.terminal) {
    cut(line);
    fprintf(stderr, "\r\033[K%s", line);
    screen.bar_shown = !p->finished;
    if (p->finished) fputc('\n', stderr);
  } else {
    fprintf(stderr, "%s\n", line);
  }
  if (p->finished) screen.task[0] = '\0';
  fflush(stderr);
}

static void leave_bar(void) {
  if (screen.bar_shown) fputc('\n', stderr);
}

void ath_cli_show_progress(void) {
  screen.terminal = ath_cli_may_steer(STDERR_FILENO);
  ath_log_sink sink = {.message = show_message, .progress = show_progress};
  ath_log_set_sink(&sink);
  atexit(leave_bar);
}
