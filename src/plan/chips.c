/* chips.c: the table of generations, and the time of transfers on their links.
 *
 * Peak, memory and links are the figures of Google's public pages on system architecture
 * (cloud.google.com/tpu/docs/system-architecture-tpu-vm) and, for single links, of "How to Scale
 * Your Model" (jax-ml.github.io/scaling-book). The clock is what the peak means for the matrix
 * units: 8 of 128 x 128 in a v4 or v5p chip, 4 in v5e, 4 of 256 x 256 in v6e. By it, one bf16
 * product of 8192^3 is estimated at 93 % of the peak on v4, 88 on v5e, 90 on v5p, 70 on v6e. */
#include "plan/chips.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

static const ath_chip chips[] = {
  {"v4", 1.05e9, 275e12, 45e9, 3, 4, "megacore", NULL},
  {"v5e", 1.5e9, 197e12, 45e9, 2, 16, NULL, NULL},
  {"v5p", 1.75e9, 459e12, 90e9, 3, 4, NULL, NULL},
  {"v6e", 1.75e9, 918e12, 90e9, 2, 16, NULL, NULL},
  {.name = "a100", .gpu = &ath_gpu_a100},
  {.name = "h100", .gpu = &ath_gpu_h100},
  {.name = "h200", .gpu = &ath_gpu_h200},
};
enum { CHIP_COUNT = sizeof chips / sizeof *chips, AXIS_MAX = 64 };
enum { HOST_AXES = 2 }; /* of a torus, along which a host has two chips: 2x2 */

#define SHAPES "v5e:2x4, v6e:4x4, v4:2x2x1, v5p:2x2x2; GPUs as h100:8, or h100:2x8 on two hosts"

static ath_status bad_slice(const char *text, const char *why) {
  return ath_fail(ATH_USAGE, "topology \"%.40s\": %s; slices are written as " SHAPES, text, why);
}

static ath_status check_hosts(const char *text, const ath_slice *out) {
  return out->axes <= 2 ? ATH_OK
                        : bad_slice(text, "GPUs are hosts times GPUs of a host, or one host's");
}

static ath_status check_torus(const char *text, const ath_slice *out) {
  if (out->axes != out->chip->axes)
    return bad_slice(text, out->chip->axes == 2 ? "this generation has two axes"
                                                : "this generation has three axes");
  for (int i = 0; i < HOST_AXES; i++)
    if (out->dims[i] > 1 && out->dims[i] % 2 != 0)
      return bad_slice(text, "slices are made of hosts of 2x2 chips, so the first two axes are 1 "
                             "or even");
  return ATH_OK;
}

/* "2x4" after the colon. */
static ath_status parse_axes(const char *text, const char *at, ath_slice *out) {
  out->chips = 1;
  do {
    int size = 0;
    for (at++; isdigit((unsigned char)*at) && size <= AXIS_MAX; at++) size = 10 * size + *at - '0';
    if (size < 1 || size > AXIS_MAX || out->axes == ATH_SLICE_AXES_MAX)
      return bad_slice(text, "not a shape of chips");
    out->dims[out->axes++] = size;
    out->chips *= size;
  } while (*at == 'x');
  if (*at != '\0') return bad_slice(text, "not a shape of chips");
  return out->chip->gpu != NULL ? check_hosts(text, out) : check_torus(text, out);
}

ath_status ath_slice_parse(const char *text, size_t length, ath_slice *out) {
  *out = (ath_slice){0};
  if (length >= sizeof out->name) return bad_slice(text, "too long");
  memcpy(out->name, text, length);
  const char *colon = strchr(out->name, ':');
  if (colon == NULL) return bad_slice(out->name, "no shape");
  for (int i = 0; i < CHIP_COUNT; i++)
    if (strlen(chips[i].name) == (size_t)(colon - out->name) &&
        strncmp(chips[i].name, out->name, (size_t)(colon - out->name)) == 0)
      out->chip = &chips[i];
  if (out->chip == NULL)
    return bad_slice(out->name, "the generations known are v4, v5e, v5p, v6e, "
                     "a100, h100, h200");
  return parse_axes(out->name, colon, out);
}

/* Bytes per second that all of a chip's rings carry together. A ring goes both ways; an axis that
 * does not close has to turn back, at half the speed. */
static double ring_speed(const ath_slice *self) {
  double speed = 0;
  for (int i = 0; i < self->axes; i++) {
    if (self->dims[i] < 2) continue;
    bool closed = self->dims[i] % self->chip->wrap == 0;
    speed += (closed ? 2 : 1) * self->chip->link;
  }
  return speed > 0 ? speed : self->chip->link;
}

/* Bytes that pass each link's end, by the ring algorithms (Thakur et al. 2005, "Optimization of
 * Collective Communication Operations in MPICH"), for a result of `bytes` on each device. */
static double bytes_sent(const ath_traffic *t, double devices) {
  double share = (devices - 1) / devices;
  switch (t->kind) {
    case ATH_ALL_REDUCE: return 2 * share * t->bytes;
    case ATH_ALL_GATHER: return share * t->bytes;
    case ATH_REDUCE_SCATTER: return (devices - 1) * t->bytes;
    case ATH_ALL_TO_ALL: return share * t->bytes * devices / 4;
    case ATH_PERMUTE: break;
  }
  return t->bytes;
}

double ath_slice_transfer_seconds(const ath_slice *self, const ath_cost *cost) {
  double seconds = 0;
  assert(self->chips >= 1);
  for (int i = 0; i < cost->traffic_count; i++) {
    const ath_traffic *t = &cost->traffic[i];
    double devices = t->group > 0 ? (double)t->group : self->chips;
    if (devices > 1) seconds += bytes_sent(t, devices) / ring_speed(self);
  }
  return seconds;
}
