/* partition.c: the shardings of a graph: with which variable a value inside lies, and what is an
 * activation. */
#include "backends/pjrt/partition.h"

#include <assert.h>
#include <string.h>

enum { FOLLOWERS_MAX = 1 << 20 };

static bool is_op(const ath_node *node, const char *name) {
  return strcmp(node->op->name, name) == 0;
}

/* --- what a graph has ---------------------------------------------------------------------- */

static void look_at_input(ath_partition *self, const ath_type *type) {
  if (type->rank == 1 && self->places == 0) self->places = type->dims[0];
  if (type->rank < 2 || self->batch != 0) return;
  self->batch = type->dims[0];
  self->rows = type->dims[0] * type->dims[1];
}

static void look_at_variable(ath_partition *self, const char *name, const ath_type *type) {
  const struct { const char *part; int64_t *columns; } rules[] = {
    {"attention.self.qkv.weight", &self->qkv},
    {"intermediate.dense.weight", &self->inner},
    {"word_embeddings.weight", &self->vocabulary},
  };
  ath_split split = ath_mesh_variable(&self->mesh, name, type);
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (type->rank == 2 && split.axes[0] == ATH_AXIS_MODEL && strstr(name, rules[i].part) != NULL)
      *rules[i].columns = type->dims[0];
}

/* A value lies with a variable, and so do those of which it is the sum or another precision. */
static ath_status follow(ath_partition *self, ath_value value, ath_value variable, int depth) {
  const ath_node *node = ath_graph_producer(self->graph, value);
  if (node == NULL || depth > 8) return ATH_OK; /* a sum of that many parts is in no model */
  const char *name = ath_graph_value_name(self->graph, value);
  ATH_TRY(ath_hash_map_set(self->followers, name, strlen(name), variable));
  if (!is_op(node, "add") && !is_op(node, ath_op_sum.name) && !is_op(node, "convert"))
    return ATH_OK;
  for (int i = 0; i < node->input_count; i++)
    ATH_TRY(follow(self, node->inputs[i], variable, depth + 1));
  return ATH_OK;
}

/* AdamW's inputs begin with parameter, moments and gradient. A parameter in another precision is
 * cut before it is converted, so that half the bytes travel. */
static ath_status look_at_node(ath_partition *self, const ath_node *node) {
  enum { PARAMETER, GRADIENT = 3 };
  ath_value first = node->input_count > 0 ? node->inputs[0] : ATH_NO_VALUE;
  if (first == ATH_NO_VALUE || ath_graph_kind(self->graph, first) != ATH_VALUE_VARIABLE)
    return ATH_OK;
  if (is_op(node, "adamw")) return follow(self, node->inputs[GRADIENT], first, 0);
  return is_op(node, "convert") ? follow(self, node->outputs[0], first, 0) : ATH_OK;
}

static ath_status look_at_graph(ath_partition *self) {
  const ath_graph *g = self->graph;
  for (size_t v = 0; v < ath_graph_value_count(g); v++) {
    ath_type type = ath_graph_type(g, (ath_value)v);
    ath_value_kind kind = ath_graph_kind(g, (ath_value)v);
    ath_value assigned = ath_graph_assigned(g, (ath_value)v);
    if (kind == ATH_VALUE_INPUT) look_at_input(self, &type);
    if (kind == ATH_VALUE_VARIABLE)
      look_at_variable(self, ath_graph_value_name(g, (ath_value)v), &type);
    if (assigned != ATH_NO_VALUE) ATH_TRY(follow(self, assigned, (ath_value)v, 0));
  }
  for (size_t i = 0; i < ath_graph_node_count(g); i++)
    ATH_TRY(look_at_node(self, ath_graph_node(g, i)));
  return ATH_OK;
}

/* --- what cannot be shared ----------------------------------------------------------------- */

static ath_status check_batch(const ath_partition *self, ath_value input) {
  char text[64], types[96];
  ath_type type = ath_graph_type(self->graph, input);
  int parts = ath_mesh_shares(&self->mesh);
  if (type.rank < 2 || type.dims[0] % parts == 0) return ATH_OK;
  return ath_fail(ATH_INVALID, "mesh %s: a batch of %lld (%s: %s) cannot be shared by data * fsdp "
                  "= %d devices; make it a multiple of %d", ath_mesh_text(&self->mesh, text),
                  (long long)type.dims[0], ath_graph_value_name(self->graph, input),
                  ath_type_text(&type, types), parts, parts);
}

/* The second result of attention, a number per row, has the heads as its dimension 1. */
static ath_status check_heads(const ath_partition *self, const ath_node *node) {
  char text[64];
  if (!is_op(node, "attention") || node->output_count < 2) return ATH_OK;
  ath_type rows = ath_graph_type(self->graph, node->outputs[1]);
  assert(rows.rank == 3);
  if (rows.dims[1] % self->mesh.model == 0) return ATH_OK;
  return ath_fail(ATH_INVALID, "mesh %s: %lld attention heads (%s) cannot be shared by model = %d "
                  "devices", ath_mesh_text(&self->mesh, text), (long long)rows.dims[1], node->name,
                  self->mesh.model);
}

static ath_status check_graph(const ath_partition *self) {
  const ath_graph *g = self->graph;
  for (size_t v = 0; v < ath_graph_value_count(g); v++)
    if (ath_graph_kind(g, (ath_value)v) == ATH_VALUE_INPUT)
      ATH_TRY(check_batch(self, (ath_value)v));
  for (size_t i = 0; i < ath_graph_node_count(g); i++)
    ATH_TRY(check_heads(self, ath_graph_node(g, i)));
  return ATH_OK;
}

/* --- the rule ------------------------------------------------------------------------------ */

/* The part of a node's name behind its scope. */
static const char *base_name(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash != NULL ? slash + 1 : name;
}

static bool begins_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

/* Whether `model` cuts the last dimension: queries, keys and values, what attention gives, the
 * inner columns, the logits. */
static bool is_cut_by_model(const ath_partition *self, const char *name, const ath_type *type) {
  int64_t columns = type->dims[type->rank - 1];
  if (strstr(name, "feed_forward/") != NULL) return columns == self->inner;
  if (strstr(name, "lm_head/") != NULL || begins_with(name, "loss/"))
    return columns == self->vocabulary;
  if (strstr(name, "attention/") == NULL) return false;
  return columns == self->qkv || strcmp(base_name(name), "attention") == 0;
}

/* Whether a value not cut by `model` is surely the same along it. What is gathered behind attention
 * or comes back into it may be the heads' columns, which are as many as the hidden ones. */
static bool is_whole(const char *name) {
  const char *base = base_name(name);
  if (strstr(name, "attention/") == NULL) return true;
  return begins_with(base, "linear") || begins_with(base, "residual_norm") ||
         begins_with(base, "layer_norm");
}

/* Without a `model` axis every value that has a row per record, token or chosen token is cut like
 * the batch. With it, only values whose place along that axis is known are held to one. */
static bool split_activation(const ath_partition *self, const char *name, const ath_type *type,
                             ath_split *out) {
  int64_t count = type->rank > 0 ? type->dims[0] : 0;
  bool by_rows = type->rank >= 2 &&
                 (count == self->batch || count == self->rows || count == self->places);
  if (!by_rows) return false;
  *out = ath_mesh_input(&self->mesh, type);
  if (self->mesh.model == 1) return out->axes[0] != 0;
  const char *base = base_name(name);
  if (strcmp(base, "attention.1") == 0 && type->rank == 3) out->axes[1] = ATH_AXIS_MODEL;
  else if (is_cut_by_model(self, name, type)) out->axes[type->rank - 1] = ATH_AXIS_MODEL;
  else return is_whole(name);
  return true;
}

/* Of a gradient in parts, one of each device that has its own rows: whole but for `model`'s cut. */
static ath_status print_in_parts(const ath_partition *self, const char *name, const ath_type *type,
                                 ath_buffer *out) {
  ath_split split, parts = {.axes = {ATH_AXIS_DATA | ATH_AXIS_FSDP}};
  bool lies = ath_partition_split(self, ATH_HLO_INSIDE, name, type, &split);
  if (type->rank >= ATH_MAX_RANK) return ath_fail(ATH_INTERNAL, "%s: no room for parts", name);
  for (int d = 0; lies && d < type->rank; d++) parts.axes[d + 1] = split.axes[d] & ATH_AXIS_MODEL;
  return ath_split_print(&parts, &self->mesh, type->rank + 1, out);
}

bool ath_partition_split(const ath_partition *self, int kind, const char *name,
                         const ath_type *type, ath_split *out) {
  int32_t variable;
  *out = (ath_split){0};
  switch (kind) {
    case ATH_HLO_INPUT: *out = ath_mesh_input(&self->mesh, type); return true;
    case ATH_HLO_OUTPUT: return true;
    case ATH_HLO_VARIABLE:
    case ATH_HLO_NEW_VARIABLE: *out = ath_mesh_variable(&self->mesh, name, type); return true;
    default: break;
  }
  if (!ath_hash_map_get(self->followers, name, strlen(name), &variable))
    return split_activation(self, name, type, out);
  *out = ath_mesh_variable(&self->mesh, ath_graph_value_name(self->graph, variable), type);
  return true;
}

static ath_status print(void *user, int kind, const char *name, const ath_type *type,
                        ath_buffer *out) {
  const ath_partition *self = user;
  ath_split split;
  if (kind == ATH_HLO_IN_PARTS) return print_in_parts(self, name, type, out);
  if (!ath_partition_split(self, kind, name, type, &split)) return ATH_OK;
  return ath_split_print(&split, &self->mesh, type->rank, out);
}

/* --- creation ------------------------------------------------------------------------------ */

ath_status ath_partition_create(const ath_mesh *mesh, const ath_graph *graph,
                                ath_partition *out) {
  *out = (ath_partition){.mesh = *mesh, .graph = graph};
  out->sharding =
      (ath_hlo_sharding){.print = print, .user = out, .partitions = ath_mesh_devices(mesh),
                         .parts = ath_mesh_shares(mesh)};
  ath_status status = check_graph(out);
  if (status == ATH_OK) status = ath_hash_map_create(FOLLOWERS_MAX, &out->followers);
  if (status == ATH_OK) status = look_at_graph(out);
  if (status != ATH_OK) ath_partition_destroy(out);
  return status;
}

void ath_partition_destroy(ath_partition *self) {
  ath_hash_map_destroy(self->followers);
  self->followers = NULL;
}

ath_status ath_partition_print_module(const ath_mesh *mesh, const ath_graph *graph,
                                      ath_arena *arena, ath_hlo_signature *signature,
                                      ath_buffer *out) {
  ath_partition partition;
  ATH_TRY(ath_partition_create(mesh, graph, &partition));
  const ath_hlo_module_options options = {
    .sharding = ath_mesh_devices(mesh) > 1 ? &partition.sharding : NULL};
  ath_status status = ath_hlo_module_print(graph, &options, arena, signature, out);
  ath_partition_destroy(&partition);
  return status;
}
