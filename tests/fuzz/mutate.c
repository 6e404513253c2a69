/* mutate.c: calls a fuzz target with the seeds, each changed at random in a few places: a search
 * without feedback, which is short enough to be a test of every build.
 *
 *     program [COUNT [SEED]] */
#include <dirent.h>

#include "fuzzing.h"

enum { FILES_MAX = 256, FILE_MAX = 1 << 20, CHANGES_MAX = 8, DEFAULT_COUNT = 3000 };

typedef struct file {
  uint8_t *bytes;
  size_t size;
} file;

static file files[FILES_MAX];
static size_t file_count;

static int is_shown(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void read_files(void) {
  struct dirent **entries;
  int count = scandir(seeds_folder(), &entries, is_shown, alphasort);
  MUST(count > 0 && count <= FILES_MAX);
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", seeds_folder(), entries[i]->d_name);
    FILE *stream = fopen(path, "rb");
    MUST(stream != NULL);
    file *f = &files[file_count++];
    f->bytes = malloc(FILE_MAX);
    MUST(f->bytes != NULL);
    f->size = fread(f->bytes, 1, FILE_MAX, stream);
    fclose(stream);
    free(entries[i]);
  }
  free(entries);
}

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static uint64_t next(uint64_t *random) {
  uint64_t z = *random += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static size_t below(uint64_t *random, size_t limit) {
  return limit == 0 ? 0 : (size_t)(next(random) % limit);
}

/* One change: a byte, a bit, a cut, a piece twice, or a piece of another file. */
static size_t change(uint64_t *random, uint8_t *bytes, size_t size) {
  size_t at = below(random, size), length = 1 + below(random, 64);
  const file *other = &files[below(random, file_count)];
  size_t from = below(random, other->size);
  if (length > size - at) length = size - at;
  switch (below(random, 5)) {
    case 0: if (size > 0) bytes[at] = (uint8_t)next(random); return size;
    case 1: if (size > 0) bytes[at] ^= (uint8_t)(1u << below(random, 8)); return size;
    case 2:
      memmove(bytes + at, bytes + at + length, size - at - length);
      return size - length;
    case 3:
      memmove(bytes + at + length, bytes + at, size - at);
      return size + length;
    default:
      if (length > other->size - from) length = other->size - from;
      memmove(bytes + at + length, bytes + at, size - at);
      memcpy(bytes + at, other->bytes + from, length);
      return size + length;
  }
}

int main(int argc, char **argv) {
  long count = argc > 1 ? atol(argv[1]) : DEFAULT_COUNT;
  uint64_t random = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
  read_files();
  for (long n = 0; n < count; n++) {
    const file *seed = &files[below(&random, file_count)];
    uint8_t *bytes = malloc(seed->size + 64 * CHANGES_MAX + 1);
    MUST(bytes != NULL);
    memcpy(bytes, seed->bytes, seed->size);
    size_t size = seed->size;
    for (size_t changes = below(&random, CHANGES_MAX); changes > 0; changes--)
      size = change(&random, bytes, size);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
  }
  printf("%ld inputs\n", count);
  return 0;
}
