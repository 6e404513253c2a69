/* bpe.h: a BPE model as it is made: by reading tokenizer.json or other files, and by training. */
#ifndef ATHANOR_TOKENIZERS_BPE_H
#define ATHANOR_TOKENIZERS_BPE_H

#include "tokenizers/models/merged_tokens.h"
#include "tokenizers/models/vocabulary.h"

enum {
  ATH_BPE_AFFIX_MAX = 256, /* bytes of the prefix, and of the suffix */
  ATH_BPE_LETTERS = 0x800, /* code points of at most two bytes */
  ATH_BPE_WHOLE_MAX = 512, /* bytes of a token that a raw word may be as a whole */
};

typedef struct ath_bpe_text { /* a string of the file; `bytes` is NULL where it has null */
  const char *bytes;
  size_t length;
} ath_bpe_text;

typedef struct ath_bpe {
  ath_vocabulary vocabulary; /* the first member: the kind's functions look it up */
  ath_merges merges;
  ath_bpe_text unknown; /* the token of a character that the vocabulary lacks */
  ath_bpe_text prefix;  /* of a character that does not begin a word: "##" */
  ath_bpe_text suffix;  /* of one that ends it: "</w>" */
  bool fuse_unknown;    /* neighbouring unknown characters are one token */
  bool byte_fallback;   /* unknown characters become bytes, where there is a token for each */
  bool ignore_merges;   /* a word that is a token stays whole */
  bool has_dropout;     /* not null */
  double dropout;

  /* Made by ath_bpe_finish. */
  int32_t unknown_id;    /* −1: none */
  int32_t byte_ids[256]; /* of "<0x00>" … "<0xFF>" */
  const int32_t *letters[4]; /* by code point; with the prefix (1), with the suffix (2) */
  const int32_t *bytes[4];   /* of the letters that stand for bytes, likewise */
  bool takes_bytes;          /* none of them is missing */
  bool cuts_at_mark;         /* words may be cut before "▁" … */
  bool joins_mark[256];      /* … but after these bytes */
  ath_merged_lazy *merged;   /* for words of bytes */
} ath_bpe;

/* An empty model without unknown token; the caller fills in the vocabulary (whose size is at most
 * ATH_MERGE_IDS_MAX) and the merges, and then finishes it. */
ath_status ath_bpe_create(ath_arena *arena, ath_bpe **out) ATH_MUST_CHECK;

ath_status ath_bpe_finish(ath_bpe *self) ATH_MUST_CHECK;

/* Encodes words (bpe_encode.c). */
ath_status ath_bpe_encode(const void *data, ath_run *run, const ath_text *word) ATH_MUST_CHECK;
ath_status ath_bpe_encode_words(const void *data, ath_run *run, const ath_words *words)
    ATH_MUST_CHECK;

#endif
