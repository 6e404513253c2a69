/* program_token.c: prints the token of the credentials found, or fails as the command does; given
 * a token, what is got in its place. */
#include <stdio.h>

#include "storage/credentials.h"

int main(int argc, char **argv) {
  static char token[ATH_TOKEN_MAX];
  ath_status status = ath_credentials_token(NULL, token);
  if (status == ATH_OK && argc > 1) status = ath_credentials_token(argv[1], token);
  if (status == ATH_OK) puts(token);
  else fprintf(stderr, "%s\n", ath_error_text());
  return (int)status;
}
