/* lfs.h: large files to the store beside the Hub: the Batch API of Git LFS
 * (github.com/git-lfs/git-lfs, docs/api/batch.md), with the transfers basic and, as the Hub has it,
 * multipart (huggingface.co/docs/hub/en/api; huggingface_hub, lfs.py). */
#ifndef ATHANOR_HUB_LFS_H
#define ATHANOR_HUB_LFS_H

#include "hub/client.h"
#include "hub/files.h"
#include "storage/transfer.h"

/* Sends the contents of those files, `count` of them, all large and hashed, that the store does not
 * have; *sent: bytes. A part that has to be sent again is read again from its start. */
ath_status ath_hub_lfs_send(ath_hub *hub, const ath_hub_place *place, ath_hub_file *const *files,
                            size_t count, ath_transfer *transfer, uint64_t *sent)
    ATH_MUST_CHECK;

#endif
