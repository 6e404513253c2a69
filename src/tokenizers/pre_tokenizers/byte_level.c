/* byte_level.c: text cut by GPT-2's pattern, and its bytes written as characters that are visible.
 *
 * {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
 *
 * "a é" becomes a ĠÃ©. `trim_offsets` is the post-processor's matter, and only kept here. */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/byte_level.h"
#include "tokenizers/pre_tokenizers/cutter.h"
#include "tokenizers/pre_tokenizers/kinds.h"
#include "tokenizers/scanners.h"

/* Each letter of a character's bytes comes from the whole character. */
static void write_origins(ath_origin *out, const ath_text *text, size_t from, size_t to) {
  while (from < to) {
    ath_origin origin = ath_text_origin(text, from);
    size_t end = from + ath_character_length(text->bytes[from]);
    for (; from < end; from++)
      for (int i = 0; i < ath_byte_letters[(uint8_t)text->bytes[from]].length; i++)
        *out++ = origin;
  }
}

enum { PLAIN_MAX = 16 };

/* Most words are a few visible characters of ASCII, which stand for themselves: they are copied at
 * once. False, with nothing written that counts, for others. As many bytes can be read and written
 * as the longest plain word has. */
static bool write_plain(char *out, const char *bytes, size_t length) {
#ifdef __SSE2__
  if (length > PLAIN_MAX) return false;
  __m128i all = _mm_loadu_si128((const __m128i *)(const void *)bytes);
  __m128i visible = _mm_and_si128(_mm_cmpgt_epi8(all, _mm_set1_epi8(0x20)),
                                  _mm_cmplt_epi8(all, _mm_set1_epi8(0x7F)));
  _mm_storeu_si128((__m128i *)(void *)out, all);
  unsigned others = ~(unsigned)_mm_movemask_epi8(visible);
  return (others & ((1u << length) - 1)) == 0;
#else
  (void)out, (void)bytes, (void)length;
  return false;
#endif
}

/* Appends the letters of text[from, to) to a word; room was made for them. */
static void append(ath_run *run, ath_text_buffer *word, const ath_text *text, size_t from,
                   size_t to) {
  if (from < to && text->bytes[from] == ' ') {
    const ath_byte_letter *letter = &ath_byte_letters[' '];
    if (run->track) write_origins(word->origins + word->length, text, from, from + 1);
    memcpy(word->bytes + word->length, letter->utf8, sizeof letter->utf8);
    word->length += letter->length;
    from++;
  }
  char *out = word->bytes + word->length;
  bool plain = text->length - from >= PLAIN_MAX && write_plain(out, text->bytes + from, to - from);
  if (run->track && plain && text->origins == NULL) {
    uint32_t start = text->start + (uint32_t)from;
    for (uint32_t i = 0; i < to - from; i++)
      word->origins[word->length + i] = (ath_origin){start + i, start + i + 1};
  } else if (run->track) {
    write_origins(word->origins + word->length, text, from, to);
  }
  char *end = out + (to - from);
  if (!plain) end = ath_write_byte_letters(out, text->bytes + from, to - from);
  word->length = (size_t)(end - word->bytes);
}

/* Hands over the word text[from, to), with a space in front that comes from where the first
 * character does. */
static ath_status give_letters(ath_run *run, ath_text_buffer *word, const ath_text *text,
                               size_t from, size_t to, bool space, ath_sink next) {
  assert(from <= to && to <= text->length && (space || from < to));
  word->length = 0;
  if (space) {
    const ath_byte_letter *letter = &ath_byte_letters[' '];
    ATH_TRY(ath_text_insert(run, word, letter->utf8, letter->length, ath_text_origin(text, 0)));
  }
  ATH_TRY(ath_text_reserve(run, word, 2 * (to - from)));
  append(run, word, text, from, to);
  ath_text piece = {.bytes = word->bytes, .length = word->length};
  if (run->track) {
    piece.origins = word->origins;
    piece.start = word->origins[0].start;
  }
  return next.take(next.context, run, &piece);
}

/* The same, left in bytes: most words are parts of the text, as they stand. */
static ath_status give_raw(ath_run *run, ath_text_buffer *word, const ath_text *text, size_t from,
                           size_t to, bool space, ath_sink next) {
  ath_text piece = ath_text_slice(text, from, to);
  if (space) {
    word->length = 0;
    ATH_TRY(ath_text_insert(run, word, " ", 1, ath_text_origin(text, 0)));
    ATH_TRY(ath_text_append(run, word, text, from, to));
    piece = ath_text_of(run, word);
  }
  return next.take(next.context, run, &piece);
}

/* The words from `at` on, many at once. */
static ath_status cut_raw(ath_run *run, const ath_text *text, size_t at, ath_sink next) {
  ath_words words;
  words.text = text;
  words.count = 0;
  while (at < text->length) {
    size_t from = at;
    at = ath_scan_gpt2(text->bytes, text->length, from);
    words.places[words.count++] = (ath_origin){(uint32_t)from, (uint32_t)at};
    if (words.count < ATH_WORDS_MAX) continue;
    ATH_TRY(ath_sink_take_words(next, run, &words));
    words.count = 0;
  }
  return words.count > 0 ? ath_sink_take_words(next, run, &words) : ATH_OK;
}

static ath_status cut(const ath_byte_level *self, ath_run *run, ath_text_buffer *word,
                      const ath_text *text, ath_sink next) {
  bool space = self->add_prefix_space && text->bytes[0] != ' ';
  ath_status (*give)(ath_run *, ath_text_buffer *, const ath_text *, size_t, size_t, bool,
                     ath_sink) = run->raw ? give_raw : give_letters;
  if (!self->use_regex) return give(run, word, text, 0, text->length, space, next);
  size_t at = 0;
  if (space) {
    at = ath_scan_gpt2_spaced(text->bytes, text->length);
    ATH_TRY(give(run, word, text, 0, at, true, next));
  }
  if (run->raw) return cut_raw(run, text, at, next);
  while (at < text->length) {
    size_t from = at;
    at = ath_scan_gpt2(text->bytes, text->length, from);
    ATH_TRY(give(run, word, text, from, at, false, next));
  }
  return ATH_OK;
}

static ath_status split(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  assert(text->length > 0);
  ath_text_buffer *word = ath_run_open_word(run);
  ath_status status = cut(data, run, word, text, next);
  ath_run_close_word(run);
  return status;
}

/* How often ByteLevel is among the steps of a part, and whether the last step is one. */
static size_t count_steps(ath_part part, bool *last) {
  const ath_sequence *sequence = ath_part_sequence(part);
  if (sequence == NULL) return *last = part.kind == &ath_pre_tokenizer_byte_level.base;
  size_t count = 0;
  for (size_t i = 0; i < sequence->count; i++) count += count_steps(sequence->items[i], last);
  return count;
}

bool ath_byte_level_comes_last(const ath_pre_tokenizer *pre_tokenizer) {
  bool last = false;
  if (pre_tokenizer->kind == NULL) return false;
  ath_part part = {&pre_tokenizer->kind->base, pre_tokenizer->data};
  return count_steps(part, &last) == 1 && last;
}

bool ath_byte_level_is_idle(ath_part part, const ath_run *run) {
  if (part.kind != &ath_pre_tokenizer_byte_level.base || !run->raw) return false;
  const ath_byte_level *self = part.data;
  return !self->use_regex && !self->add_prefix_space;
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_byte_level = {
    {"ByteLevel", ath_byte_level_read, ath_byte_level_write}, split, ath_needs_no_origins, NULL};
