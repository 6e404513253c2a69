/* reading.c: what it takes to read the documents of a file, with none of what is done with them:
 *     bench_reading FILE [TEXT_COLUMN]
 * One line: documents, bytes of text, seconds of processor time. */
#include <stdio.h>
#include <sys/resource.h>

#include "athanor/documents.h"

static double seconds(const struct timeval *t) { return (double)t->tv_sec + 1e-6 * t->tv_usec; }

int main(int count, char **words) {
  if (count < 2) return 2;
  const char *path = words[1];
  ath_reading reading = {.text_column = count > 2 ? words[2] : NULL};
  ath_documents *documents = NULL;
  ath_document d = {.text = ""};
  unsigned long long read = 0, bytes = 0;
  ath_status status = ath_documents_open(&path, 1, &reading, NULL, &documents);
  while (status == ATH_OK && d.text != NULL) {
    status = ath_documents_next(documents, &d);
    read += d.text != NULL;
    bytes += d.length;
  }
  ath_documents_close(documents);
  if (status != ATH_OK) {
    fprintf(stderr, "%s\n", ath_error_text());
    return (int)status;
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%llu %llu %.3f\n", read, bytes, seconds(&usage.ru_utime) + seconds(&usage.ru_stime));
  return 0;
}
