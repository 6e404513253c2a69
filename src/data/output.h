/* output.h: the folder a dataset is being prepared in: what is there already, the journal of an
 * unfinished run, and starting over. The entries of progress.journal (journal.h):
 *
 *     {"format": "athanor-progress", "version": 2, "recipe": {…}, "modified_ns": [ns per input]}
 *     {"split": "train", "shards": [{"name": …, …}], "place": {"file": 0, "byte": 8, "line": 2,
 *      "global": 1, "token": 7, "skipped": 0}}
 *     …
 *
 * The first is written before the first shard, the others after each: where its split goes on. (A
 * very long line completes several at once.) A folder with a journal is unfinished; it is removed
 * when all manifests are there. */
#ifndef ATHANOR_DATA_OUTPUT_H
#define ATHANOR_DATA_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>

#include "athanor/dataset.h"
#include "data/split.h"

enum { ATH_SPLITS_MAX = 2 };
#define ATH_PIECES_NAME "pieces" /* the folder of workers that have not finished (worker.h) */

/* Everything that decides the shards' bytes (manifest.h). The caller releases it. */
ath_status ath_recipe_create(const ath_tokenizer *tokenizer, const ath_prepare_options *options,
                             json_t **out) ATH_MUST_CHECK;
/* When each input was changed last: with the sizes in the recipe, whether it is still the text
 * that an interrupted run began with. */
ath_status ath_inputs_modified(const ath_prepare_options *options, json_t **out) ATH_MUST_CHECK;

typedef enum ath_output_state { ATH_OUTPUT_FRESH, ATH_OUTPUT_UNFINISHED, ATH_OUTPUT_FINISHED }
    ath_output_state;

/* What the folder holds. ATH_MISMATCH, naming the difference, when it is another dataset. For an
 * unfinished one the splits are set to continue; for a finished one `manifests` is filled, one
 * for each split (the caller frees them). */
ath_status ath_output_inspect(const char *folder, const json_t *recipe, const json_t *modified,
                              ath_split *splits, size_t count, ath_manifest *manifests,
                              ath_output_state *state) ATH_MUST_CHECK;

/* Starts the journal. */
ath_status ath_output_begin(const char *folder, const json_t *recipe, const json_t *modified)
    ATH_MUST_CHECK;
/* Notes the split's shards that have been completed since the last note. */
ath_status ath_output_note(const char *folder, ath_split *split) ATH_MUST_CHECK;

/* Removes a dataset, finished or not, and the folders that are empty then; other files stay. */
ath_status ath_output_discard(const char *folder) ATH_MUST_CHECK;
/* Removes what a killed run left under temporary names. */
ath_status ath_output_sweep(const char *folder) ATH_MUST_CHECK;

#endif
