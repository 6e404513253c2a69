/* piece.h: a piece of the text as one worker has encoded it: what is needed to cut records of it,
 * once it is known what comes before. Two files in the folder of pieces,
 *
 *     piece-<number>.ids    the ids of all its documents, 16 or 32 bits each
 *     piece-<number>.rows   a row for each of its lines, and a foot (piece.c)
 *
 * of which the second gets its name last: a piece that has rows is whole. */
#ifndef ATHANOR_DATA_PIECE_H
#define ATHANOR_DATA_PIECE_H

#include <stdbool.h>

#include "data/minhash.h"
#include "data/text_hash.h"
#include "storage/file.h"

/* What is known of a line. A line that is left out, as a blank one, has no tokens. */
typedef struct ath_row {
  uint32_t tokens;
  ath_text_hash hash; /* written where the format says so, as the sketch */
  ath_sketch sketch;
} ath_row;

/* Everything that the pieces of one dataset have in common. */
typedef struct ath_piece_format {
  int id_bytes;
  bool hashes, sketches;
  uint32_t recipe; /* a checksum of it: pieces of another one are not taken */
} ath_piece_format;

typedef struct ath_piece_writer ath_piece_writer;
ath_status ath_piece_create(const char *folder, size_t number, const ath_piece_format *format,
                            ath_piece_writer **out) ATH_MUST_CHECK;
ath_status ath_piece_add(ath_piece_writer *self, const ath_row *row, const int32_t *ids)
    ATH_MUST_CHECK;
/* `skipped` documents were left out for errors. Destroys the writer, whether it succeeds or not. */
ath_status ath_piece_commit(ath_piece_writer *self, uint64_t skipped) ATH_MUST_CHECK;
void ath_piece_abandon(ath_piece_writer *self); /* NULL is allowed */

bool ath_piece_exists(const char *folder, size_t number);

/* A whole piece, mapped. */
typedef struct ath_piece {
  const ath_piece_format *format;
  ath_mapping ids, rows;
  size_t row_bytes;
  uint64_t documents, tokens, skipped;
  uint32_t ids_crc;
} ath_piece;

/* Verifies the rows. ATH_CORRUPT names the file. `format` must outlive the piece. */
ath_status ath_piece_open(const char *folder, size_t number, const ath_piece_format *format,
                          ath_piece *out) ATH_MUST_CHECK;
void ath_piece_close(ath_piece *self);
/* Lets go of the memory of what was looked at, so that it does not add up over all pieces. */
void ath_piece_forget(const ath_piece *self);
/* Verifies the ids. */
ath_status ath_piece_check_ids(const ath_piece *self, const char *folder, size_t number)
    ATH_MUST_CHECK;

uint32_t ath_piece_tokens(const ath_piece *self, uint64_t document);
ath_text_hash ath_piece_hash(const ath_piece *self, uint64_t document);
uint32_t ath_piece_key(const ath_piece *self, uint64_t document, int band);
const uint8_t *ath_piece_firsts(const ath_piece *self, uint64_t document);
/* Copies ids from the `first` of the piece on. */
void ath_piece_ids(const ath_piece *self, uint64_t first, size_t count, int32_t *out);

#endif
