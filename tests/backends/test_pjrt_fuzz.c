/* test_pjrt_fuzz.c: random graphs (fuzz_graph.h) give the same on the embedded engine and on XLA.
 *
 * Alone it runs a few graphs, for compiling one takes XLA up to a second. To save some of that,
 * nine of ten are compiled with optimisation left out of the machine code (XLA's own passes, fusion
 * among them, run all the same). Given arguments it runs others:
 *
 *     backends_test_pjrt_fuzz --seed 1 --count 5000 --device build/pjrt/cpu-0.81.so
 *
 * A graph that differs is printed with its seed, and --seed N --count 1 runs it again.
 *
 * What is a difference depends on the graph: a norm of nearly equal numbers, or a sum that cancels,
 * makes much of the last bit of what it is given. So the tolerance is measured for each graph
 * (Monte Carlo arithmetic: Parker, "Monte Carlo Arithmetic: exploiting randomness in floating-point
 * arithmetic", 1997). The plain interpreter runs it again with every element of every input and of
 * every node's results moved at random in its last bits. How far that moves an output, as a
 * norm, is what rounding can do to it; MARGIN times that, and a little of the output's own norm, is
 * allowed. Engines round in other places, but no more often than that. In bf16 XLA may round more
 * seldom (it drops a conversion there and back), which is as much as one rounding either way.
 *
 * An output that such noise moves by more than a tenth of its norm proves nothing and is only
 * counted, as is one that is not finite without noise; there must be few of them. */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "athanor/backend.h"
#include "fuzz_graph.h"
#include "pjrt_testing.h"

enum { GRAPHS = 40, RUNS = 2, NOISY = 4, MAX_ITEMS = 2 * 512 + 512, PLACES = 9, TERMS = 128 };
static const double MARGIN = 8, FLOOR = 0x1p-20, UNSTABLE = 0.1;
static const float F32_NOISE = 0x1p-21f;

static uint64_t first_seed = 1, seed_now;
static int graph_count = GRAPHS;
static const char *device = "build/pjrt/cpu-0.115.so";
static ath_backend *cpu, *xla;

/* Over all graphs: outputs compared, left out, and how exact the comparison was. */
static struct {
  int graphs, gradients, half, nodes, compared, unstable, differences, failures;
  int allowed[PLACES], found[2][PLACES]; /* relative to the norm, by place_of; [1]: bf16 graphs */
  double closest; /* the largest difference as a part of what was allowed */
} totals;

/* What a graph gives: outputs of each run, then variables after the last, all as floats. */
typedef struct record {
  float *values[MAX_ITEMS];
  int64_t counts[MAX_ITEMS];
  char names[MAX_ITEMS][24];
  int count;
} record;

/* --- keeping results ---------------------------------------------------------------- */

static void record_add(record *self, const char *name, int run, const ath_type *type,
                       const void *data) {
  assert_true(self->count < MAX_ITEMS);
  int64_t n = ath_type_count(type);
  float *values = calloc((size_t)n, sizeof *values);
  for (int64_t i = 0; i < n; i++)
    values[i] = type->dtype == ATH_BF16 ? ath_bf16_to_float(((const uint16_t *)data)[i])
                                        : ((const float *)data)[i];
  snprintf(self->names[self->count], sizeof self->names[0], "%s, run %d", name, run);
  self->counts[self->count] = n;
  self->values[self->count++] = values;
}

static void record_free(record *self) {
  for (int i = 0; i < self->count; i++) free(self->values[i]);
  self->count = 0;
}

static double norm_of(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    double d = (double)a[i] - (b != NULL ? (double)b[i] : 0);
    sum += d * d;
  }
  return sqrt(sum);
}

/* --- the interpreter, with noise ---------------------------------------------------- */

/* f32: up to 4 of the last place, times `more`. bf16: one of the last place, up or down; zeros
 * stay. */
static void add_noise(interpreter *self, ath_value value, float more, numbers *noise) {
  ath_type type = ath_graph_type(self->graph, value);
  int64_t n = ath_type_count(&type);
  float *floats = self->memory[value];
  uint16_t *halves = self->memory[value];
  if (type.dtype == ATH_F32)
    for (int64_t i = 0; i < n; i++) floats[i] *= 1 + more * F32_NOISE * next_number(noise);
  else if (type.dtype == ATH_BF16)
    for (int64_t i = 0; i < n; i++)
      if ((halves[i] & 0x7FFF) != 0) halves[i] += next_below(noise, 2) ? 1 : -1;
}

/* A sum of many equal numbers, one after another, is rounded the same way nearly every time: its
 * error grows with their number, and not with the root of it. */
static float noise_of_sum(const ath_graph *graph, const ath_node *node, int output) {
  ath_type type = ath_graph_type(graph, node->outputs[output]);
  int64_t most = 0, results = ath_type_count(&type);
  for (int i = 0; i < node->input_count; i++) {
    if (node->inputs[i] == ATH_NO_VALUE) continue;
    ath_type input = ath_graph_type(graph, node->inputs[i]);
    if (ath_type_count(&input) > most) most = ath_type_count(&input);
  }
  return results > 0 ? fmaxf(1, (float)most / (float)results / TERMS) : 1;
}

static void fill_from(interpreter *self, const fuzz *its) {
  for (size_t v = 0; v < self->count; v++) {
    ath_value_kind kind = ath_graph_kind(its->graph, (ath_value)v);
    if (kind != ATH_VALUE_INPUT && kind != ATH_VALUE_VARIABLE) continue;
    const char *name = ath_graph_value_name(its->graph, (ath_value)v);
    const fuzz_input *from = kind == ATH_VALUE_INPUT ? its->inputs : its->variables;
    memcpy(self->memory[v], from[atoi(name + 1)].data, ath_type_bytes(&from[atoi(name + 1)].type));
  }
}

/* Without noise where that is NULL. */
static void interpret(const fuzz *its, numbers *noise, record *out) {
  interpreter run = interpreter_make(its->graph);
  fill_from(&run, its);
  for (size_t v = 0; v < run.count; v++)
    if (noise != NULL && ath_graph_kind(its->graph, (ath_value)v) != ATH_VALUE_RESULT)
      add_noise(&run, (ath_value)v, 1, noise);
  for (int r = 0; r < RUNS; r++) {
    for (size_t i = 0; i < ath_graph_node_count(its->graph); i++) {
      const ath_node *node = ath_graph_node(its->graph, i);
      assert_ok(run_node(&run, node));
      for (int o = 0; o < node->output_count && noise != NULL; o++)
        add_noise(&run, node->outputs[o], noise_of_sum(its->graph, node, o), noise);
    }
    for (size_t i = 0; i < ath_graph_output_count(its->graph); i++) {
      const char *name;
      ath_value value = ath_graph_output_at(its->graph, i, &name);
      ath_type type = ath_graph_type(its->graph, value);
      record_add(out, name, r, &type, run.memory[value]);
    }
    interpreter_assign(&run);
  }
  for (int i = 0; i < its->variable_count; i++)
    record_add(out, its->variables[i].name, RUNS, &its->variables[i].type,
               run.memory[its->variable_values[i]]);
  interpreter_free(&run);
}

/* --- an engine ---------------------------------------------------------------------- */

/* A variable that the program does not have stays as it is. */
static ath_status write_variables(const fuzz *its, ath_state *state) {
  for (int i = 0; i < its->variable_count; i++) {
    const fuzz_input *w = &its->variables[i];
    ath_status status = ath_state_write(state, w->name, w->data, ath_type_bytes(&w->type));
    if (status != ATH_OK && status != ATH_NOT_FOUND) return status;
  }
  return ATH_OK;
}

static ath_status set_inputs(const fuzz *its, ath_program *program) {
  for (int i = 0; i < its->input_count; i++) {
    ath_status status = ath_program_set_input(program, its->inputs[i].name, its->inputs[i].data);
    if (status != ATH_OK && status != ATH_NOT_FOUND) return status;
  }
  return ATH_OK;
}

static ath_status read_outputs(const fuzz *its, ath_program *program, int run, record *out) {
  for (size_t i = 0; i < ath_graph_output_count(its->graph); i++) {
    const char *name;
    ath_type type = ath_graph_type(its->graph, ath_graph_output_at(its->graph, i, &name));
    void *data = calloc(ath_type_bytes(&type) + 1, 1);
    ath_status status = ath_program_get_output(program, name, data);
    if (status == ATH_OK) record_add(out, name, run, &type, data);
    free(data);
    ATH_TRY(status);
  }
  return ATH_OK;
}

static ath_status read_variables(const fuzz *its, const ath_state *state, record *out) {
  for (int i = 0; i < its->variable_count; i++) {
    const fuzz_input *w = &its->variables[i];
    size_t bytes = ath_type_bytes(&w->type);
    void *data = calloc(bytes + 1, 1);
    ath_status status = ath_state_read(state, w->name, data, bytes);
    if (status == ATH_NOT_FOUND) memcpy(data, w->data, bytes);
    if (status == ATH_OK || status == ATH_NOT_FOUND)
      record_add(out, w->name, RUNS, &w->type, data);
    free(data);
    if (status != ATH_OK && status != ATH_NOT_FOUND) return status;
  }
  return ATH_OK;
}

static ath_status run_on(const fuzz *its, ath_backend *backend, record *out) {
  ath_state *state = NULL;
  ath_program *program = NULL;
  ath_status status = ath_state_create(backend, &state);
  if (status == ATH_OK) status = ath_program_create(its->graph, state, &program);
  if (status == ATH_OK) status = write_variables(its, state);
  if (status == ATH_OK) status = set_inputs(its, program);
  for (int r = 0; r < RUNS && status == ATH_OK; r++) {
    status = ath_program_run(program);
    if (status == ATH_OK) status = read_outputs(its, program, r, out);
  }
  if (status == ATH_OK) status = read_variables(its, state, out);
  ath_program_destroy(program);
  ath_state_destroy(state);
  return status;
}

/* --- comparing ---------------------------------------------------------------------- */

static void print_graph(const fuzz *its) {
  ath_buffer text = ath_buffer_make(1 << 24);
  assert_ok(ath_graph_print(its->graph, &text));
  fputs(text.bytes, stdout); /* cmocka's messages end after 1,024 bytes */
  ath_buffer_free(&text);
}

/* 0: below 1e-7, 1: below 1e-6, …, and the last for all that is more. */
static int place_of(double relative) {
  int place = relative > 0 ? (int)fmax(floor(log10(relative)), -8) + 8 : 0;
  return place < PLACES ? place : PLACES - 1;
}

/* What rounding may do to item i, or less than 0 where that cannot be told. */
static double allowed(const record *plain, const record *noisy, int i) {
  double norm = norm_of(plain->values[i], NULL, plain->counts[i]), spread = 0;
  for (int k = 0; k < NOISY; k++)
    spread = fmax(spread, norm_of(noisy[k].values[i], plain->values[i], plain->counts[i]));
  if (!isfinite(norm) || !isfinite(spread) || spread > UNSTABLE * norm) return -1;
  double tolerance = MARGIN * spread + FLOOR * norm;
  totals.allowed[place_of(norm > 0 ? tolerance / norm : 0)]++;
  return tolerance;
}

/* Returns how many items differ, after telling of each. */
static int compare(const record *a, const record *b, const record *plain, const record *noisy,
                   bool half) {
  int differing = 0;
  assert_int_equal(a->count, plain->count);
  assert_int_equal(b->count, plain->count);
  for (int i = 0; i < plain->count; i++) {
    double tolerance = allowed(plain, noisy, i);
    totals.compared++;
    totals.unstable += tolerance < 0;
    if (tolerance < 0) continue;
    double off = norm_of(a->values[i], b->values[i], a->counts[i]);
    double norm = norm_of(plain->values[i], NULL, plain->counts[i]);
    totals.found[half][place_of(off > 0 ? off / norm : 0)]++;
    if (tolerance > 0 && off <= tolerance) totals.closest = fmax(totals.closest, off / tolerance);
    if (off <= tolerance) continue;
    differing++;
    print_message("seed %d: %s differs by %g; allowed are %g, its norm is %g\n", (int)seed_now,
                  a->names[i], off, tolerance, norm);
  }
  return differing;
}

/* Every tenth graph is compiled as a run's are. */
static void choose_effort(uint64_t seed) {
  if (seed % 10 == 0) unsetenv("ATHANOR_XLA_OPTIONS");
  else setenv("ATHANOR_XLA_OPTIONS", "xla_backend_optimization_level=0", 1);
}

/* In bf16, which the embedded engine refuses, XLA is held against the interpreter itself. */
static void check_graph(uint64_t seed) {
  static record plain, noisy[NOISY], ours, theirs;
  fuzz its = fuzz_make(seed);
  numbers noise = {seed};
  seed_now = seed;
  choose_effort(seed);
  interpret(&its, NULL, &plain);
  for (int k = 0; k < NOISY; k++) interpret(&its, &noise, &noisy[k]);
  ath_status status = its.half ? ATH_OK : run_on(&its, cpu, &ours);
  if (status == ATH_OK) status = run_on(&its, xla, &theirs);
  totals.graphs++;
  totals.half += its.half;
  totals.gradients += its.learns;
  totals.nodes += (int)ath_graph_node_count(its.graph);
  if (status != ATH_OK) {
    print_message("seed %d: %s\n", (int)seed, ath_error_text());
    totals.failures++;
    print_graph(&its);
  } else if (compare(its.half ? &plain : &ours, &theirs, &plain, noisy, its.half) > 0) {
    totals.differences++;
    print_graph(&its);
  }
  record_free(&plain);
  for (int k = 0; k < NOISY; k++) record_free(&noisy[k]);
  record_free(&ours);
  record_free(&theirs);
  fuzz_free(&its);
}

static void print_places(const char *what, const int *places) {
  print_message("%s below 1e-7, 1e-6, ...:", what);
  for (int i = 0; i < PLACES; i++) print_message(" %d", places[i]);
  print_message("\n");
}

static void print_totals(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  print_message("%d graphs (%d with gradients, %d in bf16) of %d operations; %d outputs, "
                "%d unstable; %d graphs differ, %d fail; closest %.2f of the tolerance; %.0f s\n",
                totals.graphs, totals.gradients, totals.half, totals.nodes, totals.compared,
                totals.unstable, totals.differences, totals.failures, totals.closest,
                (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec));
  print_places("allowed", totals.allowed);
  print_places("found in f32", totals.found[0]);
  print_places("found in bf16", totals.found[1]);
}

static void random_graphs_give_the_same_on_both_engines(void **state) {
  (void)state;
  assert_ok(ath_backend_open("cpu", &cpu));
  assert_ok(ath_backend_open(device, &xla));
  for (int i = 0; i < graph_count; i++) {
    check_graph(first_seed + (uint64_t)i);
    if (i % 100 == 99 && i + 1 < graph_count) print_totals();
  }
  print_totals();
  ath_backend_close(xla);
  ath_backend_close(cpu);
  assert_int_equal(totals.differences + totals.failures, 0);
  assert_true(totals.unstable * 10 < totals.compared || graph_count < GRAPHS);
}

/* --- the command line --------------------------------------------------------------- */

/* A graph that ends the process, by an assertion of an engine, is known by its seed all the same;
 * and who stops a long run learns how far it came. */
static void tell_seed(int signal_number) {
  char text[64];
  int n = snprintf(text, sizeof text, "seed %d: stopped\n", (int)seed_now);
  if (n > 0 && write(2, text, (size_t)n) < 0) _exit(3);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static bool read_arguments(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (strcmp(argv[i], "--seed") == 0) first_seed = strtoull(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--count") == 0) graph_count = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--device") == 0) device = argv[i + 1];
    else return false;
  return argc % 2 == 1 && graph_count > 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_graphs_give_the_same_on_both_engines),
  };
  if (!read_arguments(argc, argv)) {
    print_error("%s [--seed N] [--count N] [--device xla:cpu|PLUGIN.so]\n", argv[0]);
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGABRT, tell_seed);
  signal(SIGTERM, tell_seed);
  setenv("ATHANOR_COMPILE_CACHE", "off", 1);
  if (strchr(device, '/') != NULL && !have_plugin(device)) return 0;
  return cmocka_run_group_tests_name("fuzz", tests, NULL, NULL);
}
