/* sentencepiece.h: Unigram and BPE out of SentencePiece's models. */
#ifndef ATHANOR_TOKENIZERS_FILES_SENTENCEPIECE_H
#define ATHANOR_TOKENIZERS_FILES_SENTENCEPIECE_H

#include <sentencepiece.pb-c.h> /* made of sentencepiece.proto */

#include "tokenizers/tokenizer.h"

/* Makes the parts of a tokenizer that gives the ids of SentencePiece's own encode. Control pieces
 * and the unknown one are special tokens, found in the text as everywhere else. */
ath_status ath_sentencepiece_read(const char *path, ath_tokenizer *self) ATH_MUST_CHECK;

/* --- for its files alone -------------------------------------------------------------------- */

#define ATH_SENTENCEPIECE_MARK "\xE2\x96\x81" /* "▁", for a space */
enum { ATH_SENTENCEPIECE_UNIGRAM = 1, ATH_SENTENCEPIECE_BPE = 2 };
enum { ATH_PIECE_NORMAL = 1, ATH_PIECE_UNKNOWN, ATH_PIECE_CONTROL, ATH_PIECE_USER_DEFINED };

typedef struct ath_sentencepiece {
  const char *path;
  const Sentencepiece__Model *message;
  ath_tokenizer *tokenizer;
  bool bpe;          /* not Unigram */
  size_t unknown;    /* the number of that piece */
  bool user_defined; /* there are pieces of that type */
  bool words_apart;  /* no piece goes over the beginning of a word */
} ath_sentencepiece;

/* Whether unknown characters become bytes. */
static inline bool ath_sentencepiece_falls_back(const ath_sentencepiece *self) {
  return self->message->trainer_spec != NULL && self->message->trainer_spec->byte_fallback;
}

/* Writes all parts but the model, as tokenizer.json has them (sentencepiece_pipeline.c). */
ath_status ath_sentencepiece_put_pipeline(const ath_sentencepiece *self, ath_json_writer *out)
    ATH_MUST_CHECK;

#endif
