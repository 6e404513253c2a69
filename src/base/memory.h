/* memory.h: large blocks of memory. */
#ifndef ATHANOR_BASE_MEMORY_H
#define ATHANOR_BASE_MEMORY_H

#include <stddef.h>

/* `bytes` bytes, uninitialised, aligned to 64, to be released with free(); NULL without memory.
 * Blocks of 2 MiB and more lie on huge pages where the system gives them (Linux: unless
 * /sys/kernel/mm/transparent_hugepage/enabled says never): matrices that are read across their
 * rows then miss the processor's page tables less. Any thread. */
void *ath_memory_alloc(size_t bytes);

/* The same on pages that are zero and take memory only once they are touched, for what is filled
 * bit by bit; to be released by ath_memory_unmap with the same `bytes`. */
void *ath_memory_map(size_t bytes);
void ath_memory_unmap(void *memory, size_t bytes); /* NULL is allowed */

#endif
