/* commit.c: what goes into a commit, and the commit itself. */
#include "hub/commit.h"

#include <inttypes.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLE_BYTES = 512, CHUNK_FILES = 256, CHUNK_TEXT_MAX = 2 << 20, COMMIT_MAX = 512 << 20 };

/* The first `count` bytes of a file in base64, appended. */
static ath_status put_base64(const ath_hub_file *file, size_t count, ath_buffer *out) {
  int descriptor;
  size_t length = BASE64_ENCODE_RAW_LENGTH(count), got = 0;
  ATH_TRY_CONTEXT(ath_buffer_reserve(out, length + 1), "%s", file->local);
  uint8_t *bytes = malloc(count + 1);
  if (bytes == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", file->local);
  ath_status status = ath_hub_file_open(file, &descriptor);
  while (status == ATH_OK && got < count) {
    ssize_t more = pread(descriptor, bytes + got, count - got, (off_t)got);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) status = ath_fail_errno(errno, "%s", file->local);
    if (more == 0) status = ath_fail(ATH_MISMATCH, "%s: became shorter", file->local);
    got += more > 0 ? (size_t)more : 0;
  }
  if (descriptor >= 0) close(descriptor);
  if (status == ATH_OK) {
    base64_encode_raw(out->bytes + out->length, count, bytes);
    out->length += length;
    out->bytes[out->length] = '\0';
  }
  free(bytes);
  return status;
}

/* --- preupload ---------------------------------------------------------------------------- */

static ath_status put_sample(const ath_hub_file *file, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, "{\"path\": "));
  ATH_TRY(ath_buffer_json(out, file->remote, strlen(file->remote)));
  ATH_TRY(ath_buffer_format(out, ", \"size\": %" PRIu64 ", \"sample\": \"", file->size));
  ATH_TRY(put_base64(file, file->size < SAMPLE_BYTES ? (size_t)file->size : SAMPLE_BYTES, out));
  return ath_buffer_string(out, "\"}");
}

static ath_status put_samples(const ath_hub_file *files, size_t count, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, "{\"files\": ["));
  for (size_t i = 0; i < count; i++) {
    if (i > 0) ATH_TRY(ath_buffer_string(out, ", "));
    ATH_TRY(put_sample(&files[i], out));
  }
  return ath_buffer_string(out, "]}");
}

/* The store takes no empty files. */
static ath_status take_wish(ath_hub_file *file, const json_t *wish) {
  const char *mode = ath_hub_text_of(wish, "uploadMode"), *oid = ath_hub_text_of(wish, "oid");
  bool large = mode != NULL && strcmp(mode, "lfs") == 0;
  if (!large && (mode == NULL || strcmp(mode, "regular") != 0))
    return ath_fail(ATH_INVALID, "%s: the Hub does not say how it wants it", file->remote);
  file->ignored = json_is_true(json_object_get(wish, "shouldIgnore"));
  file->same = false;
  if (file->ignored) return ATH_OK;
  ATH_TRY(ath_hub_file_hash(file, large && file->size > 0));
  file->same = oid != NULL && strcmp(oid, file->oid) == 0;
  return ATH_OK;
}

static const json_t *wish_of(const json_t *answer, const ath_hub_file *file) {
  const json_t *wishes = json_object_get(answer, "files");
  for (size_t i = 0; i < json_array_size(wishes); i++) {
    const json_t *wish = json_array_get(wishes, i);
    const char *path = ath_hub_text_of(wish, "path");
    if (path != NULL && strcmp(path, file->remote) == 0) return wish;
  }
  return NULL;
}

static ath_status ask_chunk(ath_hub *hub, const ath_hub_place *place, const char *url,
                            ath_hub_file *files, size_t count) {
  json_t *answer = NULL;
  ath_buffer body = ath_buffer_make(CHUNK_TEXT_MAX);
  ath_status status = put_samples(files, count, &body);
  ath_hub_body sent = {.bytes = body.bytes, .size = body.length};
  if (status == ATH_OK) status = ath_hub_call(hub, "POST", url, &sent, place->id, &answer);
  for (size_t i = 0; i < count && status == ATH_OK; i++)
    status = take_wish(&files[i], wish_of(answer, &files[i]));
  json_decref(answer);
  ath_buffer_free(&body);
  return status;
}

ath_status ath_hub_preupload(ath_hub *hub, const ath_hub_place *place, ath_hub_files *files) {
  ath_buffer url = ath_buffer_make(ATH_HTTP_URL_MAX - 1);
  ath_status status = ath_hub_api_url(hub, place, "preupload", place->revision, &url);
  for (size_t i = 0; i < files->count && status == ATH_OK; i += CHUNK_FILES) {
    size_t left = files->count - i;
    status = ask_chunk(hub, place, url.bytes, files->items + i,
                       left < CHUNK_FILES ? left : CHUNK_FILES);
  }
  ath_buffer_free(&url);
  return status;
}

/* --- commit ------------------------------------------------------------------------------- */

static ath_status put_header(const char *message, const char *parent, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, "{\"key\": \"header\", \"value\": {\"summary\": "));
  ATH_TRY(ath_buffer_json(out, message, strlen(message)));
  ATH_TRY(ath_buffer_string(out, ", \"description\": \"\", \"parentCommit\": "));
  ATH_TRY(ath_buffer_json(out, parent, strlen(parent)));
  return ath_buffer_string(out, "}}\n");
}

static ath_status put_file(const ath_hub_file *file, ath_buffer *out) {
  ATH_TRY(ath_buffer_format(out, "{\"key\": \"%s\", \"value\": {\"path\": ",
                            file->large ? "lfsFile" : "file"));
  ATH_TRY(ath_buffer_json(out, file->remote, strlen(file->remote)));
  if (file->large)
    return ath_buffer_format(out, ", \"algo\": \"sha256\", \"oid\": \"%s\", \"size\": %" PRIu64
                             "}}\n", file->oid, file->size);
  ATH_TRY(ath_buffer_string(out, ", \"encoding\": \"base64\", \"content\": \""));
  ATH_TRY(put_base64(file, (size_t)file->size, out));
  return ath_buffer_string(out, "\"}}\n");
}

static ath_status put_commit(const ath_hub_files *files, const char *message, const char *parent,
                             ath_buffer *out) {
  ATH_TRY(put_header(message, parent, out));
  for (size_t i = 0; i < files->count; i++)
    if (!files->items[i].ignored && !files->items[i].same)
      ATH_TRY(put_file(&files->items[i], out));
  return ATH_OK;
}

ath_status ath_hub_commit(ath_hub *hub, const ath_hub_place *place, const ath_hub_files *files,
                          const char *message, const char *parent, json_t **answer) {
  ath_buffer url = ath_buffer_make(ATH_HTTP_URL_MAX - 1), body = ath_buffer_make(COMMIT_MAX);
  ath_status status = ath_hub_api_url(hub, place, "commit", place->revision, &url);
  if (status == ATH_OK) status = put_commit(files, message, parent, &body);
  ath_hub_body sent = {.type = "application/x-ndjson", .bytes = body.bytes, .size = body.length};
  if (status == ATH_OK) status = ath_hub_call(hub, "POST", url.bytes, &sent, place->id, answer);
  ath_buffer_free(&body);
  ath_buffer_free(&url);
  return status;
}
