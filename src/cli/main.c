/* main.c: finds the command, runs it, and turns its status into one line and an exit code. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/cli.h"

#define VERSION "0.1.0"

static const ath_command *const commands[] = {
  &ath_command_tokenizer_train, &ath_command_tokenizer_encode, &ath_command_tokenizer_decode,
  &ath_command_tokenizer_info,  &ath_command_tokenizer_bench,  &ath_command_tokenizer_convert,
  &ath_command_data_prepare,    &ath_command_data_show,        &ath_command_data_inspect,
  &ath_command_data_verify,     &ath_command_data_convert,     &ath_command_train,
  &ath_command_eval,
  &ath_command_fill_mask,       &ath_command_export,           &ath_command_run,
  &ath_command_plan,            &ath_command_hub_pull,         &ath_command_hub_push,
  &ath_command_hub_login,       &ath_command_hub_logout,       &ath_command_hub_whoami,
  &ath_command_plugins_list,    &ath_command_plugins_install,  &ath_command_devices,
  &ath_command_storage_ls,      &ath_command_storage_cp,       &ath_command_storage_rm,
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

volatile sig_atomic_t ath_cli_stop;

/* Says so at once: the step or block under way may take long. Only write may be called here. The
 * next signal ends the process, whichever of the two it is. */
static void on_signal(int number) {
  static const char text[] =
      "\nstopping after the work under way (a step, a block, or a compilation, which may take "
      "minutes), and saving it; a second signal ends at once\n";
  int before = errno;
  (void)number;
  ath_cli_stop = 1;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written;
  errno = before;
}

void ath_cli_catch_signals(void) {
  signal(SIGINT, on_signal);
  signal(SIGTERM, on_signal);
}

static void print_help(void) {
  printf("athanor %s: from a text file to a language model, without Python\n\n"
         "Usage: athanor COMMAND [options]\n\nCommands:\n", VERSION);
  for (int i = 0; i < COMMAND_COUNT; i++)
    printf("  %-20s%s\n", commands[i]->name, commands[i]->summary);
  printf("\nathanor COMMAND --help tells a command's options, with examples.\n\n"
         "A first model, step by step:\n"
         "  athanor tokenizer train --input text.txt --output run/tokenizer\n"
         "  athanor data prepare --tokenizer run/tokenizer --input text.txt --output run/data\n"
         "  athanor train --tokenizer run/tokenizer --train-dataset run/data/train \\\n"
         "                --eval-dataset run/data/validation --output-dir run/model\n"
         "  athanor fill-mask --model run/model \"The capital of France is [MASK].\"\n\n"
         "Exit codes:\n");
#define PRINT_STATUS(name, number, meaning) printf("  %2d  %s\n", number, meaning);
  ATH_STATUS_LIST(PRINT_STATUS)
#undef PRINT_STATUS
}

/* How many words of argv make up the command's name: 0 if they are another's. */
static int words_matched(const ath_command *command, int argc, char **argv) {
  const char *rest = command->name;
  for (int words = 0; words < argc; words++) {
    size_t length = strlen(argv[words]);
    if (strncmp(rest, argv[words], length) != 0) return 0;
    if (rest[length] == '\0') return words + 1;
    if (rest[length] != ' ') return 0;
    rest += length + 1;
  }
  return 0;
}

/* Whether this is one of several commands that begin with a word: "tokenizer", "data". */
static bool is_in_group(const ath_command *command, const char *word) {
  size_t length = strlen(word);
  return strncmp(command->name, word, length) == 0 && command->name[length] == ' ';
}

static bool is_group(const char *word) {
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (is_in_group(commands[i], word)) return true;
  return false;
}

static ath_status unknown_command(int argc, char **argv) {
  if (is_group(argv[0]) && argv[1][0] == '-')
    return ath_fail(ATH_USAGE, "athanor %s needs a command; athanor %s --help lists them", argv[0],
                    argv[0]);
  char typed[128];
  snprintf(typed, sizeof typed, "%s%s%s", argv[0], argc > 1 && argv[1][0] != '-' ? " " : "",
           argc > 1 && argv[1][0] != '-' ? argv[1] : "");
  const char *names[COMMAND_COUNT];
  for (int i = 0; i < COMMAND_COUNT; i++) names[i] = commands[i]->name;
  const char *near = ath_nearest(typed, names, COMMAND_COUNT);
  if (near == NULL) near = ath_nearest(argv[0], names, COMMAND_COUNT);
  if (near != NULL)
    return ath_fail(ATH_USAGE, "no command \"%s\"; did you mean \"athanor %s\"?", typed, near);
  return ath_fail(ATH_USAGE, "no command \"%s\"; athanor --help lists them", typed);
}

/* "athanor tokenizer" alone, or with --help: lists what begins with it. */
static bool print_group(int argc, char **argv) {
  if (!is_group(argv[0])) return false;
  if (argc > 1 && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0) return false;
  printf("Commands of athanor %s:\n", argv[0]);
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (is_in_group(commands[i], argv[0]))
      printf("  %-20s%s\n", commands[i]->name, commands[i]->summary);
  printf("\nathanor COMMAND --help tells a command's options.\n");
  return true;
}

/* "athanor help COMMAND" is COMMAND --help. */
static ath_status help(int argc, char **argv) {
  char option[] = "--help", *words[4] = {NULL};
  int count = 0;
  while (count < argc && count < 2) {
    words[count] = argv[count];
    count++;
  }
  words[count++] = option;
  return ath_cli_dispatch(count, words);
}

ath_status ath_cli_dispatch(int argc, char **argv) {
  if (argc == 0) {
    print_help();
    return ath_fail(ATH_USAGE, "no command given");
  }
  if (strcmp(argv[0], "help") == 0 && argc > 1) return help(argc - 1, argv + 1);
  if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0 ||
      strcmp(argv[0], "help") == 0) {
    print_help();
    return ATH_OK;
  }
  if (strcmp(argv[0], "--version") == 0) {
    printf("athanor %s\n", VERSION);
    return ATH_OK;
  }
  for (int i = 0; i < COMMAND_COUNT; i++) {
    int words = words_matched(commands[i], argc, argv);
    if (words > 0) return commands[i]->run(commands[i], argc - words, argv + words);
  }
  if (print_group(argc, argv)) return ATH_OK;
  return unknown_command(argc, argv);
}

/* An earlier write may have failed where nobody looked, and left nothing to flush. */
static ath_status finish_output(void) {
  bool failed = ferror(stdout) != 0;
  if (fflush(stdout) != 0) return ath_fail_errno(errno, "cannot write to standard output");
  return failed ? ath_fail(ATH_IO, "cannot write to standard output") : ATH_OK;
}

int main(int argc, char **argv) {
  char text[ATH_CLI_GIVEN_MAX];
  ath_cli_catch_lost_files();
  ath_cli_show_progress();
  ath_status status = ath_cli_dispatch(argc - 1, argv + 1);
  if (status == ATH_OK) status = finish_output();
  else fflush(stdout);
  if (status != ATH_OK) {
    ath_cli_leave_bar();
    ath_cli_say(stderr, "athanor: ", ath_cli_as_given(ath_error_text(), text));
  }
  return (int)status;
}
