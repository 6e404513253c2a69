/* log.c: hands messages and progress to the program's sink. */
#include "base/log.h"

#include <stddef.h>

/* One for the process: set once by the program, before there are threads that could log. */
static ath_log_sink sink;
static int process, processes = 1;

void ath_log_set_sink(const ath_log_sink *new_sink) {
  sink = new_sink != NULL ? *new_sink : (ath_log_sink){0};
}

void ath_log_set_process(int new_process, int new_processes) {
  process = new_process;
  processes = new_processes;
}

void ath_log(ath_log_level level, const char *format, ...) {
  if (sink.message == NULL || (process > 0 && level == ATH_LOG_INFO)) return;
  char text[1024];
  int before = 0;
  va_list arguments;
  va_start(arguments, format);
  if (processes > 1 && level != ATH_LOG_INFO)
    before = snprintf(text, sizeof text, "process %d of %d: ", process, processes);
  vsnprintf(text + before, sizeof text - (size_t)before, format, arguments);
  va_end(arguments);
  sink.message(sink.context, level, text);
}

void ath_log_progress(const ath_progress *progress) {
  if (sink.progress != NULL && process == 0) sink.progress(sink.context, progress);
}
