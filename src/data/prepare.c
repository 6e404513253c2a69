/* prepare.c: text files to shards of fixed-length records: what is asked for, which way it goes,
 * and what is told at the end. */
#include "backends/processes.h"
#include "base/clock.h"
#include "data/preparation.h"
#include "data/stream.h"
#include "data/worker.h"

ath_prepare_options ath_prepare_defaults(void) {
  return (ath_prepare_options){.max_length = 512, .validation_split_percentage = 5.0,
                               .shard_records = 5000, .seed = 42, .near_similarity = 0.8,
                               .deduplicate_memory = UINT64_C(1) << 30};
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
  if (o->deduplicate == ATH_DEDUPLICATE_NEAR &&
      !(o->near_similarity >= 0.7 && o->near_similarity <= 1.0))
    return ath_fail(ATH_INVALID, "near_similarity is %g; it must lie between 0.7 and 1",
                    o->near_similarity);
  if (o->workers < ATH_WORKER_MERGE || o->workers > ATH_WORKERS_MAX || o->worker < 0 ||
      (o->workers > 0 && o->worker >= o->workers))
    return ath_fail(ATH_INVALID, "worker %d of %d; workers are counted from 0", o->worker,
                    o->workers);
  if (o->workers != ATH_WORKER_ALONE && o->overwrite)
    return ath_fail(ATH_INVALID, "a worker cannot start over, since others may be at work; remove "
                    "%s first", o->output);
  if ((o->shard_records == 0) == (o->shard_bytes == 0))
    return ath_fail(ATH_INVALID, "give the shard size either in records or in bytes");
  return ATH_OK;
}

/* Of a finished dataset all shards were found. */
static void fill_report(const ath_preparation *self, ath_output_state state,
                        ath_prepare_report *report) {
  bool finished = state == ATH_OUTPUT_FINISHED;
  *report = (ath_prepare_report){.lines = finished ? self->manifests[0].lines : self->lines,
                                 .skipped = finished ? self->manifests[0].skipped : self->skipped,
                                 .duplicates = finished ? self->manifests[0].duplicates
                                                        : self->duplicates,
                                 .bytes = self->total_bytes, .unfinished = self->unfinished,
                                 .pieces_missing = self->missing, .process = self->process};
  for (size_t i = 0; i < self->count; i++) {
    const ath_manifest *manifest = &self->manifests[i];
    const ath_split *split = &self->splits[i];
    uint64_t records = finished ? manifest->records : split->records;
    uint64_t shards = finished ? manifest->shards.count : split->shards.count;
    uint64_t dropped = finished ? manifest->dropped_tokens : (uint64_t)split->filled;
    report->tokens += records * (uint64_t)self->options->max_length + dropped;
    report->tokens_dropped += dropped;
    report->shards_kept += finished ? shards : self->kept[i];
    bool is_train = (int)i == self->train;
    *(is_train ? &report->train_records : &report->validation_records) = records;
    *(is_train ? &report->train_shards : &report->validation_shards) = shards;
  }
}

/* --- the whole ----------------------------------------------------------------------------- */

/* A percentage of 0 or 100 leaves one split without lines: it is not made at all. */
static ath_status create_splits(ath_preparation *self) {
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

/* A last file that cannot be read shall not be found after hours with those before it. */
static ath_status check_inputs(ath_preparation *self) {
  const ath_prepare_options *o = self->options;
  return ath_documents_check(o->inputs, o->input_count, &o->reading, &self->total_bytes);
}

/* What one process can do in one pass it does so: without room on the disk for the ids. */
static bool is_by_pieces(const ath_prepare_options *o) {
  return o->workers != ATH_WORKER_ALONE || o->deduplicate != ATH_DEDUPLICATE_NONE ||
         ath_launch_read().size > 1;
}

static ath_status prepare(ath_preparation *self, ath_prepare_report *report) {
  const ath_prepare_options *o = self->options;
  ath_output_state state;
  ATH_TRY(check_options(o));
  ATH_TRY(check_inputs(self));
  ATH_TRY(ath_recipe_create(self->tokenizer, o, &self->recipe));
  ATH_TRY(ath_inputs_modified(o, &self->modified));
  ATH_TRY(create_splits(self));
  if (is_by_pieces(o)) ATH_TRY(ath_prepare_by_pieces(self, &state));
  else ATH_TRY(ath_prepare_stream(self, &state));
  if (report != NULL) fill_report(self, state, report);
  return ATH_OK;
}

ath_status ath_prepare(const ath_tokenizer *tokenizer, const ath_prepare_options *options,
                       ath_prepare_report *report) {
  ath_preparation self = {.tokenizer = tokenizer, .options = options, .began = seconds_now()};
  ath_status status = prepare(&self, report);
  for (int i = 0; i < ATH_SPLITS_MAX; i++) {
    ath_split_free(&self.splits[i]);
    ath_manifest_free(&self.manifests[i]);
  }
  json_decref(self.recipe);
  json_decref(self.modified);
  return status;
}
