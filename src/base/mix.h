/* mix.h: the step of a hash function of 64-bit words. */
#ifndef ATHANOR_BASE_MIX_H
#define ATHANOR_BASE_MIX_H

#include <stdint.h>

/* Both halves of the product of two words, folded: each bit of either tells on all of it. */
static inline uint64_t ath_mix(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
