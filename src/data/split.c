/* split.c: from a stream of tokens to shards. */
#include "data/split.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLE_MAX = 1 << 20 }; /* 65,536 tokens of at most five bytes, and one for the mask */

ath_status ath_split_create(const char *name, const char *folder, int max_length,
                            uint64_t shard_records, uint64_t shard_bytes, ath_split *out) {
  assert((shard_records == 0) != (shard_bytes == 0) && max_length <= ATH_LENGTH_MAX);
  *out = (ath_split){.name = name, .max_length = max_length, .shard_records = shard_records,
                     .shard_bytes = shard_bytes, .example = ath_buffer_make(EXAMPLE_MAX),
                     .place.line = 1, .from.line = 1};
  ATH_TRY(ath_path_join(out->folder, folder, name));
  out->tokens = malloc(2 * (size_t)max_length * sizeof *out->tokens);
  if (out->tokens == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a record");
  for (int i = 0; i < max_length; i++) out->tokens[max_length + i] = 1;
  return ATH_OK;
}

void ath_split_continue(ath_split *self, ath_shard_list *shards, const ath_place *place) {
  assert(self->shards.count == 0 && self->filled == 0);
  self->shards = *shards;
  *shards = (ath_shard_list){0};
  self->noted = self->shards.count;
  self->place = self->from = *place;
  for (size_t i = 0; i < self->shards.count; i++) self->records += self->shards.items[i].records;
}

void ath_split_free(ath_split *self) {
  ath_tfrecord_abandon(self->writer);
  ath_shard_list_free(&self->shards);
  ath_buffer_free(&self->example);
  free(self->tokens);
  self->writer = NULL;
  self->tokens = NULL;
}

/* The count in the final name is not known yet; this one only serves for the temporary file. */
static ath_status open_shard(ath_split *self) {
  assert(self->writer == NULL && self->open_records == 0);
  char name[ATH_SHARD_NAME_MAX], path[ATH_PATH_MAX];
  snprintf(name, sizeof name, "dataset-%zu", self->shards.count);
  ATH_TRY(ath_path_join(path, self->folder, name));
  return ath_tfrecord_create(path, &self->writer);
}

/* Flushes the shard to disk and gives it its name, which only now can say how many records it has.
 * From here on the list and the counts speak of it. */
static ath_status close_shard(ath_split *self) {
  assert(self->writer != NULL && self->open_records > 0);
  ath_shard_entry entry = {.records = self->open_records,
                           .bytes = ath_tfrecord_size(self->writer),
                           .crc = ath_tfrecord_crc(self->writer)};
  char path[ATH_PATH_MAX];
  ath_shard_name(entry.name, self->shards.count, entry.records);
  ATH_TRY(ath_path_join(path, self->folder, entry.name));
  ath_tfrecord_writer *writer = self->writer;
  self->writer = NULL;
  ATH_TRY(ath_tfrecord_commit_as(writer, path));
  ATH_TRY(ath_shard_list_add(&self->shards, &entry));
  self->records += self->open_records;
  self->open_records = 0;
  return ATH_OK;
}

/* Features in the order of their names, as TensorFlow writes them. */
static ath_status write_record(ath_split *self) {
  assert(self->filled == self->max_length);
  size_t length = (size_t)self->max_length;
  ath_int64_feature features[] = {{"attention_mask", self->tokens + length, length},
                                  {"input_ids", self->tokens, length}};
  ath_buffer_clear(&self->example);
  ATH_TRY(ath_example_write(features, 2, &self->example));
  if (self->writer == NULL) ATH_TRY(open_shard(self));
  uint64_t before = ath_tfrecord_size(self->writer);
  ATH_TRY(ath_tfrecord_write(self->writer, self->example.bytes, self->example.length));
  self->record_bytes = ath_tfrecord_size(self->writer) - before;
  self->open_records++;
  self->filled = 0;
  return ATH_OK;
}

/* By bytes, a shard is full when another record of the same size would not fit. */
static bool is_full(const ath_split *self) {
  if (self->shard_records > 0) return self->open_records == self->shard_records;
  return ath_tfrecord_size(self->writer) + self->record_bytes > self->shard_bytes;
}

ath_status ath_split_add(ath_split *self, const int32_t *ids, size_t count,
                         const ath_place *place) {
  assert(place->global >= self->from.global);
  /* The first line of a continued run may be used up in part. */
  size_t at = place->global == self->from.global ? self->from.token : 0;
  while (at < count) {
    size_t room = (size_t)(self->max_length - self->filled);
    size_t part = count - at < room ? count - at : room;
    memcpy(self->tokens + self->filled, ids + at, part * sizeof *ids);
    self->filled += (int)part;
    at += part;
    if (self->filled < self->max_length) break;
    ATH_TRY(write_record(self));
    if (!is_full(self)) continue;
    assert(self->filled == 0); /* so the place alone says where the next shard begins */
    ATH_TRY(close_shard(self));
    self->place = *place;
    self->place.token = at;
  }
  return ATH_OK;
}

ath_status ath_split_finish(ath_split *self) {
  return self->writer != NULL ? close_shard(self) : ATH_OK;
}
