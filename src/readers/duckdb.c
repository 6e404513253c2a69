/* duckdb.c: finding and loading DuckDB. */
#include "readers/duckdb.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/library.h"
#include "readers/weak_symbols.h"
#include "storage/plugins.h"

static ath_duckdb duckdb;
static char loaded_path[ATH_PATH_MAX]; /* empty: not loaded */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static ath_status look_up(void *library, const char *path) {
#define SYMBOL(name) {"duckdb_" #name, &duckdb.name}
  const ath_symbol symbols[] = {
    SYMBOL(library_version), SYMBOL(create_config), SYMBOL(set_config), SYMBOL(destroy_config),
    SYMBOL(open_ext), SYMBOL(close), SYMBOL(connect), SYMBOL(disconnect), SYMBOL(prepare),
    SYMBOL(prepare_error), SYMBOL(destroy_prepare), SYMBOL(prepared_statement_column_count),
    SYMBOL(prepared_statement_column_name), SYMBOL(prepared_statement_column_type),
    SYMBOL(execute_prepared_streaming), SYMBOL(result_error), SYMBOL(destroy_result),
    SYMBOL(fetch_chunk), SYMBOL(data_chunk_get_size), SYMBOL(data_chunk_get_vector),
    SYMBOL(destroy_data_chunk), SYMBOL(vector_get_data), SYMBOL(vector_get_validity),
    SYMBOL(free)};
#undef SYMBOL
  return ath_library_look_up(library, path, symbols, sizeof symbols / sizeof *symbols);
}

/* A library as DuckDB's makers give it out, or else the module of the Python wheel. */
static ath_status open_library(const char *path) {
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) ATH_TRY(ath_open_with_weak(path, "Py", &library));
  return look_up(library, path);
}

static bool find_in_wheels(char out[ATH_PATH_MAX]) {
  return ath_plugins_installed("_duckdb.*.so", out) ||
         ath_plugins_installed("duckdb/duckdb.*.so", out);
}

static ath_status not_found(const char *own) {
  return ath_fail(ATH_UNSUPPORTED,
                  "parquet and SQL are read by DuckDB, which is not installed; \"athanor plugins "
                  "install duckdb\" installs it (25 MB). Looked at: the variable ATHANOR_DUCKDB "
                  "(not set), %s, libduckdb.so, */site-packages/_duckdb.*.so", own);
}

static ath_status find_and_open(char path[ATH_PATH_MAX]) {
  const char *set = ath_plugins_variable("ATHANOR_DUCKDB");
  if (set != NULL) {
    if (!ath_path_exists(set) || strlen(set) >= ATH_PATH_MAX)
      return ath_fail(ATH_NOT_FOUND, "%s: no such file; the variable ATHANOR_DUCKDB names it", set);
    memcpy(path, set, strlen(set) + 1);
    return open_library(path);
  }
  ATH_TRY(ath_plugins_file(ATH_DUCKDB_FILE, path));
  if (ath_path_exists(path)) return open_library(path);
  void *library = dlopen("libduckdb.so", RTLD_LAZY | RTLD_LOCAL);
  if (library != NULL) {
    memcpy(path, "libduckdb.so", sizeof "libduckdb.so");
    return look_up(library, path);
  }
  char found[ATH_PATH_MAX];
  if (!find_in_wheels(found)) return not_found(path);
  memcpy(path, found, sizeof found);
  return open_library(path);
}

ath_status ath_duckdb_load(const ath_duckdb **out, char *path) {
  pthread_mutex_lock(&lock);
  char found[ATH_PATH_MAX] = "";
  ath_status status = loaded_path[0] != '\0' ? ATH_OK : find_and_open(found);
  if (status == ATH_OK && found[0] != '\0') memcpy(loaded_path, found, sizeof found);
  pthread_mutex_unlock(&lock);
  if (status != ATH_OK) return status;
  if (path != NULL) memcpy(path, loaded_path, sizeof loaded_path);
  *out = &duckdb;
  return ATH_OK;
}
