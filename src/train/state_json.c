/* state_json.c: training/state.json of a checkpoint:
 *
 *     {"format": 1, "step": …, "batch": …, "loss_sum": …, "weight_sum": …, "tokens": …,
 *      "seconds": …, "data": {"records": …, "length": …, "tokenizer": "<SHA-256>"},
 *      "settings": {"hidden_size": 256, …, "train_batch_size": …}}
 *
 * The batch size is that of all devices, so that a run may go on with more or fewer of them. */
#include "train/state_json.h"

#include <jansson.h>
#include <omp.h>
#include <string.h>

#include "base/log.h"

enum { STATE_FORMAT = 1, STATE_BYTES_MAX = 1 << 20 };

static json_t *position_to_json(const ath_run *run) {
  const ath_run_position *p = &run->position;
  return json_pack("{s:i, s:I, s:I, s:f, s:f, s:I, s:f, s:i}", "format", STATE_FORMAT, "step",
                   (json_int_t)p->step, "batch", (json_int_t)p->batch, "loss_sum", p->loss_sum,
                   "weight_sum", p->weight_sum, "tokens", (json_int_t)p->tokens, "seconds",
                   p->seconds, "threads", omp_get_max_threads());
}

static json_t *data_to_json(const ath_run *run) {
  return json_pack("{s:I, s:i, s:s}", "records", (json_int_t)ath_dataset_size(run->data), "length",
                   ath_dataset_length(run->data), "tokenizer",
                   ath_tokenizer_hash(run->tokenizer));
}

static const char EACH[] = "per_device_train_batch_size", ALL[] = "train_batch_size";

/* Beside those that decide the result, the settings that decide what is called in which order.
 * Files may lie elsewhere on another host, which may also have other cores. */
static bool is_common(const ath_setting *setting) {
  if (strcmp(setting->name, "mesh") == 0) return true;
  return setting->kind != ATH_SETTING_TEXT && strcmp(setting->name, "threads") != 0;
}

/* The settings that decide the result, or all that processes must have in common, as JSON. */
static json_t *settings_to_json(const ath_run *run, bool common) {
  size_t count;
  const ath_setting *settings = ath_train_settings(&count);
  json_t *all = json_object();
  ath_buffer text = ath_buffer_make(1 << 16);
  bool failed = all == NULL || json_object_set_new(all, ALL, json_integer(run->batch_size)) != 0;
  for (size_t i = 0; i < count && !failed; i++) {
    if (strcmp(settings[i].name, EACH) == 0) continue;
    if (!settings[i].fixed && !(common && is_common(&settings[i]))) continue;
    ath_buffer_clear(&text);
    failed = ath_train_setting_print(&settings[i], &run->options, &text) != ATH_OK ||
             json_object_set_new(all, settings[i].name,
                                 json_loads(text.bytes, JSON_DECODE_ANY, NULL)) != 0;
  }
  ath_buffer_free(&text);
  if (!failed) return all;
  json_decref(all);
  return NULL;
}

ath_status ath_state_json_write(const ath_run *run, const char *path) {
  json_t *root = position_to_json(run);
  char *text = NULL;
  if (root != NULL && json_object_set_new(root, "data", data_to_json(run)) == 0 &&
      json_object_set_new(root, "settings", settings_to_json(run, false)) == 0)
    text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
  ath_status status = text != NULL ? ath_file_write(path, text, strlen(text))
                                   : ath_fail(ATH_NO_MEMORY, "%s: no memory", path);
  free(text);
  json_decref(root);
  return status;
}

/* --- reading ------------------------------------------------------------------------------- */

static bool is_off(const json_t *value) {
  return json_is_false(value) || (json_is_integer(value) && json_integer_value(value) == 0);
}

/* How the two sides of a difference are told of. */
typedef struct sides {
  const char *theirs, *ours;
} sides;

/* Appends "learning_rate was 0.1, is 0.2" for each key of `ours` that `theirs` has differently.
 * What an older program did not know was off. */
static ath_status list_differences(const json_t *ours, const json_t *theirs, sides say,
                                   ath_buffer *out) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)ours, key, value) {
    const json_t *other = json_object_get(theirs, key);
    if (other == NULL && strcmp(key, ALL) == 0) /* an older program's: that was of all devices */
      other = json_object_get(theirs, EACH);
    if (other != NULL ? json_equal(other, value) : is_off(value)) continue;
    int flags = JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12);
    char *was = json_dumps(other, flags), *is = json_dumps(value, flags);
    ath_status status = ath_buffer_format(out, "%s%s %s %s, %s %s", out->length > 0 ? "; " : "",
                                          key, say.theirs, was != NULL ? was : "not there",
                                          say.ours, is != NULL ? is : "?");
    free(was);
    free(is);
    ATH_TRY(status);
  }
  return ATH_OK;
}

/* Data of another size or tokenizer, and settings that decide the result, make another run. */
static ath_status check_same(const ath_run *run, const json_t *root, const char *path) {
  json_t *data = data_to_json(run), *settings = settings_to_json(run, false);
  const sides say = {"was", "is"};
  ath_buffer text = ath_buffer_make(1 << 16);
  ath_status status = ATH_OK;
  if (data == NULL || settings == NULL) status = ath_fail(ATH_NO_MEMORY, "%s: no memory", path);
  if (status == ATH_OK)
    status = list_differences(data, json_object_get(root, "data"), say, &text);
  if (status == ATH_OK)
    status = list_differences(settings, json_object_get(root, "settings"), say, &text);
  if (status == ATH_OK && text.length > 0)
    status = ath_fail(ATH_MISMATCH, "%s belongs to another run: %.600s. Give the old values to go "
                      "on, set overwrite_output_dir to start anew, or take its weights by "
                      "model_name_or_path", path, text.bytes);
  ath_buffer_free(&text);
  json_decref(data);
  json_decref(settings);
  return status;
}

/* A position that no run can have been at is damage that the checksums did not see. */
static ath_status read_position(const json_t *root, const char *path, ath_run_position *out) {
  json_int_t step, batch, tokens;
  double loss_sum, weight_sum, seconds;
  int threads, format;
  json_error_t error;
  if (json_unpack_ex((json_t *)(uintptr_t)root, &error, 0,
                     "{s:i, s:I, s:I, s:F, s:F, s:I, s:F, s:i}", "format", &format, "step", &step,
                     "batch", &batch, "loss_sum", &loss_sum, "weight_sum", &weight_sum, "tokens",
                     &tokens, "seconds", &seconds, "threads", &threads) != 0)
    return ath_fail(ATH_CORRUPT, "%s: %s", path, error.text);
  if (format != STATE_FORMAT)
    return ath_fail(ATH_UNSUPPORTED, "%s: format %d; this program knows %d", path, format,
                    STATE_FORMAT);
  if (step < 1 || batch < step || tokens < 0)
    return ath_fail(ATH_CORRUPT, "%s: step %lld, batch %lld", path, (long long)step,
                    (long long)batch);
  if (threads != omp_get_max_threads())
    ath_log(ATH_LOG_WARNING, "%s was written with %d threads and this is %d: the result may "
            "differ in the last bits", path, threads, omp_get_max_threads());
  *out = (ath_run_position){.step = step, .batch = (uint64_t)batch, .loss_sum = loss_sum,
                            .weight_sum = weight_sum, .tokens = (uint64_t)tokens,
                            .seconds = seconds};
  return ATH_OK;
}

ath_status ath_state_json_read(const ath_run *run, const char *path, ath_run_position *out) {
  ath_buffer text = ath_buffer_make(STATE_BYTES_MAX);
  json_t *root = NULL;
  json_error_t error;
  ath_status status = ath_file_read(path, &text);
  if (status == ATH_OK) {
    root = json_loadb(text.bytes != NULL ? text.bytes : "", text.length, 0, &error);
    if (!json_is_object(root)) status = ath_fail(ATH_CORRUPT, "%s: not a JSON object", path);
  }
  if (status == ATH_OK) status = check_same(run, root, path);
  if (status == ATH_OK) status = read_position(root, path, out);
  json_decref(root);
  ath_buffer_free(&text);
  return status;
}

/* --- several processes ----------------------------------------------------------------------- */

ath_status ath_state_json_describe(const ath_run *run, char **out) {
  json_t *root = settings_to_json(run, true), *data = data_to_json(run);
  *out = NULL;
  if (root != NULL && data != NULL && json_object_update(root, data) == 0)
    *out = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
  json_decref(root);
  json_decref(data);
  return *out != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory for the settings");
}

ath_status ath_state_json_differ(const char *theirs, const char *ours, int process) {
  json_t *there = json_loads(theirs, 0, NULL), *here = json_loads(ours, 0, NULL);
  ath_buffer text = ath_buffer_make(1 << 16);
  ath_status status = list_differences(here, there, (sides){"is", "here"}, &text);
  if (status == ATH_OK)
    status = ath_fail(ATH_MISMATCH, "process %d was started otherwise: %.700s. All processes of a "
                      "run take the same settings and data", process,
                      text.length > 0 ? text.bytes : "it is another version of Athanor");
  ath_buffer_free(&text);
  json_decref(there);
  json_decref(here);
  return status;
}
