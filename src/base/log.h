/* log.h: what the library has to say while it works. Nothing below cli/ prints: messages and
 * progress go to the sink that the program has set; without one they are dropped. */
#ifndef ATHANOR_BASE_LOG_H
#define ATHANOR_BASE_LOG_H

#include <stdint.h>

#include "athanor/status.h"

typedef enum ath_log_level { ATH_LOG_INFO, ATH_LOG_WARNING } ath_log_level;

/* How far a long task has come. Times and rates are the sink's affair. */
typedef struct ath_progress {
  const char *task;   /* "tokenizer: counting words" */
  uint64_t done;      /* in `unit`s */
  uint64_t total;     /* 0 when it is not known */
  const char *unit;   /* "bytes", "records", "steps" */
  const char *detail; /* shown after the bar: "loss 3.214 · lr 1.0e-4"; may be NULL */
  double rate;        /* e.g. tokens per second; 0 when there is none */
  const char *rate_unit; /* "tokens/s" */
  int due;            /* 1 when the user asked for a report just now (every logging_steps) */
  int finished;       /* 1 in the task's last report */
} ath_progress;

typedef struct ath_log_sink {
  void (*message)(void *context, ath_log_level level, const char *text);
  void (*progress)(void *context, const ath_progress *progress);
  void *context;
} ath_log_sink;

/* Sets the sink of the whole process (copied); NULL removes it. Not while others log. */
void ath_log_set_sink(const ath_log_sink *sink);

/* Of several processes that do the same the first tells of it: in the others messages are dropped,
 * but for warnings, before which it says "process 1 of 2: ". */
void ath_log_set_process(int process, int processes);

void ath_log(ath_log_level level, const char *format, ...) ATH_PRINTF(2, 3);
void ath_log_progress(const ath_progress *progress);

#endif
