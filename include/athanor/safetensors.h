/* safetensors.h: named tensors in one file (huggingface/safetensors, format documented in its
 * README):
 *
 *     uint64 header length (little-endian) | header: JSON, padded with spaces to a multiple of 8
 *     | the tensors' bytes, one after another, without gaps
 *
 * Header: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …,
 * "__metadata__": {"format": "pt"}}. Tensors are laid out as the reference library does: F32, then
 * U32, I32, BF16, and within a type by name.
 *
 * Example
 *
 *     ath_status save_one(const char *path, const float *weights) {
 *       ath_tensor_entry entry = {.name = "w", .type = ath_type_make(ATH_F32, 2, 2, 3),
 *                                 .data = weights};
 *       return ath_safetensors_save(path, &entry, 1);
 *     }
 */
#ifndef ATHANOR_SAFETENSORS_H
#define ATHANOR_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "athanor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ath_tensor_entry {
  const char *name;
  ath_type type;    /* f32, bf16, i32 or u32 */
  const void *data; /* row-major; in an opened file it points into the mapping (unaligned) */
} ath_tensor_entry;

/* Writes atomically (temporary name, fsync, rename) with metadata {"format": "pt"}. Duplicate
 * names are refused (ATH_INVALID): a tied weight is given once, under one name; so are names that
 * are not UTF-8, and "__metadata__". `entries` stay the caller's and may be in any order. */
ath_status ath_safetensors_save(const char *path, const ath_tensor_entry *entries, size_t count)
    ATH_MUST_CHECK;

/* Opens a file by mapping it. Every rule of the format is checked (lengths, overlaps, gaps,
 * overflow, duplicate names); the failure, ATH_CORRUPT, says which one. Tensors whose dtype
 * ath_dtype lacks, or of more than ATH_MAX_RANK dimensions, are checked but not listed. The list
 * is in order of place in the file. An opened file may be read from several threads; entries
 * and what they point to stay valid until close. */
typedef struct ath_safetensors ath_safetensors;
ath_status ath_safetensors_open(const char *path, ath_safetensors **out) ATH_MUST_CHECK;
void ath_safetensors_close(ath_safetensors *self); /* NULL is allowed */
size_t ath_safetensors_count(const ath_safetensors *self);
/* `index` must be below the count. */
const ath_tensor_entry *ath_safetensors_at(const ath_safetensors *self, size_t index);
/* NULL when there is no such tensor. */
const ath_tensor_entry *ath_safetensors_find(const ath_safetensors *self, const char *name);

#ifdef __cplusplus
}
#endif

#endif
