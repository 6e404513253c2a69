/* precompiled.c: SentencePiece's table of characters and what becomes of them.
 *
 * {"type": "Precompiled", "precompiled_charsmap": "…"}, base64 of
 *
 *   u32  size in bytes of the trie, little-endian
 *   u32… the trie: a double array as darts-clone makes it
 *   …    strings, each ended by a NUL, which the trie's values point to
 *
 * A unit of the trie: bit 31 and bits 0-7 its label, bit 8 whether a value hangs below, bits 10-30
 * the distance to its children, shifted by 8 where bit 9 is set. A unit that is a value has
 * bits 0-30.
 *
 * As in the reference, a grapheme of less than six bytes is looked up as a whole, and the shortest
 * entry that begins it replaces all of it; else each character is looked up. */
#include <nettle/base64.h>
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "tokenizers/characters.h"
#include "tokenizers/json_document.h"
#include "tokenizers/normalizers/forms.h"
#include "tokenizers/normalizers/kinds.h"
#include "tokenizers/normalizers/rewrite.h"

enum { GRAPHEME_MAX = 5, KNOWN_MARK = 0x300, ALONE_END = 0x10000 };

typedef struct precompiled {
  const char *base64;
  size_t base64_length;
  const uint32_t *units;
  size_t unit_count;
  const char *strings; /* NUL-terminated */
  size_t strings_length;
  bool plain[128];     /* ASCII that stays as it is */
  uint64_t alone[ALONE_END / 64]; /* bits for code points that stay, and are graphemes of their own
                                     between others of these */
} precompiled;

/* --- the table ------------------------------------------------------------------------------- */

/* The value of the shortest entry that begins the bytes; −1 if none does. */
static int64_t look_up(const precompiled *self, const char *bytes, size_t length) {
  if (self->unit_count == 0) return -1;
  uint32_t unit = self->units[0];
  size_t at = 0;
  for (size_t i = 0; i < length && bytes[i] != '\0'; i++) {
    at ^= (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6) ^ (uint8_t)bytes[i];
    if (at >= self->unit_count) return -1;
    unit = self->units[at];
    if ((unit & (1u << 31 | 0xFF)) != (uint8_t)bytes[i]) return -1;
    if ((unit & 1u << 8) == 0) continue;
    size_t leaf = at ^ (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
    return leaf < self->unit_count ? (int64_t)(self->units[leaf] & ~(1u << 31)) : -1;
  }
  return -1;
}

/* What becomes of some bytes; NULL where they stay. A value that points nowhere is no entry. */
static const char *replacement(const precompiled *self, const char *bytes, size_t length) {
  int64_t value = look_up(self, bytes, length);
  if (value < 0 || (size_t)value >= self->strings_length) return NULL;
  const char *string = self->strings + value;
  return ath_utf8_continues(string[0]) ? NULL : string;
}

/* Marks that Unicode got after version 15, utf8proc's, and the reference knows. */
static bool is_new_mark(utf8proc_int32_t c) {
  static const utf8proc_int32_t ranges[][2] = {
    {0x897, 0x897}, {0x1ACF, 0x1ADD}, {0x1AE0, 0x1AEB}, {0x10D69, 0x10D6D}, {0x10EFA, 0x10EFC},
    {0x113B8, 0x113C0}, {0x113C2, 0x113C2}, {0x113C5, 0x113C5}, {0x113C7, 0x113CA},
    {0x113CC, 0x113D0}, {0x113D2, 0x113D2}, {0x113E1, 0x113E2}, {0x11B60, 0x11B67},
    {0x11F5A, 0x11F5A}, {0x1611E, 0x1612F}, {0x1E5EE, 0x1E5EF}, {0x1E6E3, 0x1E6E3},
    {0x1E6E6, 0x1E6E6}, {0x1E6EE, 0x1E6EF}, {0x1E6F5, 0x1E6F5},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges && c >= ranges[i][0]; i++)
    if (c <= ranges[i][1]) return true;
  return false;
}

/* Two neighbours without any property that joins graphemes (UAX 29, GB999) are two graphemes. */
static void find_alone(precompiled *self) {
  for (uint32_t c = 0x80; c < ALONE_END; c++) {
    if (c >= 0xD800 && c < 0xE000) continue;
    char bytes[4];
    size_t length = ath_character_write(c, bytes);
    bool other = utf8proc_get_property((utf8proc_int32_t)c)->boundclass ==
                 UTF8PROC_BOUNDCLASS_OTHER;
    if (other && !is_new_mark((utf8proc_int32_t)c) && replacement(self, bytes, length) == NULL)
      self->alone[c / 64] |= UINT64_C(1) << (c & 63);
  }
}

static ath_status unpack(const ath_json *json, const uint8_t *blob, size_t size,
                         ath_arena *arena, precompiled *self) {
  size_t trie = 0;
  for (size_t i = 0; i < 4 && size >= 4; i++) trie |= (size_t)blob[i] << 8 * i;
  if (size < 4 || trie > size - 4 || trie % 4 != 0)
    return ath_json_fail(json, ATH_INVALID, "%zu bytes that do not hold the trie they announce",
                         size);
  const char *strings = (const char *)blob + 4 + trie;
  self->strings_length = size - 4 - trie;
  if (ath_utf8_prefix(strings, self->strings_length) != self->strings_length)
    return ath_json_fail(json, ATH_INVALID, "the strings are not UTF-8");
  self->unit_count = trie / 4;
  uint32_t *units = ath_arena_alloc(arena, (self->unit_count + 1) * sizeof *units);
  self->strings = ath_arena_string_n(arena, strings, self->strings_length);
  if (units == NULL || self->strings == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < self->unit_count; i++) {
    const uint8_t *u = blob + 4 + 4 * i;
    units[i] = (uint32_t)u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
  }
  self->units = units;
  return ATH_OK;
}

/* Groups of four letters that stand for themselves are many; what is left, and all that is odd, is
 * nettle's. */
static bool decode(const char *text, size_t length, uint8_t *out, size_t *size) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint8_t values[256];
  memset(values, 0xFF, sizeof values);
  for (unsigned i = 0; i < 64; i++) values[(uint8_t)letters[i]] = (uint8_t)i;
  const uint8_t *at = (const uint8_t *)text, *end = at + length;
  uint8_t *to = out;
  for (; end - at >= 8; at += 4, to += 3) {
    uint8_t a = values[at[0]], b = values[at[1]], c = values[at[2]], d = values[at[3]];
    if ((a | b | c | d) > 63) break;
    to[0] = (uint8_t)(a << 2 | b >> 4);
    to[1] = (uint8_t)(b << 4 | c >> 2);
    to[2] = (uint8_t)(c << 6 | d);
  }
  struct base64_decode_ctx context;
  size_t left = (size_t)(end - at);
  *size = BASE64_DECODE_LENGTH(left);
  base64_decode_init(&context);
  if (!base64_decode_update(&context, size, to, left, (const char *)at)) return false;
  *size += (size_t)(to - out);
  return base64_decode_final(&context) != 0;
}

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "precompiled_charsmap", NULL};
  ath_json_check_keys(json, known);
  ath_json map = ath_json_member(json, "precompiled_charsmap");
  precompiled *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ATH_TRY(ath_json_document_string(&map, &self->base64, &self->base64_length));
  self->base64 = ath_arena_string_n(arena, self->base64, self->base64_length);
  uint8_t *blob = ath_arena_alloc(arena, BASE64_DECODE_LENGTH(self->base64_length) + 1);
  if (self->base64 == NULL || blob == NULL) return ATH_NO_MEMORY;
  size_t size;
  if (!decode(self->base64, self->base64_length, blob, &size))
    return ath_json_fail(&map, ATH_INVALID, "not base64");
  ATH_TRY(unpack(&map, blob, size, arena, self));
  for (int c = 0; c < 128; c++) {
    char byte = (char)c;
    self->plain[c] = replacement(self, &byte, 1) == NULL;
  }
  find_alone(self);
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const precompiled *self = data;
  ath_json_put_string(out, "precompiled_charsmap", self->base64, self->base64_length);
}

/* --- rewriting ------------------------------------------------------------------------------- */

/* Where new characters came from is counted off along the old ones, up to byte `eaten` so far. It
 * falls behind the place that is read, for good, where a text begins with characters that vanish:
 * the reference has no character before them to count them to. */
typedef struct progress {
  const precompiled *map;
  const ath_text *text;
  ath_rewrite out;
  size_t eaten;
  bool begun;    /* something was written or kept */
  bool inserted; /* the last that was written took no old character */
} progress;

static void eat(progress *self, size_t count) {
  for (size_t i = 0; i < count; i++) {
    assert(self->eaten < self->text->length);
    self->eaten += ath_character_length(self->text->bytes[self->eaten]);
  }
}

/* Leaves text[from, to) as it is. */
static ath_status keep(progress *self, size_t from, size_t to) {
  if (from == to) return ATH_OK;
  self->begun = true;
  self->inserted = false;
  if (self->eaten == from) {
    self->eaten = to;
    return ATH_OK;
  }
  while (from < to) {
    size_t length = ath_character_length(self->text->bytes[from]);
    ATH_TRY(ath_rewrite_put(&self->out, from, from + length, self->text->bytes + from, length,
                            ath_text_origin(self->text, self->eaten)));
    eat(self, 1);
    from += length;
  }
  return ATH_OK;
}

/* Counts old characters that nothing replaces to the new one before them; if that took none yet, it
 * now comes from the first of these. */
static void vanish(progress *self, size_t count) {
  ath_text_buffer *out = self->out.out;
  if (self->inserted && self->out.run->track) {
    ath_origin origin = ath_text_origin(self->text, self->eaten);
    size_t at = out->length;
    do out->origins[--at] = origin;
    while (ath_utf8_continues(out->bytes[at]));
  }
  self->inserted = false;
  eat(self, count);
}

/* Each new character takes an old one while there are any; those left over go with the last. */
static ath_status replace(progress *self, size_t from, size_t to, const char *content) {
  size_t old = ath_utf8_count(self->text->bytes + from, to - from), taken = 0;
  ATH_TRY(ath_rewrite_put(&self->out, from, to, NULL, 0, (ath_origin){0, 0}));
  while (*content != '\0') {
    size_t length = ath_character_length(*content);
    size_t place = self->eaten;
    if (taken >= old) /* with the one before */
      do place--;
      while (ath_utf8_continues(self->text->bytes[place]));
    ATH_TRY(ath_text_insert(self->out.run, self->out.out, content, length,
                            ath_text_origin(self->text, place)));
    self->inserted = taken >= old;
    if (taken < old) eat(self, 1);
    taken++;
    self->begun = true;
    content += length;
  }
  if (taken < old && self->begun) vanish(self, old - taken);
  return ATH_OK;
}

bool ath_graphemes_part(uint32_t before, uint32_t after) {
  utf8proc_int32_t next = (utf8proc_int32_t)after;
  return utf8proc_grapheme_break((utf8proc_int32_t)before, is_new_mark(next) ? KNOWN_MARK : next);
}

/* Where the grapheme (UAX 29) that begins at `at` ends. */
static size_t grapheme_end(const ath_text *text, size_t at) {
  utf8proc_int32_t state = 0;
  utf8proc_int32_t last = (utf8proc_int32_t)ath_character_at(text->bytes, at);
  for (at += ath_character_length(text->bytes[at]); at < text->length;) {
    utf8proc_int32_t c = (utf8proc_int32_t)ath_character_at(text->bytes, at);
    if (is_new_mark(c)) c = KNOWN_MARK;
    if (utf8proc_grapheme_break_stateful(last, c, &state)) break;
    last = c;
    at += ath_character_length(text->bytes[at]);
  }
  return at;
}

static ath_status rewrite_grapheme(progress *self, size_t from, size_t to) {
  const char *bytes = self->text->bytes, *whole = NULL;
  if (to - from <= GRAPHEME_MAX) whole = replacement(self->map, bytes + from, to - from);
  if (whole != NULL) return replace(self, from, to, whole);
  while (from < to) {
    size_t end = from + ath_character_length(bytes[from]);
    const char *content = replacement(self->map, bytes + from, end - from);
    if (content != NULL) ATH_TRY(replace(self, from, end, content));
    else ATH_TRY(keep(self, from, end));
    from = end;
  }
  return ATH_OK;
}

/* How many of the first bytes are characters that stay, each a grapheme of its own; the last of
 * them only where nothing follows. */
static size_t alone_prefix(const precompiled *self, const char *bytes, size_t length) {
  size_t last = 0;
  for (size_t at = 0; at < length;) {
    uint32_t c = ath_character_at(bytes, at);
    if (c >= ALONE_END || (self->alone[c / 64] >> (c & 63) & 1) == 0) return last;
    last = at;
    at += ath_character_length(bytes[at]);
  }
  return length;
}

/* How many of the first bytes are ASCII that stays, and no part of a grapheme with what follows. */
static size_t plain_prefix(const precompiled *self, const char *bytes, size_t length) {
  size_t at = 0;
  while (at < length && (uint8_t)bytes[at] < 0x80 && self->plain[(uint8_t)bytes[at]] &&
         bytes[at] != '\r')
    at++;
  return at > 0 && at < length && (uint8_t)bytes[at] >= 0x80 ? at - 1 : at;
}

static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  progress self = {data, text, ath_rewrite_begin(run, text), 0, false, false};
  for (size_t at = 0; at < text->length;) {
    size_t plain = plain_prefix(self.map, text->bytes + at, text->length - at);
    ATH_TRY(keep(&self, at, at + plain));
    at += plain;
    size_t alone = alone_prefix(self.map, text->bytes + at, text->length - at);
    ATH_TRY(keep(&self, at, at + alone));
    at += alone;
    if (at == text->length) break;
    size_t end = grapheme_end(text, at);
    ATH_TRY(rewrite_grapheme(&self, at, end));
    at = end;
  }
  return ath_rewrite_end(&self.out, text);
}

static ath_keeping keeps(const void *data, uint8_t character) {
  const precompiled *self = data;
  bool stays = character >= 0x20 && self->plain[character];
  return stays ? ATH_KEEPS_AS_GRAPHEME : ATH_KEEPS_NOTHING;
}

const ath_normalizer_kind ath_normalizer_precompiled = {
    {"Precompiled", read, write}, apply, keeps, NULL};
