/* dataset.c: a folder of shards, read by record number. */
#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/dataset.h"
#include "athanor/tfrecord.h"
#include "base/log.h"
#include "data/index.h"
#include "data/manifest.h"
#include "storage/file.h"

typedef struct shard {
  ath_tfrecord_reader *reader;
  uint64_t first; /* number of its first record in the dataset */
} shard;

struct ath_dataset {
  char folder[ATH_PATH_MAX];
  bool has_manifest;
  ath_manifest manifest;
  char **names; /* of the shards, in order */
  size_t count;
  ath_index_shard *states;
  ath_index index;
  shard *shards;
  int length;
  pthread_mutex_t lock; /* of the readers' positions */
};

/* --- opening ------------------------------------------------------------------------------- */

/* By the index in the name ("dataset-10-…" comes after "dataset-2-…"), others by their bytes. */
static int by_index(const void *a, const void *b) {
  const char *x = *(char *const *)a, *y = *(char *const *)b;
  uint64_t i, j, records;
  if (ath_shard_name_parse(x, &i, &records) && ath_shard_name_parse(y, &j, &records) && i != j)
    return i < j ? -1 : 1;
  return strcmp(x, y);
}

/* Keeps the names of shards, in order, and forgets the folder's other files. */
static ath_status find_shards(ath_dataset *self) {
  char **names;
  size_t count;
  ATH_TRY(ath_folder_list(self->folder, &names, &count));
  for (size_t i = 0; i < count; i++) {
    if (ath_shard_name_is(names[i])) names[self->count++] = names[i];
    else free(names[i]);
  }
  if (self->count > 0) qsort(names, self->count, sizeof *names, by_index);
  self->names = names;
  return ATH_OK;
}

/* A folder without a manifest holds another tool's shards, or those of an unfinished run. */
static ath_status check_foreign(const ath_dataset *self) {
  char unfinished[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(unfinished, self->folder, "../" ATH_PROGRESS_NAME));
  if (ath_path_exists(unfinished))
    return ath_fail(ATH_INVALID,
                    "%s: this dataset is not finished; run \"athanor data prepare\" again, it "
                    "will continue", self->folder);
  if (self->count > 0) return ATH_OK;
  char train[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(train, self->folder, "train"));
  const char *hint = ath_path_is_folder(train) ? "; name its train/ or validation/" : "";
  return ath_fail(ATH_NOT_FOUND, "%s: no *.tfrecord files in this folder%s", self->folder, hint);
}

/* The shards in the folder are those that the manifest lists, no more and no less. */
static ath_status check_names(const ath_dataset *self) {
  const ath_shard_list *listed = &self->manifest.shards;
  for (size_t i = 0; i < listed->count || i < self->count; i++) {
    const char *there = i < self->count ? self->names[i] : NULL;
    const char *wanted = i < listed->count ? listed->items[i].name : NULL;
    if (there != NULL && wanted != NULL && strcmp(there, wanted) == 0) continue;
    bool missing = wanted != NULL && (there == NULL || by_index(&wanted, &there) < 0);
    if (missing)
      return ath_fail(ATH_CORRUPT, "%s/%s: missing, though the manifest lists it; prepare the "
                      "data again", self->folder, wanted);
    return ath_fail(ATH_MISMATCH, "%s/%s: not in this folder's manifest; remove it", self->folder,
                    there);
  }
  return ATH_OK;
}

/* Compares sizes before anything is read from the files, so that a cut file is found at once. */
static ath_status check_sizes(const ath_dataset *self) {
  assert(self->count == self->manifest.shards.count);
  for (size_t i = 0; i < self->count; i++) {
    char path[ATH_PATH_MAX];
    uint64_t size, wanted = self->manifest.shards.items[i].bytes;
    ATH_TRY(ath_path_join(path, self->folder, self->names[i]));
    ATH_TRY(ath_file_size(path, &size));
    if (size != wanted)
      return ath_fail(ATH_CORRUPT, "%s: %" PRIu64 " bytes long, but the manifest says %" PRIu64,
                      path, size, wanted);
  }
  return ATH_OK;
}

/* The count in each name is the count in the file: a file cut between two records shows here. */
static ath_status check_counts(const ath_dataset *self) {
  for (size_t i = 0; i < self->count; i++) {
    uint64_t index, records;
    if (!ath_shard_name_parse(self->names[i], &index, &records)) continue;
    if (records != self->states[i].records)
      return ath_fail(ATH_CORRUPT,
                      "%s/%s: holds %" PRIu64 " records, but its name says %" PRIu64,
                      self->folder, self->names[i], self->states[i].records, records);
  }
  if (self->index.records == 0) return ath_fail(ATH_INVALID, "%s: no records", self->folder);
  return ATH_OK;
}

/* Every shard stays mapped while the dataset is open, a compressed one unpacked: reading a record
 * is a look into memory, and the system keeps the pages that are in use. */
static ath_status open_shards(ath_dataset *self) {
  const ath_tfrecord_options options = {.random_access = true};
  self->states = calloc(self->count, sizeof *self->states);
  self->shards = calloc(self->count, sizeof *self->shards);
  if (self->states == NULL || self->shards == NULL)
    return ath_fail(ATH_NO_MEMORY, "%s: no memory for %zu shards", self->folder, self->count);
  ATH_TRY(ath_index_open(self->folder, (const char *const *)self->names, self->count,
                         self->states, &self->index));
  ATH_TRY(check_counts(self));
  uint64_t first = 0;
  for (size_t i = 0; i < self->count; i++) {
    char path[ATH_PATH_MAX];
    ATH_TRY(ath_path_join(path, self->folder, self->names[i]));
    ATH_TRY(ath_tfrecord_open_with(path, &options, &self->shards[i].reader));
    self->shards[i].first = first;
    first += self->states[i].records;
  }
  assert(first == self->index.records);
  return ATH_OK;
}

static ath_status fetch(const ath_dataset *self, uint64_t index, ath_record *record,
                        const char **name);

/* Without a manifest the first record says how long they are. */
static ath_status find_length(ath_dataset *self) {
  ath_record record;
  const char *name;
  ATH_TRY(fetch(self, 0, &record, &name));
  int32_t *ids = malloc(ATH_LENGTH_MAX * sizeof *ids);
  if (ids == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", self->folder);
  size_t count = 0;
  ath_status status = ath_example_read_int64(record.bytes, record.length, "input_ids", ids,
                                             ATH_LENGTH_MAX, &count);
  free(ids);
  if (status != ATH_OK) return ath_context(status, "%s/%s: record 0", self->folder, name);
  if (count == 0)
    return ath_fail(ATH_INVALID, "%s/%s: record 0: input_ids is empty", self->folder, name);
  self->length = (int)count;
  return ATH_OK;
}

/* From cheap checks to dear ones: names, sizes, the count of records; the records' own checksums
 * are verified when they are read. */
static ath_status open_folder(ath_dataset *self) {
  ATH_TRY(find_shards(self));
  ath_status found = ath_manifest_read(self->folder, &self->manifest);
  self->has_manifest = found == ATH_OK;
  if (found != ATH_OK && found != ATH_NOT_FOUND) return found;
  if (!self->has_manifest) {
    ATH_TRY(check_foreign(self));
  } else {
    ATH_TRY(check_names(self));
    ATH_TRY(check_sizes(self));
  }
  ATH_TRY(open_shards(self));
  if (!self->has_manifest) return find_length(self);
  self->length = self->manifest.max_length;
  return ATH_OK;
}

ath_status ath_dataset_open(const char *folder, ath_dataset **out) {
  size_t length = strlen(folder);
  if (length >= ATH_PATH_MAX) return ath_fail(ATH_INVALID, "%.60s…: path too long", folder);
  ath_dataset *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to open it", folder);
  memcpy(self->folder, folder, length + 1);
  pthread_mutex_init(&self->lock, NULL);
  ath_status status = open_folder(self);
  if (status != ATH_OK) {
    ath_dataset_close(self);
    return status;
  }
  assert(self->length > 0 && self->index.records > 0);
  *out = self;
  return ATH_OK;
}

void ath_dataset_close(ath_dataset *self) {
  if (self == NULL) return;
  for (size_t i = 0; self->shards != NULL && i < self->count; i++)
    ath_tfrecord_close(self->shards[i].reader);
  ath_folder_list_free(self->names, self->count);
  ath_index_close(&self->index);
  if (self->has_manifest) ath_manifest_free(&self->manifest);
  free(self->states);
  free(self->shards);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

/* --- what it is ---------------------------------------------------------------------------- */

uint64_t ath_dataset_size(const ath_dataset *self) { return self->index.records; }

int ath_dataset_length(const ath_dataset *self) { return self->length; }

const char *ath_dataset_tokenizer_hash(const ath_dataset *self) {
  return self->has_manifest ? self->manifest.tokenizer_hash : NULL;
}

ath_status ath_dataset_check_tokenizer(const ath_dataset *self, const ath_tokenizer *tokenizer) {
  const char *there = ath_dataset_tokenizer_hash(self);
  if (there == NULL) return ATH_OK;
  const char *here = ath_tokenizer_hash(tokenizer);
  if (here == NULL) return ATH_NO_MEMORY;
  if (strcmp(there, here) == 0) return ATH_OK;
  return ath_fail(ATH_MISMATCH,
                  "%s: made with the tokenizer %s, but this one is %s; use that tokenizer or "
                  "prepare the data again", self->folder, there, here);
}

/* --- reading ------------------------------------------------------------------------------- */

/* The shard that holds a record. Empty shards begin where the next one does; the last of those
 * that begin at or before the record is the one that has it. */
static size_t shard_of(const ath_dataset *self, uint64_t index) {
  size_t low = 0, high = self->count; /* the answer is in [low, high) */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (self->shards[middle].first <= index) low = middle;
    else high = middle;
  }
  assert(self->shards[low].first <= index &&
         index - self->shards[low].first < self->states[low].records);
  return low;
}

/* Finds a record and verifies its checksums. Only the reader's position needs the lock: the
 * record itself lies in the mapping, which nobody changes. */
static ath_status fetch(const ath_dataset *self, uint64_t index, ath_record *record,
                        const char **name) {
  assert(index < self->index.records);
  size_t i = shard_of(self, index);
  const shard *s = &self->shards[i];
  pthread_mutex_t *lock = (pthread_mutex_t *)&self->lock;
  pthread_mutex_lock(lock);
  ath_status status = ath_tfrecord_seek(s->reader, self->index.offsets[index], index - s->first);
  if (status == ATH_OK) status = ath_tfrecord_next(s->reader, record);
  pthread_mutex_unlock(lock);
  *name = self->names[i];
  if (status == ATH_OK && record->bytes == NULL)
    status = ath_fail(ATH_CORRUPT, "%s/%s: record %" PRIu64 ": the file ends before it",
                      self->folder, *name, index - s->first);
  return status;
}

/* Reads both lists, which must have as many values as the dataset's records have tokens. */
static ath_status read_lists(const ath_record *record, int32_t *ids, int32_t *mask, int length) {
  ath_int64_list lists[] = {
    {.name = "input_ids", .values = ids, .capacity = (size_t)length},
    {.name = "attention_mask", .values = mask, .capacity = (size_t)length}};
  ATH_TRY(ath_example_read_lists(record->bytes, record->length, lists, 2));
  for (int i = 0; i < 2; i++)
    if (lists[i].count != (size_t)length)
      return ath_fail(ATH_INVALID, "%s has %zu values, not %d as the dataset says", lists[i].name,
                      lists[i].count, length);
  return ATH_OK;
}

ath_status ath_dataset_read(const ath_dataset *self, uint64_t index, int32_t *ids, int32_t *mask) {
  ath_record record;
  const char *name;
  ATH_TRY(fetch(self, index, &record, &name));
  return ath_context(read_lists(&record, ids, mask, self->length),
                     "%s/%s: record %" PRIu64 " at byte %" PRIu64, self->folder, name,
                     record.number, record.at);
}

/* Compares a whole file with the manifest, so that bytes between records count, too. */
static ath_status verify_file(const ath_dataset *self, size_t i) {
  char path[ATH_PATH_MAX];
  ath_mapping file;
  ATH_TRY(ath_path_join(path, self->folder, self->names[i]));
  ATH_TRY(ath_file_map(path, &file));
  uint32_t crc = ath_crc32c(0, file.bytes, file.size);
  ath_file_unmap(&file);
  uint32_t wanted = self->manifest.shards.items[i].crc;
  if (crc == wanted) return ATH_OK;
  return ath_fail(ATH_CORRUPT, "%s: its checksum is %08" PRIx32 ", but the manifest says %08"
                  PRIx32, path, crc, wanted);
}

static ath_status verify_record(const ath_dataset *self, uint64_t index, int32_t *values) {
  ATH_TRY(ath_dataset_read(self, index, values, values + self->length));
  for (int i = 0; self->has_manifest && i < self->length; i++)
    if (values[i] < 0 || values[i] >= self->manifest.vocab_size)
      return ath_fail(ATH_CORRUPT, "%s: record %" PRIu64 ": token %d is id %d, but the vocabulary "
                      "has %d", self->folder, index, i, values[i], self->manifest.vocab_size);
  return ATH_OK;
}

ath_status ath_dataset_verify(const ath_dataset *self) {
  enum { REPORT_EVERY = 1 << 14 };
  int32_t *values = malloc(2 * (size_t)self->length * sizeof *values);
  if (values == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to verify it", self->folder);
  ath_progress progress = {.task = "data: verifying", .total = self->index.records,
                           .unit = "records"};
  ath_status status = ATH_OK;
  for (uint64_t i = 0; status == ATH_OK && i < self->index.records; i++) {
    status = verify_record(self, i, values);
    progress.done = i + 1;
    if (progress.done % REPORT_EVERY == 0) ath_log_progress(&progress);
  }
  /* The file's own checksum comes last: a record's says more exactly where the fault is. */
  for (size_t i = 0; status == ATH_OK && self->has_manifest && i < self->count; i++)
    status = verify_file(self, i);
  progress.finished = 1;
  ath_log_progress(&progress);
  free(values);
  return status;
}
