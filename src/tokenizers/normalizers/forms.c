/* forms.c: NFC, NFD, NFKC, NFKD: characters taken apart, put in canonical order, put together.
 *
 * {"type": "NFC"}, …
 *
 * A text is in its form as long as no character is met that may have to change; such a character is
 * dealt with together with what stands around it, from one starter that changes nothing to the next
 * (a segment). The rest is not touched.
 *
 * Where characters came from follows the reference, with its one rule for all rewriting: the new
 * characters go along the old ones, each taking `eats` of them. One that eats none came from where
 * the last one came from; one that eats several counts as the first of them. Only a Hangul
 * syllable, put together from its letters, covers them all, where the reference is wrong. */
#include "tokenizers/normalizers/forms.h"

#include <string.h>
#include <utf8proc.h>

#include "tokenizers/character_tables.h"
#include "tokenizers/characters.h"
#include "tokenizers/normalizers/kinds.h"
#include "tokenizers/normalizers/rewrite.h"

enum { LEAD = 0x1100, VOWEL = 0x1161, TAIL = 0x11A7, SYLLABLE = 0xAC00,
       LEADS = 19, VOWELS = 21, TAILS = 28, SYLLABLES = 11172,
       PARTS_MAX = 32 };

typedef struct part {
  uint32_t c;
  uint32_t eats; /* characters of the text */
  uint8_t combining;
  bool joined; /* a syllable that was put together here */
} part;

typedef struct normalizing {
  ath_form form;
  bool composes, compatible;
  unsigned unstable; /* the flag of characters that may have to change */
  ath_run *run;
  const ath_text *text;
  ath_rewrite out;
} normalizing;

static bool is_syllable(uint32_t c) { return c >= SYLLABLE && c < SYLLABLE + SYLLABLES; }

static bool may_change(const normalizing *self, uint32_t c, const ath_character_record *record) {
  return (record->flags & self->unstable) != 0 || (!self->composes && is_syllable(c));
}

/* --- taking apart ---------------------------------------------------------------------------- */

static size_t split_syllable(uint32_t c, uint32_t *out) {
  uint32_t index = c - SYLLABLE, tail = index % TAILS;
  out[0] = LEAD + index / (VOWELS * TAILS);
  out[1] = VOWEL + index % (VOWELS * TAILS) / TAILS;
  out[2] = TAIL + tail;
  return tail > 0 ? 3 : 2;
}

/* The full decomposition of one character. Those that the tables know are the same in every version
 * of Unicode since. */
static size_t take_apart(const normalizing *self, uint32_t c, uint32_t out[PARTS_MAX]) {
  unsigned flag = self->compatible ? ATH_IS_COMPATIBLE : ATH_IS_CANONICAL;
  out[0] = c;
  if (is_syllable(c)) return split_syllable(c, out);
  if ((ath_character_look_up(c)->flags & flag) == 0) return 1;
  int options = UTF8PROC_DECOMPOSE | (self->compatible ? UTF8PROC_COMPAT : 0), state = 0;
  utf8proc_int32_t parts[PARTS_MAX];
  utf8proc_ssize_t count = utf8proc_decompose_char((utf8proc_int32_t)c, parts, PARTS_MAX,
                                                   (utf8proc_option_t)options, &state);
  assert(count > 0 && count <= PARTS_MAX);
  for (utf8proc_ssize_t i = 0; i < count; i++) out[i] = (uint32_t)parts[i];
  return (size_t)count;
}

/* Takes text[from, to) apart. With `parts` NULL it only counts. */
static size_t decompose(const normalizing *self, size_t from, size_t to, part *parts) {
  size_t count = 0;
  while (from < to) {
    uint32_t apart[PARTS_MAX];
    size_t n = take_apart(self, ath_character_at(self->text->bytes, from), apart);
    for (size_t i = 0; i < n && parts != NULL; i++)
      parts[count + i] = (part){apart[i], i == 0, ath_character_look_up(apart[i])->combining,
                                false};
    count += n;
    from += ath_character_length(self->text->bytes[from]);
  }
  return count;
}

/* --- canonical order ------------------------------------------------------------------------- */

/* Few marks in a row are put in order by insertion, many by counting, for linear time. */
static void order_marks(part *marks, size_t count, part *spare) {
  enum { MANY = 24 };
  if (count <= MANY) {
    for (size_t i = 1; i < count; i++) {
      part mark = marks[i];
      size_t j = i;
      for (; j > 0 && marks[j - 1].combining > mark.combining; j--) marks[j] = marks[j - 1];
      marks[j] = mark;
    }
    return;
  }
  size_t places[257] = {0};
  for (size_t i = 0; i < count; i++) places[marks[i].combining + 1]++;
  for (size_t v = 0; v < 256; v++) places[v + 1] += places[v];
  for (size_t i = 0; i < count; i++) spare[places[marks[i].combining]++] = marks[i];
  memcpy(marks, spare, count * sizeof *marks);
}

static void order(part *parts, size_t count, part *spare) {
  for (size_t i = 0; i < count;) {
    size_t end = i;
    while (end < count && parts[end].combining != 0) end++;
    if (end - i > 1) order_marks(parts + i, end - i, spare);
    i = end + 1;
  }
}

/* --- putting together ------------------------------------------------------------------------ */

/* The primary composite of two characters, 0 if there is none. */
static uint32_t pair(uint32_t a, uint32_t b) {
  if (a >= LEAD && a < LEAD + LEADS && b >= VOWEL && b < VOWEL + VOWELS)
    return SYLLABLE + ((a - LEAD) * VOWELS + (b - VOWEL)) * TAILS;
  if (is_syllable(a) && (a - SYLLABLE) % TAILS == 0 && b > TAIL && b < TAIL + TAILS)
    return a + (b - TAIL);
  if ((ath_character_look_up(b)->flags & ATH_IS_UNSTABLE_NFC) == 0) return 0;
  utf8proc_int32_t both[3] = {(utf8proc_int32_t)a, (utf8proc_int32_t)b, 0};
  if (utf8proc_normalize_utf32(both, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) != 1) return 0;
  uint32_t c = (uint32_t)both[0]; /* which must be one that the reference's Unicode has */
  return (ath_character_look_up(c)->flags & ATH_IS_CANONICAL) != 0 ? c : 0;
}

static size_t compose(part *parts, size_t count) {
  part *starter = NULL;
  size_t kept = 0;
  int last = -1; /* combining class of what stands between; −1 for nothing */
  for (size_t i = 0; i < count; i++) {
    part p = parts[i];
    uint32_t joined = starter != NULL && last < (int)p.combining ? pair(starter->c, p.c) : 0;
    if (joined != 0) {
      starter->c = joined;
      starter->eats += p.eats;
      starter->joined = is_syllable(joined);
      continue;
    }
    parts[kept] = p;
    last = p.combining;
    if (p.combining == 0) {
      starter = &parts[kept];
      last = -1;
    }
    kept++;
  }
  return kept;
}

/* --- a segment ------------------------------------------------------------------------------- */

/* Whether the parts are what the text has there already. */
static bool is_unchanged(const normalizing *self, size_t from, size_t to, const part *parts,
                         size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (from >= to || ath_character_at(self->text->bytes, from) != parts[i].c) return false;
    from += ath_character_length(self->text->bytes[from]);
  }
  return from == to;
}

/* Passes the next `count` characters; gives where they came from, or where the last one did if
 * they are none. */
static ath_origin eat(const normalizing *self, size_t *at, const part *p) {
  const ath_text *text = self->text;
  if (p->eats == 0) return *at > 0 ? ath_text_origin(text, *at - 1) : (ath_origin){0, 0};
  ath_origin origin = ath_text_origin(text, *at);
  for (uint32_t i = 0; i < p->eats; i++) {
    if (p->joined) origin.end = ath_text_origin(text, *at).end;
    *at += ath_character_length(text->bytes[*at]);
  }
  return origin;
}

static ath_status write_parts(normalizing *self, size_t from, size_t to, const part *parts,
                              size_t count) {
  ATH_TRY(ath_rewrite_put(&self->out, from, to, NULL, 0, (ath_origin){0, 0}));
  for (size_t i = 0; i < count; i++) {
    char bytes[4];
    ath_origin origin = {0, 0};
    if (self->run->track) origin = eat(self, &from, &parts[i]);
    ATH_TRY(ath_text_insert(self->run, self->out.out, bytes,
                            ath_character_write(parts[i].c, bytes), origin));
  }
  return ATH_OK;
}

static ath_status normalize(normalizing *self, size_t from, size_t to) {
  enum { FEW = 64 };
  part few[FEW], *parts = few;
  size_t count = decompose(self, from, to, NULL);
  if (count > FEW / 2) {
    parts = ath_run_scratch(self->run, ATH_SCRATCH_FORM, count * 2 * sizeof *parts);
    if (parts == NULL) return ATH_NO_MEMORY;
  }
  decompose(self, from, to, parts);
  order(parts, count, parts + count);
  if (self->composes) count = compose(parts, count);
  if (is_unchanged(self, from, to, parts, count)) return ATH_OK;
  return write_parts(self, from, to, parts, count);
}

/* Where the segment that byte `at` belongs to ends: before the next starter that stays. */
static size_t segment_end(const normalizing *self, size_t at) {
  while (at < self->text->length && (uint8_t)self->text->bytes[at] >= 0x80) {
    uint32_t c = ath_character_at(self->text->bytes, at);
    const ath_character_record *record = ath_character_look_up(c);
    if (record->combining == 0 && !may_change(self, c, record)) break;
    at += ath_character_length(self->text->bytes[at]);
  }
  return at;
}

ath_status ath_normal_form(ath_run *run, ath_form form, ath_text *text) {
  static const unsigned unstable[] = {ATH_IS_UNSTABLE_NFC, ATH_IS_CANONICAL,
                                      ATH_IS_UNSTABLE_NFKC, ATH_IS_COMPATIBLE};
  normalizing self = {form, form == ATH_NFC || form == ATH_NFKC,
                      form == ATH_NFKC || form == ATH_NFKD, unstable[form], run, text,
                      ath_rewrite_begin(run, text)};
  size_t starter = 0; /* the last one that changes nothing */
  int last = 0;       /* combining class before `at` */
  for (size_t at = 0; at < text->length;) {
    size_t plain = ath_ascii_prefix(text->bytes + at, text->length - at);
    if (plain > 0) {
      starter = at + plain - 1;
      last = 0;
      at += plain;
      continue;
    }
    uint32_t c = ath_character_at(text->bytes, at);
    const ath_character_record *record = ath_character_look_up(c);
    if (may_change(&self, c, record) || (record->combining != 0 && record->combining < last)) {
      size_t end = segment_end(&self, at);
      ATH_TRY(normalize(&self, starter, end));
      starter = at = end;
      last = 0;
      continue;
    }
    if (record->combining == 0) starter = at;
    last = record->combining;
    at += ath_character_length(text->bytes[at]);
  }
  return ath_rewrite_end(&self.out, text);
}

/* ASCII is never decomposed and nothing moves across it. Some of it is composed with what follows,
 * as = with a stroke; a space is not, nor is it what something else becomes a part of. */
static ath_keeping keeping_of(ath_form form, uint8_t character) {
  bool composes = form == ATH_NFC || form == ATH_NFKC;
  return composes && character != ' ' ? ATH_KEEPS_AS_GRAPHEME : ATH_KEEPS_APART;
}

#define FORM_KIND(form, name)                                                        \
  static ath_status apply_##name(const void *data, ath_run *run, ath_text *text) {   \
    (void)data;                                                                      \
    return ath_normal_form(run, form, text);                                         \
  }                                                                                  \
  static ath_keeping keeps_##name(const void *data, uint8_t character) {             \
    (void)data;                                                                      \
    return keeping_of(form, character);                                              \
  }                                                                                  \
  const ath_normalizer_kind ath_normalizer_##name = {                                \
      {&#form[4], ath_read_nothing, ath_write_nothing}, apply_##name, keeps_##name, NULL}

FORM_KIND(ATH_NFC, nfc);
FORM_KIND(ATH_NFD, nfd);
FORM_KIND(ATH_NFKC, nfkc);
FORM_KIND(ATH_NFKD, nfkd);
