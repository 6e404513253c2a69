/* tpu.c: the environment of libtpu.
 *
 * Names and meanings of the variables: cloud.google.com/tpu/docs (running on slices, GKE) and the
 * names found in libtpu; what it does without them was measured. */
#include "backends/pjrt/tpu.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "storage/file.h"

enum { HOSTS_MAX = 65536, PRODUCT_NAME_MAX = 256 };

static ath_status set(const char *name, const char *value) {
  return setenv(name, value, 1) == 0 ? ATH_OK : ath_fail_errno(errno, "cannot set %s", name);
}

ath_status ath_tpu_prepare_ahead_of_time(void) {
  if (setenv("TPU_LOG_DIR", "disabled", 0) != 0)
    return ath_fail_errno(errno, "cannot set TPU_LOG_DIR");
  ATH_TRY(set("TPU_SKIP_MDS_QUERY", "1"));
  ATH_TRY(set("ALLOW_MULTIPLE_LIBTPU_LOAD", "1"));
  ATH_TRY(set("TPU_ACCELERATOR_TYPE", "v5litepod-8"));
  ATH_TRY(set("TPU_WORKER_HOSTNAMES", "localhost"));
  return set("TPU_WORKER_ID", "0");
}

/* --- the machine -------------------------------------------------------------------------- */

static bool any_matches(const char *root, const char *pattern) {
  char path[ATH_PATH_MAX];
  if (snprintf(path, sizeof path, "%s%s", root, pattern) >= ATH_PATH_MAX) return false;
  glob_t found = {0};
  bool any = glob(path, GLOB_NOSORT, NULL, &found) == 0 && found.gl_pathc > 0;
  globfree(&found);
  return any;
}

/* Virtual machines of Google Cloud have the server that knows their slice. */
static bool is_google_machine(const char *root) {
  char path[ATH_PATH_MAX];
  if (snprintf(path, sizeof path, "%s/sys/devices/virtual/dmi/id/product_name", root) >=
      ATH_PATH_MAX)
    return false;
  ath_buffer text = ath_buffer_make(PRODUCT_NAME_MAX);
  bool is = ath_file_read(path, &text) == ATH_OK && text.length > 0 &&
            strncmp(text.bytes, "Google", strlen("Google")) == 0;
  ath_buffer_free(&text);
  return is;
}

/* --- the slice ---------------------------------------------------------------------------- */

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value != NULL && *value != '\0' ? value : NULL;
}

static long count_items(const char *list) {
  long count = 1;
  for (; *list != '\0'; list++) count += *list == ',';
  return count;
}

/* The product of "2,2,1", or 0 when it is not three positive numbers. */
static long product_of_bounds(const char *text) {
  long product = 1;
  for (int i = 0; i < 3; i++) {
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || value < 1 || value > HOSTS_MAX || *end != (i < 2 ? ',' : '\0')) return 0;
    product *= value;
    text = end + 1;
  }
  return product;
}

static ath_status check_worker(const char *hosts, long count) {
  if (strchr(hosts, ':') != NULL)
    return ath_fail(ATH_INVALID, "TPU_WORKER_HOSTNAMES=%s: host names without ports are wanted, "
                    "separated by commas", hosts);
  const char *id = variable("TPU_WORKER_ID");
  if (id == NULL && count == 1) return ATH_OK;
  if (id == NULL)
    return ath_fail(ATH_INVALID, "TPU_WORKER_HOSTNAMES names %ld hosts: TPU_WORKER_ID must say "
                    "which of them (0 to %ld) this is", count, count - 1);
  char *end;
  long value = strtol(id, &end, 10);
  if (end == id || *end != '\0' || value < 0 || value >= count)
    return ath_fail(ATH_INVALID, "TPU_WORKER_ID=%s: TPU_WORKER_HOSTNAMES names %ld host%s, so 0 to "
                    "%ld is possible", id, count, count > 1 ? "s" : "", count - 1);
  return ATH_OK;
}

static ath_status check_bounds(const char *name, long hosts) {
  const char *text = variable(name);
  if (text == NULL) return ATH_OK;
  long product = product_of_bounds(text);
  if (product == 0)
    return ath_fail(ATH_INVALID, "%s=%s: three positive numbers like 2,2,1 are wanted", name, text);
  if (hosts > 0 && product != hosts)
    return ath_fail(ATH_MISMATCH, "%s=%s makes %ld hosts, but TPU_WORKER_HOSTNAMES names %ld", name,
                    text, product, hosts);
  return ATH_OK;
}

long ath_tpu_hosts(void) {
  const char *hosts = variable("TPU_WORKER_HOSTNAMES");
  return hosts != NULL ? count_items(hosts) : 0;
}

static ath_status check_slice(void) {
  const char *hosts = variable("TPU_WORKER_HOSTNAMES");
  long count = ath_tpu_hosts();
  if (hosts != NULL) ATH_TRY(check_worker(hosts, count));
  /* With several processes a host the process bounds count processes, not hosts. */
  long processes = variable("TPU_PROCESS_ADDRESSES") != NULL ? 0 : count;
  ATH_TRY(check_bounds("TPU_PROCESS_BOUNDS", processes));
  ATH_TRY(check_bounds("TPU_HOST_BOUNDS", processes));
  ATH_TRY(check_bounds("TPU_CHIPS_PER_PROCESS_BOUNDS", 0));
  ATH_TRY(check_bounds("TPU_CHIPS_PER_HOST_BOUNDS", 0));
  const char *addresses = variable("TPU_PROCESS_ADDRESSES");
  if (addresses != NULL && strcmp(addresses, "local") == 0)
    ath_log(ATH_LOG_WARNING, "TPU_PROCESS_ADDRESSES=local is set, as some notebook hosts do; if "
            "the TPU does not start, unset it");
  return ATH_OK;
}

bool ath_tpu_is_here(const char *root) {
  return any_matches(root, "/dev/accel[0-9]*") || any_matches(root, "/dev/vfio/[0-9]*");
}

ath_status ath_tpu_prepare(const char *root) {
  if (!ath_tpu_is_here(root))
    return ath_fail(ATH_UNSUPPORTED, "no TPU on this machine: neither /dev/accel0 nor a numbered "
                    "entry in /dev/vfio is here%s; \"athanor plan\" compiles for a TPU without one",
                    is_google_machine(root) ? " (it is a Google virtual machine without a TPU, or "
                                              "this container does not see it)" : "");
  if (!is_google_machine(root)) ATH_TRY(set("TPU_SKIP_MDS_QUERY", "1"));
  return check_slice();
}
