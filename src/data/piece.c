/* piece.c: encoded pieces of a text as files. A row of a file of rows:
 *
 *       0  tokens, 32 bits
 *       4  the text's hash, 2 x 64 bits                where the format has hashes
 *      20  keys of the bands, 20 x 32 bits             … and sketches
 *     100  firsts, 120 bytes */
#include "data/piece.h"

#include <assert.h>
#include <stdlib.h>

#include "athanor/tfrecord.h"
#include "formats/wire.h"

enum { AT_HASH = 4, AT_KEYS = 20, AT_FIRSTS = 100, ROW_MAX = 220, CHUNK = 4096 };
_Static_assert(AT_FIRSTS == AT_KEYS + 4 * ATH_BANDS && ROW_MAX == AT_FIRSTS + ATH_ORDERS,
               "a row has no gaps");
#define MAGIC UINT64_C(0x3165636569506874) /* "thPiece1" */

/* Ends the file of rows. */
typedef struct piece_foot {
  uint64_t magic, documents, tokens, skipped;
  uint32_t recipe, row_bytes, id_bytes, ids_crc, rows_crc, crc; /* the last: of what is above */
} piece_foot;
_Static_assert(sizeof(piece_foot) == 56, "a foot has no gaps");

static size_t row_size(const ath_piece_format *format) {
  return format->sketches ? ROW_MAX : format->hashes ? AT_KEYS : AT_HASH;
}

static uint32_t foot_crc(const piece_foot *self) {
  return ath_crc32c(0, self, offsetof(piece_foot, crc));
}

static ath_status name_file(const char *folder, size_t number, const char *kind,
                            char out[ATH_PATH_MAX]) {
  char name[48];
  snprintf(name, sizeof name, "piece-%zu.%s", number, kind);
  return ath_path_join(out, folder, name);
}

bool ath_piece_exists(const char *folder, size_t number) {
  char path[ATH_PATH_MAX];
  return name_file(folder, number, "rows", path) == ATH_OK && ath_path_exists(path);
}

/* --- writing ------------------------------------------------------------------------------- */

struct ath_piece_writer {
  const ath_piece_format *format;
  ath_file_writer *ids, *rows;
  piece_foot foot;
};

ath_status ath_piece_create(const char *folder, size_t number, const ath_piece_format *format,
                            ath_piece_writer **out) {
  char path[ATH_PATH_MAX];
  ath_piece_writer *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a piece");
  self->format = format;
  self->foot = (piece_foot){.magic = MAGIC, .recipe = format->recipe,
                      .row_bytes = (uint32_t)row_size(format),
                      .id_bytes = (uint32_t)format->id_bytes};
  ath_status status = name_file(folder, number, "ids", path);
  if (status == ATH_OK) status = ath_file_writer_open(path, &self->ids);
  if (status == ATH_OK) status = name_file(folder, number, "rows", path);
  if (status == ATH_OK) status = ath_file_writer_open(path, &self->rows);
  if (status == ATH_OK) *out = self;
  else ath_piece_abandon(self);
  return status;
}

static ath_status put_ids(ath_piece_writer *self, const void *bytes, size_t count) {
  self->foot.ids_crc = ath_crc32c(self->foot.ids_crc, bytes, count);
  return ath_file_writer_write(self->ids, bytes, count);
}

static ath_status put_short_ids(ath_piece_writer *self, const int32_t *ids, size_t count) {
  uint16_t chunk[CHUNK];
  while (count > 0) {
    size_t part = count < CHUNK ? count : CHUNK;
    for (size_t i = 0; i < part; i++) chunk[i] = (uint16_t)ids[i];
    ATH_TRY(put_ids(self, chunk, part * sizeof *chunk));
    ids += part;
    count -= part;
  }
  return ATH_OK;
}

ath_status ath_piece_add(ath_piece_writer *self, const ath_row *row, const int32_t *ids) {
  uint8_t bytes[ROW_MAX];
  memcpy(bytes, &row->tokens, 4);
  if (self->format->hashes) memcpy(bytes + AT_HASH, &row->hash, sizeof row->hash);
  if (self->format->sketches) {
    memcpy(bytes + AT_KEYS, row->sketch.keys, sizeof row->sketch.keys);
    memcpy(bytes + AT_FIRSTS, row->sketch.firsts, sizeof row->sketch.firsts);
  }
  self->foot.rows_crc = ath_crc32c(self->foot.rows_crc, bytes, self->foot.row_bytes);
  self->foot.documents++;
  self->foot.tokens += row->tokens;
  ATH_TRY(ath_file_writer_write(self->rows, bytes, self->foot.row_bytes));
  if (row->tokens == 0) return ATH_OK;
  if (self->format->id_bytes == 2) return put_short_ids(self, ids, row->tokens);
  return put_ids(self, ids, row->tokens * sizeof *ids);
}

ath_status ath_piece_commit(ath_piece_writer *self, uint64_t skipped) {
  self->foot.skipped = skipped;
  self->foot.crc = foot_crc(&self->foot);
  ath_status status = ath_file_writer_write(self->rows, &self->foot, sizeof self->foot);
  if (status == ATH_OK) {
    ath_file_writer *ids = self->ids;
    self->ids = NULL;
    status = ath_file_writer_commit(ids);
  }
  if (status == ATH_OK) {
    ath_file_writer *rows = self->rows;
    self->rows = NULL;
    status = ath_file_writer_commit(rows);
  }
  ath_piece_abandon(self);
  return status;
}

void ath_piece_abandon(ath_piece_writer *self) {
  if (self == NULL) return;
  ath_file_writer_abandon(self->ids);
  ath_file_writer_abandon(self->rows);
  free(self);
}

/* --- reading ------------------------------------------------------------------------------- */

/* The sizes are those that the foot promises. */
static ath_status check(const ath_piece *self, const piece_foot *foot) {
  size_t rows = self->rows.size - sizeof *foot;
  if (foot->magic != MAGIC || foot->crc != foot_crc(foot))
    return ath_fail(ATH_CORRUPT, "its foot is damaged");
  if (foot->recipe != self->format->recipe || foot->row_bytes != row_size(self->format) ||
      foot->id_bytes != (uint32_t)self->format->id_bytes)
    return ath_fail(ATH_MISMATCH, "it belongs to another dataset");
  if (rows % foot->row_bytes != 0 || rows / foot->row_bytes != foot->documents ||
      self->ids.size % foot->id_bytes != 0 || self->ids.size / foot->id_bytes != foot->tokens)
    return ath_fail(ATH_CORRUPT, "it was cut, or the ids beside it");
  if (ath_crc32c(0, self->rows.bytes, rows) != foot->rows_crc)
    return ath_fail(ATH_CORRUPT, "its checksum does not match");
  return ATH_OK;
}

static ath_status read_foot(ath_piece *self) {
  piece_foot foot;
  if (self->rows.size < sizeof foot) return ath_fail(ATH_CORRUPT, "it was cut");
  memcpy(&foot, self->rows.bytes + self->rows.size - sizeof foot, sizeof foot);
  ATH_TRY(check(self, &foot));
  self->row_bytes = foot.row_bytes;
  self->documents = foot.documents;
  self->tokens = foot.tokens;
  self->skipped = foot.skipped;
  self->ids_crc = foot.ids_crc;
  return ATH_OK;
}

ath_status ath_piece_open(const char *folder, size_t number, const ath_piece_format *format,
                          ath_piece *out) {
  char path[ATH_PATH_MAX];
  *out = (ath_piece){.format = format};
  ATH_TRY(name_file(folder, number, "ids", path));
  ATH_TRY(ath_file_map(path, &out->ids));
  ATH_TRY(name_file(folder, number, "rows", path));
  ATH_TRY(ath_file_map(path, &out->rows));
  ATH_TRY_CONTEXT(read_foot(out), "%s", path);
  return ATH_OK;
}

void ath_piece_close(ath_piece *self) {
  if (self->ids.bytes != NULL) ath_file_unmap(&self->ids);
  if (self->rows.bytes != NULL) ath_file_unmap(&self->rows);
  *self = (ath_piece){0};
}

void ath_piece_forget(const ath_piece *self) {
  ath_file_forget(&self->ids);
  ath_file_forget(&self->rows);
}

ath_status ath_piece_check_ids(const ath_piece *self, const char *folder, size_t number) {
  char path[ATH_PATH_MAX];
  if (ath_crc32c(0, self->ids.bytes, self->ids.size) == self->ids_crc) return ATH_OK;
  ATH_TRY(name_file(folder, number, "ids", path));
  return ath_fail(ATH_CORRUPT, "%s: its checksum does not match; remove the folder and prepare "
                  "again", path);
}

static const uint8_t *row_of(const ath_piece *self, uint64_t document) {
  assert(document < self->documents);
  return self->rows.bytes + document * self->row_bytes;
}

uint32_t ath_piece_tokens(const ath_piece *self, uint64_t document) {
  return ath_load_u32(row_of(self, document));
}

ath_text_hash ath_piece_hash(const ath_piece *self, uint64_t document) {
  const uint8_t *row = row_of(self, document) + AT_HASH;
  return self->format->hashes ? (ath_text_hash){ath_load_u64(row), ath_load_u64(row + 8)}
                              : (ath_text_hash){0, 0};
}

uint32_t ath_piece_key(const ath_piece *self, uint64_t document, int band) {
  assert(self->format->sketches && band >= 0 && band < ATH_BANDS);
  return ath_load_u32(row_of(self, document) + AT_KEYS + 4 * band);
}

const uint8_t *ath_piece_firsts(const ath_piece *self, uint64_t document) {
  assert(self->format->sketches);
  return row_of(self, document) + AT_FIRSTS;
}

void ath_piece_ids(const ath_piece *self, uint64_t first, size_t count, int32_t *out) {
  assert(first + count <= self->tokens);
  const uint8_t *bytes = self->ids.bytes + first * (size_t)self->format->id_bytes;
  if (self->format->id_bytes == 4) {
    memcpy(out, bytes, count * sizeof *out);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    uint16_t id;
    memcpy(&id, bytes + 2 * i, sizeof id);
    out[i] = id;
  }
}
