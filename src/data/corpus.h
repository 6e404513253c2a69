/* corpus.h: what inputs hold read as one long row of numbered documents, a block at a time. */
#ifndef ATHANOR_DATA_CORPUS_H
#define ATHANOR_DATA_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/documents.h"
#include "athanor/status.h"
#include "base/buffer.h"
#include "storage/lines.h"

/* A place in the text: where a document begins, and how many of its tokens are used up. */
typedef struct ath_place {
  uint64_t file;    /* number of the input file */
  uint64_t byte;    /* offset in it, as unpacked; of parquet and SQL the row's number, from 0 */
  uint64_t line;    /* number in it, from 1, of the line or row */
  uint64_t global;  /* number over all files, from 0 */
  uint64_t token;
  uint64_t skipped; /* documents before it that were left out for errors */
} ath_place;

typedef struct ath_corpus {
  const char *const *inputs;
  size_t count;
  ath_place next; /* the document that will be read next */
  ath_documents *documents;
  uint64_t skipped_before; /* by an earlier run */
  uint64_t end; /* of the last input: documents that begin at this byte or later are not read */
} ath_corpus;

/* Most documents are lines. */
typedef struct ath_block_line {
  ath_place place;
  const char *unit;      /* "line" or "row", for messages */
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
  ath_place next; /* the document behind the block */
  uint64_t taken; /* bytes of the inputs read so far, packed as they are */
  bool ended;     /* the input is at its end */
} ath_block;

ath_status ath_block_create(ath_block *out) ATH_MUST_CHECK;
void ath_block_free(ath_block *self);

/* Which split a line belongs to, or −1 to leave it out. */
typedef int (*ath_line_chooser)(const void *context, const ath_place *place, const char *text,
                                size_t length);

/* `inputs` and what `reading` points to must outlive the corpus. Reading begins at `from`. */
ath_status ath_corpus_open(const char *const *inputs, size_t count, const ath_reading *reading,
                           const ath_place *from, ath_corpus *out) ATH_MUST_CHECK;
ath_status ath_corpus_read(ath_corpus *self, ath_line_chooser choose, const void *context,
                           ath_block *out) ATH_MUST_CHECK;
void ath_corpus_close(ath_corpus *self);

/* Whether there is nothing but white space (as Unicode has it) in the text, which is UTF-8. */
bool ath_text_is_blank(const char *text, size_t length);

#endif
