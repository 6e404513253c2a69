/* masking.c: which positions of a record are to be predicted, and what stands there instead. */
#include <assert.h>
#include <math.h>

#include "athanor/dataset.h"
#include "base/random.h"

/* Draws of one position use counters of their own, above the position's 16 bits. */
enum { DRAW_TRIES = 64, POSITION_BITS = 16 };

static double uniform(uint32_t bits) { return bits * 0x1p-32; }

/* The batcher has a table, which is faster; a single call may do without. */
static int is_special(const ath_batch_options *options, int32_t id) {
  return options->special != NULL ? options->special[id]
                                  : ath_tokenizer_is_special(options->tokenizer, id);
}

/* An ordinary id, each as likely as the other: special ones are drawn again. Should nearly all
 * of the vocabulary be special, the next ordinary id after the last draw is taken. */
static int32_t draw_ordinary(const ath_batch_options *options, uint32_t epoch, uint64_t sample,
                             uint32_t position) {
  int32_t id = 0;
  for (uint32_t attempt = 1; attempt <= DRAW_TRIES; attempt++) {
    uint32_t bits[4];
    ath_random(options->seed, ATH_RANDOM_MASKING, epoch, sample,
               attempt << POSITION_BITS | position, bits);
    id = (int32_t)ath_below(bits[0], (uint32_t)options->vocab_size);
    if (!is_special(options, id)) return id;
  }
  for (int32_t step = 0; step < options->vocab_size && is_special(options, id); step++)
    id = (id + 1) % options->vocab_size;
  return id;
}

int ath_mask_tokens(const ath_batch_options *options, uint32_t epoch, uint64_t sample,
                    int32_t *ids, const int32_t *mask, int length, int32_t *columns,
                    int32_t *labels) {
  assert(length <= 1 << POSITION_BITS && options->vocab_size > 0);
  double replaced = options->mask_replace_prob;
  double changed = replaced + options->random_replace_prob;
  int count = 0;
  for (int i = 0; i < length; i++) {
    int32_t id = ids[i];
    assert(id >= 0 && id < options->vocab_size);
    if (mask[i] == 0 || is_special(options, id)) continue;
    uint32_t bits[4]; /* the first word chooses the position, the second what stands there */
    ath_random(options->seed, ATH_RANDOM_MASKING, epoch, sample, (uint32_t)i, bits);
    if (uniform(bits[0]) >= options->mlm_probability) continue;
    columns[count] = i;
    labels[count++] = id;
    double fate = uniform(bits[1]);
    if (fate < replaced) ids[i] = options->mask_id;
    else if (fate < changed) ids[i] = draw_ordinary(options, epoch, sample, (uint32_t)i);
  }
  return count;
}

int ath_batch_positions(int batch_size, int length, double mlm_probability, int groups) {
  assert(batch_size > 0 && length > 0 && groups > 0 && batch_size % groups == 0);
  double all = (double)(batch_size / groups) * length, mean = all * mlm_probability;
  double wish = ceil(mean + 6.0 * sqrt(mean * (1.0 - mlm_probability)));
  double rounded = ceil(wish / 8.0) * 8.0;
  double places = groups * (rounded < all ? rounded : all);
  return places < INT32_MAX ? (int)places : INT32_MAX; /* batches so large are refused */
}
