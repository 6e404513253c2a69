/* zip.c: one file out of a zip archive.
 *
 *     local header, data      per entry; the header's name and extra field end where the data begin
 *     central directory       per entry: "PK\1\2" method crc sizes name place-of-local-header
 *     end record              "PK\5\6" … entries, size and place of the directory, a comment
 *
 * All numbers are little-endian; data are deflated (RFC 1951) or stored. Format: PKWARE's
 * APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16. */
#include "formats/zip.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "formats/wire.h"
#include "storage/file.h"

enum {
  LOCAL_SIZE = 30, CENTRAL_SIZE = 46, END_SIZE = 22, COMMENT_MAX = 65535,
  STORED = 0, DEFLATED = 8, CHUNK = 1 << 18,
};

typedef struct entry_place {
  uint32_t method, crc, packed, unpacked, local;
} entry_place;

static uint32_t load_u16(const uint8_t *bytes) { return bytes[0] | (uint32_t)bytes[1] << 8; }

static ath_status damaged(const char *archive, const char *what) {
  return ath_fail(ATH_CORRUPT, "%s: not a whole zip archive: %s", archive, what);
}

/* --- finding ------------------------------------------------------------------------------ */

/* The end record stands at the end, before a comment whose length it tells: what looks like one
 * within the comment does not reach to the end of the file. */
static const uint8_t *find_end(const ath_mapping *file) {
  if (file->size < END_SIZE) return NULL;
  size_t furthest = file->size - END_SIZE;
  size_t nearest = furthest > COMMENT_MAX ? furthest - COMMENT_MAX : 0;
  for (size_t at = furthest + 1; at > nearest; at--) {
    const uint8_t *end = file->bytes + at - 1;
    uint64_t size = END_SIZE + load_u16(end + 20);
    if (memcmp(end, "PK\5\6", 4) == 0 && at - 1 + size == file->size) return end;
  }
  return NULL;
}

static ath_status find_entry(const ath_mapping *file, const char *archive, const char *name,
                             entry_place *out) {
  const uint8_t *end = find_end(file);
  if (end == NULL) return damaged(archive, "it has no end record");
  uint64_t at = ath_load_u32(end + 16), stop = at + ath_load_u32(end + 12);
  if (stop > file->size) return damaged(archive, "its directory lies beyond its end");
  size_t length = strlen(name);
  while (at + CENTRAL_SIZE <= stop) {
    const uint8_t *head = file->bytes + at;
    if (memcmp(head, "PK\1\2", 4) != 0) return damaged(archive, "its directory is broken");
    uint64_t name_size = load_u16(head + 28);
    uint64_t size = CENTRAL_SIZE + name_size + load_u16(head + 30) + load_u16(head + 32);
    if (at + size > stop) return damaged(archive, "its directory is cut off");
    if (name_size == length && memcmp(head + CENTRAL_SIZE, name, length) == 0) {
      *out = (entry_place){load_u16(head + 10), ath_load_u32(head + 16), ath_load_u32(head + 20),
                           ath_load_u32(head + 24), ath_load_u32(head + 42)};
      return ATH_OK;
    }
    at += size;
  }
  return ath_fail(ATH_NOT_FOUND, "%s: has no file %s", archive, name);
}

static ath_status find_data(const ath_mapping *file, const char *archive, const entry_place *entry,
                            const uint8_t **data) {
  uint64_t at = entry->local;
  if (at + LOCAL_SIZE > file->size || memcmp(file->bytes + at, "PK\3\4", 4) != 0)
    return damaged(archive, "an entry is not where the directory says");
  const uint8_t *head = file->bytes + at;
  at += LOCAL_SIZE + (uint64_t)load_u16(head + 26) + load_u16(head + 28);
  if (at + entry->packed > file->size) return damaged(archive, "an entry is cut off");
  *data = file->bytes + at;
  return ATH_OK;
}

/* --- unpacking ---------------------------------------------------------------------------- */

typedef struct unpacker {
  ath_file_writer *writer;
  uint64_t written;
  uint32_t crc;
} unpacker;

static ath_status put(unpacker *self, const uint8_t *bytes, size_t count) {
  self->crc = (uint32_t)crc32_z(self->crc, bytes, count);
  self->written += count;
  return ath_file_writer_write(self->writer, bytes, count);
}

static ath_status inflate_all(unpacker *self, z_stream *stream, const char *archive,
                              uint64_t wanted) {
  uint8_t chunk[CHUNK];
  for (int code = Z_OK; code != Z_STREAM_END;) {
    stream->next_out = chunk;
    stream->avail_out = CHUNK;
    code = inflate(stream, Z_NO_FLUSH);
    size_t made = CHUNK - stream->avail_out;
    if ((code != Z_OK && code != Z_STREAM_END) || (made == 0 && code == Z_OK) ||
        self->written + made > wanted)
      return damaged(archive, "an entry's data are not what they should be");
    ATH_TRY(put(self, chunk, made));
  }
  return ATH_OK;
}

static ath_status unpack(unpacker *self, const char *archive, const entry_place *entry,
                         const uint8_t *data) {
  if (entry->method == STORED) return put(self, data, entry->packed);
  if (entry->method != DEFLATED)
    return ath_fail(ATH_UNSUPPORTED, "%s: packed by method %u", archive, entry->method);
  /* Zip has the bare stream, without zlib's header: so the negative window. */
  z_stream stream = {.next_in = (Bytef *)data, .avail_in = entry->packed};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return ath_fail(ATH_NO_MEMORY, "%s: no memory to unpack", archive);
  ath_status status = inflate_all(self, &stream, archive, entry->unpacked);
  inflateEnd(&stream);
  return status;
}

static ath_status write_entry(const char *archive, const entry_place *entry, const uint8_t *data,
                              const char *target) {
  unpacker self = {0};
  ATH_TRY(ath_file_writer_open(target, &self.writer));
  ath_status status = unpack(&self, archive, entry, data);
  if (status == ATH_OK && (self.written != entry->unpacked || self.crc != entry->crc))
    status = damaged(archive, "a checksum does not match");
  if (status != ATH_OK) {
    ath_file_writer_abandon(self.writer);
    return status;
  }
  return ath_file_writer_commit(self.writer);
}

ath_status ath_zip_extract(const char *archive, const char *entry, const char *target) {
  ath_mapping file;
  entry_place place = {0};
  const uint8_t *data = NULL;
  ATH_TRY(ath_file_map(archive, &file));
  ath_status status = find_entry(&file, archive, entry, &place);
  if (status == ATH_OK) status = find_data(&file, archive, &place, &data);
  if (status == ATH_OK) status = write_entry(archive, &place, data, target);
  ath_file_unmap(&file);
  return status;
}
