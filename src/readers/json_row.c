/* json_row.c: walking through one JSON value by its grammar (RFC 8259), once. Most of a row is one
 * long string, and most strings have no escapes: they are passed over by memchr. */
#include "readers/json_row.h"

#include <string.h>

enum { DEPTH_MAX = 512 };

typedef struct walk {
  const char *at, *end;
  int depth;
} walk;

static void skip_space(walk *w) {
  while (w->at < w->end && (*w->at == ' ' || *w->at == '\t' || *w->at == '\n' || *w->at == '\r'))
    w->at++;
}

static bool take(walk *w, char c) {
  if (w->at == w->end || *w->at != c) return false;
  w->at++;
  return true;
}

static bool take_word(walk *w, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(w->end - w->at) < n || memcmp(w->at, word, n) != 0) return false;
  w->at += n;
  return true;
}

/* --- strings ------------------------------------------------------------------------------- */

static bool has_control(const char *bytes, size_t length) {
  unsigned char low = 0; /* without a branch in it, so that it is done many bytes at a time */
  for (size_t i = 0; i < length; i++) low |= (unsigned char)bytes[i] < 0x20;
  return low != 0;
}

/* Passes over a string; what is between its quotes goes to *bytes. */
static bool take_string(walk *w, const char **bytes, size_t *length, bool *escaped) {
  if (!take(w, '"')) return false;
  *bytes = w->at;
  *escaped = false;
  const char *quote = NULL;
  for (const char *from = w->at;;) {
    if (quote == NULL || quote < from) quote = memchr(from, '"', (size_t)(w->end - from));
    if (quote == NULL) return false;
    const char *slash = memchr(from, '\\', (size_t)(quote - from));
    if (slash == NULL) {
      *length = (size_t)(quote - *bytes);
      w->at = quote + 1;
      return !has_control(*bytes, *length);
    }
    *escaped = true;
    if (slash + 2 > w->end) return false;
    from = slash + 2;
  }
}

static int four_digits(const char *at, const char *end) {
  int value = 0;
  if (end - at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    char c = at[i];
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

static ath_status append_code_point(ath_buffer *out, unsigned c) {
  char bytes[4];
  size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned leads[] = {0, 0xC0, 0xE0, 0xF0};
  bytes[0] = (char)(leads[n - 1] | (c >> (6 * (n - 1))));
  for (size_t i = 1; i < n; i++) bytes[i] = (char)(0x80 | ((c >> (6 * (n - 1 - i))) & 0x3F));
  return ath_buffer_append(out, bytes, n);
}

/* `at` is behind "\u"; *good: it is a code point, whose digits `at` is then behind. */
static ath_status append_unicode(const char **at, const char *end, ath_buffer *out, bool *good) {
  int c = four_digits(*at, end);
  *good = c >= 0 && !(c >= 0xDC00 && c < 0xE000);
  if (!*good) return ATH_OK;
  *at += 4;
  if (c < 0xD800 || c >= 0xE000) return append_code_point(out, (unsigned)c);
  int low = end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' ? four_digits(*at + 2, end) : -1;
  *good = low >= 0xDC00 && low < 0xE000;
  if (!*good) return ATH_OK;
  *at += 6;
  unsigned high = (unsigned)c - 0xD800;
  return append_code_point(out, 0x10000 + (high << 10) + ((unsigned)low - 0xDC00));
}

/* What a string says whose escapes were not looked at yet. */
static ath_status unescape(const char *bytes, size_t length, ath_buffer *out, bool *good) {
  const char *at = bytes, *end = bytes + length;
  ath_buffer_clear(out);
  for (*good = true; *good && at < end;) {
    const char *slash = memchr(at, '\\', (size_t)(end - at));
    if (slash == NULL) slash = end;
    ATH_TRY(ath_buffer_append(out, at, (size_t)(slash - at)));
    if (slash == end) break;
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    at = slash + 2;
    const char *found = slash[1] != '\0' ? strchr(names, slash[1]) : NULL;
    if (found != NULL) ATH_TRY(ath_buffer_byte(out, values[found - names]));
    else if (slash[1] == 'u') ATH_TRY(append_unicode(&at, end, out, good));
    else *good = false;
  }
  return ATH_OK;
}

/* --- other values -------------------------------------------------------------------------- */

static bool take_digits(walk *w) {
  const char *from = w->at;
  while (w->at < w->end && *w->at >= '0' && *w->at <= '9') w->at++;
  return w->at > from;
}

static bool take_number(walk *w) {
  take(w, '-');
  if (!take(w, '0') && !take_digits(w)) return false;
  if (take(w, '.') && !take_digits(w)) return false;
  if (take(w, 'e') || take(w, 'E')) {
    if (!take(w, '+')) take(w, '-');
    return take_digits(w);
  }
  return true;
}

static ath_status take_value(walk *w, ath_buffer *room, bool *good);

/* A string that nobody looks for still has to be one. */
static ath_status pass_string(walk *w, ath_buffer *room, bool *good) {
  const char *bytes;
  size_t length;
  bool escaped;
  *good = take_string(w, &bytes, &length, &escaped);
  return *good && escaped ? unescape(bytes, length, room, good) : ATH_OK;
}

/* Elements or members, behind the opening bracket. */
static ath_status take_rest(walk *w, char close, ath_buffer *room, bool *good) {
  *good = ++w->depth <= DEPTH_MAX;
  skip_space(w);
  bool empty = *good && take(w, close), more = *good && !empty;
  while (more) {
    skip_space(w);
    if (close == '}') {
      ATH_TRY(pass_string(w, room, good));
      skip_space(w);
      *good = *good && take(w, ':');
    }
    if (*good) ATH_TRY(take_value(w, room, good));
    skip_space(w);
    more = *good && take(w, ',');
    if (*good && !more) *good = take(w, close);
  }
  w->depth--;
  return ATH_OK;
}

static ath_status take_value(walk *w, ath_buffer *room, bool *good) {
  skip_space(w);
  if (w->at < w->end && *w->at == '"') return pass_string(w, room, good);
  if (take(w, '{')) return take_rest(w, '}', room, good);
  if (take(w, '[')) return take_rest(w, ']', room, good);
  *good = take_word(w, "true") || take_word(w, "false") || take_word(w, "null") || take_number(w);
  return ATH_OK;
}

/* --- the row ------------------------------------------------------------------------------- */

/* Names with escapes are rare, and compared as what they say. */
static ath_status find_member(walk *w, ath_json_member *members, size_t count,
                              ath_buffer *scratch, ath_json_member **out, bool *good) {
  const char *name;
  size_t length;
  bool escaped;
  *out = NULL;
  *good = take_string(w, &name, &length, &escaped);
  if (*good && escaped) {
    ATH_TRY(unescape(name, length, scratch, good));
    name = scratch->bytes != NULL ? scratch->bytes : "";
    length = scratch->length;
  }
  for (size_t i = 0; *good && i < count; i++)
    if (members[i].name_length == length && memcmp(members[i].name, name, length) == 0)
      *out = &members[i];
  return ATH_OK;
}

static ath_status take_member(walk *w, ath_json_member *member, ath_buffer *scratch, bool *good) {
  skip_space(w);
  if (member == NULL) return take_value(w, scratch, good);
  const char *from = w->at;
  bool escaped;
  if (w->at < w->end && *w->at == '"') {
    member->kind = ATH_JSON_STRING;
    *good = take_string(w, &member->bytes, &member->length, &escaped);
    if (!*good || !escaped) return ATH_OK;
    ATH_TRY(unescape(member->bytes, member->length, member->room, good));
    member->bytes = member->room->bytes != NULL ? member->room->bytes : "";
    member->length = member->room->length;
    return ATH_OK;
  }
  member->kind = w->at < w->end && *w->at == 'n' ? ATH_JSON_NULL : ATH_JSON_OTHER;
  ATH_TRY(take_value(w, scratch, good));
  member->bytes = from;
  member->length = (size_t)(w->at - from);
  return ATH_OK;
}

static ath_status take_members(walk *w, ath_json_member *members, size_t count,
                               ath_buffer *scratch, bool *good) {
  skip_space(w);
  *good = take(w, '{');
  skip_space(w);
  bool more = *good && !take(w, '}');
  while (more) {
    ath_json_member *member;
    skip_space(w);
    ATH_TRY(find_member(w, members, count, scratch, &member, good));
    skip_space(w);
    *good = *good && take(w, ':');
    if (*good) ATH_TRY(take_member(w, member, scratch, good));
    skip_space(w);
    more = *good && take(w, ',');
    if (*good && !more) *good = take(w, '}');
  }
  skip_space(w);
  *good = *good && w->at == w->end;
  return ATH_OK;
}

ath_status ath_json_row(const char *bytes, size_t length, ath_json_member *members, size_t count,
                        ath_buffer *scratch, bool *good) {
  walk w = {.at = bytes, .end = bytes + length};
  for (size_t i = 0; i < count; i++) members[i].kind = ATH_JSON_ABSENT;
  return take_members(&w, members, count, scratch, good);
}
