/* manifest.c: manifest.json, the list of shards in it, and the names of shards. */
#include "data/manifest.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "storage/file.h"
#include "tokenizers/json.h"

#define FORMAT "athanor-dataset"
#define SUFFIX ".tfrecord"
enum { VERSION = 1, JSON_MAX = 256 << 20, DIGITS_MAX = 18 };

/* --- JSON files ---------------------------------------------------------------------------- */

ath_status ath_json_read(const char *path, json_t **out) {
  ath_json root;
  return ath_json_load(path, JSON_MAX, false, out, &root);
}

ath_status ath_json_write(const char *path, const json_t *root) {
  char *text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;
  if (text == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to write it", path);
  size_t length = strlen(text);
  text[length] = '\n'; /* in place of the NUL */
  ath_status status = ath_file_write(path, text, length + 1);
  free(text);
  return status;
}

/* --- shards -------------------------------------------------------------------------------- */

/* Of the kinds of ath_compression. */
static const char *const packed_suffixes[] = {"", "", ".gz", ".zlib"};

void ath_shard_name(char out[ATH_SHARD_NAME_MAX], uint64_t index, uint64_t records,
                    ath_compression compression) {
  int length = snprintf(out, ATH_SHARD_NAME_MAX, "dataset-%" PRIu64 "-%" PRIu64 SUFFIX "%s",
                        index, records, packed_suffixes[compression]);
  assert(length > 0 && length < ATH_SHARD_NAME_MAX);
  (void)length;
}

/* Reads "-<digits>" backwards from `end`; NULL if that is not what stands there. */
static const char *number_before(const char *name, const char *end, uint64_t *value) {
  const char *first = end;
  assert(name <= end);
  while (first > name && isdigit((unsigned char)first[-1])) first--;
  if (first == end || end - first > DIGITS_MAX || first == name || first[-1] != '-') return NULL;
  *value = strtoull(first, NULL, 10);
  return first - 1;
}

/* Where a shard's name ends but for its suffixes, or NULL. */
static const char *stem_end(const char *name) {
  size_t length = strlen(name);
  for (int i = ATH_COMPRESSION_NONE; i <= ATH_COMPRESSION_ZLIB; i++) {
    char suffix[32];
    size_t size = (size_t)snprintf(suffix, sizeof suffix, SUFFIX "%s", packed_suffixes[i]);
    if (length > size && strcmp(name + length - size, suffix) == 0) return name + length - size;
  }
  return NULL;
}

bool ath_shard_name_is(const char *name) { return stem_end(name) != NULL; }

bool ath_shard_name_parse(const char *name, uint64_t *index, uint64_t *records) {
  const char *end = stem_end(name);
  if (end != NULL) end = number_before(name, end, records);
  return end != NULL && number_before(name, end, index) != NULL;
}

/* The limit keeps a mistyped shard size from filling a folder with millions of files. */
ath_status ath_shard_list_add(ath_shard_list *self, const ath_shard_entry *entry) {
  if (self->count == ATH_SHARDS_MAX)
    return ath_fail(ATH_INVALID, "more than %d shards; choose a larger shard size",
                    ATH_SHARDS_MAX);
  if (self->count == self->capacity) {
    size_t capacity = self->capacity == 0 ? 16 : self->capacity * 2;
    ath_shard_entry *more = realloc(self->items, capacity * sizeof *more);
    if (more == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu shards", capacity);
    self->items = more;
    self->capacity = capacity;
  }
  assert(self->count < self->capacity);
  self->items[self->count++] = *entry;
  return ATH_OK;
}

void ath_shard_list_free(ath_shard_list *self) {
  free(self->items);
  *self = (ath_shard_list){0};
}

json_t *ath_shard_list_to_json(const ath_shard_list *self) {
  json_t *array = json_array();
  for (size_t i = 0; array != NULL && i < self->count; i++) {
    const ath_shard_entry *entry = &self->items[i];
    char crc[16];
    snprintf(crc, sizeof crc, "%08" PRIx32, entry->crc);
    json_t *item = json_pack("{s:s, s:I, s:I, s:s}", "name", entry->name, "records",
                             (json_int_t)entry->records, "bytes", (json_int_t)entry->bytes,
                             "crc32c", crc);
    if (json_array_append_new(array, item) != 0) {
      json_decref(array);
      array = NULL;
    }
  }
  return array;
}

/* The name says the index and the count as well, so they must agree with the entry and, where it
 * has one, its place in the list: a manifest that was edited by hand, or cut, is found here. */
static ath_status entry_from_json(json_t *item, size_t number, bool any_place,
                                  ath_shard_entry *out) {
  const char *name = NULL, *crc = NULL;
  json_int_t records = 0, bytes = 0;
  json_error_t error;
  if (json_unpack_ex(item, &error, JSON_STRICT, "{s:s, s:I, s:I, s:s}", "name", &name, "records",
                     &records, "bytes", &bytes, "crc32c", &crc) != 0)
    return ath_fail(ATH_INVALID, "shards[%zu]: %s", number, error.text);
  uint64_t index, count;
  if (strlen(name) >= sizeof out->name || strchr(name, '/') != NULL ||
      !ath_shard_name_parse(name, &index, &count))
    return ath_fail(ATH_INVALID, "shards[%zu]: \"%.80s\" is not a shard's name", number, name);
  if (records < 0 || bytes < 0 || count != (uint64_t)records ||
      (index != number && !any_place))
    return ath_fail(ATH_INVALID, "shards[%zu]: %s does not fit %lld records at this place",
                    number, name, (long long)records);
  char *end = NULL;
  unsigned long value = strtoul(crc, &end, 16);
  if (strlen(crc) != 8 || *end != '\0')
    return ath_fail(ATH_INVALID, "shards[%zu]: crc32c \"%.20s\" is not 8 hex digits", number, crc);
  memcpy(out->name, name, strlen(name) + 1);
  out->records = (uint64_t)records;
  out->bytes = (uint64_t)bytes;
  out->crc = (uint32_t)value;
  return ATH_OK;
}

static ath_status add_json(ath_shard_list *self, const json_t *array, bool any_place) {
  if (!json_is_array(array)) return ath_fail(ATH_INVALID, "\"shards\" is not a list");
  for (size_t i = 0; i < json_array_size(array); i++) {
    ath_shard_entry entry;
    ATH_TRY(entry_from_json(json_array_get(array, i), self->count, any_place, &entry));
    ATH_TRY(ath_shard_list_add(self, &entry));
  }
  return ATH_OK;
}

ath_status ath_shard_list_add_json(ath_shard_list *self, const json_t *array) {
  return add_json(self, array, false);
}

ath_status ath_shard_list_add_unordered(ath_shard_list *self, const json_t *array) {
  return add_json(self, array, true);
}

static int by_index(const void *a, const void *b) {
  uint64_t first = 0, second = 0, records;
  ath_shard_name_parse(((const ath_shard_entry *)a)->name, &first, &records);
  ath_shard_name_parse(((const ath_shard_entry *)b)->name, &second, &records);
  return first < second ? -1 : first > second;
}

void ath_shard_list_sort(ath_shard_list *self) {
  size_t kept = 0;
  if (self->count > 0) qsort(self->items, self->count, sizeof *self->items, by_index);
  for (size_t i = 0; i < self->count; i++)
    if (kept == 0 || strcmp(self->items[kept - 1].name, self->items[i].name) != 0)
      self->items[kept++] = self->items[i];
  self->count = kept;
}

ath_status ath_shard_list_check(const ath_shard_list *self) {
  for (size_t i = 0; i < self->count; i++) {
    uint64_t index = 0, records = 0;
    if (!ath_shard_name_parse(self->items[i].name, &index, &records) || index != i)
      return ath_fail(ATH_CORRUPT, "shard %zu is missing: %s is in its place", i,
                      self->items[i].name);
  }
  return ATH_OK;
}

/* --- manifests ----------------------------------------------------------------------------- */

static uint64_t sum_records(const ath_shard_list *shards) {
  uint64_t sum = 0;
  for (size_t i = 0; i < shards->count; i++) sum += shards->items[i].records;
  return sum;
}

ath_status ath_manifest_write(const ath_manifest *self, const char *folder) {
  assert(self->recipe != NULL && self->records == sum_records(&self->shards));
  assert(self->max_length > 0 && strlen(self->split) > 0);
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, ATH_MANIFEST_NAME));
  json_t *root = json_pack(
      "{s:s, s:i, s:s, s:O, s:I, s:I, s:I, s:I, s:o}", "format", FORMAT, "version", VERSION,
      "split", self->split, "recipe", self->recipe, "lines", (json_int_t)self->lines, "records",
      (json_int_t)self->records, "tokens",
      (json_int_t)(self->records * (uint64_t)self->max_length), "dropped_tokens",
      (json_int_t)self->dropped_tokens, "shards", ath_shard_list_to_json(&self->shards));
  if (root != NULL && self->skipped > 0)
    json_object_set_new(root, "skipped", json_integer((json_int_t)self->skipped));
  if (root != NULL && self->duplicates > 0)
    json_object_set_new(root, "duplicates", json_integer((json_int_t)self->duplicates));
  ath_status status = ath_json_write(path, root);
  json_decref(root);
  return status;
}

/* Reads out of the recipe what opening a dataset needs; the rest is only ever compared. */
static ath_status read_recipe(ath_manifest *self) {
  const char *hash = NULL;
  int max_length = 0, vocab_size = 0;
  json_error_t error;
  if (json_unpack_ex(self->recipe, &error, 0, "{s:s, s:i, s:i}", "tokenizer_hash", &hash,
                     "vocab_size", &vocab_size, "max_length", &max_length) != 0)
    return ath_fail(ATH_INVALID, "recipe: %s", error.text);
  if (strlen(hash) != 64) return ath_fail(ATH_INVALID, "recipe: tokenizer_hash is not 64 digits");
  if (max_length < 1 || max_length > ATH_LENGTH_MAX || vocab_size < 1)
    return ath_fail(ATH_INVALID, "recipe: max_length %d or vocab_size %d is out of range",
                    max_length, vocab_size);
  memcpy(self->tokenizer_hash, hash, sizeof self->tokenizer_hash);
  self->max_length = max_length;
  self->vocab_size = vocab_size;
  return ATH_OK;
}

/* The totals follow from the list of shards, which opening the dataset holds against the files.
 * `lines` cannot be checked: blank ones and those of other splits leave no trace in the shards. */
static ath_status check_totals(const ath_manifest *self, json_int_t tokens) {
  uint64_t records = sum_records(&self->shards);
  unsigned long long wanted = records * (uint64_t)self->max_length;
  if (records != self->records)
    return ath_fail(ATH_CORRUPT, "\"records\" is %llu, but its shards add up to %llu",
                    (unsigned long long)self->records, (unsigned long long)records);
  if (tokens < 0 || (uint64_t)tokens != wanted)
    return ath_fail(ATH_CORRUPT, "\"tokens\" is %lld, but %llu records of %d tokens are %llu",
                    (long long)tokens, (unsigned long long)records, self->max_length, wanted);
  if (self->dropped_tokens >= (uint64_t)self->max_length)
    return ath_fail(ATH_CORRUPT, "\"dropped_tokens\" is %llu, but %d would be another record",
                    (unsigned long long)self->dropped_tokens, self->max_length);
  return ATH_OK;
}

/* The version comes first: a manifest of another version may have other keys. */
static ath_status read_root(json_t *root, ath_manifest *self) {
  const char *format = NULL, *split = NULL;
  json_int_t version = 0, lines = 0, records = 0, tokens = 0, dropped = 0, skipped = 0;
  json_int_t duplicates = 0;
  json_t *shards = NULL;
  json_error_t error;
  if (json_unpack_ex(root, &error, 0, "{s:s, s:I}", "format", &format, "version", &version) != 0)
    return ath_fail(ATH_INVALID, "%s", error.text);
  if (strcmp(format, FORMAT) != 0 || version != VERSION)
    return ath_fail(ATH_UNSUPPORTED, "format \"%.40s\" version %lld; this program reads \"" FORMAT
                    "\" version %d", format, (long long)version, VERSION);
  if (json_unpack_ex(root, &error, JSON_STRICT,
                     "{s:s, s:I, s:s, s:O, s?I, s:I, s:I, s:I, s:o, s?I, s?I}",
                     "format", &format, "version", &version, "split", &split, "recipe",
                     &self->recipe, "lines", &lines, "records", &records, "tokens", &tokens,
                     "dropped_tokens", &dropped, "shards", &shards, "skipped", &skipped,
                     "duplicates", &duplicates) != 0)
    return ath_fail(ATH_INVALID, "%s", error.text);
  if (strlen(split) >= sizeof self->split || lines < 0 || records < 0 || dropped < 0 ||
      skipped < 0 || duplicates < 0)
    return ath_fail(ATH_INVALID, "split, lines, records, dropped_tokens, skipped or duplicates is "
                    "out of range");
  memcpy(self->split, split, strlen(split) + 1);
  self->lines = (uint64_t)lines;
  self->duplicates = (uint64_t)duplicates;
  self->records = (uint64_t)records;
  self->dropped_tokens = (uint64_t)dropped;
  self->skipped = (uint64_t)skipped;
  ATH_TRY(read_recipe(self));
  ATH_TRY(ath_shard_list_add_json(&self->shards, shards));
  return check_totals(self, tokens);
}

ath_status ath_manifest_read(const char *folder, ath_manifest *out) {
  char path[ATH_PATH_MAX];
  json_t *root = NULL;
  *out = (ath_manifest){0};
  ATH_TRY(ath_path_join(path, folder, ATH_MANIFEST_NAME));
  ATH_TRY(ath_json_read(path, &root));
  ath_status status = ath_context(read_root(root, out), "%s", path);
  json_decref(root);
  if (status != ATH_OK) ath_manifest_free(out);
  return status;
}

void ath_manifest_free(ath_manifest *self) {
  json_decref(self->recipe);
  ath_shard_list_free(&self->shards);
  *self = (ath_manifest){0};
}

/* --- recipes ------------------------------------------------------------------------------- */

/* Values are shown as JSON, cut when they are long (a list of input files). */
static ath_status fail_differs(const char *key, const json_t *there, const json_t *now) {
  char *a = there != NULL ? json_dumps(there, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  char *b = now != NULL ? json_dumps(now, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  ath_status status =
      ath_fail(ATH_MISMATCH, "%s is %.200s there and %.200s now", key,
               a != NULL ? a : "missing", b != NULL ? b : "missing");
  free(a);
  free(b);
  return status;
}

ath_status ath_recipe_compare(const json_t *there, const json_t *now) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)now, key, value) {
    const json_t *other = json_object_get(there, key);
    if (!json_equal(other, value)) return fail_differs(key, other, value);
  }
  json_object_foreach((json_t *)there, key, value)
    if (json_object_get(now, key) == NULL) return fail_differs(key, value, NULL);
  return ATH_OK;
}
