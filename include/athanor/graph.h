/* graph.h: one training step, or one evaluation, as a static graph of typed values.
 *
 * A graph is built once, changed by passes, and then run by a backend (backend.h) as often as
 * wanted. It assumes no engine: the embedded CPU engine executes it, XLA compiles its StableHLO.
 *
 * Values are numbers (`ath_value`), valid for their graph alone. There are four kinds:
 *   inputs     change from run to run: a batch, the learning rate
 *   variables  live across runs, in the backend's memory: parameters, moments, accumulators
 *   constants  are filled with one number
 *   results    come out of nodes; ops.h lists the functions that add them
 *
 * Errors stick to the graph. A builder function that fails records the first failure, with the
 * names of the node and values concerned, and returns ATH_NO_VALUE; functions given ATH_NO_VALUE
 * return it at once. So a model is written without a check on each line, and whoever asked for
 * it checks `ath_graph_status` once at the end.
 *
 * A graph belongs to one thread at a time. All its memory is one arena, freed by destroy.
 *
 * Example
 *
 *     ath_status fit_one_weight(ath_graph **out) {
 *       ath_graph *g = NULL;
 *       ATH_TRY(ath_graph_create(&g));
 *       ath_value x = ath_graph_input(g, "x", ath_type_make(ATH_F32, 2, 8, 4));
 *       ath_value w = ath_graph_variable(g, "w", ath_type_make(ATH_F32, 2, 4, 4));
 *       ath_value loss = ath_reduce_sum(g, ath_gelu(g, ath_linear(g, x, w, ATH_NO_VALUE), 0));
 *       ath_value gradient;
 *       ATH_TRY(ath_graph_gradients(g, loss, &w, 1, &gradient));
 *       ath_graph_assign(g, w, ath_add(g, w, ath_scale(g, gradient, -0.1f)));
 *       ath_graph_output(g, "loss", loss);
 *       *out = g;
 *       return ath_graph_status(g);
 *     }
 */
#ifndef ATHANOR_GRAPH_H
#define ATHANOR_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "athanor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t ath_value;
#define ATH_NO_VALUE ((ath_value)-1)

typedef struct ath_graph ath_graph;

ath_status ath_graph_create(ath_graph **out) ATH_MUST_CHECK;
void ath_graph_destroy(ath_graph *self); /* NULL is allowed */

/* ATH_OK, or the first failure of any builder function, whose text is set again. */
ath_status ath_graph_status(const ath_graph *self);
/* Records a failure, if it is the first, and returns ATH_NO_VALUE: for builder functions. */
ath_value ath_graph_fail(ath_graph *self, ath_status status, const char *format, ...)
    ATH_PRINTF(3, 4);

/* New values. Names must be unique in their kind; they are copied. Every dimension is at least 1
 * and the elements are at most 2^40 (ATH_INVALID). */
ath_value ath_graph_input(ath_graph *self, const char *name, ath_type type);
ath_value ath_graph_variable(ath_graph *self, const char *name, ath_type type);
ath_value ath_graph_constant(ath_graph *self, ath_type type, double fill);

/* After the run, `variable` holds `value` (same type). At most once per variable. */
void ath_graph_assign(ath_graph *self, ath_value variable, ath_value value);
/* Makes a value readable after the run, under a name. */
void ath_graph_output(ath_graph *self, const char *name, ath_value value);

/* Nodes added from now on are named "<scope>/<op>", e.g. "layer.3/attention"; NULL for none.
 * Error texts, plans and profiles show these names. */
void ath_graph_set_scope(ath_graph *self, const char *scope);

/* For ATH_NO_VALUE a type of rank −1, and "no value". A name is the graph's and lives as long. */
ath_type ath_graph_type(const ath_graph *self, ath_value value);
const char *ath_graph_value_name(const ath_graph *self, ath_value value);

/* Adds the nodes that compute the gradient of the scalar f32 `loss` with respect to each of
 * `wrt[count]`, by reverse accumulation (Griewank & Walther, "Evaluating Derivatives", ch. 3).
 * A value on which the loss does not depend gets a zero constant. ATH_UNSUPPORTED where an
 * operation on the path has no gradient rule, naming the node; ATH_INVALID where `loss` is no
 * scalar. After a failure `gradients` holds nothing of use. */
ath_status ath_graph_gradients(ath_graph *self, ath_value loss, const ath_value *wrt, size_t count,
                               ath_value *gradients) ATH_MUST_CHECK;

/* Rewrites patterns of plain operations into fused ones (see ath_residual_norm and
 * ath_bias_activation in ops.h). Run it after the forward pass is built and before
 * ath_graph_gradients. Value numbers stay right; results agree to rounding. */
ath_status ath_graph_fuse(ath_graph *self) ATH_MUST_CHECK;
/* Drops nodes that no output and no assignment needs. */
ath_status ath_graph_prune(ath_graph *self) ATH_MUST_CHECK;

/* One line per node, for people: "%12 layer.0/layer_norm: f32[4096, 256] <- %9 %10 %11". */
struct ath_buffer;
ath_status ath_graph_print(const ath_graph *self, struct ath_buffer *out) ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
