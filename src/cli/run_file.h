/* run_file.h: a file of commands that belong together, for `athanor run`:
 *
 *     output_dir: runs/wikitext
 *     variables:                     # ${name} in any value below; --set name=value replaces one
 *       vocab_size: 8000
 *     stages:
 *       - tokenizer train:           # a command, and its options as they are called there
 *           input: text.txt
 *           vocab_size: ${vocab_size}
 *           output: ${output_dir}/tokenizer
 *       - fill-mask:
 *           model: ${output_dir}
 *           arguments: ["Paris is the capital of [MASK]."]
 *
 * true and false are --name and --no-name, null leaves an option out, a list gives it several
 * times; `arguments` are what stands on a command line without a name. */
#ifndef ATHANOR_CLI_RUN_FILE_H
#define ATHANOR_CLI_RUN_FILE_H

#include <stddef.h>

#include "athanor/status.h"
#include "base/arena.h"

enum { ATH_STAGES_MAX = 64, ATH_STAGE_WORDS_MAX = 512, ATH_VARIABLES_MAX = 64 };

typedef struct ath_stage {
  const char *name; /* "tokenizer train" */
  size_t line;      /* where it begins */
  char *words[ATH_STAGE_WORDS_MAX]; /* "tokenizer" "train" "--input" "text.txt" … */
  int count;
} ath_stage;

typedef struct ath_run_file {
  const char *path, *output_dir;
  ath_stage *stages; /* [count] */
  size_t count;
  ath_arena *memory; /* of all of it */
} ath_run_file;

/* `settings` are "name=value", before those of the file. ATH_INVALID names file and line. The
 * caller frees it, also after a failure. */
ath_status ath_run_file_read(const char *path, const char *output_dir,
                             const char *const *settings, size_t count, ath_run_file *out)
    ATH_MUST_CHECK;
void ath_run_file_free(ath_run_file *self);

#endif
