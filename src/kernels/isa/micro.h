/* micro.h: the inner products of the matrix kernels, and the packing that feeds them.
 *
 * A block of `rows` x BLOCK_COLUMNS results stays in registers while k runs. Both operands are
 * packed in panels, so that it reads memory in order:
 *
 *     a: for each k, `rows` floats          b: for each k, BLOCK_COLUMNS floats, aligned
 *
 * (the scheme of Goto & van de Geijn, "Anatomy of high-performance matrix multiplication",
 * ACM TOMS 2008, and of BLIS). `rows` is constant wherever these are used, which lets the
 * compiler unroll. */
#ifndef ATHANOR_KERNELS_MICRO_H
#define ATHANOR_KERNELS_MICRO_H

#include "kernels/isa/isa.h"

enum { MICRO_MAX_ROWS = 16, PACK_DEPTH = 512 };

/* sum += a b over k steps; a's rows lie `row_step` floats apart, its steps `k_step`. Four steps to
 * a turn: a tenth faster than one where the core's other thread, or a neighbour, is busy too. */
INLINE void micro_product(const int rows, const int row_step, const int k_step, int64_t k,
                          const float *a, const float *b, vec sum[MICRO_MAX_ROWS][2]) {
#pragma GCC unroll 4
  for (int64_t p = 0; p < k; p++) {
    vec b0 = load_aligned(b), b1 = load_aligned(b + VEC);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
      vec x = splat(a[r * row_step]);
      sum[r][0] += x * b0;
      sum[r][1] += x * b1;
    }
    a += k_step;
    b += BLOCK_COLUMNS;
  }
}

INLINE void micro_clear(const int rows, vec sum[MICRO_MAX_ROWS][2]) {
#pragma GCC unroll 16
  for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = (vec){0};
}

/* Writes the block to c, or adds it. */
INLINE void micro_store(const int rows, float *c, int64_t stride, bool add,
                        vec sum[MICRO_MAX_ROWS][2]) {
#pragma GCC unroll 16
  for (int r = 0; r < rows; r++) {
    float *row = c + r * stride;
    if (add) sum[r][0] += load(row), sum[r][1] += load(row + VEC);
    store(row, sum[r][0]);
    store(row + VEC, sum[r][1]);
  }
}

typedef float vec4 __attribute__((vector_size(16), may_alias));
typedef float vec4_anywhere __attribute__((vector_size(16), may_alias, aligned(4)));

/* The 4 x 4 block whose rows begin at rows[0 … 3] + offset, by columns. */
INLINE void transpose4(const float *const rows[4], int64_t offset, vec4 out[4]) {
  vec4 a = *(const vec4_anywhere *)(rows[0] + offset);
  vec4 b = *(const vec4_anywhere *)(rows[1] + offset);
  vec4 c = *(const vec4_anywhere *)(rows[2] + offset);
  vec4 d = *(const vec4_anywhere *)(rows[3] + offset);
  vec4 ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  vec4 ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  vec4 cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  vec4 cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  out[0] = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
  out[1] = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
  out[2] = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
  out[3] = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
}

/* Packs `count` rows of `depth` <= PACK_DEPTH floats as a panel of `width` columns: out[p][r] =
 * rows[r][p], zero for r >= count. The rows need not be evenly spaced. When the width is no
 * multiple of 4, stores reach up to 3 floats into the panel's next row, so its last row is
 * written by itself: the next panel may be another thread's, and packed already. What lies
 * `ahead` floats behind each row is called into the cache. */
INLINE void pack_rows(const int width, const float *const *rows, int64_t count, int64_t depth,
                      int64_t ahead, float *out) {
  static const float zeros[PACK_DEPTH];
  assert(depth <= PACK_DEPTH && count <= width);
  const int groups = (width + 3) / 4;
  const float *row[WIDEST_PANEL];
  for (int r = 0; r < 4 * groups; r++) row[r] = r < count ? rows[r] : zeros;
  const int64_t in_fours = width % 4 == 0 ? depth : depth - 1;
  int64_t p = 0;
  for (; p + 4 <= in_fours; p += 4) {
    if (p % 16 == 0)
      for (int64_t r = 0; r < count; r++) __builtin_prefetch(row[r] + p + ahead);
    vec4 block[WIDEST_PANEL];
#pragma GCC unroll 16
    for (int g = 0; g < groups; g++) transpose4(row + 4 * g, p, block + 4 * g);
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++)
#pragma GCC unroll 16
      for (int g = 0; g < groups; g++)
        *(vec4_anywhere *)(out + (p + q) * width + 4 * g) = block[4 * g + q];
  }
  for (; p < depth; p++)
    for (int r = 0; r < width; r++) out[p * width + r] = row[r][p];
}

/* Packs `count` neighbouring columns of `depth` rows, `stride` floats apart, as panels of `width`
 * columns: panel[p][r] = x[p * stride + r], zero past the last column. A row is read to its end
 * before the next, since the rows may lie on pages far apart, where the processor does not look
 * ahead by itself. */
INLINE void pack_columns(const int width, const float *x, int64_t stride, int64_t count,
                         int64_t depth, float *out) {
  int64_t whole = count / width * width;
  for (int64_t p = 0; p < depth; p++, x += stride, out += width) {
    float *to = out;
    for (int64_t r = 0; r < count; r += 16) __builtin_prefetch(x + 32 * stride + r);
    for (int64_t r = 0; r < whole; r += width, to += width * depth)
      memcpy(to, x + r, sizeof(float) * (size_t)width);
    if (whole == count) continue;
    for (int r = 0; r < width; r++) to[r] = whole + r < count ? x[whole + r] : 0;
  }
}

#endif
