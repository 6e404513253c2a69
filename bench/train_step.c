/* train_step.c: times one training step (forward, loss, backward, clipping, AdamW) of a RoBERTa on
 * random ids, as ../shared/bench/bench_mlm_torch.py does with transformers on PyTorch: no padding,
 * 15 % of the positions labelled, dropout 0.1 (the configuration's default).
 *
 *     build/bench_train_step [mini|base] [--steps N] [--warmup N] [--device cpu|xla:cpu|PATH.so]
 *                            [--no-dropout] [--profile]
 *
 * Prints one JSON line with the peer's field names; flops are counted as the peer counts them
 * (logits of all positions), so that GFLOP/s compare, and `computed_gflop_per_s` counts what was
 * really computed. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "athanor/dataset.h"
#include "athanor/train.h"
#include "base/buffer.h"
#include "base/random.h"

enum { STEPS_MAX = 1000 };

typedef struct setup {
  const char *size, *device;
  int layers, hidden, heads, inner, vocab, length, batch, steps, warmup;
  bool dropout, profile;
} setup;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static setup parse(int argc, char **argv) {
  setup s = {"mini", "cpu", 4, 256, 4, 1024, 8192, 128, 32, 6, 2, true, false};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "base") == 0)
      s = (setup){"base", s.device, 12, 768, 12, 3072, 32000, 128, 8,
                  s.steps, s.warmup, s.dropout, s.profile};
    else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc) s.steps = atoi(argv[++i]);
    else if (strcmp(argv[i], "--warmup") == 0 && i + 1 < argc) s.warmup = atoi(argv[++i]);
    else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) s.device = argv[++i];
    else if (strcmp(argv[i], "--no-dropout") == 0) s.dropout = false;
    else if (strcmp(argv[i], "--profile") == 0) s.profile = true;
  }
  if (s.steps < 1 || s.steps > STEPS_MAX) s.steps = 6;
  return s;
}

static ath_status make_model(const setup *s, ath_model **out) {
  ath_model_config config = ath_model_config_defaults();
  config.vocab_size = s->vocab;
  config.hidden_size = s->hidden;
  config.num_hidden_layers = s->layers;
  config.num_attention_heads = s->heads;
  config.intermediate_size = s->inner;
  config.max_position_embeddings = 514;
  config.pad_token_id = 1;
  config.bos_token_id = 0;
  config.eos_token_id = 2;
  return ath_model_create(&config, out);
}

/* Random ids; each position is labelled with probability 0.15. */
static void make_batch(const setup *s, int places, ath_batch *batch) {
  int n = s->batch * s->length;
  batch->input_ids = calloc((size_t)n, sizeof(int32_t));
  batch->attention_mask = calloc((size_t)n, sizeof(int32_t));
  batch->positions = calloc((size_t)places, sizeof(int32_t));
  batch->labels = calloc((size_t)places, sizeof(int32_t));
  batch->weights = calloc((size_t)places, sizeof(float));
  batch->samples = s->batch;
  for (int i = 0; i < n; i++) {
    uint32_t bits[4];
    ath_random(0, ATH_RANDOM_MASKING, 0, (uint64_t)i, 0, bits);
    batch->input_ids[i] = 5 + (int32_t)ath_below(bits[0], (uint32_t)s->vocab - 5);
    batch->attention_mask[i] = 1;
    if (ath_uniform(bits[1]) >= 0.15f || batch->scored == places) continue;
    batch->positions[batch->scored] = i;
    batch->labels[batch->scored] = batch->input_ids[i];
    batch->weights[batch->scored++] = 1;
  }
}

/* Of all threads. */
static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* first: of the first step; cpu: processor time of making the program, and of a later step. */
static void report(const setup *s, const double *seconds, double first, const double cpu[2],
                   const ath_step_result *r, ath_program_stats stats, const char *device) {
  double sorted[STEPS_MAX];
  memcpy(sorted, seconds, (size_t)s->steps * sizeof *seconds);
  qsort(sorted, (size_t)s->steps, sizeof *sorted, by_size);
  double median = sorted[s->steps / 2], tokens = (double)s->batch * s->length;
  double h = s->hidden;
  double flop = 3 * tokens * (s->layers * (8 * h * h + 4 * h * s->inner + 4 * s->length * h) +
                              2 * h * h + 2 * h * s->vocab);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("{\"bench\":\"mlm_train\",\"lib\":\"athanor on %s\",\"size\":\"%s\",\"vocab\":%d,"
         "\"seq\":%d,\"batch\":%d,\"dtype\":\"fp32\",\"first_step_s\":%.3f,"
         "\"compile_cpu_s\":%.3f,\"step_cpu_s\":%.4f,\"step_s_median\":%.4f,"
         "\"step_s_min\":%.4f,\"tok_per_s_median\":%.1f,\"tok_per_s_best\":%.1f,"
         "\"gflop_per_s_median\":%.1f,\"computed_gflop_per_s\":%.1f,\"workspace_MiB\":%zu,"
         "\"peak_rss_MiB\":%ld,\"loss_last\":%.3f}\n",
         device, s->size, s->vocab, s->length, s->batch, first, cpu[0], cpu[1], median, sorted[0],
         tokens / median, tokens / sorted[0], flop / median / 1e9, stats.flops / median / 1e9,
         stats.workspace_bytes >> 20, usage.ru_maxrss >> 10, (double)(r->loss / r->weight));
}

static ath_status run(const setup *s) {
  ath_model *model = NULL;
  ath_backend *backend = NULL;
  ath_state *state = NULL;
  ath_step *step = NULL;
  ath_batch batch = {0};
  ath_step_options options = {
    .forward = {.batch_size = s->batch, .length = s->length, .dropout = s->dropout, .seed = 42,
                .positions = ath_batch_positions(s->batch, s->length, 0.15, 1)},
    .adam_beta1 = 0.9, .adam_beta2 = 0.999, .adam_epsilon = 1e-8, .weight_decay = 0.01,
    .max_grad_norm = 1};
  ATH_TRY(make_model(s, &model));
  ATH_TRY(ath_backend_open(s->device, &backend));
  ATH_TRY(ath_state_create(backend, &state));
  double cpu[2] = {processor_time()};
  ATH_TRY(ath_step_create(model, &options, state, &step));
  cpu[0] = processor_time() - cpu[0];
  ATH_TRY(ath_model_initialise(model, state, 42, 0));
  make_batch(s, options.forward.positions, &batch);
  static double seconds[STEPS_MAX];
  double first = 0;
  ath_step_result result;
  for (int i = 0; i < s->warmup + s->steps; i++) {
    if (s->profile && i == s->warmup) ath_program_profile(ath_step_program(step), true);
    if (i == s->warmup) cpu[1] = processor_time();
    double begun = now();
    batch.number = (uint64_t)i;
    ATH_TRY(ath_step_apply(step, &batch, i, 1e-4, &result));
    double took = now() - begun;
    if (i == 0) first = took;
    if (i >= s->warmup) seconds[i - s->warmup] = took;
  }
  cpu[1] = (processor_time() - cpu[1]) / s->steps;
  report(s, seconds, first, cpu, &result, ath_program_get_stats(ath_step_program(step)),
         ath_backend_name(backend));
  if (s->profile) {
    ath_buffer table = ath_buffer_make(1 << 20);
    ATH_TRY(ath_program_profile_print(ath_step_program(step), &table));
    fputs(table.bytes, stderr);
    ath_buffer_free(&table);
  }
  ath_step_destroy(step);
  ath_state_destroy(state);
  ath_backend_close(backend);
  ath_model_destroy(model);
  return ATH_OK;
}

int main(int argc, char **argv) {
  setup s = parse(argc, argv);
  if (run(&s) == ATH_OK) return 0;
  fprintf(stderr, "bench_train_step: %s\n", ath_error_text());
  return 1;
}
