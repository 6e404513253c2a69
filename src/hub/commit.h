/* commit.h: a commit as the Hub takes it: one JSON object a line (huggingface_hub,
 * _commit_api.py). */
#ifndef ATHANOR_HUB_COMMIT_H
#define ATHANOR_HUB_COMMIT_H

#include "hub/client.h"
#include "hub/files.h"

/* Asks how the Hub wants each file: large, ignored, and whether it is there already (same). */
ath_status ath_hub_preupload(ath_hub *hub, const ath_hub_place *place, ath_hub_files *files)
    ATH_MUST_CHECK;

/* Commits the files that are neither ignored nor the same on top of `parent`; the answer is
 * the caller's to json_decref. ATH_MISMATCH with hub->answer.status 412 when another commit came
 * between. */
ath_status ath_hub_commit(ath_hub *hub, const ath_hub_place *place, const ath_hub_files *files,
                          const char *message, const char *parent, json_t **answer) ATH_MUST_CHECK;

#endif
