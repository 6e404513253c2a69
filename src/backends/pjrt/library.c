/* library.c: the headers of a shared library against its size.
 *
 *     ELF file:  header │ program headers: where segments lie │ segments … │ section headers
 *
 * The last of these is the file's end; elf(5). */
#include "backends/pjrt/library.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#ifdef __x86_64__
enum { MACHINE = EM_X86_64 };
#define MACHINE_NAME "x86-64"
#else
enum { MACHINE = EM_AARCH64 };
#define MACHINE_NAME "64-bit ARM"
#endif

#define INSTALL "\"athanor plugins install\" or another wheel has a whole one"

static ath_status no_library(const char *path) {
  return ath_fail(ATH_INVALID, "%s: not a shared library; a plugin is a file .so out of a wheel, "
                  "and \"athanor plugins install\" takes it out", path);
}

static ath_status cut_short(const char *path, uint64_t size, uint64_t wanted) {
  return ath_fail(ATH_CORRUPT, "%s: cut short: it has %llu bytes, and its headers say at least "
                  "%llu; " INSTALL, path, (unsigned long long)size, (unsigned long long)wanted);
}

static ath_status check_kind(const char *path, const Elf64_Ehdr *header) {
  const unsigned char *ident = header->e_ident;
  if (memcmp(ident, ELFMAG, SELFMAG) != 0) return no_library(path);
  if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != MACHINE)
    return ath_fail(ATH_UNSUPPORTED, "%s: a library for another kind of machine (ELF machine %d, "
                    "%d-bit); this program is for " MACHINE_NAME, path, (int)header->e_machine,
                    ident[EI_CLASS] == ELFCLASS64 ? 64 : 32);
  if (header->e_type != ET_DYN || header->e_phentsize != sizeof(Elf64_Phdr))
    return no_library(path);
  return ATH_OK;
}

/* Whether `count` bytes from `offset` on end within `size`. */
static bool lies_within(uint64_t offset, uint64_t count, uint64_t size) {
  return offset <= size && count <= size - offset;
}

/* The program headers, and the segments that they promise. */
static ath_status check_segments(const char *path, FILE *file, const Elf64_Ehdr *header,
                                 uint64_t size) {
  uint64_t bytes = (uint64_t)header->e_phnum * sizeof(Elf64_Phdr);
  if (!lies_within(header->e_phoff, bytes, size))
    return cut_short(path, size, header->e_phoff + bytes);
  if (fseeko(file, (off_t)header->e_phoff, SEEK_SET) != 0)
    return ath_fail_errno(errno, "%s", path);
  for (int i = 0; i < header->e_phnum; i++) {
    Elf64_Phdr segment;
    if (fread(&segment, sizeof segment, 1, file) != 1)
      return ath_fail(ATH_IO, "%s: cannot read its headers", path);
    if (!lies_within(segment.p_offset, segment.p_filesz, size))
      return cut_short(path, size, segment.p_offset + segment.p_filesz);
  }
  return ATH_OK;
}

static ath_status check(const char *path, FILE *file) {
  Elf64_Ehdr header = {0};
  struct stat about;
  if (fstat(fileno(file), &about) != 0) return ath_fail_errno(errno, "%s", path);
  uint64_t size = (uint64_t)about.st_size;
  size_t got = fread(&header, 1, sizeof header, file);
  if (got < sizeof header && got >= SELFMAG && memcmp(&header, ELFMAG, SELFMAG) == 0)
    return cut_short(path, size, sizeof header);
  if (got < sizeof header) return no_library(path);
  ATH_TRY(check_kind(path, &header));
  ATH_TRY(check_segments(path, file, &header, size));
  uint64_t sections = (uint64_t)header.e_shnum * header.e_shentsize;
  if (lies_within(header.e_shoff, sections, size)) return ATH_OK;
  return cut_short(path, size, header.e_shoff + sections);
}

ath_status ath_library_check(const char *path) {
  struct stat about; /* before it is opened: a pipe would wait for a writer */
  if (stat(path, &about) != 0) return ath_fail_errno(errno, "%s", path);
  if (!S_ISREG(about.st_mode)) return no_library(path);
  FILE *file = fopen(path, "rbe");
  if (file == NULL) return ath_fail_errno(errno, "%s", path);
  ath_status status = check(path, file);
  fclose(file);
  return status;
}
