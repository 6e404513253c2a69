/* tokenizer.h: what a tokenizer is made of, for the files that make, write and use it. */
#ifndef ATHANOR_TOKENIZERS_TOKENIZER_H
#define ATHANOR_TOKENIZERS_TOKENIZER_H

#include <pthread.h>

#include "formats/sha256.h"
#include "tokenizers/added_tokens.h"
#include "tokenizers/chunks.h"
#include "tokenizers/pipeline.h"

struct ath_tokenizer {
  ath_arena *arena; /* holds all parts and their data */
  uint64_t serial;  /* no other tokenizer of this process has it */
  ath_normalizer normalizer;
  ath_pre_tokenizer pre_tokenizer;
  ath_model model; /* the only part that is always there */
  ath_post_processor post_processor;
  ath_decoder decoder;
  ath_added_tokens added;
  ath_chunking chunking;
  ath_layout layouts[2][2]; /* [one text, two][without special tokens, with] */
  bool trims; /* whether any of them trims offsets */
  bool raw;   /* whether the model gets bytes for their letters; ids and offsets do not tell */
  bool truncates, pads; /* whether the next two are set */
  ath_truncation truncation;
  ath_padding padding; /* its token lives in the arena */
  int32_t size;
  int32_t roles[ATH_TOKEN_ROLE_COUNT];
  pthread_mutex_t hash_lock;  /* the hash is computed when first asked for, by any thread */
  char hash[ATH_SHA256_TEXT]; /* "" until then */
};

/* An empty tokenizer; ath_tokenizer_finish makes it whole once its parts are set: size, roles by
 * the usual spellings. */
ath_status ath_tokenizer_create(ath_tokenizer **out) ATH_MUST_CHECK;
ath_status ath_tokenizer_finish(ath_tokenizer *self) ATH_MUST_CHECK;

/* Finds out the layouts once the post-processor is there; else ath_tokenizer_finish does it. */
ath_status ath_tokenizer_lay_out(ath_tokenizer *self) ATH_MUST_CHECK;

/* Reads all parts from the root of a tokenizer.json (read.c); not the model if there is one. */
ath_status ath_tokenizer_read_parts(const ath_json *root, ath_tokenizer *self) ATH_MUST_CHECK;
ath_status ath_tokenizer_read_file(const char *path, ath_tokenizer *self) ATH_MUST_CHECK;

/* The same of a text that was composed for it, whose name the errors tell; and finishes it. */
ath_status ath_tokenizer_read_text(const char *name, const ath_buffer *text, ath_tokenizer *self)
    ATH_MUST_CHECK;

/* "truncation" and "padding" of tokenizer.json (shaping.c). */
ath_status ath_truncation_read(const ath_json *json, ath_tokenizer *self) ATH_MUST_CHECK;
ath_status ath_padding_read(const ath_json *json, ath_tokenizer *self) ATH_MUST_CHECK;
void ath_truncation_write(const ath_tokenizer *self, ath_json_writer *out);
void ath_padding_write(const ath_tokenizer *self, ath_json_writer *out);

/* The text of a token, added or the model's; NULL when there is none of that id. */
const char *ath_tokenizer_find(const ath_tokenizer *self, int32_t id, size_t *length);

/* Turns the offsets of the tokens from `from` on, in bytes, into offsets in code points
 * (offsets.c). */
void ath_encoding_count_characters(ath_encoding *out, size_t from, const char *text);
/* Trims the offsets of the tokens from `from` on, which are of this part. */
void ath_tokenizer_trim(const ath_tokenizer *self, ath_run *run, size_t from,
                        const ath_layout_part *part);

/* Cuts what a run has encoded to the truncation's length, where it is longer (cut.c). */
ath_status ath_tokenizer_cut(const ath_tokenizer *self, ath_run *run, const ath_layout *layout,
                             int texts) ATH_MUST_CHECK;

/* Is given each word in turn; the bytes are valid during the call. Another status than ATH_OK
 * ends the walk and is passed on. */
typedef ath_status (*ath_word_visitor)(void *context, const char *word, size_t length);

/* Calls `visit` for each word that encoding this text would hand to the model: normalised, with
 * its Metaspace mark. Special tokens typed in the text are left out. ATH_INVALID, with the byte's
 * offset, for text that is not UTF-8. `scratch` belongs to the calling thread; start with {0},
 * free with ath_encoding_free. */
ath_status ath_tokenizer_each_word(const ath_tokenizer *self, const char *text, size_t length,
                                   ath_encoding *scratch, ath_word_visitor visit, void *context)
    ATH_MUST_CHECK;

/* Appends the bytes of tokenizer.json (save.c). */
ath_status ath_tokenizer_write(const ath_tokenizer *self, ath_buffer *out) ATH_MUST_CHECK;

/* Takes the roles' names from tokenizer_config.json and special_tokens_map.json in a folder, as
 * far as they are there (roles.c). */
ath_status ath_tokenizer_read_roles(ath_tokenizer *self, const char *folder) ATH_MUST_CHECK;
/* The key that names a role in those files: "cls_token". */
const char *ath_token_role_key(ath_token_role role);
/* Sets the roles that no file has named, by the usual spellings. */
void ath_tokenizer_guess_roles(ath_tokenizer *self);

#endif
