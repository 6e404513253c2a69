/* rows.c: reading rows of a table by number, and adding rows to it. */
#include <omp.h>

#include "kernels/isa/isa.h"

int64_t KERNEL(gather)(const float *table, int64_t rows, int64_t width, const int32_t *ids,
                       int64_t n, float *y) {
  for (int64_t i = 0; i < n; i++)
    if (ids[i] < 0 || ids[i] >= rows) return i;
#pragma omp parallel for schedule(static) if (n * width > PARALLEL_MINIMUM)
  for (int64_t i = 0; i < n; i++)
    memcpy(y + i * width, table + ids[i] * width, sizeof(float) * (size_t)width);
  return -1;
}

void KERNEL(scatter_add)(float *dtable, int64_t rows, int64_t width, const int32_t *ids,
                         int64_t n, const float *dy, int64_t padding_index) {
#pragma omp parallel if ((rows + n) * width > PARALLEL_MINIMUM)
  {
    int64_t lines = ceil_div(width, CACHE_LINE / 4), threads = omp_get_num_threads();
    int64_t thread = omp_get_thread_num();
    int64_t begin = cut(lines, thread, threads) * (CACHE_LINE / 4);
    int64_t end = minimum(cut(lines, thread + 1, threads) * (CACHE_LINE / 4), width);
    for (int64_t i = 0; i < rows && begin < end; i++)
      memset(dtable + i * width + begin, 0, sizeof(float) * (size_t)(end - begin));
    for (int64_t i = 0; i < n; i++) {
      if (ids[i] == padding_index) continue;
      assert(ids[i] >= 0 && ids[i] < rows);
      float *to = dtable + ids[i] * width;
      const float *from = dy + i * width;
#pragma omp simd
      for (int64_t j = begin; j < end; j++) to[j] += from[j];
    }
  }
}
