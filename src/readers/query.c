/* query.c: the rows of a parquet file or of an SQL query, through DuckDB. */
#include "readers/query.h"

void ath_query_close(ath_query *self) { (void)self; }
double ath_query_progress(const ath_query *self) { (void)self; return 0; }

static ath_status begin(ath_source *self) {
  return ath_fail(ATH_UNSUPPORTED, "%s: parquet and SQL cannot be read", self->path);
}
static ath_status seek(ath_source *self, uint64_t at, uint64_t line) {
  (void)at, (void)line;
  return begin(self);
}
static ath_status next(ath_source *self, ath_document *out) { (void)out; return begin(self); }

const ath_reader ath_query_reader = {"row", begin, seek, next};
