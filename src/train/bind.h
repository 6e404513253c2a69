/* bind.h: a batch as the inputs of a program. */
#ifndef ATHANOR_TRAIN_BIND_H
#define ATHANOR_TRAIN_BIND_H

#include "athanor/train.h"

/* The shape of a share of a batch. */
ath_forward_options ath_bind_shape(const ath_forward_options *whole, const ath_share *share);

/* Computes position_ids[batch_size, length] and points all inputs of the model and its loss at
 * the batch, or the share of it, whose memory must last until the run is over. */
ath_status ath_bind_batch(ath_program *program, const ath_batch *batch,
                          const ath_forward_options *whole, const ath_share *share,
                          int32_t pad_token_id, int32_t *position_ids) ATH_MUST_CHECK;

#endif
