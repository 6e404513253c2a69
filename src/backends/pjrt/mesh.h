/* mesh.h: how the values of a graph are shared by a mesh of devices: one rule for the text that the
 * compiler reads (mhlo.sharding) and for the parts that the host sends and fetches.
 *
 * Devices are numbered row-major in the mesh [data, fsdp, model]. A dimension of a value may be cut
 * along any of these axes; along the others every device holds the same. */
#ifndef ATHANOR_BACKENDS_PJRT_MESH_H
#define ATHANOR_BACKENDS_PJRT_MESH_H

#include "athanor/backend.h"
#include "base/buffer.h"

enum { ATH_AXIS_DATA = 1, ATH_AXIS_FSDP = 2, ATH_AXIS_MODEL = 4 };
enum { ATH_MESH_AXES = 3 };

/* For each dimension, the axes that cut it. All 0: replicated. */
typedef struct ath_split {
  uint8_t axes[ATH_MAX_RANK];
} ath_split;

/* Devices along the axes of a mask, multiplied. */
int ath_mesh_along(const ath_mesh *mesh, unsigned axes);

/* --- the rule, of arguments ---------------------------------------------------------------- */

/* A parameter, its moments "m.…" and "v.…", its sum of gradients "sum.…". Over `model`: attention's
 * joint matrix and the inner matrix by rows with their biases, the two matrices after them by
 * columns, the vocabulary by rows. Over `fsdp`: of matrices that are not tiny, the largest
 * dimension that is still whole and divides. A cut that does not divide is left out. */
ath_split ath_mesh_variable(const ath_mesh *mesh, const char *name, const ath_type *type);
/* A batch: its first dimension over data and fsdp; vectors and scalars only where that divides. */
ath_split ath_mesh_input(const ath_mesh *mesh, const ath_type *type);

/* --- text ---------------------------------------------------------------------------------- */

/* "{replicated}", "{devices=[4,1]<=[4]}", "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}":
 * HloShardingProto's second form, a list of devices made from 0, 1, 2, … by reshape, transpose and
 * reshape. */
ath_status ath_split_print(const ath_split *split, const ath_mesh *mesh, int rank, ath_buffer *out)
    ATH_MUST_CHECK;

/* --- parts --------------------------------------------------------------------------------- */

/* The type of each device's part. */
ath_type ath_split_type(const ath_split *split, const ath_mesh *mesh, const ath_type *whole);
/* Which of the parts a device holds, counted in some order, and how many parts there are. */
int ath_split_part(const ath_split *split, const ath_mesh *mesh, int device);
int ath_split_parts(const ath_split *split, const ath_mesh *mesh);
/* Whether no device from `first` on, before this one, holds the same part. */
bool ath_split_is_first(const ath_split *split, const ath_mesh *mesh, int first, int device);
/* Copies a device's part out of the whole value, or into it. Both are row-major and dense. */
void ath_split_cut(const ath_split *split, const ath_mesh *mesh, const ath_type *whole, int device,
                   const void *from, void *part);
void ath_split_join(const ath_split *split, const ath_mesh *mesh, const ath_type *whole,
                    int device, const void *part, void *to);

#endif
