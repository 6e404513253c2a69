/* plan.h: what a training run would need and take on a TPU slice, asked of the TPU's own compiler
 * before any chip is rented.
 *
 * The training step of the run's settings is built without data, compiled for each slice by the
 * compiler in libtpu, with no TPU present, and read back: memory by the compiler's own account,
 * time from the cycles that it expects of each operation. Memory is exact; times are estimates
 * always: they come from a model of the chip, not from a measurement, transfers between chips are
 * added at the full speed of their links, as if nothing ran beside them, and operations of which
 * the compiler expects nothing are only counted. Use them to compare slices, batches and variants.
 *
 * The compiler takes a minute or two and some gigabytes of memory for each module; its answers are
 * kept on disk (ATHANOR_COMPILE_CACHE), so that a second plan of the same takes no time.
 *
 * Example
 *
 *     ath_status print_step_times(const char *settings) {
 *       ath_train_options run;
 *       ath_plan_options options = {.topologies = "v5e:2x4,v4:2x2x1", .jobs = 1};
 *       ath_plan *plan = NULL;
 *       ATH_TRY(ath_train_options_init(&run));
 *       ath_status status = ath_train_options_read(&run, settings);
 *       if (status == ATH_OK) status = ath_plan_make(&run, &options, &plan);
 *       for (size_t i = 0; status == ATH_OK && i < plan->count; i++)
 *         printf("%s: %.0f ms (estimate)\n", plan->reports[i].topology,
 *                1000 * plan->reports[i].step_seconds);
 *       ath_plan_destroy(plan);
 *       ath_train_options_free(&run);
 *       return status;
 *     }
 */
#ifndef ATHANOR_PLAN_H
#define ATHANOR_PLAN_H

#include "athanor/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ath_plan_options {
  const char *topologies; /* "v5e:2x4,v4:2x2x1" */
  double price;           /* dollars per chip and hour; 0: from the table */
  const char *prices;     /* a file as src/plan/prices.txt; NULL: the program's own copy of it */
  int jobs;               /* modules compiled at a time; at least 1 */
  bool largest_batch;     /* search for it, with a few more compiles for each slice */
  const char *batch_sizes; /* "8,16,32": compiled as well, beside the run's own; NULL: none */
} ath_plan_options;

/* Bytes on one chip. */
typedef struct ath_plan_memory {
  int64_t parameters, optimizer, inputs; /* as the program takes them, with padding in inputs */
  int64_t temporaries;                   /* activations, gradients, what lies between operations */
  int64_t code;
  int64_t total, limit;
} ath_plan_memory;

/* All operations with one name, numbers in it left out: "layer.N.attention". */
typedef struct ath_plan_operation {
  const char *name;
  int64_t count;
  double seconds, share; /* of the compute time */
} ath_plan_operation;

/* A batch size that was compiled. */
typedef struct ath_plan_point {
  int64_t batch_per_chip;
  bool fits;
  int64_t memory;      /* bytes in all on one chip, also where it does not fit; −1: not known */
  double step_seconds; /* NaN: not known */
} ath_plan_point;

/* A number that is not known is NaN, or −1 where it is whole. */
typedef struct ath_plan_report {
  const char *topology;
  int chips;
  int64_t batch_per_chip; /* per_device_train_batch_size: of chips that share the batch */
  bool fits;              /* if not: of memory only total and limit are known, and no times */
  ath_plan_memory memory;
  const char *reason;     /* why it does not fit, and what to change; NULL if it fits */
  double compute_seconds, transfer_seconds; /* of one step, gradient accumulation included */
  double step_seconds;                      /* both together */
  double flops;           /* of the model in a step on one chip: three times the forward pass */
  double mfu;             /* flops ÷ (step_seconds · the chip's bf16 peak) */
  double tokens_per_second;
  int64_t steps;          /* of the run */
  double hours, price, cost;
  int64_t largest_batch_per_chip; /* 0: not even one fits */
  double compile_seconds;
  bool cached;            /* the compiler's answer was on disk */
  int64_t uncounted;      /* operations without an estimate */
  ath_plan_point *points; /* the run's own batch, those asked for, those searched; smallest first */
  size_t point_count;
  const ath_plan_operation *operations; /* the costliest first */
  size_t operation_count;
} ath_plan_report;

typedef struct ath_plan {
  ath_plan_report *reports; /* in the order of the topologies */
  size_t count;
} ath_plan;

/* Plans a run. What its settings do not say, the files that they name are asked for, where they
 * exist: the tokenizer for the vocabulary, the shards for the length and the number of records; in
 * place of those stand vocab_size, max_seq_length and max_steps. ATH_NOT_FOUND without libtpu, with
 * the command that installs it. A slice whose memory the step exceeds is a report, no failure. */
ath_status ath_plan_make(const ath_train_options *run, const ath_plan_options *options,
                         ath_plan **out) ATH_MUST_CHECK;
void ath_plan_destroy(ath_plan *self); /* NULL is allowed */

/* A report for people, with its `top` costliest operations; and as one JSON object on one line. */
struct ath_buffer;
ath_status ath_plan_report_print(const ath_plan_report *self, int top, struct ath_buffer *out)
    ATH_MUST_CHECK;
ath_status ath_plan_report_print_json(const ath_plan_report *self, int top, struct ath_buffer *out)
    ATH_MUST_CHECK;

/* An SVG drawing for all slices: time of a step and memory of a chip over the batch sizes that were
 * compiled, with the chips' memory as lines. It has no background, and its colours are readable on
 * a light page and on a dark one. Each mark carries its numbers as attributes: data-topology,
 * data-batch, and data-seconds or data-bytes. */
ath_status ath_plan_plot(const ath_plan *self, struct ath_buffer *out) ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
