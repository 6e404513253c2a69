/* settings.c: the options of commands that take a training run's settings: one for each entry of
 * the settings' table of train.h, after the command's own, and --config, a file of them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { OPTIONS_MAX = 96, NAME_LENGTH_MAX = 64 };

typedef struct table {
  ath_option options[OPTIONS_MAX];
  char names[OPTIONS_MAX][NAME_LENGTH_MAX]; /* with hyphens */
  const char *config;
} table;

static ath_option_kind kind_of(const ath_setting *setting) {
  switch (setting->kind) {
    case ATH_SETTING_TEXT: return ATH_OPTION_STRING;
    case ATH_SETTING_INTEGER: return ATH_OPTION_INTEGER;
    case ATH_SETTING_NUMBER: return ATH_OPTION_NUMBER;
    case ATH_SETTING_FLAG: break;
  }
  return ATH_OPTION_FLAG;
}

static bool is_among(const char *name, const char *const *names) {
  for (; names != NULL && *names != NULL; names++)
    if (strcmp(*names, name) == 0) return true;
  return false;
}

static void add_setting(table *self, size_t at, const ath_setting *s, bool wanted,
                        ath_train_options *values) {
  assert(strlen(s->name) < NAME_LENGTH_MAX);
  for (size_t c = 0; s->name[c] != '\0'; c++)
    self->names[at][c] = s->name[c] == '_' ? '-' : s->name[c];
  self->options[at] = (ath_option){
    .name = self->names[at], .kind = kind_of(s), .target = (char *)values + s->offset,
    .placeholder = s->placeholder, .help = s->help, .minimum = s->minimum,
    .maximum = s->maximum, .wanted = wanted, .group = s->group};
}

static void make_table(table *self, const ath_command *command, const ath_option *own,
                       ath_train_options *values) {
  size_t count, at = 0;
  const ath_setting *settings = ath_train_settings(&count);
  *self = (table){0};
  self->options[at++] = (ath_option){
    .name = "config", .kind = ATH_OPTION_STRING, .target = &self->config, .placeholder = "FILE",
    .help = "YAML file of the settings below, with _ for -; flags override it"};
  for (; own->name != NULL; own++) {
    assert(own->kind != ATH_OPTION_LIST); /* they would be read twice */
    self->options[at++] = *own;
    assert(at + count < OPTIONS_MAX);
  }
  for (const ath_setting *s = settings; s < settings + count; s++)
    if (!is_among(s->name, command->without))
      add_setting(self, at++, s, is_among(s->name, command->wanted), values);
}

/* Parsing moves operands to the front of argv, so that what is read twice must be a copy. */
static ath_status parse_copy(const ath_command *self, const table *options, int argc, char **argv,
                             bool *done) {
  char **copy = malloc(((size_t)argc + 1) * sizeof *copy);
  if (copy == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %d words", argc);
  memcpy(copy, argv, (size_t)argc * sizeof *copy);
  ath_operands operands;
  ath_status status = ath_cli_parse(self, options->options, argc, copy, &operands);
  *done = operands.done && !ath_cli_only_check;
  free(copy);
  return status;
}

/* The flags are read twice: first to find the file, then over what the file says. */
ath_status ath_cli_parse_settings(const ath_command *command, const ath_option *own, int argc,
                                  char **argv, ath_train_options *values,
                                  ath_operands *operands) {
  table options;
  bool done = false;
  make_table(&options, command, own, values);
  ATH_TRY(parse_copy(command, &options, argc, argv, &done));
  if (!done && options.config != NULL) {
    const char *config = options.config;
    ath_train_options_free(values);
    ATH_TRY(ath_train_options_init(values));
    ATH_TRY(ath_train_options_read(values, config));
    make_table(&options, command, own, values);
  }
  *operands = (ath_operands){.done = done};
  return done ? ATH_OK : ath_cli_parse(command, options.options, argc, argv, operands);
}
