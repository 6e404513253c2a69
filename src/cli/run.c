/* run.c: `athanor run`: commands one after another, from a file. What a finished stage was called
 * with, and the sizes and times of the files it was given, is noted in
 * output_dir/.athanor/run.json:
 *
 *     {"format": "athanor-run", "version": 1,
 *      "stages": [{"command": ["tokenizer", "train", …], "inputs": ["text.txt 9012 176…"]}, …]} */
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/cli.h"
#include "cli/run_file.h"
#include "data/manifest.h"
#include "storage/file.h"

enum { RUN_VERSION = 1 };
static const char FORMAT[] = "athanor-run", FOLDER[] = ".athanor", NAME[] = "run.json";

/* --- a stage, as it was and as it is ------------------------------------------------------- */

static bool is_output_option(const char *word) {
  return strcmp(word, "--output") == 0 || strcmp(word, "--output-dir") == 0;
}

/* The word, or what stands for a token that nobody else is to read. */
static const char *shown_word(const ath_stage *stage, int i) {
  static const char *const secret[] = {"--hub-token", "--token"};
  const char *word = stage->words[i], *before = i > 0 ? stage->words[i - 1] : "";
  for (size_t s = 0; s < sizeof secret / sizeof *secret; s++) {
    size_t length = strlen(secret[s]);
    if (strcmp(before, secret[s]) == 0 ||
        (strncmp(word, secret[s], length) == 0 && word[length] == '='))
      return "***";
  }
  return word;
}

/* The folder or file that the stage leaves behind; NULL for one that only tells or sends. */
static const char *output_of(const ath_stage *stage) {
  for (int i = 0; i + 1 < stage->count; i++)
    if (is_output_option(stage->words[i])) return stage->words[i + 1];
  return NULL;
}

static ath_status add_file(const char *path, json_t *inputs) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return ATH_OK;
  json_t *line = json_sprintf("%s %lld %lld", path, (long long)info.st_size,
                              (long long)info.st_mtim.tv_sec * 1000000000 +
                                  info.st_mtim.tv_nsec);
  if (json_array_append_new(inputs, line) == 0) return ATH_OK;
  return ath_fail(ATH_NO_MEMORY, "no memory for the names of input files");
}

/* Whether a word may name local files. Of folders those of text are looked into; others, as of a
 * dataset, are what a stage before leaves, and get an index when they are read. */
static bool may_name_files(const ath_stage *stage, int i) {
  const char *word = stage->words[i], *before = i > 0 ? stage->words[i - 1] : "";
  if (is_output_option(before) || strcmp(word, "-") == 0 || strstr(word, "://") != NULL)
    return false;
  return !ath_path_is_folder(word) || strcmp(before, "--input") == 0;
}

/* Each word that names local files, by itself or as a pattern. */
static ath_status add_inputs(const ath_stage *stage, json_t *inputs) {
  for (int i = 0; i < stage->count; i++) {
    ath_cli_files files = {0};
    if (!may_name_files(stage, i)) continue;
    if (ath_cli_files_add(&files, stage->words[i]) != ATH_OK) {
      ath_cli_files_free(&files); /* a pattern that matches nothing is no file's name */
      continue;
    }
    ath_status status = ATH_OK;
    for (size_t f = 0; f < files.count && status == ATH_OK; f++)
      status = add_file(files.paths[f], inputs);
    ath_cli_files_free(&files);
    ATH_TRY(status);
  }
  return ATH_OK;
}

/* What run.json says of a stage. */
static ath_status describe(const ath_stage *stage, json_t **out) {
  json_t *command = json_array(), *inputs = json_array();
  ath_status status = ATH_OK;
  for (int i = 0; i < stage->count && status == ATH_OK; i++)
    if (json_array_append_new(command, json_string(shown_word(stage, i))) != 0)
      status = ath_fail(ATH_INVALID, "\"%.80s\" is not valid UTF-8", stage->words[i]);
  if (status == ATH_OK) status = add_inputs(stage, inputs);
  *out = json_pack("{s:o, s:o}", "command", command, "inputs", inputs);
  if (status == ATH_OK && *out == NULL) status = ath_fail(ATH_NO_MEMORY, "no memory for run.json");
  if (status != ATH_OK) json_decref(*out);
  return status;
}

/* --- run.json ------------------------------------------------------------------------------ */

/* The finished stages; none where there is no such file, or none that this program knows. */
static ath_status read_notes(const char *path, json_t **stages) {
  json_t *root = NULL;
  ath_status status = ath_path_exists(path) ? ath_json_read(path, &root) : ATH_OK;
  json_t *list = json_object_get(root, "stages");
  bool known = json_integer_value(json_object_get(root, "version")) == RUN_VERSION &&
               json_is_array(list);
  *stages = known ? json_incref(list) : json_array();
  json_decref(root);
  if (status == ATH_OK && *stages == NULL) status = ath_fail(ATH_NO_MEMORY, "%s: no memory", path);
  return status;
}

static ath_status write_notes(const char *path, json_t *stages) {
  json_t *root = json_pack("{s:s, s:i, s:O}", "format", FORMAT, "version", RUN_VERSION, "stages",
                           stages);
  if (root == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory", path);
  ath_status status = ath_json_write(path, root);
  json_decref(root);
  return status;
}

/* --- telling ------------------------------------------------------------------------------- */

/* As one would type it. */
static void print_command(const ath_stage *stage, FILE *to) {
  static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-./:=,%+@";
  fprintf(to, "athanor");
  for (int i = 0; i < stage->count; i++) {
    const char *word = shown_word(stage, i);
    if (*word != '\0' && word[strspn(word, PLAIN)] == '\0') {
      fprintf(to, " %s", word);
      continue;
    }
    fprintf(to, " '");
    for (const char *c = word; *c != '\0'; c++) {
      if (*c == '\'') fprintf(to, "'\\''");
      else fputc(*c, to);
    }
    fputc('\'', to);
  }
  fputc('\n', to);
}

/* --- running ------------------------------------------------------------------------------- */

/* The words of a copy, since a command reorders them. */
static ath_status dispatch(const ath_stage *stage) {
  char *words[ATH_STAGE_WORDS_MAX];
  memcpy(words, stage->words, (size_t)stage->count * sizeof *words);
  return ath_cli_dispatch(stage->count, words);
}

static bool is_skipped(const ath_option_list *skip, const ath_stage *stage) {
  for (size_t i = 0; i < skip->count; i++)
    if (strcmp(skip->items[i], stage->name) == 0) return true;
  return false;
}

static ath_status check_skipped(const ath_run_file *file, const ath_option_list *skip) {
  for (size_t i = 0; i < skip->count; i++) {
    bool found = false;
    for (size_t s = 0; s < file->count; s++)
      found |= strcmp(skip->items[i], file->stages[s].name) == 0;
    if (!found)
      return ath_fail(ATH_USAGE, "--skip \"%s\": %s has no such stage", skip->items[i],
                      file->path);
  }
  return ATH_OK;
}

/* A slip in the last stage shall not be found after the hours of those before it. */
static ath_status check(const ath_run_file *file) {
  ath_cli_only_check = true;
  ath_status status = ATH_OK;
  for (size_t i = 0; i < file->count && status == ATH_OK; i++)
    status = ath_context(dispatch(&file->stages[i]), "%s:%zu", file->path, file->stages[i].line);
  ath_cli_only_check = false;
  return status;
}

typedef struct progress {
  const ath_run_file *file;
  const ath_option_list *skip; /* names of commands that are left out */
  char notes[ATH_PATH_MAX];
  json_t *before, *now; /* the finished stages as they were noted, and as they will be */
  bool changed;         /* a stage left something new, which those after it are made from */
} progress;

/* Whether the stage's result is there, from the same command and files. */
static bool is_done(const progress *self, size_t number, const json_t *described) {
  const char *output = output_of(&self->file->stages[number]);
  bool local = output != NULL && strstr(output, "://") == NULL;
  return !self->changed && output != NULL && (!local || ath_path_exists(output)) &&
         json_equal(json_array_get(self->before, number), described);
}

/* A stage that never ran is noted as nothing. */
static ath_status note(progress *self, json_t *described) {
  if (json_array_append(self->now, described != NULL ? described : json_null()) != 0)
    return ath_fail(ATH_NO_MEMORY, "%s: no memory", self->notes);
  return write_notes(self->notes, self->now);
}

static ath_status run_stage(progress *self, size_t number, json_t *described) {
  const ath_stage *stage = &self->file->stages[number];
  bool skipped = is_skipped(self->skip, stage), done = is_done(self, number, described);
  fflush(stdout);
  fprintf(stderr, "\n# stage %zu of %zu%s\n", number + 1, self->file->count,
          skipped ? ": skipped" : done ? ": its result is there" : "");
  if (skipped) return note(self, json_array_get(self->before, number));
  if (!done) {
    fprintf(stderr, "$ ");
    print_command(stage, stderr);
    self->changed |= output_of(stage) != NULL;
    ATH_TRY_CONTEXT(dispatch(stage), "stage %zu, %s (%s:%zu)", number + 1, stage->name,
                    self->file->path, stage->line);
  }
  return note(self, described);
}

/* What a stage was given is looked at before it runs: changed meanwhile, it is another's. */
static ath_status run_all(progress *self) {
  for (size_t i = 0; i < self->file->count; i++) {
    json_t *described;
    if (ath_cli_stop)
      return ath_fail(ATH_INTERRUPTED, "stopped before stage %zu; the same command goes on there",
                      i + 1);
    ATH_TRY(describe(&self->file->stages[i], &described));
    ath_status status = run_stage(self, i, described);
    json_decref(described);
    ATH_TRY(status);
  }
  return ATH_OK;
}

/* Two runs of one file would write into the same folders. The lock is on a folder of its own, as a
 * stage may lock output_dir. */
static ath_status run_locked(progress *self) {
  char folder[ATH_PATH_MAX];
  int lock;
  ATH_TRY(ath_path_join(folder, self->file->output_dir, FOLDER));
  ATH_TRY(ath_path_join(self->notes, folder, NAME));
  ath_status status = ath_folder_lock(folder, "another process is running this file", &lock);
  if (status == ATH_OK) status = read_notes(self->notes, &self->before);
  if (status == ATH_OK && (self->now = json_array()) == NULL)
    status = ath_fail(ATH_NO_MEMORY, "%s: no memory", self->notes);
  if (status == ATH_OK) status = run_all(self);
  json_decref(self->before);
  json_decref(self->now);
  if (lock >= 0) close(lock);
  return status;
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  const char *output_dir = NULL;
  ath_option_list settings = {0}, skip = {0};
  bool dry = false;
  const ath_option table[] = {
    {"output-dir", ATH_OPTION_STRING, &output_dir, "DIR", .help = "Replaces the file's output_dir"},
    {"set", ATH_OPTION_LIST, &settings, "NAME=VALUE",
     .help = "Replaces a variable of the file"},
    {"skip", ATH_OPTION_LIST, &skip, "COMMAND", .help = "Leaves out the stages of this command"},
    {"dry-run", ATH_OPTION_FLAG, &dry, .help = "Check the file and print its commands only"},
    {0}};
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count != 1) return ath_fail(ATH_USAGE, "athanor run wants one FILE; see --help");
  ath_run_file file;
  ath_status status = ath_run_file_read(operands.items[0], output_dir, settings.items,
                                        settings.count, &file);
  if (status == ATH_OK) status = check(&file);
  if (status == ATH_OK) status = check_skipped(&file, &skip);
  progress all = {.file = &file, .skip = &skip};
  if (status == ATH_OK && !dry) {
    ath_cli_catch_signals();
    status = run_locked(&all);
  } else if (status == ATH_OK) {
    for (size_t i = 0; i < file.count; i++)
      if (!is_skipped(&skip, &file.stages[i])) print_command(&file.stages[i], stdout);
  }
  ath_run_file_free(&file);
  return status;
}

const ath_command ath_command_run = {
  .name = "run",
  .summary = "run the commands of a file, one after another, where their results are missing",
  .operands = "FILE",
  .details =
      "FILE is YAML: output_dir, variables, and stages, a list of commands with their options:\n\n"
      "  output_dir: runs/small\n"
      "  variables: {text: text.txt}\n"
      "  stages:\n"
      "    - tokenizer train: {input: \"${text}\", output: \"${output_dir}/tokenizer\"}\n"
      "    - fill-mask: {model: \"${output_dir}\", arguments: [\"Paris is [MASK].\"]}\n\n"
      "All of it is checked before the first command runs. A stage whose result is there, from\n"
      "the same command and input files, is kept, unless one before it was made anew; a stage\n"
      "that leaves nothing behind (eval, fill-mask, hub push) runs each time. Started again, an\n"
      "interrupted run goes on.\n\n"
      "Examples:\n"
      "  athanor run examples/wikitext-103.yaml\n"
      "  athanor run examples/wikitext-103.yaml --dry-run --set hub_id=me/my-roberta",
  .run = run,
};
