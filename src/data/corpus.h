/* corpus.h: several text files read as one long row of numbered lines, a block at a time. */
#ifndef ATHANOR_DATA_CORPUS_H
#define ATHANOR_DATA_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "base/buffer.h"
#include "storage/lines.h"

/* A place in the text: where a line begins, and how many of its tokens are used up. */
typedef struct ath_place {
  uint64_t file;   /* number of the input file */
  uint64_t byte;   /* offset in it */
  uint64_t line;   /* number in it, from 1 */
  uint64_t global; /* number over all files, from 0 */
  uint64_t token;
} ath_place;

typedef struct ath_corpus {
  const char *const *inputs;
  uint64_t count;
  ath_place next; /* the line that will be read next */
  ath_lines *lines;
} ath_corpus;

typedef struct ath_block_line {
  ath_place place;
  size_t offset, length; /* of its text in the block */
  size_t tokens;         /* filled when it is encoded */
  int split;
} ath_block_line;

/* Some lines, about ATH_BLOCK_BYTES of text in all. A single line may be longer. */
enum { ATH_BLOCK_LINES = 8192, ATH_BLOCK_BYTES = 1 << 19 };
typedef struct ath_block {
  const char *const *inputs; /* the files' names, for messages */
  ath_buffer text;
  ath_block_line *lines; /* [ATH_BLOCK_LINES] */
  size_t count;
  ath_place next; /* the line behind the block */
  bool ended;     /* the input is at its end */
} ath_block;

ath_status ath_block_create(ath_block *out) ATH_MUST_CHECK;
void ath_block_free(ath_block *self);

/* Which split a line belongs to, or −1 to leave it out. */
typedef int (*ath_line_chooser)(const void *context, const ath_place *place, const char *text,
                                size_t length);

/* `inputs` must outlive the corpus. Reading begins at `from`. */
ath_status ath_corpus_open(const char *const *inputs, size_t count, const ath_place *from,
                           ath_corpus *out) ATH_MUST_CHECK;
ath_status ath_corpus_read(ath_corpus *self, ath_line_chooser choose, const void *context,
                           ath_block *out) ATH_MUST_CHECK;
void ath_corpus_close(ath_corpus *self);

/* Whether there is nothing but white space (as Unicode has it) in the text, which is UTF-8. */
bool ath_text_is_blank(const char *text, size_t length);

#endif
