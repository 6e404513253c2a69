/* pipeline.h: the parts of a tokenizer as function tables, and what flows between them.
 *
 *   text ─ added tokens ─ normaliser ─ added tokens ─ pre-tokeniser ─ model ─► ids, offsets
 *          (as written)                (normalised)       words
 *
 * The post-processor says beforehand what an encoding is put together from: special tokens, and the
 * tokens of this walk over each text. Nothing is kept in lists on the way: each part hands its
 * pieces to the next one as soon as it has them. A part's data is read-only once made; all that
 * changes while encoding lives in the run. */
#ifndef ATHANOR_TOKENIZERS_PIPELINE_H
#define ATHANOR_TOKENIZERS_PIPELINE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/tokenizer.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "tokenizers/json.h"

/* --- text that remembers where it came from ------------------------------------------------- */

/* Bytes [start, end) of the text that is being encoded. */
typedef struct ath_origin {
  uint32_t start, end;
} ath_origin;

/* Bytes on their way through the pipeline. With `origins`, each byte has the place it came from
 * (all bytes of a character the same). Without, either the bytes are the original's own, from
 * `start` on, or nobody asked where they came from. */
typedef struct ath_text {
  const char *bytes;
  size_t length;
  const ath_origin *origins;
  uint32_t start;
} ath_text;

/* A text being written. `origins` is in use only when the run tracks them. The memory behind
 * `bytes` always reaches ATH_TEXT_SLACK past the length, so that words can be read by vectors. */
enum { ATH_TEXT_SLACK = 64 };
typedef struct ath_text_buffer {
  char *bytes;
  ath_origin *origins;
  size_t length, capacity, origin_capacity;
} ath_text_buffer;

typedef struct ath_run ath_run;

ath_status ath_text_grow(ath_run *run, ath_text_buffer *self, size_t extra) ATH_MUST_CHECK;
/* Appends text[from, to), which begins and ends between characters. */
ath_status ath_text_append(ath_run *run, ath_text_buffer *self, const ath_text *text, size_t from,
                           size_t to) ATH_MUST_CHECK;
/* Appends bytes that all came from one place. */
ath_status ath_text_insert(ath_run *run, ath_text_buffer *self, const char *bytes, size_t count,
                           ath_origin origin) ATH_MUST_CHECK;
void ath_text_free(ath_text_buffer *self);
/* What a buffer holds, as a text. */
ath_text ath_text_of(const ath_run *run, const ath_text_buffer *self);
/* The part [from, to) of a text. */
ath_text ath_text_slice(const ath_text *self, size_t from, size_t to);
/* Where the character that holds byte `at` came from. */
ath_origin ath_text_origin(const ath_text *self, size_t at);

/* Bytes of the character that begins with this byte of well-formed UTF-8. */
static inline size_t ath_character_length(char first) {
  uint8_t byte = (uint8_t)first;
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/* --- one encode call ------------------------------------------------------------------------ */

enum { /* memory that parts keep in a run from call to call */
  ATH_SCRATCH_LATTICE,
  ATH_SCRATCH_PIECES,
  ATH_SCRATCH_ROWS,
  ATH_SCRATCH_CACHE,
  ATH_SCRATCH_CHUNKS,
  ATH_SCRATCH_FORM,
  ATH_SCRATCH_COUNT
};

/* How many pre-tokenisers may cut one after another: all are on the stack at once. */
enum { ATH_PRE_TOKENIZERS_MAX = 64 };

typedef struct ath_surface { /* a token whose text is not its vocabulary entry's */
  size_t token;
  size_t at, length; /* in the run's `surface_text` */
} ath_surface;

typedef struct ath_span { /* tokens [start, end) */
  size_t start, end;
} ath_span;

/* Words that lie in one text, in order, gathered for the model to look them all up at once. */
enum { ATH_WORDS_MAX = 64 };
typedef struct ath_words {
  const ath_text *text;
  size_t count;
  ath_origin places[ATH_WORDS_MAX]; /* in the text's bytes */
} ath_words;
/* One of them. */
ath_text ath_words_at(const ath_words *self, size_t index);

struct ath_run {
  uint64_t serial; /* of the tokenizer that the scratch belongs to */
  ath_encoding *out;
  unsigned flags; /* of the encode call, which tell the arrays of `out` that are filled */
  bool track;   /* texts carry origins */
  bool offsets; /* `out` gets starts and ends; implies track */
  bool tokens;  /* surfaces are kept */
  bool raw;     /* words are bytes of the text, which the model takes for their letters */
  bool kept;    /* what becomes of the words is kept elsewhere (chunks.c): the model need not */
  int32_t word_number; /* of the next word or added token of a text */
  ath_text_buffer normal[2]; /* for normalisers, in turn */
  ath_text_buffer words[ATH_PRE_TOKENIZERS_MAX]; /* for pre-tokenisers that are at work */
  size_t open_words;
  ath_words gathered; /* for the model */
  void *scratch[ATH_SCRATCH_COUNT], *scratch_memory[ATH_SCRATCH_COUNT];
  size_t scratch_size[ATH_SCRATCH_COUNT];
  ath_surface *surfaces;
  size_t surface_count, surface_capacity;
  ath_buffer surface_text;
  ath_span texts[2];  /* the tokens of each text */
  ath_buffer repaired[2]; /* texts without their malformed bytes */
  ath_encoding spare; /* what an encoding is composed into anew; its arrays change places */
  ath_surface *spare_surfaces;
  size_t spare_surface_capacity, window_capacity;
};

/* Makes room for `extra` more bytes (and their origins). */
static inline ath_status ath_text_reserve(ath_run *run, ath_text_buffer *self, size_t extra) {
  size_t needed = self->length + extra;
  bool fits = needed + ATH_TEXT_SLACK <= self->capacity;
  if (fits && (!run->track || needed <= self->origin_capacity)) return ATH_OK;
  return ath_text_grow(run, self, extra);
}

/* Releases what the run keeps, not its tokens. */
void ath_run_free(ath_run *run);

/* An empty buffer in which a pre-tokeniser puts its words together until it closes it, failed or
 * not; those that cut its words further open others. */
ath_text_buffer *ath_run_open_word(ath_run *run);
void ath_run_close_word(ath_run *run);

/* Memory of at least `size` bytes, aligned to 64, zeroed when it is first made; a larger size
 * loses what was in it. Much of it costs little until it is used. NULL, with the failure text set,
 * when there is none. */
void *ath_run_scratch(ath_run *run, int which, size_t size);

/* Makes room for `extra` more tokens. */
ath_status ath_run_reserve(ath_run *run, size_t extra) ATH_MUST_CHECK;

/* Appends a token that stands for nothing in the text. */
ath_status ath_run_emit_special(ath_run *run, int32_t id, const char *text, size_t length)
    ATH_MUST_CHECK;

/* Gives the tokens from `from` on the number of the next word, where numbers are asked for. */
static inline void ath_run_number(ath_run *run, size_t from) {
  int32_t number = run->word_number++;
  if ((run->flags & ATH_ENCODE_WORDS) == 0) return;
  for (size_t i = from; i < run->out->length; i++) run->out->words[i] = number;
}

/* Appends a token that stands for word[from, to); room was made for it. */
static inline void ath_run_emit(ath_run *run, int32_t id, const ath_text *word, size_t from,
                                size_t to) {
  ath_encoding *out = run->out;
  assert(out->length < out->capacity && from < to && to <= word->length);
  out->ids[out->length] = id;
  if (run->offsets) {
    const ath_origin *origins = word->origins;
    out->starts[out->length] = origins ? origins[from].start : word->start + (uint32_t)from;
    out->ends[out->length] = origins ? origins[to - 1].end : word->start + (uint32_t)to;
  }
  out->length++;
}

/* Notes that the token emitted last shows these bytes, not its vocabulary entry. */
ath_status ath_run_surface(ath_run *run, const char *bytes, size_t length) ATH_MUST_CHECK;

/* Fills the arrays that the layout decides on for the tokens from `from` on. */
typedef struct ath_layout_part ath_layout_part;
void ath_run_describe(ath_run *run, size_t from, const ath_layout_part *part);

/* Readies the run to fill an encoding's arrays that the flags ask for. */
ath_status ath_run_begin(ath_run *run, ath_encoding *out, unsigned flags) ATH_MUST_CHECK;
ath_status ath_run_end_window(ath_run *run, ath_encoding *out, size_t end) ATH_MUST_CHECK;

/* Tokens that are being put together anew out of those that an encoding has. */
typedef struct ath_recompose {
  ath_encoding *source;
  const ath_surface *surfaces;
  size_t surface_count;
} ath_recompose;
ath_status ath_recompose_begin(ath_run *run, ath_recompose *self) ATH_MUST_CHECK;
ath_status ath_recompose_copy(ath_run *run, const ath_recompose *self, ath_span span)
    ATH_MUST_CHECK;
void ath_recompose_end(ath_run *run, const ath_recompose *self);

/* Place in the list of the first surface of that token or a later one. */
size_t ath_surface_find(const ath_surface *list, size_t count, size_t token);

/* Whatever takes the pieces of text that a part gives. */
typedef struct ath_sink {
  ath_status (*take)(void *context, ath_run *run, const ath_text *piece);
  void *context;
  ath_status (*take_words)(void *context, ath_run *run, const ath_words *words); /* or NULL */
} ath_sink;

/* Hands over words that lie in one text, at once where the sink can take them. */
ath_status ath_sink_take_words(ath_sink self, ath_run *run, const ath_words *words) ATH_MUST_CHECK;


/* --- the parts ------------------------------------------------------------------------------ */

/* What all kinds of parts have: the "type" in tokenizer.json, and how they get in and out of it.
 * `read` puts the part's data into the arena; `write` writes the members after "type". */
typedef struct ath_kind {
  const char *name;
  ath_status (*read)(const ath_json *json, ath_arena *arena, void **data);
  void (*write)(const void *data, ath_json_writer *out);
} ath_kind;

/* All kinds of one role: kinds.c in the role's folder. */
typedef struct ath_kinds {
  const ath_kind *const *items;
  size_t count;
} ath_kinds;

/* A part whatever its role. `base` is the first member of every kind's table, so that its address
 * is the whole table's: ATH_KIND_OF. */
typedef struct ath_part {
  const ath_kind *kind;
  const void *data;
} ath_part;
#define ATH_KIND_OF(role, part) ((const role *)(const void *)(part).kind)

/* Reads the part whose kind "type" names; ATH_UNSUPPORTED, listing what there is, if none does. */
ath_status ath_part_read(const ath_json *json, const ath_kinds *kinds, ath_arena *arena,
                         ath_part *out) ATH_MUST_CHECK;
/* {"type": …} and the members that the kind writes itself; `key` is NULL in a list. */
void ath_part_write(const char *key, ath_part part, ath_json_writer *out);

/* Parts of one role one after another: {"type": "Sequence", KEY: […]}. `*data` becomes an
 * ath_sequence. They may be nested a few deep. */
typedef struct ath_sequence {
  size_t count;
  ath_part items[];
} ath_sequence;
ath_status ath_sequence_read(const ath_json *json, const char *key, const ath_kinds *kinds,
                             ath_arena *arena, void **data) ATH_MUST_CHECK;
void ath_sequence_write(const ath_sequence *self, const char *key, ath_json_writer *out);
/* What a part is a sequence of; NULL where it is something else. */
const ath_sequence *ath_part_sequence(ath_part part);

/* For kinds that have no members but "type". */
ath_status ath_read_nothing(const ath_json *json, ath_arena *arena, void **data) ATH_MUST_CHECK;
void ath_write_nothing(const void *data, ath_json_writer *out);

/* Whether an ASCII character stays, wherever it stands, and what is before it becomes the same as
 * if it stood alone, and so what is after it: always, or where it is a grapheme of its own. */
typedef enum ath_keeping {
  ATH_KEEPS_NOTHING,
  ATH_KEEPS_AS_GRAPHEME,
  ATH_KEEPS_APART,
} ath_keeping;

typedef struct ath_normalizer_kind {
  ath_kind base;
  /* Replaces *text by what the normaliser makes of it; leaves it alone if nothing changes. */
  ath_status (*apply)(const void *data, ath_run *run, ath_text *text);
  ath_keeping (*keeps)(const void *data, uint8_t character); /* NULL: nothing */
  /* Whether a character x c y becomes what x does, a space, c, a space, and what y does; may be
   * NULL: none does. */
  bool (*sets_apart)(const void *data, uint32_t character);
} ath_normalizer_kind;

/* What an ASCII character c in a text x c y does to its words. */
typedef enum ath_border {
  ATH_NO_BORDER,
  ATH_BORDER_GOES,   /* they are those of x, and those of y */
  ATH_BORDER_STANDS, /* they are those of x, of c, and of y */
  ATH_BORDER_BEGINS, /* they are those of x, and those of c y */
} ath_border;

typedef struct ath_pre_tokenizer_kind {
  ath_kind base;
  /* Gives the words of a text, which is not empty, to `next`; none of them is empty. */
  ath_status (*split)(const void *data, ath_run *run, const ath_text *text, ath_sink next);
  /* Whether origins must be tracked even when nobody asked for offsets. */
  bool (*needs_origins)(const void *data);
  ath_border (*border)(const void *data, uint8_t character); /* NULL: none is one */
} ath_pre_tokenizer_kind;

typedef struct ath_model_kind {
  ath_kind base;
  ath_status (*encode)(const void *data, ath_run *run, const ath_text *word);
  /* The same for many words, faster; NULL: no faster. */
  ath_status (*encode_words)(const void *data, ath_run *run, const ath_words *words);
  int32_t (*size)(const void *data);
  int32_t (*id)(const void *data, const char *token, size_t length); /* −1: none */
  const char *(*token)(const void *data, int32_t id, size_t *length); /* NULL: none */
  /* Whether `encode` reads a raw run's words: bytes that stand for their letters (byte_level.h);
   * may be NULL: it does not. */
  bool (*takes_bytes)(const void *data);
  /* Whether a word may become other ids each time; may be NULL: it does not. */
  bool (*varies)(const void *data);
} ath_model_kind;

/* How offsets lose the white space of their token (trim.c). */
typedef struct ath_trim {
  bool prefix;   /* one space in front of the first token was put there by us, and stays */
  bool is_first; /* the sequence begins its group */
} ath_trim;

enum { ATH_SPECIAL = -1, ATH_TRIMS_MAX = 4 };

/* What an encoding is put together from: special tokens, and the tokens of each text. */
struct ath_layout_part {
  int sequence;    /* 0, 1: the tokens of that text; ATH_SPECIAL: a token */
  int32_t type_id;
  int32_t id;       /* of the special token … */
  const char *text; /* … and what it shows */
  size_t length;
  bool joined;      /* belongs to the group of the part before it */
  int trim_count;
  ath_trim trims[ATH_TRIMS_MAX]; /* of a text's tokens, one after another */
};

/* Parts come in groups: a text with what was put around it so far. */
typedef struct ath_layout {
  ath_layout_part *parts;
  size_t count;
  size_t special_count; /* parts that are special tokens */
} ath_layout;

typedef struct ath_post_processor_kind {
  ath_kind base;
  /* Replaces the layout for one or two texts by what the post-processor makes of it, with special
   * tokens or without. */
  ath_status (*lay_out)(const void *data, ath_arena *arena, bool special, ath_layout *layout);
} ath_post_processor_kind;

/* Tokens on their way back to text: the bytes of each, one after another. */
typedef struct ath_pieces {
  ath_buffer bytes;
  size_t *ends; /* where in `bytes` each piece ends */
  size_t count, capacity;
} ath_pieces;

typedef struct ath_decoder_kind {
  ath_kind base;
  /* Rewrites the pieces, which are then joined. `out` is empty and takes the result. */
  ath_status (*apply)(const void *data, const ath_pieces *in, ath_pieces *out);
} ath_decoder_kind;

ath_status ath_pieces_add(ath_pieces *self, const char *bytes, size_t length) ATH_MUST_CHECK;
void ath_pieces_free(ath_pieces *self);

/* A part in use; kind is NULL where tokenizer.json says null. */
typedef struct ath_normalizer { const ath_normalizer_kind *kind; const void *data; } ath_normalizer;
typedef struct ath_pre_tokenizer {
  const ath_pre_tokenizer_kind *kind;
  const void *data;
} ath_pre_tokenizer;
typedef struct ath_model { const ath_model_kind *kind; const void *data; } ath_model;
typedef struct ath_post_processor {
  const ath_post_processor_kind *kind;
  const void *data;
} ath_post_processor;
typedef struct ath_decoder { const ath_decoder_kind *kind; const void *data; } ath_decoder;

/* Each reads a part that is there (not null). */
ath_status ath_normalizer_read(const ath_json *json, ath_arena *arena, ath_normalizer *out)
    ATH_MUST_CHECK;
ath_status ath_pre_tokenizer_read(const ath_json *json, ath_arena *arena, ath_pre_tokenizer *out)
    ATH_MUST_CHECK;
ath_status ath_model_read(const ath_json *json, ath_arena *arena, ath_model *out) ATH_MUST_CHECK;
ath_status ath_post_processor_read(const ath_json *json, ath_arena *arena,
                                   ath_post_processor *out) ATH_MUST_CHECK;
ath_status ath_decoder_read(const ath_json *json, ath_arena *arena, ath_decoder *out)
    ATH_MUST_CHECK;

#endif
