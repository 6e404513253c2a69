/* worker.h: preparing by pieces: by several processes, or freed of duplicates.
 *
 *     pieces of the text ─► rows and ids (each worker its own)      encode_pieces.h
 *        all rows ─► a split for each line, or none (one worker)    layout.h, duplicates.h
 *        ids ─► shards (under mpirun all workers)                   cut.h
 *        all shards ─► manifests (one worker)
 *
 * Everything is in OUTPUT/pieces until the manifests are there: a file appears whole or not at all,
 * and its content depends on nothing but the text and the recipe, so whoever is killed, at any
 * moment, and started again, does what is still missing. */
#ifndef ATHANOR_DATA_WORKER_H
#define ATHANOR_DATA_WORKER_H

#include "data/preparation.h"

/* Leaves the splits complete, with manifests; or self->unfinished, when others have still to do
 * their part. *state is what the folder held before. */
ath_status ath_prepare_by_pieces(ath_preparation *self, ath_output_state *state) ATH_MUST_CHECK;

#endif
