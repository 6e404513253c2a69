/* log.c: hands messages and progress to the program's sink. */
#include "base/log.h"

#include <stddef.h>

/* One for the process: set once by the program, before there are threads that could log. */
static ath_log_sink sink;

void ath_log_set_sink(const ath_log_sink *new_sink) {
  sink = new_sink != NULL ? *new_sink : (ath_log_sink){0};
}

void ath_log(ath_log_level level, const char *format, ...) {
  if (sink.message == NULL) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  sink.message(sink.context, level, text);
}

void ath_log_progress(const ath_progress *progress) {
  if (sink.progress != NULL) sink.progress(sink.context, progress);
}
