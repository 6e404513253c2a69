/* storage.c: athanor storage ls, cp and rm. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "cli/cli.h"
#include "storage/file.h"
#include "storage/names.h"
#include "storage/parallel.h"
#include "storage/pattern.h"
#include "storage/store.h"
#include "storage/transfer.h"

enum { COPY_THREADS = 4, LINE_MAX = 1 << 16 };

typedef struct contents {
  ath_names names;
  uint64_t bytes;
} contents;

static ath_status add_name(void *context, const char *name, const ath_object_info *info) {
  contents *self = context;
  self->bytes += info->size;
  return ath_names_add(&self->names, name);
}

/* --- locations ---------------------------------------------------------------------------- */

/* "gs://bucket/a/b*.txt" is the folder "gs://bucket/a" and what of it matches "b*.txt"; without a
 * special character it is the folder, and *pattern NULL. */
static ath_status split(const char *location, char folder[ATH_LOCATION_MAX], const char **pattern) {
  const char *special = strpbrk(location, "*?["), *rest = special;
  *pattern = NULL;
  if (strlen(location) >= ATH_LOCATION_MAX)
    return ath_fail(ATH_INVALID, "%.60s…: the location is too long", location);
  while (rest != NULL && rest > location && rest[-1] != '/') rest--;
  size_t length = rest != NULL ? (size_t)(rest - location) : strlen(location);
  memcpy(folder, location, length);
  folder[length] = '\0';
  if (rest == NULL) return ATH_OK;
  *pattern = rest;
  if (length == 0) memcpy(folder, ".", 2);
  return ATH_OK;
}

static ath_status fail_empty(const char *location) {
  return ath_fail(ATH_NOT_FOUND, "%s: there is nothing", location);
}

/* A folder that is taken for a file is the likeliest mistake. */
static ath_status advise(const char *location, ath_status status) {
  ath_outcome outcome;
  contents below = {0};
  if (status != ATH_NOT_FOUND && status != ATH_INVALID) return status;
  ath_outcome_keep(&outcome, status);
  bool folder = ath_object_list(location, add_name, &below) == ATH_OK && below.names.count > 0;
  ath_names_free(&below.names);
  if (folder) return ath_fail(ATH_NOT_FOUND, "%s is a folder; --recursive takes all that is below "
                              "it", location);
  return ath_outcome_return(&outcome);
}

/* --- ls ----------------------------------------------------------------------------------- */

typedef struct listing {
  const char *pattern; /* of names; NULL: all */
  size_t count;
  bool json;
  ath_buffer line;
} listing;

static ath_status print_object(void *context, const char *name, const ath_object_info *info) {
  listing *self = context;
  if (self->pattern != NULL && !ath_path_matches(self->pattern, name)) return ATH_OK;
  self->count++;
  ath_buffer_clear(&self->line);
  if (self->json) {
    ATH_TRY(ath_buffer_string(&self->line, "{\"name\": "));
    ATH_TRY(ath_buffer_json(&self->line, name, strlen(name)));
    ATH_TRY(ath_buffer_format(&self->line, ", \"size\": %" PRIu64 ", \"version\": \"%" PRIu64 "\"",
                              info->size, info->version));
    if (info->has_crc) ATH_TRY(ath_buffer_format(&self->line, ", \"crc32c\": %u", info->crc32c));
    ATH_TRY(ath_buffer_byte(&self->line, '}'));
  } else {
    ATH_TRY(ath_buffer_format(&self->line, "%14" PRIu64 "  ", info->size));
    ATH_TRY(ath_cli_put_visible(&self->line, name, strlen(name)));
  }
  ATH_TRY(ath_buffer_byte(&self->line, '\n'));
  return ath_cli_flush(&self->line);
}

/* A file or an object itself, else what is below. */
static ath_status list(const char *location, listing *self) {
  ath_object_info info;
  ath_status found = location[strlen(location) - 1] == '/'
                         ? ATH_NOT_FOUND : ath_object_stat(location, &info);
  if (found == ATH_OK) {
    const char *slash = strrchr(location, '/');
    return print_object(self, slash != NULL ? slash + 1 : location, &info);
  }
  if (found != ATH_NOT_FOUND && found != ATH_INVALID) return found;
  char folder[ATH_LOCATION_MAX];
  ATH_TRY(split(location, folder, &self->pattern));
  ATH_TRY(ath_object_list(folder, print_object, self));
  bool bucket = self->pattern == NULL && ath_location_is_remote(location) &&
                strchr(location + strlen("gs://"), '/') == NULL;
  return self->count > 0 || bucket || ath_path_is_folder(location) ? ATH_OK : fail_empty(location);
}

static ath_status run_ls(const ath_command *self, int argc, char **argv) {
  listing out = {.line = ath_buffer_make(LINE_MAX)};
  const ath_option table[] = {
    {.name = "json", .kind = ATH_OPTION_FLAG, .target = &out.json,
     .help = "Print one JSON object per file"},
    {0}};
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count != 1 || operands.items[0][0] == '\0')
    return ath_fail(ATH_USAGE, "name one file or folder, here or gs://…");
  ath_status status = list(operands.items[0], &out);
  ath_buffer_free(&out.line);
  return status;
}

const ath_command ath_command_storage_ls = {
  .name = "storage ls",
  .summary = "list files of a folder or of Cloud Storage, with their sizes",
  .operands = "LOCATION",
  .details =
      "A pattern in quotes lists what matches: * and ? within a name, **/ for folders.\n\n"
      "Examples:\n"
      "  athanor storage ls gs://bucket/data/train\n"
      "  athanor storage ls 'gs://bucket/**/*.tfrecord'",
  .run = run_ls,
};

/* --- cp and rm ---------------------------------------------------------------------------- */

/* What is below a folder, to be worked on by several threads. */
typedef struct tree {
  const char *from, *to;
  contents below;
} tree;

static ath_status copy_file(const char *from, const char *to) {
  if (!ath_location_is_remote(to)) ATH_TRY(ath_folder_create_above(to));
  return ath_object_copy(from, to);
}

/* Within Cloud Storage nothing passes here that could be counted. */
static void begin_transfer(ath_transfer *self, const char *from, const char *to, uint64_t bytes) {
  bool passes = !ath_location_is_remote(from) || !ath_location_is_remote(to);
  ath_transfer_init(self, "copying", from, false);
  self->total = passes ? bytes : 0;
  ath_transfer_attend(self);
}

static ath_status copy_single(const char *from, const char *to) {
  ath_object_info info;
  ath_transfer transfer;
  ATH_TRY(ath_object_stat(from, &info));
  begin_transfer(&transfer, from, to, info.size);
  ath_status status = copy_file(from, to);
  ath_transfer_attend(NULL);
  ath_transfer_finish(&transfer, status == ATH_OK);
  return status;
}

static ath_status copy_one(void *context, size_t index) {
  const tree *self = context;
  const char *name = self->below.names.items[index];
  char from[ATH_LOCATION_MAX], to[ATH_LOCATION_MAX];
  if (!ath_location_is_remote(self->to)) ATH_TRY(ath_name_check(name));
  ATH_TRY(ath_location_join(from, self->from, name));
  ATH_TRY(ath_location_join(to, self->to, name));
  return copy_file(from, to);
}

static ath_status delete_one(void *context, size_t index) {
  const tree *self = context;
  char path[ATH_LOCATION_MAX];
  ATH_TRY(ath_location_join(path, self->from, self->below.names.items[index]));
  return ath_object_delete(path);
}

/* What is below `from`, at least one file, by `job`. */
static ath_status for_all(const char *from, const char *to,
                          ath_status (*job)(void *context, size_t index)) {
  tree all = {.from = from, .to = to};
  ath_transfer transfer;
  ath_status status = ath_object_list(from, add_name, &all.below);
  if (status == ATH_OK && all.below.names.count == 0) status = fail_empty(from);
  begin_transfer(&transfer, from, to != NULL ? to : from, to != NULL ? all.below.bytes : 0);
  if (status == ATH_OK) status = ath_parallel(all.below.names.count, COPY_THREADS, job, &all);
  ath_transfer_attend(NULL);
  ath_transfer_finish(&transfer, status == ATH_OK);
  ath_names_free(&all.below.names);
  return status;
}

/* "a/b.txt" to "c/" is "c/b.txt". */
static ath_status target_of(const char *from, const char *to, char out[ATH_LOCATION_MAX]) {
  const char *slash = strrchr(from, '/');
  size_t length = strlen(to);
  bool folder = (length > 0 && to[length - 1] == '/') ||
                (!ath_location_is_remote(to) && ath_path_is_folder(to));
  if (folder) return ath_location_join(out, to, slash != NULL ? slash + 1 : from);
  if (length >= ATH_LOCATION_MAX) return ath_fail(ATH_INVALID, "%.60s…: the path is too long", to);
  memcpy(out, to, length + 1);
  return ATH_OK;
}

static ath_status run_cp(const ath_command *self, int argc, char **argv) {
  bool recursive = false;
  const ath_option table[] = {
    {.name = "recursive", .kind = ATH_OPTION_FLAG, .target = &recursive,
     .help = "Copy what is below the folder FROM to below the folder TO"},
    {0}};
  ath_operands operands;
  char to[ATH_LOCATION_MAX];
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count != 2) return ath_fail(ATH_USAGE, "name two files: from and to");
  if (recursive) return for_all(operands.items[0], operands.items[1], copy_one);
  ATH_TRY(target_of(operands.items[0], operands.items[1], to));
  return advise(operands.items[0], copy_single(operands.items[0], to));
}

const ath_command ath_command_storage_cp = {
  .name = "storage cp",
  .summary = "copy a file or a folder to, from or within Cloud Storage",
  .operands = "FROM TO",
  .details =
      "Each file is checked by its CRC-32C on the way, goes on where a connection broke, and is\n"
      "seen under its name only when it is whole.\n\n"
      "Credentials are Google's application default credentials: GOOGLE_OAUTH_ACCESS_TOKEN,\n"
      "GOOGLE_APPLICATION_CREDENTIALS (a service account's key or a user's credentials), what\n"
      "`gcloud auth application-default login` left, or the metadata server of a machine of\n"
      "Google's. STORAGE_EMULATOR_HOST names an emulator instead. ATHANOR_RETRY_SECONDS bounds\n"
      "how long a server in trouble is waited for (600).\n\n"
      "Examples:\n"
      "  athanor storage cp text.txt gs://bucket/text.txt\n"
      "  athanor storage cp --recursive gs://bucket/runs/mine runs/mine",
  .run = run_cp,
};

static ath_status run_rm(const ath_command *self, int argc, char **argv) {
  bool recursive = false;
  const ath_option table[] = {
    {.name = "recursive", .kind = ATH_OPTION_FLAG, .target = &recursive,
     .help = "Delete all that is below the folder"},
    {0}};
  ath_operands operands;
  ath_object_info info;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count != 1) return ath_fail(ATH_USAGE, "name one file or folder");
  if (recursive) return for_all(operands.items[0], NULL, delete_one);
  ATH_TRY(advise(operands.items[0], ath_object_stat(operands.items[0], &info)));
  return ath_object_delete(operands.items[0]);
}

const ath_command ath_command_storage_rm = {
  .name = "storage rm",
  .summary = "delete a file, or all below a folder, here or in Cloud Storage",
  .operands = "LOCATION",
  .details = "Example:\n  athanor storage rm --recursive gs://bucket/runs/mine",
  .run = run_rm,
};
