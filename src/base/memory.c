/* memory.c: large blocks of memory, on huge pages where the system has them. */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static const size_t CACHE_LINE = 64, HUGE_PAGE = (size_t)2 << 20;

void *ath_memory_alloc(size_t bytes) {
  size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : CACHE_LINE;
  if (bytes > SIZE_MAX - alignment) return NULL;
  /* C17 wants a multiple of the alignment. What is never touched takes addresses, not memory. */
  void *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
#ifdef MADV_HUGEPAGE
  /* Whole pages only: the rest of the last one would be memory that nobody asked for. That the
   * system declines is no failure. */
  if (memory != NULL && bytes >= HUGE_PAGE)
    (void)madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
  return memory;
}
