/* scanners.c: GPT-2's pattern and its descendants, scanned by the classes of their characters.
 *
 * Every alternative of these patterns is a run of one class of characters, with something in front
 * or behind, so that what a match is follows from the character it begins with. Runs of ASCII
 * letters, of which most text is made, are read sixteen at once. */
#include "tokenizers/scanners.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "tokenizers/characters.h"
#include "tokenizers/patterns.h"
#include "tokenizers/unicode_classes.h"

enum contractions { NONE, LOWER, ANY_CASE, ANY_ASCII_CASE };

enum {
  LETTERS = ATH_SET_LETTERS,
  OTHERS = ATH_SET_OTHER | ATH_SET_MARK, /* [^\s\p{L}\p{N}] */
  UPPERS = ATH_SET_UPPER | ATH_SET_TITLE,
  BOTH = ATH_SET_MODIFIER | ATH_SET_LETTER | ATH_SET_MARK, /* of either case */
};

/* --- characters ---------------------------------------------------------------------------- */

static bool is_ascii_letter(char byte) {
  return (uint8_t)((uint8_t)(byte | 0x20) - 'a') < 26;
}

/* The set of the character that begins at `at`, and where it ends. */
static unsigned set_at(const char *bytes, size_t at, size_t *end) {
  uint8_t byte = (uint8_t)bytes[at];
  if (byte < 0x80) {
    *end = at + 1;
    return ath_set_of(byte);
  }
  *end = at + (byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4);
  return ath_set_of(ath_character_at(bytes, at));
}

/* The same where there may be no character: the empty set. */
static unsigned set_within(const char *bytes, size_t length, size_t at, size_t *end) {
  *end = at;
  return at < length ? set_at(bytes, at, end) : 0;
}

/* Where the run of characters of these classes ends that goes on at `at`. */
static size_t run_end(const char *bytes, size_t length, size_t at, unsigned set) {
  size_t end;
  while (at < length && (set_at(bytes, at, &end) & set) != 0) at = end;
  return at;
}

/* Where a run of ASCII letters ends, of small ones if `fold` is 0, of any if it is 0x20. */
static inline size_t ascii_letters_end(const char *bytes, size_t length, size_t at, char fold) {
#ifdef __SSE2__
  const __m128i shift = _mm_set1_epi8((char)('a' + 128)), bit = _mm_set1_epi8(fold);
  const __m128i limit = _mm_set1_epi8((char)(26 - 128));
  while (length - at >= 16) {
    __m128i sixteen = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at));
    __m128i place = _mm_sub_epi8(_mm_or_si128(sixteen, bit), shift); /* of a: −128 */
    unsigned letters = (unsigned)_mm_movemask_epi8(_mm_cmplt_epi8(place, limit));
    if (letters != 0xFFFF) return at + (size_t)__builtin_ctz(~letters);
    at += 16;
  }
#endif
  while (at < length && (uint8_t)((bytes[at] | fold) - 'a') < 26) at++;
  return at;
}

static size_t letters_end(const char *bytes, size_t length, size_t at) {
  at = ascii_letters_end(bytes, length, at, 0x20);
  size_t end;
  while (at < length && (uint8_t)bytes[at] >= 0x80) {
    if ((set_at(bytes, at, &end) & LETTERS) == 0) return at;
    at = end;
    if (at < length && is_ascii_letter(bytes[at])) at = ascii_letters_end(bytes, length, at, 0x20);
  }
  return at;
}

/* Where at most `most` numbers end, 0: any count. The first of them has been seen to end there. */
static size_t numbers_end(const char *bytes, size_t length, size_t first_end, int most) {
  size_t at = first_end, end;
  for (int count = 1; (most == 0 || count < most) && at < length; count++) {
    if ((set_at(bytes, at, &end) & ATH_SET_NUMBER) == 0) break;
    at = end;
  }
  return at;
}

static bool is_line_end(char byte) { return byte == '\r' || byte == '\n'; }

/* --- parts of matches ----------------------------------------------------------------------- */

/* The bytes of 's 't 're 've 'm 'll 'd at `at`, 0 when none is there. Without regard to case an s
 * may be U+017F, the long s, unless the pattern names the cases. */
static size_t contraction(int kind, const char *bytes, size_t length, size_t at) {
  if (kind == NONE || length - at < 2 || bytes[at] != '\'') return 0;
  int fold = kind == LOWER ? 0 : 0x20;
  bool longer = length - at >= 3;
  int first = bytes[at + 1] | fold, second = longer ? bytes[at + 2] | fold : 0;
  switch (first) {
    case 's': case 't': case 'm': case 'd': return 2;
    case 'r': case 'v': return second == 'e' ? 3 : 0;
    case 'l': return second == 'l' ? 3 : 0;
    default: break;
  }
  bool long_s = kind == ANY_CASE && longer && memcmp(bytes + at + 1, "\u017F", 2) == 0;
  return long_s ? 3 : 0;
}

/* Where the character begins that ends at `end`. */
static size_t last_character(const char *bytes, size_t end) {
  do end--;
  while (((uint8_t)bytes[end] & 0xC0) == 0x80);
  return end;
}

/* White space up to `end`: all of it where the text ends there; else its last character is left
 * for what follows, unless it is the only one. */
static size_t spaces_end(const char *bytes, size_t length, size_t at, size_t end) {
  if (end == length) return end;
  size_t last = last_character(bytes, end);
  return last > at ? last : end;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ */
static size_t spaces_and_lines_end(const char *bytes, size_t length, size_t at) {
  size_t end = run_end(bytes, length, at, ATH_SET_SPACE);
  assert(end > at);
  for (size_t line = end; line > at; line--)
    if (is_line_end(bytes[line - 1])) return line;
  return spaces_end(bytes, length, at, end);
}

/* Where a word of a few ASCII letters ends that begins at `at`, which may be preceded by a space,
 * when that is plain to see: most words of most texts. `at` itself when it is not. */
static inline size_t plain_word_end(const char *bytes, size_t length, size_t at) {
#ifdef __SSE2__
  if (length - at <= 16) return at;
  const __m128i shift = _mm_set1_epi8((char)('a' + 128)), bit = _mm_set1_epi8(0x20);
  __m128i sixteen = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at));
  __m128i place = _mm_sub_epi8(_mm_or_si128(sixteen, bit), shift); /* of a: −128 */
  __m128i letters = _mm_cmplt_epi8(place, _mm_set1_epi8((char)(26 - 128)));
  size_t end = at + (size_t)__builtin_ctz(~(unsigned)_mm_movemask_epi8(letters));
  return end < at + 16 && (uint8_t)bytes[end] < 0x80 ? end : at;
#else
  (void)bytes, (void)length;
  return at;
#endif
}

/* --- GPT-2 ---------------------------------------------------------------------------------- */

/* The run of letters, numbers or others that begins at `at`; `at` itself where none does. */
static size_t gpt2_run_end(const char *bytes, size_t length, size_t at) {
  if (at == length) return at;
  if (is_ascii_letter(bytes[at])) return letters_end(bytes, length, at);
  size_t end;
  unsigned set = set_at(bytes, at, &end);
  if (set & LETTERS) return letters_end(bytes, length, end);
  if (set & ATH_SET_NUMBER) return numbers_end(bytes, length, end, 0);
  return set & OTHERS ? run_end(bytes, length, end, OTHERS) : at;
}

size_t ath_scan_gpt2(const char *bytes, size_t length, size_t at) {
  assert(at < length);
  size_t start = at + (bytes[at] == ' ');
  size_t end = plain_word_end(bytes, length, start);
  if (end > start) return end;
  end = at + contraction(LOWER, bytes, length, at);
  if (end > at) return end;
  end = gpt2_run_end(bytes, length, start);
  if (end > start) return end;
  return spaces_end(bytes, length, at, run_end(bytes, length, start, ATH_SET_SPACE));
}

size_t ath_scan_gpt2_spaced(const char *bytes, size_t length) {
  size_t end = gpt2_run_end(bytes, length, 0);
  if (end > 0) return end;
  end = run_end(bytes, length, 0, ATH_SET_SPACE);
  return end == length ? end : last_character(bytes, end);
}

static size_t scan_gpt2(const ath_scanner *self, const char *bytes, size_t length, size_t *at) {
  (void)self;
  return *at < length ? ath_scan_gpt2(bytes, length, *at) : 0;
}

/* --- cl100k, Llama 3, Qwen 2 ----------------------------------------------------------------- */

static size_t scan_cl100k(const ath_scanner *self, const char *bytes, size_t length,
                          size_t *place) {
  size_t at = *place;
  if (at >= length) return 0;
  size_t start = at + (bytes[at] == ' '), end = plain_word_end(bytes, length, start);
  if (end > start) return end;
  size_t found = contraction(self->contractions, bytes, length, at);
  if (found > 0) return at + found;
  size_t first_end;
  unsigned set = set_at(bytes, at, &first_end);
  if (set & LETTERS) return letters_end(bytes, length, at);
  if (set & ATH_SET_NUMBER) return numbers_end(bytes, length, first_end, self->digits);
  unsigned next = set_within(bytes, length, first_end, &end);
  if ((next & LETTERS) && !is_line_end(bytes[at])) return letters_end(bytes, length, first_end);
  if ((set & OTHERS) || (bytes[at] == ' ' && (next & OTHERS))) {
    end = run_end(bytes, length, first_end, OTHERS);
    while (end < length && is_line_end(bytes[end])) end++;
    return end;
  }
  return spaces_and_lines_end(bytes, length, at);
}

/* The newer spelling: white space up to the text's end is one match, line ends or not. */
static size_t scan_cl100k_newer(const ath_scanner *self, const char *bytes, size_t length,
                                size_t *place) {
  if (*place < length && run_end(bytes, length, *place, ATH_SET_SPACE) == length) return length;
  return scan_cl100k(self, bytes, length, place);
}

/* --- o200k ---------------------------------------------------------------------------------- */

/* Of the letters and marks from `at` on: [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]* followed by
 * [\p{Ll}\p{Lm}\p{Lo}\p{M}]+; 0 when there is no such match. Where the capitals are not followed
 * by a small letter, they give back all after the last character that can be both. */
static size_t small_end(const char *bytes, size_t length, size_t at) {
  size_t after_both = 0, end;
  unsigned set;
  while (at < length && (uint8_t)(bytes[at] - 'A') < 26) at++;
  end = ascii_letters_end(bytes, length, at, 0);
  if (end > at) return run_end(bytes, length, end, ATH_SET_LOWER | BOTH);
  while (((set = set_within(bytes, length, at, &end)) & (UPPERS | BOTH)) != 0) {
    at = end;
    if (set & BOTH) after_both = at;
  }
  if ((set & ATH_SET_LOWER) == 0) return after_both;
  return run_end(bytes, length, end, ATH_SET_LOWER | BOTH);
}

/* [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]* where the above has no match: the
 * run of capitals. */
static size_t capital_end(const char *bytes, size_t length, size_t at) {
  size_t end = run_end(bytes, length, at, UPPERS);
  return end > at ? end : 0;
}

/* The match of the first two alternatives at `at`, whose first character is in `set` and ends at
 * `first_end`; 0: none. */
static size_t word_end(const char *bytes, size_t length, size_t at, unsigned set,
                       size_t first_end) {
  bool may_lead = (set & (LETTERS | ATH_SET_NUMBER)) == 0 && !is_line_end(bytes[at]);
  size_t end = may_lead ? small_end(bytes, length, first_end) : 0;
  if (end == 0) end = small_end(bytes, length, at);
  if (end == 0 && may_lead) end = capital_end(bytes, length, first_end);
  return end > 0 ? end : capital_end(bytes, length, at);
}

static size_t scan_o200k(const ath_scanner *self, const char *bytes, size_t length,
                         size_t *place) {
  size_t at = *place;
  if (at >= length) return 0;
  size_t first_end, end;
  unsigned set = set_at(bytes, at, &first_end);
  end = word_end(bytes, length, at, set, first_end);
  if (end > 0) return end + contraction(self->contractions, bytes, length, end);
  if (set & ATH_SET_NUMBER) return numbers_end(bytes, length, first_end, self->digits);
  unsigned next = set_within(bytes, length, first_end, &end);
  if ((set & OTHERS) || (bytes[at] == ' ' && (next & OTHERS))) {
    end = run_end(bytes, length, first_end, OTHERS);
    while (end < length && (is_line_end(bytes[end]) || bytes[end] == '/')) end++;
    return end;
  }
  return spaces_and_lines_end(bytes, length, at);
}

/* --- CLIP ----------------------------------------------------------------------------------- */

/* The match at `at`, which is no white space. */
static size_t clip_end(const char *bytes, size_t length, size_t at) {
  static const char *const marks[] = {"<|startoftext|>", "<|endoftext|>"};
  for (int i = 0; bytes[at] == '<' && i < 2; i++) {
    size_t size = strlen(marks[i]);
    if (length - at >= size && memcmp(bytes + at, marks[i], size) == 0) return at + size;
  }
  size_t found = contraction(LOWER, bytes, length, at), end;
  if (found > 0) return at + found;
  unsigned set = set_at(bytes, at, &end);
  if (set & LETTERS) return letters_end(bytes, length, at);
  if (set & ATH_SET_NUMBER) return end;
  return run_end(bytes, length, end, OTHERS);
}

static size_t scan_clip(const ath_scanner *self, const char *bytes, size_t length, size_t *at) {
  (void)self;
  *at = run_end(bytes, length, *at, ATH_SET_SPACE);
  return *at < length ? clip_end(bytes, length, *at) : 0;
}

/* --- runs of one class ---------------------------------------------------------------------- */

static size_t scan_spaces(const ath_scanner *self, const char *bytes, size_t length, size_t *at) {
  (void)self;
  for (size_t end; *at < length; *at = end)
    if (set_at(bytes, *at, &end) & ATH_SET_SPACE)
      return run_end(bytes, length, end, ATH_SET_SPACE);
  return 0;
}

/* Up to `digits` numbers. */
static size_t scan_numbers(const ath_scanner *self, const char *bytes, size_t length, size_t *at) {
  for (size_t end; *at < length; *at = end)
    if (set_at(bytes, *at, &end) & ATH_SET_NUMBER)
      return numbers_end(bytes, length, end, self->digits);
  return 0;
}

/* Three of 0 to 9, Falcon's. */
static size_t scan_three_digits(const ath_scanner *self, const char *bytes, size_t length,
                                size_t *at) {
  size_t count = 0;
  for (size_t i = *at; i < length; i++) {
    count = (uint8_t)(bytes[i] - '0') < 10 ? count + 1 : 0;
    if (count == (size_t)self->digits) {
      *at = i + 1 - count;
      return i + 1;
    }
  }
  *at = length;
  return 0;
}

/* --- the patterns ---------------------------------------------------------------------------- */

#define GPT2_REST "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define GPT2_NEWER_REST \
  "| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s"
#define BOTH_CASES "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"

static const ath_scanner scanners[] = {
  {"'s|'t|'re|'ve|'m|'ll|'d" GPT2_REST, scan_gpt2, 0, LOWER},
  {"'(?:[sdmt]|ll|ve|re)" GPT2_REST, scan_gpt2, 0, LOWER},
  {"'(?:[sdmt]|ll|ve|re)" GPT2_NEWER_REST, scan_gpt2, 0, LOWER},
  {ATH_PATTERN_CL100K_OLDER("\\p{N}{1,3}"), scan_cl100k, 3, ANY_CASE},
  {ATH_PATTERN_CL100K, scan_cl100k_newer, 3, ANY_CASE},
  {ATH_FOLDED_SHORT ATH_CL100K_NEWER_REST("\\p{N}{1,3}+"), scan_cl100k_newer, 0, ANY_CASE},
  {ATH_FOLDED_SHORT ATH_CL100K_REST("\\p{N}{1,3}"), scan_cl100k, 3, ANY_CASE},
  {BOTH_CASES ATH_CL100K_REST("\\p{N}{1,3}"), scan_cl100k, 3, ANY_ASCII_CASE},
  {ATH_PATTERN_CL100K_OLDER("\\p{N}"), scan_cl100k, 1, ANY_CASE},
  {BOTH_CASES ATH_CL100K_REST("\\p{N}"), scan_cl100k, 1, ANY_ASCII_CASE},
  {ATH_PATTERN_O200K, scan_o200k, 3, ANY_CASE},
  {"<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|"
   "[^\\s\\p{L}\\p{N}]+", scan_clip, 1, LOWER},
  {"\\s+", scan_spaces, 0, NONE},
  {"\\p{N}", scan_numbers, 1, NONE},
  {"\\p{N}{1,3}", scan_numbers, 3, NONE},
  {"[0-9][0-9][0-9]", scan_three_digits, 3, NONE},
};

const ath_scanner *ath_scanners(size_t *count) {
  *count = sizeof scanners / sizeof *scanners;
  return scanners;
}

const ath_scanner *ath_scanner_find(const char *pattern, size_t length) {
  for (size_t i = 0; i < sizeof scanners / sizeof *scanners; i++)
    if (strlen(scanners[i].pattern) == length && memcmp(scanners[i].pattern, pattern, length) == 0)
      return &scanners[i];
  return NULL;
}
