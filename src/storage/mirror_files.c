/* mirror_files.c: what a mirror knows of its files. The record has a line for each:
 * "<size> <time of change> <version> <name>". */
#include "storage/mirror_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/resize.h"
#include "storage/file.h"
#include "storage/names.h"

enum { RECORD_BYTES_MAX = 1 << 28 };

ath_status ath_mirror_files_add(ath_mirror_files *self, const ath_mirror_file *file) {
  if (self->count == self->capacity) {
    size_t capacity = self->capacity > 0 ? 2 * self->capacity : 64;
    if (capacity > ATH_NAMES_MAX || !ath_resize(&self->items, capacity * sizeof *self->items))
      return ath_fail(ATH_NO_MEMORY, "no memory for a list of files");
    self->capacity = capacity;
  }
  ath_mirror_file *new = &self->items[self->count];
  *new = *file;
  new->name = strdup(file->name);
  if (new->name == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of files");
  self->count++;
  return ATH_OK;
}

static int compare(const void *name, const void *file) {
  return strcmp(name, ((const ath_mirror_file *)file)->name);
}

ath_mirror_file *ath_mirror_files_find(const ath_mirror_files *self, const char *name) {
  if (self->count == 0) return NULL;
  return bsearch(name, self->items, self->count, sizeof *self->items, compare);
}

void ath_mirror_files_free(ath_mirror_files *self) {
  for (size_t i = 0; i < self->count; i++) free(self->items[i].name);
  free(self->items);
  *self = (ath_mirror_files){0};
}

static ath_status read_line(ath_mirror_files *self, char *line) {
  ath_mirror_file file = {0};
  file.size = strtoull(line, &line, 10);
  file.changed = strtoull(line, &line, 10);
  file.version = strtoull(line, &line, 10);
  if (*line != ' ') return ATH_OK;
  file.name = line + 1;
  bool ordered = self->count == 0 || strcmp(self->items[self->count - 1].name, file.name) < 0;
  return ordered ? ath_mirror_files_add(self, &file) : ATH_OK;
}

ath_status ath_mirror_files_read(ath_mirror_files *self, const char *path) {
  ath_buffer text = ath_buffer_make(RECORD_BYTES_MAX);
  ath_status status = ath_file_read(path, &text);
  char *rest = text.bytes;
  for (char *line; status == ATH_OK && (line = strsep(&rest, "\n")) != NULL && rest != NULL;)
    status = read_line(self, line);
  ath_buffer_free(&text);
  return status == ATH_NOT_FOUND ? ATH_OK : status;
}

/* Names with a line break are left out: they are sent anew each time. */
ath_status ath_mirror_files_write(const ath_mirror_files *self, const char *path) {
  ath_buffer text = ath_buffer_make(RECORD_BYTES_MAX);
  ath_status status = ATH_OK;
  for (size_t i = 0; i < self->count && status == ATH_OK; i++) {
    const ath_mirror_file *file = &self->items[i];
    if (file->version == 0 || strchr(file->name, '\n') != NULL) continue;
    status = ath_buffer_format(&text, "%llu %llu %llu %s\n", (unsigned long long)file->size,
                               (unsigned long long)file->changed,
                               (unsigned long long)file->version, file->name);
  }
  if (status == ATH_OK) status = ath_file_write(path, text.bytes, text.length);
  ath_buffer_free(&text);
  return status;
}
