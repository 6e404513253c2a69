/* schedule.c: the learning rate of each step. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "athanor/train.h"

static const struct {
  const char *name;
  ath_schedule_kind kind;
} names[] = {
  {"linear", ATH_SCHEDULE_LINEAR},
  {"cosine", ATH_SCHEDULE_COSINE},
  {"constant", ATH_SCHEDULE_CONSTANT},
  {"constant_with_warmup", ATH_SCHEDULE_CONSTANT_WITH_WARMUP},
};

ath_status ath_schedule_kind_from_name(const char *name, ath_schedule_kind *out) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i].name, name) != 0) continue;
    *out = names[i].kind;
    return ATH_OK;
  }
  return ath_fail(ATH_USAGE, "lr_scheduler_type is \"%s\"; there are linear, cosine, constant and "
                             "constant_with_warmup", name);
}

double ath_schedule_rate(const ath_schedule *self, int64_t step) {
  assert(step >= 0 && self->warmup_steps >= 0 && self->peak >= 0);
  if (self->kind == ATH_SCHEDULE_CONSTANT) return self->peak;
  if (step < self->warmup_steps) return self->peak * (double)step / (double)self->warmup_steps;
  if (self->kind == ATH_SCHEDULE_CONSTANT_WITH_WARMUP) return self->peak;
  if (step >= self->total_steps) return 0;
  double falling = (double)(self->total_steps - self->warmup_steps);
  double done = (double)(step - self->warmup_steps) / falling;
  assert(done >= 0 && done <= 1);
  if (self->kind == ATH_SCHEDULE_COSINE) return self->peak * 0.5 * (1 + cos(M_PI * done));
  return self->peak * (1 - done);
}
