/* minhash.h: sketches of texts that tell how alike they are.
 *
 * A text is the set of its shingles, each five words that follow one another. Words are runs of
 * letters and digits, of ASCII in lower case; a character from U+3000 on, as Chinese and Japanese
 * have, is a word by itself; other characters separate. A text of fewer words is one shingle. How
 * alike two texts are is the Jaccard similarity of the sets: shingles in both, of those in either.
 *
 * Of 120 random orders of all shingles each keeps the first of a text; two texts agree in an order
 * with the probability of their similarity (Broder, "On the resemblance and containment of
 * documents", 1997). Texts are compared when they agree in all six orders of one of 20 bands
 * (Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", 3.4): 99.8 % of the pairs that are
 * alike by 0.8, 92 % by 0.7. */
#ifndef ATHANOR_DATA_MINHASH_H
#define ATHANOR_DATA_MINHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATH_BANDS = 20, ATH_BAND_ORDERS = 6, ATH_ORDERS = ATH_BANDS * ATH_BAND_ORDERS };

/* Which 32-bit order each is, and who keeps the first in each, as the machine can; made once. */
typedef struct ath_minhash ath_minhash;
struct ath_minhash {
  uint32_t factors[ATH_ORDERS], terms[ATH_ORDERS];
  void (*keep_firsts)(const ath_minhash *self, uint32_t shingle, uint32_t firsts[ATH_ORDERS]);
};

typedef struct ath_sketch {
  uint32_t keys[ATH_BANDS];      /* of the bands: equal where all orders agree */
  uint8_t firsts[ATH_ORDERS];    /* eight bits of each order's first shingle */
} ath_sketch;

/* `plain`: for any machine, with the same result. */
void ath_minhash_init(ath_minhash *out, bool plain);
void ath_minhash_sketch(const ath_minhash *self, const char *text, size_t length,
                        ath_sketch *out);

/* The similarity as the orders tell it: off by 0.04 (one deviation) at 0.8. */
double ath_sketch_similarity(const uint8_t first[ATH_ORDERS], const uint8_t second[ATH_ORDERS]);

#endif
