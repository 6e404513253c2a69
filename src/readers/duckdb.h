/* duckdb.h: the part of DuckDB's C API (duckdb.org/docs/stable/clients/c/api) that is used, and
 * finding and loading the library. Its own header comes with neither Debian nor the wheel. */
#ifndef ATHANOR_READERS_DUCKDB_H
#define ATHANOR_READERS_DUCKDB_H

#include <stdbool.h>
#include <stdint.h>

#include "athanor/status.h"
#include "storage/file.h"

typedef struct ath_duckdb_object *ath_duckdb_handle; /* a database, connection, statement, … */

/* duckdb_result, which is handed over by value. */
typedef struct ath_duckdb_result {
  uint64_t unused[3];
  void *columns;
  char *error;
  void *internal;
} ath_duckdb_result;

/* duckdb_string_t: up to 12 bytes lie in it; of more the first four, and then their address. */
typedef struct ath_duckdb_string {
  _Alignas(8) uint32_t length;
  char here[12];
} ath_duckdb_string;

enum { ATH_DUCKDB_VARCHAR = 17, ATH_DUCKDB_BLOB = 18 }; /* of duckdb_type */

/* duckdb_state: 0 is success. Functions that destroy take the handle's address. */
typedef struct ath_duckdb {
  const char *(*library_version)(void);
  int (*create_config)(ath_duckdb_handle *out);
  int (*set_config)(ath_duckdb_handle config, const char *name, const char *value);
  void (*destroy_config)(ath_duckdb_handle *config);
  int (*open_ext)(const char *path, ath_duckdb_handle *out, ath_duckdb_handle config,
                  char **error);
  void (*close)(ath_duckdb_handle *database);
  int (*connect)(ath_duckdb_handle database, ath_duckdb_handle *out);
  void (*disconnect)(ath_duckdb_handle *connection);
  int (*prepare)(ath_duckdb_handle connection, const char *query, ath_duckdb_handle *out);
  const char *(*prepare_error)(ath_duckdb_handle statement);
  void (*destroy_prepare)(ath_duckdb_handle *statement);
  uint64_t (*prepared_statement_column_count)(ath_duckdb_handle statement);
  const char *(*prepared_statement_column_name)(ath_duckdb_handle statement, uint64_t index);
  int (*prepared_statement_column_type)(ath_duckdb_handle statement, uint64_t index);
  int (*execute_prepared_streaming)(ath_duckdb_handle statement, ath_duckdb_result *out);
  const char *(*result_error)(ath_duckdb_result *result);
  void (*destroy_result)(ath_duckdb_result *result);
  ath_duckdb_handle (*fetch_chunk)(ath_duckdb_result result);
  uint64_t (*data_chunk_get_size)(ath_duckdb_handle chunk);
  ath_duckdb_handle (*data_chunk_get_vector)(ath_duckdb_handle chunk, uint64_t column);
  void (*destroy_data_chunk)(ath_duckdb_handle *chunk);
  void *(*vector_get_data)(ath_duckdb_handle vector);
  uint64_t *(*vector_get_validity)(ath_duckdb_handle vector);
  void (*free)(void *memory);
} ath_duckdb;

/* Loads the library, once. It is the first of:
 *   1. the variable ATHANOR_DUCKDB: a path, which is then the only place
 *   2. duckdb/duckdb.so in the user's folder of plugins, where `plugins install duckdb` puts it
 *   3. libduckdb.so, where the system has libraries
 *   4. the Python wheel duckdb, in the places of storage/plugins.h
 * ATH_UNSUPPORTED tells them, and how to install it. `path`, which may be NULL, gets the place. */
ath_status ath_duckdb_load(const ath_duckdb **out, char *path) ATH_MUST_CHECK;

/* Where the library is in the user's folder, and in the wheel. */
#define ATH_DUCKDB_FILE "duckdb/duckdb.so"

#endif
