/* initialise.c: the values a model begins with. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/random.h"
#include "models/parameters.h"

/* Of the decoder's bias in rows that pad the vocabulary: exp of it is 0 beside any real logit. */
static const float UNUSED_ROW_BIAS = -1e4f;

/* normal(0, deviation) by Philox with counter (hash of the name, index / 4). */
static void fill_normal(float *values, int64_t count, double deviation, uint64_t seed,
                        const char *name) {
  uint64_t hash = ath_hash_bytes(name, strlen(name));
  uint32_t upper = (uint32_t)(hash >> 48);
  uint64_t lower = hash & 0xFFFFFFFFFFFFu;
  for (int64_t i = 0; i < count; i += 4) {
    uint32_t bits[4];
    float normal[4];
    ath_random(seed, ATH_RANDOM_INITIALISATION, upper, lower, (uint32_t)(i / 4), bits);
    ath_normal(bits[0], bits[1], normal);
    ath_normal(bits[2], bits[3], normal + 2);
    for (int64_t j = i; j < i + 4 && j < count; j++)
      values[j] = (float)(normal[j - i] * deviation);
  }
}

static void zero_rows(float *values, int64_t width, int64_t from, int64_t to) {
  assert(from <= to);
  memset(values + from * width, 0, (size_t)((to - from) * width) * sizeof *values);
}

/* What the reference leaves at zero: the rows of padding. The type table has none. */
static void fill_embedding(const ath_model *self, size_t index, float *values, int64_t used_rows) {
  const ath_model_config *config = &self->config;
  int64_t width = config->hidden_size, pad = config->pad_token_id;
  if (index == WORD_EMBEDDING || index == POSITION_EMBEDDING)
    zero_rows(values, width, pad, pad + 1);
  if (index == WORD_EMBEDDING && used_rows > 0)
    zero_rows(values, width, used_rows, config->vocab_size);
}

/* Query, key and value are drawn under their own names, so that they do not depend on being kept
 * in one variable. */
static void fill(const ath_model *self, size_t index, float *values, uint64_t seed,
                 int64_t used_rows) {
  const ath_parameter *p = &self->parameters[index];
  int64_t count = ath_type_count(&p->type), part = ath_type_count(&p->part_type);
  assert(part * p->parts == count);
  if (p->kind == ATH_PARAMETER_MATRIX || p->kind == ATH_PARAMETER_EMBEDDING) {
    for (int i = 0; i < p->parts; i++)
      fill_normal(values + i * part, part, self->config.initializer_range, seed, p->hub[i]);
    fill_embedding(self, index, values, used_rows);
    return;
  }
  float value = p->kind == ATH_PARAMETER_NORM_SCALE ? 1.0f : 0.0f;
  for (int64_t i = 0; i < count; i++) values[i] = value;
  if (index == self->count - HEAD_COUNT + DECODER_BIAS && used_rows > 0)
    for (int64_t i = used_rows; i < count; i++) values[i] = UNUSED_ROW_BIAS;
}

ath_status ath_model_initialise(const ath_model *self, ath_state *state, uint64_t seed,
                                int64_t used_rows) {
  assert(used_rows >= 0 && used_rows <= self->config.vocab_size);
  ath_status status = ATH_OK;
  for (size_t i = 0; i < self->count && status == ATH_OK; i++) {
    const ath_parameter *p = &self->parameters[i];
    size_t bytes = ath_type_bytes(&p->type);
    float *values = malloc(bytes);
    if (values == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to initialise %s", p->name);
    fill(self, i, values, seed, used_rows);
    status = ath_state_write(state, p->name, values, bytes);
    free(values);
  }
  return status;
}
