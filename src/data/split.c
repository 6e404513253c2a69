/* split.c: from a stream of tokens to shards. */
#include "data/split.h"

#include <assert.h>
#include <string.h>

ath_status ath_split_create(const char *name, const char *folder, int max_length,
                            uint64_t shard_records, uint64_t shard_bytes, ath_split *out) {
  *out = (ath_split){.name = name, .max_length = max_length, .place.line = 1, .from.line = 1};
  ATH_TRY(ath_path_join(out->folder, folder, name));
  return ath_shard_create(out->folder, max_length, shard_records, shard_bytes, &out->open);
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
  ath_shard_free(&self->open);
  ath_shard_list_free(&self->shards);
}

/* From here on the list and the counts speak of the shard. */
static ath_status close_shard(ath_split *self) {
  ath_shard_entry entry;
  ATH_TRY(ath_shard_close(&self->open, self->shards.count, &entry));
  ATH_TRY(ath_shard_list_add(&self->shards, &entry));
  self->records += entry.records;
  return ATH_OK;
}

ath_status ath_split_add(ath_split *self, const int32_t *ids, size_t count,
                         const ath_place *place) {
  assert(place->global >= self->from.global);
  /* The first line of a continued run may be used up in part. */
  size_t at = place->global == self->from.global ? self->from.token : 0;
  while (at < count) {
    size_t room = (size_t)(self->max_length - self->filled);
    size_t part = count - at < room ? count - at : room;
    memcpy(self->open.tokens + self->filled, ids + at, part * sizeof *ids);
    self->filled += (int)part;
    at += part;
    if (self->filled < self->max_length) break;
    ATH_TRY(ath_shard_write(&self->open, self->shards.count));
    self->filled = 0;
    if (!ath_shard_is_full(&self->open)) continue;
    ATH_TRY(close_shard(self)); /* nothing is filled, so the place alone says where to go on */
    self->place = *place;
    self->place.token = at;
  }
  return ATH_OK;
}

ath_status ath_split_finish(ath_split *self) {
  return self->open.records > 0 ? close_shard(self) : ATH_OK;
}
