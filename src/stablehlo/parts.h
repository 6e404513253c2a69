/* parts.h: which sums over a batch's rows are printed in parts, one of each device that has rows of
 * its own, so that devices add their parts of several sums before one of them travels. */
#ifndef ATHANOR_STABLEHLO_PARTS_H
#define ATHANOR_STABLEHLO_PARTS_H

#include "graph/op.h"

/* Marks, by value, what stands in parts: the addends of sums that are themselves sums over rows,
 * which divide by `parts`. `needed` is by node. Below two parts nothing is marked. */
void ath_hlo_mark_parts(const ath_graph *graph, int parts, const bool *needed, bool *in_parts);

#endif
