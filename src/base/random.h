/* random.h: counter-based random numbers. The same counter always gives the same bits, so a
 * sample's mask, the order of the data and dropout depend on nothing but the seed and the
 * position: not on batch layout, threads, hosts or a resume.
 * All functions here are pure and safe to call from any thread.
 *
 * On the host: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011). Inside the graph: an elementwise 32-bit hash that every engine can print. */
#ifndef ATHANOR_BASE_RANDOM_H
#define ATHANOR_BASE_RANDOM_H

#include <stdint.h>

/* What a stream of random numbers is used for: the first word of the counter. */
typedef enum ath_random_purpose {
  ATH_RANDOM_SHUFFLE = 1,
  ATH_RANDOM_MASKING = 2,
  ATH_RANDOM_INITIALISATION = 3,
  ATH_RANDOM_SPLIT = 5, /* which lines are held out for validation */
  ATH_RANDOM_MERGES = 6, /* which merges BPE-dropout passes over */
} ath_random_purpose;

/* Philox4x32-10: 128-bit counter, 64-bit key, 128 random bits. */
void ath_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Philox with key = seed and counter = (purpose, epoch, sample, position). The sample's upper
 * half goes into the upper half of the epoch word's bits: epochs < 2^16, samples < 2^48. */
void ath_random(uint64_t seed, ath_random_purpose purpose, uint32_t epoch, uint64_t sample,
                uint32_t position, uint32_t out[4]);

/* A number in [0, 1) with 24 bits, exact in float. */
static inline float ath_uniform(uint32_t bits) { return (float)(bits >> 8) * 0x1p-24f; }

/* A number in 0 … n−1 (n > 0) by the multiply-shift method; bias below n / 2^32. */
static inline uint32_t ath_below(uint32_t bits, uint32_t n) {
  return (uint32_t)(((uint64_t)bits * n) >> 32);
}

/* Two independent standard normal numbers from two words (Box–Muller, computed in double). */
void ath_normal(uint32_t bits0, uint32_t bits1, float out[2]);

/* The image of `index` under a keyed permutation of 0 … count−1, in O(1): a Feistel network on
 * the next power of four, walked until it lands inside (Black & Rogaway, CT-RSA 2002). Each
 * epoch has its own permutation. Requires index < count < 2^48. */
uint64_t ath_permute(uint64_t seed, uint32_t epoch, uint64_t count, uint64_t index);

/* Dropout inside the graph. `site` numbers the dropout layers of a model. The keys come from
 * (seed, step, site); an element is kept when ath_dropout_hash(index, key) >= threshold with
 * threshold = round(rate * 2^32). Only 32-bit integer operations, so that XLA prints the same.
 * The kernels repeat ath_dropout_hash in vector form; a test holds them equal. */
void ath_dropout_key(uint64_t seed, uint32_t step, uint32_t site, uint32_t key[2]);

static inline uint32_t ath_dropout_hash(uint32_t index, const uint32_t key[2]) {
  uint32_t x = index ^ key[0];
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x += key[1]; /* between the rounds, so that each step has a function of its own */
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}

/* The threshold for a dropout rate in [0, 1). */
uint32_t ath_dropout_threshold(double rate);

#endif
