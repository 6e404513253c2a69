/* tokenizer_convert.c: athanor tokenizer convert. */
#include <stdio.h>

#include "cli/cli.h"
#include "tokenizers/files/convert.h"

static ath_status run(const ath_command *self, int argc, char **argv) {
  bool lowercase = true;
  const ath_option options[] = {
    {"lowercase", ATH_OPTION_FLAG, &lowercase, NULL,
     .help = "Lower the letters and take off the accents before a vocab.txt is used, as its"
             " uncased models do"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count != 2)
    return ath_fail(ATH_USAGE, "athanor tokenizer convert wants INPUT and OUTPUT; see athanor"
                    " tokenizer convert --help");
  ath_tokenizer *tokenizer;
  ATH_TRY(ath_tokenizer_convert(operands.items[0],
                                lowercase ? ATH_CASE_LOWERED : ATH_CASE_KEPT, &tokenizer));
  ath_status status = ath_tokenizer_save(tokenizer, operands.items[1], 0);
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
      "INPUT is a vocab.txt (WordPiece, as BERT has it), or a folder with one, or with vocab.json\n"
      "and merges.txt (byte-level BPE, as GPT-2 and RoBERTa have it). OUTPUT is a folder. Models\n"
      "whose letters keep their case, such as bert-base-cased, want --no-lowercase.\n\n"
      "Examples:\n"
      "  athanor tokenizer convert vocab.txt run/tokenizer\n"
      "  athanor tokenizer convert --no-lowercase bert-base-cased run/tokenizer",
  .run = run,
};
