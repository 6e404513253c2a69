/* fill_mask.c: the likeliest tokens for the masks in a text, as the reference's fill-mask pipeline
 * gives them. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "models/parameters.h"
#include "storage/file.h"

enum { LENGTH_STEP = 32, MASKS_STEP = 4, SEQUENCE_BYTES_MAX = 1 << 24 };

struct ath_filler {
  ath_backend *backend;
  ath_state *state;
  ath_tokenizer *tokenizer;
  ath_model *model;
  ath_program *program; /* for the shape below; made anew when a text needs a larger one */
  int length, places;
  bool loaded;          /* the weights are read when the first program has made the variables */
  char weights[ATH_PATH_MAX];
  ath_encoding encoding;
  int32_t *ids, *mask, *position_ids; /* [length] */
  int32_t *positions;                 /* [places] */
  float *logits;                      /* [places, vocab_size] */
};

/* --- loading ------------------------------------------------------------------------------- */

static ath_status open_parts(ath_filler *self, const char *folder, const char *device) {
  ath_model_config config;
  ATH_TRY(ath_model_config_load(folder, &config));
  ATH_TRY(ath_tokenizer_load(folder, &self->tokenizer));
  ATH_TRY_CONTEXT(ath_model_config_adopt_ids(&config, self->tokenizer), "%s", folder);
  ATH_TRY(ath_path_join(self->weights, folder, "model.safetensors"));
  if (!ath_path_exists(self->weights))
    return ath_fail(ATH_NOT_FOUND, "%s: no model.safetensors in this folder", folder);
  ATH_TRY_CONTEXT(ath_model_create(&config, &self->model), "%s", folder);
  ATH_TRY(ath_backend_open(device, &self->backend));
  return ath_state_create(self->backend, &self->state);
}

ath_status ath_filler_open(const char *folder, const char *device, ath_filler **out) {
  ath_filler *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory");
  ath_status status = open_parts(self, folder, device);
  if (status != ATH_OK) {
    ath_filler_close(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

static void free_shape(ath_filler *self) {
  ath_program_destroy(self->program);
  free(self->ids);
  free(self->mask);
  free(self->position_ids);
  free(self->positions);
  free(self->logits);
  self->program = NULL;
  self->ids = self->mask = self->position_ids = self->positions = NULL;
  self->logits = NULL;
  self->length = self->places = 0;
}

void ath_filler_close(ath_filler *self) {
  if (self == NULL) return;
  free_shape(self);
  ath_encoding_free(&self->encoding);
  ath_model_destroy(self->model);
  ath_tokenizer_destroy(self->tokenizer);
  ath_state_destroy(self->state);
  ath_backend_close(self->backend);
  free(self);
}

const char *ath_filler_mask(const ath_filler *self) {
  return ath_tokenizer_token(self->tokenizer,
                             ath_tokenizer_special(self->tokenizer, ATH_TOKEN_MASK));
}

/* --- the program --------------------------------------------------------------------------- */

/* Forward only, without dropout, for one row. */
static ath_status build_program(ath_filler *self) {
  ath_forward_options shape = {.batch_size = 1, .length = self->length,
                               .positions = self->places};
  ath_graph *graph;
  ATH_TRY(ath_model_graph(self->model, &shape, &graph));
  ath_status status = ath_program_create(graph, self->state, &self->program);
  ath_graph_destroy(graph);
  return status;
}

static ath_status set_inputs(ath_filler *self) {
  assert(self->program != NULL && self->length > 0 && self->places > 0);
  ATH_TRY(ath_program_set_input(self->program, "input_ids", self->ids));
  ATH_TRY(ath_program_set_input(self->program, "attention_mask", self->mask));
  ATH_TRY(ath_program_set_input(self->program, "position_ids", self->position_ids));
  return ath_program_set_input(self->program, "positions", self->positions);
}

static int round_up(size_t value, int step) {
  assert(value > 0 && value <= INT32_MAX && step > 0);
  return (int)((value + (size_t)step - 1) / (size_t)step) * step;
}

/* Sees to it that the program takes `tokens` tokens and `masks` masks. */
static ath_status fit_shape(ath_filler *self, size_t tokens, size_t masks) {
  if (tokens <= (size_t)self->length && masks <= (size_t)self->places) return ATH_OK;
  free_shape(self);
  int most = (int)ath_model_config_max_length(&self->model->config);
  int length = round_up(tokens, LENGTH_STEP);
  self->length = length < most ? length : most;
  self->places = round_up(masks, MASKS_STEP);
  assert(tokens <= (size_t)self->length);
  size_t logits = (size_t)self->places * (size_t)self->model->config.vocab_size;
  self->ids = malloc((size_t)self->length * sizeof *self->ids);
  self->mask = malloc((size_t)self->length * sizeof *self->mask);
  self->position_ids = malloc((size_t)self->length * sizeof *self->position_ids);
  self->positions = malloc((size_t)self->places * sizeof *self->positions);
  self->logits = malloc(logits * sizeof *self->logits);
  ath_status status = ATH_OK;
  if (self->ids == NULL || self->mask == NULL || self->position_ids == NULL ||
      self->positions == NULL || self->logits == NULL)
    status = ath_fail(ATH_NO_MEMORY, "no memory for %zu logits", logits);
  if (status == ATH_OK) status = build_program(self);
  if (status == ATH_OK && !self->loaded)
    status = ath_model_load(self->model, self->state, self->weights);
  if (status == ATH_OK) {
    self->loaded = true;
    status = set_inputs(self);
  }
  if (status != ATH_OK) free_shape(self);
  return status;
}

/* --- one text ------------------------------------------------------------------------------ */

/* Encodes with [CLS] and [SEP], counts the masks, and refuses what cannot be filled. */
static ath_status encode(ath_filler *self, const char *text, size_t *masks) {
  ath_encoding *encoding = &self->encoding;
  int32_t mask_id = ath_tokenizer_special(self->tokenizer, ATH_TOKEN_MASK);
  ATH_TRY(ath_tokenizer_encode(self->tokenizer, text, strlen(text), ATH_ENCODE_SPECIAL, encoding));
  *masks = 0;
  for (size_t i = 0; i < encoding->length; i++) *masks += encoding->ids[i] == mask_id;
  if (*masks == 0)
    return ath_fail(ATH_INVALID, "no mask in \"%.80s\"; write %s where a word is to be filled in",
                    text, ath_filler_mask(self));
  return ath_model_config_check_length(&self->model->config, (int64_t)encoding->length);
}

/* Past the text come padding tokens that nothing attends to; past the masks, place 0, whose logits
 * nobody reads. */
static void fill_inputs(ath_filler *self) {
  const ath_model_config *config = &self->model->config;
  int32_t mask_id = ath_tokenizer_special(self->tokenizer, ATH_TOKEN_MASK);
  size_t masks = 0;
  memset(self->positions, 0, (size_t)self->places * sizeof *self->positions);
  for (int i = 0; i < self->length; i++) {
    bool real = (size_t)i < self->encoding.length;
    self->ids[i] = real ? self->encoding.ids[i] : (int32_t)config->pad_token_id;
    self->mask[i] = real;
    if (real && self->ids[i] == mask_id) self->positions[masks++] = i;
  }
  assert(masks > 0 && masks <= (size_t)self->places);
  ath_position_ids(self->ids, 1, self->length, (int32_t)config->pad_token_id, self->position_ids);
}

/* Weights that hold NaN give logits that no order chooses among. A row that pads the vocabulary may
 * be -infinity. */
static ath_status check_logits(const ath_filler *self, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (isnan(self->logits[i]) || self->logits[i] == INFINITY)
      return ath_fail(ATH_INVALID, "%s: the model's outputs are not finite; its weights are "
                      "damaged or its training diverged: use an earlier checkpoint",
                      self->weights);
  return ATH_OK;
}

/* The `top_k` largest of logits[count], best first, equal ones by lower id: one pass with an
 * insertion into the short list. */
static void choose_top(const float *logits, int32_t count, size_t top_k, ath_filling *out) {
  assert(top_k > 0 && top_k <= (size_t)count);
  size_t chosen = 0;
  double largest = logits[0], sum = 0;
  for (int32_t id = 0; id < count; id++) {
    if (logits[id] > largest) largest = logits[id];
    if (chosen == top_k && !(logits[id] > (float)out[chosen - 1].score)) continue;
    size_t at = chosen < top_k ? chosen++ : chosen - 1;
    for (; at > 0 && logits[id] > (float)out[at - 1].score; at--) out[at] = out[at - 1];
    out[at] = (ath_filling){.score = logits[id], .token = id};
  }
  assert(chosen == top_k);
  for (int32_t id = 0; id < count; id++) sum += exp(logits[id] - largest);
  for (size_t i = 0; i < top_k; i++) out[i].score = exp(out[i].score - largest) / sum;
}

static ath_status decode(const ath_filler *self, const int32_t *ids, size_t count,
                         bool skip_special, char **out) {
  ath_buffer text = ath_buffer_make(SEQUENCE_BYTES_MAX);
  ath_status status = ath_tokenizer_decode(self->tokenizer, ids, count, skip_special, &text);
  if (status == ATH_OK) {
    *out = strdup(text.bytes != NULL ? text.bytes : "");
    if (*out == NULL) status = ath_fail(ATH_NO_MEMORY, "no memory for a text");
  }
  ath_buffer_free(&text);
  return status;
}

/* The texts of one filling. With several masks the others stay visible, special tokens and all,
 * as in the reference. */
static ath_status describe(ath_filler *self, size_t position, bool only_mask, ath_filling *out) {
  assert(position < self->encoding.length && out->token_str == NULL);
  const char *piece = ath_tokenizer_token(self->tokenizer, out->token);
  if (piece == NULL) piece = ""; /* a row that pads the vocabulary */
  out->piece = strdup(piece);
  if (out->piece == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a text");
  if (*piece == '\0') {
    out->token_str = strdup("");
    out->sequence = strdup("");
    return out->token_str != NULL && out->sequence != NULL
               ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory for a text");
  }
  ATH_TRY(decode(self, &out->token, 1, false, &out->token_str));
  int32_t *ids = self->encoding.ids, before = ids[position];
  ids[position] = out->token;
  ath_status status = decode(self, ids, self->encoding.length, only_mask, &out->sequence);
  ids[position] = before;
  return status;
}

ath_status ath_filler_run(ath_filler *self, const char *text, int top_k, ath_fill_result *out) {
  *out = (ath_fill_result){0};
  int64_t vocab = self->model->config.vocab_size;
  if (top_k < 1 || top_k > vocab)
    return ath_fail(ATH_USAGE, "top_k is %d; it must lie between 1 and the %lld tokens there are",
                    top_k, (long long)vocab);
  size_t masks;
  ATH_TRY(encode(self, text, &masks));
  ATH_TRY(fit_shape(self, self->encoding.length, masks));
  fill_inputs(self);
  ATH_TRY(ath_program_run(self->program));
  ATH_TRY(ath_program_get_output(self->program, "logits", self->logits));
  ATH_TRY(check_logits(self, masks * (size_t)vocab));
  ath_fill_result result = {.masks = masks, .top_k = (size_t)top_k,
                            .fillings = calloc(masks * (size_t)top_k, sizeof *result.fillings)};
  if (result.fillings == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the fillings");
  ath_status status = ATH_OK;
  for (size_t m = 0; m < masks && status == ATH_OK; m++) {
    ath_filling *row = result.fillings + m * result.top_k;
    choose_top(self->logits + (int64_t)m * vocab, (int32_t)vocab, result.top_k, row);
    for (size_t i = 0; i < result.top_k && status == ATH_OK; i++)
      status = describe(self, (size_t)self->positions[m], masks == 1, &row[i]);
  }
  if (status != ATH_OK) ath_fill_result_free(&result);
  else *out = result;
  return status;
}

void ath_fill_result_free(ath_fill_result *self) {
  for (size_t i = 0; i < self->masks * self->top_k; i++) {
    free(self->fillings[i].token_str);
    free(self->fillings[i].piece);
    free(self->fillings[i].sequence);
  }
  free(self->fillings);
  *self = (ath_fill_result){0};
}
