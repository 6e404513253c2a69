/* train.h: training a masked language model, evaluating one, and what a run leaves behind.
 *
 * A run is described by `ath_train_options`. Its settings have the names of Hugging Face's
 * run_mlm.py and TrainingArguments where they mean the same; one table (ath_train_settings) lists
 * them, and from it come the keys of the YAML file, the command's flags and its help.
 *
 * The run's folder, output_dir, holds
 *
 *     config.yaml             every setting of the run, as resolved
 *     config.json, model.safetensors, tokenizer files, README.md   the model, when done
 *     checkpoint-<step>/      the same, and what a resume needs:
 *       training/optimizer.safetensors   the moments, "m.<parameter>" and "v.<parameter>"
 *       training/state.json   step, batch number, sums so far, the settings that must not change
 *       SHA256SUMS            of every file; `sha256sum -c SHA256SUMS` checks it too
 *     runs/                   TensorBoard events; profiles in plugins/profile/<time>/
 *     log.jsonl               one JSON object per report, as in the Trainer's log_history; NaN is
 *                             written as NaN
 *     all_results.json, train_results.json, eval_results.json   the summary, when done, as
 *                             Hugging Face's Trainer names and writes it
 *
 * A checkpoint is written under a temporary name, flushed to disk, and renamed, so that a run
 * killed at any moment finds whole ones only. Started again, it goes on from the newest and ends
 * with the very same bits as an unbroken run, on the same machine with the same thread count.
 *
 * Everything here belongs to one thread at a time.
 *
 * Example
 *
 *     ath_status train_small(const char *tokenizer, const char *data, const char *output) {
 *       ath_train_options options;
 *       ath_train_summary summary;
 *       ATH_TRY(ath_train_options_init(&options));
 *       options.tokenizer = tokenizer;
 *       options.train_dataset = data;
 *       options.output_dir = output;
 *       options.hidden_size = 64;
 *       options.num_hidden_layers = 2;
 *       options.num_attention_heads = 2;
 *       options.intermediate_size = 256;
 *       ath_status status = ath_train(&options, &summary);
 *       if (status == ATH_OK) printf("final loss %.3f\n", summary.train_loss);
 *       ath_train_options_free(&options);
 *       return status;
 *     }
 */
#ifndef ATHANOR_TRAIN_H
#define ATHANOR_TRAIN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/backend.h"
#include "athanor/dataset.h"
#include "athanor/model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ath_buffer;

/* --- options ----------------------------------------------------------------------------- */

/* What each means is said by ath_train_settings, its help and its limits. */
typedef struct ath_train_options {
  const char *train_dataset, *eval_dataset, *tokenizer, *output_dir;
  const char *config_name, *model_name_or_path;
  int64_t hidden_size, num_hidden_layers, num_attention_heads, intermediate_size;
  const char *hidden_act;
  int64_t max_position_embeddings, vocab_size, pad_vocab_to_multiple_of;
  double hidden_dropout_prob, attention_probs_dropout_prob, initializer_range;
  int64_t per_device_train_batch_size, per_device_eval_batch_size, gradient_accumulation_steps;
  double num_train_epochs;
  int64_t max_steps;
  double max_train_minutes;
  double learning_rate;
  const char *lr_scheduler_type;
  int64_t warmup_steps;
  double warmup_ratio;
  double weight_decay, adam_beta1, adam_beta2, adam_epsilon, max_grad_norm;
  double mlm_probability;
  int64_t max_seq_length, max_predictions_per_seq;
  int64_t seed;
  bool profile;
  const char *profile_steps;
  int64_t logging_steps, eval_steps, save_steps, save_total_limit, max_eval_samples;
  const char *resume_from_checkpoint;
  bool overwrite_output_dir;
  const char *device, *mesh;
  bool bf16;
  int64_t threads;
  bool push_to_hub;
  const char *hub_model_id, *hub_strategy;
  bool hub_private_repo;
  const char *hub_token;
  /* Not settings: */
  const volatile sig_atomic_t *stop; /* set by a signal handler: finish the step, save, return */
  struct ath_arena *memory;          /* of the strings that were read from a file */
} ath_train_options;

/* Defaults; an arena for strings. Free it. */
ath_status ath_train_options_init(ath_train_options *out) ATH_MUST_CHECK;
void ath_train_options_free(ath_train_options *self);

typedef enum ath_setting_kind {
  ATH_SETTING_TEXT,    /* const char *, may be NULL */
  ATH_SETTING_INTEGER, /* int64_t */
  ATH_SETTING_NUMBER,  /* double */
  ATH_SETTING_FLAG,    /* bool */
} ath_setting_kind;

typedef struct ath_setting {
  const char *name;        /* "learning_rate" */
  ath_setting_kind kind;
  size_t offset;           /* in ath_train_options */
  double minimum, maximum; /* of numbers */
  bool fixed;              /* decides the result: a resumed run must have the same */
  const char *placeholder; /* "N" */
  const char *help;        /* one sentence, without full stop */
  const char *group;       /* "Model"; settings of a group follow one another */
  bool secret;             /* its value is never printed nor written */
} ath_setting;

/* The table of settings, in the order in which they are shown. */
const ath_setting *ath_train_settings(size_t *count);
/* A setting's value as text, as YAML writes it, appended to `out`; null for a secret. */
ath_status ath_train_setting_print(const ath_setting *setting, const ath_train_options *options,
                                   struct ath_buffer *out) ATH_MUST_CHECK;

/* Reads a YAML file: one mapping of settings to values. An unknown key names the nearest one;
 * a key given twice, a value of the wrong kind or out of range, and anything that is not a plain
 * mapping are refused, with file and line. */
ath_status ath_train_options_read(ath_train_options *self, const char *path) ATH_MUST_CHECK;
/* Writes all settings as YAML that reads back the same. */
ath_status ath_train_options_write(const ath_train_options *self, const char *path)
    ATH_MUST_CHECK;
/* Checks every limit and what must be given, without touching a file. ATH_USAGE. */
ath_status ath_train_options_check(const ath_train_options *self) ATH_MUST_CHECK;

/* --- learning rate ----------------------------------------------------------------------- */

typedef enum ath_schedule_kind {
  ATH_SCHEDULE_LINEAR,   /* rises over the warm-up, then falls in a straight line to 0 */
  ATH_SCHEDULE_COSINE,   /* rises over the warm-up, then falls as half a cosine to 0 */
  ATH_SCHEDULE_CONSTANT,
  ATH_SCHEDULE_CONSTANT_WITH_WARMUP,
} ath_schedule_kind;

typedef struct ath_schedule {
  ath_schedule_kind kind;
  double peak;
  int64_t warmup_steps, total_steps;
} ath_schedule;

/* ATH_USAGE, with the names there are, for any other. */
ath_status ath_schedule_kind_from_name(const char *name, ath_schedule_kind *out) ATH_MUST_CHECK;
/* The learning rate of a step, counted from 0, by the formulas of transformers' schedules: so the
 * first step of a warm-up has rate 0. */
double ath_schedule_rate(const ath_schedule *self, int64_t step);

/* --- the training step ------------------------------------------------------------------- */

/* Of the groups of each batch (dataset.h) those that this process has, where several share it; a
 * count of 0: all. */
typedef struct ath_share {
  int first_group, group_count;
} ath_share;

typedef struct ath_step_options {
  ath_forward_options forward;
  double adam_beta1, adam_beta2, adam_epsilon, weight_decay, max_grad_norm;
  bool accumulate; /* several micro-batches make one step */
  ath_share share; /* of the batches that it is given */
} ath_step_options;

/* The model that the options describe: of a file, or of the settings. `length` is that of the
 * longest record. Without a tokenizer (NULL) the vocabulary is as large as vocab_size says, and the
 * ids are those of roberta-base. */
ath_status ath_train_architecture(const ath_train_options *options,
                                  const ath_tokenizer *tokenizer, int length,
                                  ath_model_config *out) ATH_MUST_CHECK;
/* How many updates a run takes: max_steps, or else those of num_train_epochs. */
int64_t ath_train_steps(const ath_train_options *options, int64_t batches_per_epoch);
/* Records of a batch, of all devices of the mesh: each that shares it has `each`, for example
 * per_device_train_batch_size. ATH_USAGE where they are too many. */
ath_status ath_train_batch_size(int64_t each, const ath_mesh *mesh, int *out)
    ATH_MUST_CHECK;
/* The groups (dataset.h) of a batch that a mesh shares: one for each part, or a single one where
 * the batch does not divide, which the device will refuse. */
int ath_train_groups(const ath_mesh *mesh, int batch_size);
/* The step for batches of this size, their places for masked positions included. */
ath_step_options ath_train_step_options(const ath_train_options *options, const ath_mesh *mesh,
                                        int batch_size, int length);

/* The graph of a step's last micro-batch, `last`, or of one before: for a program, or to be looked
 * at without one. The caller destroys it. */
ath_status ath_step_graph(const ath_model *model, const ath_step_options *options, bool last,
                          ath_graph **out) ATH_MUST_CHECK;

/* The programs of one training step. Variables "m.<parameter>" and "v.<parameter>" hold the
 * moments; "sum.<parameter>", with accumulate, the gradients so far. A micro-batch counts by its
 * scored positions: the step's gradient is the sum of all gradients over the sum of weights. */
typedef struct ath_step ath_step;
ath_status ath_step_create(const ath_model *model, const ath_step_options *options,
                           ath_state *state, ath_step **out) ATH_MUST_CHECK;
void ath_step_destroy(ath_step *self); /* NULL is allowed */

typedef struct ath_step_result {
  float loss, weight, correct; /* sums over the scored positions of all micro-batches */
  float norm;                  /* of the mean gradient, before clipping */
} ath_step_result;

/* Adds a micro-batch's gradients; not the last of a step. Needs `accumulate`. */
ath_status ath_step_add(ath_step *self, const ath_batch *batch) ATH_MUST_CHECK;
/* The step's last micro-batch, and the update, without waiting for them. `step` counts from 0. */
ath_status ath_step_start(ath_step *self, const ath_batch *batch, int64_t step,
                          double learning_rate) ATH_MUST_CHECK;
/* The results of a step that was started, `steps_ago` starts before the latest (0); less than
 * ath_backend_history. Waits for it. */
ath_status ath_step_read(ath_step *self, int steps_ago, ath_step_result *result) ATH_MUST_CHECK;
/* Both. */
ath_status ath_step_apply(ath_step *self, const ath_batch *batch, int64_t step,
                          double learning_rate, ath_step_result *result) ATH_MUST_CHECK;
/* After reading a step that was not finite: the first parameter, in the model's order, whose
 * gradient was not; NULL if all were. */
const char *ath_step_culprit(const ath_step *self);
/* The program of the last micro-batch, for its statistics and profile; owned by the step. */
ath_program *ath_step_program(const ath_step *self);

/* --- evaluation -------------------------------------------------------------------------- */

typedef struct ath_eval_result {
  double loss;       /* mean over the scored positions, in nats */
  double perplexity; /* exp(loss): of masked positions only, not comparable between tokenizers */
  double accuracy;   /* share of the scored positions whose likeliest token is right */
  double scored;     /* positions */
  uint64_t samples;  /* records, each counted once */
  double seconds, samples_per_second, batches_per_second;
} ath_eval_result;

/* The graph of an evaluation, with the outputs loss, weight and correct: sums over a batch's scored
 * positions. The caller destroys it. */
ath_status ath_evaluation_graph(const ath_model *model, const ath_forward_options *shape,
                                ath_graph **out) ATH_MUST_CHECK;

/* An evaluation that may be run again and again over a state: the masks depend on the seed and
 * the record alone, so equal weights give equal bits. */
typedef struct ath_evaluator ath_evaluator;
typedef struct ath_eval_options {
  int batch_size;       /* records on each device that shares a batch: data * fsdp of the mesh */
  double mlm_probability;
  uint64_t seed;
  uint64_t max_samples; /* only the first so many records; 0: all */
  ath_dtype compute;    /* of the forward pass, as in ath_forward_options */
  const char *mesh;     /* the devices, as ath_mesh_parse reads them; NULL: one */
  ath_share share;
} ath_eval_options;
ath_status ath_evaluator_create(const ath_model *model, const ath_dataset *data,
                                const ath_tokenizer *tokenizer, const ath_eval_options *options,
                                ath_state *state, ath_evaluator **out) ATH_MUST_CHECK;
void ath_evaluator_destroy(ath_evaluator *self); /* NULL is allowed */
/* ATH_DIVERGED when the loss is not finite; ATH_INVALID when no position can be scored. */
ath_status ath_evaluator_run(ath_evaluator *self, ath_eval_result *out) ATH_MUST_CHECK;

/* Evaluates a model folder on a folder of shards. */
ath_status ath_evaluate(const char *model, const char *data, const char *device,
                        const ath_eval_options *options, ath_eval_result *out) ATH_MUST_CHECK;

/* --- the run ----------------------------------------------------------------------------- */

typedef struct ath_train_summary {
  int64_t steps, total_steps;
  double epochs;
  double train_loss;          /* mean over all scored positions of the whole run */
  bool evaluated;
  ath_eval_result eval;       /* of the final weights */
  uint64_t samples;           /* records of the training data */
  int64_t records_per_step;   /* of all devices and micro-batches */
  uint64_t tokens;            /* attended tokens, the resumed part included */
  double seconds;             /* of training steps, the resumed part included */
  double samples_per_second, steps_per_second, tokens_per_second; /* over `seconds` */
  double gflops;              /* 10^9 operations per second, over `seconds` */
  double total_flos;          /* operations of all steps: matrix products and attention */
  int64_t parameters;
  int64_t resumed_from;       /* step of the checkpoint; 0 for a fresh start */
  int process;                /* of several; above 0 all else is 0: the first one tells */
  bool unpushed;              /* all went well but for what ath_train returns: the last push */
} ath_train_summary;

/* The summary as one JSON object on one line, appended: "global_step", "max_steps", "epoch",
 * "train_loss", "train_runtime" (the seconds), "eval_loss", "perplexity" and so on, as Hugging
 * Face's Trainer names them; "eval_scored", "gflops", "parameters", "records_per_step" and
 * "resumed_from" are ours. */
ath_status ath_train_summary_print(const ath_train_summary *self, struct ath_buffer *out)
    ATH_MUST_CHECK;

/* Trains. A run that was finished before is left as it is, and its summary read again.
 * ATH_INTERRUPTED when `stop` was set: the same call goes on, from the checkpoint that was written
 * or, where it was set before the first step, from what was there before.
 * ATH_DIVERGED when loss or gradient are not finite: the text names step, learning rate, gradient
 * norm, the first parameter with such a gradient, the batch, and the checkpoint to go back to;
 * nothing is saved. So it is when the loss of an evaluation is not finite. ATH_MISMATCH when a
 * checkpoint belongs to other settings. The summary is filled in for ATH_OK and ATH_INTERRUPTED,
 * and is all 0 where it was stopped before the device was ready.
 *
 * With push_to_hub a thread of its own pushes after saves, as hub_strategy says, and the finished
 * model is pushed at the end. A push that fails on the way is a warning; the last one's failure is
 * returned, with summary->unpushed set, for a run that is otherwise whole.
 *
 * Several processes, one on each host, train one model where a launcher (mpirun, srun --mpi=pmix)
 * started them all, and on a TPU slice also where it did not: each calls this with the same
 * options. The mesh has the devices of all; each process reads its share of each batch, and the
 * checkpoint that the run goes on from, so that all must see the same data and output_dir. The
 * first writes and tells, and returns what became of the run; the others then return ATH_OK.
 * `stop` in any of them stops all after the same step. A failure in one is returned there; with a
 * launcher it ends all processes, before this returns. ATH_UNSUPPORTED on a device that does not
 * join processes (cpu, xla:cpu). */
ath_status ath_train(const ath_train_options *options, ath_train_summary *summary)
    ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
