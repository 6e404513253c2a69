/* bind.c: a batch as the inputs of a program. */
#include "train/bind.h"

#include <assert.h>

/* What ath_choose_rows is promised. */
static bool places_lie_in_their_groups(const ath_batch *batch, const ath_forward_options *shape) {
  int groups = shape->groups > 1 ? shape->groups : 1;
  int share = shape->positions / groups, tokens = shape->batch_size / groups * shape->length;
  for (int i = 0; i < shape->positions; i++)
    if (batch->positions[i] / tokens != i / share) return false;
  return true;
}

ath_status ath_bind_batch(ath_program *program, const ath_batch *batch,
                          const ath_forward_options *shape, int32_t pad_token_id,
                          int32_t *position_ids) {
  assert(batch->samples <= shape->batch_size && batch->scored <= shape->positions);
  assert(places_lie_in_their_groups(batch, shape));
  ath_position_ids(batch->input_ids, shape->batch_size, shape->length, pad_token_id, position_ids);
  ATH_TRY(ath_program_set_input(program, "input_ids", batch->input_ids));
  ATH_TRY(ath_program_set_input(program, "attention_mask", batch->attention_mask));
  ATH_TRY(ath_program_set_input(program, "position_ids", position_ids));
  ATH_TRY(ath_program_set_input(program, "positions", batch->positions));
  ATH_TRY(ath_program_set_input(program, "labels", batch->labels));
  return ath_program_set_input(program, "weights", batch->weights);
}
