/* subject.c: building a run's training step without its data. */
#include "plan/subject.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "backends/pjrt/partition.h"
#include "storage/file.h"

/* Rows of a batch over all chips, and tokens in it; far above any use, and below int's end. */
enum { TOKENS_MAX = 1 << 30 };

/* --- opening ------------------------------------------------------------------------------- */

static bool is_there(const char *path) {
  return path != NULL && *path != '\0' && ath_path_exists(path);
}

/* Shards that exist tell the length and the number of records. */
static ath_status look_at_data(ath_subject *self) {
  ath_dataset *data;
  self->length = (int)self->run->max_seq_length;
  self->records = -1;
  if (!is_there(self->run->train_dataset)) return ATH_OK;
  ATH_TRY_CONTEXT(ath_dataset_open(self->run->train_dataset, &data), "train_dataset");
  self->records = (int64_t)ath_dataset_size(data);
  if (self->length == 0) self->length = ath_dataset_length(data);
  ath_dataset_close(data);
  return ATH_OK;
}

/* Without data the records are as long as the position table allows. */
static ath_status settle_length(ath_subject *self, const ath_model_config *config) {
  if (self->length == 0 && self->run->max_position_embeddings > 0)
    self->length = (int)ath_model_config_max_length(config);
  if (self->length == 0)
    return ath_fail(ATH_USAGE, "the length of a record is not known: give max_seq_length, or a "
                    "train_dataset that exists");
  return ath_model_config_check_length(config, self->length);
}

static ath_status create_model(ath_subject *self, const ath_tokenizer *tokenizer) {
  ath_model_config config;
  ATH_TRY(ath_train_architecture(self->run, tokenizer, self->length, &config));
  ATH_TRY(settle_length(self, &config));
  return ath_model_create(&config, &self->model);
}

ath_status ath_subject_open(const ath_train_options *run, ath_subject *out) {
  ath_tokenizer *tokenizer = NULL;
  *out = (ath_subject){.run = run};
  const char *path = run->tokenizer != NULL ? run->tokenizer : run->model_name_or_path;
  ATH_TRY(look_at_data(out));
  if (is_there(path) || run->vocab_size == 0) {
    if (path == NULL)
      return ath_fail(ATH_USAGE, "neither a tokenizer nor vocab_size says how large the vocabulary "
                      "is");
    ATH_TRY_CONTEXT(ath_tokenizer_load(path, &tokenizer), "tokenizer (or give vocab_size)");
  }
  ath_status status = create_model(out, tokenizer);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

void ath_subject_close(ath_subject *self) { ath_model_destroy(self->model); }

/* --- the step ------------------------------------------------------------------------------ */

/* The run's mesh; without one the chips share the batch, and each has all weights. */
static ath_status find_mesh(const ath_subject *self, int chips, ath_mesh *out) {
  char text[64];
  ATH_TRY(ath_mesh_parse(self->run->mesh, out));
  if (ath_mesh_devices(out) == 1) out->data = chips;
  if (ath_mesh_devices(out) == chips) return ATH_OK;
  return ath_fail(ATH_INVALID, "mesh %s has %d devices, and the slice %d chips",
                  ath_mesh_text(out, text), ath_mesh_devices(out), chips);
}

/* A mesh that does not fit the slice is refused when the step is printed. */
int ath_subject_shares(const ath_subject *self, int chips) {
  ath_mesh mesh;
  return find_mesh(self, chips, &mesh) == ATH_OK ? ath_mesh_shares(&mesh) : chips;
}

bool ath_subject_can_print(const ath_subject *self, int64_t batch, int chips) {
  assert(batch > 0 && chips > 0);
  return (double)batch * ath_subject_shares(self, chips) * self->length <= TOKENS_MAX;
}

static ath_status check_batch(const ath_subject *self, int64_t batch, int chips) {
  if (ath_subject_can_print(self, batch, chips)) return ATH_OK;
  return ath_fail(ATH_INVALID, "%lld records of %d tokens on each of %d chips are more than a "
                  "module can index", (long long)batch, self->length, chips);
}

ath_status ath_subject_print(const ath_subject *self, int64_t batch, int chips, bool last,
                             ath_arena *arena, ath_hlo_signature *signature, ath_buffer *out) {
  ath_graph *graph;
  ath_mesh mesh;
  ATH_TRY(check_batch(self, batch, chips));
  ATH_TRY(find_mesh(self, chips, &mesh));
  ath_step_options options =
      ath_train_step_options(self->run, &mesh, (int)(batch * ath_mesh_shares(&mesh)), self->length);
  ATH_TRY(ath_step_graph(self->model, &options, last, &graph));
  ath_status status = ath_partition_print_module(&mesh, graph, arena, signature, out);
  ath_graph_destroy(graph);
  return status;
}

static double node_flops(const ath_graph *graph, const ath_node *node) {
  ath_type inputs[16], outputs[ATH_MAX_OUTPUTS];
  if (node->op->flops == NULL || node->input_count > 16) return 0;
  for (int i = 0; i < node->input_count; i++) inputs[i] = ath_graph_type(graph, node->inputs[i]);
  for (int i = 0; i < node->output_count; i++)
    outputs[i] = ath_graph_type(graph, node->outputs[i]);
  return node->op->flops(node, inputs, outputs);
}

ath_status ath_subject_flops(const ath_subject *self, int64_t batch, double *out) {
  ath_graph *graph = NULL;
  ath_value *parameters =
      calloc(ath_model_parameter_count(self->model), sizeof *parameters);
  const ath_mesh one = {1, 1, 1};
  ath_step_options options = ath_train_step_options(self->run, &one, (int)batch, self->length);
  ath_status status = parameters != NULL ? check_batch(self, batch, 1)
                                         : ath_fail(ATH_NO_MEMORY, "no memory for a graph");
  *out = 0;
  if (status == ATH_OK) status = ath_graph_create(&graph);
  if (status == ATH_OK) {
    ath_model_logits(self->model, graph, &options.forward, parameters);
    status = ath_graph_status(graph);
  }
  for (size_t i = 0; status == ATH_OK && i < ath_graph_node_count(graph); i++)
    *out += 3 * node_flops(graph, ath_graph_node(graph, i));
  ath_graph_destroy(graph);
  free(parameters);
  return status;
}

int64_t ath_subject_steps(const ath_subject *self, int chips) {
  const ath_train_options *o = self->run;
  if (o->max_steps > 0) return o->max_steps;
  if (self->records < 0) return -1;
  double rows = (double)o->per_device_train_batch_size * ath_subject_shares(self, chips);
  return ath_train_steps(o, (int64_t)ceil((double)self->records / rows));
}
