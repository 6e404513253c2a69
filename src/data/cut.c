/* cut.c: records cut from encoded pieces. */
#include "data/cut.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/outcome.h"
#include "data/journal.h"

/* --- tokens -------------------------------------------------------------------------------- */

/* A place in the tokens of one split. */
typedef struct tokens {
  ath_layout *layout;
  uint8_t split;
  size_t piece;
  uint64_t document; /* of the piece */
  uint64_t id;       /* the document's first, of the piece's */
  uint32_t used;     /* of the document's tokens */
} tokens;

/* Verifies the ids of a piece when it is first come to. Two threads may both do it. */
static ath_status enter_piece(tokens *self, size_t piece) {
  ath_layout *layout = self->layout;
  if (piece > 0) ath_piece_forget(&layout->pieces[piece - 1]);
  self->piece = piece;
  self->document = self->id = 0;
  self->used = 0;
  if (piece == layout->count || __atomic_load_n(&layout->checked[piece], __ATOMIC_RELAXED))
    return ATH_OK;
  ATH_TRY(ath_piece_check_ids(&layout->pieces[piece], layout->folder, piece));
  __atomic_store_n(&layout->checked[piece], 1, __ATOMIC_RELAXED);
  return ATH_OK;
}

/* Goes on to a document of the split that has tokens left; `used` may reach past its end. */
static ath_status find_document(tokens *self) {
  const ath_layout *layout = self->layout;
  while (self->piece < layout->count) {
    const ath_piece *piece = &layout->pieces[self->piece];
    const uint8_t *choices = layout->choices.bytes + layout->first[self->piece];
    for (; self->document < piece->documents; self->document++) {
      uint32_t count = ath_piece_tokens(piece, self->document);
      if (choices[self->document] == self->split && self->used < count) return ATH_OK;
      if (choices[self->document] == self->split) self->used -= count;
      self->id += count;
    }
    ATH_TRY(enter_piece(self, self->piece + 1));
  }
  return ath_fail(ATH_CORRUPT, "%s: the pieces hold fewer tokens than the layout says",
                  layout->folder);
}

/* Token `number` of the split; there must be one. */
static ath_status seek(tokens *self, uint64_t number) {
  const uint64_t *before = self->layout->tokens[self->split];
  size_t low = 0, high = self->layout->count;
  assert(number < before[high]);
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (before[middle] <= number) low = middle;
    else high = middle;
  }
  ATH_TRY(enter_piece(self, low));
  uint64_t left = number - before[low];
  const ath_piece *piece = &self->layout->pieces[low];
  const uint8_t *choices = self->layout->choices.bytes + self->layout->first[low];
  for (; self->document < piece->documents; self->document++) {
    uint32_t count = ath_piece_tokens(piece, self->document);
    bool ours = choices[self->document] == self->split;
    if (ours && left < count) break;
    if (ours) left -= count;
    self->id += count;
  }
  self->used = (uint32_t)left;
  return ATH_OK;
}

static ath_status take(tokens *self, int32_t *out, size_t count) {
  while (count > 0) {
    ATH_TRY(find_document(self));
    const ath_piece *piece = &self->layout->pieces[self->piece];
    size_t part = ath_piece_tokens(piece, self->document) - self->used;
    if (part > count) part = count;
    ath_piece_ids(piece, self->id + self->used, part, out);
    self->used += (uint32_t)part;
    out += part;
    count -= part;
  }
  return ATH_OK;
}

/* --- shards -------------------------------------------------------------------------------- */

typedef struct cutting {
  ath_layout *layout;
  const ath_preparation *all;
  const char *journal;
} cutting;

static uint64_t records_of(const cutting *self, size_t split) {
  return ath_layout_total(self->layout, split) / (uint64_t)self->all->options->max_length;
}

/* Entries come from several threads. */
static ath_status note(const cutting *self, size_t split, const ath_shard_entry *entry) {
  ath_shard_entry copy = *entry;
  const ath_shard_list list = {.items = &copy, .count = 1};
  json_t *line = json_pack("{s:s, s:o}", "split", self->all->splits[split].name, "shards",
                           ath_shard_list_to_json(&list));
  ath_status status;
#pragma omp critical(ath_cut_journal)
  status = ath_journal_add(self->journal, line);
  json_decref(line);
  return status;
}

/* Writes shard `index`, which begins with record `first`, until it is full or the text ends. */
static ath_status cut_shard(const cutting *self, size_t split, ath_shard *shard, uint64_t index,
                            uint64_t first, ath_shard_entry *entry) {
  size_t length = (size_t)shard->max_length;
  uint64_t left = records_of(self, split) - first;
  tokens from = {.layout = self->layout, .split = (uint8_t)split};
  assert(left > 0);
  ATH_TRY(seek(&from, first * length));
  do {
    ATH_TRY(take(&from, shard->tokens, length));
    ATH_TRY(ath_shard_write(shard, index));
  } while (--left > 0 && !ath_shard_is_full(shard));
  ATH_TRY(ath_shard_close(shard, index, entry));
  return note(self, split, entry);
}

static ath_status check_stop(const cutting *self) {
  const volatile sig_atomic_t *stop = self->all->options->stop;
  if (stop == NULL || !*stop) return ATH_OK;
  return ath_fail(ATH_INTERRUPTED, "stopped while shards were written to %s; the same command goes "
                  "on from there", self->all->options->output);
}

static ath_status make_shard(const cutting *self, size_t split, ath_shard *out) {
  const ath_prepare_options *o = self->all->options;
  ath_status status = ath_shard_create(self->all->splits[split].folder, o->max_length,
                                       o->shard_records, o->shard_bytes, out);
  out->compression = o->compression;
  return status;
}

/* --- shards of so many records ---------------------------------------------------------------- */

static ath_status cut_one(const cutting *self, size_t split, uint64_t index) {
  ath_shard shard;
  ath_shard_entry entry;
  ATH_TRY(check_stop(self));
  ath_status status = make_shard(self, split, &shard);
  if (status == ATH_OK)
    status = cut_shard(self, split, &shard, index, index * self->all->options->shard_records,
                       &entry);
  ath_shard_free(&shard);
  return status;
}

/* `done` has a byte for each shard that is there. A failure leaves the others out. */
static ath_status cut_by_records(const cutting *self, size_t split, ath_share_of share,
                                 int threads, const uint8_t *done, uint64_t shards) {
  uint64_t first = shards * (uint64_t)share.number / (uint64_t)share.count;
  uint64_t end = shards * (uint64_t)(share.number + 1) / (uint64_t)share.count;
  ath_outcome outcome = {.status = ATH_OK};
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (uint64_t index = first; index < end; index++) {
    if (done[index] || __atomic_load_n(&outcome.status, __ATOMIC_RELAXED) != ATH_OK) continue;
    ath_status status = cut_one(self, split, index);
#pragma omp critical(ath_cut_outcome)
    if (status != ATH_OK && outcome.status == ATH_OK) ath_outcome_keep(&outcome, status);
  }
  return ath_outcome_return(&outcome);
}

static ath_status cut_split_by_records(const cutting *self, size_t split, ath_share_of share,
                                       int threads) {
  uint64_t limit = self->all->options->shard_records;
  uint64_t shards = (records_of(self, split) + limit - 1) / limit;
  const ath_shard_list *kept = &self->layout->kept[split];
  if (shards > ATH_SHARDS_MAX)
    return ath_fail(ATH_INVALID, "%llu shards, more than %d; choose a larger shard size",
                    (unsigned long long)shards, ATH_SHARDS_MAX);
  uint8_t *done = calloc(shards + 1, 1);
  if (done == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of shards");
  for (size_t i = 0; i < kept->count; i++) {
    uint64_t index, records;
    if (ath_shard_name_parse(kept->items[i].name, &index, &records) && index < shards)
      done[index] = 1;
  }
  ath_status status = cut_by_records(self, split, share, threads, done, shards);
  free(done);
  return status;
}

/* --- shards of so many bytes ------------------------------------------------------------------ */

/* Kept ones are the first, since they are written in order. */
static ath_status cut_split_by_bytes(const cutting *self, size_t split) {
  const ath_shard_list *kept = &self->layout->kept[split];
  uint64_t index = kept->count, record = 0, records = records_of(self, split);
  ath_shard shard;
  for (size_t i = 0; i < kept->count; i++) record += kept->items[i].records;
  ath_status status = make_shard(self, split, &shard);
  for (; status == ATH_OK && record < records; index++) {
    ath_shard_entry entry = {.records = 0};
    status = check_stop(self);
    if (status == ATH_OK) status = cut_shard(self, split, &shard, index, record, &entry);
    record += entry.records;
  }
  ath_shard_free(&shard);
  return status;
}

ath_status ath_cut(ath_layout *layout, const ath_preparation *all, ath_share_of share, int threads,
                   const char *journal) {
  const cutting self = {layout, all, journal};
  json_t *first = json_pack("{s:s}", "format", "athanor-shards");
  ath_status status = ath_journal_create(journal, first);
  json_decref(first);
  for (size_t split = 0; status == ATH_OK && split < all->count; split++) {
    if (all->options->shard_records > 0)
      status = cut_split_by_records(&self, split, share, threads);
    else if ((int)split % share.count == share.number)
      status = cut_split_by_bytes(&self, split);
  }
  return status;
}

/* --- what was written ------------------------------------------------------------------------- */

static ath_status add_note(json_t *entry, const ath_preparation *all,
                           ath_shard_list lists[ATH_SPLITS_MAX]) {
  const char *name = json_string_value(json_object_get(entry, "split"));
  for (size_t i = 0; name != NULL && i < all->count; i++)
    if (strcmp(name, all->splits[i].name) == 0)
      return ath_shard_list_add_unordered(&lists[i], json_object_get(entry, "shards"));
  return ath_fail(ATH_INVALID, "an entry of no split");
}

ath_status ath_cut_read_journal(const char *path, const ath_preparation *all,
                                ath_shard_list lists[ATH_SPLITS_MAX]) {
  json_t *entries = NULL;
  ATH_TRY(ath_journal_recover(path, &entries));
  ath_status status = ATH_OK;
  for (size_t i = 1; status == ATH_OK && i < json_array_size(entries); i++)
    status = ath_context(add_note(json_array_get(entries, i), all, lists), "%s: line %zu", path,
                         i + 1);
  json_decref(entries);
  return status;
}
