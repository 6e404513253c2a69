/* plugins.h: where big libraries lie that are not Debian's: in the user's folder, or in the Python
 * wheels that have them. */
#ifndef ATHANOR_STORAGE_PLUGINS_H
#define ATHANOR_STORAGE_PLUGINS_H

#include <stdbool.h>

#include "athanor/status.h"
#include "storage/file.h"

/* $XDG_DATA_HOME/athanor/plugins, or ~/.local/share/athanor/plugins. */
ath_status ath_plugins_folder(char out[ATH_PATH_MAX]) ATH_MUST_CHECK;
/* "duckdb/duckdb.so" in it, whether it is there or not. */
ath_status ath_plugins_file(const char *file, char out[ATH_PATH_MAX]) ATH_MUST_CHECK;

/* Looks for a file, a pattern, below the site-packages folders of the active environment
 * ($VIRTUAL_ENV), ~/.local, /usr/local and /usr, in this order; a whole path is taken as it is. */
bool ath_plugins_installed(const char *file, char out[ATH_PATH_MAX]);

/* A variable of the environment that is set to something, or NULL. */
const char *ath_plugins_variable(const char *name);

#endif
