/* random.c: Philox4x32-10, normal numbers, the keyed permutation and the dropout keys. */
#include "base/random.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void philox_round(uint32_t c[4], const uint32_t k[2]) {
  uint64_t low = (uint64_t)0xD2511F53u * c[0], high = (uint64_t)0xCD9E8D57u * c[2];
  uint32_t next[4] = {(uint32_t)(high >> 32) ^ c[1] ^ k[0], (uint32_t)high,
                      (uint32_t)(low >> 32) ^ c[3] ^ k[1], (uint32_t)low};
  memcpy(c, next, sizeof next);
}

void ath_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c[4], k[2] = {key[0], key[1]};
  memcpy(c, counter, sizeof c);
  for (int round = 0; round < 10; round++) {
    philox_round(c, k);
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  memcpy(out, c, sizeof c);
}

void ath_random(uint64_t seed, ath_random_purpose purpose, uint32_t epoch, uint64_t sample,
                uint32_t position, uint32_t out[4]) {
  assert(epoch < (1u << 16) && sample < (UINT64_C(1) << 48));
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t counter[4] = {(uint32_t)purpose, epoch | (uint32_t)(sample >> 32) << 16,
                         (uint32_t)sample, position};
  ath_philox(counter, key, out);
}

void ath_normal(uint32_t bits0, uint32_t bits1, float out[2]) {
  double u = (bits0 + 1.0) * 0x1p-32; /* in (0, 1], so that the logarithm is finite */
  double angle = bits1 * 0x1p-32 * 6.283185307179586476925;
  double radius = sqrt(-2.0 * log(u));
  out[0] = (float)(radius * cos(angle));
  out[1] = (float)(radius * sin(angle));
}

uint64_t ath_permute(uint64_t seed, uint32_t epoch, uint64_t count, uint64_t index) {
  assert(index < count && count < (UINT64_C(1) << 48));
  /* Four rounds of a random function make a permutation that no test tells from a random one (Luby
   * & Rackoff 1988, for large blocks); six, because blocks here may be small. */
  enum { ROUNDS = 6 };
  int half = 1; /* bits of each half of the Feistel block; 4^half >= count */
  while ((UINT64_C(1) << (2 * half)) < count) half++;
  uint64_t mask = (UINT64_C(1) << half) - 1;
  do { /* expected fewer than four turns, since 4^half < 4 * count */
    uint64_t left = index >> half, right = index & mask;
    for (uint32_t round = 0; round < ROUNDS; round++) {
      uint32_t bits[4];
      ath_random(seed, ATH_RANDOM_SHUFFLE, epoch, right, round, bits);
      uint64_t next = left ^ (bits[0] & mask);
      left = right;
      right = next;
    }
    index = left << half | right;
  } while (index >= count);
  return index;
}

/* Seed, step and site each pass through the hash before the next is mixed in: with plain sums one
 * site's mask would come back at another site in another step. */
void ath_dropout_key(uint64_t seed, uint32_t step, uint32_t site, uint32_t key[2]) {
  uint32_t low[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  key[0] = ath_dropout_hash(step, low) ^ (site * 0x9E3779B9u);
  uint32_t mixed[2] = {key[0], low[1] + site};
  key[0] = ath_dropout_hash(site, mixed);
  mixed[0] = key[0] ^ step;
  key[1] = ath_dropout_hash(step + 0x6C8E9CF5u, mixed);
}

uint32_t ath_dropout_threshold(double rate) {
  assert(rate >= 0.0 && rate < 1.0);
  double scaled = rate * 4294967296.0 + 0.5; /* a rate just below 1 must not round up to 2^32 */
  return scaled >= 4294967295.0 ? 4294967295u : (uint32_t)scaled;
}
