/* run.c: the memory of an encode call: texts with origins, tokens, scratch. */
#include <stdlib.h>
#include <string.h>

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

void ath_text_free(ath_text_buffer *self) {
  free(self->bytes);
  free(self->origins);
  *self = (ath_text_buffer){0};
}

/* --- tokens -------------------------------------------------------------------------------- */

ath_status ath_run_reserve(ath_run *run, size_t extra) {
  ath_encoding *out = run->out;
  assert(out->length <= out->capacity);
  if (extra <= out->capacity - out->length) return ATH_OK;
  size_t capacity = (out->length + extra) * 2;
  if (!ath_resize(&out->ids, capacity * sizeof *out->ids) ||
      !ath_resize(&out->starts, capacity * sizeof *out->starts) ||
      !ath_resize(&out->ends, capacity * sizeof *out->ends))
    return no_memory(capacity * sizeof *out->ids);
  out->capacity = capacity;
  return ATH_OK;
}

ath_status ath_run_surface(ath_run *run, const char *bytes, size_t length) {
  assert(run->out->length > 0);
  if (!run->tokens) return ATH_OK;
  if (run->surface_count == run->surface_capacity) {
    size_t capacity = run->surface_capacity * 2 + 16;
    if (!ath_resize(&run->surfaces, capacity * sizeof *run->surfaces))
      return no_memory(capacity * sizeof *run->surfaces);
    run->surface_capacity = capacity;
  }
  run->surfaces[run->surface_count++] =
      (ath_surface){run->out->length - 1, run->surface_text.length, length};
  return ath_buffer_append(&run->surface_text, bytes, length);
}

void *ath_run_scratch(ath_run *run, int which, size_t size) {
  assert(which >= 0 && which < ATH_SCRATCH_COUNT && size > 0);
  if (size <= run->scratch_size[which]) return run->scratch[which];
  free(run->scratch[which]);
  run->scratch_size[which] = 0;
  size_t rounded = (size + 63) & ~(size_t)63;
  run->scratch[which] = rounded >= size ? aligned_alloc(64, rounded) : NULL;
  if (run->scratch[which] == NULL) {
    no_memory(size);
    return NULL;
  }
  run->scratch_size[which] = rounded;
  return memset(run->scratch[which], 0, rounded);
}

void ath_run_free(ath_run *run) {
  for (int i = 0; i < 2; i++) ath_text_free(&run->normal[i]);
  ath_text_free(&run->word);
  for (int i = 0; i < ATH_SCRATCH_COUNT; i++) free(run->scratch[i]);
  free(run->surfaces);
  ath_buffer_free(&run->surface_text);
  *run = (ath_run){0};
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
