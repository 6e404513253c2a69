/* summary.c: what a run came to, as JSON, by the names that Hugging Face's Trainer gives to the
 * same things, in the files that it writes (transformers, trainer_pt_utils.py: save_metrics). */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <unistd.h>

#include "tokenizers/json.h"
#include "train/run.h"

enum { RESULTS_MAX = 1 << 14 };

/* The files a result belongs to, beside all_results.json. */
enum { TRAIN = 1, EVAL = 2 };

typedef struct result {
  const char *name;
  enum { WHOLE, NUMBER } kind; /* int64_t or uint64_t; double */
  unsigned files;
  size_t offset;
} result;

#define RESULT(name, kind, files, field) {name, kind, files, offsetof(ath_train_summary, field)}

/* In the order of the names, as the Trainer sorts them. */
static const result results[] = {
  RESULT("epoch", NUMBER, TRAIN | EVAL, epochs),
  RESULT("eval_accuracy", NUMBER, EVAL, eval.accuracy),
  RESULT("eval_loss", NUMBER, EVAL, eval.loss),
  RESULT("eval_runtime", NUMBER, EVAL, eval.seconds),
  RESULT("eval_samples", WHOLE, EVAL, eval.samples),
  RESULT("eval_samples_per_second", NUMBER, EVAL, eval.samples_per_second),
  RESULT("eval_scored", NUMBER, EVAL, eval.scored),
  RESULT("eval_steps_per_second", NUMBER, EVAL, eval.batches_per_second),
  RESULT("gflops", NUMBER, TRAIN, gflops),
  RESULT("global_step", WHOLE, TRAIN, steps),
  RESULT("max_steps", WHOLE, TRAIN, total_steps),
  RESULT("num_input_tokens_seen", WHOLE, TRAIN, tokens),
  RESULT("parameters", WHOLE, TRAIN, parameters),
  RESULT("perplexity", NUMBER, EVAL, eval.perplexity),
  RESULT("records_per_step", WHOLE, TRAIN, records_per_step),
  RESULT("resumed_from", WHOLE, TRAIN, resumed_from),
  RESULT("total_flos", NUMBER, TRAIN, total_flos),
  RESULT("train_loss", NUMBER, TRAIN, train_loss),
  RESULT("train_runtime", NUMBER, TRAIN, seconds),
  RESULT("train_samples", WHOLE, TRAIN, samples),
  RESULT("train_samples_per_second", NUMBER, TRAIN, samples_per_second),
  RESULT("train_steps_per_second", NUMBER, TRAIN, steps_per_second),
  RESULT("train_tokens_per_second", NUMBER, TRAIN, tokens_per_second),
};
enum { RESULT_COUNT = sizeof results / sizeof *results };

/* --- writing ------------------------------------------------------------------------------- */

static bool is_wanted(const result *r, const ath_train_summary *summary, unsigned files) {
  return (r->files & files) != 0 && (summary->evaluated || r->files != EVAL);
}

/* The results of some files as one object; each begins with `before`, the end is `after`. */
static ath_status append_results(const ath_train_summary *self, unsigned files, const char *before,
                                 const char *after, ath_buffer *out) {
  const char *separator = "";
  ATH_TRY(ath_buffer_byte(out, '{'));
  for (size_t i = 0; i < RESULT_COUNT; i++) {
    const result *r = &results[i];
    const void *place = (const char *)self + r->offset;
    if (!is_wanted(r, self, files)) continue;
    ATH_TRY(ath_buffer_format(out, "%s%s\"%s\": ", separator, before, r->name));
    ATH_TRY(r->kind == WHOLE ? ath_buffer_integer(out, *(const int64_t *)place)
                             : ath_buffer_double(out, *(const double *)place));
    separator = before[0] == '\0' ? ", " : ",";
  }
  ATH_TRY(ath_buffer_string(out, after));
  return ath_buffer_byte(out, '}');
}

ath_status ath_train_summary_print(const ath_train_summary *self, ath_buffer *out) {
  return append_results(self, TRAIN | EVAL, "", "", out);
}

static ath_status write_file(const ath_train_summary *self, const char *folder, const char *name,
                             unsigned files) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, name));
  ath_buffer text = ath_buffer_make(RESULTS_MAX);
  ath_status status = append_results(self, files, "\n    ", "\n", &text);
  if (status == ATH_OK) status = ath_buffer_byte(&text, '\n');
  if (status == ATH_OK) status = ath_file_write(path, text.bytes, text.length);
  ath_buffer_free(&text);
  return status;
}

/* The file of all comes last: where it is, the run was finished. */
ath_status ath_run_summary_write(const ath_train_summary *self, const char *folder) {
  ATH_TRY(write_file(self, folder, "train_results.json", TRAIN));
  if (self->evaluated) ATH_TRY(write_file(self, folder, "eval_results.json", EVAL));
  return write_file(self, folder, "all_results.json", TRAIN | EVAL);
}

ath_status ath_run_summary_remove(const char *folder) {
  static const char *const names[] = {"all_results.json", "train_results.json",
                                      "eval_results.json"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[ATH_PATH_MAX];
    ATH_TRY(ath_path_join(path, folder, names[i]));
    if (unlink(path) != 0 && errno != ENOENT) return ath_fail_errno(errno, "%s", path);
  }
  return ATH_OK;
}

/* --- reading ------------------------------------------------------------------------------- */

/* A perplexity that is infinite was written as null. */
static bool read_result(const result *r, const json_t *value, ath_train_summary *out) {
  void *place = (char *)out + r->offset;
  if (r->kind == WHOLE) *(int64_t *)place = json_integer_value(value);
  else *(double *)place = json_is_null(value) ? INFINITY : json_number_value(value);
  return r->kind == WHOLE ? json_is_integer(value) : json_is_number(value) || json_is_null(value);
}

bool ath_run_summary_read(const char *folder, ath_train_summary *out) {
  char path[ATH_PATH_MAX];
  json_t *tree = NULL;
  ath_json root;
  *out = (ath_train_summary){0};
  if (ath_path_join(path, folder, "all_results.json") != ATH_OK || !ath_path_exists(path) ||
      ath_json_load(path, RESULTS_MAX, false, &tree, &root) != ATH_OK)
    return false;
  out->evaluated = json_object_get(tree, "eval_loss") != NULL;
  bool complete = true;
  for (size_t i = 0; i < RESULT_COUNT; i++)
    if (is_wanted(&results[i], out, TRAIN | EVAL))
      complete = read_result(&results[i], json_object_get(tree, results[i].name), out) && complete;
  json_decref(tree);
  return complete;
}
