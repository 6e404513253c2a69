/* tokenizer_convert.c: athanor tokenizer convert. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/place.h"
#include "tokenizers/files/convert.h"

static ath_status run(const ath_command *self, int argc, char **argv) {
  bool lowercase = true;
  ath_convert_options wanted = {0};
  const ath_option options[] = {
    {"lowercase", ATH_OPTION_FLAG, &lowercase, NULL,
     .help = "Lower the letters and take off the accents before a vocab.txt is used, as its"
             " uncased models do, unless a tokenizer_config.json beside it says otherwise"},
    {"pattern", ATH_OPTION_STRING, &wanted.pattern, "NAME",
     .help = "How text is cut into words before tiktoken's ranks are used: gpt2, cl100k, o200k,"
             " llama3 or qwen2; the number of ranks tells it for files that are known"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count != 2)
    return ath_fail(ATH_USAGE, "athanor tokenizer convert wants INPUT and OUTPUT; see athanor"
                    " tokenizer convert --help");
  ath_tokenizer *tokenizer;
  wanted.letters = lowercase ? ATH_CASE_CONFIGURED : ATH_CASE_KEPT;
  char input[ATH_PATH_MAX];
  ATH_TRY(ath_cli_locate(ATH_CLI_TOKENIZER, operands.items[0], input));
  int64_t length;
  ATH_TRY(ath_tokenizer_given_length(input, &length));
  ATH_TRY(ath_tokenizer_convert(input, &wanted, &tokenizer));
  ath_cli_place place;
  ath_status status = ath_cli_place_open(&place, ATH_CLI_PLACE_FOLDER, operands.items[1], false);
  if (status == ATH_OK) status = ath_tokenizer_save(tokenizer, place.path, length);
  status = ath_cli_place_close(&place, status);
  if (status == ATH_OK)
    printf("%s: %d tokens\n", operands.items[1], ath_tokenizer_size(tokenizer));
  ath_tokenizer_destroy(tokenizer);
  return status;
}

const ath_command ath_command_tokenizer_convert = {
  .name = "tokenizer convert",
  .summary = "make tokenizer.json out of older files",
  .operands = "INPUT OUTPUT",
  .details =
      "INPUT is a vocab.txt (WordPiece, as BERT has it), a SentencePiece model (*.model), a file\n"
      "of tiktoken's with ranks (*.tiktoken, *.model), or a folder with one of these, or with\n"
      "vocab.json and merges.txt (byte-level BPE, as GPT-2 and RoBERTa have it). OUTPUT is a\n"
      "folder; the model_max_length of a tokenizer_config.json beside INPUT goes along. Models\n"
      "whose letters keep their case, such as bert-base-cased, want --no-lowercase, or a\n"
      "tokenizer_config.json beside vocab.txt that says so.\n\n"
      "Examples:\n"
      "  athanor tokenizer convert vocab.txt run/tokenizer\n"
      "  athanor tokenizer convert --no-lowercase bert-base-cased run/tokenizer\n"
      "  athanor tokenizer convert spiece.model run/tokenizer\n"
      "  athanor tokenizer convert --pattern cl100k my.tiktoken run/tokenizer",
  .run = run,
};
