/* batcher.c: batches of masked records, made ahead by one thread.
 *
 * The maker fills a ring of slots; the consumer holds the slot it was given last. What a batch
 * contains depends on its number alone, so nothing here is part of a checkpoint but that number.
 *
 *     made:  …  | held | ready | ready | being filled |      slot = count % RING
 *                taken                   made
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/dataset.h"
#include "base/outcome.h"
#include "base/random.h"

enum { RING = 4, ELEMENTS_MAX = 1 << 28 };

typedef struct slot {
  ath_batch batch;
  ath_outcome outcome;
} slot;

struct ath_batcher {
  const ath_dataset *data;
  ath_batch_options options;
  uint8_t *special; /* the table options.special points to */
  int length;
  uint64_t per_epoch;
  slot slots[RING];
  int32_t *columns, *labels; /* of one row; the maker's */

  uint64_t first; /* number of the batch in the ring's place 0 */
  pthread_t maker;
  bool running;
  pthread_mutex_t lock; /* guards what follows; a slot itself belongs to one side at a time */
  pthread_cond_t changed;
  /* Batches put into the ring, and batches given out and no longer held. The difference is what
   * the ring holds: between 0 and RING. */
  uint64_t made, taken;
  bool holding, stopping;
};

ath_batch_options ath_batch_defaults(const ath_tokenizer *tokenizer) {
  return (ath_batch_options){
    .batch_size = 8,
    .groups = 1,
    .shuffle = true,
    .seed = 42,
    .mlm_probability = 0.15,
    .mask_replace_prob = 0.8,
    .random_replace_prob = 0.1,
    .vocab_size = ath_tokenizer_size(tokenizer),
    .mask_id = ath_tokenizer_special(tokenizer, ATH_TOKEN_MASK),
    .pad_id = ath_tokenizer_special(tokenizer, ATH_TOKEN_PAD),
    .tokenizer = tokenizer,
  };
}

/* --- filling ------------------------------------------------------------------------------- */

/* An id outside the vocabulary would read outside the embedding: it is refused here, on the
 * host, since an accelerator would silently take another row. */
static ath_status check_ids(const ath_batcher *self, uint64_t record, const int32_t *ids) {
  for (int i = 0; i < self->length; i++)
    if (ids[i] < 0 || ids[i] >= self->options.vocab_size)
      return ath_fail(ATH_INVALID,
                      "record %llu: token %d is id %d, but the vocabulary has %d; the shards "
                      "belong to another tokenizer",
                      (unsigned long long)record, i, ids[i], self->options.vocab_size);
  return ATH_OK;
}

/* Rows and places of a group, and of this batcher's share. */
static int rows_of_group(const ath_batch_options *o) { return o->batch_size / o->groups; }
static int places_of_group(const ath_batch_options *o) { return o->positions / o->groups; }
static int share_rows(const ath_batch_options *o) { return o->group_count * rows_of_group(o); }
static int share_places(const ath_batch_options *o) { return o->group_count * places_of_group(o); }

/* The places of a group that are still free. */
typedef struct place_range {
  int next, end;
} place_range;

static void set_place(ath_batch *batch, int place, int32_t position, int32_t label, float weight) {
  batch->positions[place] = position;
  batch->labels[place] = label;
  batch->weights[place] = weight;
}

/* Adds the chosen positions of a row of the share. What does not fit is put back as it was. */
static void add_positions(const ath_batcher *self, ath_batch *batch, int row, int count,
                          place_range *room) {
  assert(count <= self->length && room->next <= room->end);
  for (int i = 0; i < count; i++) {
    int32_t at = row * self->length + self->columns[i];
    int32_t first = self->options.first_group * rows_of_group(&self->options) * self->length;
    if (room->next < room->end) {
      set_place(batch, room->next++, first + at, self->labels[i], 1);
      batch->scored++;
    } else {
      batch->input_ids[at] = self->labels[i];
      batch->unscored++;
    }
  }
}

/* Fills a row of the share with the record at `place` of the epoch's order. The masks belong to the
 * record, not to the place or the row, so they do not change with the batch size. */
static ath_status fill_row(const ath_batcher *self, ath_batch *batch, int row, uint64_t place,
                           place_range *room) {
  const ath_batch_options *o = &self->options;
  uint64_t count = ath_dataset_size(self->data);
  uint64_t record = o->shuffle ? ath_permute(o->seed, batch->epoch, count, place) : place;
  int32_t *ids = batch->input_ids + (size_t)row * (size_t)self->length;
  int32_t *mask = batch->attention_mask + (size_t)row * (size_t)self->length;
  ATH_TRY(ath_dataset_read(self->data, record, ids, mask));
  ATH_TRY(check_ids(self, record, ids));
  for (int i = 0; i < self->length; i++) batch->tokens += mask[i] != 0;
  uint32_t epoch = o->fixed_masks ? 0 : batch->epoch;
  int chosen = ath_mask_tokens(o, epoch, record, ids, mask, self->length, self->columns,
                               self->labels);
  add_positions(self, batch, row, chosen, room);
  return ATH_OK;
}

/* Fills a group's rows, the first row of the batch being the record at `from`, and its places.
 * Groups are numbered in the whole batch; the share's arrays begin with its first. */
static ath_status fill_group(const ath_batcher *self, ath_batch *batch, int group, uint64_t from) {
  const ath_batch_options *o = &self->options;
  int rows = rows_of_group(o), first = group * rows, skipped = o->first_group * rows;
  int place = (group - o->first_group) * places_of_group(o);
  place_range room = {.next = place, .end = place + places_of_group(o)};
  for (int row = first; row < first + rows && row < batch->samples; row++)
    ATH_TRY(fill_row(self, batch, row - skipped, from + (uint64_t)row, &room));
  while (room.next < room.end) set_place(batch, room.next++, first * self->length, 0, 0);
  return ATH_OK;
}

/* Rows of the share that have a record. */
static int filled_rows(const ath_batch_options *o, const ath_batch *batch) {
  int filled = batch->samples - o->first_group * rows_of_group(o);
  return filled < 0 ? 0 : filled < share_rows(o) ? filled : share_rows(o);
}

/* Makes batch `number`, padded to its full size if it is the last of its epoch. */
static ath_status fill(const ath_batcher *self, ath_batch *batch, uint64_t number) {
  const ath_batch_options *o = &self->options;
  if (number / self->per_epoch >= ATH_EPOCHS_MAX)
    return ath_fail(ATH_INVALID, "batch %llu is in epoch %llu; at most %d epochs are possible",
                    (unsigned long long)number, (unsigned long long)(number / self->per_epoch),
                    ATH_EPOCHS_MAX);
  batch->number = number;
  batch->epoch = (uint32_t)(number / self->per_epoch);
  batch->scored = batch->tokens = batch->unscored = 0;
  uint64_t from = number % self->per_epoch * (uint64_t)o->batch_size;
  assert(from < ath_dataset_size(self->data));
  uint64_t left = ath_dataset_size(self->data) - from;
  batch->samples = left < (uint64_t)o->batch_size ? (int)left : o->batch_size;
  for (int g = 0; g < o->group_count; g++)
    ATH_TRY(fill_group(self, batch, o->first_group + g, from));
  for (int i = filled_rows(o, batch) * self->length; i < share_rows(o) * self->length; i++) {
    batch->input_ids[i] = o->pad_id;
    batch->attention_mask[i] = 0;
  }
  return ATH_OK;
}

/* --- the maker's thread -------------------------------------------------------------------- */

/* Ends when it is told to, and after a failure: the consumer learns of it when it gets there. */
static void *make_batches(void *context) {
  ath_batcher *self = context;
  bool failed = false;
  for (uint64_t count = 0; !failed; count++) {
    pthread_mutex_lock(&self->lock);
    while (!self->stopping && self->made - self->taken == RING)
      pthread_cond_wait(&self->changed, &self->lock);
    bool stop = self->stopping;
    pthread_mutex_unlock(&self->lock);
    if (stop) break;
    slot *s = &self->slots[count % RING];
    ath_outcome_keep(&s->outcome, fill(self, &s->batch, self->first + count));
    failed = s->outcome.status != ATH_OK;
    pthread_mutex_lock(&self->lock);
    assert(self->made == count && self->made - self->taken < RING);
    self->made++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
  }
  return NULL;
}

/* Waits for the batch being made, if there is one: that is some milliseconds. */
static void stop_maker(ath_batcher *self) {
  if (!self->running) return;
  pthread_mutex_lock(&self->lock);
  self->stopping = true;
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
  pthread_join(self->maker, NULL);
  self->running = false;
}

/* Without the maker nobody else looks at these, so they are set without the lock. */
static ath_status start_maker(ath_batcher *self, uint64_t number) {
  assert(!self->running);
  self->first = number;
  self->made = self->taken = 0;
  self->holding = self->stopping = false;
  int reason = pthread_create(&self->maker, NULL, make_batches, self);
  if (reason != 0) return ath_fail_errno(reason, "cannot start the thread that makes batches");
  self->running = true;
  return ATH_OK;
}

/* --- creating ------------------------------------------------------------------------------ */

static ath_status check_options(const ath_batch_options *o, int length) {
  if (o->batch_size < 1 || (int64_t)o->batch_size * length > ELEMENTS_MAX)
    return ath_fail(ATH_INVALID, "batch size %d: must be 1 … %d for records of %d tokens",
                    o->batch_size, ELEMENTS_MAX / length, length);
  if (o->groups < 0 || (o->groups > 0 && o->batch_size % o->groups != 0))
    return ath_fail(ATH_INVALID, "a batch of %d cannot be cut into %d equal groups",
                    o->batch_size, o->groups);
  int groups = o->groups > 0 ? o->groups : 1;
  if (o->first_group < 0 || o->group_count < 0 || o->first_group > groups - o->group_count ||
      (o->group_count == 0 && o->first_group > 0))
    return ath_fail(ATH_INVALID, "a share of %d groups from group %d, and there are %d",
                    o->group_count, o->first_group, groups);
  if (!(o->mlm_probability > 0.0 && o->mlm_probability <= 1.0))
    return ath_fail(ATH_INVALID, "mlm_probability is %g; it must lie in (0, 1]",
                    o->mlm_probability);
  if (!(o->mask_replace_prob >= 0.0 && o->random_replace_prob >= 0.0 &&
        o->mask_replace_prob + o->random_replace_prob <= 1.0 + 1e-9))
    return ath_fail(ATH_INVALID,
                    "mask_replace_prob %g and random_replace_prob %g must be at least 0 and "
                    "together at most 1", o->mask_replace_prob, o->random_replace_prob);
  if (o->vocab_size < 1 || o->mask_id < 0 || o->mask_id >= o->vocab_size)
    return ath_fail(ATH_INVALID,
                    "masking needs a mask token inside the vocabulary; the tokenizer gives id %d "
                    "of %d", o->mask_id, o->vocab_size);
  if (o->pad_id < 0 || o->pad_id >= o->vocab_size)
    return ath_fail(ATH_INVALID, "batches need a padding token; the tokenizer gives id %d of %d",
                    o->pad_id, o->vocab_size);
  if (o->positions < 0 || o->positions > o->batch_size * length)
    return ath_fail(ATH_INVALID, "%d places for chosen positions, in a batch of %d x %d tokens",
                    o->positions, o->batch_size, length);
  if (o->groups > 0 && o->positions % o->groups != 0)
    return ath_fail(ATH_INVALID, "%d places for chosen positions cannot be cut into %d equal "
                    "groups", o->positions, o->groups);
  return ATH_OK;
}

/* Which ids are never chosen and never drawn: special ones, and those that have no token. */
static ath_status copy_special(ath_batcher *self) {
  ath_batch_options *o = &self->options;
  self->special = malloc((size_t)o->vocab_size);
  if (self->special == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for batches");
  assert(o->special != NULL || o->tokenizer != NULL);
  for (int32_t id = 0; id < o->vocab_size; id++)
    self->special[id] = o->special != NULL
                          ? o->special[id]
                          : ath_tokenizer_is_special(o->tokenizer, id) ||
                              ath_tokenizer_token(o->tokenizer, id) == NULL;
  o->special = self->special;
  return ATH_OK;
}

/* Everything a batch needs is allocated once; making batches allocates nothing. What is missing
 * after a failure is freed by ath_batcher_destroy all the same. */
static bool allocate_slot(const ath_batcher *self, ath_batch *batch) {
  size_t tokens = (size_t)share_rows(&self->options) * (size_t)self->length;
  size_t places = (size_t)share_places(&self->options);
  batch->input_ids = malloc(tokens * sizeof *batch->input_ids);
  batch->attention_mask = malloc(tokens * sizeof *batch->attention_mask);
  batch->positions = malloc(places * sizeof *batch->positions);
  batch->labels = malloc(places * sizeof *batch->labels);
  batch->weights = malloc(places * sizeof *batch->weights);
  return batch->input_ids != NULL && batch->attention_mask != NULL && batch->positions != NULL &&
         batch->labels != NULL && batch->weights != NULL;
}

static ath_status allocate(ath_batcher *self) {
  self->columns = malloc((size_t)self->length * sizeof *self->columns);
  self->labels = malloc((size_t)self->length * sizeof *self->labels);
  bool complete = self->columns != NULL && self->labels != NULL;
  for (int i = 0; i < RING; i++) complete = allocate_slot(self, &self->slots[i].batch) && complete;
  if (complete) return ATH_OK;
  size_t bytes = RING * sizeof(int32_t) *
                 (2 * (size_t)share_rows(&self->options) * (size_t)self->length +
                  3 * (size_t)share_places(&self->options));
  return ath_fail(ATH_NO_MEMORY, "no memory for %d batches of %d x %d tokens, %zu bytes; a smaller "
                  "batch needs less", RING, share_rows(&self->options), self->length, bytes);
}

ath_status ath_batcher_create(const ath_dataset *data, const ath_batch_options *options,
                              ath_batcher **out) {
  int length = ath_dataset_length(data);
  uint64_t count = ath_dataset_size(data);
  assert(length > 0 && count > 0);
  ATH_TRY(check_options(options, length));
  ath_batcher *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for batches");
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->changed, NULL);
  self->data = data;
  self->options = *options;
  self->length = length;
  if (options->groups == 0) self->options.groups = 1;
  if (options->group_count == 0) self->options.group_count = self->options.groups;
  if (options->positions == 0)
    self->options.positions = ath_batch_positions(options->batch_size, length,
                                                  options->mlm_probability, self->options.groups);
  self->per_epoch = (count - 1) / (uint64_t)options->batch_size + 1;
  ath_status status = copy_special(self);
  if (status == ATH_OK) status = allocate(self);
  if (status == ATH_OK) status = start_maker(self, 0);
  if (status != ATH_OK) {
    ath_batcher_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_batcher_destroy(ath_batcher *self) {
  if (self == NULL) return;
  stop_maker(self);
  for (int i = 0; i < RING; i++) {
    ath_batch *batch = &self->slots[i].batch;
    free(batch->input_ids);
    free(batch->attention_mask);
    free(batch->positions);
    free(batch->labels);
    free(batch->weights);
  }
  free(self->columns);
  free(self->labels);
  free(self->special);
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

uint64_t ath_batcher_per_epoch(const ath_batcher *self) { return self->per_epoch; }

ath_status ath_batcher_seek(ath_batcher *self, uint64_t number) {
  stop_maker(self);
  return start_maker(self, number);
}

ath_status ath_batcher_next(ath_batcher *self, const ath_batch **out) {
  pthread_mutex_lock(&self->lock);
  if (self->holding) {
    self->taken++;
    self->holding = false;
    pthread_cond_broadcast(&self->changed);
  }
  while (self->made == self->taken && self->running)
    pthread_cond_wait(&self->changed, &self->lock);
  assert(!self->running || (self->made > self->taken && self->made - self->taken <= RING));
  const slot *s = &self->slots[self->taken % RING];
  /* After a failure the maker has ended, and the failed slot is given again and again. */
  self->holding = self->running && s->outcome.status == ATH_OK;
  bool running = self->running;
  pthread_mutex_unlock(&self->lock);
  if (!running) return ath_fail(ATH_INTERNAL, "the thread that makes batches could not start");
  ATH_TRY(ath_outcome_return(&s->outcome));
  *out = &s->batch;
  return ATH_OK;
}
