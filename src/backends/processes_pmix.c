/* processes_pmix.c: the store over PMIx (pmix.org, standard 4.2), which mpirun and srun serve.
 *
 * A process puts values under its own rank, and a getter asks each rank in turn, since a key does
 * not say who puts it. What was found by experiment with Open MPI 4.1 and OpenPMIx 4.2, on one host
 * and on two: PMIx_Get with PMIX_TIMEOUT and PMIX_GET_REFRESH_CACHE sees every committed value and
 * answers at once where there is none, provided its owner has committed anything; without the
 * refresh a value put later is never seen from another host, with PMIX_IMMEDIATE another host is
 * not asked. PMIx_Lookup, which needs no owner, waits without end for a key that nobody publishes,
 * and srun has none. So each process commits a greeting, and all meet, before the first question.
 * A question that is under way when the value's owner leaves (PMIx_Finalize) is sometimes never
 * answered, whatever its PMIX_TIMEOUT: about one in seventy runs of the contract on a loaded
 * machine, none of 414 since all meet again before the first leaves.
 *
 * One thread makes all calls, since none has a bound that can be relied on: the caller of a call
 * that does not come back is told so, and this process can go on to its end. */
#include <pmix.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/errand.h"
#include "backends/processes.h"
#include "base/library.h"
#include "base/log.h"
#include "base/outcome.h"
#include "formats/sha256.h"

/* How long is waited for all to meet; for the owner of a value, by PMIx; for PMIx; for its end. */
enum { MEET_SECONDS = 120, ANSWER_SECONDS = 10, CALL_SECONDS = 60, CLOSE_SECONDS = 20 };

/* --- the library --------------------------------------------------------------------------- */

/* The functions used; their types are those of pmix.h. */
#define PMIX_FUNCTIONS(X)                                                                   \
  X(PMIx_Init) X(PMIx_Finalize) X(PMIx_Put) X(PMIx_Commit) X(PMIx_Fence) X(PMIx_Get)        \
  X(PMIx_Abort) X(PMIx_Error_string)

static struct {
#define DECLARE(name) ATH_LIBRARY_POINTER(name);
  PMIX_FUNCTIONS(DECLARE)
#undef DECLARE
} pmix;

static ath_status load_library(void) {
#define SYMBOL(name) ATH_LIBRARY_SYMBOL(pmix, name),
  const ath_symbol symbols[] = {PMIX_FUNCTIONS(SYMBOL)};
#undef SYMBOL
  return ath_library_load("libpmix.so.2", "by which several processes find one another; Debian: "
                          "apt-get install libpmix2", symbols, sizeof symbols / sizeof *symbols);
}

/* --- errands ------------------------------------------------------------------------------- */

typedef struct pmix_store {
  ath_store base;
  pmix_proc_t me;
  ath_runner *runner;
} pmix_store;

/* One call, with copies of all it needs: it may outlast the one who asked for it. */
typedef struct errand {
  pmix_store *store;
  ath_status (*call)(struct errand *self);
  pmix_key_t key;
  int rank;         /* whose value is asked for; or the exit code of all */
  char *value;      /* to put, or that was found */
  size_t size;
  ath_outcome outcome;
} errand;

static void free_errand(errand *self) {
  if (self != NULL) free(self->value);
  free(self);
}

static ath_status make_errand(pmix_store *store, ath_status (*call)(errand *self), errand **out) {
  *out = calloc(1, sizeof **out);
  if (*out == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a call of PMIx");
  (*out)->store = store;
  (*out)->call = call;
  return ATH_OK;
}

static void do_errand(void *context) {
  errand *self = context;
  ath_outcome_keep(&self->outcome, self->call(self));
}

/* Frees the errand unless it is done; then its outcome is returned, and it is the caller's. A call
 * that never comes back keeps it. */
static ath_status wait_for(errand *self, const char *what, int seconds) {
  const ath_store *store = &self->store->base;
  if (!ath_runner_call(self->store->runner, do_errand, self, seconds))
    return ath_fail(ATH_IO, "process %d of %d: %s: PMIx has not answered for %d s; the launcher's "
                    "daemon may have ended", store->rank, store->size, what, seconds);
  ath_status status = ath_outcome_return(&self->outcome);
  if (status != ATH_OK) free_errand(self);
  return status;
}

/* An errand of which nothing but its end is of interest. */
static ath_status run_errand(pmix_store *store, ath_status (*call)(errand *self), const char *what,
                             int seconds) {
  errand *self;
  ATH_TRY(make_errand(store, call, &self));
  ATH_TRY(wait_for(self, what, seconds));
  free_errand(self);
  return ATH_OK;
}

/* --- calls --------------------------------------------------------------------------------- */

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

/* The library makes values with malloc, and so they are freed. */
static void free_value(pmix_value_t *value) {
  if (value == NULL) return;
  if (value->type == PMIX_BYTE_OBJECT) free(value->data.bo.bytes);
  free(value);
}

static ath_status call_put(errand *self) {
  pmix_value_t value = {.type = PMIX_BYTE_OBJECT,
                        .data.bo = {.bytes = self->value, .size = self->size}};
  ATH_TRY(check(pmix.PMIx_Put(PMIX_GLOBAL, self->key, &value), "PMIx_Put"));
  return check(pmix.PMIx_Commit(), "PMIx_Commit");
}

static ath_status call_get(errand *self) {
  pmix_proc_t owner = process(self->store, (pmix_rank_t)self->rank);
  pmix_value_t *value = NULL;
  pmix_info_t how[2];
  set_integer(&how[0], PMIX_TIMEOUT, ANSWER_SECONDS);
  set_flag(&how[1], PMIX_GET_REFRESH_CACHE);
  pmix_status_t code = pmix.PMIx_Get(&owner, self->key, how, 2, &value);
  if (code == PMIX_ERR_NOT_FOUND || code == PMIX_ERR_TIMEOUT)
    return ath_fail(ATH_NOT_FOUND, "no process has put this key");
  ATH_TRY(check(code, "PMIx_Get"));
  if (value->type != PMIX_BYTE_OBJECT) {
    free_value(value);
    return ath_fail(ATH_CORRUPT, "PMIx_Get gives a value of another type");
  }
  self->value = value->data.bo.bytes;
  self->size = value->data.bo.size;
  free(value);
  return ATH_OK;
}

static ath_status call_fence(errand *self) {
  pmix_info_t how;
  (void)self;
  set_integer(&how, PMIX_TIMEOUT, MEET_SECONDS);
  return check(pmix.PMIx_Fence(NULL, 0, &how, 1), "PMIx_Fence");
}

static ath_status call_abort(errand *self) {
  return check(pmix.PMIx_Abort(self->rank, self->value, NULL, 0), "PMIx_Abort");
}

static ath_status call_finalize(errand *self) {
  (void)self;
  return check(pmix.PMIx_Finalize(NULL, 0), "PMIx_Finalize");
}

/* --- the store ----------------------------------------------------------------------------- */

/* PMIx has strings of 511 bytes for keys; ours are any bytes. */
static void name_key(const void *key, size_t size, pmix_key_t out) {
  char hash[ATH_SHA256_TEXT];
  ath_sha256_bytes(key, size, hash);
  snprintf(out, PMIX_MAX_KEYLEN, "athanor.%s", hash);
}

static ath_status put(ath_store *base, const void *key, size_t key_size, const void *data,
                      size_t size) {
  errand *self;
  ATH_TRY(make_errand((pmix_store *)base, call_put, &self));
  name_key(key, key_size, self->key);
  self->value = malloc(size + 1);
  self->size = size;
  if (self->value == NULL) {
    free_errand(self);
    return ath_fail(ATH_NO_MEMORY, "no memory for a value of %zu bytes", size);
  }
  if (size > 0) memcpy(self->value, data, size);
  ATH_TRY(wait_for(self, "putting a value", CALL_SECONDS));
  free_errand(self);
  return ATH_OK;
}

static ath_status ask(pmix_store *store, int rank, const pmix_key_t name, ath_buffer *out) {
  errand *self;
  ATH_TRY(make_errand(store, call_get, &self));
  memcpy(self->key, name, sizeof self->key);
  self->rank = rank;
  ATH_TRY(wait_for(self, "asking for a value", CALL_SECONDS));
  ath_status status = ath_buffer_append(out, self->value, self->size);
  free_errand(self);
  return status;
}

static ath_status try_get(ath_store *base, const void *key, size_t key_size, ath_buffer *out) {
  ath_status status = ATH_NOT_FOUND;
  pmix_key_t name = "";
  name_key(key, key_size, name);
  for (int rank = 0; rank < base->size && status == ATH_NOT_FOUND; rank++)
    status = ask((pmix_store *)base, rank, name, out);
  return status;
}

/* In a thread of its own, since the store's may be waiting for ever. */
static void end_all(ath_store *base, int code, const char *why) {
  pmix_store *store = (pmix_store *)base;
  errand *self;
  ath_runner *other;
  if (make_errand(store, call_abort, &self) != ATH_OK) return;
  self->value = strdup(why);
  self->rank = code;
  if (ath_runner_create(&other) != ATH_OK) {
    free_errand(self);
    return;
  }
  if (ath_runner_call(other, do_errand, self, CLOSE_SECONDS)) free_errand(self);
  ath_runner_destroy(other);
}

/* The daemon gives no values of a process that is gone, and none goes before all want to. A store
 * whose thread waits for ever is left to it. */
static void close_store(ath_store *base) {
  pmix_store *self = (pmix_store *)base;
  ath_status status = run_errand(self, call_fence, "leaving with the others", MEET_SECONDS + 10);
  if (status == ATH_OK) status = run_errand(self, call_finalize, "leaving", CLOSE_SECONDS);
  if (status != ATH_OK) ath_log(ATH_LOG_WARNING, "%s", ath_error_text());
  ath_runner_destroy(self->runner);
  if (status == ATH_OK) free(self);
}

static const ath_store_table table = {
  .put = put, .try_get = try_get, .end_all = end_all, .close = close_store};

/* --- opening ------------------------------------------------------------------------------- */

static ath_status call_init(errand *self) {
  return check(pmix.PMIx_Init(&self->store->me, NULL, 0), "PMIx_Init");
}

static ath_status call_size(errand *self) {
  pmix_store *store = self->store;
  pmix_proc_t all = process(store, PMIX_RANK_WILDCARD);
  pmix_value_t *value = NULL;
  ATH_TRY(check(pmix.PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value), "PMIx_Get of the job's size"));
  store->base.rank = (int)store->me.rank;
  store->base.size = value->type == PMIX_UINT32 ? (int)value->data.uint32 : 0;
  free_value(value);
  if (store->base.size > store->base.rank) return ATH_OK;
  return ath_fail(ATH_CORRUPT, "PMIx says that this is process %d of %d", store->base.rank,
                  store->base.size);
}

static ath_status meet(pmix_store *self) {
  ATH_TRY(run_errand(self, call_size, "asking for the number of processes", CALL_SECONDS));
  ATH_TRY(put(&self->base, "greeting", strlen("greeting"), "", 0));
  return ath_context(run_errand(self, call_fence, "meeting the others", MEET_SECONDS + 10),
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
  ath_status status = ath_runner_create(&self->runner);
  if (status == ATH_OK) status = run_errand(self, call_init, "joining the others", CALL_SECONDS);
  if (status != ATH_OK) {
    ath_runner_destroy(self->runner);
    return status; /* the little that is left may be in use */
  }
  status = meet(self);
  if (status == ATH_OK) *out = &self->base;
  else close_store(&self->base);
  return status;
}
