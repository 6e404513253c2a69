/* tensor.h: element types and shapes, shared by graphs, backends and weight files.
 *
 * Example
 *
 *     size_t bytes_of_a_batch(int rows, int length) {
 *       ath_type type = ath_type_make(ATH_I32, 2, rows, length);
 *       return ath_type_bytes(&type);
 *     }
 */
#ifndef ATHANOR_TENSOR_H
#define ATHANOR_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ath_dtype { ATH_F32, ATH_BF16, ATH_I32, ATH_U32, ATH_DTYPE_COUNT } ath_dtype;

size_t ath_dtype_size(ath_dtype dtype);      /* bytes of one element */
const char *ath_dtype_name(ath_dtype dtype); /* "f32" */

enum { ATH_MAX_RANK = 5 };

/* Element type and shape, row-major. Rank 0 is a scalar. */
typedef struct ath_type {
  ath_dtype dtype;
  int rank;
  int64_t dims[ATH_MAX_RANK]; /* unused ones are 0 */
} ath_type;

/* ath_type_make(ATH_F32, 2, rows, columns); exactly `rank` dimensions follow, each an int (a
 * larger one is set in `dims` by hand). The functions here are pure, and safe from any thread. */
ath_type ath_type_make(ath_dtype dtype, int rank, ...);
bool ath_type_equal(const ath_type *a, const ath_type *b);
/* Elements, and bytes without padding: 1 and one element's for a scalar. The product must fit:
 * graphs and weight files check dimensions when they take them in. */
int64_t ath_type_count(const ath_type *type);
size_t ath_type_bytes(const ath_type *type);
/* Writes "f32[32, 128, 256]" into `out` and returns it; what would pass 95 characters is cut. */
const char *ath_type_text(const ath_type *type, char out[96]);

#ifdef __cplusplus
}
#endif

#endif
