/* processes_pmix.c: the store over PMIx (pmix.org, standard 4.2), which mpirun and srun serve.
 *
 * A process puts values under its own rank, and a getter asks each rank in turn, since a key does
 * not say who puts it. What was found by experiment with Open MPI 4.1 and OpenPMIx 4.2, on one host
 * and on two: PMIx_Get with PMIX_TIMEOUT and PMIX_GET_REFRESH_CACHE sees every committed value and
 * answers at once where there is none, provided its owner has committed anything; without the
 * refresh a value put later is never seen from another host, with PMIX_IMMEDIATE another host is
 * not asked. PMIx_Lookup, which needs no owner, waits without end for a key that nobody publishes,
 * and srun has none. So each process commits a greeting, and all meet, before the first
 * question. */
#include <pmix.h>
#include <assert.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backends/processes.h"
#include "formats/sha256.h"

enum { MEET_SECONDS = 120, ANSWER_SECONDS = 10 };

/* --- the library --------------------------------------------------------------------------- */

/* The functions used; their types are those of pmix.h. */
#define PMIX_FUNCTIONS(X)                                                                   \
  X(PMIx_Init) X(PMIx_Finalize) X(PMIx_Put) X(PMIx_Commit) X(PMIx_Fence) X(PMIx_Get)        \
  X(PMIx_Abort) X(PMIx_Error_string)

static struct {
#define DECLARE(name) __typeof__(name) *name;
  PMIX_FUNCTIONS(DECLARE)
#undef DECLARE
} pmix;

static ath_status load_function(void *library, const char *name, void *target) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) return ath_fail(ATH_UNSUPPORTED, "libpmix is too old: it has no %s", name);
  memcpy(target, &symbol, sizeof symbol);
  return ATH_OK;
}

static ath_status load_library(void) {
  void *library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return ath_fail(ATH_UNSUPPORTED, "several processes find one another through PMIx, which needs "
                    "the library libpmix.so.2 (Debian: apt-get install libpmix2)");
#define LOAD(name) ATH_TRY(load_function(library, #name, &pmix.name));
  PMIX_FUNCTIONS(LOAD)
#undef LOAD
  return ATH_OK;
}

/* --- calls --------------------------------------------------------------------------------- */

typedef struct pmix_store {
  ath_store base;
  pmix_proc_t me;
} pmix_store;

static ath_status check(pmix_status_t code, const char *function) {
  if (code == PMIX_SUCCESS) return ATH_OK;
  return ath_fail(ATH_IO, "%s: %s", function, pmix.PMIx_Error_string(code));
}

static void set_info(pmix_info_t *info, const char *key) {
  memset(info, 0, sizeof *info);
  snprintf(info->key, sizeof info->key, "%s", key);
}

static void set_integer(pmix_info_t *info, const char *key, int value) {
  set_info(info, key);
  info->value.type = PMIX_INT;
  info->value.data.integer = value;
}

static void set_flag(pmix_info_t *info, const char *key) {
  set_info(info, key);
  info->value.type = PMIX_BOOL;
  info->value.data.flag = true;
}

static pmix_proc_t process(const pmix_store *self, pmix_rank_t rank) {
  pmix_proc_t other = self->me;
  other.rank = rank;
  return other;
}

/* PMIx has strings of 511 bytes for keys; ours are any bytes. */
static void name_key(const void *key, size_t size, pmix_key_t out) {
  char hash[ATH_SHA256_TEXT];
  ath_sha256_bytes(key, size, hash);
  snprintf(out, PMIX_MAX_KEYLEN, "athanor.%s", hash);
}

/* The library makes values with malloc, and so they are freed. */
static void free_value(pmix_value_t *value) {
  if (value == NULL) return;
  if (value->type == PMIX_BYTE_OBJECT) free(value->data.bo.bytes);
  free(value);
}

static ath_status put(ath_store *base, const void *key, size_t key_size, const void *data,
                      size_t size) {
  pmix_key_t name;
  pmix_value_t value = {.type = PMIX_BYTE_OBJECT,
                        .data.bo = {.bytes = (char *)(uintptr_t)data, .size = size}};
  (void)base;
  name_key(key, key_size, name);
  ATH_TRY(check(pmix.PMIx_Put(PMIX_GLOBAL, name, &value), "PMIx_Put"));
  return check(pmix.PMIx_Commit(), "PMIx_Commit");
}

static ath_status ask(const pmix_store *self, int rank, const pmix_key_t name, ath_buffer *out) {
  pmix_proc_t owner = process(self, (pmix_rank_t)rank);
  pmix_value_t *value = NULL;
  pmix_info_t how[2];
  set_integer(&how[0], PMIX_TIMEOUT, ANSWER_SECONDS);
  set_flag(&how[1], PMIX_GET_REFRESH_CACHE);
  pmix_status_t code = pmix.PMIx_Get(&owner, name, how, 2, &value);
  if (code == PMIX_ERR_NOT_FOUND || code == PMIX_ERR_TIMEOUT)
    return ath_fail(ATH_NOT_FOUND, "no process has put this key");
  ATH_TRY(check(code, "PMIx_Get"));
  ath_status status = ATH_OK;
  if (value->type != PMIX_BYTE_OBJECT)
    status = ath_fail(ATH_CORRUPT, "PMIx_Get gives a value of type %d", (int)value->type);
  else if (value->data.bo.size > 0)
    status = ath_buffer_append(out, value->data.bo.bytes, value->data.bo.size);
  free_value(value);
  return status;
}

static ath_status try_get(ath_store *base, const void *key, size_t key_size, ath_buffer *out) {
  const pmix_store *self = (const pmix_store *)base;
  ath_status status = ATH_NOT_FOUND;
  pmix_key_t name;
  name_key(key, key_size, name);
  for (int rank = 0; rank < base->size && status == ATH_NOT_FOUND; rank++)
    status = ask(self, rank, name, out);
  return status;
}

static void end_all(ath_store *base, const char *why) {
  (void)base;
  pmix.PMIx_Abort(1, why, NULL, 0);
}

static void close_store(ath_store *base) {
  pmix.PMIx_Finalize(NULL, 0);
  free(base);
}

static const ath_store_table table = {
  .put = put, .try_get = try_get, .end_all = end_all, .close = close_store};

/* --- opening ------------------------------------------------------------------------------- */

static ath_status read_size(pmix_store *self) {
  pmix_proc_t all = process(self, PMIX_RANK_WILDCARD);
  pmix_value_t *value = NULL;
  ATH_TRY(check(pmix.PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value), "PMIx_Get of the job's size"));
  self->base.rank = (int)self->me.rank;
  self->base.size = value->type == PMIX_UINT32 ? (int)value->data.uint32 : 0;
  free_value(value);
  if (self->base.size > self->base.rank) return ATH_OK;
  return ath_fail(ATH_CORRUPT, "PMIx says that this is process %d of %d", self->base.rank,
                  self->base.size);
}

static ath_status meet(pmix_store *self) {
  pmix_info_t how;
  set_integer(&how, PMIX_TIMEOUT, MEET_SECONDS);
  ATH_TRY(put(&self->base, "greeting", strlen("greeting"), "", 0));
  return ath_context(check(pmix.PMIx_Fence(NULL, 0, &how, 1), "PMIx_Fence"),
                     "the %d processes do not meet within %d s", self->base.size, MEET_SECONDS);
}

ath_status ath_store_open(ath_store **out) {
  *out = NULL;
  ath_launch launch = ath_launch_read();
  if (getenv("PMIX_NAMESPACE") == NULL)
    return ath_fail(ATH_UNSUPPORTED, "started as process %d of %d by %s, which offers no PMIx: use "
                    "Open MPI's mpirun, or srun --mpi=pmix", launch.rank, launch.size,
                    launch.launcher);
  ATH_TRY(load_library());
  pmix_store *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a store");
  self->base.table = &table;
  ath_status status = check(pmix.PMIx_Init(&self->me, NULL, 0), "PMIx_Init");
  if (status != ATH_OK) {
    free(self);
    return status;
  }
  status = read_size(self);
  if (status == ATH_OK) status = meet(self);
  if (status == ATH_OK) *out = &self->base;
  else close_store(&self->base);
  return status;
}
