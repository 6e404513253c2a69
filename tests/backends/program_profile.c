/* program_profile.c: records what a plugin does while it compiles for a topology, and writes the
 * file that TensorBoard reads: `backends_program_profile PLUGIN TOPOLOGY FILE`, for tests written
 * in Python. */
#include <stdio.h>
#include <string.h>

#include "backends/pjrt/client.h"
#include "storage/file.h"

enum { PROFILE_LIMIT = 1 << 28 };

static const char text[] =
    "func.func @main(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {\n"
    "  %0 = stablehlo.add %x, %x : tensor<128x128xf32>\n"
    "  return %0 : tensor<128x128xf32>\n}\n";

static ath_status compile(ath_pjrt_topology *topology) {
  ath_pjrt_compile_options options = {.partitions = 1};
  ath_pjrt_executable *executable;
  ath_status status =
      ath_pjrt_topology_compile(topology, text, strlen(text), &options, &executable);
  ath_pjrt_executable_destroy(executable);
  ath_pjrt_topology_destroy(topology);
  return status;
}

static ath_status record(const char *path, const char *name, ath_buffer *out) {
  ath_pjrt_plugin *plugin;
  ath_pjrt_profile *profile;
  ath_pjrt_topology *topology;
  ATH_TRY(ath_pjrt_plugin_load(path, true, &plugin));
  ATH_TRY(ath_pjrt_profile_start(plugin, &profile));
  ath_status status = ath_pjrt_topology_create(plugin, name, NULL, 0, &topology);
  if (status == ATH_OK) status = compile(topology);
  if (status != ATH_OK) {
    ath_pjrt_profile_abandon(profile);
    return status;
  }
  return ath_pjrt_profile_stop(profile, out);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  ath_buffer bytes = ath_buffer_make(PROFILE_LIMIT);
  ath_status status = record(argv[1], argv[2], &bytes);
  if (status == ATH_OK)
    status = ath_file_write(argv[3], bytes.length > 0 ? bytes.bytes : "", bytes.length);
  if (status != ATH_OK) fprintf(stderr, "%s\n", ath_error_text());
  ath_buffer_free(&bytes);
  return status != ATH_OK;
}
