/* hub.c: athanor hub pull and push. */
#include <inttypes.h>
#include <string.h>

#include "athanor/hub.h"
#include "cli/cli.h"

enum { OUTPUT_MAX = 1 << 16 };

/* --- what they share ----------------------------------------------------------------------- */

/* "USER/NAME" is a model's unless --dataset is said; hf:// says it itself. */
static ath_status read_place(const char *text, bool dataset, const char *revision,
                             ath_hub_place *out) {
  ATH_TRY(ath_hub_place_parse(text, out));
  if (dataset) out->kind = ATH_HUB_DATASET;
  if (revision == NULL) return ATH_OK;
  if (strlen(revision) >= sizeof out->revision || *revision == '\0')
    return ath_fail(ATH_USAGE, "--revision \"%.80s\" is no revision", revision);
  memcpy(out->revision, revision, strlen(revision) + 1);
  return ATH_OK;
}

/* The list with a NULL after it, or NULL for an empty one. */
static const char *const *patterns_of(ath_option_list *list) {
  if (list->count == 0) return NULL;
  list->items[list->count] = NULL;
  return list->items;
}

static ath_status put_text(ath_buffer *out, const char *name, const char *text) {
  ATH_TRY(ath_buffer_format(out, "%s\"%s\": ", out->length == 0 ? "{" : ", ", name));
  return ath_buffer_json(out, text, strlen(text));
}

/* --- pull --------------------------------------------------------------------------------- */

static ath_status put_pulled(const ath_hub_pulled *pulled, ath_buffer *out) {
  ATH_TRY(put_text(out, "path", pulled->path));
  ATH_TRY(put_text(out, "commit", pulled->commit));
  return ath_buffer_format(out, ", \"files\": %" PRIu64 ", \"fetched\": %" PRIu64
                           ", \"bytes\": %" PRIu64 ", \"offline\": %s}\n", pulled->files,
                           pulled->fetched, pulled->bytes, pulled->offline ? "true" : "false");
}

static ath_status print_pulled(const ath_hub_pulled *pulled, bool json) {
  ath_buffer out = ath_buffer_make(OUTPUT_MAX);
  ath_status status = json ? put_pulled(pulled, &out)
                           : ath_buffer_format(&out, "%s\n", pulled->path);
  if (status == ATH_OK) status = ath_cli_flush(&out);
  ath_buffer_free(&out);
  return status;
}

static ath_status list_files(const ath_operands *operands, ath_option_list *out) {
  if (operands->count > ATH_OPTION_LIST_MAX)
    return ath_fail(ATH_USAGE, "at most %d files", ATH_OPTION_LIST_MAX - 1);
  for (int i = 1; i < operands->count; i++) out->items[out->count++] = operands->items[i];
  return ATH_OK;
}

static ath_status run_pull(const ath_command *self, int argc, char **argv) {
  const char *revision = NULL;
  bool dataset = false, json = false;
  int64_t workers = 4;
  ath_option_list include = {0}, exclude = {0}, files = {0};
  const ath_option options[] = {
    {"revision", ATH_OPTION_STRING, &revision, "REV",
     .help = "Branch, tag or commit; main unless said"},
    {"dataset", ATH_OPTION_FLAG, &dataset, NULL, .help = "USER/NAME is a dataset, not a model"},
    {"include", ATH_OPTION_LIST, &include, "PATTERN",
     .help = "Only files that match, as *.json; a * also matches slashes"},
    {"exclude", ATH_OPTION_LIST, &exclude, "PATTERN", .help = "No files that match"},
    {"workers", ATH_OPTION_INTEGER, &workers, "N", "Downloads at a time", .minimum = 1,
     .maximum = 32},
    {"json", ATH_OPTION_FLAG, &json, NULL,
     .help = "Print one object: path, commit, files, fetched, bytes, offline"},
    {0},
  };
  ath_operands operands;
  ath_hub_place place;
  ath_hub_pulled pulled;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count == 0)
    return ath_fail(ATH_USAGE, "athanor hub pull needs a repository: USER/NAME or hf://…");
  ATH_TRY(read_place(operands.items[0], dataset, revision, &place));
  ATH_TRY(list_files(&operands, &files));
  if (include.count == ATH_OPTION_LIST_MAX || exclude.count == ATH_OPTION_LIST_MAX)
    return ath_fail(ATH_USAGE, "too many patterns");
  ath_cli_catch_signals();
  ath_hub_pull_options how = {.include = patterns_of(&include), .exclude = patterns_of(&exclude),
                              .files = patterns_of(&files), .workers = (int)workers,
                              .stop = &ath_cli_stop};
  ATH_TRY(ath_hub_pull(&place, &how, &pulled));
  if (pulled.files == 0 && include.count + exclude.count > 0)
    return ath_fail(ATH_NOT_FOUND, "%s@%s: no file is left by --include and --exclude", place.id,
                    place.revision);
  return print_pulled(&pulled, json);
}

const ath_command ath_command_hub_pull = {
  .name = "hub pull",
  .summary = "download a model, a dataset or files of one from the Hugging Face Hub",
  .operands = "USER/NAME|hf://… [FILE…]",
  .details =
      "Prints the local path of what was pulled. It lies in the cache that the huggingface_hub\n"
      "library has too ($HF_HUB_CACHE, else $HF_HOME/hub, else ~/.cache/huggingface/hub), so that\n"
      "neither downloads what the other has. A download that was cut off goes on where it was;\n"
      "every file is checked against the checksum that the Hub lists.\n\n"
      "A place is USER/NAME, hf://USER/NAME@REV/PATH or hf://datasets/USER/NAME@REV/PATH, its\n"
      "PATH a file, a folder or a pattern. A private one needs a token: athanor hub login, or\n"
      "HF_TOKEN.\n"
      "HF_ENDPOINT names another Hub; HF_HUB_OFFLINE=1 takes what the cache has.\n\n"
      "Examples:\n"
      "  athanor hub pull FacebookAI/roberta-base --include '*.json' --include '*.safetensors'\n"
      "  athanor hub pull hf://datasets/Salesforce/wikitext/wikitext-2-raw-v1/\n"
      "  athanor hub pull google-bert/bert-base-cased config.json --revision main",
  .run = run_pull,
};

/* --- push --------------------------------------------------------------------------------- */

static ath_status put_pushed(const ath_hub_pushed *pushed, ath_buffer *out) {
  ATH_TRY(put_text(out, "id", pushed->id));
  ATH_TRY(put_text(out, "url", pushed->url));
  ATH_TRY(put_text(out, "commit", pushed->commit));
  return ath_buffer_format(out, ", \"committed\": %s, \"files\": %" PRIu64 ", \"bytes\": %" PRIu64
                           "}\n", pushed->committed ? "true" : "false", pushed->files,
                           pushed->bytes);
}

static ath_status print_pushed(const ath_hub_pushed *pushed, bool json) {
  ath_buffer out = ath_buffer_make(OUTPUT_MAX);
  ath_status status;
  if (json) status = put_pushed(pushed, &out);
  else if (pushed->committed)
    status = ath_buffer_format(&out, "%s (%" PRIu64 " file%s)\n", pushed->url, pushed->files,
                               pushed->files == 1 ? "" : "s");
  else status = ath_buffer_format(&out, "%s: all files are there already\n", pushed->url);
  if (status == ATH_OK) status = ath_cli_flush(&out);
  ath_buffer_free(&out);
  return status;
}

static ath_status run_push(const ath_command *self, int argc, char **argv) {
  const char *revision = NULL, *message = NULL;
  bool dataset = false, private_repo = false, json = false;
  ath_option_list include = {0}, exclude = {0};
  const ath_option options[] = {
    {"revision", ATH_OPTION_STRING, &revision, "REV",
     .help = "Branch to commit to; main unless said"},
    {"dataset", ATH_OPTION_FLAG, &dataset, NULL, .help = "USER/NAME is a dataset, not a model"},
    {"message", ATH_OPTION_STRING, &message, "TEXT", .help = "What the commit says"},
    {"private", ATH_OPTION_FLAG, &private_repo, NULL,
     .help = "Only for you and whom you let in, where the repository is made now"},
    {"include", ATH_OPTION_LIST, &include, "PATTERN",
     .help = "Only files of the folder that match; a * also matches slashes"},
    {"exclude", ATH_OPTION_LIST, &exclude, "PATTERN", .help = "No files that match"},
    {"json", ATH_OPTION_FLAG, &json, NULL,
     .help = "Print one object: id, url, commit, committed, files, bytes"},
    {0},
  };
  ath_operands operands;
  ath_hub_place place;
  ath_hub_pushed pushed;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count < 2 || operands.count > 3)
    return ath_fail(ATH_USAGE, "athanor hub push needs a repository and a file or folder");
  ATH_TRY(read_place(operands.items[0], dataset, revision, &place));
  if (include.count == ATH_OPTION_LIST_MAX || exclude.count == ATH_OPTION_LIST_MAX)
    return ath_fail(ATH_USAGE, "too many patterns");
  ath_hub_source source = {.local = operands.items[1],
                           .remote = operands.count > 2 ? operands.items[2] : place.path,
                           .include = patterns_of(&include), .exclude = patterns_of(&exclude)};
  ath_hub_push_options how = {.message = message, .private_repo = private_repo,
                              .stop = &ath_cli_stop};
  ath_cli_catch_signals();
  ATH_TRY(ath_hub_push(&place, &source, 1, &how, &pushed));
  return print_pushed(&pushed, json);
}

const ath_command ath_command_hub_push = {
  .name = "hub push",
  .summary = "upload a file or a folder to the Hugging Face Hub, in one commit",
  .operands = "USER/NAME|hf://… PATH [NAME]",
  .details =
      "Makes the repository if it is missing; NAME without USER is one of your own. A folder's\n"
      "files lie at the top, or in the folder NAME of the repository; a file keeps its name\n"
      "unless NAME is another. Only what differs from what is there is sent, all of it in one\n"
      "commit; if somebody else commits meanwhile, it goes on top of that.\n\n"
      "Needs a token that may write: athanor hub login, or HF_TOKEN.\n\n"
      "Examples:\n"
      "  athanor hub push my-model runs/demo --exclude 'checkpoint-*' --message 'First version'\n"
      "  athanor hub push USER/NAME runs/demo/README.md\n"
      "  athanor hub push hf://datasets/USER/NAME run/data/train train --private",
  .run = run_push,
};
