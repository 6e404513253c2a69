/* bert.c: BERT's normaliser: control characters cleaned away, spaces around Chinese characters,
 * accents and capitals taken off.
 *
 * {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
 *  "strip_accents": null, "lowercase": true}
 *
 * strip_accents null means: as lowercase does. The first pass cleans, sets Chinese apart and makes
 * ASCII small, so that for ASCII it is the only one. */
#include <string.h>

#include "tokenizers/character_tables.h"
#include "tokenizers/characters.h"
#include "tokenizers/normalizers/forms.h"
#include "tokenizers/normalizers/kinds.h"
#include "tokenizers/normalizers/rewrite.h"

typedef enum choice { AS_LOWERCASE, NO, YES } choice;

typedef struct bert {
  bool clean, chinese, lower;
  choice accents;
  uint8_t becomes[128]; /* what an ASCII character becomes; DROPPED */
} bert;

enum { DROPPED = 0xFF };

static ath_status read_accents(const ath_json *json, bert *self) {
  ath_json accents = ath_json_member(json, "strip_accents");
  bool strip;
  self->accents = AS_LOWERCASE;
  if (ath_json_absent(&accents)) return ATH_OK;
  ATH_TRY(ath_json_required_flag(&accents, &strip));
  self->accents = strip ? YES : NO;
  return ATH_OK;
}

static void fill_table(bert *self) {
  for (uint32_t c = 0; c < 128; c++) {
    unsigned flags = ath_character_look_up(c)->flags;
    self->becomes[c] = (uint8_t)c;
    if (self->lower && c >= 'A' && c <= 'Z') self->becomes[c] = (uint8_t)(c | 0x20);
    if (self->clean && (flags & ATH_IS_WHITE_SPACE) != 0) self->becomes[c] = ' ';
    if (self->clean && (flags & ATH_IS_CONTROL) != 0) self->becomes[c] = DROPPED;
  }
}

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "clean_text", "handle_chinese_chars",
                                      "strip_accents", "lowercase", NULL};
  ath_json_check_keys(json, known);
  bert *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json clean = ath_json_member(json, "clean_text");
  ath_json chinese = ath_json_member(json, "handle_chinese_chars");
  ath_json lower = ath_json_member(json, "lowercase");
  ATH_TRY(ath_json_required_flag(&clean, &self->clean));
  ATH_TRY(ath_json_required_flag(&chinese, &self->chinese));
  ATH_TRY(ath_json_required_flag(&lower, &self->lower));
  ATH_TRY(read_accents(json, self));
  fill_table(self);
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const bert *self = data;
  ath_json_put_flag(out, "clean_text", self->clean);
  ath_json_put_flag(out, "handle_chinese_chars", self->chinese);
  if (self->accents == AS_LOWERCASE) ath_json_put_null(out, "strip_accents");
  else ath_json_put_flag(out, "strip_accents", self->accents == YES);
  ath_json_put_flag(out, "lowercase", self->lower);
}

/* --- ASCII ----------------------------------------------------------------------------------- */

typedef uint8_t bytes16 __attribute__((vector_size(16)));

static bool is_zero(bytes16 v) {
  uint64_t halves[2];
  memcpy(halves, &v, sizeof halves);
  return (halves[0] | halves[1]) == 0;
}

/* Writes what the sixteen bytes become, unless some need a closer look. */
static bool sixteen(const bert *self, const char *from, char *to) {
  bytes16 v;
  memcpy(&v, from, sizeof v);
  if (!is_zero((bytes16)((v < 0x20) | (v >= 0x7F)))) return false;
  if (self->lower) v |= (bytes16)(v - 'A' < 26) & 0x20;
  memcpy(to, &v, sizeof v);
  return true;
}

/* Writes ASCII text[from, to) at the end of `out`, which has room. */
static void put_ascii(const bert *self, const ath_run *run, const ath_text *text, size_t from,
                      size_t to, ath_text_buffer *out) {
  char *end = out->bytes + out->length;
  ath_origin *origins = run->track ? out->origins + out->length : NULL;
  while (from < to) {
    if (origins == NULL && to - from >= 16 && sixteen(self, text->bytes + from, end)) {
      from += 16;
      end += 16;
      continue;
    }
    size_t stop = to - from > 16 ? from + 16 : to;
    for (; from < stop; from++) {
      uint8_t c = self->becomes[(uint8_t)text->bytes[from]];
      if (c == DROPPED) continue;
      *end++ = (char)c;
      if (origins == NULL) continue;
      *origins++ = text->origins != NULL ? text->origins[from] :
          (ath_origin){text->start + (uint32_t)from, text->start + (uint32_t)from + 1};
    }
  }
  out->length = (size_t)(end - out->bytes);
}

/* How many of the first bytes are ASCII that stays as it is. */
static size_t unchanged_ascii(const bert *self, const char *bytes, size_t length) {
  size_t at = 0;
  char ignored[16];
  bytes16 v;
  while (!self->lower && length - at >= 16 && sixteen(self, bytes + at, ignored)) at += 16;
  for (; self->lower && length - at >= 16; at += 16) {
    memcpy(&v, bytes + at, sizeof v);
    if (!is_zero((bytes16)((v < 0x20) | (v >= 0x7F) | (v - 'A' < 26)))) break;
  }
  while (at < length && (uint8_t)bytes[at] < 0x80 && self->becomes[(uint8_t)bytes[at]] ==
         (uint8_t)bytes[at])
    at++;
  return at;
}

/* --- the first pass -------------------------------------------------------------------------- */

static ath_status put_other(const bert *self, ath_rewrite *out, size_t at, size_t end) {
  unsigned flags = ath_character_look_up(ath_character_at(out->text->bytes, at))->flags;
  if (self->clean && (flags & ATH_IS_CONTROL) != 0)
    return ath_rewrite_character(out, at, end, NULL, 0);
  if (self->clean && (flags & ATH_IS_WHITE_SPACE) != 0)
    return ath_rewrite_character(out, at, end, " ", 1);
  if (!self->chinese || (flags & ATH_IS_CHINESE) == 0) return ATH_OK;
  char spaced[6] = " ";
  memcpy(spaced + 1, out->text->bytes + at, end - at);
  spaced[1 + end - at] = ' ';
  return ath_rewrite_character(out, at, end, spaced, end - at + 2);
}

/* Sets *ascii to whether all of the text was. */
static ath_status clean(const bert *self, ath_run *run, ath_text *text, bool *ascii) {
  ath_rewrite out = ath_rewrite_begin(run, text);
  *ascii = true;
  for (size_t at = 0; at < text->length;) {
    size_t count = unchanged_ascii(self, text->bytes + at, text->length - at);
    at += count;
    count = ath_ascii_prefix(text->bytes + at, text->length - at);
    if (count > 0) {
      ATH_TRY(ath_rewrite_copy(&out, at));
      ATH_TRY(ath_text_reserve(run, out.out, count));
      put_ascii(self, run, text, at, at + count, out.out);
      out.copied = at += count;
    }
    if (at == text->length) break;
    *ascii = false;
    size_t end = at + ath_character_length(text->bytes[at]);
    ATH_TRY(put_other(self, &out, at, end));
    at = end;
  }
  return ath_rewrite_end(&out, text);
}

static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  const bert *self = data;
  bool ascii;
  ATH_TRY(clean(self, run, text, &ascii));
  if (ascii) return ATH_OK;
  if (self->accents == YES || (self->accents == AS_LOWERCASE && self->lower)) {
    ATH_TRY(ath_normal_form(run, ATH_NFD, text));
    ATH_TRY(ath_strip_characters(run, text, ATH_IS_NONSPACING));
  }
  return self->lower ? ath_lower_case(run, text) : ATH_OK;
}

/* What is decomposed and stripped is so from one ASCII character to the next. */
static ath_keeping keeps(const void *data, uint8_t character) {
  const bert *self = data;
  return self->becomes[character] == character ? ATH_KEEPS_APART : ATH_KEEPS_NOTHING;
}

/* The later passes do not change Chinese characters, but for those that are decomposed. */
static bool sets_apart(const void *data, uint32_t character) {
  unsigned flags = ath_character_look_up(character)->flags;
  bool cleaned = (flags & (ATH_IS_CONTROL | ATH_IS_WHITE_SPACE)) != 0;
  return ((const bert *)data)->chinese && (flags & ATH_IS_CHINESE) != 0 && !cleaned;
}

const ath_normalizer_kind ath_normalizer_bert = {
    {"BertNormalizer", read, write}, apply, keeps, sets_apart};
