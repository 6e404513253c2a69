/* query.c: the rows of a parquet file or of an SQL query, through DuckDB.
 *
 * DuckDB computes on one thread and hands over rows as they come, so that their order is always
 * the same and memory does not grow with their number; encoding, which comes after, takes all
 * threads. */
#include "readers/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "readers/duckdb.h"

enum { QUERY_MAX = 1 << 20, COLUMNS_SHOWN = 400, COLUMNS_MAX = 1 << 16, REASON_MAX = 500 };

struct ath_query {
  const ath_duckdb *db;
  ath_duckdb_handle database, connection, statement, chunk;
  ath_duckdb_result result;
  bool has_result, has_label, ended;
  uint64_t row, rows;      /* the next; how many there are, 0: not known */
  uint64_t in_chunk, size; /* the next in the chunk */
};

double ath_query_progress(const ath_query *self) {
  return self->rows == 0 ? 0 : (double)self->row / (double)self->rows;
}

/* A connection has one query at a time. */
static void forget_result(ath_query *self) {
  if (self->chunk != NULL) self->db->destroy_data_chunk(&self->chunk);
  if (self->has_result) self->db->destroy_result(&self->result);
  self->has_result = self->ended = false;
}

void ath_query_close(ath_query *self) {
  if (self == NULL) return;
  const ath_duckdb *db = self->db;
  forget_result(self);
  if (self->statement != NULL) db->destroy_prepare(&self->statement);
  if (self->connection != NULL) db->disconnect(&self->connection);
  if (self->database != NULL) db->close(&self->database);
  free(self);
}

/* --- the engine ---------------------------------------------------------------------------- */

/* What DuckDB says up to its advice, which is about Python or its shell, on one line. */
static ath_status fail_by(ath_status status, const char *reason) {
  char text[REASON_MAX];
  snprintf(text, sizeof text, "%s", reason != NULL ? reason : "no reason given");
  char *end = strstr(text, "\n\n");
  if (end != NULL) *end = '\0';
  for (char *c = text; *c != '\0'; c++)
    if (*c == '\n') *c = ' ';
  return ath_fail(status, "DuckDB: %s", text);
}

/* Nothing is fetched from anywhere: extensions would be, unasked. */
static ath_status open_database(ath_query *self) {
  static const char *const settings[][2] = {
    {"threads", "1"}, {"autoinstall_known_extensions", "false"},
    {"autoload_known_extensions", "false"}};
  const ath_duckdb *db = self->db;
  ath_duckdb_handle config = NULL;
  char *error = NULL;
  if (db->create_config(&config) != 0) return ath_fail(ATH_NO_MEMORY, "no memory for DuckDB");
  int failed = 0;
  for (size_t i = 0; i < sizeof settings / sizeof *settings && failed == 0; i++)
    failed = db->set_config(config, settings[i][0], settings[i][1]);
  if (failed == 0) failed = db->open_ext(NULL, &self->database, config, &error);
  ath_status status = failed == 0 ? ATH_OK : fail_by(ATH_INTERNAL, error);
  db->destroy_config(&config);
  if (error != NULL) db->free(error);
  ATH_TRY(status);
  return db->connect(self->database, &self->connection) == 0
             ? ATH_OK : ath_fail(ATH_INTERNAL, "DuckDB does not connect");
}

static ath_status prepare(ath_query *self, const char *name, const char *query) {
  forget_result(self);
  if (self->statement != NULL) self->db->destroy_prepare(&self->statement);
  if (self->db->prepare(self->connection, query, &self->statement) == 0) return ATH_OK;
  return ath_context(fail_by(ATH_INVALID, self->db->prepare_error(self->statement)), "%s", name);
}

static ath_status execute(ath_query *self, const char *name) {
  self->has_result = true;
  if (self->db->execute_prepared_streaming(self->statement, &self->result) == 0) return ATH_OK;
  return ath_context(fail_by(ATH_INVALID, self->db->result_error(&self->result)), "%s", name);
}

/* --- columns ------------------------------------------------------------------------------- */


static bool is_text(int type) { return type == ATH_DUCKDB_VARCHAR || type == ATH_DUCKDB_BLOB; }

/* The names there are, with those of text first said to be so. */
static void list_columns(const ath_query *self, char out[COLUMNS_SHOWN]) {
  uint64_t count = self->db->prepared_statement_column_count(self->statement);
  size_t n = 0;
  out[0] = '\0';
  for (uint64_t i = 0; i < count && n < COLUMNS_SHOWN; i++) {
    const char *name = self->db->prepared_statement_column_name(self->statement, i);
    int type = self->db->prepared_statement_column_type(self->statement, i);
    n += (size_t)snprintf(out + n, COLUMNS_SHOWN - n, "%s\"%s\"%s", n > 0 ? ", " : "", name,
                          is_text(type) ? " (text)" : "");
    self->db->free((void *)name);
  }
}

/* Looks for `wanted`; without one for "text", or else the only column of text. *name is to be
 * freed by DuckDB. */
static ath_status find_column(const ath_query *self, const char *file, const char *wanted,
                              const char *option, char **name, bool *bytes) {
  uint64_t count = self->db->prepared_statement_column_count(self->statement);
  char names[COLUMNS_SHOWN], *only = NULL;
  size_t texts = 0;
  *name = NULL;
  *bytes = false;
  for (uint64_t i = 0; i < count && i < COLUMNS_MAX && *name == NULL; i++) {
    char *here = (char *)self->db->prepared_statement_column_name(self->statement, i);
    int type = self->db->prepared_statement_column_type(self->statement, i);
    bool match = here != NULL && strcmp(here, wanted != NULL ? wanted : "text") == 0;
    if (match || (wanted == NULL && is_text(type) && texts++ == 0)) {
      *(match ? name : &only) = here;
      *bytes = type == ATH_DUCKDB_BLOB;
    } else {
      self->db->free(here);
    }
  }
  if (*name == NULL && texts == 1) {
    *name = only;
    return ATH_OK;
  }
  if (only != NULL) self->db->free(only);
  if (*name != NULL) return ATH_OK;
  list_columns(self, names);
  if (wanted == NULL)
    return ath_fail(ATH_INVALID, "%s: which column has the text? There are: %s; name it by %s",
                    file, names, option);
  return ath_fail(ATH_INVALID, "%s: no column is named \"%s\"; there are: %s; %s names another",
                  file, wanted, names, option);
}

/* "a""b", and decode of it where it is bytes. */
static ath_status put_column(ath_buffer *out, const char *name, bool bytes) {
  ATH_TRY(ath_buffer_string(out, bytes ? "decode(\"" : "CAST(\""));
  for (const char *c = name; *c != '\0'; c++) {
    if (*c == '"') ATH_TRY(ath_buffer_byte(out, '"'));
    ATH_TRY(ath_buffer_byte(out, *c));
  }
  return ath_buffer_string(out, bytes ? "\")" : "\" AS VARCHAR)");
}

/* A path as a string of SQL. DuckDB takes it for a pattern: what is special there is put in [ ]. */
static ath_status put_path(ath_buffer *out, const char *path) {
  ATH_TRY(ath_buffer_byte(out, '\''));
  for (const char *c = path; *c != '\0'; c++) {
    bool special = strchr("*?[", *c) != NULL;
    if (*c == '\'') ATH_TRY(ath_buffer_byte(out, '\''));
    ATH_TRY(special ? ath_buffer_format(out, "[%c]", *c) : ath_buffer_byte(out, *c));
  }
  return ath_buffer_byte(out, '\'');
}

static ath_status put_table(const ath_source *self, ath_buffer *out) {
  const char *sql = self->reading->sql;
  if (sql == NULL) {
    ATH_TRY(ath_buffer_string(out, "read_parquet("));
    ATH_TRY(put_path(out, self->path));
    return ath_buffer_string(out, ")");
  }
  size_t length = strlen(sql);
  while (length > 0 && strchr("; \t\r\n", sql[length - 1]) != NULL) length--;
  ATH_TRY(ath_buffer_byte(out, '('));
  ATH_TRY(ath_buffer_append(out, sql, length));
  return ath_buffer_string(out, "\n)"); /* the query may end with a comment */
}

/* All columns, to know them. DuckDB complains of the whole; of what the user wrote it does so in
 * the user's terms. */
static ath_status prepare_all(const ath_source *self, ath_query *query, const char *name,
                              ath_buffer *text) {
  ath_outcome failure;
  ATH_TRY(ath_buffer_string(text, "SELECT * FROM "));
  ATH_TRY(put_table(self, text));
  ath_outcome_keep(&failure, prepare(query, name, text->bytes));
  if (failure.status != ATH_INVALID || self->reading->sql == NULL)
    return ath_outcome_return(&failure);
  ATH_TRY(prepare(query, name, self->reading->sql));
  return ath_outcome_return(&failure);
}

/* The text, and the label where one is asked for. */
static ath_status choose_columns(ath_source *self, ath_query *query, const char *name,
                                 ath_buffer *text) {
  const ath_reading *reading = self->reading;
  char *column, *label = NULL;
  bool bytes, label_bytes;
  ATH_TRY(prepare_all(self, query, name, text));
  ATH_TRY(find_column(query, name, reading->text_column, "--text-column", &column, &bytes));
  ath_status status = ATH_OK;
  if (reading->label_column != NULL)
    status = find_column(query, name, reading->label_column, "--label-column", &label,
                         &label_bytes);
  query->has_label = label != NULL;
  ath_buffer_clear(text);
  if (status == ATH_OK) status = ath_buffer_string(text, "SELECT ");
  if (status == ATH_OK) status = put_column(text, column, bytes);
  if (status == ATH_OK && label != NULL) status = ath_buffer_string(text, ", ");
  if (status == ATH_OK && label != NULL) status = put_column(text, label, label_bytes);
  if (status == ATH_OK) status = ath_buffer_string(text, " FROM ");
  if (status == ATH_OK) status = put_table(self, text);
  query->db->free(column);
  if (label != NULL) query->db->free(label);
  ATH_TRY(status);
  return prepare(query, name, text->bytes);
}

/* --- rows ---------------------------------------------------------------------------------- */

/* The next rows; none at the end. */
static ath_status fetch(ath_query *self, const char *name) {
  if (self->chunk != NULL) self->db->destroy_data_chunk(&self->chunk);
  self->in_chunk = self->size = 0;
  if (self->ended) return ATH_OK;
  self->chunk = self->db->fetch_chunk(self->result);
  if (self->chunk != NULL) self->size = self->db->data_chunk_get_size(self->chunk);
  self->ended = self->size == 0;
  const char *error = self->ended ? self->db->result_error(&self->result) : NULL;
  if (error == NULL || *error == '\0') return ATH_OK;
  ath_status status = fail_by(ATH_CORRUPT, error);
  return ath_context(status, "%s: behind row %llu", name, (unsigned long long)self->row);
}

/* NULL for NULL. */
static const char *value(const ath_query *self, uint64_t column, size_t *length) {
  ath_duckdb_handle vector = self->db->data_chunk_get_vector(self->chunk, column);
  const uint64_t *valid = self->db->vector_get_validity(vector);
  uint64_t row = self->in_chunk;
  if (valid != NULL && (valid[row / 64] >> (row % 64) & 1) == 0) return NULL;
  const ath_duckdb_string *s = (const ath_duckdb_string *)self->db->vector_get_data(vector) + row;
  *length = s->length;
  if (s->length <= sizeof s->here) return s->here;
  const char *elsewhere;
  memcpy(&elsewhere, s->here + 4, sizeof elsewhere);
  return elsewhere;
}

static const char *name_of(const ath_source *self) {
  return self->reading->sql != NULL ? "--sql" : self->path;
}

/* How many rows a parquet file has, for the progress. */
static ath_status count_rows(ath_source *self, ath_query *query, ath_buffer *text) {
  ATH_TRY(ath_buffer_string(text, "SELECT CAST(num_rows AS VARCHAR) FROM parquet_file_metadata("));
  ATH_TRY(put_path(text, self->path));
  ATH_TRY(ath_buffer_string(text, ")"));
  ATH_TRY(prepare(query, self->path, text->bytes));
  ATH_TRY(execute(query, self->path));
  ATH_TRY(fetch(query, self->path));
  size_t length;
  const char *number = query->size > 0 ? value(query, 0, &length) : NULL;
  for (size_t i = 0; number != NULL && i < length && i < 18; i++)
    query->rows = query->rows * 10 + (uint64_t)(number[i] - '0');
  ath_buffer_clear(text);
  return ATH_OK;
}

static ath_status start(ath_source *self, ath_query *query, ath_buffer *text) {
  ATH_TRY(open_database(query));
  if (self->reading->sql == NULL) ATH_TRY(count_rows(self, query, text));
  ATH_TRY(choose_columns(self, query, name_of(self), text));
  ATH_TRY(execute(query, name_of(self)));
  return fetch(query, name_of(self));
}

static ath_status begin(ath_source *self) {
  const ath_duckdb *db;
  ATH_TRY_CONTEXT(ath_duckdb_load(&db, NULL), "%s", name_of(self));
  ath_query *query = calloc(1, sizeof *query);
  if (query == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a query");
  query->db = db;
  self->query = query;
  ath_buffer text = ath_buffer_make(QUERY_MAX);
  ath_status status = start(self, query, &text);
  ath_buffer_free(&text);
  if (status == ATH_OK) return ATH_OK;
  ath_query_close(query);
  self->query = NULL;
  return status;
}

/* Rows have no place that could be gone to: those before are read again. */
static ath_status seek(ath_source *self, uint64_t at, uint64_t line) {
  ath_query *query = self->query;
  (void)line;
  while (query->row + query->size <= at && query->size > 0) {
    query->row += query->size;
    ATH_TRY(fetch(query, name_of(self)));
  }
  if (at > query->row && query->size > 0) {
    query->in_chunk = at - query->row;
    query->row = at;
  }
  return ATH_OK;
}

static ath_status next(ath_source *self, ath_document *out) {
  ath_query *query = self->query;
  if (query->in_chunk == query->size) ATH_TRY(fetch(query, name_of(self)));
  if (query->size == 0) return ATH_OK;
  size_t length = 0, label_length = 0;
  const char *text = value(query, 0, &length);
  const char *label = query->has_label ? value(query, 1, &label_length) : NULL;
  uint64_t row = query->row++;
  query->in_chunk++;
  unsigned long long number = row + 1;
  if (text == NULL)
    return ath_fail(ATH_INVALID, "%s: row %llu: there is no text: it is NULL", name_of(self),
                    number);
  if (length > ATH_DOCUMENT_MAX)
    return ath_fail(ATH_INVALID, "%s: row %llu: the text is longer than %d bytes", name_of(self),
                    number, ATH_DOCUMENT_MAX);
  *out = (ath_document){.text = text, .length = length, .label = label,
                        .label_length = label_length, .place = {.at = row, .line = number},
                        .next = {.at = row + 1, .line = number + 1}};
  return ATH_OK;
}

const ath_reader ath_query_reader = {"row", begin, seek, next};
