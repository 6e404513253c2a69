/* adamw.c: one step of Adam with decoupled weight decay; bound by memory, one pass over it. */
#include "kernels/isa/isa.h"

enum { CHUNK = 4096 };

void KERNEL(adamw)(float *p, float *m, float *v, const float *g, int64_t n, float gradient_scale,
                   float rate, float correction1, float correction2, float beta1, float beta2,
                   float epsilon, float weight_decay) {
  assert(correction1 > 0 && correction2 > 0);
  const float keep = 1 - rate * weight_decay, new1 = 1 - beta1, new2 = 1 - beta2;
  const float step = rate / correction1, root = 1 / sqrtf(correction2);
#pragma omp parallel for schedule(static) if (n > PARALLEL_MINIMUM)
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    int64_t end = minimum(begin + CHUNK, n);
#pragma omp simd
    for (int64_t i = begin; i < end; i++) {
      float slope = g[i] * gradient_scale;
      m[i] = beta1 * m[i] + new1 * slope;
      v[i] = beta2 * v[i] + new2 * slope * slope;
      p[i] = keep * p[i] - step * m[i] / (sqrtf(v[i]) * root + epsilon);
    }
  }
}
