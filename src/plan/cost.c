/* cost.c: adding up the compiler's estimates over a program. */
#include "plan/cost.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"

enum { CALL_DEPTH_MAX = 32, PARTS_MAX = 1 << 16, VISITS_MAX = 1 << 24 };

/* Results below this take no time worth a remark. */
enum { SMALL_BYTES = 1 << 16 };

typedef struct adder {
  const ath_xla_program *program;
  const ath_line_names *names;
  ath_arena *arena;
  ath_hash_map *parts; /* name → index */
  int capacity;
  int64_t visits;      /* of instructions: a damaged program could call without end */
  ath_cost *cost;
} adder;

static bool is(const ath_xla_instruction *i, const char *opcode) {
  return strcmp(i->opcode, opcode) == 0;
}

static bool begins(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

/* --- parts --------------------------------------------------------------------------------- */

static ath_status new_part(adder *self, const char *name, int32_t *index) {
  ath_cost *cost = self->cost;
  if (cost->part_count == self->capacity) {
    int capacity = self->capacity > 0 ? 2 * self->capacity : 64;
    ath_part *parts = ath_arena_alloc(self->arena, (size_t)capacity * sizeof *parts);
    if (parts == NULL) return ATH_NO_MEMORY;
    if (cost->part_count > 0)
      memcpy(parts, cost->parts, (size_t)cost->part_count * sizeof *parts);
    cost->parts = parts;
    self->capacity = capacity;
  }
  *index = cost->part_count++;
  cost->parts[*index] = (ath_part){.name = ath_arena_string(self->arena, name)};
  if (cost->parts[*index].name == NULL) return ATH_NO_MEMORY;
  return ath_hash_map_set(self->parts, name, strlen(name), *index);
}

static ath_status add_part(adder *self, const ath_xla_instruction *i, double times) {
  char name[ATH_PLAN_NAME_MAX];
  int32_t index;
  ath_plan_name(self->names, i, name);
  if (!ath_hash_map_get(self->parts, name, strlen(name), &index))
    ATH_TRY(new_part(self, name, &index));
  self->cost->parts[index].cycles += (double)i->cycles * times;
  self->cost->parts[index].count++;
  self->cost->cycles += (double)i->cycles * times;
  return ATH_OK;
}

/* --- transfers ----------------------------------------------------------------------------- */

static bool is_collective(const ath_xla_instruction *i, ath_collective *kind) {
  static const struct { const char *opcode; ath_collective kind; } known[] = {
    {"all-reduce", ATH_ALL_REDUCE}, {"all-gather", ATH_ALL_GATHER},
    {"reduce-scatter", ATH_REDUCE_SCATTER}, {"all-to-all", ATH_ALL_TO_ALL},
    {"ragged-all-to-all", ATH_ALL_TO_ALL}, {"collective-permute", ATH_PERMUTE},
  };
  size_t length = strlen(i->opcode);
  if (length > 5 && strcmp(i->opcode + length - 5, "-done") == 0) return false;
  if (length > 6 && strcmp(i->opcode + length - 6, "-start") == 0) length -= 6;
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    *kind = known[k].kind;
    if (strlen(known[k].opcode) == length && strncmp(i->opcode, known[k].opcode, length) == 0)
      return true;
  }
  return false;
}

/* A transfer that runs beside other work stands in several computations: in that of the fusion that
 * starts it, in those of the fusions beside which it goes on, and in that of the one that ends it.
 * Only the first counts. */
static bool is_continued(const ath_xla_instruction *fusion, const ath_xla_computation *called) {
  return begins(fusion->name, "async-collective-done") ||
         begins(called->name, "async_collective_fusion");
}

/* A TPU writes a reduce-scatter as a fusion of an all-reduce and the slices that are kept: the
 * result is a device's share then. */
static bool is_scattered(const ath_xla_computation *computation, const ath_xla_instruction *i) {
  return begins(computation->name, "all-reduce-scatter") && i->group > 0;
}

/* Past the last place everything else is added to it: kinds times group sizes are few. */
static void add_traffic(ath_cost *cost, const ath_xla_instruction *i, ath_collective kind,
                        double times) {
  int at = 0;
  assert(times >= 0);
  while (at < cost->traffic_count &&
         (cost->traffic[at].kind != kind || cost->traffic[at].group != i->group))
    at++;
  if (at == ATH_TRAFFIC_MAX) at--;
  if (at == cost->traffic_count)
    cost->traffic[cost->traffic_count++] = (ath_traffic){.kind = kind, .group = i->group};
  cost->traffic[at].bytes += (double)i->bytes * times;
  cost->traffic[at].count++;
}

/* --- the walk ------------------------------------------------------------------------------ */

/* How often a loop's body runs: the one constant that its condition compares with. Loops that
 * count otherwise are taken once. */
static double trips(const adder *self, const ath_xla_instruction *loop) {
  const ath_xla_computation *condition =
      loop->called_count > 1 ? ath_xla_program_find(self->program, loop->called[1]) : NULL;
  int64_t found = 0;
  for (int i = 0; condition != NULL && i < condition->count; i++) {
    int64_t constant = condition->instructions[i].constant;
    if (constant <= 0) continue;
    if (found > 0) return 1;
    found = constant;
  }
  return found > 0 ? (double)found : 1;
}

/* Runs its called computations, rather than being made of them. */
static bool runs_others(const ath_xla_instruction *i) {
  return is(i, "while") || is(i, "call") || is(i, "conditional") || is(i, "async-start");
}

static bool takes_time(const ath_xla_instruction *i) {
  if (i->bytes < SMALL_BYTES) return false;
  if (is(i, "custom-call")) return strstr(i->target, "Bitcast") == NULL;
  if (begins(i->name, "async-collective-")) return false; /* a transfer: see there */
  return is(i, "fusion") || is(i, "sort") || is(i, "gather") || is(i, "scatter");
}

static ath_status add(adder *self, const ath_xla_computation *computation, double times,
                      bool inside, int depth);

/* The estimates of one run of a computation; what it calls in turn counts once. Without end where
 * something that takes time has none. */
static double cycles_of(const adder *self, const ath_xla_computation *computation, int depth) {
  double sum = 0;
  for (int k = 0; computation != NULL && depth <= CALL_DEPTH_MAX && k < computation->count; k++) {
    const ath_xla_instruction *i = &computation->instructions[k];
    if (i->cycles >= 0) sum += (double)i->cycles;
    else if (takes_time(i)) sum = INFINITY;
    for (int c = 0; runs_others(i) && c < i->called_count; c++)
      sum += cycles_of(self, ath_xla_program_find(self->program, i->called[c]), depth + 1);
  }
  return sum;
}

/* Of a choice the cheapest branch: our graphs choose to save work that is hardly ever needed. */
static int branch_taken(const adder *self, const ath_xla_instruction *choice) {
  int best = 0;
  double least = 0;
  for (int c = 0; c < choice->called_count; c++) {
    double cycles = cycles_of(self, ath_xla_program_find(self->program, choice->called[c]), 0);
    if (c == 0 || cycles < least) best = c, least = cycles;
  }
  return best;
}

/* What an instruction calls: of a loop the body alone, of a choice one branch. */
static ath_status add_called(adder *self, const ath_xla_instruction *i, double times, bool inside,
                             int depth) {
  bool loop = is(i, "while");
  int first = is(i, "conditional") ? branch_taken(self, i) : 0;
  int end = i->called_count > 1 && (loop || is(i, "conditional")) ? first + 1 : i->called_count;
  for (int c = first; c < end; c++) {
    const ath_xla_computation *called = ath_xla_program_find(self->program, i->called[c]);
    if (called == NULL)
      return ath_fail(ATH_CORRUPT, "instruction %.60s calls computation %lld, which there is not",
                      i->name, (long long)i->called[c]);
    if (is_continued(i, called)) continue;
    ATH_TRY(add(self, called, loop ? times * trips(self, i) : times, inside, depth + 1));
  }
  return ATH_OK;
}

/* `inside` something that has an estimate only transfers count. */
static ath_status add(adder *self, const ath_xla_computation *computation, double times,
                      bool inside, int depth) {
  if (depth > CALL_DEPTH_MAX)
    return ath_fail(ATH_CORRUPT, "computations call each other deeper than %d", CALL_DEPTH_MAX);
  self->visits += computation->count + 1;
  if (self->visits > VISITS_MAX)
    return ath_fail(ATH_CORRUPT, "more than %d instructions are run", VISITS_MAX);
  for (int k = 0; k < computation->count; k++) {
    const ath_xla_instruction *i = &computation->instructions[k];
    ath_collective kind;
    if (is_collective(i, &kind)) {
      bool scattered = kind == ATH_ALL_REDUCE && is_scattered(computation, i);
      if (scattered) add_traffic(self->cost, i, ATH_REDUCE_SCATTER, times / (double)i->group);
      else add_traffic(self->cost, i, kind, times);
      continue;
    }
    if (!inside && i->cycles >= 0) {
      ATH_TRY(add_part(self, i, times));
    } else if (!inside && takes_time(i)) {
      self->cost->uncounted++;
      self->cost->uncounted_bytes += (double)i->bytes * times;
    }
    if (is(i, "fusion") || runs_others(i))
      ATH_TRY(add_called(self, i, times, inside || i->cycles >= 0 || is(i, "fusion"), depth));
  }
  return ATH_OK;
}

static int costlier_first(const void *left, const void *right) {
  const ath_part *a = left, *b = right;
  return a->cycles != b->cycles ? (a->cycles > b->cycles ? -1 : 1) : strcmp(a->name, b->name);
}

ath_status ath_cost_of(const ath_xla_program *program, const ath_line_names *names,
                       ath_arena *arena, ath_cost *out) {
  adder self = {.program = program, .names = names, .arena = arena, .cost = out};
  assert(program->entry != NULL);
  *out = (ath_cost){0};
  ATH_TRY(ath_hash_map_create(PARTS_MAX, &self.parts));
  ath_status status = add(&self, program->entry, 1, false, 0);
  ath_hash_map_destroy(self.parts);
  if (status == ATH_OK && out->part_count > 0)
    qsort(out->parts, (size_t)out->part_count, sizeof *out->parts, costlier_first);
  return ath_context(status, "the compiler's program");
}
