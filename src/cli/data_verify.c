/* data_verify.c: `athanor data verify`: every checksum of a folder of shards. */
#include <inttypes.h>

#include "athanor/dataset.h"
#include "cli/cli.h"
#include "storage/file.h"

static ath_status run_verify(const ath_command *self, int argc, char **argv) {
  const ath_option table[] = {{0}};
  ath_operands operands;
  char folder[ATH_PATH_MAX];
  ath_dataset *data = NULL;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count != 1) return ath_fail(ATH_USAGE, "name one folder of shards");
  ATH_TRY(ath_cli_locate(ATH_CLI_DATA, operands.items[0], folder));
  ATH_TRY(ath_dataset_open(folder, &data));
  ath_status status = ath_dataset_verify(data);
  if (status == ATH_OK)
    printf("%" PRIu64 " records: every checksum matches\n", ath_dataset_size(data));
  ath_dataset_close(data);
  return status;
}

const ath_command ath_command_data_verify = {
  .name = "data verify",
  .summary = "read every record of a folder of shards and check every checksum",
  .operands = "DIR",
  .details = "Example:\n  athanor data verify run/data/train",
  .run = run_verify,
};
