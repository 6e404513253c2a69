/* program_samples.c: writes sample files for other libraries to read, and shows what our readers
 * find in theirs, as one JSON value a line. Run by test_reference_libraries.py and
 * test_shared_files.py.
 *
 *     program_samples write FOLDER
 *     program_samples examples FILE.tfrecord
 *     program_samples images FILE.tfrecord
 *     program_samples tensors FILE.safetensors */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/events.h"
#include "athanor/rows.h"
#include "athanor/safetensors.h"
#include "athanor/tfrecord.h"
#include "base/buffer.h"
#include "formats/sha256.h"
#include "storage/file.h"

enum { RECORDS = 100, VALUES_MAX = 1 << 16 };

/* --- writing: what is in the files is repeated in the Python test ---------------------------- */

/* Record i: i % 5 values "ids" i·j·1000 − 7, and as many "mask" values 1. */
static ath_status write_examples(const char *path) {
  ath_tfrecord_writer *writer = NULL;
  ath_buffer example = ath_buffer_make(1 << 16);
  ATH_TRY(ath_tfrecord_create(path, &writer));
  for (int i = 0; i < RECORDS; i++) {
    int32_t ids[5], mask[5];
    for (int j = 0; j < i % 5; j++) ids[j] = i * j * 1000 - 7, mask[j] = 1;
    const ath_int64_feature features[] = {{"ids", ids, (size_t)(i % 5)},
                                          {"mask", mask, (size_t)(i % 5)}};
    ath_buffer_clear(&example);
    ATH_TRY(ath_example_write(features, 2, &example));
    ATH_TRY(ath_tfrecord_write(writer, example.bytes, example.length));
  }
  ath_buffer_free(&example);
  return ath_tfrecord_commit(writer);
}

/* Row i: i % 9 tokens 10 + i in rows of 8, padded with 1, and label i % 3; and an image of i bytes
 * behind a JPEG's first ones. */
static ath_status write_rows(const char *texts_path, const char *images_path) {
  enum { LENGTH = 8 };
  int32_t tokens[LENGTH], ids[LENGTH], mask[LENGTH];
  uint8_t image[RECORDS + 3] = {0xff, 0xd8, 0xff};
  ath_tfrecord_writer *texts = NULL, *images = NULL;
  ath_buffer out = ath_buffer_make(1 << 16);
  ATH_TRY(ath_tfrecord_create(texts_path, &texts));
  ATH_TRY(ath_tfrecord_create(images_path, &images));
  for (int i = 0; i < RECORDS; i++) {
    ath_text_row row = {.input_ids = ids, .attention_mask = mask, .length = LENGTH,
                        .labelled = true, .label = i % 3};
    const ath_image_row picture = {.image = {image, 3 + (size_t)i}, .label = i};
    for (int k = 0; k < LENGTH; k++) tokens[k] = 10 + i;
    ath_buffer_clear(&out);
    ATH_TRY(ath_text_row_fill(&row, tokens, (size_t)(i % 9), 1));
    ATH_TRY(ath_text_row_write(&row, &out));
    ATH_TRY(ath_tfrecord_write(texts, out.bytes, out.length));
    ath_buffer_clear(&out);
    ATH_TRY(ath_image_row_write(&picture, &out));
    ATH_TRY(ath_tfrecord_write(images, out.bytes, out.length));
  }
  ath_buffer_free(&out);
  ATH_TRY(ath_tfrecord_commit(texts));
  return ath_tfrecord_commit(images);
}

static ath_status write_tensors(const char *path) {
  float floats[24];
  int32_t integers[3] = {-1, 0, 1};
  uint32_t words[2] = {0, UINT32_MAX};
  uint16_t halves[4] = {0x3f80, 0xbf80, 0x0000, 0x7f80}; /* 1, −1, 0, infinity */
  for (int i = 0; i < 24; i++) floats[i] = (float)i / 8;
  const ath_tensor_entry entries[] = {
      {"layer.1.weight", ath_type_make(ATH_F32, 3, 2, 3, 4), floats},
      {"layer.0.bias", ath_type_make(ATH_F32, 1, 5), floats},
      {"integers", ath_type_make(ATH_I32, 1, 3), integers},
      {"words", ath_type_make(ATH_U32, 2, 1, 2), words},
      {"halves", ath_type_make(ATH_BF16, 2, 2, 2), halves},
      {"scalar", ath_type_make(ATH_F32, 0), floats + 4},
      {"n\xc3\xa4me \"q\" \\ /", ath_type_make(ATH_F32, 2, 0, 4), NULL},
  };
  return ath_safetensors_save(path, entries, sizeof entries / sizeof *entries);
}

/* Ten steps with loss = step; then resumed behind step 6 with loss = 100 + step up to step 9. */
static ath_status write_events(const char *folder) {
  ath_events *events = NULL;
  ATH_TRY(ath_events_create(folder, 0, &events));
  for (int step = 1; step <= 10; step++)
    ATH_TRY(ath_events_scalar(events, step, "loss", (float)step));
  ATH_TRY(ath_events_close(events));
  ATH_TRY(ath_events_create(folder, 6, &events));
  for (int step = 7; step <= 9; step++)
    ATH_TRY(ath_events_scalar(events, step, "loss", (float)(100 + step)));
  return ath_events_close(events);
}

static ath_status write_samples(const char *folder) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, "examples.tfrecord"));
  ATH_TRY(write_examples(path));
  ATH_TRY(ath_path_join(path, folder, "tensors.safetensors"));
  ATH_TRY(write_tensors(path));
  char images[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, "texts.tfrecord"));
  ATH_TRY(ath_path_join(images, folder, "images.tfrecord"));
  ATH_TRY(write_rows(path, images));
  ATH_TRY(ath_path_join(path, folder, "events"));
  return write_events(path);
}

/* --- showing --------------------------------------------------------------------------------- */

typedef struct shown_record {
  const ath_record *record;
  const char *separator;
} shown_record;

/* The values, or null when they are not for an int32_t. */
static ath_status show_values(const ath_record *record, const char *name) {
  static int32_t values[VALUES_MAX];
  size_t count = 0;
  ath_status status = ath_example_read_int64(record->bytes, record->length, name, values,
                                             VALUES_MAX, &count);
  if (status == ATH_INVALID) printf(", \"values\": null");
  if (status != ATH_OK) return status == ATH_INVALID ? ATH_OK : status;
  printf(", \"values\": [");
  for (size_t i = 0; i < count; i++) printf("%s%d", i > 0 ? ", " : "", values[i]);
  printf("]");
  return ATH_OK;
}

static ath_status show_feature(void *context, const ath_feature_view *feature) {
  shown_record *shown = context;
  char name[256];
  if (feature->place != ATH_FEATURE_PLAIN) return ATH_OK;
  snprintf(name, sizeof name, "%.*s", (int)feature->name_length, feature->name);
  printf("%s\"%s\": {\"kind\": %d, \"count\": %zu", shown->separator, name, (int)feature->kind,
         feature->count);
  shown->separator = ", ";
  ath_status status = ATH_OK;
  if (feature->kind == ATH_FEATURE_INT64) status = show_values(shown->record, name);
  printf("}");
  return status;
}

static ath_status show_examples(const char *path) {
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  ATH_TRY(ath_tfrecord_open(path, &reader));
  ath_status status;
  while ((status = ath_tfrecord_next(reader, &record)) == ATH_OK && record.bytes != NULL) {
    shown_record shown = {&record, ""};
    printf("{\"length\": %zu, \"at\": %" PRIu64 ", \"features\": {", record.length, record.at);
    ath_status visited = ath_example_visit(record.bytes, record.length, show_feature, &shown);
    printf("}, \"status\": \"%s\"}\n", ath_status_name(visited));
  }
  ath_tfrecord_close(reader);
  return status;
}

static ath_status show_images(const char *path) {
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  ath_status status;
  ATH_TRY(ath_tfrecord_open(path, &reader));
  while ((status = ath_tfrecord_next(reader, &record)) == ATH_OK && record.bytes != NULL) {
    ath_image_row row;
    char digest[ATH_SHA256_TEXT];
    ATH_TRY_GOTO(ath_image_row_read(record.bytes, record.length, &row), done);
    ath_sha256_bytes(row.image.bytes, row.image.length, digest);
    printf("{\"label\": %" PRId64 ", \"sha256\": \"%s\"}\n", row.label, digest);
  }
done:
  ath_tfrecord_close(reader);
  return status;
}

static ath_status show_tensors(const char *path) {
  ath_safetensors *tensors = NULL;
  ATH_TRY(ath_safetensors_open(path, &tensors));
  for (size_t i = 0; i < ath_safetensors_count(tensors); i++) {
    const ath_tensor_entry *entry = ath_safetensors_at(tensors, i);
    char digest[ATH_SHA256_TEXT];
    ath_sha256_bytes(entry->data, ath_type_bytes(&entry->type), digest);
    ath_buffer name = ath_buffer_make(1 << 16);
    ATH_TRY(ath_buffer_json(&name, entry->name, strlen(entry->name)));
    printf("{\"name\": %s, \"dtype\": \"%s\", \"sha256\": \"%s\", \"shape\": [", name.bytes,
           ath_dtype_name(entry->type.dtype), digest);
    ath_buffer_free(&name);
    for (int k = 0; k < entry->type.rank; k++)
      printf("%s%" PRId64, k > 0 ? ", " : "", entry->type.dims[k]);
    printf("]}\n");
  }
  ath_safetensors_close(tensors);
  return ATH_OK;
}

int main(int count, char **arguments) {
  ath_status status = ATH_USAGE;
  if (count == 3 && strcmp(arguments[1], "write") == 0) status = write_samples(arguments[2]);
  if (count == 3 && strcmp(arguments[1], "examples") == 0) status = show_examples(arguments[2]);
  if (count == 3 && strcmp(arguments[1], "images") == 0) status = show_images(arguments[2]);
  if (count == 3 && strcmp(arguments[1], "tensors") == 0) status = show_tensors(arguments[2]);
  if (status != ATH_OK) fprintf(stderr, "%s\n", ath_error_text());
  return (int)status;
}
