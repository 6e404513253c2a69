/* fake_profiler.h: a profiler extension for the plugins of the tests. What it "records" is a text.
 *
 * The variable FAKE_PROFILER, read at each call, is a list of words:
 *
 *     fail:create  fail:start  fail:stop  fail:collect  fail:fill  fail:destroy
 *     own      the data lie in a buffer of the plugin's; otherwise it wants one of its size
 *     empty    there is nothing but the NUL at the end
 *     liar     asked to fill a buffer, it says that it has written more
 *
 * FAKE_JOURNAL is a file to which each call adds its name as a line. */
#ifndef ATHANOR_TESTS_FAKE_PROFILER_H
#define ATHANOR_TESTS_FAKE_PROFILER_H

#include <pjrt_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char fake_profile[] = "what was recorded"; /* and its NUL */

/* Live profilers and errors; a test may look. */
static int fake_profiler_live;
int fake_profiler_live_count(void);
int fake_profiler_live_count(void) { return fake_profiler_live; }

static void fake_journal(const char *line) {
  const char *path = getenv("FAKE_JOURNAL");
  FILE *file = path != NULL ? fopen(path, "a") : NULL;
  if (file == NULL) return;
  fprintf(file, "%s\n", line);
  fclose(file);
}

static int profiler_word(const char *kind, const char *name) {
  const char *variable = getenv("FAKE_PROFILER");
  char words[256], word[64];
  snprintf(words, sizeof words, " %s ", variable != NULL ? variable : "");
  snprintf(word, sizeof word, " %s%s ", kind, name);
  return strstr(words, word) != NULL;
}

/* --- the extension's structs, as profiler_c_api.h of OpenXLA has them ----------------------- */

typedef struct { char text[64]; } fake_profiler_error;
typedef struct { size_t size; void *priv; fake_profiler_error *error; } fake_error_args;
typedef struct {
  size_t size;
  void *priv;
  const fake_profiler_error *error;
  const char *message;
  size_t message_size;
} fake_message_args;
typedef struct { size_t size; const char *options; size_t options_size; int *profiler; }
    fake_create_args;
typedef struct { size_t size; int *profiler; } fake_plain_args;
typedef struct { size_t size; int *profiler; uint8_t *buffer; size_t buffer_size; }
    fake_collect_args;

static void profiler_error_destroy(fake_error_args *args) {
  fake_profiler_live--;
  free(args->error);
}

static void profiler_error_message(fake_message_args *args) {
  args->message = args->error->text;
  args->message_size = strlen(args->error->text);
}

static fake_profiler_error *profiler_step(const char *name) {
  fake_journal(name);
  if (!profiler_word("fail:", name)) return NULL;
  fake_profiler_error *error = calloc(1, sizeof *error);
  snprintf(error->text, sizeof error->text, "no %s today", name);
  fake_profiler_live++;
  return error;
}

static fake_profiler_error *profiler_create(fake_create_args *args) {
  fake_profiler_error *error = profiler_step("create");
  if (error != NULL) return error;
  /* Field 3 of ProfileOptions, the level for devices: without it nothing of them is recorded. */
  int level = 0;
  for (size_t i = 0; i + 1 < args->options_size; i += 2)
    if (args->options[i] == 3 << 3) level = args->options[i + 1];
  if (level != 1) abort();
  args->profiler = calloc(1, sizeof *args->profiler);
  fake_profiler_live++;
  return NULL;
}

/* Destroys also when it is asked to fail. */
static fake_profiler_error *profiler_destroy(fake_plain_args *args) {
  fake_profiler_live--;
  free(args->profiler);
  return profiler_step("destroy");
}

static fake_profiler_error *profiler_start(fake_plain_args *args) {
  (void)args;
  return profiler_step("start");
}

static fake_profiler_error *profiler_stop(fake_plain_args *args) {
  (void)args;
  return profiler_step("stop");
}

static fake_profiler_error *profiler_collect(fake_collect_args *args) {
  const char *data = profiler_word("", "empty") ? "" : fake_profile;
  size_t size = strlen(data) + 1;
  fake_profiler_error *error = profiler_step(args->buffer != NULL ? "fill" : "collect");
  if (error != NULL) return error;
  if (args->buffer != NULL) {
    memcpy(args->buffer, data, size);
    if (profiler_word("", "liar")) size += 1000;
  } else if (profiler_word("", "own")) {
    memcpy(&args->buffer, &data, sizeof data); /* without its const */
  }
  args->buffer_size = size;
  return NULL;
}

static int profiler_error_code;

/* The extension, before `next` in the chain. */
static PJRT_Extension_Base *fake_profiler_extension(PJRT_Extension_Base *next) {
  static struct {
    size_t size;
    void *priv;
    void (*error_destroy)(fake_error_args *);
    void (*error_message)(fake_message_args *);
    void *error_code;
    fake_profiler_error *(*create)(fake_create_args *);
    fake_profiler_error *(*destroy)(fake_plain_args *);
    fake_profiler_error *(*start)(fake_plain_args *);
    fake_profiler_error *(*stop)(fake_plain_args *);
    fake_profiler_error *(*collect)(fake_collect_args *);
  } table;
  static struct { PJRT_Extension_Base base; void *table, *context; } extension;
  table = (typeof(table)){sizeof table, NULL, profiler_error_destroy, profiler_error_message,
                          &profiler_error_code, profiler_create, profiler_destroy, profiler_start,
                          profiler_stop, profiler_collect};
  extension = (typeof(extension)){{.struct_size = sizeof extension,
                                   .type = PJRT_Extension_Type_Profiler, .next = next},
                                  &table, NULL};
  return &extension.base;
}

#endif
