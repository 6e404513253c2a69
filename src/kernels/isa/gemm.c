/* gemm.c: the blocked matrix product c = op(a) op(b) (+ bias) (+ c).
 *
 *     for each panel of COLUMNS columns of c, each stretch of DEPTH in k, each ROWS rows of c:
 *       pack op(a)[rows, depth] and op(b)[depth, columns]      shared by the threads
 *       for each tile of the panel, dealt to the threads:      a's part stays in the L2 cache
 *         for BLOCK_COLUMNS columns:                           b's part stays in the L1 cache
 *           for GEMM_ROWS rows: one register block of c
 *
 * k is never cut between threads and its cuts depend on the shape alone, so the result does not
 * depend on the number of threads or on which of them takes a tile. */
#include <omp.h>

#include "kernels/isa/micro.h"
#include "kernels/own.h"

enum {
  DEPTH = 384,        /* DEPTH x BLOCK_COLUMNS floats of b: 3/4 of a 32 KiB L1 cache with AVX2 */
  TILE_ROWS = 10 * 14, /* TILE_ROWS x DEPTH floats of a: under half of a 512 KiB L2 cache */
  TILE_COLUMNS = 512,
  ROWS = 4096,
  COLUMNS = 4096,
  PAD = 16 /* floats that packing may write past the last panel of a */
};

/* How the loops are cut for a shape: evenly, so that no last part is small. */
typedef struct plan {
  int64_t depth, rows, columns; /* of what is packed at a time */
} plan;

static int64_t even_part(int64_t n, int64_t most, int64_t unit) {
  if (n <= 0) return unit;
  int64_t parts = ceil_div(n, most);
  return round_up(ceil_div(n, parts), unit);
}

static plan plan_of(ath_gemm_shape s) {
  return (plan){.depth = even_part(s.k, DEPTH, 1), .rows = even_part(s.m, ROWS, GEMM_ROWS),
                .columns = even_part(s.n, COLUMNS, BLOCK_COLUMNS)};
}

static int64_t floats_of_a(plan p) { return round_up(p.rows * p.depth + PAD, CACHE_LINE / 4); }

static size_t scratch_bytes(ath_gemm_shape shape) {
  plan p = plan_of(shape);
  return sizeof(float) * (size_t)(floats_of_a(p) + p.columns * p.depth);
}

/* Packs panel i (of `width` rows or columns) of an operand whose panels run along its rows
 * (by_rows: k is contiguous in memory) or along its columns. */
INLINE void pack_panel(const int width, bool by_rows, const float *x, int64_t stride, int64_t i,
                       int64_t end, int64_t k, int64_t depth, float *out) {
  int64_t first = i * width, count = minimum(width, end - first);
  if (!by_rows) {
    pack_columns(width, x + k * stride + first, stride, count, depth, out);
    return;
  }
  const float *rows[WIDEST_PANEL];
  for (int64_t r = 0; r < count; r++) rows[r] = x + (first + r) * stride + k;
  pack_rows(width, rows, count, depth, out);
}

/* One stretch of the product: what every thread needs to know. */
typedef struct stretch {
  const float *a, *b, *bias; /* packed; bias NULL except in the first stretch of k */
  float *c;                  /* the first element of the panel */
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

/* All tiles of the stretch; called by every thread of the team. */
static void multiply_stretch(const stretch *s) {
  int64_t row_parts = ceil_div(s->rows, TILE_ROWS), threads = omp_get_num_threads();
  if (row_parts > 1) row_parts = round_up(row_parts, threads);
  int64_t tile_rows = round_up(ceil_div(s->rows, row_parts), GEMM_ROWS);
  row_parts = ceil_div(s->rows, tile_rows);
  int64_t column_parts = ceil_div(s->columns, TILE_COLUMNS);
  if (row_parts * column_parts % threads != 0) column_parts = round_up(column_parts, threads);
  int64_t tile_columns = round_up(ceil_div(s->columns, column_parts), BLOCK_COLUMNS);
  column_parts = ceil_div(s->columns, tile_columns);
#pragma omp for schedule(dynamic)
  for (int64_t tile = 0; tile < row_parts * column_parts; tile++) {
    int64_t i0 = tile / column_parts * tile_rows, j0 = tile % column_parts * tile_columns;
    int64_t i1 = minimum(i0 + tile_rows, s->rows), j1 = minimum(j0 + tile_columns, s->columns);
    for (int64_t j = j0; j < j1; j += BLOCK_COLUMNS)
      for (int64_t i = i0; i < i1; i += GEMM_ROWS) multiply_block(s, i, j);
  }
}

/* The whole product; called by every thread of the team. */
static void multiply(ath_gemm_shape s, const float *a, const float *b, const float *bias,
                     float *c, float *scratch) {
  plan cut_at = plan_of(s);
  float *packed_a = scratch, *packed_b = scratch + floats_of_a(cut_at);
  for (int64_t j = 0; j < s.n; j += cut_at.columns)
    for (int64_t k = 0; k == 0 || k < s.k; k += cut_at.depth)
      for (int64_t i = 0; i < s.m; i += cut_at.rows) {
        int64_t rows = minimum(cut_at.rows, s.m - i), columns = minimum(cut_at.columns, s.n - j);
        int64_t depth = minimum(cut_at.depth, s.k - k);
        if (i == 0) {
#pragma omp for schedule(static) nowait
          for (int64_t panel = 0; panel < ceil_div(columns, BLOCK_COLUMNS); panel++)
            pack_panel(BLOCK_COLUMNS, s.transpose_b, b + (s.transpose_b ? j * s.k : j),
                       s.transpose_b ? s.k : s.n, panel, columns, k, depth,
                       packed_b + panel * BLOCK_COLUMNS * depth);
        }
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < ceil_div(rows, GEMM_ROWS); panel++)
          pack_panel(GEMM_ROWS, !s.transpose_a, a + (s.transpose_a ? i : i * s.k),
                     s.transpose_a ? s.m : s.k, panel, rows, k, depth,
                     packed_a + panel * GEMM_ROWS * depth);
        multiply_stretch(&(stretch){.a = packed_a, .b = packed_b,
                                    .bias = k == 0 && s.bias ? bias + j : NULL,
                                    .c = c + i * s.n + j, .stride = s.n, .rows = rows,
                                    .columns = columns, .depth = depth,
                                    .add = s.accumulate || k > 0});
      }
}

static void run(ath_gemm_shape s, const float *a, const float *b, const float *bias, float *c,
                float *scratch) {
  assert((uintptr_t)scratch % CACHE_LINE == 0);
#pragma omp parallel if (s.m * s.n * s.k > 64 * PARALLEL_MINIMUM)
  multiply(s, a, b, bias, c, scratch);
}

#define OWN_GEMM2(isa) own_gemm_##isa
#define OWN_GEMM(isa) OWN_GEMM2(isa)
const own_gemm OWN_GEMM(ATH_ISA) = {.scratch = scratch_bytes, .run = run};
