/* dataset.h: from text files to shards of fixed-length records, and from shards to batches for
 * masked language modelling.
 *
 * A prepared folder holds `dataset-<index>-<records>.tfrecord` files (tf.train.Example records
 * with the int64 lists input_ids and attention_mask) and `manifest.json`. The order of the records
 * in an epoch is a keyed permutation, evaluated in O(1) at any point: a global shuffle without a
 * buffer, and an exact resume without re-reading.
 *
 * Example
 *
 *     ath_status first_batch(const char *folder, const ath_tokenizer *tokenizer) {
 *       ath_dataset *data = NULL;
 *       ath_batcher *batcher = NULL;
 *       ATH_TRY(ath_dataset_open(folder, &data));
 *       ath_batch_options options = ath_batch_defaults(tokenizer);
 *       options.batch_size = 32;
 *       const ath_batch *batch = NULL;
 *       ath_status status = ath_batcher_create(data, &options, &batcher);
 *       if (status == ATH_OK) status = ath_batcher_next(batcher, &batch);
 *       if (status == ATH_OK) printf("%lld masked positions\n", (long long)batch->scored);
 *       ath_batcher_destroy(batcher);
 *       ath_dataset_close(data);
 *       return status;
 *     }
 */
#ifndef ATHANOR_DATASET_H
#define ATHANOR_DATASET_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "athanor/documents.h"
#include "athanor/status.h"
#include "athanor/tfrecord.h"
#include "athanor/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- preparing --------------------------------------------------------------------------- */

/* What decides which lines are held out: their number in the text, or their own bytes. By text a
 * line's split is the same in any other text, order and selection, and equal lines share one. */
typedef enum ath_validation_by {
  ATH_VALIDATION_BY_LINE, ATH_VALIDATION_BY_TEXT
} ath_validation_by;

/* Which lines are left out for an earlier one's sake: those of the same text, white space around it
 * aside; or those that are like it (near_similarity), which takes in the former. A line without any
 * word is like those of its own text alone. */
typedef enum ath_deduplicate {
  ATH_DEDUPLICATE_NONE, ATH_DEDUPLICATE_EXACT, ATH_DEDUPLICATE_NEAR
} ath_deduplicate;

/* Who else prepares the same dataset, on this machine or others that see the same folders. */
enum { ATH_WORKER_ALONE = 0, ATH_WORKER_MERGE = -1, ATH_WORKERS_MAX = 1 << 16 };

typedef struct ath_prepare_options {
  const char *const *inputs;    /* files; the query itself, where the reading is one of SQL */
  size_t input_count;
  ath_reading reading;          /* how they are (documents.h); {0}: lines of text, rows of tables */
  const char *output;           /* folder; gets train/ and validation/ */
  int max_length;               /* tokens per record */
  double validation_split_percentage; /* 0 … 100, of the lines, chosen at random: */
  ath_validation_by validation_by;    /* … which follows from the seed and this */
  uint64_t shard_records;       /* records per shard; 0 when shard_bytes is given */
  uint64_t shard_bytes;         /* about so many bytes per shard; 0 when shard_records is given */
  ath_compression compression;  /* of the shards; auto is none. Training unpacks what it opens */
  bool keep_blank_lines;        /* blank lines become "[CLS][SEP]", as in the reference's script */
  int threads;                  /* 0: as many as OpenMP has; the result does not depend on it */
  uint64_t seed;                /* of the choice of validation lines */
  ath_deduplicate deduplicate;
  double near_similarity;       /* 0.7 … 1: five-word shingles in both, of those in either */
  uint64_t deduplicate_memory;  /* about so many bytes; the result does not depend on it */
  int workers;                  /* a job array: so many of them, or one of ATH_WORKER_… */
  int worker;                   /* … of which this is number 0 … workers − 1 */
  bool overwrite;               /* removes another dataset that is in the output folder */
  const volatile sig_atomic_t *stop; /* set by a signal handler: stop at the next few MB; or NULL */
} ath_prepare_options;
ath_prepare_options ath_prepare_defaults(void);

typedef struct ath_prepare_report {
  uint64_t lines, bytes, tokens; /* lines: documents, of whatever kind */
  uint64_t skipped;             /* documents left out for errors, where the reading asks for that */
  uint64_t duplicates;          /* lines left out since an earlier one is like them */
  uint64_t train_records, validation_records, train_shards, validation_shards;
  uint64_t tokens_dropped;      /* at most max_length − 1 per split */
  uint64_t shards_kept;         /* found complete from an interrupted run */
  bool unfinished;              /* other workers are still at work; all counts are 0 but … */
  uint64_t pieces_missing;      /* … of pieces of the text that they have to encode */
  int process;                  /* number of this process under mpirun; of one alone 0 */
} ath_prepare_report;

/* Encodes lines ("[CLS] … [SEP]" each), joins them and cuts records of exactly max_length; the
 * remainder is carried on. Memory does not grow with the input. An interrupted run, started again
 * with the same options, continues after its last complete shard; a finished one is kept as it is,
 * with a warning in the log when an input, of the same size, is newer.
 *
 * Several processes share the work, started by mpirun (or srun --mpi=pmix), or as the workers of a
 * job array, at the same time or one after another, with the same options. Each encodes pieces of
 * the text, which depend on the text alone, into OUTPUT/pieces; when all are there it is known what
 * comes before each, and shards are cut from them: under mpirun by all, of a job array by the
 * worker that finishes last, or by one started with ATH_WORKER_MERGE. The files are those of one
 * process alone, byte by byte. It takes room on the disk for two or four bytes a token meanwhile.
 * Lines are freed of duplicates in the same way. Shards of so many bytes are cut by one thread for
 * each split, since where one begins follows from all before it; shards of so many records by all.
 *
 * ATH_INTERRUPTED when `stop` was set: complete shards are kept.
 * ATH_MISMATCH when the output folder holds a dataset made otherwise: the text says what differs.
 * ATH_INVALID for text too short for a record in every split. `report` may be NULL. */
ath_status ath_prepare(const ath_tokenizer *tokenizer, const ath_prepare_options *options,
                       ath_prepare_report *report) ATH_MUST_CHECK;

/* --- reading ----------------------------------------------------------------------------- */

typedef struct ath_dataset ath_dataset;

/* Opens a folder of shards: checks the manifest's list and totals against the files' names and
 * sizes, and builds the index of records (kept beside the shards as `index.bin`). Without a
 * manifest (shards written by other tools) the record length is taken from the first record.
 * Errors name file, record and byte. */
ath_status ath_dataset_open(const char *folder, ath_dataset **out) ATH_MUST_CHECK;
void ath_dataset_close(ath_dataset *self); /* NULL is allowed */

uint64_t ath_dataset_size(const ath_dataset *self);   /* records */
int ath_dataset_length(const ath_dataset *self);      /* tokens per record */
/* The tokenizer's hash from the manifest, or NULL without a manifest. */
const char *ath_dataset_tokenizer_hash(const ath_dataset *self);
/* ATH_MISMATCH when the shards were made with another tokenizer, with both hashes; ids of a
 * dataset without a manifest are checked when read. */
ath_status ath_dataset_check_tokenizer(const ath_dataset *self, const ath_tokenizer *tokenizer)
    ATH_MUST_CHECK;

/* Reads record `index`, below the size, into ids[length] and mask[length], verifying its checksum
 * (ATH_CORRUPT, naming file, record and byte). Thread-safe. */
ath_status ath_dataset_read(const ath_dataset *self, uint64_t index, int32_t *ids, int32_t *mask)
    ATH_MUST_CHECK;
/* Reads every record and verifies every checksum; the failure names the place. */
ath_status ath_dataset_verify(const ath_dataset *self) ATH_MUST_CHECK;

/* --- batches ----------------------------------------------------------------------------- */

typedef struct ath_batch_options {
  int batch_size;
  bool shuffle;                /* false: file order, for evaluation */
  bool fixed_masks;            /* masks of epoch 0 in every epoch, for evaluation */
  uint64_t seed;               /* of order and masks */
  double mlm_probability;      /* 0.15 */
  double mask_replace_prob;    /* 0.8: of the chosen, replaced by [MASK] */
  double random_replace_prob;  /* 0.1: of the chosen, replaced by a random ordinary token */
  int32_t vocab_size;          /* ids at or above it are refused */
  int32_t mask_id, pad_id;
  const ath_tokenizer *tokenizer; /* says which ids are special, never chosen and never drawn … */
  const uint8_t *special;         /* … or this table [vocab_size] does, where it is not NULL */
  int groups;                  /* equal parts of a batch's rows, see there; 1 (or 0): the whole */
  int first_group, group_count; /* a process's share of the groups; a count of 0: all of them */
  int positions;               /* K, places for chosen positions; 0: from ath_batch_positions */
} ath_batch_options;
/* Ids from the tokenizer, which must outlive the batcher; the usual probabilities, batch_size 8 in
 * one group, seed 42, shuffle on. */
ath_batch_options ath_batch_defaults(const ath_tokenizer *tokenizer);

/* K for a batch of `batch_size` x `length` tokens. A group's share: mean + 6 deviations of the
 * count of its chosen positions, rounded up to 8, at most all of them. */
int ath_batch_positions(int batch_size, int length, double mlm_probability, int groups);

/* One batch, in the layout the model's inputs take. Rows past `samples` are padding: pad_id,
 * mask 0.
 *
 * Group g of G has the rows from g * batch_size / G and the places from g * K / G: its chosen
 * positions in ascending order, then places with weight 0, label 0 and the position of the group's
 * first token. So where devices share a batch each finds its chosen tokens in its own rows. What a
 * batch holds does not depend on G, but for what does not fit into a group's places.
 *
 * With a share of the groups only their rows are read and only their rows and places are there,
 * bitwise as in the whole batch: number, epoch, samples and positions are those of the whole batch,
 * everything else is the share's. */
typedef struct ath_batch {
  uint64_t number;        /* counted from the start of training, over all epochs */
  uint32_t epoch;
  int samples;            /* real rows; less than batch_size only at the end of an epoch */
  int64_t scored;         /* real entries of positions, labels, weights, of all groups */
  int64_t tokens;         /* attended tokens, for throughput */
  int64_t unscored;       /* chosen positions that found no place and were left unmasked */
  int32_t *input_ids;      /* [rows, length], masks applied; all of batch_size or the share's */
  int32_t *attention_mask; /* [rows, length] */
  int32_t *positions;      /* [K]: row * length + column */
  int32_t *labels;         /* [K]: the original ids */
  float *weights;          /* [K]: 1 or 0 */
} ath_batch;

typedef struct ath_batcher ath_batcher;

/* Epochs are counted in 16 bits of the random numbers' counter. */
enum { ATH_EPOCHS_MAX = 1 << 16 };

/* Starts a thread that prepares batches ahead. A dataset smaller than one batch gives one padded
 * batch per epoch. The dataset must outlive the batcher, which belongs to one thread at a time.
 * ATH_INVALID for options out of range and for a tokenizer without a mask or padding token. */
ath_status ath_batcher_create(const ath_dataset *data, const ath_batch_options *options,
                              ath_batcher **out) ATH_MUST_CHECK;
void ath_batcher_destroy(ath_batcher *self); /* NULL is allowed */
uint64_t ath_batcher_per_epoch(const ath_batcher *self); /* batches, the padded last included */
/* Makes `number` the next batch, in O(1). */
ath_status ath_batcher_seek(ath_batcher *self, uint64_t number) ATH_MUST_CHECK;
/* The next batch, epochs following one another without end; valid until the next call. A record
 * that cannot be read, or has an id outside the vocabulary, fails here when its turn comes, and at
 * every later call until a seek. */
ath_status ath_batcher_next(ath_batcher *self, const ath_batch **out) ATH_MUST_CHECK;

/* The masking itself (Devlin et al. 2019), for one record: each attended, ordinary position is
 * chosen with mlm_probability; a chosen one becomes [MASK], a random ordinary token, or stays.
 * Depends only on (seed, epoch, sample). Changes ids[length] in place, writes the chosen columns
 * (ascending) and their original ids, and returns how many there are. Ids must be below
 * vocab_size, length at most 65,536. */
int ath_mask_tokens(const ath_batch_options *options, uint32_t epoch, uint64_t sample,
                    int32_t *ids, const int32_t *mask, int length, int32_t *columns,
                    int32_t *labels);

#ifdef __cplusplus
}
#endif

#endif
