/* tokenizer.h: text to ids and back, by the pipeline that `tokenizer.json` describes:
 * added tokens, normaliser, pre-tokeniser, model, post-processor; and a decoder.
 *
 * A tokenizer is read-only once made: any number of threads may encode with it at the same time,
 * each with an ath_encoding of its own. Ids, tokens and offsets equal those of the `tokenizers`
 * library reading the same file. Text is UTF-8; bytes that are not are refused with their place, or
 * replaced if the caller asks for that.
 *
 * Example
 *
 *     ath_status count_tokens(const char *folder, const char *text, size_t *count) {
 *       ath_tokenizer *tokenizer = NULL;
 *       ATH_TRY(ath_tokenizer_load(folder, &tokenizer));
 *       ath_encoding encoding = {0};
 *       ath_status status = ath_tokenizer_encode(tokenizer, text, strlen(text),
 *                                                ATH_ENCODE_SPECIAL, &encoding);
 *       *count = encoding.length;
 *       ath_encoding_free(&encoding);
 *       ath_tokenizer_destroy(tokenizer);
 *       return status;
 *     }
 *
 *     // A question with each stretch of a long document, in windows of 384 tokens.
 *     ath_status print_windows(ath_tokenizer *tokenizer, const char *question,
 *                              const char *document) {
 *       ath_truncation truncation = {.max_length = 384, .stride = 128,
 *                                    .strategy = ATH_TRUNCATE_ONLY_SECOND};
 *       ath_padding padding = {.length = 384, .id = 0, .token = "[PAD]"};
 *       ATH_TRY(ath_tokenizer_set_truncation(tokenizer, &truncation));
 *       ATH_TRY(ath_tokenizer_set_padding(tokenizer, &padding));
 *       ath_encoding encoding = {0};
 *       ath_status status = ath_tokenizer_encode_pair(
 *           tokenizer, question, strlen(question), document, strlen(document),
 *           ATH_ENCODE_SPECIAL | ATH_ENCODE_TYPES | ATH_ENCODE_MASKS | ATH_ENCODE_TRUNCATE |
 *               ATH_ENCODE_WINDOWS, &encoding);
 *       if (status == ATH_OK) status = ath_tokenizer_pad(tokenizer, &encoding, 1);
 *       for (size_t w = 0, i = 0; w < encoding.window_count; w++, puts(""))
 *         for (; i < encoding.window_ends[w]; i++)
 *           printf("%d/%d/%d ", encoding.ids[i], encoding.types[i], encoding.attention[i]);
 *       ath_encoding_free(&encoding);
 *       return status;
 *     }
 */
#ifndef ATHANOR_TOKENIZER_H
#define ATHANOR_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/documents.h"
#include "athanor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ath_tokenizer ath_tokenizer;

/* Reads a `tokenizer.json`, or the one in a folder (with its tokenizer_config.json and
 * special_tokens_map.json, where they are). Where there is none, other files will do, by their
 * names: a SentencePiece model or tiktoken's ranks (*.model, *.tiktoken), BERT's vocab.txt, or a
 * folder with one of these or with vocab.json and merges.txt. ATH_NOT_FOUND, ATH_INVALID for what
 * does not make a tokenizer, ATH_UNSUPPORTED for a component that this version lacks; the text
 * names the file and the path inside the JSON. Oddities that change nothing are warned of in the
 * log. */
ath_status ath_tokenizer_load(const char *path, ath_tokenizer **out) ATH_MUST_CHECK;
void ath_tokenizer_destroy(ath_tokenizer *self); /* NULL is allowed */

/* Writes tokenizer.json, tokenizer_config.json and special_tokens_map.json into a folder, which
 * is made if missing. The same arguments always give the same bytes. `model_max_length` is the most
 * tokens that the model beside it takes, specials included, to which other programs then cut; 0:
 * not known. */
ath_status ath_tokenizer_save(const ath_tokenizer *self, const char *folder,
                              int64_t model_max_length) ATH_MUST_CHECK;

/* SHA-256 of the bytes of tokenizer.json as ath_tokenizer_save writes it, as 64 hex digits: the
 * identity that shards and models record. Computed at the first call, which takes about as long as
 * loading did; any thread may call. Owned by the tokenizer. NULL, with the failure text set, when
 * memory ran out. */
const char *ath_tokenizer_hash(const ath_tokenizer *self);

/* One past the largest id, added tokens included: the rows an embedding needs. */
int32_t ath_tokenizer_size(const ath_tokenizer *self);

/* The token of an id, NULL if there is none (owned by the tokenizer); the id of a token, or −1. */
const char *ath_tokenizer_token(const ath_tokenizer *self, int32_t id);
int32_t ath_tokenizer_id(const ath_tokenizer *self, const char *token);

/* Special tokens by role, as tokenizer_config.json and special_tokens_map.json name them; without
 * those files by the usual spellings ([CLS], <s>, …). −1 when the tokenizer has none. */
typedef enum ath_token_role {
  ATH_TOKEN_CLS, ATH_TOKEN_SEP, ATH_TOKEN_UNK, ATH_TOKEN_PAD, ATH_TOKEN_MASK,
  ATH_TOKEN_ROLE_COUNT
} ath_token_role;
int32_t ath_tokenizer_special(const ath_tokenizer *self, ath_token_role role);
/* Whether an id is a special token of any role, or an added token marked special. */
int ath_tokenizer_is_special(const ath_tokenizer *self, int32_t id);

/* The parts of the pipeline, in the order in which text goes through them; a decoder at last. */
typedef enum ath_tokenizer_part {
  ATH_PART_NORMALIZER, ATH_PART_PRE_TOKENIZER, ATH_PART_MODEL, ATH_PART_POST_PROCESSOR,
  ATH_PART_DECODER, ATH_PART_COUNT
} ath_tokenizer_part;
/* Appends a part's kind as its "type" in tokenizer.json, for a sequence with those in it, in their
 * order: "Sequence (NFC, Lowercase)"; "none" for a part that is not there. */
struct ath_buffer; /* base/buffer.h */
ath_status ath_tokenizer_describe(const ath_tokenizer *self, ath_tokenizer_part part,
                                  struct ath_buffer *out) ATH_MUST_CHECK;

/* What encoding gives. The arrays are reused by the next encode into the same object and grow as
 * needed; start with {0}. Those that no flag asked for hold nothing of use. Offsets count Unicode
 * code points of the input, half-open; special tokens and padding have (0, 0). */
typedef struct ath_encoding {
  size_t length; /* of every array below: the tokens, of all windows together */
  int32_t *ids;
  uint32_t *starts, *ends;      /* ATH_ENCODE_OFFSETS */
  int32_t *types;               /* ATH_ENCODE_TYPES: the segment, as the post-processor has it */
  int8_t *sequences;            /* ATH_ENCODE_SEQUENCES: 0 or 1, whose text the token is of; −1:
                                 * a token of the post-processor, or padding */
  int32_t *words;               /* ATH_ENCODE_WORDS: the number, from 0 in each text, of the word
                                 * that the pre-tokeniser cut or of the added token; −1: none */
  uint8_t *special, *attention; /* ATH_ENCODE_MASKS: 1 for tokens of the post-processor and padding
                                 * (a special token typed in the text has 0); 0 for padding */
  size_t window_count;          /* 1, but with ATH_ENCODE_WINDOWS */
  size_t *window_ends;          /* where in the arrays each window ends */
  size_t capacity;
  void *workspace; /* of the encoder; private */
} ath_encoding;
void ath_encoding_free(ath_encoding *self);

enum {
  ATH_ENCODE_SPECIAL = 1, /* let the post-processor add [CLS], [SEP] */
  ATH_ENCODE_OFFSETS = 2, /* fill starts and ends */
  ATH_ENCODE_TOKENS = 4,  /* note the text of each token, for ath_encoding_token */
  ATH_ENCODE_TYPES = 8,
  ATH_ENCODE_SEQUENCES = 16,
  ATH_ENCODE_WORDS = 32,
  ATH_ENCODE_MASKS = 64,
  ATH_ENCODE_TRUNCATE = 128, /* cut as the tokenizer's truncation says */
  ATH_ENCODE_WINDOWS = 256,  /* with ATH_ENCODE_TRUNCATE: what is cut off follows in windows */
  ATH_ENCODE_REPAIR = 512,   /* replace malformed bytes by U+FFFD instead of refusing them */
};

/* Encodes `length` bytes of text, at most 1 GiB. ATH_INVALID, with the byte's offset, for text that
 * is not UTF-8, and for a character that needs an unknown token where the model has none. Nothing
 * is allocated once the encoding's arrays are large enough. After a failure `out` is empty.
 *
 * With ATH_ENCODE_REPAIR each longest part of a sequence that could still have become well-formed,
 * or else each single byte, becomes one U+FFFD, as in the WHATWG Encoding Standard's decoder (and
 * Python's errors="replace"). Offsets then count the code points of the text as repaired, where
 * each U+FFFD is one.
 *
 * Truncation and padding are the caller's to ask for, also those that tokenizer.json came with:
 * without ATH_ENCODE_TRUNCATE and ath_tokenizer_pad a text gives all its tokens and no more. */
ath_status ath_tokenizer_encode(const ath_tokenizer *self, const char *text, size_t length,
                                unsigned flags, ath_encoding *out) ATH_MUST_CHECK;
/* The same for two texts in one encoding: [CLS] first [SEP] second [SEP]. Offsets and word numbers
 * count in each text alone. */
ath_status ath_tokenizer_encode_pair(const ath_tokenizer *self, const char *first,
                                     size_t first_length, const char *second,
                                     size_t second_length, unsigned flags,
                                     ath_encoding *out) ATH_MUST_CHECK;

/* --- truncation and padding ---------------------------------------------------------------- */

typedef enum ath_truncation_strategy {
  ATH_TRUNCATE_LONGEST_FIRST, /* the longer text of a pair, then both */
  ATH_TRUNCATE_ONLY_FIRST, ATH_TRUNCATE_ONLY_SECOND
} ath_truncation_strategy;

typedef enum ath_side { ATH_RIGHT, ATH_LEFT } ath_side;

typedef struct ath_truncation {
  size_t max_length; /* tokens, specials included */
  size_t stride;     /* tokens that two windows in turn share */
  ath_truncation_strategy strategy;
  ath_side side;     /* where tokens are cut off; windows then begin at the other side */
} ath_truncation;

typedef struct ath_padding {
  size_t length;   /* to fill up to; 0: to the longest that is padded together */
  size_t multiple; /* … rounded up to a multiple of this; 0: of 1 */
  ath_side side;   /* where tokens are added */
  int32_t id, type_id;
  const char *token; /* what they show, NUL-terminated UTF-8; copied */
} ath_padding;

/* Sets what ATH_ENCODE_TRUNCATE and ath_tokenizer_pad do, and ath_tokenizer_save writes; NULL:
 * nothing. Not while another thread uses the tokenizer. ATH_INVALID, leaving what was set before,
 * for a max_length below the special tokens around one text, or a stride that reaches the room they
 * leave; the same for a pair is found when one is encoded, as is a text alone too long with
 * ATH_TRUNCATE_ONLY_FIRST or _SECOND. */
ath_status ath_tokenizer_set_truncation(ath_tokenizer *self,
                                        const ath_truncation *truncation) ATH_MUST_CHECK;
ath_status ath_tokenizer_set_padding(ath_tokenizer *self,
                                     const ath_padding *padding) ATH_MUST_CHECK;
/* What was set, by the calls above or by tokenizer.json; NULL: nothing. */
const ath_truncation *ath_tokenizer_truncation(const ath_tokenizer *self);
const ath_padding *ath_tokenizer_padding(const ath_tokenizer *self);

/* Fills up every window of `count` encodings, which this tokenizer made with the same flags, to the
 * length that its padding says. Does nothing when none is set; longer ones stay as they are. */
ath_status ath_tokenizer_pad(const ath_tokenizer *self, ath_encoding *encodings,
                             size_t count) ATH_MUST_CHECK;

/* --- back to text -------------------------------------------------------------------------- */

/* The text of one token of the last encoding, which was made with ATH_ENCODE_TOKENS by the same
 * tokenizer: the vocabulary's, but what the text has for an unknown piece or an added token that
 * took white space with it. Not NUL-terminated; valid until the next encode. */
const char *ath_encoding_token(const ath_encoding *self, const ath_tokenizer *tokenizer,
                               size_t index, size_t *length);

/* Appends the text of `ids[count]` to a buffer, leaving out special tokens if asked. ATH_INVALID
 * names an id that has no token. */
ath_status ath_tokenizer_decode(const ath_tokenizer *self, const int32_t *ids, size_t count,
                                int skip_special, struct ath_buffer *out) ATH_MUST_CHECK;

/* --- training ---------------------------------------------------------------------------- */

/* The limits of the options below. That of threads holds wherever a number of them is given. */
enum { ATH_VOCAB_SIZE_MIN = 6, ATH_VOCAB_SIZE_MAX = 1 << 24, ATH_SEED_SIZE_MAX = 14000000,
       ATH_THREADS_MAX = 1024, ATH_SPECIALS_MAX = 1024,
       ATH_TRAINING_MEMORY_MIN = 16 << 20 /* bytes */ };

/* What every trainer is told. */
typedef struct ath_training_options {
  int32_t vocab_size;     /* tokens in all, special ones included */
  /* Special tokens in the order of their ids, which begin with 0. Those of the model's own five
   * that are not named here come before these. */
  const char *const *special_tokens;
  size_t special_count;   /* at most ATH_SPECIALS_MAX with the model's own */
  size_t max_word_length; /* longer pre-tokens are cut, in code points: at most 65536 */
  uint64_t memory;        /* bytes that training may take, roughly: when the distinct words need
                           * more, the rarest are forgotten, which the log says */
  int threads;            /* 0: as many as OpenMP has; the result does not depend on it */
  const ath_reading *reading; /* how the files are read (documents.h); NULL: {0} */
} ath_training_options;

typedef struct ath_training_report {
  uint64_t bytes, lines;       /* read */
  uint64_t lines_skipped;      /* not used, each reported to the log with its reason */
  uint64_t distinct_words;
  int32_t vocab_size;          /* reached; below the wish when the corpus gives no more */
  double tokens_per_word;      /* on the training text */
} ath_training_report;

/* The trainers read files a document at a time: a line, if it is plain text, without its end.
 * ATH_INVALID for text that is not UTF-8, with its file, line and byte, for none at all, and for a
 * vocabulary too small for the alphabet, naming the least that will do; ATH_USAGE for options out
 * of range.
 * Counts have 64 bits. `report` may be NULL. */

typedef struct ath_unigram_options {
  ath_training_options common;
  double shrinking_factor;     /* share of the pieces that one pruning keeps: 0.75 */
  int sub_iterations;          /* EM rounds between prunings: 2 */
  size_t seed_size;            /* pieces to start from: 1,000,000 */
  int max_token_length;        /* code points of a piece: 16, at most 31 */
} ath_unigram_options;

/* The values of the reference library and vocab_size 8000. */
ath_unigram_options ath_unigram_defaults(void);

/* Trains a Unigram tokenizer (Kudo 2018): quotes normalised, Metaspace, special tokens [CLS] [SEP]
 * <unk> <pad> [MASK], template post-processor. Special tokens that the text spells are passed
 * over. */
ath_status ath_unigram_train(const char *const *paths, size_t path_count,
                             const ath_unigram_options *options, ath_tokenizer **out,
                             ath_training_report *report) ATH_MUST_CHECK;

typedef struct ath_bpe_options {
  ath_training_options common; /* of at most 2²⁰ tokens */
  uint64_t min_frequency;      /* a pair seen less often is not merged; 0 is as 1 */
  uint32_t max_token_length;   /* merged tokens of more than two bytes stay below it; 0: no limit */
} ath_bpe_options;

/* The values of the reference library: vocab_size 30000, min_frequency 0. */
ath_bpe_options ath_bpe_defaults(void);

/* Trains a byte-level BPE tokenizer (Sennrich et al. 2016; the bytes as in GPT-2) with the pipeline
 * of roberta-base and the special tokens <s> <pad> </s> <unk> <mask>. The merges are those of
 * `tokenizers` trained on the same texts, but where a word was cut. */
ath_status ath_bpe_train(const char *const *paths, size_t path_count,
                         const ath_bpe_options *options, ath_tokenizer **out,
                         ath_training_report *report) ATH_MUST_CHECK;

typedef struct ath_wordpiece_options {
  ath_training_options common;  /* of at most 2²⁰ tokens */
  uint64_t min_frequency;       /* as above */
  uint32_t max_token_length;    /* as above, in code points, without "##" */
  const char *initial_alphabet; /* characters that are tokens even if the text has none; or NULL */
  size_t limit_alphabet;        /* most characters to keep, the frequent ones; 0: all */
  int lowercase;                /* 1: text loses case and accents, as in bert-base-uncased */
} ath_wordpiece_options;

/* The values of the reference library, vocab_size 30000, lower case. */
ath_wordpiece_options ath_wordpiece_defaults(void);

/* Trains a WordPiece tokenizer with BERT's pipeline and the special tokens [PAD] [UNK] [CLS] [SEP]
 * [MASK]. Its pieces are found as those of BPE, whose order `tokenizers` has, with the alphabet's
 * characters and then their "##" forms by code point. The library numbers the latter in another
 * order at each run, and of equally frequent pairs it takes that of the least numbers: where no
 * numbers decide, the vocabularies are equal. Of equally frequent characters that
 * `limit_alphabet` does not spare, those of the least code points stay. Special tokens that the
 * text spells are passed over. */
ath_status ath_wordpiece_train(const char *const *paths, size_t path_count,
                               const ath_wordpiece_options *options, ath_tokenizer **out,
                               ath_training_report *report) ATH_MUST_CHECK;

typedef struct ath_wordlevel_options {
  ath_training_options common;
  uint64_t min_frequency; /* a word seen less often is no token */
  int lowercase;          /* as above */
} ath_wordlevel_options;

/* The values of the reference library, lower case. */
ath_wordlevel_options ath_wordlevel_defaults(void);

/* Trains a tokenizer whose tokens are whole words, the most frequent first and equally frequent
 * ones by their bytes, as in the reference; with the pipeline and special tokens of WordPiece. */
ath_status ath_wordlevel_train(const char *const *paths, size_t path_count,
                               const ath_wordlevel_options *options, ath_tokenizer **out,
                               ath_training_report *report) ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
