/* metaspace.c: spaces made visible, and text cut before each of them: pre-tokeniser and decoder.
 *
 * {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}
 *
 * "a  b" becomes ▁a ▁ ▁b. Old files say add_prefix_space (true: always, false: never) and may
 * carry str_rep, which repeats the replacement. */
#include <string.h>

#include "tokenizers/decoders/kinds.h"
#include "tokenizers/pre_tokenizers/kinds.h"

typedef enum scheme { ALWAYS, FIRST, NEVER, SCHEME_COUNT } scheme;
static const char *const scheme_names[SCHEME_COUNT] = {"always", "first", "never"};

typedef struct metaspace {
  char mark[5]; /* the replacement: one character, in UTF-8 */
  size_t mark_length;
  scheme prepend;
  bool split;
} metaspace;

/* --- tokenizer.json ------------------------------------------------------------------------ */

/* One character; as a string of JSON it is well-formed UTF-8. */
static ath_status read_mark(const ath_json *json, metaspace *self) {
  const char *bytes;
  ATH_TRY(ath_json_string(json, &bytes, &self->mark_length));
  if (self->mark_length == 0 || self->mark_length != ath_character_length(bytes[0]))
    return ath_json_fail(json, ATH_INVALID, "expected one character, found \"%.40s\"", bytes);
  assert(self->mark_length < sizeof self->mark);
  memcpy(self->mark, bytes, self->mark_length);
  return ATH_OK;
}

/* The old flag and the new name may both be there, if they agree. */
static ath_status read_scheme(const ath_json *json, metaspace *self) {
  ath_json member = ath_json_member(json, "prepend_scheme");
  ath_json old = ath_json_member(json, "add_prefix_space");
  self->prepend = ALWAYS;
  if (member.value != NULL) {
    const char *name;
    size_t length;
    ATH_TRY(ath_json_string(&member, &name, &length));
    int s = 0;
    while (s < SCHEME_COUNT && strcmp(name, scheme_names[s]) != 0) s++;
    if (s == SCHEME_COUNT)
      return ath_json_fail(&member, ATH_INVALID,
                           "\"%.40s\" is not one of always, first, never", name);
    self->prepend = (scheme)s;
  }
  bool add = true;
  if (!ath_json_absent(&old)) ATH_TRY(ath_json_flag(&old, &add));
  if (add) return ATH_OK;
  if (member.value != NULL && self->prepend != NEVER)
    return ath_json_fail(&old, ATH_INVALID, "false, but prepend_scheme is \"%s\"",
                         scheme_names[self->prepend]);
  self->prepend = NEVER;
  return ATH_OK;
}

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "replacement", "prepend_scheme", "split",
                                      "add_prefix_space", "str_rep", NULL};
  ath_json_check_keys(json, known);
  metaspace *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json mark = ath_json_member(json, "replacement");
  ATH_TRY(read_mark(&mark, self));
  ATH_TRY(read_scheme(json, self));
  self->split = true;
  ath_json split = ath_json_member(json, "split");
  if (!ath_json_absent(&split)) ATH_TRY(ath_json_flag(&split, &self->split));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const metaspace *self = data;
  ath_json_put_string(out, "replacement", self->mark, self->mark_length);
  ath_json_put_text(out, "prepend_scheme", scheme_names[self->prepend]);
  ath_json_put_flag(out, "split", self->split);
}

/* --- cutting ------------------------------------------------------------------------------- */

static bool begins_with_mark(const metaspace *self, const char *bytes, size_t length) {
  return length >= self->mark_length && memcmp(bytes, self->mark, self->mark_length) == 0;
}

/* Whether a mark has to be put in front of the text. */
static bool wants_prefix(const metaspace *self, const ath_text *text) {
  assert(text->length > 0);
  if (self->prepend == NEVER) return false;
  if (self->prepend == FIRST && text->start != 0) return false;
  return text->bytes[0] != ' ' && !begins_with_mark(self, text->bytes, text->length);
}

/* The highest bit of each byte of x that is zero. */
static uint64_t zero_bytes(uint64_t x) {
  return ~(((x & UINT64_C(0x7F7F7F7F7F7F7F7F)) + UINT64_C(0x7F7F7F7F7F7F7F7F)) | x |
           UINT64_C(0x7F7F7F7F7F7F7F7F));
}

static uint64_t spread(char byte) { return UINT64_C(0x0101010101010101) * (uint8_t)byte; }

/* How many of the eight bytes come before the first that is a space or may begin a mark. */
static size_t plain_bytes(const metaspace *self, uint64_t eight) {
  uint64_t found = zero_bytes(eight ^ spread(' ')) | zero_bytes(eight ^ spread(self->mark[0]));
  if (found == 0) return 8;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return (size_t)__builtin_ctzll(found) / 8;
#else
  return (size_t)__builtin_clzll(found) / 8;
#endif
}

/* Where the run of bytes from `at` on ends that neither is a space nor begins a mark. A text that
 * holds marks already is cut before them too. */
static size_t word_end(const metaspace *self, const ath_text *text, size_t at) {
  const char *bytes = text->bytes;
  while (at < text->length) {
    uint64_t eight;
    if (text->length - at >= sizeof eight) {
      memcpy(&eight, bytes + at, sizeof eight);
      size_t plain = plain_bytes(self, eight);
      at += plain;
      if (plain == sizeof eight) continue;
    }
    if (bytes[at] == ' ') break;
    if (bytes[at] == self->mark[0] && begins_with_mark(self, bytes + at, text->length - at))
      break;
    at++;
  }
  return at;
}

/* Hands over the word that was put together, if there is one, and begins another. */
static ath_status give(ath_run *run, ath_text_buffer *buffer, ath_sink next) {
  if (buffer->length == 0) return ATH_OK;
  ath_text word = ath_text_of(run, buffer);
  buffer->length = 0;
  return next.take(next.context, run, &word);
}

static ath_status cut(const metaspace *self, ath_run *run, const ath_text *text,
                      ath_text_buffer *word, ath_sink next) {
  if (wants_prefix(self, text))
    ATH_TRY(ath_text_insert(run, word, self->mark, self->mark_length, ath_text_origin(text, 0)));
  for (size_t at = 0; at < text->length;) {
    size_t end = word_end(self, text, at);
    assert(end >= at && end <= text->length);
    ATH_TRY(ath_text_append(run, word, text, at, end));
    at = end;
    if (at == text->length) break;
    if (self->split) ATH_TRY(give(run, word, next));
    size_t length = text->bytes[at] == ' ' ? 1 : self->mark_length;
    ATH_TRY(ath_text_insert(run, word, self->mark, self->mark_length, ath_text_origin(text, at)));
    at += length;
  }
  return give(run, word, next);
}

/* One word at a time is put together in the run's buffer, so that it stays in the nearest cache
 * however long the text is. */
static ath_status split(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  assert(text->length > 0);
  ath_text_buffer *word = ath_run_open_word(run);
  ath_status status = cut(data, run, text, word, next);
  ath_run_close_word(run);
  return status;
}

/* "first" asks whether a text begins where the input begins, which only origins tell. */
static bool needs_origins(const void *data) {
  return ((const metaspace *)data)->prepend == FIRST;
}

/* Whatever follows a space, no mark is put in front of it. */
static ath_border border(const void *data, uint8_t character) {
  const metaspace *self = data;
  bool cuts = self->split && self->prepend != FIRST && character == ' ';
  return cuts ? ATH_BORDER_BEGINS : ATH_NO_BORDER;
}

/* --- back to text -------------------------------------------------------------------------- */

/* Marks become spaces; those of the first piece go, unless none was put in front. */
static ath_status decode(const void *data, const ath_pieces *in, ath_pieces *out) {
  const metaspace *self = data;
  const char *bytes = in->bytes.bytes;
  ath_buffer piece = ath_buffer_make(in->bytes.maximum);
  ath_status status = ATH_OK;
  for (size_t i = 0, at = 0; i < in->count; i++) {
    ath_buffer_clear(&piece);
    while (at < in->ends[i]) {
      bool mark = begins_with_mark(self, bytes + at, in->ends[i] - at);
      if (!mark) ATH_TRY_GOTO(ath_buffer_byte(&piece, bytes[at]), done);
      else if (i > 0 || self->prepend == NEVER)
        ATH_TRY_GOTO(ath_buffer_byte(&piece, ' '), done);
      at += mark ? self->mark_length : 1;
    }
    ATH_TRY_GOTO(ath_pieces_add(out, piece.bytes, piece.length), done);
  }
done:
  ath_buffer_free(&piece);
  return status;
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_metaspace = {
    {"Metaspace", read, write}, split, needs_origins, border};
const ath_decoder_kind ath_decoder_metaspace = {{"Metaspace", read, write}, decode};
