/* preparation.c: choosing splits, telling how far it is, and what is written last. */
#include "data/preparation.h"

#include <assert.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mix.h"
#include "base/random.h"

#define SPLIT_KEY UINT64_C(0x9b05688c2b3e6c1f) /* so that the choice is not the hash itself */

int ath_preparation_choose(const ath_preparation *self, uint64_t number,
                           const ath_text_hash *hash) {
  const ath_prepare_options *o = self->options;
  uint32_t bits[4];
  if (self->count == 1) return 0; /* there is nothing to draw */
  if (o->validation_by == ATH_VALIDATION_BY_TEXT)
    bits[0] = (uint32_t)(ath_mix(hash->high ^ o->seed, hash->low ^ SPLIT_KEY) >> 32);
  else
    ath_random(o->seed, ATH_RANDOM_SPLIT, 0, number, 0, bits);
  double percentile = bits[0] * (100.0 * 0x1p-32);
  int split = percentile < o->validation_split_percentage ? self->validation : self->train;
  assert(split >= 0);
  return split;
}

void ath_preparation_report(const ath_preparation *self, uint64_t bytes, uint64_t tokens,
                            int finished) {
  double seconds = seconds_now() - self->began;
  ath_progress progress = {.task = "data: preparing", .done = bytes, .total = self->total_bytes,
                           .unit = "bytes", .rate_unit = "tokens/s", .finished = finished};
  if (seconds > 0) progress.rate = (double)tokens / seconds;
  ath_log_progress(&progress);
}

/* --- finishing ----------------------------------------------------------------------------- */

ath_status ath_preparation_check_sizes(const ath_preparation *self) {
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

ath_status ath_preparation_write_manifests(const ath_preparation *self) {
  for (size_t i = 0; i < self->count; i++) {
    const ath_split *split = &self->splits[i];
    assert(split->filled < split->max_length && split->open.records == 0);
    ath_manifest manifest = {.recipe = self->recipe, .max_length = split->max_length,
                             .lines = self->lines, .skipped = self->skipped,
                             .duplicates = self->duplicates, .records = split->records,
                             .shards = split->shards,
                             .dropped_tokens = (uint64_t)split->filled};
    snprintf(manifest.split, sizeof manifest.split, "%s", split->name);
    ATH_TRY(ath_manifest_write(&manifest, split->folder));
  }
  return ATH_OK;
}

/* The recipe has the inputs' names and sizes, not their content; of a pipe not even the size. As
 * for make, the time says what may have been made from something else. */
static ath_status warn_of_newer_inputs(const ath_preparation *self) {
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

ath_status ath_preparation_keep(const ath_preparation *self) {
  ath_log(ATH_LOG_INFO, "%s: this dataset is finished already; kept as it is",
          self->options->output);
  return warn_of_newer_inputs(self);
}
