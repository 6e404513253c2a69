/* layout.c: deciding where every line goes. */
#include "data/layout.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FORMAT "athanor-layout"
#define CHOICES_NAME "choices"
enum { VERSION = 1 };

/* --- opening ------------------------------------------------------------------------------- */

ath_status ath_layout_open(const char *folder, size_t count, const ath_piece_format *format,
                           ath_layout *out) {
  *out = (ath_layout){.folder = folder, .count = count,
                      .pieces = calloc(count + 1, sizeof *out->pieces),
                      .first = calloc(count + 1, sizeof *out->first),
                      .checked = calloc(count + 1, 1)};
  bool made = out->pieces != NULL && out->first != NULL && out->checked != NULL;
  for (int i = 0; i < ATH_SPLITS_MAX; i++) {
    out->tokens[i] = calloc(count + 1, sizeof *out->tokens[i]);
    made = made && out->tokens[i] != NULL;
  }
  if (!made) return ath_fail(ATH_NO_MEMORY, "no memory for %zu pieces", count);
  for (size_t i = 0; i < count; i++) {
    ATH_TRY(ath_piece_open(folder, i, format, &out->pieces[i]));
    out->first[i + 1] = out->first[i] + out->pieces[i].documents;
    ath_piece_forget(&out->pieces[i]);
  }
  return ATH_OK;
}

void ath_layout_close(ath_layout *self) {
  for (size_t i = 0; self->pieces != NULL && i < self->count; i++)
    ath_piece_close(&self->pieces[i]);
  for (int i = 0; i < ATH_SPLITS_MAX; i++) {
    free(self->tokens[i]);
    ath_shard_list_free(&self->kept[i]);
  }
  if (self->choices.bytes != NULL) ath_file_unmap(&self->choices);
  free(self->pieces);
  free(self->first);
  free(self->checked);
  *self = (ath_layout){0};
}

/* --- deciding ------------------------------------------------------------------------------ */

/* After duplicates have been marked. Counts the tokens of each split. */
static void choose_piece(const ath_layout *self, const ath_preparation *all, size_t number,
                         uint8_t *choices, uint64_t tokens[ATH_SPLITS_MAX]) {
  const ath_piece *piece = &self->pieces[number];
  for (uint64_t i = 0; i < piece->documents; i++) {
    uint64_t line = self->first[number] + i;
    uint32_t count = ath_piece_tokens(piece, i);
    if (choices[line] == ATH_CHOICE_DUPLICATE) continue;
    choices[line] = ATH_CHOICE_LEFT_OUT;
    if (count == 0) continue;
    ath_text_hash hash = ath_piece_hash(piece, i);
    int split = ath_preparation_choose(all, line, &hash);
    choices[line] = (uint8_t)split;
    tokens[split] += count;
  }
  ath_piece_forget(piece);
}

/* tokens[split][p + 1] becomes what is before piece p + 1. */
static void sum_up(ath_layout *self) {
  for (int split = 0; split < ATH_SPLITS_MAX; split++)
    for (size_t p = 0; p < self->count; p++)
      self->tokens[split][p + 1] += self->tokens[split][p];
}

static ath_status choose_all(ath_layout *self, const ath_preparation *all, int threads,
                             uint8_t *choices) {
  const ath_prepare_options *o = all->options;
  uint64_t lines = self->first[self->count];
  const ath_rows rows = {self->pieces, self->first, self->count};
  memset(choices, ATH_CHOICE_LEFT_OUT, lines);
  if (o->deduplicate != ATH_DEDUPLICATE_NONE)
    ATH_TRY(ath_duplicates_mark(&rows, o->deduplicate, o->near_similarity, o->deduplicate_memory,
                                threads, choices));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t p = 0; p < self->count; p++) {
    uint64_t tokens[ATH_SPLITS_MAX] = {0};
    choose_piece(self, all, p, choices, tokens);
    for (int i = 0; i < ATH_SPLITS_MAX; i++) self->tokens[i][p + 1] = tokens[i];
  }
  sum_up(self);
  self->duplicates = 0; /* not those of an earlier run's layout */
  for (uint64_t i = 0; i < lines; i++) self->duplicates += choices[i] == ATH_CHOICE_DUPLICATE;
  return ATH_OK;
}

/* The file is filled through a mapping, so that it need not fit into memory. Its blocks are asked
 * for first: a full disk is to be a failure here, not a signal at the first write. */
static ath_status decide_in(int file, ath_layout *self, const ath_preparation *all, int threads) {
  uint64_t lines = self->first[self->count];
  if (lines == 0) return ATH_OK;
  int error = posix_fallocate(file, 0, (off_t)lines);
  if (error != 0) return ath_fail_errno(error, "no room for the choices of lines");
  uint8_t *choices = mmap(NULL, lines, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (choices == MAP_FAILED) return ath_fail_errno(errno, "cannot map the choices of lines");
  ath_status status = choose_all(self, all, threads, choices);
  if (munmap(choices, lines) != 0 && status == ATH_OK) status = ath_fail_errno(errno, "choices");
  if (status == ATH_OK && fsync(file) != 0) status = ath_fail_errno(errno, "choices");
  return status;
}

static ath_status write_choices(ath_layout *self, const ath_preparation *all, int threads,
                                const char *path) {
  char temporary[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(temporary, self->folder, CHOICES_NAME ".tmp"));
  int file = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return ath_fail_errno(errno, "%s", temporary);
  ath_status status = ath_context(decide_in(file, self, all, threads), "%s", temporary);
  close(file);
  ATH_TRY(status);
  if (rename(temporary, path) != 0) return ath_fail_errno(errno, "%s", path);
  return ath_folder_sync(self->folder);
}

/* --- layout.json ---------------------------------------------------------------------------- */

static ath_status write_layout(const ath_layout *self, const ath_preparation *all,
                               const char *path) {
  json_t *tokens = json_array(), *kept = json_object();
  for (size_t p = 0; p < self->count; p++)
    json_array_append_new(tokens, json_pack("[I, I]",
        (json_int_t)(self->tokens[0][p + 1] - self->tokens[0][p]),
        (json_int_t)(self->tokens[1][p + 1] - self->tokens[1][p])));
  for (size_t i = 0; i < all->count; i++)
    json_object_set_new(kept, all->splits[i].name, ath_shard_list_to_json(&self->kept[i]));
  bool whole = json_array_size(tokens) == self->count && json_object_size(kept) == all->count;
  json_t *root = json_pack("{s:s, s:i, s:I, s:o, s:o}", "format", FORMAT, "version", VERSION,
                           "duplicates", (json_int_t)self->duplicates, "tokens", tokens, "kept",
                           kept);
  ath_status status = whole ? ath_json_write(path, root)
                            : ath_fail(ATH_NO_MEMORY, "%s: no memory to write it", path);
  json_decref(root);
  return status;
}

static ath_status read_tokens(ath_layout *self, const json_t *tokens) {
  if (json_array_size(tokens) != self->count)
    return ath_fail(ATH_MISMATCH, "it is of %zu pieces, not of %zu", json_array_size(tokens),
                    self->count);
  for (size_t p = 0; p < self->count; p++)
    for (int i = 0; i < ATH_SPLITS_MAX; i++) {
      const json_t *pair = json_array_get(tokens, p);
      json_int_t count = json_integer_value(json_array_get(pair, (size_t)i));
      if (count < 0 || (uint64_t)count > self->pieces[p].tokens)
        return ath_fail(ATH_CORRUPT, "the tokens of piece %zu are out of range", p);
      self->tokens[i][p + 1] = (uint64_t)count;
    }
  sum_up(self);
  return ATH_OK;
}

static ath_status read_root(ath_layout *self, const ath_preparation *all, json_t *root) {
  const char *format = NULL;
  json_int_t version = 0, duplicates = 0;
  json_t *tokens = NULL, *kept = NULL;
  json_error_t error;
  if (json_unpack_ex(root, &error, JSON_STRICT, "{s:s, s:I, s:I, s:o, s:o}", "format", &format,
                     "version", &version, "duplicates", &duplicates, "tokens", &tokens, "kept",
                     &kept) != 0)
    return ath_fail(ATH_INVALID, "%s", error.text);
  if (strcmp(format, FORMAT) != 0 || version != VERSION || duplicates < 0)
    return ath_fail(ATH_UNSUPPORTED, "not a layout that this program can use");
  self->duplicates = (uint64_t)duplicates;
  for (size_t i = 0; i < all->count; i++) {
    json_t *shards = json_object_get(kept, all->splits[i].name);
    ATH_TRY(ath_shard_list_add_unordered(&self->kept[i], shards));
  }
  return read_tokens(self, tokens);
}

/* --- the whole ----------------------------------------------------------------------------- */

static ath_status map_choices(ath_layout *self, const char *path) {
  if (self->choices.bytes != NULL) ath_file_unmap(&self->choices);
  ATH_TRY(ath_file_map(path, &self->choices));
  if (self->choices.size == self->first[self->count]) return ATH_OK;
  return ath_fail(ATH_CORRUPT, "%s: %zu bytes, for %llu lines", path, self->choices.size,
                  (unsigned long long)self->first[self->count]);
}

ath_status ath_layout_decide(ath_layout *self, const ath_preparation *all, int threads) {
  char choices[ATH_PATH_MAX], path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(choices, self->folder, CHOICES_NAME));
  ATH_TRY(ath_path_join(path, self->folder, ATH_LAYOUT_NAME));
  ATH_TRY(write_choices(self, all, threads, choices));
  ATH_TRY(write_layout(self, all, path));
  return map_choices(self, choices);
}

ath_status ath_layout_read(ath_layout *self, const ath_preparation *all) {
  char choices[ATH_PATH_MAX], path[ATH_PATH_MAX];
  json_t *root = NULL;
  ATH_TRY(ath_path_join(choices, self->folder, CHOICES_NAME));
  ATH_TRY(ath_path_join(path, self->folder, ATH_LAYOUT_NAME));
  ATH_TRY(ath_json_read(path, &root));
  ath_status status = ath_context(read_root(self, all, root), "%s", path);
  json_decref(root);
  return status == ATH_OK ? map_choices(self, choices) : status;
}
