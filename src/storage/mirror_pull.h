/* mirror_pull.h: how a mirror begins: which files come from there, and which stay as they are. */
#ifndef ATHANOR_STORAGE_MIRROR_PULL_H
#define ATHANOR_STORAGE_MIRROR_PULL_H

#include "storage/mirror.h"
#include "storage/mirror_files.h"

/* Makes the folder what the run is to go on with. *files, in order, are then those that are the
 * same here and there, or were and have changed here since. */
ath_status ath_mirror_pull(const ath_mirror_options *options, const char *record,
                           ath_mirror_files *files) ATH_MUST_CHECK;

#endif
