/* worker.c: preparing by pieces, step by step. */
#include "data/worker.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "data/encode_pieces.h"
#include "data/gathering.h"
#include "data/journal.h"

#define CLAIM_NAME "recipe.json"
#define FORMAT "athanor-pieces"
#define JOURNAL_START "shards-"
enum { VERSION = 1 };

typedef struct work {
  ath_preparation *all;
  ath_gathering together;
  ath_share_of share; /* of the text, and of the shards */
  ath_pieces pieces;
  char folder[ATH_PATH_MAX];
  ath_layout layout;
} work;

static bool leads(const work *self) { return self->together.rank == 0; }

static int threads_of(const work *self) {
  int threads = self->all->options->threads;
  return threads > 0 ? threads : omp_get_max_threads();
}

/* --- the folder ------------------------------------------------------------------------------ */

/* The recipe, and when the inputs were changed last: what all workers must agree on. */
static json_t *make_claim(const ath_preparation *all) {
  return json_pack("{s:s, s:i, s:O, s:O}", "format", FORMAT, "version", VERSION, "recipe",
                   all->recipe, "modified_ns", all->modified);
}

/* Several may come at the same time: the first gets the name, with the file whole under it. */
static ath_status put_claim(const work *self, const json_t *claim, const char *path) {
  char mine[ATH_PATH_MAX + 32];
  if (ath_path_exists(path)) return ATH_OK;
  snprintf(mine, sizeof mine, "%s-%d-%ld", path, self->share.number, (long)getpid());
  ATH_TRY(ath_json_write(mine, claim));
  ath_status status = ATH_OK;
  if (link(mine, path) != 0 && errno != EEXIST)
    status = ath_fail_errno(errno, "%s: cannot be made", path);
  unlink(mine);
  return status == ATH_OK ? ath_folder_sync(self->folder) : status;
}

static ath_status compare_claim(const ath_preparation *all, const json_t *there) {
  const char *format = json_string_value(json_object_get(there, "format"));
  if (format == NULL || strcmp(format, FORMAT) != 0 ||
      json_integer_value(json_object_get(there, "version")) != VERSION)
    return ath_fail(ATH_UNSUPPORTED, "not of workers that this program can join");
  ATH_TRY(ath_recipe_compare(json_object_get(there, "recipe"), all->recipe));
  if (json_equal(json_object_get(there, "modified_ns"), all->modified)) return ATH_OK;
  return ath_fail(ATH_MISMATCH, "an input file was changed since");
}

/* Makes the folder this dataset's, or finds that it is. */
static ath_status claim_folder(work *self) {
  char path[ATH_PATH_MAX];
  json_t *there = NULL, *claim = make_claim(self->all);
  ath_status status = ath_path_join(path, self->folder, CLAIM_NAME);
  if (status == ATH_OK && claim == NULL) status = ath_fail(ATH_NO_MEMORY, "no memory for a recipe");
  if (status == ATH_OK) status = ath_folder_create(self->folder);
  if (status == ATH_OK) status = put_claim(self, claim, path);
  json_decref(claim);
  ATH_TRY(status);
  ATH_TRY(ath_json_read(path, &there));
  status = ath_context(compare_claim(self->all, there), "%s holds the pieces of workers that were "
                       "started otherwise", self->folder);
  json_decref(there);
  return status;
}

/* What is there: a finished dataset, or this one's pieces; or nothing, and then they begin. */
static ath_status open_output(work *self, ath_output_state *state) {
  ath_preparation *all = self->all;
  const char *output = all->options->output;
  char claim[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(claim, self->folder, CLAIM_NAME));
  if (all->options->overwrite && leads(self)) ATH_TRY(ath_output_discard(output));
  *state = ATH_OUTPUT_UNFINISHED;
  if (!ath_path_exists(claim)) {
    ATH_TRY(ath_output_inspect(output, all->recipe, all->modified, all->splits, all->count,
                               all->manifests, state));
    if (*state == ATH_OUTPUT_FINISHED) return ath_folder_remove(self->folder); /* what is left */
    if (*state == ATH_OUTPUT_UNFINISHED)
      return ath_fail(ATH_MISMATCH, "%s holds an unfinished dataset that one process began; finish "
                      "it by the same command, or remove the folder", output);
  }
  for (size_t i = 0; i < all->count; i++) ATH_TRY(ath_folder_create(all->splits[i].folder));
  return claim_folder(self);
}

/* --- pieces ---------------------------------------------------------------------------------- */

static ath_status divide(work *self) {
  const ath_preparation *all = self->all;
  const ath_prepare_options *o = all->options;
  char *recipe = json_dumps(all->recipe, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
  if (recipe == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a recipe");
  self->pieces = (ath_pieces){.folder = self->folder};
  self->pieces.format = (ath_piece_format){
      .id_bytes = ath_tokenizer_size(all->tokenizer) <= 1 << 16 ? 2 : 4,
      .sketches = o->deduplicate == ATH_DEDUPLICATE_NEAR,
      .hashes = o->deduplicate != ATH_DEDUPLICATE_NONE ||
                o->validation_by == ATH_VALIDATION_BY_TEXT,
      .recipe = ath_crc32c(0, recipe, strlen(recipe))};
  free(recipe);
  return ath_spans_make(o->inputs, o->input_count, &o->reading, &self->pieces.spans,
                        &self->pieces.count);
}

static uint64_t count_missing(const work *self) {
  uint64_t missing = 0;
  for (size_t i = 0; i < self->pieces.count; i++)
    missing += !ath_piece_exists(self->folder, i);
  return missing;
}

/* --- shards ---------------------------------------------------------------------------------- */

typedef ath_status (*journal_visitor)(work *self, const char *path, void *context);

static ath_status each_journal(work *self, journal_visitor visit, void *context) {
  char **names, path[ATH_PATH_MAX];
  size_t count;
  ATH_TRY(ath_folder_list(self->folder, &names, &count));
  ath_status status = ATH_OK;
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    if (strncmp(names[i], JOURNAL_START, strlen(JOURNAL_START)) != 0) continue;
    status = ath_path_join(path, self->folder, names[i]);
    if (status == ATH_OK) status = visit(self, path, context);
  }
  ath_folder_list_free(names, count);
  return status;
}

/* Of one that was cut at its first line nothing is lost: it told of no shard. */
static ath_status read_journal(work *self, const char *path, void *lists) {
  if (strstr(path, ".tmp-") != NULL) return ATH_OK;
  ath_status status = ath_cut_read_journal(path, self->all, lists);
  return status == ATH_CORRUPT ? ATH_OK : status;
}

static ath_status remove_journal(work *self, const char *path, void *context) {
  (void)self;
  (void)context;
  return unlink(path) == 0 ? ATH_OK : ath_fail_errno(errno, "%s: cannot remove", path);
}

static bool is_whole(const ath_split *split, const ath_shard_entry *shard) {
  char path[ATH_PATH_MAX];
  uint64_t size;
  return ath_path_join(path, split->folder, shard->name) == ATH_OK &&
         ath_file_size(path, &size) == ATH_OK && size == shard->bytes;
}

/* Only shards that are on the disk in full length are kept. Of shards of so many bytes each begins
 * where the one before it ends, so none is kept behind a gap. */
static void drop_lost(const ath_preparation *all, const ath_split *split, ath_shard_list *list) {
  size_t kept = 0;
  for (size_t i = 0; i < list->count; i++) {
    uint64_t index = 0, records;
    bool known = ath_shard_name_parse(list->items[i].name, &index, &records);
    if (all->options->shard_records == 0 && (!known || index != kept)) break;
    if (is_whole(split, &list->items[i])) list->items[kept++] = list->items[i];
  }
  list->count = kept;
}

/* By one process, while no other writes: what an earlier run told of goes into the layout, and its
 * journals end. Killed in between, the next run finds some shards in both. */
static ath_status decide(work *self) {
  ath_layout *layout = &self->layout;
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_output_sweep(self->all->options->output));
  ATH_TRY(ath_path_join(path, self->folder, ATH_LAYOUT_NAME));
  if (ath_path_exists(path)) ATH_TRY(ath_layout_read(layout, self->all));
  ATH_TRY(each_journal(self, read_journal, layout->kept));
  for (size_t i = 0; i < self->all->count; i++) {
    ath_shard_list_sort(&layout->kept[i]);
    drop_lost(self->all, &self->all->splits[i], &layout->kept[i]);
    self->all->kept[i] = layout->kept[i].count;
  }
  ATH_TRY(ath_layout_decide(layout, self->all, threads_of(self)));
  return each_journal(self, remove_journal, NULL);
}

/* The lists of all shards, and what is told at the end. */
static ath_status gather(work *self) {
  ath_preparation *all = self->all;
  ath_layout *layout = &self->layout;
  ATH_TRY(each_journal(self, read_journal, layout->kept));
  for (size_t i = 0; i < all->count; i++) {
    ath_split *split = &all->splits[i];
    uint64_t total = ath_layout_total(layout, i), length = (uint64_t)split->max_length;
    ath_shard_list_sort(&layout->kept[i]);
    ATH_TRY(ath_shard_list_check(&layout->kept[i]));
    const ath_place end = {.line = 1};
    ath_split_continue(split, &layout->kept[i], &end);
    split->filled = (int)(total % length);
    if (split->records != total / length)
      return ath_fail(ATH_CORRUPT, "%s: %llu records were written, not %llu", split->folder,
                      (unsigned long long)split->records, (unsigned long long)(total / length));
  }
  all->lines = layout->first[layout->count];
  for (size_t i = 0; i < layout->count; i++) all->skipped += layout->pieces[i].skipped;
  all->duplicates = layout->duplicates;
  return ATH_OK;
}

/* Without its recipe the folder of pieces is only what is to be removed. */
static ath_status finish(work *self) {
  char path[ATH_PATH_MAX];
  ATH_TRY(gather(self));
  ATH_TRY(ath_preparation_check_sizes(self->all));
  ATH_TRY(ath_preparation_write_manifests(self->all));
  ath_preparation_report(self->all, self->all->total_bytes, 0, 1);
  ATH_TRY(ath_path_join(path, self->folder, CLAIM_NAME));
  if (unlink(path) != 0) return ath_fail_errno(errno, "%s: cannot remove", path);
  ATH_TRY(ath_folder_sync(self->folder));
  return ath_folder_remove(self->folder);
}

/* From pieces that are all there. Each step of one process alone is between two meetings. */
static ath_status cut_and_finish(work *self) {
  ath_gathering *together = &self->together;
  ath_layout *layout = &self->layout;
  char name[32], journal[ATH_PATH_MAX];
  ath_share_of share = {together->rank, together->size};
  ath_status status = ath_layout_open(self->folder, self->pieces.count, &self->pieces.format,
                                      layout);
  if (status == ATH_OK && leads(self)) status = decide(self);
  ATH_TRY(ath_gathering_meet(together, status));
  if (!leads(self)) status = ath_layout_read(layout, self->all);
  snprintf(name, sizeof name, JOURNAL_START "%d.journal", share.number);
  if (status == ATH_OK) status = ath_path_join(journal, self->folder, name);
  if (status == ATH_OK) status = ath_cut(layout, self->all, share, threads_of(self), journal);
  ATH_TRY(ath_gathering_meet(together, status));
  return ath_gathering_meet(together, leads(self) ? finish(self) : ATH_OK);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Of a job array the last one to finish goes on. Where several take themselves for it, one gets the
 * lock; whoever comes after that one finds that the dataset is finished. */
static ath_status lock_pieces(work *self, ath_output_state *state, int *lock) {
  char claim[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(claim, self->folder, CLAIM_NAME));
  ath_status status = ath_folder_lock(self->folder, "another worker is writing the shards", lock);
  if (status == ATH_DENIED && self->all->options->workers > 0) {
    ath_log(ATH_LOG_INFO, "%s", ath_error_text());
    self->all->unfinished = true;
    return ATH_OK;
  }
  ATH_TRY(status);
  if (ath_path_exists(claim)) return ATH_OK;
  if (self->together.size > 1) /* the others could not tell, and would wait for this one */
    return ath_fail(ATH_DENIED, "%s: another run has finished it meanwhile",
                    self->all->options->output);
  return open_output(self, state);
}

static ath_status encode_and_cut(work *self, ath_output_state *state) {
  ath_preparation *all = self->all;
  int lock = -1;
  ath_status status = divide(self);
  if (status == ATH_OK && all->options->workers != ATH_WORKER_MERGE)
    status = ath_pieces_encode(&self->pieces, all, self->share);
  ATH_TRY(ath_gathering_meet(&self->together, status));
  /* Whoever has met has encoded all: on a shared disk each sees that at a moment of its own. */
  if (self->together.size == 1) all->missing = count_missing(self);
  all->unfinished = all->missing > 0;
  if (leads(self) && !all->unfinished) status = lock_pieces(self, state, &lock);
  status = ath_gathering_meet(&self->together, status);
  bool finished = *state == ATH_OUTPUT_FINISHED;
  if (status == ATH_OK && !all->unfinished && !finished) status = cut_and_finish(self);
  if (lock >= 0) close(lock);
  return status;
}

static ath_status prepare(work *self, ath_output_state *state) {
  ath_status status = leads(self) ? open_output(self, state) : ATH_OK;
  ATH_TRY(ath_gathering_meet(&self->together, status));
  if (!leads(self)) status = open_output(self, state);
  ATH_TRY(ath_gathering_meet(&self->together, status));
  if (*state == ATH_OUTPUT_FINISHED) return leads(self) ? ath_preparation_keep(self->all) : ATH_OK;
  return encode_and_cut(self, state);
}

ath_status ath_prepare_by_pieces(ath_preparation *all, ath_output_state *state) {
  const ath_prepare_options *o = all->options;
  work self = {.all = all};
  ATH_TRY(ath_path_join(self.folder, o->output, ATH_PIECES_NAME));
  bool launched = o->workers == ATH_WORKER_ALONE && ath_launch_read().size > 1;
  ATH_TRY(ath_gathering_open(launched, &self.together));
  all->process = self.together.rank;
  self.share = o->workers > 0 ? (ath_share_of){o->worker, o->workers}
                              : (ath_share_of){self.together.rank, self.together.size};
  ath_status status = prepare(&self, state);
  ath_layout_close(&self.layout);
  free(self.pieces.spans);
  ath_gathering_close(&self.together);
  return status;
}
