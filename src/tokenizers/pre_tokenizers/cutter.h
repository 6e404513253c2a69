/* cutter.h: what becomes of the places that a pattern matches: the five behaviours.
 *
 *   a--b-  cut at "-":  removed               a  b
 *                       isolated              a  -  -  b  -
 *                       merged with previous  a-  -  b-
 *                       merged with next      a  -  -b  -
 *                       contiguous            a  --  b  -
 *
 * A cutter is told of all parts of a text from left to right, matched or not, and hands the words
 * to the next step as soon as they are complete. */
#ifndef ATHANOR_TOKENIZERS_PRE_TOKENIZERS_CUTTER_H
#define ATHANOR_TOKENIZERS_PRE_TOKENIZERS_CUTTER_H

#include "tokenizers/pipeline.h"

typedef enum ath_behavior {
  ATH_REMOVED, ATH_ISOLATED, ATH_MERGED_WITH_PREVIOUS, ATH_MERGED_WITH_NEXT, ATH_CONTIGUOUS,
  ATH_BEHAVIOR_COUNT
} ath_behavior;

/* By the names that tokenizer.json uses: "Removed", "MergedWithPrevious", … */
ath_status ath_behavior_read(const ath_json *json, ath_behavior *out) ATH_MUST_CHECK;
void ath_behavior_write(ath_behavior self, const char *key, ath_json_writer *out);

typedef struct ath_cutter {
  ath_run *run;
  const ath_text *text;
  ath_sink next;
  ath_behavior behavior;
  size_t start, end; /* a word that may still grow; start == end: none */
  bool matched;      /* whether that word is a match */
} ath_cutter;

ath_cutter ath_cutter_begin(ath_run *run, const ath_text *text, ath_behavior behavior,
                            ath_sink next);
/* The part [from, to) comes right after the last one. An empty part is passed over. Parts that are
 * no match are told of in one piece, not two in a row. */
ath_status ath_cutter_add(ath_cutter *self, size_t from, size_t to, bool match) ATH_MUST_CHECK;
ath_status ath_cutter_end(ath_cutter *self) ATH_MUST_CHECK;

/* Cuts at single characters: each for which `matches` holds is a match of its own. It must not hold
 * for ASCII letters. */
ath_status ath_cut_at(bool (*matches)(uint32_t character), ath_behavior behavior, ath_run *run,
                      const ath_text *text, ath_sink next) ATH_MUST_CHECK;

/* For kinds whose words lie in the text, as they stand. */
bool ath_needs_no_origins(const void *data);

#endif
