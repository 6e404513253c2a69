/* attention.c: scaled dot-product attention and its gradient, one (batch, head) pair per work item.
 *
 * Everything stands on its side: a panel of BLOCK_COLUMNS queries lies across the vectors and the
 * keys run downwards, so that softmax needs no sums across a vector, and what one product leaves
 * is packed as the next one wants it (micro.h):
 *
 *     scores  Sᵀ [keys, queries]  =  K [keys, d]   · Qᵀ [d, queries]
 *     result  Oᵀ [d, queries]     =  Vᵀ [d, keys]  · Pᵀ [keys, queries]
 *
 * Keys that the mask hides are left out when K and V are packed, and cost nothing after. The
 * backward pass recomputes P from the kept log-sum-exp, a block of queries at a time (Dao et al.
 * 2022, "FlashAttention"): with D = rowsum(dO ∘ O),
 *
 *     dPᵀ = V · dOᵀ      dS = P ∘ (drop(dP) − D) / √d
 *     dQᵀ = Kᵀ · dSᵀ     dK += dSᵀ · Q      dV += drop(P)ᵀ · dO */
#include <omp.h>

#include "kernels/isa/dropout.h"
#include "kernels/isa/functions.h"
#include "kernels/isa/micro.h"

enum {
  ROWS = ATTENTION_ROWS,
  WIDE = BLOCK_COLUMNS,
  PANELS = 4, /* panels of queries in a block of the backward pass */
  PAD = 16    /* floats that packing may write past a panel */
};

/* One (batch, head) pair: where it lies in the tensors, and its scratch. */
typedef struct head {
  const float *q, *k, *v; /* row 0 */
  int64_t stride;         /* floats between rows of qkv */
  int64_t hidden;         /* floats between rows of out */
  int64_t length, size;
  int64_t keys;           /* how many the mask leaves */
  int64_t keys_padded, size_padded, size_wide; /* rounded up to ROWS, ROWS, WIDE */
  uint32_t index;         /* dropout's index of query 0, key 0 */
  float scale;            /* 1 / √d */
  ath_dropout_key2 dropout;
  /* Scratch, floats but for the first: */
  int32_t *key;           /* the rows of the keys that are left */
  float *k_rows, *v_rows; /* [key panels][d][ROWS] */
  float *k_columns, *v_columns; /* [d panels][keys][ROWS] */
  float *q_panel, *dout_panel;  /* [d][WIDE] */
  float *scores, *slopes;       /* [PANELS][keys][WIDE]; one panel in the forward pass */
  float *turned;                /* [d][WIDE]: Oᵀ or dQᵀ */
  float *q_wide, *dout_wide;    /* [wide d panels][PANELS * WIDE queries][WIDE] */
  float *dk, *dv;               /* [keys][wide d] */
} head;

/* --- scratch ------------------------------------------------------------------------------- */

typedef struct layout {
  float *base; /* NULL: only counted */
  int64_t used;
} layout;

static float *take(layout *next, int64_t floats) {
  float *out = next->base != NULL ? next->base + next->used : NULL;
  next->used += round_up(floats + PAD, CACHE_LINE / 4);
  return out;
}

/* Lays out one thread's scratch from `base`; returns its floats. */
static int64_t lay_out(head *h, ath_attention_shape s, bool backward, float *base) {
  layout next = {.base = base};
  h->length = s.length;
  h->size = s.head_size;
  h->hidden = s.heads * s.head_size;
  h->stride = 3 * h->hidden;
  h->size_padded = round_up(s.head_size, ROWS);
  h->size_wide = round_up(s.head_size, WIDE);
  int64_t keys = round_up(s.length, ROWS), panels = backward ? PANELS : 1;
  assert(s.length > 0 && s.heads > 0 && s.head_size > 0 && (uintptr_t)base % CACHE_LINE == 0);
  h->key = (int32_t *)(void *)take(&next, s.length);
  h->k_rows = take(&next, keys * s.head_size);
  h->q_panel = take(&next, s.head_size * WIDE);
  h->scores = take(&next, panels * keys * WIDE);
  h->turned = take(&next, h->size_padded * WIDE);
  if (!backward) {
    h->v_columns = take(&next, h->size_padded * s.length);
    return next.used;
  }
  h->v_rows = take(&next, keys * s.head_size);
  h->k_columns = take(&next, h->size_padded * s.length);
  h->dout_panel = take(&next, s.head_size * WIDE);
  h->slopes = take(&next, panels * keys * WIDE);
  h->q_wide = take(&next, h->size_wide * PANELS * WIDE);
  h->dout_wide = take(&next, h->size_wide * PANELS * WIDE);
  h->dk = take(&next, keys * h->size_wide);
  h->dv = take(&next, keys * h->size_wide);
  return next.used;
}

/* Threads that may run: a constant of the machine, so that scratch sized when a step is planned
 * suffices when it runs. */
static int64_t threads_for(ath_attention_shape s) {
  return minimum(ath_thread_limit(), s.batch * s.heads > 0 ? s.batch * s.heads : 1);
}

size_t KERNEL(attention_scratch)(ath_attention_shape shape, int backward) {
  head h; /* laid out nowhere: only the floats are counted */
  return sizeof(float) * (size_t)(threads_for(shape) * lay_out(&h, shape, backward, NULL));
}

/* --- packing ------------------------------------------------------------------------------- */

/* pack_rows without its limit on the depth. `ahead`: floats to the rows that come next, which lie
 * on other pages, where the processor does not look ahead by itself. */
INLINE void pack_deep_rows(const int width, const float **rows, int64_t count, int64_t depth,
                           int64_t ahead, float *out) {
  for (int64_t p = 0; p < depth; p += PACK_DEPTH) {
    pack_rows(width, rows, count, minimum(PACK_DEPTH, depth - p), ahead, out + p * width);
    for (int64_t r = 0; r < count; r++) rows[r] += PACK_DEPTH;
  }
}

/* Rows of K or V that are left, in panels of ROWS keys. */
static void pack_key_rows(const head *h, const float *x, float *out) {
  for (int64_t i = 0; i < h->keys; i += ROWS, out += ROWS * h->size) {
    const float *rows[ROWS];
    int64_t count = minimum(ROWS, h->keys - i);
    for (int64_t r = 0; r < count; r++) rows[r] = x + h->key[i + r] * h->stride;
    pack_deep_rows(ROWS, rows, count, h->size, 2 * ROWS * h->stride, out);
  }
}

/* The same rows in panels of ROWS columns. */
static void pack_key_columns(const head *h, const float *x, float *out) {
  for (int64_t j = 0; j < h->keys; j++, out += ROWS) {
    const float *row = x + h->key[j] * h->stride;
    float *to = out;
    int64_t d = 0;
    for (int64_t p = 0; p < h->size; p += CACHE_LINE / 4)
      __builtin_prefetch(row + 2 * ROWS * h->stride + p);
    for (; d + ROWS <= h->size; d += ROWS, to += h->keys * ROWS)
      memcpy(to, row + d, sizeof(float) * ROWS);
    for (int r = 0; r < ROWS && d < h->size; r++) to[r] = d + r < h->size ? row[d + r] : 0;
  }
}

/* A panel of queries, from rows `stride` apart: [d][WIDE], zero past the last query. */
static void pack_queries(const head *h, const float *x, int64_t stride, int64_t query, float *out) {
  const float *rows[WIDE];
  int64_t count = minimum(WIDE, h->length - query);
  for (int64_t r = 0; r < count; r++) rows[r] = x + (query + r) * stride;
  pack_deep_rows(WIDE, rows, count, h->size, WIDE * stride, out);
}

/* A block of queries in panels of WIDE columns: [wide d panels][PANELS * WIDE][WIDE]. */
static void pack_wide(const head *h, const float *x, int64_t stride, int64_t query, float *out) {
  int64_t count = minimum(PANELS * WIDE, h->length - query);
  for (int64_t d = 0; d < h->size; d += WIDE, out += PANELS * WIDE * WIDE) {
    pack_columns(WIDE, x + query * stride + d, stride, minimum(WIDE, h->size - d), count, out);
    memset(out + count * WIDE, 0, sizeof(float) * (size_t)((PANELS * WIDE - count) * WIDE));
  }
}

/* Writes the panel h->turned, [d][WIDE], to the rows of the queries from `query` on, each times
 * its factor. */
static void turn_back(const head *h, const float factor[WIDE], float *out, int64_t stride,
                      int64_t query) {
  int64_t count = minimum(WIDE, h->length - query), whole = h->size & ~INT64_C(3);
  out += query * stride;
  for (int64_t d = 0; d < whole; d += 4)
    for (int64_t lane = 0; lane < count; lane += 4) {
      const float *x = h->turned + d * WIDE;
      const float *rows[4] = {x, x + WIDE, x + 2 * WIDE, x + 3 * WIDE};
      vec4 block[4];
      transpose4(rows, lane, block);
      for (int64_t r = 0; r < minimum(4, count - lane); r++)
        *(vec4_anywhere *)(out + (lane + r) * stride + d) = block[r] * factor[lane + r];
    }
  for (int64_t d = whole; d < h->size; d++)
    for (int64_t lane = 0; lane < count; lane++)
      out[lane * stride + d] = h->turned[d * WIDE + lane] * factor[lane];
}

/* --- products ------------------------------------------------------------------------------ */

/* out[rows, WIDE] = a[rows, k] b[k, WIDE], a in panels of ROWS. */
static void multiply_panel(const float *a, const float *b, int64_t rows, int64_t k, float *out) {
  for (int64_t i = 0; i < rows; i += ROWS) {
    vec sum[MICRO_MAX_ROWS][2];
    micro_clear(ROWS, sum);
    micro_product(ROWS, 1, ROWS, k, a + i * k, b, sum);
    micro_store(ROWS, out + i * WIDE, WIDE, false, sum);
  }
}

/* out[keys, wide d] (+)= Σ over the panels of queries: a[panel][keys][WIDE] b[query][d]. */
static void multiply_queries(const head *h, const float *a, const float *b, int64_t panels,
                             bool add, float *out) {
  for (int64_t d = 0; d < h->size; d += WIDE, b += PANELS * WIDE * WIDE)
    for (int64_t i = 0; i < h->keys; i += ROWS) {
      vec sum[MICRO_MAX_ROWS][2];
      micro_clear(ROWS, sum);
      for (int64_t panel = 0; panel < panels; panel++)
        micro_product(ROWS, WIDE, 1, WIDE, a + (panel * h->keys_padded + i) * WIDE,
                      b + panel * WIDE * WIDE, sum);
      micro_store(ROWS, out + i * h->size_wide + d, h->size_wide, add, sum);
    }
}

/* --- forward ------------------------------------------------------------------------------- */

/* The highest score of each query of the panel. Here and below `omp simd` is on the outer loop:
 * the lanes are the queries. */
static void find_highest(const float *scores, int64_t keys, float highest[WIDE]) {
#pragma omp simd
  for (int lane = 0; lane < WIDE; lane++) {
    float top = -INFINITY;
    for (int64_t j = 0; j < keys; j++) {
      float score = scores[j * WIDE + lane];
      top = score > top ? score : top;
    }
    highest[lane] = top;
  }
}

/* scores → exp((score − highest) / √d), with dropout; and the sum of each query before dropout. */
INLINE void soften(const bool drops, const head *h, int64_t query, const float highest[WIDE],
                   float sum[WIDE]) {
  const int64_t keys = h->keys;
  const int32_t *key = h->key;
  const ath_dropout_key2 dropout = h->dropout;
  const float scale = h->scale;
  float *scores = h->scores;
#pragma omp simd
  for (int lane = 0; lane < WIDE; lane++) {
    uint32_t index = h->index + (uint32_t)(query + lane) * (uint32_t)h->length;
    float top = highest[lane], total = 0;
    for (int64_t j = 0; j < keys; j++) {
      float e = exp_of((scores[j * WIDE + lane] - top) * scale);
      total += e;
      scores[j * WIDE + lane] = drops ? e * kept(index + (uint32_t)key[j], dropout) : e;
    }
    sum[lane] = total;
  }
}

static void attend(const head *h, float *out, float *lse) {
  pack_key_rows(h, h->k, h->k_rows);
  pack_key_columns(h, h->v, h->v_columns);
  for (int64_t query = 0; query < h->length; query += WIDE) {
    float highest[WIDE], sum[WIDE];
    pack_queries(h, h->q, h->stride, query, h->q_panel);
    multiply_panel(h->k_rows, h->q_panel, h->keys_padded, h->size, h->scores);
    find_highest(h->scores, h->keys, highest);
    if (h->dropout.threshold != 0) soften(true, h, query, highest, sum);
    else soften(false, h, query, highest, sum);
    multiply_panel(h->v_columns, h->scores, h->size_padded, h->keys, h->turned);
    for (int64_t lane = 0; lane < minimum(WIDE, h->length - query); lane++)
      lse[query + lane] = highest[lane] * h->scale + logf(sum[lane]);
    for (int64_t lane = 0; lane < WIDE; lane++) sum[lane] = 1 / sum[lane];
    turn_back(h, sum, out, h->hidden, query);
  }
}

/* Points the head at pair `item` and lists the keys that its mask leaves. */
static void aim(head *h, int64_t item, ath_attention_shape s, const float *qkv,
                const int32_t *mask) {
  int64_t b = item / s.heads, place = item % s.heads;
  h->q = qkv + b * s.length * h->stride + place * s.head_size;
  h->k = h->q + h->hidden;
  h->v = h->k + h->hidden;
  h->index = (uint32_t)(item * s.length * s.length);
  h->keys = 0;
  for (int64_t j = 0; j < s.length; j++)
    if (mask[b * s.length + j] != 0) h->key[h->keys++] = (int32_t)j;
  h->keys_padded = round_up(h->keys, ROWS);
  assert(h->keys <= s.length);
}

/* Where row 0 of pair `item` lies in a tensor [batch, length, hidden]. */
static int64_t row_of(int64_t item, ath_attention_shape s) {
  return item / s.heads * s.length * s.heads * s.head_size + item % s.heads * s.head_size;
}

void KERNEL(attention)(const float *qkv, const int32_t *mask, float *out, float *lse,
                       ath_attention_shape shape, ath_dropout_key2 dropout, void *scratch) {
  int64_t items = shape.batch * shape.heads;
  int threads = (int)minimum(threads_for(shape), omp_get_max_threads());
#pragma omp parallel num_threads(threads) if (items * shape.length > PARALLEL_MINIMUM / 64)
  {
    head h = {.dropout = dropout, .scale = 1 / sqrtf((float)shape.head_size)};
    int64_t floats = lay_out(&h, shape, false, scratch);
    lay_out(&h, shape, false, (float *)scratch + omp_get_thread_num() * floats);
#pragma omp for schedule(dynamic)
    for (int64_t item = 0; item < items; item++) {
      aim(&h, item, shape, qkv, mask);
      float *to = out + row_of(item, shape), *statistic = lse + item * shape.length;
      if (h.keys > 0) {
        attend(&h, to, statistic);
        continue;
      }
      memset(statistic, 0, sizeof(float) * (size_t)shape.length);
      for (int64_t i = 0; i < shape.length; i++)
        memset(to + i * h.hidden, 0, sizeof(float) * (size_t)shape.head_size);
    }
  }
}

/* --- backward ------------------------------------------------------------------------------ */

/* What the backward pass knows of a panel of queries; zero past the last query. */
typedef struct panel_rows {
  float lse[WIDE], correction[WIDE]; /* correction: D = rowsum(dO ∘ O) */
} panel_rows;

static void read_rows(const head *h, const float *out, const float *dout, const float *lse,
                      int64_t query, panel_rows *rows) {
  for (int64_t lane = 0; lane < WIDE; lane++) {
    float sum = 0;
    bool inside = query + lane < h->length;
    const float *o = out + (query + lane) * h->hidden, *slope = dout + (query + lane) * h->hidden;
#pragma omp simd reduction(+ : sum)
    for (int64_t d = 0; d < (inside ? h->size : 0); d++) sum += o[d] * slope[d];
    rows->correction[lane] = sum;
    rows->lse[lane] = inside ? lse[query + lane] : 0;
  }
}

/* scores → drop(P), slopes: dP → dS / √d. */
INLINE void slope_scores(const bool drops, const head *h, const panel_rows *rows, int64_t query,
                         float *scores, float *slopes) {
  const int64_t keys = h->keys;
  const int32_t *key = h->key;
  const ath_dropout_key2 dropout = h->dropout;
  const float scale = h->scale;
#pragma omp simd
  for (int lane = 0; lane < WIDE; lane++) {
    uint32_t index = h->index + (uint32_t)(query + lane) * (uint32_t)h->length;
    float log_sum = rows->lse[lane], correction = rows->correction[lane];
    for (int64_t j = 0; j < keys; j++) {
      float p = exp_of(scores[j * WIDE + lane] * scale - log_sum);
      float keep = drops ? kept(index + (uint32_t)key[j], dropout) : 1;
      scores[j * WIDE + lane] = p * keep;
      slopes[j * WIDE + lane] = p * (keep * slopes[j * WIDE + lane] - correction) * scale;
    }
  }
}

/* One panel of queries: its drop(P) and dS, and dQ, which is finished. */
static void attend_panel_backward(const head *h, const float *out, const float *dout,
                                  const float *lse, int64_t query, int64_t panel, float *dq) {
  static const float ones[WIDE] = {[0 ... WIDE - 1] = 1};
  float *scores = h->scores + panel * h->keys_padded * WIDE;
  float *slopes = h->slopes + panel * h->keys_padded * WIDE;
  panel_rows rows;
  read_rows(h, out, dout, lse, query, &rows);
  pack_queries(h, h->q, h->stride, query, h->q_panel);
  pack_queries(h, dout, h->hidden, query, h->dout_panel);
  multiply_panel(h->k_rows, h->q_panel, h->keys_padded, h->size, scores);
  multiply_panel(h->v_rows, h->dout_panel, h->keys_padded, h->size, slopes);
  assert(panel < PANELS && query < h->length);
  if (h->dropout.threshold != 0) slope_scores(true, h, &rows, query, scores, slopes);
  else slope_scores(false, h, &rows, query, scores, slopes);
  multiply_panel(h->k_columns, slopes, h->size_padded, h->keys, h->turned);
  turn_back(h, ones, dq, h->stride, query);
}

/* Writes the gathered gradient of K or V to its rows; those of hidden keys are zero. */
static void scatter_keys(const head *h, const float *x, float *out) {
  for (int64_t row = 0, j = 0; row < h->length; row++) {
    if (j < h->keys && h->key[j] == row)
      memcpy(out + row * h->stride, x + j++ * h->size_wide, sizeof(float) * (size_t)h->size);
    else
      memset(out + row * h->stride, 0, sizeof(float) * (size_t)h->size);
  }
}

static void attend_backward(const head *h, const float *out, const float *dout, const float *lse,
                            float *dq) {
  pack_key_rows(h, h->k, h->k_rows);
  pack_key_rows(h, h->v, h->v_rows);
  pack_key_columns(h, h->k, h->k_columns);
  for (int64_t begin = 0; begin < h->length; begin += PANELS * WIDE) {
    int64_t panels = minimum(PANELS, ceil_div(h->length - begin, WIDE));
    for (int64_t panel = 0; panel < panels; panel++)
      attend_panel_backward(h, out, dout, lse, begin + panel * WIDE, panel, dq);
    pack_wide(h, h->q, h->stride, begin, h->q_wide);
    pack_wide(h, dout, h->hidden, begin, h->dout_wide);
    multiply_queries(h, h->slopes, h->q_wide, panels, begin > 0, h->dk);
    multiply_queries(h, h->scores, h->dout_wide, panels, begin > 0, h->dv);
  }
  scatter_keys(h, h->dk, dq + h->hidden);
  scatter_keys(h, h->dv, dq + 2 * h->hidden);
}

void KERNEL(attention_backward)(const float *qkv, const int32_t *mask, const float *out,
                                const float *lse, const float *dout, float *dqkv,
                                ath_attention_shape shape, ath_dropout_key2 dropout,
                                void *scratch) {
  int64_t items = shape.batch * shape.heads;
  int threads = (int)minimum(threads_for(shape), omp_get_max_threads());
#pragma omp parallel num_threads(threads) if (items * shape.length > PARALLEL_MINIMUM / 64)
  {
    head h = {.dropout = dropout, .scale = 1 / sqrtf((float)shape.head_size)};
    int64_t floats = lay_out(&h, shape, true, scratch);
    lay_out(&h, shape, true, (float *)scratch + omp_get_thread_num() * floats);
#pragma omp for schedule(dynamic)
    for (int64_t item = 0; item < items; item++) {
      aim(&h, item, shape, qkv, mask);
      float *dq = dqkv + (h.q - qkv);
      int64_t row = row_of(item, shape);
      if (h.keys > 0) {
        attend_backward(&h, out + row, dout + row, lse + item * shape.length, dq);
        continue;
      }
      for (int64_t i = 0; i < shape.length; i++)
        for (int part = 0; part < 3; part++)
          memset(dq + i * h.stride + part * h.hidden, 0, sizeof(float) * (size_t)shape.head_size);
    }
  }
}
