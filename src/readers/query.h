/* query.h: the rows of a parquet file or of an SQL query, through DuckDB. */
#ifndef ATHANOR_READERS_QUERY_H
#define ATHANOR_READERS_QUERY_H

#include "readers/source.h"

void ath_query_close(ath_query *self); /* NULL is allowed */
double ath_query_progress(const ath_query *self); /* 0 … 1 */

#endif
