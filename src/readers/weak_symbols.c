/* weak_symbols.c: loading a Python module as a library, without Python.
 *
 * A module is linked against the interpreter that loads it. Its missing functions would be looked
 * for when they are called, which never happens here; but its missing data, like PyExc_ValueError,
 * are looked for at once, and loading fails. Of weak symbols the loader takes 0 (System V ABI,
 * symbol table). The file stays as it was distributed, and so does its checksum. */
#include "readers/weak_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "storage/file.h"

static bool begins_so(const char *name, size_t room, const char *prefix) {
  size_t length = strlen(prefix);
  if (room > 0 && *name == '_') name++, room--;
  return room > length && memcmp(name, prefix, length) == 0;
}

/* Whether `count` things of `size` bytes lie at `at` in the file. */
static bool lies_within(uint64_t at, uint64_t count, uint64_t size, size_t file) {
  return at <= file && count <= (file - at) / size && at % 8 == 0;
}

static bool weaken_table(uint8_t *bytes, size_t size, const Elf64_Shdr *table,
                         const Elf64_Shdr *strings, const char *prefix) {
  uint64_t count = table->sh_size / sizeof(Elf64_Sym);
  if (!lies_within(table->sh_offset, count, sizeof(Elf64_Sym), size)) return false;
  if (strings->sh_offset > size || strings->sh_size > size - strings->sh_offset) return false;
  Elf64_Sym *symbols = (Elf64_Sym *)(bytes + table->sh_offset);
  const char *names = (const char *)bytes + strings->sh_offset;
  for (uint64_t i = 0; i < count; i++) {
    Elf64_Sym *s = &symbols[i];
    if (s->st_shndx != SHN_UNDEF || ELF64_ST_BIND(s->st_info) != STB_GLOBAL) continue;
    if (s->st_name >= strings->sh_size) return false;
    if (begins_so(names + s->st_name, strings->sh_size - s->st_name, prefix))
      s->st_info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(s->st_info));
  }
  return true;
}

static bool weaken(uint8_t *bytes, size_t size, const char *prefix) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
  if (size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr) ||
      !lies_within(header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr), size))
    return false;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    return sections[i].sh_link < header->e_shnum &&
           weaken_table(bytes, size, &sections[i], &sections[sections[i].sh_link], prefix);
  }
  return false;
}

/* Within the kernel, which is a third of the work of memcpy between two mappings. */
static ath_status copy_file(const char *path, int copy, uint64_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t sent = file >= 0 ? 1 : -1;
  uint64_t done = 0;
  for (; sent > 0 && done < size; done += (uint64_t)sent) {
    sent = sendfile(copy, file, NULL, size - done);
    if (sent < 0) break;
  }
  ath_status status = ATH_OK;
  if (sent < 0) status = ath_fail_errno(errno, "%s: copying", path);
  else if (done < size) status = ath_fail(ATH_IO, "%s: became shorter while it was copied", path);
  if (file >= 0) close(file);
  return status;
}

/* The copy is read by the loader through its descriptor's name. */
static ath_status open_copy(const char *path, int copy, const char *prefix, void **library) {
  uint64_t size;
  ATH_TRY(ath_file_size(path, &size));
  ATH_TRY(copy_file(path, copy, size));
  void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
  if (bytes == MAP_FAILED) return ath_fail_errno(errno, "%s: copying", path);
  bool good = weaken(bytes, size, prefix);
  munmap(bytes, size);
  if (!good) return ath_fail(ATH_UNSUPPORTED, "%s: no library for this machine", path);
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", copy);
  *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  return *library != NULL ? ATH_OK : ath_fail(ATH_UNSUPPORTED, "%s: %s", path, dlerror());
}

ath_status ath_open_with_weak(const char *path, const char *prefix, void **library) {
  int copy = memfd_create("library", MFD_CLOEXEC);
  ath_status status = copy >= 0 ? open_copy(path, copy, prefix, library)
                                : ath_fail_errno(errno, "%s: no memory to load it", path);
  if (copy >= 0) close(copy);
  return status;
}
