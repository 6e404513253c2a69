/* gemm.c: the blocked matrix product c = op(a) op(b) (+ bias) (+ c).
 *
 *     for each panel of columns of c, each STRETCHES * DEPTH of k:
 *       pack op(b)[of k, columns]                     all threads together
 *       for each tile of the panel:                   dealt to the threads
 *         for each stretch of DEPTH in k:
 *           pack op(a)[tile's rows, DEPTH]            stays in the thread's L2 cache
 *           for BLOCK_COLUMNS columns:                b's part stays in the L1 cache
 *             for GEMM_ROWS rows: one register block of c
 *
 * k is never cut between threads and its cuts depend on the shape alone, so the result does not
 * depend on the number of threads or on which of them takes a tile. */
#include <omp.h>

#include "kernels/isa/micro.h"
#include "kernels/own.h"

enum {
  DEPTH = 6144 / BLOCK_COLUMNS, /* DEPTH x BLOCK_COLUMNS floats of b: 24 of an L1 cache's 32 KiB */
  TILE_ROWS = 192,       /* TILE_ROWS x DEPTH floats of a: 288 KiB (AVX2) of a 512 KiB L2 cache */
  TILE_COLUMNS = 1024,
  STRETCHES = 16,        /* of k in a panel: bounds the memory where k counts tokens */
  PANEL_FLOATS = 1 << 22, /* of packed b: 16 MiB, for the L3 cache */
  GROUP = 8 * BLOCK_COLUMNS, /* columns of b that a thread packs at a time */
  PAD = 16               /* floats that packing may write past the last panel of a */
};

/* `n` cut evenly into the fewest parts of at most `most`: the size of a part, rounded up. */
static int64_t even_part(int64_t n, int64_t most, int64_t unit) {
  if (n <= 0) return unit;
  return round_up(ceil_div(n, ceil_div(n, most)), unit);
}

/* How a shape is cut. */
typedef struct cuts {
  int64_t depth;          /* of k in a stretch */
  int64_t columns, deep;  /* of b in a panel */
  int64_t tile_floats;    /* of the packed a of one thread */
} cuts;

static cuts cuts_of(ath_gemm_shape s) {
  cuts c = {.depth = even_part(s.k, DEPTH, 1)};
  c.deep = minimum(STRETCHES * c.depth, s.k > 0 ? s.k : 1);
  c.columns = even_part(s.n, PANEL_FLOATS / c.deep, BLOCK_COLUMNS);
  c.tile_floats = round_up(even_part(s.m, TILE_ROWS, GEMM_ROWS) * c.depth + PAD, CACHE_LINE / 4);
  return c;
}

static size_t scratch_bytes(ath_gemm_shape shape) {
  cuts c = cuts_of(shape);
  return sizeof(float) * (size_t)(c.columns * c.deep + ath_thread_limit() * c.tile_floats);
}

/* Packs `count` rows of x, along which k runs, in panels of `width`. */
INLINE void pack_by_rows(const int width, const float *x, int64_t stride, int64_t count,
                         int64_t depth, float *out) {
  for (int64_t i = 0; i < count; i += width, out += width * depth) {
    const float *rows[WIDEST_PANEL];
    int64_t here = minimum(width, count - i);
    for (int64_t r = 0; r < here; r++) rows[r] = x + (i + r) * stride;
    pack_rows(width, rows, here, depth, width * stride, out);
  }
}

/* A panel of op(b) and the tiles of c that it gives. */
typedef struct panel {
  int64_t column, columns, padded; /* padded: rounded up to BLOCK_COLUMNS */
  int64_t k, end;                  /* the part of k */
  int64_t tile_rows, tile_columns, across; /* across: tiles side by side */
  int64_t tiles;
} panel;

/* Packs columns [j, j + count) of the panel: stretch after stretch of k, each in blocks. The
 * stretches of the whole panel lie padded * depth floats apart. */
static void pack_b(ath_gemm_shape s, cuts c, const panel *p, const float *b, int64_t j,
                   int64_t count, float *packed) {
  for (int64_t k = p->k; k < p->end; k += c.depth) {
    int64_t depth = minimum(c.depth, p->end - k), column = p->column + j;
    float *out = packed + (k - p->k) * p->padded + j * depth;
    if (s.transpose_b) pack_by_rows(BLOCK_COLUMNS, b + column * s.k + k, s.k, count, depth, out);
    else pack_columns(BLOCK_COLUMNS, b + k * s.n + column, s.n, count, depth, out);
  }
}

/* One stretch of a tile: what its register blocks need to know. */
typedef struct stretch {
  const float *a, *b, *bias; /* packed; bias NULL except in the first stretch of k */
  float *c;                  /* the tile's first element */
  int64_t stride, rows, columns, depth;
  bool add;
} stretch;

/* A register block at the edge of c, or with a bias: through a small square. */
static void store_part(const stretch *s, int64_t i, int64_t j, int64_t rows, int64_t columns,
                       const float *block) {
  for (int64_t r = 0; r < rows; r++) {
    float *c = s->c + (i + r) * s->stride + j;
    for (int64_t q = 0; q < columns; q++) {
      float value = block[r * BLOCK_COLUMNS + q] + (s->add ? c[q] : 0);
      c[q] = s->bias != NULL ? value + s->bias[j + q] : value;
    }
  }
}

static void multiply_block(const stretch *s, int64_t i, int64_t j) {
  vec sum[MICRO_MAX_ROWS][2];
  float *c = s->c + i * s->stride + j;
  for (int r = 0; r < minimum(GEMM_ROWS, s->rows - i); r++)
    __builtin_prefetch(c + r * s->stride, 1), __builtin_prefetch(c + r * s->stride + VEC, 1);
  micro_clear(GEMM_ROWS, sum);
  micro_product(GEMM_ROWS, 1, GEMM_ROWS, s->depth, s->a + i * s->depth, s->b + j * s->depth, sum);
  if (i + GEMM_ROWS <= s->rows && j + BLOCK_COLUMNS <= s->columns) {
    if (s->bias != NULL) {
      vec bias0 = load(s->bias + j), bias1 = load(s->bias + j + VEC);
#pragma GCC unroll 16
      for (int r = 0; r < GEMM_ROWS; r++) sum[r][0] += bias0, sum[r][1] += bias1;
    }
    if (s->add) micro_store(GEMM_ROWS, c, s->stride, true, sum);
    else micro_store(GEMM_ROWS, c, s->stride, false, sum);
  } else {
    _Alignas(CACHE_LINE) float block[GEMM_ROWS * BLOCK_COLUMNS];
    micro_store(GEMM_ROWS, block, BLOCK_COLUMNS, false, sum);
    store_part(s, i, j, minimum(GEMM_ROWS, s->rows - i), minimum(BLOCK_COLUMNS, s->columns - j),
               block);
  }
}

/* While one panel of b is in use, the next is called into the cache, some of it with each block. */
static void multiply_stretch(const stretch *s) {
  const int64_t panel_floats = s->depth * BLOCK_COLUMNS, blocks = ceil_div(s->rows, GEMM_ROWS);
  const int64_t ahead = round_up(ceil_div(panel_floats, blocks), CACHE_LINE / 4);
  for (int64_t j = 0; j < s->columns; j += BLOCK_COLUMNS) {
    const float *next = s->b + (j + BLOCK_COLUMNS) * s->depth, *end = next + panel_floats;
    for (int64_t i = 0; i < s->rows; i += GEMM_ROWS) {
      for (int64_t p = 0; p < ahead && next < end; p += CACHE_LINE / 4, next += CACHE_LINE / 4)
        __builtin_prefetch(next, 0, 2);
      multiply_block(s, i, j);
    }
  }
}

static panel panel_of(ath_gemm_shape s, cuts c, int64_t column, int64_t k, int64_t threads) {
  panel p = {.column = column, .columns = minimum(c.columns, s.n - column),
             .k = k, .end = minimum(k + c.deep, s.k)};
  p.padded = round_up(p.columns, BLOCK_COLUMNS);
  p.tile_rows = even_part(s.m, TILE_ROWS, GEMM_ROWS);
  int64_t down = ceil_div(s.m, p.tile_rows);
  /* Enough tiles that the threads finish together, but not so narrow that packing a shows. */
  int64_t wanted = ceil_div(4 * threads, down), most = ceil_div(p.columns, 8 * BLOCK_COLUMNS);
  int64_t parts = ceil_div(p.columns, TILE_COLUMNS);
  if (parts < minimum(wanted, most)) parts = minimum(wanted, most);
  p.tile_columns = round_up(ceil_div(p.columns, parts), BLOCK_COLUMNS);
  p.across = ceil_div(p.columns, p.tile_columns);
  assert(p.columns > 0 && p.tile_columns > 0 && p.tile_rows * c.depth <= c.tile_floats);
  p.tiles = down * p.across;
  return p;
}

static void multiply_tile(ath_gemm_shape s, cuts c, const panel *p, int64_t tile, const float *a,
                          const float *b, const float *bias, float *out, float *packed_a) {
  int64_t i = tile / p->across * p->tile_rows, j = tile % p->across * p->tile_columns;
  int64_t rows = minimum(p->tile_rows, s.m - i), column = p->column + j;
  for (int64_t k = p->k; k == 0 || k < p->end; k += c.depth) {
    int64_t depth = minimum(c.depth, p->end - k);
    if (s.transpose_a) pack_columns(GEMM_ROWS, a + k * s.m + i, s.m, rows, depth, packed_a);
    else pack_by_rows(GEMM_ROWS, a + i * s.k + k, s.k, rows, depth, packed_a);
    multiply_stretch(&(stretch){.a = packed_a, .b = b + (k - p->k) * p->padded + j * depth,
                                .bias = k == 0 && s.bias ? bias + column : NULL,
                                .c = out + i * s.n + column, .stride = s.n, .rows = rows,
                                .columns = minimum(p->tile_columns, p->columns - j),
                                .depth = depth, .add = s.accumulate || k > 0});
  }
}

/* The whole product; called by every thread of the team. */
static void multiply(ath_gemm_shape s, const float *a, const float *b, const float *bias,
                     float *out, float *scratch) {
  cuts c = cuts_of(s);
  float *packed_b = scratch + ath_thread_limit() * c.tile_floats;
  float *packed_a = scratch + omp_get_thread_num() * c.tile_floats;
  assert(omp_get_num_threads() <= ath_thread_limit());
  for (int64_t column = 0; column < s.n; column += c.columns)
    for (int64_t k = 0; k == 0 || k < s.k; k += c.deep) {
      panel p = panel_of(s, c, column, k, omp_get_num_threads());
#pragma omp for schedule(dynamic)
      for (int64_t j = 0; j < p.columns; j += GROUP)
        pack_b(s, c, &p, b, j, minimum(GROUP, p.columns - j), packed_b);
#pragma omp for schedule(dynamic)
      for (int64_t tile = 0; tile < p.tiles; tile++)
        multiply_tile(s, c, &p, tile, a, packed_b, bias, out, packed_a);
    }
}

static void run(ath_gemm_shape s, const float *a, const float *b, const float *bias, float *c,
                float *scratch) {
  assert((uintptr_t)scratch % CACHE_LINE == 0);
  if (s.m == 0 || s.n == 0) return;
  int threads = (int)minimum(ath_thread_limit(), omp_get_max_threads());
#pragma omp parallel num_threads(threads) if (s.m * s.n * s.k > 64 * PARALLEL_MINIMUM)
  multiply(s, a, b, bias, c, scratch);
}

#define OWN_GEMM2(isa) own_gemm_##isa
#define OWN_GEMM(isa) OWN_GEMM2(isa)
const own_gemm OWN_GEMM(ATH_ISA) = {.scratch = scratch_bytes, .run = run};
