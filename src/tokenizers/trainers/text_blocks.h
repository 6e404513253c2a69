/* text_blocks.h: documents, most of them lines of text, in blocks that threads take in turn. */
#ifndef ATHANOR_TOKENIZERS_TEXT_BLOCKS_H
#define ATHANOR_TOKENIZERS_TEXT_BLOCKS_H

#include <stdbool.h>

#include "athanor/documents.h"
#include "athanor/tokenizer.h"
#include "base/buffer.h"

typedef struct ath_block_line {
  size_t at, length; /* in the block's bytes */
  uint64_t number;   /* in its file */
  const char *path, *unit; /* "text.txt", "line" */
} ath_block_line;

/* Some documents, a thread's own copy. Start with {0}. */
typedef struct ath_text_block {
  ath_buffer bytes;
  ath_block_line *lines;
  size_t count, capacity;
  uint64_t serial; /* blocks are numbered in the order of the text */
} ath_text_block;

void ath_text_block_free(ath_text_block *self);

typedef struct ath_text_source {
  const char *const *paths;
  ath_documents *documents;
  bool ended;                  /* all has been handed out */
  uint64_t blocks, nul_lines;
  uint64_t taken, total;       /* bytes of the files, packed as they are: for a progress bar */
  ath_training_report *report; /* bytes, lines and lines_skipped are kept up to date */
} ath_text_source;

/* The paths and what `reading` points to must outlive the source. */
ath_status ath_text_source_open(const char *const *paths, size_t path_count,
                                const ath_reading *reading, ath_training_report *report,
                                ath_text_source *out) ATH_MUST_CHECK;
void ath_text_source_free(ath_text_source *self);

/* Fills a block with the next documents, about a megabyte of them; its count is 0 at the end. Those
 * with a NUL are skipped and logged. One thread at a time. */
ath_status ath_text_source_next(ath_text_source *self, ath_text_block *block) ATH_MUST_CHECK;

#endif
