/* partition.h: the shardings of one graph on a mesh: its arguments, its results, and the values
 * inside that the partitioner must not choose by itself. */
#ifndef ATHANOR_BACKENDS_PJRT_PARTITION_H
#define ATHANOR_BACKENDS_PJRT_PARTITION_H

#include "backends/pjrt/mesh.h"
#include "base/hash_map.h"
#include "graph/op.h"
#include "stablehlo/module.h"

typedef struct ath_partition {
  ath_mesh mesh;
  const ath_graph *graph;
  ath_hash_map *followers; /* name of a value inside → the variable that it lies with */
  int64_t batch, rows, places;    /* of a batch: records, tokens, chosen tokens */
  int64_t qkv, inner, vocabulary; /* columns that `model` cuts */
  ath_hlo_sharding sharding;      /* for the module's printer */
} ath_partition;

/* Looks at a graph, which must live as long as the partition is used, and the partition must not
 * move. ATH_INVALID, with the numbers, where a batch or the heads cannot be shared so: nothing has
 * been compiled then. */
ath_status ath_partition_create(const ath_mesh *mesh, const ath_graph *graph, ath_partition *out)
    ATH_MUST_CHECK;
void ath_partition_destroy(ath_partition *self);

/* The text of a graph on a mesh, by ath_hlo_module_print: with a partition's shardings where the
 * mesh has several devices. Refuses what ath_partition_create refuses. */
ath_status ath_partition_print_module(const ath_mesh *mesh, const ath_graph *graph,
                                      ath_arena *arena, ath_hlo_signature *signature,
                                      ath_buffer *out) ATH_MUST_CHECK;

/* The one rule: of an argument or a result, by its kind, or of a value ATH_HLO_INSIDE.
 * False: left to the partitioner, which only happens inside. Outputs of the program are whole on
 * every device. Inside, gradients and converted parameters lie as their variable does, and
 * activations like the batch. */
bool ath_partition_split(const ath_partition *self, int kind, const char *name,
                         const ath_type *type, ath_split *out);

#endif
