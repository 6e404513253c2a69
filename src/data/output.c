/* output.c: recognising, continuing and clearing the folder of a dataset. */
#include "data/output.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/index.h"
#include "data/journal.h"
#include "formats/deflate.h"

#define FORMAT "athanor-progress"
enum { VERSION = 2 };
#define LINES_MAX (INT64_C(1) << 48) /* what the random numbers can tell apart */

static const char *const SPLIT_NAMES[ATH_SPLITS_MAX] = {"train", "validation"};

/* --- recipes ------------------------------------------------------------------------------- */

/* −1 for a role that the tokenizer does not have. */
static json_t *special_ids(const ath_tokenizer *tokenizer) {
  return json_pack("{s:i, s:i, s:i, s:i, s:i}",
                   "cls", ath_tokenizer_special(tokenizer, ATH_TOKEN_CLS),
                   "sep", ath_tokenizer_special(tokenizer, ATH_TOKEN_SEP),
                   "unk", ath_tokenizer_special(tokenizer, ATH_TOKEN_UNK),
                   "pad", ath_tokenizer_special(tokenizer, ATH_TOKEN_PAD),
                   "mask", ath_tokenizer_special(tokenizer, ATH_TOKEN_MASK));
}

/* Names as they were given: the recipe is to be recognised, not to be followed. */
static ath_status describe_inputs(const ath_prepare_options *options, json_t *array) {
  for (size_t i = 0; i < options->input_count; i++) {
    uint64_t size;
    if (options->reading.sql != NULL) size = 0;
    else ATH_TRY(ath_file_size(options->inputs[i], &size));
    json_t *item = json_pack("{s:s, s:I}", "name", options->inputs[i], "bytes", (json_int_t)size);
    if (json_array_append_new(array, item) != 0)
      return ath_fail(ATH_INVALID, "%s: its name is not UTF-8, or memory ran out",
                      options->inputs[i]);
  }
  return ATH_OK;
}

/* Of what decides the documents, what is not as usual; NULL: nothing. */
static json_t *describe_reading(const ath_reading *r) {
  bool named = r->text_column != NULL || r->label_column != NULL || r->sql != NULL;
  bool marked = r->no_header || r->drop_markup || r->skip_errors || r->any_bytes;
  if (r->format == 0 && r->unit == 0 && r->delimiter == '\0' && !named && !marked) return NULL;
  const char delimiter[] = {r->delimiter, '\0'};
  return json_pack("{s:i, s:i, s:s?, s:s?, s:s, s:b, s:b, s:b}", "format", (int)r->format,
                   "documents", (int)r->unit, "text_column", r->text_column, "label_column",
                   r->label_column, "delimiter", delimiter, "no_header", (int)r->no_header,
                   "drop_markup", (int)r->drop_markup, "skip_errors", (int)r->skip_errors);
}

/* What is not the default; recipes from before there was a choice stay what they are. */
static bool add_choices(const ath_prepare_options *options, json_t *recipe) {
  bool added = true;
  if (options->validation_by == ATH_VALIDATION_BY_TEXT)
    added = json_object_set_new(recipe, "validation_by", json_string("text")) == 0;
  if (options->deduplicate == ATH_DEDUPLICATE_EXACT)
    added = added && json_object_set_new(recipe, "deduplicate", json_string("exact")) == 0;
  if (options->deduplicate == ATH_DEDUPLICATE_NEAR)
    added = added && json_object_set_new(recipe, "deduplicate", json_pack("{s:f}", "near",
                                         options->near_similarity)) == 0;
  if (options->compression > ATH_COMPRESSION_NONE)
    added = added && json_object_set_new(recipe, "compression", json_string(
                         ath_compression_name(options->compression))) == 0;
  return added;
}

ath_status ath_recipe_create(const ath_tokenizer *tokenizer, const ath_prepare_options *options,
                             json_t **out) {
  json_t *inputs = json_array();
  if (inputs == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a manifest");
  ath_status status = describe_inputs(options, inputs);
  if (status != ATH_OK) {
    json_decref(inputs);
    return status;
  }
  *out = json_pack(
      "{s:s, s:i, s:o, s:i, s:f, s:I, s:I, s:b, s:I, s:o}",
      "tokenizer_hash", ath_tokenizer_hash(tokenizer), "vocab_size",
      (int)ath_tokenizer_size(tokenizer), "special_ids", special_ids(tokenizer), "max_length",
      options->max_length, "validation_split_percentage", options->validation_split_percentage,
      "shard_records", (json_int_t)options->shard_records, "shard_bytes",
      (json_int_t)options->shard_bytes, "keep_blank_lines", (int)options->keep_blank_lines,
      "seed", (json_int_t)options->seed, "inputs", inputs);
  json_t *reading = describe_reading(&options->reading);
  if (*out == NULL || !add_choices(options, *out) ||
      (reading != NULL && json_object_set(*out, "reading", reading) != 0)) {
    json_decref(*out);
    *out = NULL;
  }
  json_decref(reading);
  return *out != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory for a manifest");
}

ath_status ath_inputs_modified(const ath_prepare_options *options, json_t **out) {
  json_t *times = json_array();
  for (size_t i = 0; i < options->input_count; i++) {
    struct stat info = {0};
    if (options->reading.sql == NULL && stat(options->inputs[i], &info) != 0) {
      json_decref(times);
      return ath_fail_errno(errno, "%s", options->inputs[i]);
    }
    json_int_t when = (json_int_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    json_array_append_new(times, json_integer(when));
  }
  if (json_array_size(times) == options->input_count) {
    *out = times;
    return ATH_OK;
  }
  json_decref(times);
  return ath_fail(ATH_NO_MEMORY, "no memory for the journal");
}

/* --- the journal --------------------------------------------------------------------------- */

ath_status ath_output_begin(const char *folder, const json_t *recipe, const json_t *modified) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, ATH_PROGRESS_NAME));
  json_t *first = json_pack("{s:s, s:i, s:O, s:O}", "format", FORMAT, "version", VERSION, "recipe",
                            recipe, "modified_ns", modified);
  ath_status status = ath_journal_create(path, first);
  json_decref(first);
  return status;
}

/* After the shards are on disk: whatever the journal says is there. One entry for all of them,
 * since there is one place that goes with them. */
ath_status ath_output_note(const char *folder, ath_split *split) {
  char path[ATH_PATH_MAX];
  const ath_place *p = &split->place;
  assert(split->noted < split->shards.count);
  const ath_shard_list fresh = {.items = split->shards.items + split->noted,
                                .count = split->shards.count - split->noted};
  ATH_TRY(ath_path_join(path, folder, ATH_PROGRESS_NAME));
  json_t *entry = json_pack("{s:s, s:o, s:{s:I, s:I, s:I, s:I, s:I, s:I}}", "split", split->name,
                            "shards", ath_shard_list_to_json(&fresh), "place", "file",
                            (json_int_t)p->file, "byte", (json_int_t)p->byte, "line",
                            (json_int_t)p->line, "global", (json_int_t)p->global, "token",
                            (json_int_t)p->token, "skipped", (json_int_t)p->skipped);
  ath_status status = ath_journal_add(path, entry);
  json_decref(entry);
  split->noted = split->shards.count;
  return status;
}

/* The shards of an interrupted run are where the journal says, in full length. */
static ath_status check_shards(const ath_split *split, const ath_shard_list *shards) {
  for (size_t i = 0; i < shards->count; i++) {
    char path[ATH_PATH_MAX];
    uint64_t size;
    ATH_TRY(ath_path_join(path, split->folder, shards->items[i].name));
    ATH_TRY(ath_file_size(path, &size));
    if (size != shards->items[i].bytes)
      return ath_fail(ATH_CORRUPT, "%s: %llu bytes long, not %llu", path,
                      (unsigned long long)size, (unsigned long long)shards->items[i].bytes);
  }
  return ATH_OK;
}

/* How far the journal says that a split is. */
typedef struct reached {
  ath_shard_list shards;
  ath_place place;
} reached;

static ath_status read_place(json_t *item, ath_place *out) {
  json_int_t file = 0, byte = 0, line = 0, global = 0, token = 0, skipped = 0;
  json_error_t error;
  if (json_unpack_ex(item, &error, JSON_STRICT, "{s:I, s:I, s:I, s:I, s:I, s:I}", "file",
                     &file, "byte", &byte, "line", &line, "global", &global, "token", &token,
                     "skipped", &skipped) != 0)
    return ath_fail(ATH_INVALID, "place: %s", error.text);
  if (file < 0 || byte < 0 || line < 1 || global < 0 || global >= LINES_MAX || token < 0 ||
      skipped < 0)
    return ath_fail(ATH_INVALID, "a place is out of range");
  *out = (ath_place){(uint64_t)file, (uint64_t)byte, (uint64_t)line, (uint64_t)global,
                     (uint64_t)token, (uint64_t)skipped};
  return ATH_OK;
}

static ath_status read_note(json_t *entry, const ath_split *splits, size_t count, reached *out) {
  const char *name = NULL;
  json_t *shards = NULL, *place = NULL;
  json_error_t error;
  if (json_unpack_ex(entry, &error, JSON_STRICT, "{s:s, s:o, s:o}", "split", &name, "shards",
                     &shards, "place", &place) != 0)
    return ath_fail(ATH_INVALID, "%s", error.text);
  size_t i = 0;
  while (i < count && strcmp(name, splits[i].name) != 0) i++;
  if (i == count) return ath_fail(ATH_INVALID, "there is no split \"%.20s\"", name);
  ATH_TRY(ath_shard_list_add_json(&out[i].shards, shards));
  return read_place(place, &out[i].place);
}

static ath_status check_beginning(const json_t *first, const json_t *recipe,
                                  const json_t *modified) {
  const char *format = json_string_value(json_object_get(first, "format"));
  json_int_t version = json_integer_value(json_object_get(first, "version"));
  if (format == NULL || strcmp(format, FORMAT) != 0 || version != VERSION)
    return ath_fail(ATH_INVALID, "not a journal that this program can continue");
  ATH_TRY(ath_recipe_compare(json_object_get(first, "recipe"), recipe));
  if (!json_equal(json_object_get(first, "modified_ns"), modified))
    return ath_fail(ATH_MISMATCH, "an input file was changed since");
  return ATH_OK;
}

/* Compares first, then takes over: a split is touched only when all of it fits. */
static ath_status read_journal(const json_t *entries, const json_t *recipe, const json_t *modified,
                               ath_split *splits, size_t count) {
  reached found[ATH_SPLITS_MAX] = {{.place.line = 1}, {.place.line = 1}};
  ath_status status = check_beginning(json_array_get(entries, 0), recipe, modified);
  for (size_t i = 1; status == ATH_OK && i < json_array_size(entries); i++)
    status = ath_context(read_note(json_array_get(entries, i), splits, count, found), "line %zu",
                         i + 1);
  for (size_t i = 0; status == ATH_OK && i < count; i++)
    status = check_shards(&splits[i], &found[i].shards);
  for (size_t i = 0; i < count; i++) {
    if (status == ATH_OK) ath_split_continue(&splits[i], &found[i].shards, &found[i].place);
    ath_shard_list_free(&found[i].shards);
  }
  return status;
}

/* --- what is there ------------------------------------------------------------------------- */

/* Puts before a failure what the folder holds, and after it what can be done. */
static ath_status with_advice(ath_status status, const char *folder, const char *what) {
  if (status == ATH_OK) return status;
  char text[512];
  snprintf(text, sizeof text, "%s", ath_error_text());
  return ath_fail(status, "%s holds %s that cannot be used: %s; remove it, choose another folder, "
                  "or pass --overwrite", folder, what, text);
}

/* A finished dataset is this one when every split has a manifest of the same recipe, and every
 * shard is there in full length. */
static ath_status read_manifests(const char *folder, const json_t *recipe,
                                 const ath_split *splits, size_t count, ath_manifest *manifests) {
  for (size_t i = 0; i < count; i++) {
    ath_status status = ath_manifest_read(splits[i].folder, &manifests[i]);
    if (status == ATH_OK) status = ath_recipe_compare(manifests[i].recipe, recipe);
    if (status == ATH_OK) status = check_shards(&splits[i], &manifests[i].shards);
    ATH_TRY(with_advice(status, folder, "another dataset"));
  }
  return ATH_OK;
}

static bool begins_with(const char *name, const char *start) {
  return strncmp(name, start, strlen(start)) == 0;
}

/* Names that only this program gives: temporary files, and those of a dataset. */
static bool is_temporary(const char *name) {
  return strstr(name, ".tmp-") != NULL &&
         (begins_with(name, "dataset-") || begins_with(name, ATH_MANIFEST_NAME) ||
          begins_with(name, ATH_INDEX_NAME) || begins_with(name, ATH_PROGRESS_NAME));
}

static bool is_of_dataset(const char *name) {
  uint64_t index, records;
  return is_temporary(name) || strcmp(name, ATH_MANIFEST_NAME) == 0 ||
         strcmp(name, ATH_INDEX_NAME) == 0 || strcmp(name, ATH_PROGRESS_NAME) == 0 ||
         (begins_with(name, "dataset-") && ath_shard_name_parse(name, &index, &records));
}

/* Counts the files that satisfy `test`, and removes them if asked. A missing folder has none. */
static ath_status each_file(const char *folder, bool (*test)(const char *), bool removing,
                            size_t *found) {
  char **names;
  size_t count;
  if (!ath_path_is_folder(folder)) return ATH_OK;
  ATH_TRY(ath_folder_list(folder, &names, &count));
  ath_status status = ATH_OK;
  for (size_t i = 0; status == ATH_OK && i < count; i++) {
    char path[ATH_PATH_MAX];
    if (!test(names[i])) continue;
    ++*found;
    status = ath_path_join(path, folder, names[i]);
    if (status == ATH_OK && removing && unlink(path) != 0)
      status = ath_fail_errno(errno, "%s: cannot remove", path);
  }
  ath_folder_list_free(names, count);
  return status;
}

/* The same for the output folder and for both splits' folders. */
static ath_status each_split_file(const char *folder, bool (*test)(const char *), bool removing,
                                  size_t *found) {
  ATH_TRY(each_file(folder, test, removing, found));
  for (int i = 0; i < ATH_SPLITS_MAX; i++) {
    char path[ATH_PATH_MAX];
    ATH_TRY(ath_path_join(path, folder, SPLIT_NAMES[i]));
    ATH_TRY(each_file(path, test, removing, found));
    if (removing && test == is_of_dataset) rmdir(path); /* stays if there is something else */
  }
  return ATH_OK;
}

ath_status ath_output_discard(const char *folder) {
  size_t removed = 0;
  char pieces[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(pieces, folder, ATH_PIECES_NAME));
  ATH_TRY(ath_folder_remove(pieces));
  return each_split_file(folder, is_of_dataset, true, &removed);
}

ath_status ath_output_sweep(const char *folder) {
  size_t removed = 0;
  return each_split_file(folder, is_temporary, true, &removed);
}

static ath_status inspect_unfinished(const char *folder, const char *journal,
                                     const json_t *recipe, const json_t *modified,
                                     ath_split *splits, size_t count, ath_output_state *state) {
  json_t *entries = NULL;
  *state = ATH_OUTPUT_UNFINISHED;
  ath_status status = ath_journal_recover(journal, &entries);
  if (status == ATH_OK)
    status = ath_context(read_journal(entries, recipe, modified, splits, count), "%s", journal);
  /* Of a run that wrote no shard there is no work to lose. */
  bool worthless = status == ATH_MISMATCH && json_array_size(entries) == 1;
  json_decref(entries);
  if (!worthless) return with_advice(status, folder, "an unfinished dataset");
  *state = ATH_OUTPUT_FRESH;
  return ath_output_discard(folder);
}

ath_status ath_output_inspect(const char *folder, const json_t *recipe, const json_t *modified,
                              ath_split *splits, size_t count, ath_manifest *manifests,
                              ath_output_state *state) {
  char path[ATH_PATH_MAX];
  assert(count >= 1 && count <= ATH_SPLITS_MAX);
  ATH_TRY(ath_path_join(path, folder, ATH_PROGRESS_NAME));
  if (ath_path_exists(path))
    return inspect_unfinished(folder, path, recipe, modified, splits, count, state);
  size_t found = 0;
  ATH_TRY(each_split_file(folder, is_of_dataset, false, &found));
  *state = found > 0 ? ATH_OUTPUT_FINISHED : ATH_OUTPUT_FRESH;
  return found > 0 ? read_manifests(folder, recipe, splits, count, manifests) : ATH_OK;
}
