/* bind.c: a batch as the inputs of a program. */
#include "train/bind.h"

#include <assert.h>

static int group_count(const ath_forward_options *shape) {
  return shape->groups > 1 ? shape->groups : 1;
}

ath_forward_options ath_bind_shape(const ath_forward_options *whole, const ath_share *share) {
  ath_forward_options part = *whole;
  int groups = group_count(whole);
  if (share->group_count == 0) return part;
  part.groups = share->group_count;
  part.batch_size = whole->batch_size / groups * share->group_count;
  part.positions = whole->positions / groups * share->group_count;
  return part;
}

/* What ath_choose_rows is promised; groups are counted in the whole batch. */
static bool places_lie_in_their_groups(const ath_batch *batch, const ath_forward_options *shape,
                                       int first_group) {
  int groups = group_count(shape);
  int places = shape->positions / groups, tokens = shape->batch_size / groups * shape->length;
  for (int i = 0; i < shape->positions; i++)
    if (batch->positions[i] / tokens != first_group + i / places) return false;
  return true;
}

ath_status ath_bind_batch(ath_program *program, const ath_batch *batch,
                          const ath_forward_options *whole, const ath_share *share,
                          int32_t pad_token_id, int32_t *position_ids) {
  const ath_forward_options shape = ath_bind_shape(whole, share);
  assert(batch->samples <= whole->batch_size && batch->scored <= shape.positions);
  assert(places_lie_in_their_groups(batch, &shape, share->first_group));
  ath_position_ids(batch->input_ids, shape.batch_size, shape.length, pad_token_id, position_ids);
  ATH_TRY(ath_program_set_input(program, "input_ids", batch->input_ids));
  ATH_TRY(ath_program_set_input(program, "attention_mask", batch->attention_mask));
  ATH_TRY(ath_program_set_input(program, "position_ids", position_ids));
  ATH_TRY(ath_program_set_input(program, "positions", batch->positions));
  ATH_TRY(ath_program_set_input(program, "labels", batch->labels));
  return ath_program_set_input(program, "weights", batch->weights);
}
