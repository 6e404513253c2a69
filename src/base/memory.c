/* memory.c: large blocks of memory, on huge pages where the system has them. */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t CACHE_LINE = 64, HUGE_PAGE = (size_t)2 << 20;

/* Whole pages only: the rest of the last one would be memory that nobody asked for. That the system
 * declines is no failure. */
static void want_huge_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes >= HUGE_PAGE) (void)madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#else
  (void)memory, (void)bytes;
#endif
}

/* In whole pages of the system, whatever their size is. */
static size_t mapped_size(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

void *ath_memory_alloc(size_t bytes) {
  size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : CACHE_LINE;
  if (bytes > SIZE_MAX - alignment) return NULL;
  /* C17 wants a multiple of the alignment. What is never touched takes addresses, not memory. */
  void *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory != NULL) want_huge_pages(memory, bytes);
  return memory;
}

/* The system maps at its own pages' borders: for huge ones, up to one more is mapped, and what lies
 * before and behind is given back. */
void *ath_memory_map(size_t bytes) {
  size_t most = SIZE_MAX - HUGE_PAGE;
  if (bytes == 0 || bytes > most) return NULL;
  size_t size = mapped_size(bytes), spare = size >= HUGE_PAGE ? HUGE_PAGE : 0;
  char *memory =
      mmap(NULL, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  if (spare > 0) {
    size_t before = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) (void)munmap(memory, before);
    memory += before;
    if (spare > before) (void)munmap(memory + size, spare - before);
  }
  want_huge_pages(memory, size);
  return memory;
}

void ath_memory_unmap(void *memory, size_t bytes) {
  if (memory != NULL) (void)munmap(memory, mapped_size(bytes));
}
