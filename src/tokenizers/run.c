/* run.c: the memory of an encode call: texts with origins, tokens, scratch. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/resize.h"
#include "tokenizers/pipeline.h"

static ath_status no_memory(size_t bytes) {
  return ath_fail(ATH_NO_MEMORY, "no memory for %zu bytes of a text being encoded", bytes);
}

/* --- texts --------------------------------------------------------------------------------- */

/* Bytes and origins grow apart, since origins are kept only for those who ask for offsets. */
ath_status ath_text_grow(ath_run *run, ath_text_buffer *self, size_t extra) {
  size_t needed = self->length + extra;
  if (needed >= UINT32_MAX / 2)
    return ath_fail(ATH_INVALID, "a text grows past %u bytes; encode it in parts",
                    UINT32_MAX / 2);
  size_t capacity = needed + needed / 2 + ATH_TEXT_SLACK;
  if (needed + ATH_TEXT_SLACK > self->capacity) {
    char *bytes = realloc(self->bytes, capacity);
    if (bytes == NULL) return no_memory(capacity);
    memset(bytes + self->length, 0, capacity - self->length);
    self->bytes = bytes;
    self->capacity = capacity;
  }
  if (run->track && needed > self->origin_capacity) {
    ath_origin *origins = realloc(self->origins, capacity * sizeof *origins);
    if (origins == NULL) return no_memory(capacity * sizeof *origins);
    self->origins = origins;
    self->origin_capacity = capacity;
  }
  return ATH_OK;
}

ath_origin ath_text_origin(const ath_text *self, size_t at) {
  assert(at < self->length);
  if (self->origins != NULL) return self->origins[at];
  size_t start = at;
  while ((self->bytes[start] & 0xC0) == 0x80) start--;
  return (ath_origin){self->start + (uint32_t)start,
                      self->start + (uint32_t)(start + ath_character_length(self->bytes[start]))};
}

/* Without origins the bytes are the original's; each gets the range of its whole character. */
static void copy_origins(ath_origin *out, const ath_text *text, size_t from, size_t to) {
  assert(from < to);
  if (text->origins != NULL) {
    memcpy(out, text->origins + from, (to - from) * sizeof *out);
    return;
  }
  while (from < to) {
    ath_origin origin = ath_text_origin(text, from);
    for (size_t end = from + (origin.end - origin.start); from < end; from++) *out++ = origin;
  }
}

ath_status ath_text_append(ath_run *run, ath_text_buffer *self, const ath_text *text, size_t from,
                           size_t to) {
  assert(from <= to && to <= text->length);
  size_t count = to - from;
  if (count == 0) return ATH_OK;
  ATH_TRY(ath_text_reserve(run, self, count));
  if (run->track) copy_origins(self->origins + self->length, text, from, to);
  char *end = self->bytes + self->length;
  /* Most of what is appended is a word; sixteen bytes at once cost no call, and fit the slack. */
  if (count <= 16 && text->length - from >= 16) memcpy(end, text->bytes + from, 16);
  else memcpy(end, text->bytes + from, count);
  self->length += count;
  assert(self->length + ATH_TEXT_SLACK <= self->capacity);
  return ATH_OK;
}

ath_status ath_text_insert(ath_run *run, ath_text_buffer *self, const char *bytes, size_t count,
                           ath_origin origin) {
  if (count == 0) return ATH_OK;
  ATH_TRY(ath_text_reserve(run, self, count));
  if (run->track)
    for (size_t i = 0; i < count; i++) self->origins[self->length + i] = origin;
  char *end = self->bytes + self->length;
  for (size_t i = 0; i < count; i++) end[i] = bytes[i]; /* a mark or a quote: no call for that */
  self->length += count;
  return ATH_OK;
}

ath_text ath_text_of(const ath_run *run, const ath_text_buffer *self) {
  assert(!run->track || self->length <= self->origin_capacity);
  ath_text text = {.bytes = self->length > 0 ? self->bytes : "", .length = self->length};
  if (run->track && self->length > 0) {
    text.origins = self->origins;
    text.start = self->origins[0].start;
  }
  return text;
}

ath_text ath_text_slice(const ath_text *self, size_t from, size_t to) {
  assert(from <= to && to <= self->length);
  ath_text slice = {.bytes = self->bytes + from, .length = to - from};
  if (self->origins == NULL) {
    slice.start = self->start + (uint32_t)from;
  } else if (from < to) {
    slice.origins = self->origins + from;
    slice.start = slice.origins[0].start;
  }
  return slice;
}

ath_text ath_words_at(const ath_words *self, size_t index) {
  assert(index < self->count);
  return ath_text_slice(self->text, self->places[index].start, self->places[index].end);
}

ath_status ath_sink_take_words(ath_sink self, ath_run *run, const ath_words *words) {
  if (self.take_words != NULL) return self.take_words(self.context, run, words);
  for (size_t i = 0; i < words->count; i++) {
    ath_text word = ath_words_at(words, i);
    ATH_TRY(self.take(self.context, run, &word));
  }
  return ATH_OK;
}

void ath_text_free(ath_text_buffer *self) {
  free(self->bytes);
  free(self->origins);
  *self = (ath_text_buffer){0};
}

ath_text_buffer *ath_run_open_word(ath_run *run) {
  assert(run->open_words < ATH_PRE_TOKENIZERS_MAX);
  ath_text_buffer *word = &run->words[run->open_words++];
  word->length = 0;
  return word;
}

void ath_run_close_word(ath_run *run) {
  assert(run->open_words > 0);
  run->open_words--;
}

/* --- tokens -------------------------------------------------------------------------------- */

/* The arrays of an encoding, and the flag that asks for each. */
static const struct { size_t offset, item; unsigned flag; } arrays[] = {
  {offsetof(ath_encoding, ids), sizeof(int32_t), 0},
  {offsetof(ath_encoding, starts), sizeof(uint32_t), ATH_ENCODE_OFFSETS},
  {offsetof(ath_encoding, ends), sizeof(uint32_t), ATH_ENCODE_OFFSETS},
  {offsetof(ath_encoding, types), sizeof(int32_t), ATH_ENCODE_TYPES},
  {offsetof(ath_encoding, sequences), sizeof(int8_t), ATH_ENCODE_SEQUENCES},
  {offsetof(ath_encoding, words), sizeof(int32_t), ATH_ENCODE_WORDS},
  {offsetof(ath_encoding, special), sizeof(uint8_t), ATH_ENCODE_MASKS},
  {offsetof(ath_encoding, attention), sizeof(uint8_t), ATH_ENCODE_MASKS},
};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

static void **array_of(ath_encoding *self, size_t which) {
  return (void **)(void *)((char *)self + arrays[which].offset);
}

static bool is_wanted(const ath_run *run, size_t which) {
  return arrays[which].flag == 0 || (run->flags & arrays[which].flag) != 0;
}

/* Makes the arrays that are wanted or there already that large. */
static ath_status resize_arrays(ath_run *run, size_t capacity, bool only_missing) {
  for (size_t i = 0; i < ARRAYS; i++) {
    bool there = *array_of(run->out, i) != NULL;
    if (there ? only_missing : !is_wanted(run, i)) continue;
    if (!ath_resize(array_of(run->out, i), capacity * arrays[i].item))
      return no_memory(capacity * arrays[i].item);
  }
  return ATH_OK;
}

ath_status ath_run_reserve(ath_run *run, size_t extra) {
  ath_encoding *out = run->out;
  assert(out->length <= out->capacity);
  if (extra <= out->capacity - out->length) return ATH_OK;
  size_t capacity = (out->length + extra) * 2;
  ATH_TRY(resize_arrays(run, capacity, false));
  out->capacity = capacity;
  return ATH_OK;
}

ath_status ath_run_begin(ath_run *run, ath_encoding *out, unsigned flags) {
  run->out = out;
  run->flags = flags;
  out->length = out->window_count = 0;
  return out->capacity > 0 ? resize_arrays(run, out->capacity, true) : ATH_OK;
}

ath_status ath_run_emit_special(ath_run *run, int32_t id, const char *text, size_t length) {
  ath_encoding *out = run->out;
  ATH_TRY(ath_run_reserve(run, 1));
  if (run->offsets) out->starts[out->length] = out->ends[out->length] = 0;
  out->ids[out->length++] = id;
  return ath_run_surface(run, text, length);
}

void ath_run_describe(ath_run *run, size_t from, const ath_layout_part *part) {
  ath_encoding *out = run->out;
  size_t count = out->length - from;
  bool special = part->sequence == ATH_SPECIAL;
  if (count == 0) return; /* there may be no arrays yet */
  if (run->flags & ATH_ENCODE_TYPES)
    for (size_t i = from; i < out->length; i++) out->types[i] = part->type_id;
  if (run->flags & ATH_ENCODE_SEQUENCES) memset(out->sequences + from, part->sequence, count);
  if (run->flags & ATH_ENCODE_MASKS) {
    memset(out->special + from, special, count);
    memset(out->attention + from, 1, count);
  }
  if (special && (run->flags & ATH_ENCODE_WORDS))
    for (size_t i = from; i < out->length; i++) out->words[i] = -1;
}

static ath_status add_surface(ath_surface **list, size_t *count, size_t *capacity,
                              ath_surface surface) {
  if (*count == *capacity) {
    size_t more = *capacity * 2 + 16;
    if (!ath_resize(list, more * sizeof **list)) return no_memory(more * sizeof **list);
    *capacity = more;
  }
  (*list)[(*count)++] = surface;
  return ATH_OK;
}

ath_status ath_run_surface(ath_run *run, const char *bytes, size_t length) {
  assert(run->out->length > 0);
  if (!run->tokens) return ATH_OK;
  ath_surface surface = {run->out->length - 1, run->surface_text.length, length};
  ATH_TRY(add_surface(&run->surfaces, &run->surface_count, &run->surface_capacity, surface));
  return ath_buffer_append(&run->surface_text, bytes, length);
}

/* --- composing anew ------------------------------------------------------------------------- */

/* The tokens so far, which are copied from. */
ath_status ath_recompose_begin(ath_run *run, ath_recompose *self) {
  *self = (ath_recompose){run->out, run->surfaces, run->surface_count};
  ath_surface *list = run->spare_surfaces;
  size_t capacity = run->spare_surface_capacity;
  run->spare_surfaces = run->surfaces;
  run->spare_surface_capacity = run->surface_capacity;
  run->surfaces = list;
  run->surface_capacity = capacity;
  run->surface_count = 0;
  return ath_run_begin(run, &run->spare, run->flags);
}

ath_status ath_recompose_copy(ath_run *run, const ath_recompose *self, ath_span span) {
  ath_encoding *out = run->out, *source = self->source;
  size_t count = span.end - span.start;
  assert(span.start <= span.end && span.end <= source->length && out != source);
  ATH_TRY(ath_run_reserve(run, count));
  for (size_t i = 0; i < ARRAYS && count > 0; i++) {
    size_t item = arrays[i].item;
    if (is_wanted(run, i))
      memcpy((char *)*array_of(out, i) + out->length * item,
             (const char *)*array_of(source, i) + span.start * item, count * item);
  }
  size_t at = ath_surface_find(self->surfaces, self->surface_count, span.start);
  for (; at < self->surface_count && self->surfaces[at].token < span.end; at++) {
    ath_surface moved = self->surfaces[at];
    moved.token = moved.token - span.start + out->length;
    ATH_TRY(add_surface(&run->surfaces, &run->surface_count, &run->surface_capacity, moved));
  }
  out->length += count;
  return ATH_OK;
}

/* The arrays change places, so both grow to what is needed and stay. */
void ath_recompose_end(ath_run *run, const ath_recompose *self) {
  ath_encoding *out = self->source, *spare = &run->spare, old = *out;
  assert(run->out == spare);
  for (size_t i = 0; i < ARRAYS; i++) {
    void *array = *array_of(out, i);
    *array_of(out, i) = *array_of(spare, i);
    *array_of(spare, i) = array;
  }
  out->length = spare->length;
  out->capacity = spare->capacity;
  spare->capacity = old.capacity;
  run->out = out;
}

size_t ath_surface_find(const ath_surface *list, size_t count, size_t token) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (list[middle].token < token) low = middle + 1;
    else high = middle;
  }
  return low;
}

ath_status ath_run_end_window(ath_run *run, ath_encoding *out, size_t end) {
  if (out->window_count == run->window_capacity) {
    size_t capacity = run->window_capacity * 2 + 4;
    if (!ath_resize(&out->window_ends, capacity * sizeof *out->window_ends))
      return no_memory(capacity * sizeof *out->window_ends);
    run->window_capacity = capacity;
  }
  out->window_ends[out->window_count++] = end;
  return ATH_OK;
}

/* --- scratch ------------------------------------------------------------------------------- */

#define SCRATCH_MAPPED ((size_t)2 << 20)

/* Large ones, caches of words among them, lie on huge pages. */
static void free_scratch(ath_run *run, int which) {
  if (run->scratch_size[which] >= SCRATCH_MAPPED)
    ath_memory_unmap(run->scratch_memory[which], run->scratch_size[which]);
  else
    free(run->scratch_memory[which]);
  run->scratch_size[which] = 0;
  run->scratch_memory[which] = run->scratch[which] = NULL;
}

void *ath_run_scratch(ath_run *run, int which, size_t size) {
  assert(which >= 0 && which < ATH_SCRATCH_COUNT && size > 0);
  if (size <= run->scratch_size[which]) return run->scratch[which];
  free_scratch(run, which);
  size_t whole = size <= SIZE_MAX - 128 ? (size | 63) + 1 : 0;
  void *memory = whole == 0 ? NULL
                 : whole >= SCRATCH_MAPPED ? ath_memory_map(whole) : calloc(1, whole + 64);
  if (memory == NULL) {
    no_memory(size);
    return NULL;
  }
  run->scratch_memory[which] = memory;
  run->scratch_size[which] = whole;
  run->scratch[which] = (char *)memory + (-(uintptr_t)memory & 63);
  return run->scratch[which];
}

void ath_run_free(ath_run *run) {
  for (int i = 0; i < 2; i++) ath_text_free(&run->normal[i]);
  for (int i = 0; i < ATH_PRE_TOKENIZERS_MAX; i++) ath_text_free(&run->words[i]);
  for (int i = 0; i < ATH_SCRATCH_COUNT; i++) free_scratch(run, i);
  free(run->surfaces);
  free(run->spare_surfaces);
  ath_buffer_free(&run->surface_text);
  for (int i = 0; i < 2; i++) ath_buffer_free(&run->repaired[i]);
  ath_encoding_free(&run->spare);
  *run = (ath_run){0};
}

void ath_encoding_free(ath_encoding *self) {
  if (self->workspace != NULL) ath_run_free(self->workspace);
  free(self->workspace);
  free(self->ids);
  free(self->starts);
  free(self->ends);
  free(self->types);
  free(self->sequences);
  free(self->words);
  free(self->special);
  free(self->attention);
  free(self->window_ends);
  *self = (ath_encoding){0};
}

/* --- pieces on the way back ----------------------------------------------------------------- */

ath_status ath_pieces_add(ath_pieces *self, const char *bytes, size_t length) {
  assert(self->count <= self->capacity);
  if (self->count == self->capacity) {
    size_t capacity = self->capacity * 2 + 64;
    if (!ath_resize(&self->ends, capacity * sizeof *self->ends))
      return no_memory(capacity * sizeof *self->ends);
    self->capacity = capacity;
  }
  ATH_TRY(ath_buffer_append(&self->bytes, bytes, length));
  self->ends[self->count++] = self->bytes.length;
  return ATH_OK;
}

void ath_pieces_free(ath_pieces *self) {
  ath_buffer_free(&self->bytes);
  free(self->ends);
  self->ends = NULL;
  self->count = self->capacity = 0;
}
