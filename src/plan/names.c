/* names.c: from lines of a module's text to the names of nodes. */
#include "plan/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

ath_status ath_line_names_make(const ath_buffer *text, ath_arena *arena, ath_line_names *out) {
  int count = 1, line = 0;
  for (size_t i = 0; i < text->length; i++) count += text->bytes[i] == '\n';
  out->count = count;
  out->lines = ath_arena_alloc(arena, (size_t)count * sizeof *out->lines);
  if (out->lines == NULL) return ATH_NO_MEMORY;
  out->lines[line++] = text->length > 0 ? text->bytes : "";
  for (size_t i = 0; i < text->length; i++)
    if (text->bytes[i] == '\n') out->lines[line++] = text->bytes + i + 1;
  return ATH_OK;
}

/* Without a number at the end: ".12" of a statement, or "_12" of one node among several. */
static size_t bare_length(const char *name, size_t length, char mark) {
  size_t bare = length;
  while (bare > 0 && isdigit((unsigned char)name[bare - 1])) bare--;
  return bare > 1 && bare < length && name[bare - 1] == mark ? bare - 1 : length;
}

/* Copies a name without the numbers at its end, ".12" in it as ".N". */
static void generalise(const char *from, size_t length, char out[ATH_PLAN_NAME_MAX]) {
  const char *end = from + bare_length(from, bare_length(from, length, '.'), '_');
  size_t at = 0;
  while (from < end && at + 2 < ATH_PLAN_NAME_MAX) {
    bool number = *from == '.' && from + 1 < end && isdigit((unsigned char)from[1]);
    out[at++] = *from++;
    if (!number) continue;
    out[at++] = 'N';
    while (from < end && isdigit((unsigned char)*from)) from++;
  }
  out[at] = '\0';
}

void ath_plan_line_name(const ath_line_names *self, int64_t line, char out[ATH_PLAN_NAME_MAX]) {
  out[0] = '\0';
  if (line < 1 || line > self->count) return;
  const char *at = self->lines[line - 1];
  at += strspn(at, " ");
  if (*at != '%') return;
  size_t length = strcspn(++at, " :=\n");
  generalise(at, length, out);
}

void ath_plan_name(const ath_line_names *self, const ath_xla_instruction *instruction,
                   char out[ATH_PLAN_NAME_MAX]) {
  out[0] = '\0';
  if (*instruction->op_name != '\0')
    generalise(instruction->op_name, strlen(instruction->op_name), out);
  else ath_plan_line_name(self, instruction->line, out);
  if (out[0] == '\0') generalise(instruction->name, strlen(instruction->name), out);
}
