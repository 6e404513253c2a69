/* encode.c: text on its way through the parts of a tokenizer. */
#include <stdlib.h>

#include "base/utf8.h"
#include "tokenizers/tokenizer.h"

#define SURFACES_LIMIT ((size_t)1 << 30)
enum { TEXT_LIMIT = 1 << 30 };

/* How far a text goes: who takes its words, and whether added tokens in it count. */
typedef struct walk {
  const ath_tokenizer *tokenizer;
  ath_sink word;
  bool skip_added;
  bool gathers; /* words may be encoded many at once */
  bool in_chunks; /* only ids are wanted, which are those of the text's chunks */
} walk;

static ath_status take_word(void *context, ath_run *run, const ath_text *word) {
  const ath_tokenizer *self = context;
  return self->model.kind->encode(self->model.data, run, word);
}

/* The same where words are numbered. */
static ath_status take_numbered_word(void *context, ath_run *run, const ath_text *word) {
  size_t before = run->out->length;
  ATH_TRY(take_word(context, run, word));
  ath_run_number(run, before);
  return ATH_OK;
}

static ath_status encode_gathered(const ath_tokenizer *self, ath_run *run) {
  ath_words *words = &run->gathered;
  ath_status status = ATH_OK;
  if (words->count > 0) status = self->model.kind->encode_words(self->model.data, run, words);
  words->count = 0;
  return status;
}

static ath_status take_words(void *context, ath_run *run, const ath_words *words) {
  const ath_tokenizer *self = context;
  ATH_TRY(encode_gathered(self, run));
  return self->model.kind->encode_words(self->model.data, run, words);
}

/* Keeps a word that is a part of the text until there are many; one that was put together in a
 * buffer, which the next will be put into, is encoded at once. */
static ath_status gather_word(void *context, ath_run *run, const ath_text *word) {
  ath_words *words = &run->gathered;
  uintptr_t at = (uintptr_t)word->bytes - (uintptr_t)words->text->bytes;
  if (at >= words->text->length) {
    ATH_TRY(encode_gathered(context, run));
    return take_word(context, run, word);
  }
  assert(word->length <= words->text->length - at && words->count < ATH_WORDS_MAX);
  words->places[words->count++] = (ath_origin){(uint32_t)at, (uint32_t)(at + word->length)};
  return words->count == ATH_WORDS_MAX ? encode_gathered(context, run) : ATH_OK;
}

/* The steps of the walk, from the last to the first: each is the sink of the one after it. */
static ath_status take_normalized(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  assert(text->length > 0);
  const ath_pre_tokenizer *cutter = &w->tokenizer->pre_tokenizer;
  if (cutter->kind == NULL) return w->word.take(w->word.context, run, text);
  if (!w->gathers) return cutter->kind->split(cutter->data, run, text, w->word);
  run->gathered.text = text;
  run->gathered.count = 0;
  ath_sink gather = {gather_word, w->word.context, take_words};
  ATH_TRY(cutter->kind->split(cutter->data, run, text, gather));
  return encode_gathered(w->tokenizer, run);
}

/* The parts of the text as it was written that lie between added tokens. */
static ath_status take_written(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  const ath_tokenizer *self = w->tokenizer;
  ath_text normal = *text;
  if (self->normalizer.kind != NULL)
    ATH_TRY(self->normalizer.kind->apply(self->normalizer.data, run, &normal));
  return ath_added_tokens_split(&self->added, &self->added.normalized, run, &normal,
                                w->skip_added, (ath_sink){take_normalized, context, NULL});
}

static ath_status take_chunks(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  ath_sink pipeline = {take_written, context, NULL};
  return ath_chunks_encode(&w->tokenizer->chunking, run, text, pipeline);
}

static ath_status take_sequence(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  return ath_added_tokens_split(&w->tokenizer->added, &w->tokenizer->added.written, run, text,
                                w->skip_added,
                                (ath_sink){w->in_chunks ? take_chunks : take_written, context,
                                           NULL});
}

/* Gets the run out of the encoding, where it lives from call to call, ready for this tokenizer. */
static ath_status open_run(const ath_tokenizer *self, unsigned flags, ath_encoding *out,
                           ath_run **run) {
  ath_run *r = out->workspace;
  out->length = 0;
  if (r != NULL && r->serial != self->serial) {
    ath_run_free(r);
  } else if (r == NULL) {
    r = calloc(1, sizeof *r);
    if (r == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for encoding");
    out->workspace = r;
  }
  assert(self->serial != 0);
  r->serial = self->serial;
  r->offsets = (flags & ATH_ENCODE_OFFSETS) != 0;
  /* Offsets are trimmed by what the tokens show. */
  r->tokens = (flags & ATH_ENCODE_TOKENS) != 0 || (r->offsets && self->trims);
  r->raw = self->raw;
  r->track = r->offsets;
  if (self->pre_tokenizer.kind != NULL &&
      self->pre_tokenizer.kind->needs_origins(self->pre_tokenizer.data))
    r->track = true;
  r->surface_count = 0;
  r->surface_text.maximum = SURFACES_LIMIT;
  ath_buffer_clear(&r->surface_text);
  *run = r;
  return ath_run_begin(r, out, flags);
}

/* All parts rely on well-formed UTF-8, and on offsets that fit 32 bits. */
static ath_status check_text(ath_run *run, int which, ath_text *text) {
  size_t length = text->length;
  if (length > TEXT_LIMIT)
    return ath_fail(ATH_INVALID, "a text of %zu bytes; at most %d can be encoded at once", length,
                    TEXT_LIMIT);
  size_t valid = ath_utf8_prefix(text->bytes, length);
  if (valid == length) return ATH_OK;
  if ((run->flags & ATH_ENCODE_REPAIR) == 0)
    return ath_fail(ATH_INVALID, "invalid UTF-8 at byte %zu (0x%02X)", valid,
                    (uint8_t)text->bytes[valid]);
  ath_buffer *repaired = &run->repaired[which];
  repaired->maximum = TEXT_LIMIT;
  ath_buffer_clear(repaired);
  ATH_TRY(ath_utf8_repair(text->bytes, length, repaired));
  *text = (ath_text){.bytes = repaired->bytes, .length = repaired->length};
  return ATH_OK;
}

/* The tokens of one text: the whole pipeline but the post-processor. */
static ath_status encode_text(const ath_tokenizer *self, const ath_text *text, ath_run *run) {
  bool numbered = (run->flags & ATH_ENCODE_WORDS) != 0;
  bool only_ids = !numbered && !run->offsets && !run->tokens;
  walk w = {.tokenizer = self,
            .word = {numbered ? take_numbered_word : take_word, (void *)(uintptr_t)self, NULL},
            .gathers = !numbered && self->model.kind->encode_words != NULL,
            .in_chunks = only_ids && self->chunking.possible};
  size_t from = run->out->length;
  run->word_number = 0;
  ATH_TRY(take_sequence(&w, run, text));
  if (run->offsets) ath_encoding_count_characters(run->out, from, text->bytes);
  return ATH_OK;
}

enum {
  DESCRIBED = ATH_ENCODE_TYPES | ATH_ENCODE_SEQUENCES | ATH_ENCODE_WORDS | ATH_ENCODE_MASKS
};

static ath_status encode(const ath_tokenizer *self, ath_text *texts, int count, ath_run *run) {
  bool special = (run->flags & ATH_ENCODE_SPECIAL) != 0;
  bool cuts = (run->flags & ATH_ENCODE_TRUNCATE) != 0 && self->truncates;
  const ath_layout *layout = &self->layouts[count - 1][special];
  for (int t = 0; t < count; t++) ATH_TRY(check_text(run, t, &texts[t]));
  for (size_t i = 0; i < layout->count; i++) {
    const ath_layout_part *part = &layout->parts[i];
    size_t from = run->out->length;
    if (part->sequence == ATH_SPECIAL) {
      ATH_TRY(ath_run_emit_special(run, part->id, part->text, part->length));
    } else {
      ATH_TRY(encode_text(self, &texts[part->sequence], run));
      run->texts[part->sequence] = (ath_span){from, run->out->length};
    }
    if ((run->flags & DESCRIBED) != 0) ath_run_describe(run, from, part);
    if (!cuts) ath_tokenizer_trim(self, run, from, part);
  }
  if (cuts) return ath_tokenizer_cut(self, run, layout, count);
  return ath_run_end_window(run, run->out, run->out->length);
}

static ath_status encode_texts(const ath_tokenizer *self, ath_text *texts, int count,
                               unsigned flags, ath_encoding *out) {
  ath_run *run;
  ATH_TRY(open_run(self, flags, out, &run));
  for (int t = 0; t < count; t++)
    if (texts[t].length == 0) texts[t].bytes = "";
  run->texts[0] = run->texts[1] = (ath_span){0, 0};
  ath_status status = encode(self, texts, count, run);
  if (status != ATH_OK) out->length = out->window_count = 0;
  return status;
}

ath_status ath_tokenizer_encode(const ath_tokenizer *self, const char *text, size_t length,
                                unsigned flags, ath_encoding *out) {
  ath_text texts[1] = {{.bytes = text, .length = length}};
  return encode_texts(self, texts, 1, flags, out);
}

ath_status ath_tokenizer_encode_pair(const ath_tokenizer *self, const char *first,
                                     size_t first_length, const char *second,
                                     size_t second_length, unsigned flags, ath_encoding *out) {
  ath_text texts[2] = {{.bytes = first, .length = first_length},
                       {.bytes = second, .length = second_length}};
  return encode_texts(self, texts, 2, flags, out);
}

/* --- words, for the trainers ---------------------------------------------------------------- */

typedef struct visit {
  ath_word_visitor visitor;
  void *context;
} visit;

static ath_status visit_word(void *context, ath_run *run, const ath_text *word) {
  (void)run;
  const visit *v = context;
  return v->visitor(v->context, word->bytes, word->length);
}

ath_status ath_tokenizer_each_word(const ath_tokenizer *self, const char *text, size_t length,
                                   ath_encoding *scratch, ath_word_visitor visitor,
                                   void *context) {
  ath_run *run;
  ATH_TRY(open_run(self, 0, scratch, &run));
  run->raw = false;
  ath_text whole = {.bytes = length > 0 ? text : "", .length = length};
  ATH_TRY(check_text(run, 0, &whole));
  visit v = {visitor, context};
  walk w = {.tokenizer = self, .word = {visit_word, &v, NULL}, .skip_added = true};
  return take_sequence(&w, run, &whole);
}
