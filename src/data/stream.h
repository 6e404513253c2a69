/* stream.h: preparing in one pass by one process: text to tokens to shards. */
#ifndef ATHANOR_DATA_STREAM_H
#define ATHANOR_DATA_STREAM_H

#include "data/preparation.h"

/* Leaves the splits complete, with manifests; *state is what the folder held before. */
ath_status ath_prepare_stream(ath_preparation *self, ath_output_state *state) ATH_MUST_CHECK;

#endif
