/* program_resume.c: reads the documents of a file, and then again from the places of many: what
 * follows must be the same. Prints how many there are. Arguments: the file, how to read it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/documents.h"

enum { DOCUMENTS_MAX = 4096, PLACES = 40 };

typedef struct kept {
  char *text;
  size_t length;
  ath_text_place place, next;
} kept;

static bool same_place(const ath_text_place *a, const ath_text_place *b) {
  return a->input == b->input && a->at == b->at && a->line == b->line;
}

static ath_status read_all(const char *const *path, const ath_reading *reading, kept *all,
                           size_t *count) {
  ath_documents *documents = NULL;
  ath_document d;
  ATH_TRY(ath_documents_open(path, 1, reading, NULL, &documents));
  ath_status status = ATH_OK;
  for (*count = 0; *count < DOCUMENTS_MAX; ++*count) {
    status = ath_documents_next(documents, &d);
    if (status != ATH_OK || d.text == NULL) break;
    all[*count] = (kept){malloc(d.length + 1), d.length, d.place, d.next};
    memcpy(all[*count].text, d.text, d.length);
  }
  ath_documents_close(documents);
  return status;
}

/* From the place of document `from`: up to five, and that the last ends where the next begins. */
static ath_status check_from(const char *const *path, const ath_reading *reading, const kept *all,
                             size_t count, size_t from, bool *same) {
  ath_documents *documents = NULL;
  ath_document d;
  ATH_TRY(ath_documents_open(path, 1, reading, &all[from].place, &documents));
  ath_status status = ATH_OK;
  *same = true;
  for (size_t i = from; i < from + 5 && *same && status == ATH_OK; i++) {
    status = ath_documents_next(documents, &d);
    if (status != ATH_OK) break;
    if (i >= count) *same = d.text == NULL;
    else *same = d.text != NULL && d.length == all[i].length &&
                 memcmp(d.text, all[i].text, d.length) == 0 &&
                 same_place(&d.place, &all[i].place) && same_place(&d.next, &all[i].next);
  }
  ath_documents_close(documents);
  return status;
}

static ath_status run(const char *const *path, const ath_reading *reading, kept *all,
                      size_t *count) {
  ATH_TRY(read_all(path, reading, all, count));
  for (size_t i = 0; i < *count; i += 1 + *count / PLACES) {
    bool same;
    ATH_TRY(check_from(path, reading, all, *count, i, &same));
    if (!same) return ath_fail(ATH_MISMATCH, "from document %zu others follow", i);
  }
  return ATH_OK;
}

int main(int count, char **words) {
  static kept all[DOCUMENTS_MAX];
  ath_reading reading = {.text_column = "text"};
  size_t documents = 0;
  if (count != 3) return 2;
  if (strcmp(words[2], "block") == 0) reading.unit = ATH_UNIT_BLOCK;
  if (strcmp(words[2], "skip") == 0) reading.skip_errors = true;
  if (strcmp(words[2], "sql") == 0) reading.sql = words[1];
  const char *path = words[1];
  ath_status status = run(&path, &reading, all, &documents);
  for (size_t i = 0; i < documents; i++) free(all[i].text);
  if (status == ATH_OK) printf("%zu\n", documents);
  else printf("%s\n", ath_error_text());
  return (int)status;
}
