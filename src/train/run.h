/* run.h: a training run, as its files share it: setup.c fills it in, loop.c works on it,
 * checkpoint.c and resume.c save and restore it, report.c tells of it. */
#ifndef ATHANOR_TRAIN_RUN_H
#define ATHANOR_TRAIN_RUN_H

#include <stdio.h>

#include "athanor/events.h"
#include "athanor/train.h"
#include "backends/group.h"
#include "storage/file.h"
#include "train/profile.h"

/* How far a run has come: what must go on unbroken after a resume. */
typedef struct ath_run_position {
  int64_t step;    /* steps done */
  uint64_t batch;  /* micro-batches done, over all epochs */
  double loss_sum, weight_sum; /* over all scored positions so far */
  uint64_t tokens;
  double seconds;
} ath_run_position;

/* What has come together since the last report. */
typedef struct ath_run_window {
  double loss_sum, weight_sum, correct_sum, seconds;
  uint64_t tokens;
  int64_t steps;
} ath_run_window;

/* A step that was given to the device and whose results are still to be read. */
typedef struct ath_run_flight {
  double learning_rate;
  uint64_t first_batch, tokens;
} ath_run_flight;
enum { ATH_FLIGHTS_MAX = 2 };

typedef struct ath_run {
  ath_train_options options; /* resolved; strings belong to the caller's options */
  int lock; /* output_dir, open and locked while the run lasts; -1: not yet */
  bool made_folder; /* output_dir was not there before */
  ath_tokenizer *tokenizer;
  ath_dataset *data, *eval_data; /* eval_data may be NULL */
  ath_model *model;
  ath_backend *backend;
  ath_state *state;
  ath_step *step;
  ath_evaluator *evaluator; /* NULL without eval_data */
  ath_batcher *batcher;
  ath_store *store;             /* of several processes that a launcher started; or NULL */
  ath_group group;
  bool stop_heard;              /* of several, one was asked to stop */
  bool agreed;                  /* all of them end like this one */
  bool lost;                    /* the device's objects cannot be released */
  double clock;                 /* position.seconds by this process's own measure */
  ath_mesh mesh;
  int batch_size;               /* records of a micro-batch, of all devices */
  ath_schedule schedule;
  uint64_t batches_per_epoch;
  ath_run_position position;    /* of what was read back; steps under way come on top */
  ath_run_flight flights[ATH_FLIGHTS_MAX]; /* [step % ATH_FLIGHTS_MAX] */
  int in_flight;
  ath_run_window window;
  ath_run_profile profile;
  int worse_than_guessing;      /* reports in a row */
  char start[ATH_PATH_MAX];     /* the checkpoint that it goes on from; "": none */
  int64_t resumed_from;         /* 0: a fresh start */
  int64_t saved_step;           /* of the newest checkpoint; 0: none */
  double peak_gflops;           /* of a large matrix product here */
  ath_events *events;
  FILE *log;
  struct ath_run_push *push;    /* push.c's; NULL: nothing is pushed */
  bool evaluated;               /* `eval` holds the weights' results of this very step */
  ath_eval_result eval;
} ath_run;

/* Whether this process writes and tells: the only one, or the first. */
static inline bool ath_run_leads(const ath_run *self) { return self->group.process == 0; }

/* Several stop after the same step. */
static inline bool ath_run_stop_asked(const ath_run *self) {
  if (self->group.processes > 1) return self->stop_heard;
  return self->options.stop != NULL && *self->options.stop;
}

/* --- setup.c --- */

/* Opens and settles all that needs no device. */
ath_status ath_run_open(ath_run *self, const ath_train_options *options) ATH_MUST_CHECK;
/* Opens the device and compiles the programs, which may take minutes: after ath_run_find_start. */
ath_status ath_run_open_device(ath_run *self) ATH_MUST_CHECK;
/* After a failure an output_dir that has stayed empty goes again. */
void ath_run_close(ath_run *self);

/* --- checkpoint.c, resume.c --- */

/* Writes config.json, model.safetensors, the tokenizer's files and README.md into a folder. */
ath_status ath_run_save_model(const ath_run *self, const char *folder) ATH_MUST_CHECK;
/* Writes checkpoint-<step>, then removes the oldest beyond save_total_limit. */
ath_status ath_run_save_checkpoint(ath_run *self) ATH_MUST_CHECK;
/* Removes the oldest again, for one that had to stay because it was being pushed. */
ath_status ath_run_keep_newest(const ath_run *self) ATH_MUST_CHECK;

/* The steps of the checkpoint folders in output_dir, rising; at most `limit`, the newest. */
enum { ATH_CHECKPOINTS_MAX = 4096 };
ath_status ath_checkpoint_list(const char *output_dir, int64_t *steps, size_t *count)
    ATH_MUST_CHECK;
/* Removes a checkpoint so that a kill leaves it whole or out of sight. */
ath_status ath_checkpoint_remove(const char *output_dir, int64_t step) ATH_MUST_CHECK;
/* Removes what killed runs left unfinished. */
ath_status ath_checkpoint_sweep(const char *output_dir) ATH_MUST_CHECK;
ath_status ath_checkpoint_path(char out[ATH_PATH_MAX], const char *output_dir, int64_t step)
    ATH_MUST_CHECK;

/* Locks output_dir, and finds where the run begins: `start` and `position`. */
ath_status ath_run_find_start(ath_run *self) ATH_MUST_CHECK;
/* Fills in the variables: from that checkpoint, from model_name_or_path, or by initialisation, as
 * the options say. */
ath_status ath_run_start(ath_run *self) ATH_MUST_CHECK;

/* --- card.c --- */

/* Writes README.md, the model card, into a folder. */
ath_status ath_run_save_card(const ath_run *self, const char *folder) ATH_MUST_CHECK;

/* --- report.c --- */

ath_status ath_run_open_reports(ath_run *self) ATH_MUST_CHECK;
ath_status ath_run_close_reports(ath_run *self) ATH_MUST_CHECK;
/* Shows the state of progress on the sink: the window's loss and speed. Before it is emptied. */
void ath_run_show_progress(const ath_run *self, double learning_rate, bool finished);
/* Writes the window to TensorBoard and log.jsonl and empties it. */
ath_status ath_run_report(ath_run *self, const ath_step_result *latest, double learning_rate)
    ATH_MUST_CHECK;
ath_status ath_run_report_eval(ath_run *self) ATH_MUST_CHECK;
/* Of all devices and micro-batches; and how they make it up, to the log. */
int64_t ath_run_records_per_step(const ath_run *self);
void ath_run_tell_batch(const ath_run *self);
void ath_run_summarise(const ath_run *self, ath_train_summary *out);

/* --- summary.c --- */

/* Writes train_results.json, eval_results.json and, last, all_results.json. */
ath_status ath_run_summary_write(const ath_train_summary *self, const char *folder)
    ATH_MUST_CHECK;
ath_status ath_run_summary_remove(const char *folder) ATH_MUST_CHECK;
/* False where there is no all_results.json, or one that lacks something. */
bool ath_run_summary_read(const char *folder, ath_train_summary *out);

/* --- push.c --- */

/* Settles where to push, in the process that leads; without push_to_hub there is nothing to do. */
ath_status ath_run_push_open(ath_run *self) ATH_MUST_CHECK;
/* After a checkpoint was saved: has a thread push it, unless one is still at the one before. */
void ath_run_push_checkpoint(ath_run *self);
/* The step of the checkpoint that is being pushed and must stay; 0: none. */
int64_t ath_run_push_reads(const ath_run *self);
/* Pushes the finished model, after the push under way. */
ath_status ath_run_push_end(ath_run *self) ATH_MUST_CHECK;
/* What the model is called on the Hub, and with the user's name if that is known; or NULL. */
const char *ath_run_push_name(const ath_run *self);
const char *ath_run_push_repository(const ath_run *self);
/* Asks for the user's name, where the model card would lack it. */
void ath_run_push_find_user(ath_run *self);
/* Stops the push under way. */
void ath_run_push_close(ath_run *self);

/* --- peak.c --- */

/* The speed of the fastest of a few products of two large matrices of `dtype` on the run's device,
 * in 10^9 operations/s, of each device of a mesh. */
ath_status ath_measure_peak(ath_run *run, ath_dtype dtype, double *gflops) ATH_MUST_CHECK;

#endif
