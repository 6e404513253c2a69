/* manifest.h: what a folder of shards says about itself, in manifest.json.
 *
 *     { "format": "athanor-dataset", "version": 1, "split": "train",
 *       "recipe": { "tokenizer_hash": "…", "vocab_size": 8000, "special_ids": {"cls": 0, …},
 *                   "max_length": 128, "inputs": [{"name": "a.txt", "bytes": 9}], … },
 *       "lines": 99000, "records": 12345, "tokens": 1580160, "dropped_tokens": 17,
 *       "shards": [{"name": "dataset-0-5000.tfrecord", "records": 5000, "bytes": 3355000,
 *                   "crc32c": "e3069283"}, …] }
 *
 * The recipe is everything that decides the shards' content: two datasets with the same recipe,
 * made from the same text, are the same bytes. */
#ifndef ATHANOR_DATA_MANIFEST_H
#define ATHANOR_DATA_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "athanor/tfrecord.h"

#define ATH_MANIFEST_NAME "manifest.json"
#define ATH_PROGRESS_NAME "progress.journal" /* of an unfinished dataset; one folder above */

enum { ATH_SHARD_NAME_MAX = 72, ATH_SHARDS_MAX = 1 << 20, ATH_LENGTH_MIN = 8,
       ATH_LENGTH_MAX = 1 << 16 };

/* --- shards -------------------------------------------------------------------------------- */

typedef struct ath_shard_entry {
  char name[ATH_SHARD_NAME_MAX];
  uint64_t records, bytes;
  uint32_t crc; /* CRC-32C of the file */
} ath_shard_entry;

typedef struct ath_shard_list {
  ath_shard_entry *items;
  size_t count, capacity;
} ath_shard_list;

/* "dataset-<index>-<records>.tfrecord", with .gz or .zlib behind it where it is compressed, and
 * back: any name ending in "-<index>-<records>.tfrecord" or so, as the reference's reader takes
 * them. */
void ath_shard_name(char out[ATH_SHARD_NAME_MAX], uint64_t index, uint64_t records,
                    ath_compression compression);
/* Any name that ends in .tfrecord, .tfrecord.gz or .tfrecord.zlib. */
bool ath_shard_name_is(const char *name);
bool ath_shard_name_parse(const char *name, uint64_t *index, uint64_t *records);

ath_status ath_shard_list_add(ath_shard_list *self, const ath_shard_entry *entry) ATH_MUST_CHECK;
void ath_shard_list_free(ath_shard_list *self);

/* A JSON array as above; NULL without memory. Reading adds to the list; it is strict, and a failure
 * names the entry. */
json_t *ath_shard_list_to_json(const ath_shard_list *self);
ath_status ath_shard_list_add_json(ath_shard_list *self, const json_t *array) ATH_MUST_CHECK;

/* A list gathered from several: in any order, entries more than once. Sorting puts them in order,
 * each once; the check then wants them to be those from the first on (ATH_CORRUPT). */
ath_status ath_shard_list_add_unordered(ath_shard_list *self, const json_t *array) ATH_MUST_CHECK;
void ath_shard_list_sort(ath_shard_list *self);
ath_status ath_shard_list_check(const ath_shard_list *self) ATH_MUST_CHECK;

/* --- manifests ----------------------------------------------------------------------------- */

typedef struct ath_manifest {
  char split[16];
  json_t *recipe;              /* owned; the three below are copies of what is in it */
  char tokenizer_hash[65];
  int32_t vocab_size;
  int max_length;
  uint64_t lines;              /* of the whole text, other splits' included; 0: not noted */
  uint64_t skipped;            /* documents left out for errors */
  uint64_t duplicates;         /* of them left out as such; 0 is not written */
  uint64_t records, dropped_tokens;
  ath_shard_list shards;
} ath_manifest;

/* Reads <folder>/manifest.json: ATH_NOT_FOUND when there is none, ATH_INVALID, naming the key,
 * when it does not hold what it should. */
ath_status ath_manifest_read(const char *folder, ath_manifest *out) ATH_MUST_CHECK;
ath_status ath_manifest_write(const ath_manifest *self, const char *folder) ATH_MUST_CHECK;
void ath_manifest_free(ath_manifest *self);

/* ATH_MISMATCH naming the first place where two recipes differ, with both values. */
ath_status ath_recipe_compare(const json_t *there, const json_t *now) ATH_MUST_CHECK;

/* A whole JSON file, duplicate keys refused; and an atomic write of one. */
ath_status ath_json_read(const char *path, json_t **out) ATH_MUST_CHECK;
ath_status ath_json_write(const char *path, const json_t *root) ATH_MUST_CHECK;

#endif
