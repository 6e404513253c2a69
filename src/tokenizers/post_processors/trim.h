/* trim.h: offsets without the white space that byte-level tokens begin and end with. */
#ifndef ATHANOR_TOKENIZERS_POST_PROCESSORS_TRIM_H
#define ATHANOR_TOKENIZERS_POST_PROCESSORS_TRIM_H

#include "tokenizers/pipeline.h"

/* Adds the trimming to what happens to each text of a layout; ATH_UNSUPPORTED when there are
 * ATH_TRIMS_MAX already. */
ath_status ath_layout_add_trim(ath_layout *layout, bool prefix) ATH_MUST_CHECK;

/* How many characters of white space a token begins and ends with. */
typedef struct ath_margins {
  uint32_t before, after;
} ath_margins;
ath_margins ath_token_margins(const char *bytes, size_t length);

/* The offsets of one token after the trimming. `index` counts from the text's first token. */
void ath_trim_offsets(const ath_trim *self, ath_margins margins, size_t index, uint32_t *start,
                      uint32_t *end);

#endif
