/* processes_absent.c: the store in a build without pmix.h. */
#include "backends/processes.h"

ath_status ath_store_open(ath_store **out) {
  ath_launch launch = ath_launch_read();
  *out = NULL;
  return ath_fail(ATH_UNSUPPORTED, "started as process %d of %d by %s, but this build cannot join "
                  "several processes, because pmix.h was not there; run scripts/setup.sh build and "
                  "build again", launch.rank, launch.size, launch.launcher);
}
