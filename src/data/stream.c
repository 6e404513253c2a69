/* stream.c: preparing in one pass.
 *
 *     lines ── blocks ──► tokens (threads) ──► train:      [record][record]… ──► shards
 *                                         └──► validation: [record][record]… ──► shards
 *
 * A line's split follows from its number or its text, its tokens from its text, and records are cut
 * in the order of the lines: nothing depends on threads or on where an earlier run was
 * interrupted. */
#include "data/stream.h"

#include <assert.h>
#include <unistd.h>

#include "base/log.h"
#include "data/encode_block.h"
#include "data/pipeline.h"

typedef struct stream {
  ath_preparation *all;
  ath_corpus corpus;
  ath_encoder encoder;
  uint64_t tokens;
} stream;

/* The split of a line; −1 leaves it out: blank, or in the shards of an earlier run already. */
static int choose(const void *context, const ath_place *place, const char *text, size_t length) {
  const ath_preparation *self = context;
  ath_text_hash hash = {0, 0};
  if (!self->options->keep_blank_lines && ath_text_is_blank(text, length)) return -1;
  if (self->options->validation_by == ATH_VALIDATION_BY_TEXT)
    hash = ath_text_hash_make(text, length);
  int split = ath_preparation_choose(self, place->global, &hash);
  return place->global < self->splits[split].from.global ? -1 : split;
}

/* Hands the lines to their splits, in order. The journal learns of a shard once it is complete. */
static ath_status write_lines(stream *self, const ath_encoded_block *block) {
  const int32_t *ids = block->ids;
  for (size_t i = 0; i < block->text.count; i++) {
    const ath_block_line *line = &block->text.lines[i];
    ath_split *split = &self->all->splits[line->split];
    assert(line->split >= 0 && (size_t)line->split < self->all->count);
    ATH_TRY(ath_split_add(split, ids, line->tokens, &line->place));
    ids += line->tokens;
    if (split->noted < split->shards.count)
      ATH_TRY(ath_output_note(self->all->options->output, split));
  }
  assert(ids == block->ids + block->count);
  self->tokens += block->count;
  return ATH_OK;
}

/* Complete shards are on disk and in the journal; the open ones are thrown away, since a shard that
 * ended early would be another one than an unbroken run writes. */
static ath_status stopped(const ath_preparation *self) {
  size_t shards = 0;
  for (size_t i = 0; i < self->count; i++) shards += self->splits[i].shards.count;
  return ath_fail(ATH_INTERRUPTED, "stopped: %s holds %zu complete shard%s; the same command goes "
                  "on from there", self->options->output, shards, shards == 1 ? "" : "s");
}

/* --- the steps of the pipeline ---------------------------------------------------------------- */

static ath_status read_block(void *context, void *block, bool *ended) {
  stream *self = context;
  ath_block *text = &((ath_encoded_block *)block)->text;
  ATH_TRY(ath_corpus_read(&self->corpus, choose, self->all, text));
  *ended = text->ended;
  return ATH_OK;
}

static ath_status encode_block(void *context, void *block, int thread) {
  const stream *self = context;
  return ath_encoder_run(&self->encoder, block, thread);
}

static ath_status write_block(void *context, void *block) {
  stream *self = context;
  const ath_encoded_block *encoded = block;
  const ath_block *text = &encoded->text;
  const volatile sig_atomic_t *stop = self->all->options->stop;
  ATH_TRY(write_lines(self, encoded));
  ath_preparation_report(self->all, text->taken, self->tokens, text->ended);
  if (text->ended) {
    self->all->lines = text->next.global;
    self->all->skipped = text->next.skipped;
  }
  return !text->ended && stop != NULL && *stop ? stopped(self->all) : ATH_OK;
}

static ath_status write_all(stream *self) {
  size_t count = ath_pipeline_blocks(self->encoder.threads);
  ath_encoded_block **blocks;
  const ath_pipeline steps = {read_block, encode_block, write_block, self};
  ATH_TRY(ath_encoded_blocks_create(count, &blocks));
  ath_status status = ath_pipeline_run(&steps, (void *const *)blocks, count,
                                       self->encoder.threads);
  ath_encoded_blocks_free(blocks, count);
  for (size_t i = 0; status == ATH_OK && i < self->all->count; i++)
    status = ath_split_finish(&self->all->splits[i]);
  return status;
}

/* Reads from the earliest place that a split has not got to disk. */
static ath_status run(ath_preparation *all) {
  const ath_prepare_options *o = all->options;
  assert(all->count >= 1 && all->count <= ATH_SPLITS_MAX);
  stream self = {.all = all};
  ath_place from = all->splits[0].from;
  for (size_t i = 1; i < all->count; i++)
    if (all->splits[i].from.global < from.global) from = all->splits[i].from;
  if (from.file >= o->input_count) return ath_fail(ATH_INVALID, "the journal is out of range");
  ATH_TRY(ath_corpus_open(o->inputs, o->input_count, &o->reading, &from, &self.corpus));
  ath_status status = ath_encoder_create(all->tokenizer, o->threads, &self.encoder);
  if (status == ATH_OK) status = write_all(&self);
  ath_encoder_free(&self.encoder);
  ath_corpus_close(&self.corpus);
  return status;
}

/* --- the folder ------------------------------------------------------------------------------ */

/* Makes the folders, clears what has no owner, and finds out whether there is work to continue. */
static ath_status open_output(ath_preparation *self, ath_output_state *state, int *folder) {
  const ath_prepare_options *o = self->options;
  ATH_TRY(ath_folder_lock(o->output, "another process is preparing data here", folder));
  if (o->overwrite) ATH_TRY(ath_output_discard(o->output));
  char pieces[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(pieces, o->output, ATH_PIECES_NAME));
  if (ath_path_exists(pieces))
    return ath_fail(ATH_MISMATCH, "%s holds an unfinished dataset of several workers; finish it "
                    "with --worker merge, or pass --overwrite", o->output);
  ATH_TRY(ath_output_sweep(o->output));
  ATH_TRY(ath_output_inspect(o->output, self->recipe, self->modified, self->splits, self->count,
                             self->manifests, state));
  for (size_t i = 0; i < self->count; i++) {
    self->kept[i] = self->splits[i].shards.count;
    ATH_TRY(ath_folder_create(self->splits[i].folder));
  }
  if (*state != ATH_OUTPUT_FRESH) return ATH_OK;
  return ath_output_begin(o->output, self->recipe, self->modified);
}

/* From the moment the journal is gone the dataset is finished. Killed before that, the next run
 * writes the last shards and the manifests again, the same. */
static ath_status finish(const ath_preparation *self) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_preparation_check_sizes(self));
  ATH_TRY(ath_preparation_write_manifests(self));
  ATH_TRY(ath_path_join(path, self->options->output, ATH_PROGRESS_NAME));
  if (unlink(path) != 0) return ath_fail_errno(errno, "%s: cannot remove", path);
  return ath_folder_sync(self->options->output);
}

ath_status ath_prepare_stream(ath_preparation *self, ath_output_state *state) {
  int folder = -1; /* open and locked while we write into it */
  ath_status status = open_output(self, state, &folder);
  if (status == ATH_OK && *state == ATH_OUTPUT_FINISHED) {
    status = ath_preparation_keep(self);
  } else if (status == ATH_OK) {
    if (*state == ATH_OUTPUT_UNFINISHED)
      ath_log(ATH_LOG_INFO, "%s: continuing after %zu complete shards", self->options->output,
              self->kept[0] + self->kept[1]);
    status = run(self);
    if (status == ATH_OK) status = finish(self);
  }
  if (folder >= 0) close(folder);
  return status;
}
