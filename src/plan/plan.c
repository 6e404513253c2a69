/* plan.c: planning a run for slices, several at a time. */
#include "athanor/plan.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/outcome.h"
#include "plan/compile.h"
#include "plan/explain.h"
#include "plan/points.h"
#include "plan/prices.h"
#include "plan/search.h"
#include "plan/subject.h"

enum { SLICES_MAX = 64, TEXT_MAX = 1 << 30, REPORT_MAX = 1 << 26 };

/* Of one module: its signature, and the compiler's program read out. */
#define ARENA_MAX ((size_t)4 << 30)

typedef struct planner {
  const ath_plan_options *options;
  ath_subject subject;
  ath_pjrt_plugin *tpu, *cuda; /* NULL where no slice needs it */
  ath_slice slices[SLICES_MAX];
  size_t count;
  int64_t batch_sizes[ATH_BATCH_SIZES_MAX]; /* asked for */
  int batch_size_count;
} planner;

/* One module and what the compiler said of it. */
typedef struct attempt {
  ath_arena *arena; /* of the signature, and of what is read out of the program */
  ath_hlo_signature signature;
  ath_buffer text;
  ath_verdict verdict;
} attempt;

static void close_attempt(attempt *self) {
  ath_buffer_free(&self->text);
  ath_verdict_free(&self->verdict);
  ath_arena_destroy(self->arena);
}

/* `last`: the program that ends a step; the other adds a micro-batch before it. */
static ath_status try_batch(const planner *self, const ath_slice *slice, int64_t batch, bool last,
                            bool explain, attempt *out) {
  *out = (attempt){.text = ath_buffer_make(TEXT_MAX)};
  ath_verdict_init(&out->verdict);
  ATH_TRY(ath_arena_create(ARENA_MAX, &out->arena));
  ATH_TRY(ath_subject_print(&self->subject, batch, slice->chips, last, out->arena,
                            &out->signature, &out->text));
  ath_pjrt_plugin *plugin = slice->chip->gpu != NULL ? self->cuda : self->tpu;
  ATH_TRY(ath_plan_compile(plugin, slice, &out->text, explain, &out->verdict));
  ath_log(ATH_LOG_INFO, "%s: %lld records a chip %s (%s %.0f s)", slice->name, (long long)batch,
          out->verdict.fits ? "fit" : "do not fit",
          out->verdict.cached ? "known from before, compiled in" : "compiled in",
          out->verdict.seconds);
  return ATH_OK;
}

/* --- reading a verdict --------------------------------------------------------------------- */

static bool begins(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

/* The program's arguments on one chip, by what they are. */
static void split_arguments(const ath_xla_program *program, const ath_hlo_signature *signature,
                            ath_plan_memory *out) {
  for (int i = 0; i < program->entry->count; i++) {
    const ath_xla_instruction *p = &program->entry->instructions[i];
    if (strcmp(p->opcode, "parameter") != 0) continue;
    if (p->parameter < 0 || p->parameter >= signature->argument_count) continue;
    const ath_hlo_port *port = &signature->arguments[p->parameter];
    if (port->kind != ATH_HLO_VARIABLE) continue;
    bool state = begins(port->name, "m.") || begins(port->name, "v.") ||
                 begins(port->name, "sum.");
    *(state ? &out->optimizer : &out->parameters) += p->bytes;
  }
}

static void read_memory(const ath_verdict *verdict, const ath_xla_program *program,
                        const ath_hlo_signature *signature, ath_plan_memory *out) {
  const ath_pjrt_memory *m = &verdict->memory;
  *out = (ath_plan_memory){.limit = verdict->limit, .code = m->code};
  split_arguments(program, signature, out);
  out->inputs = m->arguments - out->parameters - out->optimizer;
  out->temporaries = m->temporary + m->results - m->aliased;
  out->total = ath_verdict_bytes(verdict);
}

static ath_status read_operations(const ath_cost *cost, double hertz, ath_arena *memory,
                                  ath_plan_report *out) {
  ath_plan_operation *all = ath_arena_alloc(memory, (size_t)cost->part_count * sizeof *all);
  if (all == NULL) return ATH_NO_MEMORY;
  for (int i = 0; i < cost->part_count; i++) {
    all[i] = (ath_plan_operation){.name = ath_arena_string(memory, cost->parts[i].name),
                                  .count = cost->parts[i].count,
                                  .seconds = cost->parts[i].cycles / hertz,
                                  .share = cost->parts[i].cycles / cost->cycles};
    if (all[i].name == NULL) return ATH_NO_MEMORY;
  }
  out->operations = all;
  out->operation_count = (size_t)cost->part_count;
  return ATH_OK;
}

/* Adds what so many runs of a program take. */
static void add_times(const ath_slice *slice, const ath_cost *cost, double runs,
                      ath_plan_report *out) {
  out->uncounted += cost->uncounted;
  out->compute_seconds += runs * cost->cycles / slice->chip->hertz;
  out->transfer_seconds += runs * ath_slice_transfer_seconds(slice, cost);
}

static void finish_times(const planner *self, const ath_slice *slice, ath_plan_report *out) {
  double accumulation = (double)self->subject.run->gradient_accumulation_steps;
  out->step_seconds = out->compute_seconds + out->transfer_seconds;
  out->mfu = out->flops / (out->step_seconds * slice->chip->flops);
  out->tokens_per_second = accumulation * (double)out->batch_per_chip *
                           ath_subject_shares(&self->subject, slice->chips) *
                           self->subject.length / out->step_seconds;
  if (out->steps < 0) return;
  out->hours = (double)out->steps * out->step_seconds / 3600;
  if (out->price >= 0) out->cost = out->hours * out->price * slice->chips;
}

/* `runs`: how many of a step are of this program. The operations told are the last program's. */
static ath_status read_program(const ath_slice *slice, attempt *from, double runs,
                               ath_arena *memory, ath_plan_report *out) {
  ath_xla_program program;
  ath_line_names names;
  ath_cost cost;
  const ath_buffer *bytes = &from->verdict.program;
  ATH_TRY(ath_xla_program_read(bytes->bytes, bytes->length, from->arena, &program));
  read_memory(&from->verdict, &program, &from->signature, &out->memory);
  if (slice->chip->gpu != NULL) return ATH_OK; /* there are no cycles in it */
  ATH_TRY(ath_line_names_make(&from->text, from->arena, &names));
  ATH_TRY(ath_cost_of(&program, &names, from->arena, &cost));
  add_times(slice, &cost, runs, out);
  return read_operations(&cost, slice->chip->hertz, memory, out);
}

static ath_status read_attempt(const ath_slice *slice, attempt *from, double runs,
                               ath_arena *memory, ath_plan_report *out) {
  out->fits = from->verdict.fits;
  out->compile_seconds += from->verdict.seconds;
  out->cached = from->verdict.cached;
  out->compute_seconds = out->transfer_seconds = 0;
  out->memory = (ath_plan_memory){.parameters = -1, .optimizer = -1, .inputs = -1,
                                  .temporaries = -1, .code = -1, .total = -1,
                                  .limit = from->verdict.limit};
  if (from->verdict.program.length > 0)
    ATH_TRY(read_program(slice, from, runs, memory, out));
  if (out->fits) return ATH_OK;
  if (out->memory.total < 0) out->memory.total = ath_wanted_bytes(from->verdict.reason.bytes);
  return ath_explain(&from->verdict, &from->text, slice->chips, memory, &out->reason);
}

/* --- one slice ----------------------------------------------------------------------------- */

/* A report on one program of a step, of which it has so many runs. */
static ath_status plan_program(const planner *self, const ath_slice *slice, bool last, double runs,
                               bool explain, ath_arena *memory, ath_plan_report *out) {
  attempt tried;
  ath_status status = try_batch(self, slice, out->batch_per_chip, last, explain, &tried);
  if (status == ATH_OK) status = read_attempt(slice, &tried, runs, memory, out);
  close_attempt(&tried);
  return status;
}

/* Micro-batches before a step's last have a program of their own, which leaves the moments alone:
 * they lie beside it in memory. */
static ath_status plan_micro_batches(const planner *self, const ath_slice *slice, bool explain,
                                     ath_arena *memory, ath_plan_report *out) {
  double runs = (double)self->subject.run->gradient_accumulation_steps - 1;
  ath_plan_report add = *out;
  if (runs == 0 || !out->fits) return ATH_OK;
  ATH_TRY(plan_program(self, slice, false, runs, explain, memory, &add));
  out->compile_seconds = add.compile_seconds;
  out->cached = out->cached && add.cached;
  out->uncounted = add.uncounted;
  out->compute_seconds += add.compute_seconds;
  out->transfer_seconds += add.transfer_seconds;
  if (add.fits) add.memory.total += out->memory.optimizer - add.memory.optimizer;
  if (add.memory.total > out->memory.total) {
    add.memory.optimizer = out->memory.optimizer;
    out->memory = add.memory;
  }
  out->fits = add.fits;
  out->reason = add.reason;
  if (!out->fits || out->memory.total <= out->memory.limit || out->memory.limit < 0) return ATH_OK;
  out->fits = false;
  out->reason = "a micro-batch's program does not fit beside the moments; smaller micro-batches, "
                "and more of them, do";
  return ATH_OK;
}

/* A report on one batch; `out` has what all batches share. */
static ath_status plan_batch(const planner *self, const ath_slice *slice, int64_t batch,
                             bool explain, ath_arena *memory, ath_plan_report *out) {
  out->batch_per_chip = batch;
  out->compile_seconds = 0;
  ATH_TRY(plan_program(self, slice, true, 1, explain, memory, out));
  ATH_TRY(plan_micro_batches(self, slice, explain, memory, out));
  if (out->fits && slice->chip->gpu == NULL) finish_times(self, slice, out);
  else out->compute_seconds = out->transfer_seconds = NAN;
  return ATH_OK;
}

static void add_point(ath_plan_report *out, const ath_plan_report *of) {
  ath_points_add(out, (ath_plan_point){.batch_per_chip = of->batch_per_chip, .fits = of->fits,
                                       .memory = of->memory.total,
                                       .step_seconds = of->step_seconds});
}

typedef struct prober {
  const planner *planner;
  const ath_slice *slice;
  ath_arena *memory;
  const ath_plan_report *empty; /* what all batches share */
  ath_plan_report *out;         /* gets the points */
} prober;

static ath_status probe(void *user, int64_t batch, bool *fits) {
  const prober *self = user;
  const ath_plan_point *known = ath_points_find(self->out, batch);
  *fits = known != NULL && known->fits;
  if (known != NULL || !ath_subject_can_print(&self->planner->subject, batch, self->slice->chips))
    return ATH_OK;
  ath_plan_report report = *self->empty;
  ATH_TRY(plan_batch(self->planner, self->slice, batch, false, self->memory, &report));
  add_point(self->out, &report);
  *fits = report.fits;
  return ATH_OK;
}

/* What does not grow with the batch is parameters, moments and code; the rest is taken to. */
static int64_t guess_batch(const ath_subject *subject, const ath_plan_report *report) {
  double fixed = (double)report->memory.parameters + (double)report->memory.optimizer +
                 (double)report->memory.code;
  if (!report->fits) fixed = 12.0 * (double)ath_model_size(subject->model);
  double each = ((double)report->memory.total - fixed) / (double)report->batch_per_chip;
  double guess = each > 0 ? ((double)report->memory.limit - fixed) / each : 0;
  return guess < 1 ? 1 : guess > 65536 ? 65536 : (int64_t)guess;
}

static ath_status begin_report(const planner *self, const ath_slice *slice, ath_arena *memory,
                               ath_plan_report *out) {
  const ath_train_options *run = self->subject.run;
  *out = (ath_plan_report){
    .topology = slice->name, .chips = slice->chips,
    .batch_per_chip = run->per_device_train_batch_size, .compute_seconds = NAN,
    .transfer_seconds = NAN, .step_seconds = NAN, .mfu = NAN, .tokens_per_second = NAN,
    .steps = ath_subject_steps(&self->subject, slice->chips), .hours = NAN, .cost = NAN,
    .price = self->options->price, .largest_batch_per_chip = -1};
  out->points = ath_arena_alloc(memory, ATH_POINTS_MAX * sizeof *out->points);
  if (out->points == NULL) return ATH_NO_MEMORY;
  if (out->price <= 0)
    ATH_TRY(ath_price_find(self->options->prices, slice->chip->name, &out->price));
  ATH_TRY(ath_subject_flops(&self->subject, out->batch_per_chip, &out->flops));
  out->flops *= (double)run->gradient_accumulation_steps *
                ath_subject_shares(&self->subject, slice->chips) / slice->chips;
  return ATH_OK;
}

static ath_status plan_slice(const planner *self, const ath_slice *slice, ath_arena *memory,
                             ath_plan_report *out) {
  ATH_TRY(begin_report(self, slice, memory, out));
  const ath_plan_report empty = *out;
  prober user = {self, slice, memory, &empty, out};
  bool fits;
  ATH_TRY(plan_batch(self, slice, out->batch_per_chip, true, memory, out));
  add_point(out, out);
  for (int i = 0; i < self->batch_size_count; i++)
    ATH_TRY(probe(&user, self->batch_sizes[i], &fits));
  if (!self->options->largest_batch) return ATH_OK;
  return ath_search_largest(probe, &user, out->batch_per_chip, out->fits,
                            guess_batch(&self->subject, out), &out->largest_batch_per_chip);
}

/* --- all slices ---------------------------------------------------------------------------- */

/* A plan with what its reports point to. */
typedef struct whole {
  ath_plan plan; /* first: the caller's pointer is this struct's */
  planner planner;
  ath_plan_report reports[SLICES_MAX];
  ath_arena *memories[SLICES_MAX]; /* one for each report, as each has its thread */
} whole;

static ath_status parse_slices(planner *self, const char *text) {
  if (text == NULL || *text == '\0')
    return ath_fail(ATH_USAGE, "no topology given, as in v5e:2x4");
  for (;;) {
    size_t length = strcspn(text, ",");
    if (self->count == SLICES_MAX)
      return ath_fail(ATH_USAGE, "more than %d topologies", SLICES_MAX);
    ATH_TRY(ath_slice_parse(text, length, &self->slices[self->count++]));
    if (text[length] == '\0') return ATH_OK;
    text += length + 1;
  }
}

/* Threads take slices as they become free; the compiler may be called by several. */
static ath_status plan_slices(whole *self) {
  ath_outcome first = {.status = ATH_OK};
  int wish = self->planner.options->jobs, count = (int)self->planner.count;
  int jobs = wish < 1 ? 1 : wish > count ? count : wish;
#pragma omp parallel for schedule(dynamic, 1) num_threads(jobs)
  for (int i = 0; i < count; i++) {
    ath_status status = ath_arena_create(REPORT_MAX, &self->memories[i]);
    if (status == ATH_OK)
      status = plan_slice(&self->planner, &self->planner.slices[i], self->memories[i],
                          &self->reports[i]);
#pragma omp critical(plan_outcome)
    if (status != ATH_OK && first.status == ATH_OK) ath_outcome_keep(&first, status);
  }
  return first.status == ATH_OK ? ATH_OK : ath_outcome_return(&first);
}

/* Before there are threads: libtpu wants its environment set. */
static ath_status load_plugins(planner *self) {
  for (size_t i = 0; i < self->count; i++) {
    bool gpu = self->slices[i].chip->gpu != NULL;
    ath_pjrt_plugin **plugin = gpu ? &self->cuda : &self->tpu;
    if (*plugin == NULL) ATH_TRY(ath_pjrt_plugin_load(gpu ? "cuda" : "tpu", true, plugin));
  }
  return ATH_OK;
}

static ath_status make(whole *self, const ath_train_options *run) {
  ATH_TRY(parse_slices(&self->planner, self->planner.options->topologies));
  ATH_TRY(ath_batch_sizes_parse(self->planner.options->batch_sizes, self->planner.batch_sizes,
                                &self->planner.batch_size_count));
  ATH_TRY(ath_subject_open(run, &self->planner.subject));
  ATH_TRY(load_plugins(&self->planner));
  return plan_slices(self);
}

ath_status ath_plan_make(const ath_train_options *run, const ath_plan_options *options,
                         ath_plan **out) {
  whole *self = calloc(1, sizeof *self);
  *out = NULL;
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a plan");
  self->planner.options = options;
  ath_status status = make(self, run);
  ath_subject_close(&self->planner.subject);
  self->plan = (ath_plan){self->reports, self->planner.count};
  if (status == ATH_OK) *out = &self->plan;
  else ath_plan_destroy(&self->plan);
  return status;
}

void ath_plan_destroy(ath_plan *plan) {
  whole *self = (whole *)plan;
  if (self == NULL) return;
  for (size_t i = 0; i < SLICES_MAX; i++) ath_arena_destroy(self->memories[i]);
  free(self);
}
