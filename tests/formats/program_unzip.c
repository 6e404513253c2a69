/* program_unzip.c: ARCHIVE ENTRY TARGET; the exit code is the status. For test_zip_reference.py. */
#include "formats/zip.h"

int main(int argc, char **argv) {
  if (argc != 4) return ATH_USAGE;
  ath_status status = ath_zip_extract(argv[1], argv[2], argv[3]);
  if (status != ATH_OK) fprintf(stderr, "%s\n", ath_error_text());
  return (int)status;
}
