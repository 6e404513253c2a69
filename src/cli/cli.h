/* cli.h: what the commands share: their description, options, output.
 *
 * A command is one file of src/cli/ with one `const ath_command` per (sub)command, listed in
 * main.c. Its run function parses options into local variables, calls the library, and prints
 * results to standard output; messages and progress go to standard error. */
#ifndef ATHANOR_CLI_H
#define ATHANOR_CLI_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "athanor/status.h"
#include "athanor/tfrecord.h"
#include "athanor/train.h"
#include "base/buffer.h"

typedef struct ath_command ath_command;
struct ath_command {
  const char *name;     /* "tokenizer train" */
  const char *summary;  /* one line for `athanor --help`; no full stop */
  const char *operands; /* "[TEXT…]", or NULL when it takes none */
  const char *details;  /* paragraphs and examples for its own --help; may be NULL */
  /* Of train's settings, for a command that takes them: those that it has no use for, which are no
   * options of its, and those that its help shows as required. By name, then NULL; NULL: none. */
  const char *const *without, *const *wanted;
  /* argv[0] is the first word after the command's name. */
  ath_status (*run)(const ath_command *self, int argc, char **argv);
};

typedef enum ath_option_kind {
  ATH_OPTION_FLAG,    /* bool: --name, or --no-name */
  ATH_OPTION_STRING,  /* const char * */
  ATH_OPTION_INTEGER, /* int64_t, between minimum and maximum */
  ATH_OPTION_NUMBER,  /* double, between minimum and maximum */
  ATH_OPTION_LIST,    /* ath_option_list: may be given several times */
} ath_option_kind;

enum { ATH_OPTION_LIST_MAX = 256 };
typedef struct ath_option_list {
  const char *items[ATH_OPTION_LIST_MAX];
  size_t count;
} ath_option_list;

typedef struct ath_option {
  const char *name;        /* "vocab-size"; NULL ends the table */
  ath_option_kind kind;
  void *target;            /* holds the default before parsing; shown in the help */
  const char *placeholder; /* "N", "FILE"; NULL for a flag */
  const char *help;        /* one sentence, without full stop; wrapped when shown */
  double minimum, maximum; /* for numbers; both 0: no limits */
  bool required;
  bool wanted;             /* shown as required, though a file may give it */
  bool *given;             /* set when the option is there; may be NULL */
  const char *group;       /* heading in the help, where it differs from the option's before */
} ath_option;

/* Of train's settings those that nothing else has a use for. */
#define ATH_HUB_SETTINGS \
  "push_to_hub", "hub_model_id", "hub_strategy", "hub_private_repo", "hub_token"

/* The row of the commands that use a tokenizer. */
#define ATH_TOKENIZER_OPTION(folder)                                                             \
  {"tokenizer", ATH_OPTION_STRING, &(folder), "DIR", "The tokenizer's folder or tokenizer.json", \
   .required = true}

typedef struct ath_operands {
  char **items; /* points into argv */
  int count;
  bool done;    /* --help was asked for and shown: the command returns ATH_OK at once */
} ath_operands;

/* Parses "--name value", "--name=value", "--flag", "--no-flag" and operands, in any order; "--"
 * ends the options. Unknown options name the nearest one (ATH_USAGE). An underscore counts as a
 * hyphen. Shows the command's help for --help or -h. */
ath_status ath_cli_parse(const ath_command *command, const ath_option *options, int argc,
                         char **argv, ath_operands *operands) ATH_MUST_CHECK;

/* Set: commands are not to run. The parsers say that they are done once everything is read, as for
 * --help. */
extern bool ath_cli_only_check;
/* Runs the command whose words these are; their order may change. */
ath_status ath_cli_dispatch(int argc, char **argv) ATH_MUST_CHECK;

/* The same for a command that takes a run's settings: options of its own (ended by one without a
 * name; no lists), --config FILE, and one for each setting. `values` must be initialised, and is
 * the caller's to free also after a failure. */
ath_status ath_cli_parse_settings(const ath_command *command, const ath_option *own, int argc,
                                  char **argv, ath_train_options *values,
                                  ath_operands *operands) ATH_MUST_CHECK;

/* Set by the first SIGINT or SIGTERM once ath_cli_catch_signals was called; a second one ends
 * the process as usual. Long tasks look at it. */
extern volatile sig_atomic_t ath_cli_stop;
void ath_cli_catch_signals(void);
/* From now on a mapped file that is cut by another process ends this one with its name and ATH_IO,
 * not by a signal. */
void ath_cli_catch_lost_files(void);

/* Installs the sink for log messages and progress (progress.c): a live bar when standard error is
 * a terminal, plain lines otherwise. */
void ath_cli_show_progress(void);
/* What is printed next begins on a line of its own. */
void ath_cli_leave_bar(void);

/* Lines come from this file from now on; "-", as before any call, is standard input. */
ath_status ath_cli_open_input(const char *path) ATH_MUST_CHECK;
const char *ath_cli_input_name(void); /* for messages: the path, or "standard input" */
bool ath_cli_input_is_terminal(void);
/* The next line of the input without its end (LF or CRLF); *line is NULL at the end. The
 * line may hold NULs and is followed by one. It stays valid until the next call. Lines over 64 MB
 * are ATH_INVALID. */
ath_status ath_cli_read_line(const char **line, size_t *length) ATH_MUST_CHECK;

/* The files that arguments name: a pattern with * ? or [ ] stands for what matches it, in the order
 * of the alphabet, unless a file has that very name; a folder for all files in it and in its
 * folders, but for README.md and names that begin with "." or "_"; "-" is standard input. gs://
 * and hf:// are fetched (ath_cli_locate). ATH_NOT_FOUND for a pattern that nothing matches and for
 * a folder without files. */
typedef struct ath_cli_files {
  const char **paths; /* owned by the list, or by who gave the arguments */
  size_t count, capacity;
  char **matched;     /* the paths that patterns gave */
  size_t matched_count, matched_capacity;
} ath_cli_files;
ath_status ath_cli_files_add(ath_cli_files *self, const char *argument) ATH_MUST_CHECK;
/* The same for record files: a folder stands for those in it whose names have "tfrecord" in them,
 * in the order of the numbers in their names. */
ath_status ath_cli_files_add_records(ath_cli_files *self, const char *argument) ATH_MUST_CHECK;
/* As it is, whatever it looks like. */
ath_status ath_cli_files_add_text(ath_cli_files *self, const char *text) ATH_MUST_CHECK;
void ath_cli_files_free(ath_cli_files *self);

/* From now on messages say `given` for `copy`, a path in a cache here, and what is below it. */
void ath_cli_note_copy(const char *copy, const char *given);
/* The text with those names in it; gives `out`. */
enum { ATH_CLI_GIVEN_MAX = 4096 };
const char *ath_cli_as_given(const char *text, char out[ATH_CLI_GIVEN_MAX]);

/* The local path of what a command was given as a model, a tokenizer or a dataset; it holds
 * ATH_PATH_MAX bytes (storage/file.h). A path that is there stands for itself, and so does one that
 * looks like nothing else. Of a pattern on the Hub it is the pattern of what was pulled. */
typedef enum ath_cli_wanted { ATH_CLI_MODEL, ATH_CLI_TOKENIZER, ATH_CLI_DATA } ath_cli_wanted;
ath_status ath_cli_locate(ath_cli_wanted wanted, const char *given, char *path) ATH_MUST_CHECK;
ath_status ath_cli_load_tokenizer(const char *given, ath_tokenizer **out) ATH_MUST_CHECK;
/* Those of a run's settings, which get the paths in their place. For who can do without them only
 * those that say "hf://" and the like themselves, not `all`. */
ath_status ath_cli_locate_settings(ath_train_options *values, bool all) ATH_MUST_CHECK;

/* "gzip", "zlib" or "none", for TFRecord files; ATH_USAGE for another. */
ath_status ath_cli_parse_compression(const char *name, ath_compression *out) ATH_MUST_CHECK;

/* Whether it is a terminal that knows escape sequences. */
bool ath_cli_may_steer(int descriptor);

/* Writes the buffer to standard output and empties it. */
ath_status ath_cli_flush(ath_buffer *out) ATH_MUST_CHECK;

/* Appends text for a person: control characters as \xNN or \u00NN, since raw ones would break the
 * line or steer the terminal, and bytes that are no UTF-8. JSON has escapes of its own. */
ath_status ath_cli_put_visible(ath_buffer *out, const char *bytes, size_t length) ATH_MUST_CHECK;
/* A line: `before`, and `text` as a person may see it. */
void ath_cli_say(FILE *to, const char *before, const char *text);

/* The file of each command defines these. */
extern const ath_command ath_command_tokenizer_train, ath_command_tokenizer_encode,
    ath_command_tokenizer_decode, ath_command_tokenizer_info, ath_command_tokenizer_bench,
    ath_command_tokenizer_convert;
extern const ath_command ath_command_data_prepare, ath_command_data_show,
    ath_command_data_inspect, ath_command_data_verify, ath_command_data_convert;
extern const ath_command ath_command_train, ath_command_eval, ath_command_fill_mask,
    ath_command_export, ath_command_plan, ath_command_run;
extern const ath_command ath_command_hub_pull, ath_command_hub_push, ath_command_hub_login,
    ath_command_hub_logout, ath_command_hub_whoami;
extern const ath_command ath_command_storage_ls, ath_command_storage_cp, ath_command_storage_rm;
extern const ath_command ath_command_plugins_list, ath_command_plugins_install,
    ath_command_devices;

#endif
