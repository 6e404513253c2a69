/* vocabulary.h: tokens and their ids, both ways. Ids need not be dense; a token is any bytes, none
 * included. Built once, then read-only. */
#ifndef ATHANOR_TOKENIZERS_VOCABULARY_H
#define ATHANOR_TOKENIZERS_VOCABULARY_H

#include "tokenizers/json_rows.h"
#include "tokenizers/pipeline.h"

typedef struct ath_vocabulary_entry {
  const char *bytes; /* NUL-terminated, though it may hold NULs */
  uint32_t length;
  int32_t id;
} ath_vocabulary_entry;

/* Open addressing; half of the slots are free at least. */
typedef struct ath_vocabulary_slot {
  uint32_t hash;
  uint32_t entry; /* its number and 1; 0: free */
} ath_vocabulary_slot;

typedef struct ath_vocabulary {
  ath_arena *arena;
  ath_vocabulary_entry *entries; /* as they were added */
  uint32_t count, capacity;
  int32_t size; /* one past the largest id */
  ath_vocabulary_slot *slots;
  uint32_t mask;
  uint32_t *by_id; /* number of the entry and 1; 0: the id has no token */
} ath_vocabulary;

/* An empty vocabulary with room for `count` tokens whose ids are below `size`; both are at most
 * ATH_VOCAB_SIZE_MAX. */
ath_status ath_vocabulary_init(ath_vocabulary *self, ath_arena *arena, size_t count, int32_t size)
    ATH_MUST_CHECK;

/* Adds a token, whose bytes must live as long as the vocabulary. False when the token or the id is
 * there already: then *other is the entry that stands in the way, and nothing is added. */
bool ath_vocabulary_add(ath_vocabulary *self, const char *bytes, size_t length, int32_t id,
                        const ath_vocabulary_entry **other);

/* The id of a token, or −1; the entry of an id, or NULL. */
int32_t ath_vocabulary_id(const ath_vocabulary *self, const char *bytes, size_t length);
const ath_vocabulary_entry *ath_vocabulary_entry_of(const ath_vocabulary *self, int32_t id);

/* Looks up many tokens at once, some dozens best, which takes less time than one after another. */
typedef struct ath_vocabulary_query {
  const char *bytes;
  uint32_t length;
  uint32_t hash; /* scratch */
  int32_t id;    /* the answer, or −1 */
} ath_vocabulary_query;
void ath_vocabulary_find_all(const ath_vocabulary *self, ath_vocabulary_query *queries,
                             size_t count);

/* Reads {"a": 0, "b": 1} and copies its tokens into the arena. */
ath_status ath_vocabulary_read(const ath_json *json, ath_arena *arena, ath_vocabulary *out)
    ATH_MUST_CHECK;
/* The same of rows that are open. */
ath_status ath_vocabulary_read_rows(ath_json_rows *rows, ath_arena *arena, ath_vocabulary *out)
    ATH_MUST_CHECK;
/* Writes the member "vocab", by ascending id. */
void ath_vocabulary_write(const ath_vocabulary *self, ath_json_writer *out);

/* What a model kind wants of a vocabulary that is the first member of its data. */
int32_t ath_vocabulary_kind_size(const void *data);
int32_t ath_vocabulary_kind_id(const void *data, const char *token, size_t length);
const char *ath_vocabulary_kind_token(const void *data, int32_t id, size_t *length);

/* Finds the tokens that stand for single bytes, "<0x00>" … "<0xFF>", in any model. */
void ath_byte_tokens_find(int32_t (*id)(const void *, const char *, size_t), const void *data,
                          int32_t ids[256]);

#endif
