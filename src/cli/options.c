/* options.c: parsing a command's options, and its help page. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/utf8.h"
#include "cli/cli.h"

enum { OPTIONS_MAX = 128, HELP_COLUMN = 32, HELP_WIDTH = 80,
       HELP_TEXT_MAX = 512, NAME_MAX_LENGTH = 64 };

bool ath_cli_only_check;

/* --- help ---------------------------------------------------------------------------------- */

/* The columns that `bytes` bytes of text take: characters, which for UTF-8 are the bytes that do
 * not continue one. */
static int columns_of(const char *text, size_t bytes) {
  int columns = 0;
  for (size_t i = 0; i < bytes; i++) columns += !ath_utf8_continues(text[i]);
  return columns;
}

/* Prints `text` wrapped at HELP_WIDTH, every line but the first indented. */
static void print_wrapped(const char *text, int column) {
  int at = column;
  while (*text != '\0') {
    size_t bytes = strcspn(text, " ");
    int width = columns_of(text, bytes);
    if (at + 1 + width > HELP_WIDTH && at > column) {
      printf("\n%*s", column, "");
      at = column;
    }
    if (at > column) at += printf(" ");
    printf("%.*s", (int)bytes, text);
    at += width;
    text += bytes;
    text += strspn(text, " ");
  }
}

/* What stands after the help: the default, in brackets, or how the option is to be given. */
static void describe_use(const ath_option *option, char out[HELP_TEXT_MAX]) {
  const char *text = option->kind == ATH_OPTION_STRING ? *(const char **)option->target : NULL;
  out[0] = '\0';
  if (option->required) {
    snprintf(out, HELP_TEXT_MAX, " (required%s)",
             option->kind == ATH_OPTION_LIST ? ", may be repeated" : "");
    return;
  }
  if (option->wanted) {
    snprintf(out, HELP_TEXT_MAX, " (required)");
    return;
  }
  switch (option->kind) {
    case ATH_OPTION_INTEGER:
      snprintf(out, HELP_TEXT_MAX, " [%lld]", (long long)*(int64_t *)option->target);
      break;
    case ATH_OPTION_NUMBER:
      snprintf(out, HELP_TEXT_MAX, " [%g]", *(double *)option->target);
      break;
    case ATH_OPTION_STRING:
      if (text != NULL && *text != '\0') snprintf(out, HELP_TEXT_MAX, " [%.200s]", text);
      break;
    case ATH_OPTION_FLAG:
      if (*(bool *)option->target)
        snprintf(out, HELP_TEXT_MAX, " [on; --no-%s turns it off]", option->name);
      break;
    case ATH_OPTION_LIST: snprintf(out, HELP_TEXT_MAX, " (may be repeated)"); break;
  }
}

static void print_option(const ath_option *option) {
  char left[128], use[HELP_TEXT_MAX], text[2 * HELP_TEXT_MAX];
  snprintf(left, sizeof left, "  --%s%s%s", option->name, option->placeholder != NULL ? " " : "",
           option->placeholder != NULL ? option->placeholder : "");
  printf("%s", left);
  int length = columns_of(left, strlen(left));
  if (length >= HELP_COLUMN - 1) printf("\n%*s", HELP_COLUMN, "");
  else printf("%*s", HELP_COLUMN - length, "");
  describe_use(option, use);
  snprintf(text, sizeof text, "%s%s", option->help, use);
  print_wrapped(text, HELP_COLUMN);
  printf("\n");
}

static void print_help(const ath_command *command, const ath_option *options) {
  printf("athanor %s: %s\n\nUsage: athanor %s%s%s%s\n", command->name, command->summary,
         command->name, options[0].name != NULL ? " [options]" : "",
         command->operands != NULL ? " " : "",
         command->operands != NULL ? command->operands : "");
  if (options[0].name != NULL) printf("\nOptions, with their defaults in [brackets]:\n");
  const char *group = NULL;
  for (const ath_option *o = options; o->name != NULL; o++) {
    if (o->group != NULL && (group == NULL || strcmp(group, o->group) != 0))
      printf("\n%s:\n", o->group);
    group = o->group;
    print_option(o);
  }
  if (command->details != NULL) printf("\n%s\n", command->details);
}

/* --- parsing ------------------------------------------------------------------------------- */

static ath_status unknown_option(const ath_command *command, const ath_option *options,
                                 const char *name) {
  const char *names[OPTIONS_MAX];
  size_t count = 0;
  for (const ath_option *o = options; o->name != NULL && count < OPTIONS_MAX; o++)
    names[count++] = o->name;
  const char *near = ath_nearest(name, names, count);
  if (near != NULL)
    return ath_fail(ATH_USAGE, "athanor %s has no option --%s; did you mean --%s?",
                    command->name, name, near);
  return ath_fail(ATH_USAGE, "athanor %s has no option --%s; see athanor %s --help",
                  command->name, name, command->name);
}

static const ath_option *find(const ath_option *options, const char *name) {
  for (const ath_option *o = options; o->name != NULL; o++)
    if (strcmp(o->name, name) == 0) return o;
  return NULL;
}

static ath_status check_range(const ath_option *option, double value) {
  if (option->minimum == 0 && option->maximum == 0) return ATH_OK;
  if (value >= option->minimum && value <= option->maximum) return ATH_OK;
  int digits = option->kind == ATH_OPTION_INTEGER ? 20 : 6; /* whole numbers as they are */
  return ath_fail(ATH_USAGE, "--%s is %.*g; it must lie between %.*g and %.*g", option->name,
                  digits, value, digits, option->minimum, digits, option->maximum);
}

static ath_status store(const ath_option *option, const char *text) {
  char *end = NULL;
  switch (option->kind) {
    case ATH_OPTION_STRING: *(const char **)option->target = text; return ATH_OK;
    case ATH_OPTION_INTEGER: {
      errno = 0;
      long long value = strtoll(text, &end, 10);
      if (end == text || *end != '\0' || errno != 0)
        return ath_fail(ATH_USAGE, "--%s wants a whole number, not \"%s\"", option->name, text);
      *(int64_t *)option->target = value;
      return check_range(option, (double)value);
    }
    case ATH_OPTION_NUMBER: {
      double value = strtod(text, &end);
      if (end == text || *end != '\0' || value != value)
        return ath_fail(ATH_USAGE, "--%s wants a number, not \"%s\"", option->name, text);
      *(double *)option->target = value;
      return check_range(option, value);
    }
    case ATH_OPTION_LIST: {
      ath_option_list *list = option->target;
      if (list->count == ATH_OPTION_LIST_MAX)
        return ath_fail(ATH_USAGE, "--%s given more than %d times", option->name,
                        ATH_OPTION_LIST_MAX);
      list->items[list->count++] = text;
      return ATH_OK;
    }
    case ATH_OPTION_FLAG: break;
  }
  return ath_fail(ATH_USAGE, "--%s takes no value", option->name);
}

/* Parses the option at argv[at]; *used is set to the number of words it takes. */
static ath_status parse_option(const ath_command *command, const ath_option *options, int left,
                               char **words, int *used, bool given[]) {
  const char *text = words[0] + 2;
  const char *equals = strchr(text, '=');
  size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
  char name[NAME_MAX_LENGTH];
  if (length >= sizeof name) return ath_fail(ATH_USAGE, "no such option: --%.40s…", text);
  for (size_t i = 0; i < length; i++) name[i] = text[i] == '_' ? '-' : text[i];
  name[length] = '\0';
  *used = 1;
  const ath_option *option = find(options, name);
  if (option == NULL && strncmp(name, "no-", 3) == 0 && equals == NULL) {
    option = find(options, name + 3);
    if (option != NULL && option->kind == ATH_OPTION_FLAG) {
      *(bool *)option->target = false;
      if (option->given != NULL) *option->given = true;
      return ATH_OK;
    }
    option = NULL;
  }
  if (option == NULL) return unknown_option(command, options, name);
  assert(option - options < OPTIONS_MAX);
  given[option - options] = true;
  if (option->given != NULL) *option->given = true;
  if (option->kind == ATH_OPTION_FLAG && equals == NULL) {
    *(bool *)option->target = true;
    return ATH_OK;
  }
  if (equals != NULL) return store(option, equals + 1);
  if (left < 2) return ath_fail(ATH_USAGE, "--%s wants a value (%s)", name, option->placeholder);
  *used = 2;
  return store(option, words[1]);
}

ath_status ath_cli_parse(const ath_command *command, const ath_option *options, int argc,
                         char **argv, ath_operands *operands) {
  bool given[OPTIONS_MAX] = {false};
  *operands = (ath_operands){.items = argv};
  bool options_over = false;
  for (int i = 0; i < argc;) {
    char *word = argv[i];
    if (!options_over && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
      print_help(command, options);
      operands->done = true;
      return ATH_OK;
    }
    if (!options_over && strcmp(word, "--") == 0) {
      options_over = true;
      i++;
    } else if (!options_over && strncmp(word, "--", 2) == 0) {
      int used = 0;
      ATH_TRY(parse_option(command, options, argc - i, argv + i, &used, given));
      i += used;
    } else {
      /* Operands move to the front; the words they replace have been read. */
      argv[operands->count++] = word;
      i++;
    }
  }
  if (operands->count > 0 && command->operands == NULL)
    return ath_fail(ATH_USAGE, "athanor %s takes no argument \"%s\"; see athanor %s --help",
                    command->name, operands->items[0], command->name);
  for (const ath_option *o = options; o->name != NULL; o++)
    if (o->required && !given[o - options])
      return ath_fail(ATH_USAGE, "athanor %s needs --%s %s; see athanor %s --help", command->name,
                      o->name, o->placeholder != NULL ? o->placeholder : "", command->name);
  operands->done = ath_cli_only_check;
  return ATH_OK;
}
