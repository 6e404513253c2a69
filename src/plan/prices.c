/* prices.c: reading a table of prices. */
#include "plan/prices.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "storage/file.h"

enum { TABLE_BYTES_MAX = 1 << 16, NAME_MAX = 32, NAMES_MAX = 64 };

/* Dollars for an hour of a chip; far above any price there is. */
#define PRICE_MAX 1e6

static ath_status bad_line(int number, const char *line) {
  return ath_fail(ATH_INVALID, "line %d: a generation and its price are wanted, as in "
                  "\"v5e 1.20\", not \"%.*s\"", number, (int)strcspn(line, "\n"), line);
}

/* Reads one line; `*name` is empty where there is nothing in it but space and a comment. */
static ath_status read_line(const char *line, int number, char name[NAME_MAX], double *price) {
  char text[256], *end;
  size_t length = strcspn(line, "#\n"), at = strspn(line, " \t\r");
  name[0] = '\0';
  if (at >= length) return ATH_OK;
  if (length >= sizeof text) return bad_line(number, line);
  memcpy(text, line, length);
  text[length] = '\0';
  size_t word = strcspn(text + at, " \t\r");
  const char *number_at = text + at + word + strspn(text + at + word, " \t\r");
  bool none = *number_at == '-' && number_at[1 + strspn(number_at + 1, " \t\r")] == '\0';
  *price = none ? -1 : strtod(number_at, &end);
  if (none) end = text + length;
  end += strspn(end, " \t\r");
  bool number_is = end > number_at && isfinite(*price) && *price >= 0 && *price <= PRICE_MAX;
  bool right = word < NAME_MAX && at + word < length && *end == '\0' && (none || number_is);
  if (!right) return bad_line(number, line);
  memcpy(name, text + at, word);
  name[word] = '\0';
  return ATH_OK;
}

static const char *next_line(const char *line) {
  line += strcspn(line, "\n");
  return *line == '\n' ? line + 1 : line;
}

/* The generations that the program's own table has; how many. */
static size_t own_names(char names[NAMES_MAX][NAME_MAX]) {
  size_t count = 0;
  int number = 1;
  for (const char *line = ath_prices_text; *line != '\0' && count < NAMES_MAX;
       line = next_line(line)) {
    double price;
    if (read_line(line, number++, names[count], &price) == ATH_OK && names[count][0] != '\0')
      count++;
  }
  return count;
}

/* A slip in a name would leave its price out unnoticed. */
static ath_status check_name(const char *name, int number) {
  char own[NAMES_MAX][NAME_MAX];
  const char *names[NAMES_MAX], *near;
  size_t count = own_names(own);
  for (size_t i = 0; i < count; i++) {
    names[i] = own[i];
    if (strcmp(name, own[i]) == 0) return ATH_OK;
  }
  near = ath_nearest(name, names, count);
  return ath_fail(ATH_INVALID, "line %d: no generation \"%s\" is known%s%s%s", number, name,
                  near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                  near != NULL ? "\"?" : "");
}

static ath_status find(const char *table, const char *generation, double *out) {
  int number = 1, rows = 0;
  *out = -1;
  for (const char *line = table; *line != '\0'; line = next_line(line), number++) {
    char name[NAME_MAX];
    double price = -1;
    ATH_TRY(read_line(line, number, name, &price));
    if (name[0] == '\0') continue;
    ATH_TRY(check_name(name, number));
    if (strcmp(name, generation) == 0) *out = price;
    rows++;
  }
  if (rows > 0) return ATH_OK;
  return ath_fail(ATH_INVALID, "there is no price in it; a line is a generation and its price, as "
                  "in \"v5e 1.20\"");
}

ath_status ath_price_find(const char *file, const char *generation, double *out) {
  if (file == NULL) return ath_context(find(ath_prices_text, generation, out), "prices.txt");
  ath_buffer table = ath_buffer_make(TABLE_BYTES_MAX);
  ath_status status = ath_file_read(file, &table);
  if (status == ATH_OK)
    status = ath_context(find(table.length > 0 ? table.bytes : "", generation, out), "%s", file);
  ath_buffer_free(&table);
  return status;
}
