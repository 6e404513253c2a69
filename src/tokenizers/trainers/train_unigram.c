/* train_unigram.c: the Unigram language model of Kudo (ACL 2018, "Subword Regularization"): many
 * seed pieces, expectation maximisation, and pruning of those whose loss hurts least, with the
 * constants of SentencePiece and `tokenizers`. */
#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/memory.h"
#include "tokenizers/trainers/build.h"
#include "tokenizers/trainers/lattice.h"
#include "tokenizers/trainers/suffix_pieces.h"
#include "tokenizers/trainers/word_count.h"

/* A piece expected less often than this is dropped by the M step. */
static const double LEAST_EXPECTED = 0.5;
/* Pruning stops at this multiple of the wished size; the best of the rest are then taken. */
static const double PRUNE_MARGIN = 1.1;

enum { PRUNINGS_MAX = 1000 };

/* Memory for each byte of the distinct words: the suffix array, then the lattice's edges. */
enum { BYTES_PER_LETTER = 50 };

ath_unigram_options ath_unigram_defaults(void) {
  return (ath_unigram_options){
      .common = {.vocab_size = 8000, .max_word_length = 4096, .memory = ATH_TRAINING_MEMORY},
      .shrinking_factor = 0.75, .sub_iterations = 2, .seed_size = 1000000, .max_token_length = 16};
}

static ath_status check_options(const ath_unigram_options *o) {
  if (!(o->shrinking_factor > 0 && o->shrinking_factor < 1))
    return ath_fail(ATH_USAGE, "shrinking factor %g: must lie between 0 and 1",
                    o->shrinking_factor);
  if (o->sub_iterations < 1 || o->sub_iterations > 100)
    return ath_fail(ATH_USAGE, "%d EM rounds between prunings: must be 1 to 100",
                    o->sub_iterations);
  if (o->seed_size < 1 || o->seed_size > ATH_SEED_SIZE_MAX)
    return ath_fail(ATH_USAGE, "%zu seed pieces: must be 1 to %d", o->seed_size,
                    ATH_SEED_SIZE_MAX);
  if (o->max_token_length < 1 || o->max_token_length > ATH_PIECE_LENGTH_MAX)
    return ath_fail(ATH_USAGE, "pieces of up to %d characters: must be 1 to %d",
                    o->max_token_length, ATH_PIECE_LENGTH_MAX);
  return ATH_OK;
}

/* A run of training. Arrays have an element for each seed piece; the first `count` are in use. */
typedef struct trainer {
  ath_unigram_options options;
  ath_build build;
  int threads;
  ath_word_list words;
  ath_seed_pieces seeds;
  ath_lattice *lattice;
  size_t count, characters;
  int32_t *seed_of;    /* the number a piece had in `seeds` */
  double *scores;      /* log probabilities */
  double *expected;
  uint64_t *uses;
  double *losses;
  int32_t *numbers;    /* new numbers while dropping; or an order */
  int rounds;
} trainer;

static void trainer_free(trainer *self) {
  ath_lattice_destroy(self->lattice);
  ath_seed_pieces_free(&self->seeds);
  ath_word_list_free(&self->words);
  free(self->seed_of);
  free(self->scores);
  free(self->expected);
  free(self->uses);
  free(self->losses);
  free(self->numbers);
}

static ath_status trainer_allocate(trainer *self) {
  size_t n = self->seeds.count;
  self->seed_of = malloc(n * sizeof *self->seed_of);
  self->scores = ath_memory_alloc(n * sizeof *self->scores);
  self->expected = malloc(n * sizeof *self->expected);
  self->uses = malloc(n * sizeof *self->uses);
  self->losses = malloc(n * sizeof *self->losses);
  self->numbers = malloc(n * sizeof *self->numbers);
  if (self->seed_of == NULL || self->scores == NULL || self->expected == NULL ||
      self->uses == NULL || self->losses == NULL || self->numbers == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory to train %zu pieces", n);
  return ATH_OK;
}

/* How many pieces the vocabulary has room for besides the special tokens. */
static size_t wished_pieces(const trainer *self) {
  return (size_t)self->options.common.vocab_size - self->build.special_count;
}

static ath_status check_alphabet(const trainer *self) {
  if (self->characters <= wished_pieces(self)) return ATH_OK;
  return ath_fail(ATH_INVALID,
                  "vocabulary size %d is too small: the text has %zu different characters; with "
                  "%zu special tokens at least %zu are needed",
                  (int)self->options.common.vocab_size, self->characters,
                  self->build.special_count, self->characters + self->build.special_count);
}

/* Scores from the seeds' own measure. */
static void start_scores(trainer *self) {
  double total = 0;
  for (size_t p = 0; p < self->count; p++) total += (double)self->seeds.pieces[p].score;
  for (size_t p = 0; p < self->count; p++) {
    self->seed_of[p] = (int32_t)p;
    self->scores[p] = log((double)self->seeds.pieces[p].score / total);
  }
}

static ath_status prepare(trainer *self) {
  ath_log_progress(&(ath_progress){.task = "tokenizer: finding seed pieces", .unit = "pieces"});
  ATH_TRY(ath_seed_pieces_find(&self->words, self->options.seed_size,
                               self->options.max_token_length, &self->seeds));
  self->count = self->seeds.count;
  self->characters = self->seeds.character_count;
  ath_log_progress(&(ath_progress){.task = "tokenizer: finding seed pieces", .unit = "pieces",
                                   .done = self->count, .total = self->count, .finished = 1});
  ATH_TRY(check_alphabet(self));
  ATH_TRY(trainer_allocate(self));
  ATH_TRY(ath_lattice_create(&self->seeds, self->threads, &self->lattice));
  start_scores(self);
  return ATH_OK;
}

/* The derivative of log Γ for x > 0: the recurrence up to 7, then the asymptotic series. */
static double digamma(double x) {
  assert(x > 0);
  double result = 0;
  for (; x < 7; x++) result -= 1 / x;
  double y = x - 0.5, z = 1 / (y * y); /* the series about x − 1/2 converges fastest */
  return result + log(y) +
         z * (1.0 / 24 - z * (7.0 / 960 - z * (31.0 / 8064 - z * (127.0 / 30720))));
}

/* Drops the pieces p with numbers[p] < 0 and numbers the others anew. */
static void drop_pieces(trainer *self) {
  size_t kept = 0;
  for (size_t p = 0; p < self->count; p++) {
    if (self->numbers[p] < 0) continue;
    self->numbers[p] = (int32_t)kept;
    self->seed_of[kept] = self->seed_of[p];
    self->scores[kept] = self->scores[p];
    self->expected[kept] = self->expected[p];
    kept++;
  }
  assert(kept >= self->characters);
  if (kept < self->count) ath_lattice_keep(self->lattice, self->numbers, kept);
  self->count = kept;
}

/* M step: drops the pieces that are hardly expected; the others get the expectation of their log
 * probability under a Dirichlet posterior, which favours few pieces (Bayesian EM). */
static void maximise(trainer *self) {
  for (size_t p = 0; p < self->count; p++) {
    bool character = p < self->characters;
    if (character && self->expected[p] < LEAST_EXPECTED) self->expected[p] = LEAST_EXPECTED;
    self->numbers[p] = self->expected[p] < LEAST_EXPECTED ? -1 : 0;
  }
  drop_pieces(self);
  double total = 0;
  for (size_t p = 0; p < self->count; p++) total += self->expected[p];
  double base = digamma(total);
  for (size_t p = 0; p < self->count; p++) self->scores[p] = digamma(self->expected[p]) - base;
}

static void run_em(trainer *self) {
  for (int i = 0; i < self->options.sub_iterations; i++) {
    double loss = ath_lattice_expect(self->lattice, self->scores, self->expected);
    maximise(self);
    char detail[80];
    snprintf(detail, sizeof detail, "%zu pieces · loss per word %.4f", self->count, loss);
    ath_log_progress(&(ath_progress){.task = "tokenizer: EM", .done = (uint64_t)++self->rounds,
                                     .unit = "rounds", .detail = detail});
  }
}

/* What the corpus loses, in log likelihood per use of any piece, when a piece is written with
 * others instead (Kudo 2018, section 3.2). Its own probability goes to those others. */
static double loss_without(const trainer *self, size_t piece, const int32_t *parts, int part_count,
                           double total) {
  assert(part_count >= 2 && self->uses[piece] > 0);
  double uses = (double)self->uses[piece];
  double log_total = log(total), log_after = log(total + uses * (part_count - 1));
  double alternative = 0;
  for (int i = 0; i < part_count; i++)
    alternative += log((double)self->uses[parts[i]] + uses) - log_after;
  return uses / total * (log(uses) - log_total - alternative);
}

static void compute_losses(trainer *self) {
  double total = (double)ath_lattice_best(self->lattice, self->scores, self->uses);
#pragma omp parallel for schedule(dynamic, 1024) num_threads(self->threads)
  for (size_t p = self->characters; p < self->count; p++) {
    int32_t parts[ATH_PIECE_LENGTH_MAX];
    self->losses[p] = -INFINITY; /* not on any best path */
    if (self->uses[p] == 0) continue;
    int parts_used =
        ath_lattice_alternative(self->lattice, omp_get_thread_num(), p, self->scores, parts);
    self->losses[p] = loss_without(self, p, parts, parts_used, total);
  }
}

/* Text of a piece, in the words' text. */
static const char *bytes_of(const trainer *self, size_t piece, size_t *length) {
  const ath_seed_piece *seed = &self->seeds.pieces[self->seed_of[piece]];
  *length = seed->length;
  return self->words.text + self->seeds.suffixes[seed->first];
}

static int compare_bytes(const trainer *self, size_t a, size_t b) {
  size_t a_length, b_length;
  const char *a_bytes = bytes_of(self, a, &a_length), *b_bytes = bytes_of(self, b, &b_length);
  int order = memcmp(a_bytes, b_bytes, a_length < b_length ? a_length : b_length);
  return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* Higher value first; equal ones in the order of their bytes. */
typedef struct ranking {
  const trainer *trainer;
  const double *values;
} ranking;

static int by_rank(const void *left, const void *right, void *context) {
  const ranking *r = context;
  size_t a = (size_t)*(const int32_t *)left, b = (size_t)*(const int32_t *)right;
  if (r->values[a] != r->values[b]) return r->values[a] > r->values[b] ? -1 : 1;
  return compare_bytes(r->trainer, a, b);
}

/* Drops all but the characters and the best others by `values`, down to `size` pieces. */
static ath_status keep_best(trainer *self, const double *values, size_t size) {
  size_t others = self->count - self->characters;
  size_t wanted = size > self->characters ? size - self->characters : 0;
  assert(self->count >= self->characters);
  int32_t *order = malloc((others + 1) * sizeof *order);
  if (order == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to order %zu pieces", others);
  for (size_t i = 0; i < others; i++) order[i] = (int32_t)(self->characters + i);
  ranking context = {self, values};
  qsort_r(order, others, sizeof *order, by_rank, &context);
  for (size_t p = 0; p < self->count; p++) self->numbers[p] = p < self->characters ? 0 : -1;
  for (size_t i = 0; i < others && i < wanted; i++)
    if (!isinf(values[order[i]])) self->numbers[order[i]] = 0;
  free(order);
  drop_pieces(self);
  return ATH_OK;
}

static ath_status prune(trainer *self, size_t goal) {
  compute_losses(self);
  size_t size = (size_t)((double)self->count * self->options.shrinking_factor);
  return keep_best(self, self->losses, size > goal ? size : goal);
}

static ath_status train(trainer *self) {
  size_t goal = (size_t)((double)self->options.common.vocab_size * PRUNE_MARGIN);
  for (int i = 0; i < PRUNINGS_MAX; i++) {
    run_em(self);
    if (self->count <= goal) break;
    ATH_TRY(prune(self, goal));
  }
  ATH_TRY(keep_best(self, self->scores, wished_pieces(self)));
  ath_log_progress(&(ath_progress){.task = "tokenizer: EM", .done = (uint64_t)self->rounds,
                                   .unit = "rounds", .finished = 1});
  assert(self->count <= wished_pieces(self));
  if (self->count < wished_pieces(self))
    ath_log(ATH_LOG_WARNING, "the text gives a vocabulary of %zu, not the %d asked for",
            self->count + self->build.special_count, (int)self->options.common.vocab_size);
  return ATH_OK;
}

/* Makes the tokenizer, its pieces in the order of their scores. */
static ath_status build(trainer *self, ath_tokenizer **out) {
  ath_buffer text = ath_buffer_make((size_t)1 << 31);
  ath_unigram_piece *pieces = calloc(self->count, sizeof *pieces);
  size_t *places = calloc(self->count, sizeof *places);
  ath_status status = ATH_OK;
  if (pieces == NULL || places == NULL)
    status = ath_fail(ATH_NO_MEMORY, "no memory for %zu pieces", self->count);
  for (size_t p = 0; p < self->count; p++) self->numbers[p] = (int32_t)p;
  ranking context = {self, self->scores};
  qsort_r(self->numbers, self->count, sizeof *self->numbers, by_rank, &context);
  for (size_t i = 0; i < self->count && status == ATH_OK; i++) {
    size_t p = (size_t)self->numbers[i], length;
    const char *bytes = bytes_of(self, p, &length);
    places[i] = text.length;
    pieces[i].score = self->scores[p];
    status = ath_buffer_append(&text, bytes, length);
    if (status == ATH_OK) status = ath_buffer_byte(&text, '\0');
  }
  for (size_t i = 0; i < self->count && status == ATH_OK; i++)
    pieces[i].text = text.bytes + places[i];
  if (status == ATH_OK) status = ath_build_unigram(&self->build, pieces, self->count, out);
  free(pieces);
  free(places);
  ath_buffer_free(&text);
  return status;
}

ath_status ath_unigram_train(const char *const *paths, size_t path_count,
                             const ath_unigram_options *options, ath_tokenizer **out,
                             ath_training_report *report) {
  ath_training_report own = {0};
  trainer self = {.options = *options, .threads = ath_training_threads(&options->common)};
  ath_status status = ATH_OK;
  ATH_TRY_GOTO(ath_build_init(&self.build, &ath_recipe_unigram, &options->common), done);
  ATH_TRY_GOTO(check_options(options), done);
  ATH_TRY_GOTO(ath_build_count_words(&self.build, paths, path_count, &options->common,
                                     BYTES_PER_LETTER, &self.words, &own), done);
  ATH_TRY_GOTO(prepare(&self), done);
  ATH_TRY_GOTO(train(&self), done);
  own.vocab_size = (int32_t)(self.count + self.build.special_count);
  own.tokens_per_word = (double)ath_lattice_best(self.lattice, self.scores, self.uses) /
                        (double)self.words.total;
  status = build(&self, out);
  if (report != NULL) *report = own;
done:
  trainer_free(&self);
  return status;
}
