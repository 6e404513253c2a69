/* separated.c: CSV (RFC 4180) and TSV, whose quotes are characters like others.
 *
 * A row of CSV is mostly one line. Where a field in quotes goes on, the lines are put together,
 * with their endings as they are, until it ends, and cutting goes on with that field. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "base/utf8.h"
#include "readers/source.h"

enum { COLUMNS_MAX = 1 << 16, NAMES_TEXT_MAX = 300 };

/* A row being cut: from the line in the reader's window, or from `scratch`. */
typedef struct row {
  ath_line first;          /* where it begins; its bytes are gone once another line was read */
  uint64_t next_at, next_line;
  const char *bytes;
  size_t length;
  const char *text, *label; /* of the two columns, NULL if there are not so many */
  size_t text_length, label_length;
  size_t columns;
  size_t at;     /* up to where it is cut; when a field in quotes goes on behind it, that begins */
  bool joined;   /* of several lines, in `scratch`, with */
  size_t ending; /* … so many bytes of the last one's ending behind it */
} row;

/* --- faults -------------------------------------------------------------------------------- */

/* At byte `at` of the row, which may lie on a later line of it. */
static ath_status blame(const ath_source *self, const row *r, size_t at, ath_status status) {
  uint64_t line = r->first.number;
  size_t begin = 0;
  for (size_t i = 0; i < at && i < r->length; i++) {
    bool cr = r->bytes[i] == '\r' && !(i + 1 < r->length && r->bytes[i + 1] == '\n');
    if (r->bytes[i] != '\n' && !cr) continue;
    line++;
    begin = i + 1;
  }
  return ath_context(status, "%s: line %llu, column %zu", self->path, (unsigned long long)line,
                     ath_utf8_count(r->bytes + begin, at - begin) + 1);
}

static ath_status fail_width(const ath_source *self, const row *r, size_t at) {
  return blame(self, r, at, ath_fail(
      ATH_INVALID, "the row has %zu field%s, but the first has %zu%s", r->columns,
      r->columns == 1 ? "" : "s", self->columns,
      self->delimiter == '\t' ? "; in TSV a tab ends a field, and quotes do not keep it together"
                              : ""));
}

/* --- one field ----------------------------------------------------------------------------- */

typedef enum ending { FIELD, ROW, OPEN, WRONG } ending;

/* Passes over a field in quotes, from its first; *at is then behind it, or at what is wrong.
 * `quotes` in pairs, each of which stands for one, are counted. */
static ending take_quoted(const row *r, size_t *at, size_t *quotes) {
  for (size_t i = *at + 1;;) {
    const char *quote = memchr(r->bytes + i, '"', r->length - i);
    if (quote == NULL) return OPEN;
    i = (size_t)(quote - r->bytes) + 1;
    if (i == r->length || r->bytes[i] != '"') {
      *at = i;
      break;
    }
    ++*quotes;
    i++;
  }
  return *at == r->length ? ROW : FIELD;
}

static ending take_field(const ath_source *self, const row *r, size_t *at, const char **bytes,
                         size_t *length, size_t *quotes) {
  *quotes = 0;
  bool quoted = self->delimiter != '\t' && *at < r->length && r->bytes[*at] == '"';
  size_t begin = *at + quoted;
  if (quoted) {
    ending end = take_quoted(r, at, quotes);
    if (end == OPEN) return OPEN;
    *length = *at - begin - 1;
    *bytes = r->bytes + begin;
    if (end == ROW) return ROW;
    return r->bytes[*at] == self->delimiter ? FIELD : WRONG;
  }
  const char *found = memchr(r->bytes + begin, self->delimiter, r->length - begin);
  *at = found != NULL ? (size_t)(found - r->bytes) : r->length;
  *bytes = r->bytes + begin;
  *length = *at - begin;
  return found != NULL ? FIELD : ROW;
}

/* "" becomes ". */
static ath_status join_quotes(const char *bytes, size_t length, ath_buffer *room) {
  ath_buffer_clear(room);
  for (size_t i = 0; i < length;) {
    const char *quote = memchr(bytes + i, '"', length - i);
    size_t end = quote != NULL ? (size_t)(quote - bytes) + 1 : length;
    ATH_TRY(ath_buffer_append(room, bytes + i, end - i));
    i = end + (quote != NULL);
  }
  return ATH_OK;
}

static ath_status keep(const char *bytes, size_t length, size_t quotes, ath_buffer *room,
                       const char **out, size_t *out_length) {
  *out = bytes;
  *out_length = length;
  if (quotes == 0) return ATH_OK;
  ATH_TRY(join_quotes(bytes, length, room));
  *out = room->bytes;
  *out_length = room->length;
  return ATH_OK;
}

/* --- one row ------------------------------------------------------------------------------- */

/* What a row's fields are shown to; NULL: only counted, and the two columns kept. */
typedef ath_status (*visitor)(void *context, const char *bytes, size_t length, size_t quotes);

/* Goes on at r->at. *open: the field there goes on behind the row. */
static ath_status cut(ath_source *self, row *r, visitor visit, void *context, bool *open) {
  for (size_t at = r->at;; at++) {
    const char *bytes;
    size_t length, quotes;
    r->at = at;
    ending end = take_field(self, r, &at, &bytes, &length, &quotes);
    *open = end == OPEN;
    if (end == OPEN) return ATH_OK;
    if (end == WRONG)
      return blame(self, r, at, ath_fail(ATH_INVALID, "behind a closing quote stands neither the "
                                         "delimiter nor the line's end; a quote inside a field is "
                                         "written twice"));
    if (visit != NULL) ATH_TRY(visit(context, bytes, length, quotes));
    if (r->columns == self->text_column)
      ATH_TRY(keep(bytes, length, quotes, &self->text, &r->text, &r->text_length));
    if (r->columns == self->label_column)
      ATH_TRY(keep(bytes, length, quotes, &self->label, &r->label, &r->label_length));
    r->columns++;
    if (self->columns > 0 && r->columns > self->columns) {
      while (end == FIELD) { /* how many there are */
        at++;
        end = take_field(self, r, &at, &bytes, &length, &quotes);
        r->columns++;
      }
      return fail_width(self, r, r->at);
    }
    if (end == ROW) break;
  }
  if (self->columns == 0 || r->columns == self->columns) return ATH_OK;
  return fail_width(self, r, r->length);
}

/* A kept field that lies in the row's bytes, which are about to move, gets a place of its own. */
static ath_status settle(ath_buffer *room, const char **bytes, size_t length) {
  if (*bytes == NULL || *bytes == room->bytes) return ATH_OK;
  ath_buffer_clear(room);
  ATH_TRY(ath_buffer_append(room, *bytes, length));
  *bytes = length > 0 ? room->bytes : "";
  return ATH_OK;
}

/* Puts the next line behind the row, the ending between them as it was; *line.bytes is NULL at the
 * file's end. */
static ath_status add_line(ath_source *self, row *r, ath_line *line) {
  ath_buffer *whole = &self->scratch;
  if (!r->joined) { /* the window it lies in is about to move */
    r->ending = (size_t)(r->first.next - r->first.at) - r->first.length;
    ath_buffer_clear(whole);
    ATH_TRY(ath_buffer_append(whole, r->bytes, r->length + r->ending));
    r->joined = true;
    r->bytes = whole->bytes;
  }
  ATH_TRY(ath_lines_next(self->lines, line));
  if (line->bytes == NULL) return ATH_OK;
  r->ending = (size_t)(line->next - line->at) - line->length;
  if (whole->length + line->length + r->ending > whole->maximum)
    return ath_fail(ATH_INVALID, "%s: line %llu: the row that begins here is longer than %d bytes",
                    self->path, (unsigned long long)r->first.number, ATH_DOCUMENT_MAX);
  ATH_TRY(ath_buffer_append(whole, line->bytes, line->length + r->ending));
  r->bytes = whole->bytes;
  r->length = whole->length - r->ending;
  r->next_at = line->next;
  r->next_line = line->number + 1;
  return ATH_OK;
}

/* Whether a field in quotes that was open before these bytes ends among them. */
static bool closes(const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    const char *quote = memchr(bytes + i, '"', length - i);
    if (quote == NULL) return false;
    i = (size_t)(quote - bytes) + 1;
    if (i == length || bytes[i] != '"') return true;
  }
  return false;
}

static ath_status complete(ath_source *self, row *r, visitor visit, void *context) {
  bool open;
  ATH_TRY(cut(self, r, visit, context, &open));
  while (open) {
    ath_line line;
    ATH_TRY(settle(&self->text, &r->text, r->text_length));
    ATH_TRY(settle(&self->label, &r->label, r->label_length));
    do ATH_TRY(add_line(self, r, &line));
    while (line.bytes != NULL && !closes(line.bytes, line.length));
    if (line.bytes == NULL)
      return blame(self, r, r->at, ath_fail(ATH_INVALID, "the quote that opens here is never "
                                            "closed"));
    ATH_TRY(cut(self, r, visit, context, &open));
  }
  return ATH_OK;
}

/* The next row that is not blank; its text is NULL at the file's end. After a fault reading goes on
 * with the line behind the row's first, unless it comes from a pipe. */
static ath_status read_row(ath_source *self, row *r, visitor visit, void *context) {
  do ATH_TRY(ath_lines_next(self->lines, &r->first));
  while (r->first.bytes != NULL && r->first.length == 0);
  *r = (row){.first = r->first, .bytes = r->first.bytes, .length = r->first.length,
             .next_at = r->first.next, .next_line = r->first.number + 1};
  if (r->bytes == NULL) return ATH_OK;
  ath_status status = complete(self, r, visit, context);
  if (status == ATH_OK || !r->joined) return status;
  ath_outcome fault;
  ath_outcome_keep(&fault, status);
  ath_status back = ath_lines_seek(self->lines, r->first.next, r->first.number + 1);
  (void)back;
  return ath_outcome_return(&fault);
}

/* --- columns ------------------------------------------------------------------------------- */

static const size_t NONE = SIZE_MAX;

/* The header, as it is read. */
typedef struct header {
  const ath_source *source;
  ath_buffer *room;
  size_t text, label, columns;
  char names[NAMES_TEXT_MAX]; /* for a message */
  size_t names_length;
} header;

static bool is_named(const char *wanted, const char *bytes, size_t length) {
  return wanted != NULL && strlen(wanted) == length && memcmp(wanted, bytes, length) == 0;
}

static ath_status see_name(void *context, const char *bytes, size_t length, size_t quotes) {
  header *self = context;
  const ath_reading *reading = self->source->reading;
  const char *wanted = reading->text_column != NULL ? reading->text_column : "text";
  if (self->columns == COLUMNS_MAX)
    return ath_fail(ATH_INVALID, "%s: more than %d columns", self->source->path, COLUMNS_MAX);
  ATH_TRY(keep(bytes, length, quotes, self->room, &bytes, &length));
  if (is_named(wanted, bytes, length) && self->text == NONE) self->text = self->columns;
  if (is_named(reading->label_column, bytes, length) && self->label == NONE)
    self->label = self->columns;
  if (self->names_length < sizeof self->names)
    self->names_length += (size_t)snprintf(
        self->names + self->names_length, sizeof self->names - self->names_length, "%s\"%.*s\"",
        self->columns > 0 ? ", " : "", (int)length, bytes);
  self->columns++;
  return ATH_OK;
}

static ath_status fail_no_column(const header *self, const char *name, const char *option) {
  const ath_source *source = self->source;
  bool one = self->columns == 1 && source->delimiter != '\t';
  if (name == NULL)
    return ath_fail(ATH_INVALID, "%s: line 1, column 1: which column has the text? There are: %s; "
                    "name it by %s", source->path, self->names, option);
  return ath_fail(ATH_INVALID, "%s: line 1, column 1: no column is named \"%s\"; there are: %s%s; "
                  "%s names another, and --no-header says that there are no names", source->path,
                  name, self->names, one ? " (if that is several, --delimiter says what is between "
                  "them)" : "", option);
}

static ath_status choose_columns(ath_source *self, header *h) {
  const ath_reading *reading = self->reading;
  bool single = h->columns == 1 && reading->label_column == NULL && reading->text_column == NULL;
  if (h->text == NONE && single) h->text = 0;
  if (h->text == NONE) return fail_no_column(h, reading->text_column, "--text-column");
  if (h->label == NONE && reading->label_column != NULL)
    return fail_no_column(h, reading->label_column, "--label-column");
  self->columns = h->columns;
  self->text_column = h->text;
  self->label_column = h->label;
  return ATH_OK;
}

/* A column by its number, where there are no names. */
static ath_status number_of(const char *text, const char *option, size_t *out) {
  char *end = NULL;
  *out = NONE;
  if (text == NULL) return ATH_OK;
  unsigned long number = strtoul(text, &end, 10);
  if (*text < '1' || *text > '9' || *end != '\0' || number > COLUMNS_MAX)
    return ath_fail(ATH_USAGE, "%s %s: with --no-header columns have numbers, from 1", option,
                    text);
  *out = number - 1;
  return ATH_OK;
}

/* --- the reader ---------------------------------------------------------------------------- */

static ath_status begin(ath_source *self) {
  const ath_reading *reading = self->reading;
  self->columns = 0;
  self->text_column = self->label_column = NONE;
  if (reading->no_header) {
    ATH_TRY(number_of(reading->text_column, "--text-column", &self->text_column));
    if (reading->text_column == NULL) self->text_column = 0; /* if it is the only one */
    ATH_TRY(number_of(reading->label_column, "--label-column", &self->label_column));
    return ath_source_open_lines(self);
  }
  ATH_TRY(ath_source_open_lines(self));
  header h = {.source = self, .room = &self->label, .text = NONE, .label = NONE};
  row r;
  ATH_TRY(read_row(self, &r, see_name, &h));
  if (r.bytes == NULL) return ATH_OK; /* empty: no names, and no rows */
  return choose_columns(self, &h);
}

/* The first row without names says how many columns there are. */
static ath_status take_width(ath_source *self, const row *r) {
  if (self->columns > 0) return ATH_OK;
  size_t most = self->text_column;
  if (self->reading->text_column == NULL && r->columns > 1)
    return blame(self, r, 0, ath_fail(ATH_INVALID, "which of the %zu columns has the text? "
                                      "--text-column N says it", r->columns));
  if (self->label_column != NONE && self->label_column > most) most = self->label_column;
  if (most >= r->columns)
    return blame(self, r, r->length, ath_fail(ATH_INVALID, "there is no column %zu: the row has "
                                              "%zu", most + 1, r->columns));
  self->columns = r->columns;
  return ATH_OK;
}

static ath_status seek(ath_source *self, uint64_t at, uint64_t line) {
  row r;
  if (self->columns == 0) {
    ATH_TRY(read_row(self, &r, NULL, NULL));
    if (r.bytes != NULL) ATH_TRY(take_width(self, &r));
  }
  return ath_source_seek_line(self, at, line);
}

static ath_status next(ath_source *self, ath_document *out) {
  row r;
  ATH_TRY(read_row(self, &r, NULL, NULL));
  if (r.bytes == NULL) return ATH_OK;
  ATH_TRY(take_width(self, &r));
  assert(r.text != NULL);
  *out = (ath_document){.text = r.text, .length = r.text_length, .label = r.label,
                        .label_length = r.label_length,
                        .place = {.at = r.first.at, .line = r.first.number},
                        .next = {.at = r.next_at, .line = r.next_line}};
  return ATH_OK;
}

const ath_reader ath_separated_reader = {"line", begin, seek, next};
