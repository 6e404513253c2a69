/* given.c: by which name the user knows what lies in a cache here. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { NOTED_MAX = 64 };

static struct { char *copy, *given; } noted[NOTED_MAX];
static size_t noted_count;

static char *without_slash(const char *text) {
  char *copy = strdup(text);
  size_t length = copy != NULL ? strlen(copy) : 0;
  while (length > 1 && copy[length - 1] == '/') copy[--length] = '\0';
  return copy;
}

/* It serves messages alone, which do without it where there is no memory. */
void ath_cli_note_copy(const char *copy, const char *given) {
  if (noted_count == NOTED_MAX || strcmp(copy, given) == 0) return;
  noted[noted_count].copy = without_slash(copy);
  noted[noted_count].given = without_slash(given);
  bool kept = noted[noted_count].copy != NULL && noted[noted_count].given != NULL;
  if (kept) noted_count++;
}

/* "/cache/a" is no part of "/cache/ab", nor of "/cache/a.txt". */
static bool ends_here(char c) {
  return c == '\0' || (!isalnum((unsigned char)c) && strchr("-_.%", c) == NULL);
}

static const char *find_copy(const char *text, size_t *length) {
  for (size_t i = 0; i < noted_count; i++) {
    *length = strlen(noted[i].copy);
    if (strncmp(text, noted[i].copy, *length) == 0 && ends_here(text[*length]))
      return noted[i].given;
  }
  return NULL;
}

const char *ath_cli_as_given(const char *text, char out[ATH_CLI_GIVEN_MAX]) {
  size_t used = 0, copied;
  while (*text != '\0') {
    const char *given = *text == '/' ? find_copy(text, &copied) : NULL;
    size_t length = given != NULL ? strlen(given) : 1;
    if (used + length >= ATH_CLI_GIVEN_MAX) break;
    memcpy(out + used, given != NULL ? given : text, length);
    used += length;
    text += given != NULL ? copied : 1;
  }
  out[used] = '\0';
  return out;
}
