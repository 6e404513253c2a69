/* token_list.h: the tokens of a vocabulary in the making: their texts, by which a token that comes
 * about in two ways is known for one, and their lengths in characters. */
#ifndef ATHANOR_TOKENIZERS_TOKEN_LIST_H
#define ATHANOR_TOKENIZERS_TOKEN_LIST_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/hash_map.h"

typedef struct ath_token_list {
  ath_hash_map *ids;
  ath_buffer text;      /* token i is the bytes starts[i] … starts[i + 1] − 1 */
  size_t *starts;
  uint32_t *characters; /* of each token, its prefix not counted */
  int32_t count;
  size_t capacity;
} ath_token_list;

ath_status ath_token_list_init(ath_token_list *self) ATH_MUST_CHECK; /* free it also on failure */
void ath_token_list_free(ath_token_list *self);

const char *ath_token_list_text(const ath_token_list *self, int32_t id, size_t *length);

/* Adds a token of so many characters, or finds the one that has its text. */
ath_status ath_token_list_add(ath_token_list *self, const char *bytes, size_t length,
                              uint32_t characters, int32_t *id) ATH_MUST_CHECK;
/* The token of two others' texts, the second's without its prefix. */
ath_status ath_token_list_join(ath_token_list *self, int32_t left, int32_t right,
                               const char *prefix, int32_t *id) ATH_MUST_CHECK;

#endif
