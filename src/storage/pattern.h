/* pattern.h: patterns of paths, as a shell has them: * and ? within one name, and ** as a name for
 * any number of folders, none of them included. */
#ifndef ATHANOR_STORAGE_PATTERN_H
#define ATHANOR_STORAGE_PATTERN_H

#include <stdbool.h>

/* Names that begin with a dot are matched by a dot only. */
bool ath_path_matches(const char *pattern, const char *path);

#endif
