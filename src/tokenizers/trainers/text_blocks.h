/* text_blocks.h: the lines of text files in blocks, which threads take in turn. */
#ifndef ATHANOR_TOKENIZERS_TEXT_BLOCKS_H
#define ATHANOR_TOKENIZERS_TEXT_BLOCKS_H

#include <stdbool.h>

#include "athanor/tokenizer.h"
#include "base/buffer.h"
#include "storage/lines.h"

typedef struct ath_block_line {
  size_t at, length; /* in the block's bytes */
  uint64_t number;   /* in its file */
} ath_block_line;

/* Some lines of one file, a thread's own copy. Start with {0}. */
typedef struct ath_text_block {
  ath_buffer bytes;
  ath_block_line *lines;
  size_t count, capacity;
  const char *path;
  uint64_t serial; /* blocks are numbered in the order of the text */
} ath_text_block;

void ath_text_block_free(ath_text_block *self);

typedef struct ath_text_source {
  const char *const *paths;
  size_t path_count, path; /* the file being read */
  ath_lines *lines;        /* NULL: not open yet */
  uint64_t blocks, bytes_before, bytes_total;
  ath_training_report *report; /* bytes, lines and lines_skipped are kept up to date */
} ath_text_source;

/* The paths must outlive the source. */
ath_text_source ath_text_source_make(const char *const *paths, size_t path_count,
                                     ath_training_report *report);
void ath_text_source_free(ath_text_source *self);

/* Fills a block with the next lines, about a megabyte of them; its count is 0 at the end. Lines
 * with a NUL are skipped and logged. One thread at a time. */
ath_status ath_text_source_next(ath_text_source *self, ath_text_block *block) ATH_MUST_CHECK;

#endif
