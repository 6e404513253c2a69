/* resize.h: an array made larger or smaller, in place of its pointer. */
#ifndef ATHANOR_BASE_RESIZE_H
#define ATHANOR_BASE_RESIZE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* `array` is the address of a pointer that malloc or realloc gave, or of a null one. When there is
 * no memory, false, and the array stays as it was. The pointer is copied as bytes: its type, which
 * this function does not know, decides how it may be accessed. */
static inline bool ath_resize(void *array, size_t bytes) {
  void *old;
  memcpy(&old, array, sizeof old);
  void *moved = realloc(old, bytes);
  if (moved != NULL) memcpy(array, &moved, sizeof moved);
  return moved != NULL;
}

#endif
