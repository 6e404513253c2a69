/* alphabet.c: characters counted in a table of all code points. */
#include "tokenizers/trainers/alphabet.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizers/characters.h"
#include "tokenizers/pipeline.h"

void ath_alphabet_free(ath_alphabet *self) {
  free(self->kept);
  free(self->inner);
  *self = (ath_alphabet){0};
}

static void count_characters(const ath_word_list *words, uint64_t *counts, ath_alphabet *out) {
  for (size_t w = 0; w < words->count; w++) {
    const char *word = words->text + words->starts[w];
    for (size_t at = 0; word[at] != '\0'; at += ath_character_length(word[at])) {
      uint32_t character = ath_character_at(word, at);
      counts[character] += words->counts[w];
      if (at > 0) out->inner[character] = true;
    }
  }
}

typedef struct counted {
  uint64_t count;
  uint32_t character;
} counted;

static int by_count(const void *left, const void *right) {
  const counted *a = left, *b = right;
  if (a->count != b->count) return a->count > b->count ? -1 : 1;
  return a->character < b->character ? -1 : a->character > b->character;
}

/* Keeps the first `limit` of the characters that were counted. */
static ath_status keep(const uint64_t *counts, size_t limit, ath_alphabet *out) {
  counted *all = malloc(ATH_CHARACTERS * sizeof *all);
  if (all == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for an alphabet");
  size_t count = 0;
  for (uint32_t c = 0; c < ATH_CHARACTERS; c++)
    if (counts[c] > 0) all[count++] = (counted){counts[c], c};
  qsort(all, count, sizeof *all, by_count);
  out->count = limit > 0 && limit < count ? limit : count;
  for (size_t i = 0; i < out->count; i++) out->kept[all[i].character] = true;
  free(all);
  return ATH_OK;
}

ath_status ath_alphabet_find(const ath_word_list *words, const char *initial, size_t limit,
                             ath_alphabet *out) {
  *out = (ath_alphabet){.kept = calloc(ATH_CHARACTERS, sizeof *out->kept),
                        .inner = calloc(ATH_CHARACTERS, sizeof *out->inner)};
  uint64_t *counts = calloc(ATH_CHARACTERS, sizeof *counts);
  ath_status status = ATH_OK;
  if (out->kept == NULL || out->inner == NULL || counts == NULL) {
    status = ath_fail(ATH_NO_MEMORY, "no memory for an alphabet");
  } else {
    count_characters(words, counts, out);
    for (size_t at = 0; initial != NULL && initial[at] != '\0';
         at += ath_character_length(initial[at]))
      counts[ath_character_at(initial, at)] = UINT64_MAX;
    status = keep(counts, limit, out);
  }
  free(counts);
  if (status != ATH_OK) ath_alphabet_free(out);
  return status;
}
