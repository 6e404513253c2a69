/* index.c: building, caching and loading the index of records. */
#include "data/index.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "athanor/tfrecord.h"
#include "base/log.h"

enum { VERSION = 1 };

typedef struct header {
  char magic[8];
  uint32_t version, shards;
  uint64_t records;
} header;

static const char MAGIC[8] = {'A', 'T', 'H', 'I', 'N', 'D', 'E', 'X'};

/* What identifies the state of a shard, but for the count of its records. */
static ath_status describe(const char *folder, const char *name, ath_index_shard *out) {
  char path[ATH_PATH_MAX];
  struct stat info;
  ATH_TRY(ath_path_join(path, folder, name));
  if (stat(path, &info) != 0) return ath_fail_errno(errno, "%s", path);
  *out = (ath_index_shard){
    .size = (uint64_t)info.st_size,
    .changed = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec,
    .name_crc = ath_crc32c(0, name, strlen(name)),
  };
  return ATH_OK;
}

/* --- loading ------------------------------------------------------------------------------- */

/* Whether a cached index is whole and describes these shards. What it says is believed only after
 * all of it was checked: sizes first, so that nothing is read outside the mapping. */
static bool fits(const ath_mapping *file, const ath_index_shard *shards, size_t count) {
  header head;
  size_t table = count * sizeof *shards;
  if (file->size < sizeof head + table + 8) return false;
  memcpy(&head, file->bytes, sizeof head);
  if (memcmp(head.magic, MAGIC, sizeof MAGIC) != 0 || head.version != VERSION ||
      head.shards != count)
    return false;
  size_t room = file->size - sizeof head - table - 8;
  if (head.records != room / 8 || room % 8 != 0) return false;
  const ath_index_shard *stored = (const void *)(file->bytes + sizeof head);
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    if (stored[i].size != shards[i].size || stored[i].changed != shards[i].changed ||
        stored[i].name_crc != shards[i].name_crc || stored[i].records > head.records - sum)
      return false;
    sum += stored[i].records;
  }
  uint32_t crc;
  memcpy(&crc, file->bytes + file->size - 8, sizeof crc);
  return sum == head.records && crc == ath_crc32c(0, file->bytes, file->size - 8);
}

/* Leaves the index mapped: for millions of records only the pages in use take up memory. */
static bool load(const char *path, ath_index_shard *shards, size_t count, ath_index *out) {
  if (!ath_path_exists(path) || ath_file_map(path, &out->mapping) != ATH_OK) return false;
  if (!fits(&out->mapping, shards, count)) {
    ath_file_unmap(&out->mapping);
    return false;
  }
  const uint8_t *table = out->mapping.bytes + sizeof(header);
  memcpy(shards, table, count * sizeof *shards);
  out->offsets = (const void *)(table + count * sizeof *shards);
  out->records = 0;
  for (size_t i = 0; i < count; i++) out->records += shards[i].records;
  assert((uintptr_t)out->offsets % sizeof *out->offsets == 0);
  return true;
}

/* --- building ------------------------------------------------------------------------------ */

static ath_status add_offset(ath_index *self, size_t *capacity, uint64_t at) {
  assert(self->records <= *capacity);
  if (self->records == *capacity) {
    size_t more = *capacity == 0 ? 4096 : *capacity * 2;
    uint64_t *grown = realloc(self->allocated, more * sizeof *grown);
    if (grown == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to index %zu records", more);
    self->allocated = grown;
    *capacity = more;
  }
  self->allocated[self->records++] = at;
  return ATH_OK;
}

/* Walks a shard from frame to frame. Only the lengths are read and verified, so the time is that of
 * touching one page per record, not of reading all data. */
static ath_status scan(const char *folder, const char *name, ath_index *self, size_t *capacity) {
  char path[ATH_PATH_MAX];
  ath_tfrecord_reader *reader = NULL;
  ATH_TRY(ath_path_join(path, folder, name));
  ATH_TRY(ath_tfrecord_open(path, &reader));
  ath_record record;
  ath_status status;
  while ((status = ath_tfrecord_skip(reader, &record)) == ATH_OK && record.bytes != NULL)
    ATH_TRY_GOTO(add_offset(self, capacity, record.at), done);
done:
  ath_tfrecord_close(reader);
  return status;
}

/* A reader that opens the folder at the same time sees the old index or the new one. */
static ath_status save(const char *path, const ath_index_shard *shards, size_t count,
                       const ath_index *index) {
  header head = {.version = VERSION, .shards = (uint32_t)count, .records = index->records};
  memcpy(head.magic, MAGIC, sizeof MAGIC);
  const struct { const void *bytes; size_t size; } parts[] = {
    {&head, sizeof head}, {shards, count * sizeof *shards},
    {index->offsets, index->records * sizeof *index->offsets}};
  ath_file_writer *writer = NULL;
  ATH_TRY(ath_file_writer_open(path, &writer));
  ath_status status = ATH_OK;
  uint32_t tail[2] = {0, 0};
  for (int i = 0; status == ATH_OK && i < 3; i++) {
    status = ath_file_writer_write(writer, parts[i].bytes, parts[i].size);
    tail[0] = ath_crc32c(tail[0], parts[i].bytes, parts[i].size);
  }
  if (status == ATH_OK) status = ath_file_writer_write(writer, tail, sizeof tail);
  if (status != ATH_OK) {
    ath_file_writer_abandon(writer);
    return status;
  }
  return ath_file_writer_commit(writer);
}

ath_status ath_index_open(const char *folder, const char *const *names, size_t count,
                          ath_index_shard *shards, ath_index *out) {
  _Static_assert(sizeof(header) == 24 && sizeof(ath_index_shard) == 32, "no padding in the file");
  char path[ATH_PATH_MAX];
  assert(count <= UINT32_MAX);
  *out = (ath_index){0};
  ATH_TRY(ath_path_join(path, folder, ATH_INDEX_NAME));
  for (size_t i = 0; i < count; i++) ATH_TRY(describe(folder, names[i], &shards[i]));
  if (load(path, shards, count, out)) return ATH_OK;
  size_t capacity = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t before = out->records;
    ath_status status = scan(folder, names[i], out, &capacity);
    if (status != ATH_OK) {
      ath_index_close(out);
      return status;
    }
    shards[i].records = out->records - before;
  }
  out->offsets = out->allocated;
  if (save(path, shards, count, out) != ATH_OK)
    ath_log(ATH_LOG_INFO, "the index of records is kept in memory only: %s", ath_error_text());
  return ATH_OK;
}

void ath_index_close(ath_index *self) {
  if (self->mapping.bytes != NULL) ath_file_unmap(&self->mapping);
  free(self->allocated);
  *self = (ath_index){0};
}
