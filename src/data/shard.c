/* shard.c: records to a file whose name says how many they are. */
#include "data/shard.h"

#include <assert.h>
#include <stdlib.h>

enum { EXAMPLE_MAX = 1 << 20 }; /* 65,536 tokens of at most five bytes, and one for the mask */

ath_status ath_shard_create(const char *folder, int max_length, uint64_t limit_records,
                            uint64_t limit_bytes, ath_shard *out) {
  assert((limit_records == 0) != (limit_bytes == 0) && max_length <= ATH_LENGTH_MAX);
  *out = (ath_shard){.max_length = max_length, .limit_records = limit_records,
                     .limit_bytes = limit_bytes, .example = ath_buffer_make(EXAMPLE_MAX)};
  snprintf(out->folder, sizeof out->folder, "%s", folder);
  out->tokens = malloc(2 * (size_t)max_length * sizeof *out->tokens);
  if (out->tokens == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a record");
  for (int i = 0; i < max_length; i++) out->tokens[max_length + i] = 1;
  return ATH_OK;
}

void ath_shard_free(ath_shard *self) {
  ath_tfrecord_abandon(self->writer);
  ath_buffer_free(&self->example);
  free(self->tokens);
  self->writer = NULL;
  self->tokens = NULL;
}

/* The count in the final name is not known yet; this one only serves for the temporary file. */
static ath_status open_shard(ath_shard *self, uint64_t index) {
  assert(self->writer == NULL && self->records == 0);
  char name[ATH_SHARD_NAME_MAX], path[ATH_PATH_MAX];
  snprintf(name, sizeof name, "dataset-%llu", (unsigned long long)index);
  ATH_TRY(ath_path_join(path, self->folder, name));
  const ath_tfrecord_options options = {.compression = self->compression};
  return ath_tfrecord_create_with(path, &options, &self->writer);
}

/* Features in the order of their names, as TensorFlow writes them. */
ath_status ath_shard_write(ath_shard *self, uint64_t index) {
  size_t length = (size_t)self->max_length;
  ath_int64_feature features[] = {{"attention_mask", self->tokens + length, length},
                                  {"input_ids", self->tokens, length}};
  ath_buffer_clear(&self->example);
  ATH_TRY(ath_example_write(features, 2, &self->example));
  if (self->writer == NULL) ATH_TRY(open_shard(self, index));
  uint64_t before = ath_tfrecord_size(self->writer);
  ATH_TRY(ath_tfrecord_write(self->writer, self->example.bytes, self->example.length));
  self->record_bytes = ath_tfrecord_size(self->writer) - before;
  self->records++;
  return ATH_OK;
}

bool ath_shard_is_full(const ath_shard *self) {
  if (self->limit_records > 0) return self->records == self->limit_records;
  return ath_tfrecord_size(self->writer) + self->record_bytes > self->limit_bytes;
}

ath_status ath_shard_close(ath_shard *self, uint64_t index, ath_shard_entry *out) {
  assert(self->writer != NULL && self->records > 0);
  ATH_TRY(ath_tfrecord_end(self->writer));
  *out = (ath_shard_entry){.records = self->records, .bytes = ath_tfrecord_file_size(self->writer),
                           .crc = ath_tfrecord_crc(self->writer)};
  char path[ATH_PATH_MAX];
  ath_shard_name(out->name, index, out->records, self->compression);
  ATH_TRY(ath_path_join(path, self->folder, out->name));
  ath_tfrecord_writer *writer = self->writer;
  self->writer = NULL;
  self->records = 0;
  return ath_tfrecord_commit_as(writer, path);
}
