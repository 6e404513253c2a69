/* tree.c: what a commit of a repository holds: asked of the Hub, or as huggingface_hub keeps it. */
#include "hub/tree.h"

#include <stdlib.h>
#include <string.h>

#include "hub/place.h"
#include "storage/names.h"
#include "storage/pattern.h"

enum { ENTRIES_MAX = 1 << 20, NAMES_MAX = 256 << 20, FILE_TEXT_MAX = 512 << 20,
       URL_MAX = ATH_HTTP_URL_MAX, FORMAT_VERSION = 1 };

void ath_hub_tree_free(ath_hub_tree *self) {
  free(self->entries);
  ath_arena_destroy(self->memory);
  *self = (ath_hub_tree){0};
}

static ath_status add_entry(ath_hub_tree *self, const ath_hub_entry *entry) {
  if (self->memory == NULL) ATH_TRY(ath_arena_create(NAMES_MAX, &self->memory));
  if (self->count == self->capacity) {
    size_t capacity = self->capacity > 0 ? 2 * self->capacity : 64;
    ath_hub_entry *more = NULL;
    if (capacity <= ENTRIES_MAX) more = realloc(self->entries, capacity * sizeof *more);
    if (more == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for more than %zu files of a "
                                      "repository", self->count);
    self->entries = more;
    self->capacity = capacity;
  }
  self->entries[self->count] = *entry;
  self->entries[self->count].path = ath_arena_string(self->memory, entry->path);
  if (self->entries[self->count].path == NULL) return ATH_NO_MEMORY;
  self->count++;
  return ATH_OK;
}

/* --- the Hub's listing -------------------------------------------------------------------- */

static bool take_hex(const char *text, size_t digits, char out[ATH_HUB_OID_MAX]) {
  if (!ath_hub_is_hex(text, digits)) return false;
  memcpy(out, text, digits + 1);
  return true;
}

/* What becomes a path or the name of a file must be one. */
static ath_status read_entry(const json_t *item, ath_hub_tree *out) {
  const json_t *lfs = json_object_get(item, "lfs"), *size = json_object_get(item, "size");
  ath_hub_entry entry = {.path = ath_hub_text_of(item, "path")};
  if (entry.path == NULL || strlen(entry.path) >= ATH_HUB_PATH_MAX ||
      !ath_hub_is_safe_path(entry.path) || !json_is_integer(size) || json_integer_value(size) < 0)
    return ath_fail(ATH_INVALID, "the Hub lists a file \"%.200s\" that cannot be one here",
                    entry.path != NULL ? entry.path : "");
  entry.size = (uint64_t)json_integer_value(size);
  bool good = take_hex(ath_hub_text_of(item, "oid"), ATH_GIT_DIGITS, entry.git);
  if (json_is_object(lfs))
    good = take_hex(ath_hub_text_of(lfs, "oid"), ATH_LFS_DIGITS, entry.lfs) && good;
  take_hex(ath_hub_text_of(item, "xetHash"), ATH_LFS_DIGITS, entry.xet);
  if (!good) return ath_fail(ATH_INVALID, "%s: the Hub gives no checksum for it", entry.path);
  return add_entry(out, &entry);
}

ath_status ath_hub_tree_read(const json_t *list, ath_hub_tree *out) {
  size_t i;
  json_t *item;
  if (!json_is_array(list)) return ath_fail(ATH_INVALID, "the Hub's list of files is none");
  json_array_foreach(list, i, item) {
    const char *type = ath_hub_text_of(item, "type");
    if (type != NULL && strcmp(type, "file") == 0) ATH_TRY(read_entry(item, out));
  }
  return ATH_OK;
}

/* The next page's address, from `Link: <…>; rel="next"` (RFC 8288). Only the Hub itself may be
 * asked, as the token goes along. */
static bool next_page(const ath_hub *hub, char url[URL_MAX]) {
  const char *link = ath_http_header_of(hub->http, "Link");
  size_t endpoint = strlen(hub->endpoint);
  if (link == NULL || *link != '<' || strstr(link, "rel=\"next\"") == NULL) return false;
  size_t length = strcspn(++link, ">");
  if (length >= URL_MAX || strncmp(link, hub->endpoint, endpoint) != 0 || link[endpoint] != '/')
    return false;
  memcpy(url, link, length);
  url[length] = '\0';
  return true;
}

static ath_status ask_folder(ath_hub *hub, const ath_hub_place *place, const char *folder,
                             ath_hub_tree *out) {
  char page[URL_MAX];
  ath_buffer url = ath_buffer_make(URL_MAX - 1);
  ath_status status = ath_hub_api_url(hub, place, "tree", out->commit, &url);
  if (status == ATH_OK && *folder != '\0') status = ath_buffer_byte(&url, '/');
  if (status == ATH_OK) status = ath_http_escape(&url, folder, "/");
  if (status == ATH_OK) status = ath_buffer_string(&url, "?recursive=true&expand=false");
  if (status == ATH_OK) snprintf(page, sizeof page, "%s", url.bytes);
  ath_buffer_free(&url);
  size_t before;
  bool more = true;
  while (status == ATH_OK && more) {
    json_t *list = NULL;
    before = out->count;
    ATH_TRY(ath_hub_call(hub, "GET", page, NULL, place->id, &list));
    status = ath_context(ath_hub_tree_read(list, out), "%s", place->id);
    json_decref(list);
    more = next_page(hub, page) && out->count > before; /* an empty page ends it: no endless walk */
  }
  return status;
}

/* The one file of that name, if there is one. */
static ath_status ask_file(ath_hub *hub, const ath_hub_place *place, ath_hub_tree *out) {
  json_t *list = NULL;
  ath_buffer url = ath_buffer_make(URL_MAX - 1), body = ath_buffer_make(1 << 14);
  ath_status status = ath_hub_api_url(hub, place, "paths-info", out->commit, &url);
  if (status == ATH_OK) status = ath_buffer_string(&body, "{\"paths\": [");
  if (status == ATH_OK) status = ath_buffer_json(&body, place->path, strlen(place->path));
  if (status == ATH_OK) status = ath_buffer_string(&body, "], \"expand\": false}");
  if (status == ATH_OK)
    status = ath_hub_call(hub, "POST", url.bytes,
                          &(ath_hub_body){.bytes = body.bytes, .size = body.length}, place->id,
                          &list);
  if (status == ATH_OK) status = ath_context(ath_hub_tree_read(list, out), "%s", place->id);
  json_decref(list);
  ath_buffer_free(&body);
  ath_buffer_free(&url);
  return status;
}

bool ath_hub_is_pattern(const char *path) { return strpbrk(path, "*?[") != NULL; }

ath_status ath_hub_tree_ask(ath_hub *hub, const ath_hub_place *place, ath_hub_tree *out) {
  out->whole = place->path[0] == '\0' || ath_hub_is_pattern(place->path);
  if (out->whole) return ask_folder(hub, place, "", out);
  ATH_TRY(ask_file(hub, place, out));
  return out->count > 0 ? ATH_OK : ask_folder(hub, place, place->path, out);
}

ath_status ath_hub_resolve(ath_hub *hub, const ath_hub_place *place,
                           char commit[ATH_HUB_COMMIT_MAX], bool *hidden) {
  json_t *info = NULL;
  char what[ATH_HUB_ID_MAX + ATH_HUB_REVISION_MAX];
  ath_buffer url = ath_buffer_make(URL_MAX - 1);
  snprintf(what, sizeof what, "%s@%s", place->id, place->revision);
  ath_status status = ath_hub_api_url(hub, place, "revision", place->revision, &url);
  if (status == ATH_OK) status = ath_hub_call(hub, "GET", url.bytes, NULL, what, &info);
  const char *sha = ath_hub_text_of(info, "sha");
  if (status == ATH_OK && !ath_hub_is_hex(sha, ATH_GIT_DIGITS))
    status = ath_fail(ATH_INVALID, "%s: the Hub tells no commit for it", what);
  if (status == ATH_OK) snprintf(commit, ATH_HUB_COMMIT_MAX, "%s", sha);
  if (hidden != NULL) *hidden = json_is_true(json_object_get(info, "private"));
  json_decref(info);
  ath_buffer_free(&url);
  return status;
}

/* --- choosing ----------------------------------------------------------------------------- */

static bool is_below(const char *path, const char *folder) {
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool is_wanted(const ath_hub_pull_options *options, const char *path) {
  if (options->files != NULL && ath_hub_matches(options->files, path))
    return ath_hub_is_wanted(NULL, options->exclude, path);
  if (options->files != NULL && options->include == NULL) return false;
  return ath_hub_is_wanted(options->include, options->exclude, path);
}

static ath_status check_files(const ath_hub_tree *self, const ath_hub_place *place,
                              const char *const *files) {
  for (; files != NULL && *files != NULL; files++) {
    const char *const pattern[] = {*files, NULL};
    size_t i = 0;
    while (i < self->count && !ath_hub_matches(pattern, self->entries[i].path)) i++;
    if (i == self->count)
      return ath_fail(ATH_NOT_FOUND, "%s@%s has no file \"%s\"", place->id, place->revision,
                      *files);
  }
  return ATH_OK;
}

ath_status ath_hub_tree_choose(ath_hub_tree *self, const ath_hub_place *place,
                               const ath_hub_pull_options *options) {
  ATH_TRY(check_files(self, place, options->files));
  const char *const pattern[] = {place->path, NULL};
  bool is_pattern = ath_hub_is_pattern(place->path);
  size_t kept = 0;
  for (size_t i = 0; i < self->count; i++) {
    const char *path = self->entries[i].path;
    bool meant = place->path[0] == '\0' || is_below(path, place->path) ||
                 (is_pattern && (ath_hub_matches(pattern, path) ||
                                 ath_path_matches(place->path, path)));
    if (meant && is_wanted(options, path))
      self->entries[kept++] = self->entries[i];
  }
  self->count = kept;
  if (kept > 0 || place->path[0] == '\0') return ATH_OK;
  return ath_fail(ATH_NOT_FOUND, "%s@%s has no file \"%s\"", place->id, place->revision,
                  place->path);
}

/* --- the kept listing --------------------------------------------------------------------- */

static bool load_entry(const char *path, const json_t *info, ath_hub_tree *out) {
  const char *lfs = ath_hub_text_of(info, "lfs_sha256"), *xet = ath_hub_text_of(info, "xet_hash");
  json_int_t size = json_integer_value(json_object_get(info, lfs != NULL ? "lfs_size" : "size"));
  ath_hub_entry entry = {.path = path, .size = (uint64_t)size};
  return size >= 0 && strlen(path) < ATH_HUB_PATH_MAX && ath_hub_is_safe_path(path) &&
         take_hex(ath_hub_text_of(info, "blob_id"), ATH_GIT_DIGITS, entry.git) &&
         (lfs == NULL || take_hex(lfs, ATH_LFS_DIGITS, entry.lfs)) &&
         (xet == NULL || take_hex(xet, ATH_LFS_DIGITS, entry.xet)) &&
         add_entry(out, &entry) == ATH_OK;
}

bool ath_hub_tree_load(const char *path, ath_hub_tree *out) {
  ath_buffer text = ath_buffer_make(FILE_TEXT_MAX);
  json_t *root = NULL, *info;
  const char *name;
  if (ath_path_exists(path) && ath_file_read(path, &text) == ATH_OK && text.length > 0)
    root = json_loadb(text.bytes, text.length, 0, NULL);
  ath_buffer_free(&text);
  json_t *files = json_object_get(root, "files");
  bool good = json_is_object(files) &&
              json_integer_value(json_object_get(root, "format_version")) == FORMAT_VERSION;
  if (good) json_object_foreach(files, name, info) good = good && load_entry(name, info, out);
  json_decref(root);
  if (!good) out->count = 0;
  out->whole = good;
  return good;
}

static ath_status put_entry(ath_buffer *out, const ath_hub_entry *e) {
  unsigned long long size = e->size;
  ATH_TRY(ath_buffer_json(out, e->path, strlen(e->path)));
  ATH_TRY(ath_buffer_format(out, ": {\"size\": %llu, \"blob_id\": \"%s\"", size, e->git));
  if (e->lfs[0] != '\0')
    ATH_TRY(ath_buffer_format(out, ", \"lfs_sha256\": \"%s\", \"lfs_size\": %llu", e->lfs, size));
  if (e->xet[0] != '\0') ATH_TRY(ath_buffer_format(out, ", \"xet_hash\": \"%s\"", e->xet));
  return ath_buffer_byte(out, '}');
}

static ath_status put_entries(const ath_hub_tree *self, ath_buffer *out) {
  ATH_TRY(ath_buffer_format(out, "{\"format_version\": %d, \"files\": {", FORMAT_VERSION));
  for (size_t i = 0; i < self->count; i++) {
    ATH_TRY(ath_buffer_string(out, i > 0 ? ",\n " : "\n "));
    ATH_TRY(put_entry(out, &self->entries[i]));
  }
  return ath_buffer_string(out, "\n}}\n");
}

ath_status ath_hub_tree_save(const ath_hub_tree *self, const char *path) {
  ath_buffer text = ath_buffer_make(FILE_TEXT_MAX);
  ath_status status = ath_folder_create_above(path);
  if (status == ATH_OK) status = put_entries(self, &text);
  if (status == ATH_OK) status = ath_file_write(path, text.bytes, text.length);
  ath_buffer_free(&text);
  return status;
}
