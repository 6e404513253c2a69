/* safetensors.c: named tensors in one file. A file with one f32[1, 2] named "a":
 *
 *       0  58 00 00 00 00 00 00 00   length of the header, 64 bits
 *       8  {"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}
 *          and spaces up to a multiple of 8
 *      96  8 bytes of numbers
 *     104  the end
 *
 * Offsets count from the end of the header. The tensors must cover the data without gap or
 * overlap, so a file has one reading only. The reference reader lets the last of two equal names
 * win; here they are refused, because two readers could see two different tensors. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "athanor/safetensors.h"
#include "base/arena.h"
#include "base/hash_map.h"
#include "base/utf8.h"
#include "formats/wire.h"
#include "storage/file.h"

enum {
  HEADER_MAX = 100000000,  /* bytes; the reference's limit */
  TENSORS_MAX = 4 << 20,   /* more cannot be described in a header of that size */
};
static const size_t arena_limit = (size_t)1 << 30;
static const char metadata_name[] = "__metadata__";

/* Element types of the format, smallest rank first. The reference writes the tensors by falling
 * rank, then by name. Types without an ath_dtype are checked and passed over. */
static const struct dtype_row {
  const char *name;
  int bits;
  int dtype; /* ath_dtype, or −1 */
} dtypes[] = {
    {"BOOL", 8, -1},    {"F4", 4, -1},      {"F6_E2M3", 6, -1}, {"F6_E3M2", 6, -1},
    {"U8", 8, -1},      {"I8", 8, -1},      {"F8_E5M2", 8, -1}, {"F8_E4M3", 8, -1},
    {"F8_E8M0", 8, -1}, {"F8_E4M3FNUZ", 8, -1}, {"F8_E5M2FNUZ", 8, -1},
    {"I16", 16, -1},    {"U16", 16, -1},    {"F16", 16, -1},    {"BF16", 16, ATH_BF16},
    {"I32", 32, ATH_I32}, {"U32", 32, ATH_U32}, {"F32", 32, ATH_F32},
    {"C64", 64, -1},    {"F64", 64, -1},    {"I64", 64, -1},    {"U64", 64, -1},
};
enum { DTYPE_ROWS = sizeof dtypes / sizeof *dtypes };

/* --- opening -------------------------------------------------------------------------------- */

/* A tensor of the header, before it is known to fit the others. */
typedef struct span {
  uint64_t begin, end;
  ath_tensor_entry entry;
  bool listed;
} span;

struct ath_safetensors {
  ath_mapping file;
  ath_arena *arena;    /* names and entries */
  ath_hash_map *index; /* name to place in entries */
  ath_tensor_entry *entries;
  size_t count;
};

/* Finds the header; every length is checked before it is used. */
static ath_status find_header(const ath_mapping *file, size_t *length) {
  if (file->size < 8)
    return ath_fail(ATH_CORRUPT, "header too small: %zu bytes, and its length alone takes 8",
                    file->size);
  uint64_t stated = ath_load_u64(file->bytes);
  if (stated > HEADER_MAX)
    return ath_fail(ATH_CORRUPT, "header too large: %" PRIu64 " bytes (at most %d); is this a "
                    "safetensors file?", stated, HEADER_MAX);
  if (stated > file->size - 8)
    return ath_fail(ATH_CORRUPT, "invalid header length: %" PRIu64 " bytes, but the file has %zu",
                    stated, file->size);
  *length = (size_t)stated;
  assert(8 + *length <= file->size);
  return ATH_OK;
}

static ath_status parse_header(const ath_mapping *file, size_t length, json_t **out) {
  const char *text = (const char *)file->bytes + 8;
  if (length == 0 || text[0] != '{')
    return ath_fail(ATH_CORRUPT, "invalid header: it does not begin with '{'");
  json_error_t error;
  json_t *header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  if (header == NULL && error.text[0] == '\0') /* jansson says nothing when memory is out */
    return ath_fail(ATH_NO_MEMORY, "no memory for the header");
  if (header == NULL)
    return ath_fail(ATH_CORRUPT, "invalid header: byte %d: %s", error.position, error.text);
  *out = header;
  return ATH_OK;
}

static ath_status check_metadata(json_t *metadata) {
  if (!json_is_object(metadata))
    return ath_fail(ATH_CORRUPT, "invalid header: %s is not an object", metadata_name);
  const char *key;
  json_t *value;
  json_object_foreach(metadata, key, value) {
    if (!json_is_string(value))
      return ath_fail(ATH_CORRUPT, "invalid header: %s: the value of \"%.60s\" is not a string",
                      metadata_name, key);
  }
  return ATH_OK;
}

static const struct dtype_row *find_dtype(const char *name) {
  for (size_t i = 0; i < DTYPE_ROWS; i++)
    if (strcmp(dtypes[i].name, name) == 0) return &dtypes[i];
  return NULL;
}

/* A whole number of at least 0. */
static bool read_size(const json_t *value, uint64_t *out) {
  if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
  *out = (uint64_t)json_integer_value(value);
  return true;
}

/* Multiplies the dimensions out to bytes and keeps those that fit an ath_type. */
static ath_status read_shape(const json_t *shape, const struct dtype_row *row, span *out,
                             uint64_t *bytes) {
  int64_t count = 1; /* signed, as the dimensions of an ath_type are multiplied later */
  uint64_t bits, size;
  size_t rank = json_array_size(shape);
  out->listed = row->dtype >= 0 && rank <= ATH_MAX_RANK;
  if (out->listed) out->entry.type = (ath_type){.dtype = row->dtype, .rank = (int)rank};
  for (size_t i = 0; i < rank; i++) {
    if (!read_size(json_array_get(shape, i), &size))
      return ath_fail(ATH_CORRUPT, "invalid shape: dimension %zu is not a number of elements", i);
    if (__builtin_mul_overflow(count, (int64_t)size, &count))
      return ath_fail(ATH_CORRUPT, "invalid shape: the number of elements overflows");
    if (out->listed) out->entry.type.dims[i] = (int64_t)size;
  }
  if (__builtin_mul_overflow((uint64_t)count, (uint64_t)row->bits, &bits))
    return ath_fail(ATH_CORRUPT, "invalid shape: the number of bytes overflows");
  if (bits % 8 != 0)
    return ath_fail(ATH_CORRUPT, "invalid shape: the elements do not fill whole bytes");
  *bytes = bits / 8;
  return ATH_OK;
}

static ath_status read_tensor(const json_t *tensor, uint64_t data_size, span *out) {
  const json_t *shape = json_object_get(tensor, "shape");
  const json_t *offsets = json_object_get(tensor, "data_offsets");
  const char *dtype = json_string_value(json_object_get(tensor, "dtype"));
  uint64_t bytes = 0;
  if (dtype == NULL || !json_is_array(shape) || !json_is_array(offsets))
    return ath_fail(ATH_CORRUPT, "invalid header: no dtype, shape or data_offsets");
  const struct dtype_row *row = find_dtype(dtype);
  if (row == NULL) return ath_fail(ATH_CORRUPT, "invalid header: unknown dtype \"%.20s\"", dtype);
  if (json_array_size(offsets) != 2 || !read_size(json_array_get(offsets, 0), &out->begin) ||
      !read_size(json_array_get(offsets, 1), &out->end))
    return ath_fail(ATH_CORRUPT, "invalid offset: data_offsets are not two places");
  if (out->begin > out->end || out->end > data_size)
    return ath_fail(ATH_CORRUPT, "invalid offset: %" PRIu64 " to %" PRIu64 " is not inside the "
                    "%" PRIu64 " bytes of data; is the file cut?", out->begin, out->end, data_size);
  ATH_TRY(read_shape(shape, row, out, &bytes));
  if (bytes != out->end - out->begin)
    return ath_fail(ATH_CORRUPT, "invalid shape: it takes %" PRIu64 " bytes and the offsets leave "
                    "%" PRIu64, bytes, out->end - out->begin);
  return ATH_OK;
}

/* By place; empty tensors share one and are ordered by name. */
static int by_place(const void *a, const void *b) {
  const span *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return strcmp(x->entry.name, y->entry.name);
}

/* The tensors, in order of place, must meet and reach the end of the data. */
static ath_status check_cover(const span *spans, size_t count, uint64_t data_size) {
  uint64_t covered = 0;
  for (size_t i = 0; i < count; i++) {
    if (spans[i].begin != covered)
      return ath_fail(ATH_CORRUPT, "tensor \"%.200s\": invalid offset: it begins at %" PRIu64
                      " %s the tensor before it, which ends at %" PRIu64, spans[i].entry.name,
                      spans[i].begin, spans[i].begin < covered ? "inside" : "apart from", covered);
    covered = spans[i].end;
  }
  if (covered != data_size)
    return ath_fail(ATH_CORRUPT, "incomplete metadata, file not fully covered: the tensors end at "
                    "%" PRIu64 " of %" PRIu64 " bytes of data", covered, data_size);
  return ATH_OK;
}

/* Keeps the tensors whose type Athanor has. */
static ath_status list_entries(ath_safetensors *self, const span *spans, size_t count,
                               const uint8_t *data) {
  self->entries = ath_arena_alloc(self->arena, count * sizeof *self->entries);
  if (self->entries == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    if (!spans[i].listed) continue;
    ath_tensor_entry *entry = &self->entries[self->count];
    assert(spans[i].end - spans[i].begin == ath_type_bytes(&spans[i].entry.type));
    *entry = spans[i].entry;
    entry->data = data + spans[i].begin;
    entry->name = ath_arena_string(self->arena, entry->name);
    if (entry->name == NULL) return ATH_NO_MEMORY;
    ATH_TRY(ath_hash_map_set(self->index, entry->name, strlen(entry->name), (int32_t)self->count));
    self->count++;
  }
  return ATH_OK;
}

static ath_status read_spans(json_t *header, uint64_t data_size, span *spans, size_t *count) {
  const char *name;
  json_t *tensor;
  json_object_foreach(header, name, tensor) {
    if (strcmp(name, metadata_name) == 0) {
      ATH_TRY(check_metadata(tensor));
      continue;
    }
    spans[*count] = (span){.entry.name = name};
    ATH_TRY_CONTEXT(read_tensor(tensor, data_size, &spans[*count]), "tensor \"%.200s\"", name);
    ++*count;
  }
  assert(*count <= json_object_size(header));
  if (*count > 0) qsort(spans, *count, sizeof *spans, by_place);
  return check_cover(spans, *count, data_size);
}

static ath_status read_header(ath_safetensors *self, json_t *header, size_t length) {
  size_t most = json_object_size(header), count = 0;
  if (most > TENSORS_MAX)
    return ath_fail(ATH_UNSUPPORTED, "%zu tensors; at most %d are read", most, TENSORS_MAX);
  span *spans = malloc((most + 1) * sizeof *spans);
  if (spans == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu tensors", most);
  const uint8_t *data = self->file.bytes + 8 + length;
  assert(8 + length <= self->file.size);
  ath_status status = read_spans(header, self->file.size - 8 - length, spans, &count);
  if (status == ATH_OK) status = list_entries(self, spans, count, data);
  free(spans);
  return status;
}

static ath_status open_file(const char *path, ath_safetensors *self) {
  size_t length = 0;
  json_t *header = NULL;
  ATH_TRY(ath_file_map(path, &self->file));
  ATH_TRY_CONTEXT(ath_arena_create(arena_limit, &self->arena), "%s", path);
  ATH_TRY_CONTEXT(ath_hash_map_create(TENSORS_MAX, &self->index), "%s", path);
  ATH_TRY_CONTEXT(find_header(&self->file, &length), "%s", path);
  ATH_TRY_CONTEXT(parse_header(&self->file, length, &header), "%s", path);
  ath_status status = read_header(self, header, length);
  json_decref(header);
  return ath_context(status, "%s", path);
}

ath_status ath_safetensors_open(const char *path, ath_safetensors **out) {
  ath_safetensors *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", path);
  ath_status status = open_file(path, self);
  if (status != ATH_OK) {
    ath_safetensors_close(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_safetensors_close(ath_safetensors *self) {
  if (self == NULL) return;
  ath_hash_map_destroy(self->index);
  ath_arena_destroy(self->arena);
  ath_file_unmap(&self->file);
  free(self);
}

size_t ath_safetensors_count(const ath_safetensors *self) { return self->count; }

const ath_tensor_entry *ath_safetensors_at(const ath_safetensors *self, size_t index) {
  assert(index < self->count);
  return &self->entries[index];
}

const ath_tensor_entry *ath_safetensors_find(const ath_safetensors *self, const char *name) {
  int32_t index;
  if (!ath_hash_map_get(self->index, name, strlen(name), &index)) return NULL;
  assert((size_t)index < self->count);
  return &self->entries[index];
}

/* --- saving --------------------------------------------------------------------------------- */

static int rank_of(ath_dtype dtype) {
  int rank = 0;
  while (dtypes[rank].dtype != (int)dtype) rank++;
  assert(rank < (int)DTYPE_ROWS && dtypes[rank].bits == 8 * (int)ath_dtype_size(dtype));
  return rank;
}

/* By falling rank, then by name: `a` and `b` point to pointers to entries. */
static int by_layout(const void *a, const void *b) {
  const ath_tensor_entry *x = *(const ath_tensor_entry *const *)a;
  const ath_tensor_entry *y = *(const ath_tensor_entry *const *)b;
  int difference = rank_of(y->type.dtype) - rank_of(x->type.dtype);
  return difference != 0 ? difference : strcmp(x->name, y->name);
}

static ath_status check_names(const ath_tensor_entry *entries, size_t count) {
  ath_hash_map *seen = NULL;
  ATH_TRY(ath_hash_map_create(count + 1, &seen));
  ath_status status = ATH_OK;
  for (size_t i = 0; status == ATH_OK && i < count; i++) {
    const char *name = entries[i].name;
    size_t length = strlen(name);
    int32_t before;
    if (strcmp(name, metadata_name) == 0 || ath_utf8_prefix(name, length) < length)
      status = ath_fail(ATH_INVALID, "\"%.200s\" cannot be a tensor's name", name);
    else if (ath_hash_map_get(seen, name, length, &before))
      status = ath_fail(ATH_INVALID, "two tensors are named \"%.200s\"", name);
    else
      status = ath_hash_map_set(seen, name, length, 0);
  }
  ath_hash_map_destroy(seen);
  return status;
}

static ath_status describe(const ath_tensor_entry *entry, uint64_t begin, ath_buffer *out) {
  ATH_TRY(ath_buffer_byte(out, ','));
  ATH_TRY(ath_buffer_json(out, entry->name, strlen(entry->name)));
  ATH_TRY(ath_buffer_format(out, ":{\"dtype\":\"%s\",\"shape\":[",
                            dtypes[rank_of(entry->type.dtype)].name));
  for (int i = 0; i < entry->type.rank; i++)
    ATH_TRY(ath_buffer_format(out, "%s%" PRId64, i > 0 ? "," : "", entry->type.dims[i]));
  return ath_buffer_format(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin,
                           begin + ath_type_bytes(&entry->type));
}

/* Makes everything in front of the data: the length, the header and its padding. */
static ath_status make_header(const ath_tensor_entry *const *order, size_t count, ath_buffer *out) {
  static const char begin[8 + 1] = "01234567"; /* the length's place */
  uint64_t place = 0;
  ATH_TRY(ath_buffer_string(out, begin));
  ATH_TRY(ath_buffer_format(out, "{\"%s\":{\"format\":\"pt\"}", metadata_name));
  for (size_t i = 0; i < count; i++) {
    ATH_TRY(describe(order[i], place, out));
    place += ath_type_bytes(&order[i]->type);
  }
  ATH_TRY(ath_buffer_byte(out, '}'));
  while (out->length % 8 != 0) ATH_TRY(ath_buffer_byte(out, ' '));
  uint64_t length = out->length - 8;
  assert(out->bytes[8] == '{' && length % 8 == 0);
  memcpy(out->bytes, &length, 8);
  return ATH_OK;
}

static ath_status write_file(const char *path, const ath_tensor_entry *const *order, size_t count,
                             const ath_buffer *header) {
  ath_file_writer *file = NULL;
  ATH_TRY(ath_file_writer_open(path, &file));
  ath_status status = ath_file_writer_write(file, header->bytes, header->length);
  for (size_t i = 0; status == ATH_OK && i < count; i++) {
    size_t bytes = ath_type_bytes(&order[i]->type);
    if (bytes > 0) status = ath_file_writer_write(file, order[i]->data, bytes);
  }
  if (status == ATH_OK) return ath_file_writer_commit(file);
  ath_file_writer_abandon(file);
  return status;
}

ath_status ath_safetensors_save(const char *path, const ath_tensor_entry *entries, size_t count) {
  ATH_TRY_CONTEXT(check_names(entries, count), "%s", path);
  const ath_tensor_entry **order = malloc((count + 1) * sizeof *order);
  if (order == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to write it", path);
  for (size_t i = 0; i < count; i++) order[i] = &entries[i];
  qsort(order, count, sizeof *order, by_layout);
  ath_buffer header = ath_buffer_make(8 + HEADER_MAX);
  ath_status status = ath_context(make_header(order, count, &header), "%s", path);
  if (status == ATH_OK) status = write_file(path, order, count, &header);
  ath_buffer_free(&header);
  free(order);
  return status;
}
