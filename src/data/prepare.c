/* prepare.c: text files to shards of fixed-length records.
 *
 *     lines ── blocks ──► tokens (threads) ──► train:      [record][record]… ──► shards
 *                                         └──► validation: [record][record]… ──► shards
 *
 * A line's split follows from its number, its tokens from its text, and records are cut in the
 * order of the lines: nothing depends on threads or on where an earlier run was interrupted. */
#include <assert.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "athanor/dataset.h"
#include "base/log.h"
#include "base/random.h"
#include "data/corpus.h"
#include "data/encode_block.h"
#include "data/output.h"
#include "data/pipeline.h"
#include "data/split.h"

typedef struct preparation {
  const ath_tokenizer *tokenizer;
  const ath_prepare_options *options;
  json_t *recipe, *modified;
  ath_split splits[ATH_SPLITS_MAX];
  ath_manifest manifests[ATH_SPLITS_MAX]; /* of a dataset found finished */
  size_t count;
  int train, validation; /* numbers of the splits, or −1 for one that gets no lines */
  ath_corpus corpus;
  ath_encoder encoder;
  uint64_t total_bytes, lines, skipped, tokens;
  struct timespec began;
  int folder; /* open and locked while we write into it */
} preparation;

ath_prepare_options ath_prepare_defaults(void) {
  return (ath_prepare_options){.max_length = 512, .validation_split_percentage = 5.0,
                               .shard_records = 5000, .seed = 42};
}

static ath_status check_options(const ath_prepare_options *o) {
  double percentage = o->validation_split_percentage;
  if (o->input_count == 0) return ath_fail(ATH_INVALID, "no input files given");
  if (o->max_length < ATH_LENGTH_MIN || o->max_length > ATH_LENGTH_MAX)
    return ath_fail(ATH_INVALID, "max_length is %d; it must lie between %d and %d", o->max_length,
                    ATH_LENGTH_MIN, ATH_LENGTH_MAX);
  if (!(percentage >= 0.0 && percentage <= 100.0))
    return ath_fail(ATH_INVALID, "validation_split_percentage is %g; it must lie between 0 and "
                    "100", percentage);
  if ((o->shard_records == 0) == (o->shard_bytes == 0))
    return ath_fail(ATH_INVALID, "give the shard size either in records or in bytes");
  return ATH_OK;
}

/* --- choosing and cutting -------------------------------------------------------------------- */

/* The split of a line; −1 leaves it out: blank, or in the shards of an earlier run already. */
static int choose(const void *context, const ath_place *place, const char *text, size_t length) {
  const preparation *self = context;
  if (!self->options->keep_blank_lines && ath_text_is_blank(text, length)) return -1;
  uint32_t bits[4];
  ath_random(self->options->seed, ATH_RANDOM_SPLIT, 0, place->global, 0, bits);
  double percentile = bits[0] * (100.0 * 0x1p-32);
  int split = percentile < self->options->validation_split_percentage ? self->validation
                                                                      : self->train;
  assert(split >= 0);
  return place->global < self->splits[split].from.global ? -1 : split;
}

/* Hands the lines to their splits, in order. The journal learns of a shard once it is complete. */
static ath_status write_lines(preparation *self, const ath_encoded_block *block) {
  const int32_t *ids = block->ids;
  for (size_t i = 0; i < block->text.count; i++) {
    const ath_block_line *line = &block->text.lines[i];
    ath_split *split = &self->splits[line->split];
    assert(line->split >= 0 && (size_t)line->split < self->count);
    ATH_TRY(ath_split_add(split, ids, line->tokens, &line->place));
    ids += line->tokens;
    if (split->noted < split->shards.count)
      ATH_TRY(ath_output_note(self->options->output, split));
  }
  assert(ids == block->ids + block->count);
  self->tokens += block->count;
  return ATH_OK;
}

/* Bytes of the inputs read so far; a continued run begins where it goes on. */
static void report_progress(const preparation *self, const ath_block *block) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  double seconds = (double)(now.tv_sec - self->began.tv_sec) +
                   1e-9 * (double)(now.tv_nsec - self->began.tv_nsec);
  ath_progress progress = {.task = "data: preparing", .done = block->taken,
                           .total = self->total_bytes, .unit = "bytes",
                           .rate_unit = "tokens/s", .finished = block->ended};
  if (seconds > 0) progress.rate = (double)self->tokens / seconds;
  ath_log_progress(&progress);
}

/* Complete shards are on disk and in the journal; the open ones are thrown away, since a shard that
 * ended early would be another one than an unbroken run writes. */
static ath_status stopped(const preparation *self) {
  size_t shards = 0;
  for (size_t i = 0; i < self->count; i++) shards += self->splits[i].shards.count;
  return ath_fail(ATH_INTERRUPTED, "stopped: %s holds %zu complete shard%s; the same command goes "
                  "on from there", self->options->output, shards, shards == 1 ? "" : "s");
}

/* The steps of the pipeline (pipeline.h). */
static ath_status read_block(void *context, void *block, bool *ended) {
  preparation *self = context;
  ath_block *text = &((ath_encoded_block *)block)->text;
  ATH_TRY(ath_corpus_read(&self->corpus, choose, self, text));
  *ended = text->ended;
  return ATH_OK;
}

static ath_status encode_block(void *context, void *block, int thread) {
  const preparation *self = context;
  return ath_encoder_run(&self->encoder, block, thread);
}

static ath_status write_block(void *context, void *block) {
  preparation *self = context;
  const ath_encoded_block *encoded = block;
  const ath_prepare_options *o = self->options;
  ATH_TRY(write_lines(self, encoded));
  report_progress(self, &encoded->text);
  if (encoded->text.ended) {
    self->lines = encoded->text.next.global;
    self->skipped = encoded->text.next.skipped;
  }
  return !encoded->text.ended && o->stop != NULL && *o->stop ? stopped(self) : ATH_OK;
}

static ath_status write_all(preparation *self) {
  size_t count = ath_pipeline_blocks(self->encoder.threads);
  ath_encoded_block **blocks;
  const ath_pipeline steps = {read_block, encode_block, write_block, self};
  ATH_TRY(ath_encoded_blocks_create(count, &blocks));
  ath_status status = ath_pipeline_run(&steps, (void *const *)blocks, count,
                                       self->encoder.threads);
  ath_encoded_blocks_free(blocks, count);
  ATH_TRY(status);
  for (size_t i = 0; i < self->count; i++) ATH_TRY(ath_split_finish(&self->splits[i]));
  return ATH_OK;
}

/* Reads from the earliest place that a split has not got to disk. */
static ath_status run(preparation *self) {
  assert(self->count >= 1 && self->count <= ATH_SPLITS_MAX);
  ath_place from = self->splits[0].from;
  for (size_t i = 1; i < self->count; i++)
    if (self->splits[i].from.global < from.global) from = self->splits[i].from;
  const ath_prepare_options *o = self->options;
  if (from.file >= o->input_count) return ath_fail(ATH_INVALID, "the journal is out of range");
  ATH_TRY(ath_corpus_open(o->inputs, o->input_count, &o->reading, &from, &self->corpus));
  ath_status status = ath_encoder_create(self->tokenizer, o->threads, &self->encoder);
  if (status == ATH_OK) status = write_all(self);
  ath_encoder_free(&self->encoder);
  ath_corpus_close(&self->corpus);
  return status;
}

/* --- finishing ----------------------------------------------------------------------------- */

/* Every split got at least one record. What was written is of no use otherwise. */
static ath_status check_sizes(const preparation *self) {
  for (size_t i = 0; i < self->count; i++) {
    const ath_split *split = &self->splits[i];
    if (split->records > 0) continue;
    ATH_TRY(ath_output_discard(self->options->output));
    if (self->count == 1 || split != &self->splits[self->validation])
      return ath_fail(ATH_INVALID,
                      "the text gives %d tokens for the %s split, but one record needs "
                      "max_length %d; give more text or lower --max-length",
                      split->filled, split->name, split->max_length);
    return ath_fail(ATH_INVALID,
                    "the validation split would be empty: its lines give %d tokens, but one "
                    "record needs max_length %d; raise --validation-split-percentage, lower "
                    "--max-length, or set the percentage to 0",
                    split->filled, split->max_length);
  }
  return ATH_OK;
}

/* From the moment the journal is gone the dataset is finished. Killed before that, the next run
 * writes the last shards and the manifests again, the same. */
static ath_status write_manifests(const preparation *self) {
  for (size_t i = 0; i < self->count; i++) {
    const ath_split *split = &self->splits[i];
    assert(split->filled < split->max_length && split->open.records == 0);
    ath_manifest manifest = {.recipe = self->recipe, .max_length = split->max_length,
                             .lines = self->lines, .skipped = self->skipped,
                             .records = split->records,
                             .shards = split->shards, .dropped_tokens = (uint64_t)split->filled};
    snprintf(manifest.split, sizeof manifest.split, "%s", split->name);
    ATH_TRY(ath_manifest_write(&manifest, split->folder));
  }
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, self->options->output, ATH_PROGRESS_NAME));
  if (unlink(path) != 0) return ath_fail_errno(errno, "%s: cannot remove", path);
  return ath_folder_sync(self->options->output);
}

/* `kept` shards were found; of a finished dataset, all. */
static void fill_report(const preparation *self, ath_output_state state,
                        const size_t kept[ATH_SPLITS_MAX], ath_prepare_report *report) {
  bool finished = state == ATH_OUTPUT_FINISHED;
  *report = (ath_prepare_report){.lines = finished ? self->manifests[0].lines : self->lines,
                                 .skipped = finished ? self->manifests[0].skipped : self->skipped,
                                 .bytes = self->total_bytes};
  for (size_t i = 0; i < self->count; i++) {
    const ath_manifest *manifest = &self->manifests[i];
    const ath_split *split = &self->splits[i];
    uint64_t records = finished ? manifest->records : split->records;
    uint64_t shards = finished ? manifest->shards.count : split->shards.count;
    uint64_t dropped = finished ? manifest->dropped_tokens : (uint64_t)split->filled;
    report->tokens += records * (uint64_t)self->options->max_length + dropped;
    report->tokens_dropped += dropped;
    report->shards_kept += finished ? shards : kept[i];
    bool is_train = (int)i == self->train;
    *(is_train ? &report->train_records : &report->validation_records) = records;
    *(is_train ? &report->train_shards : &report->validation_shards) = shards;
  }
}

/* --- the whole ----------------------------------------------------------------------------- */

/* A percentage of 0 or 100 leaves one split without lines: it is not made at all. */
static ath_status create_splits(preparation *self) {
  const ath_prepare_options *o = self->options;
  self->train = o->validation_split_percentage < 100.0 ? (int)self->count++ : -1;
  self->validation = o->validation_split_percentage > 0.0 ? (int)self->count++ : -1;
  for (size_t i = 0; i < self->count; i++) {
    ATH_TRY(ath_split_create((int)i == self->train ? "train" : "validation", o->output,
                             o->max_length, o->shard_records, o->shard_bytes, &self->splits[i]));
    self->splits[i].open.compression = o->compression;
  }
  return ATH_OK;
}

/* Makes the folders, clears what has no owner, and finds out whether there is work to continue. */
static ath_status open_output(preparation *self, ath_output_state *state) {
  const ath_prepare_options *o = self->options;
  ATH_TRY(ath_folder_lock(o->output, "another process is preparing data here", &self->folder));
  if (o->overwrite) ATH_TRY(ath_output_discard(o->output));
  ATH_TRY(ath_output_sweep(o->output));
  ATH_TRY(ath_output_inspect(o->output, self->recipe, self->modified, self->splits, self->count,
                             self->manifests, state));
  for (size_t i = 0; i < self->count; i++) ATH_TRY(ath_folder_create(self->splits[i].folder));
  if (*state != ATH_OUTPUT_FRESH) return ATH_OK;
  return ath_output_begin(o->output, self->recipe, self->modified);
}

/* A last file that cannot be read shall not be found after hours with those before it. */
static ath_status check_inputs(preparation *self) {
  const ath_prepare_options *o = self->options;
  return ath_documents_check(o->inputs, o->input_count, &o->reading, &self->total_bytes);
}

/* The recipe has the inputs' names and sizes, not their content; of a pipe not even the size. As
 * for make, the time says what may have been made from something else. */
static ath_status warn_of_newer_inputs(const preparation *self) {
  char path[ATH_PATH_MAX];
  struct stat made;
  ATH_TRY(ath_path_join(path, self->splits[0].folder, ATH_MANIFEST_NAME));
  if (stat(path, &made) != 0) return ath_fail_errno(errno, "%s", path);
  json_int_t when = (json_int_t)made.st_mtim.tv_sec * 1000000000 + made.st_mtim.tv_nsec;
  for (size_t i = 0; i < self->options->input_count; i++)
    if (json_integer_value(json_array_get(self->modified, i)) > when)
      ath_log(ATH_LOG_WARNING, "%s is newer than this dataset; if its text is another, pass "
              "--overwrite", self->options->inputs[i]);
  return ATH_OK;
}

static ath_status prepare(preparation *self, ath_prepare_report *report) {
  const ath_prepare_options *o = self->options;
  ATH_TRY(check_options(o));
  ATH_TRY(check_inputs(self));
  ATH_TRY(ath_recipe_create(self->tokenizer, o, &self->recipe));
  ATH_TRY(ath_inputs_modified(o, &self->modified));
  ATH_TRY(create_splits(self));
  ath_output_state state;
  ATH_TRY(open_output(self, &state));
  size_t kept[ATH_SPLITS_MAX] = {self->splits[0].shards.count, self->splits[1].shards.count};
  if (state == ATH_OUTPUT_FINISHED) {
    ath_log(ATH_LOG_INFO, "%s: this dataset is finished already; kept as it is", o->output);
    ATH_TRY(warn_of_newer_inputs(self));
  } else {
    if (state == ATH_OUTPUT_UNFINISHED)
      ath_log(ATH_LOG_INFO, "%s: continuing after %zu complete shards", o->output,
              kept[0] + kept[1]);
    ATH_TRY(run(self));
    ATH_TRY(check_sizes(self));
    ATH_TRY(write_manifests(self));
  }
  if (report != NULL) fill_report(self, state, kept, report);
  return ATH_OK;
}

ath_status ath_prepare(const ath_tokenizer *tokenizer, const ath_prepare_options *options,
                       ath_prepare_report *report) {
  preparation self = {.tokenizer = tokenizer, .options = options, .folder = -1};
  clock_gettime(CLOCK_MONOTONIC, &self.began);
  ath_status status = prepare(&self, report);
  for (int i = 0; i < ATH_SPLITS_MAX; i++) {
    ath_split_free(&self.splits[i]);
    ath_manifest_free(&self.manifests[i]);
  }
  json_decref(self.recipe);
  json_decref(self.modified);
  if (self.folder >= 0) close(self.folder);
  return status;
}
