/* hub.h: repositories of the Hugging Face Hub, pulled from it and pushed to it.
 *
 * What is pulled lies in the cache that the huggingface_hub library has too, in the same layout and
 * under the same locks, so that neither fetches what the other has:
 *
 *     $HF_HUB_CACHE/models--USER--NAME/blobs/<sha256 or git's sha1>
 *                                     /snapshots/<commit>/<path> → ../../blobs/…
 *                                     /refs/<branch>              the commit
 *                                     /trees/<commit>.json        what the commit holds
 *
 * $HF_HUB_CACHE is by default $HF_HOME/hub, and $HF_HOME ~/.cache/huggingface. HF_ENDPOINT names
 * another server; with HF_HUB_OFFLINE=1 nothing is asked of any, and the cache has to do. A token
 * comes from the options, from HF_TOKEN, or from the file that a login leaves, $HF_TOKEN_PATH or
 * $HF_HOME/token. It is sent to the endpoint only and is in no message.
 *
 * Requests are repeated where that helps (storage/retry.h says when and how long). Everything here
 * may be called from any thread, but ath_hub_login, which sets the umask for a moment. Failures:
 * ATH_DENIED for want of rights, ATH_NOT_FOUND for a repository, revision or file that is not
 * there, ATH_CORRUPT where bytes do not have the checksum that the Hub gave, ATH_IO where the
 * network fails, ATH_INTERRUPTED by `stop`.
 *
 * Example
 *
 *     ath_status copy_of_a_model(const char *from, const char *to) {
 *       ath_hub_place place;
 *       ath_hub_pulled pulled;
 *       ath_hub_pushed pushed;
 *       ATH_TRY(ath_hub_place_parse(from, &place));
 *       ATH_TRY(ath_hub_pull(&place, NULL, &pulled));
 *       ATH_TRY(ath_hub_place_parse(to, &place));
 *       ath_hub_source source = {.local = pulled.path};
 *       ath_hub_push_options how = {.message = "A copy", .private_repo = true};
 *       ATH_TRY(ath_hub_push(&place, &source, 1, &how, &pushed));
 *       printf("%s\n", pushed.url);
 *       return ATH_OK;
 *     }
 */
#ifndef ATHANOR_HUB_H
#define ATHANOR_HUB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- where -------------------------------------------------------------------------------- */

typedef enum ath_hub_kind { ATH_HUB_MODEL, ATH_HUB_DATASET, ATH_HUB_SPACE } ath_hub_kind;

enum { ATH_HUB_ID_MAX = 200, ATH_HUB_REVISION_MAX = 256, ATH_HUB_PATH_MAX = 1024 };

/* A repository, or something in it. */
typedef struct ath_hub_place {
  ath_hub_kind kind;
  char id[ATH_HUB_ID_MAX];             /* "USER/NAME", or "NAME" for some old ones */
  char revision[ATH_HUB_REVISION_MAX]; /* a branch, a tag or a commit; "main" unless said */
  char path[ATH_HUB_PATH_MAX];         /* a file, a folder, or a pattern; "": all of it */
} ath_hub_place;

/* Reads "USER/NAME", "NAME", "hf://[datasets/|spaces/|models/]USER/NAME[@REVISION][/PATH]". A slash
 * in a revision is written %2F, but for refs/pr/N and refs/convert/NAME. ATH_USAGE for others. */
ath_status ath_hub_place_parse(const char *text, ath_hub_place *out) ATH_MUST_CHECK;
/* Whether it may be meant for a repository: "hf://…", or "USER/NAME" as the Hub allows names. */
bool ath_hub_is_place(const char *text);

/* --- pull --------------------------------------------------------------------------------- */

/* NULL stands for all defaults, here and below. Patterns are those of Python's fnmatch, in which
 * * also matches a slash; one that ends in a slash takes what is below. */
typedef struct ath_hub_pull_options {
  const char *const *include, *const *exclude; /* patterns, then NULL; or NULL */
  const char *const *files; /* more to include, of which each has to be there; or NULL */
  const char *token;        /* NULL: the user's own */
  int workers;                                 /* downloads at a time; 0: 4 */
  bool brief;   /* gives up soon where no server answers at all */
  const volatile sig_atomic_t *stop;
} ath_hub_pull_options;

enum { ATH_HUB_LOCAL_MAX = 4096 };
typedef struct ath_hub_pulled {
  char path[ATH_HUB_LOCAL_MAX]; /* the snapshot's folder, or the file or folder in it */
  char commit[64];
  uint64_t files, fetched;      /* in the snapshot that were asked for; of these not here before */
  uint64_t bytes;               /* that were fetched */
  bool offline;                 /* found in the cache, without asking */
} ath_hub_pulled;

/* Fetches what is not there in this version, or goes on where an earlier pull was cut off. Where no
 * server can be reached and the cache has the place complete, that does, with a warning. */
ath_status ath_hub_pull(const ath_hub_place *place, const ath_hub_pull_options *options,
                        ath_hub_pulled *out) ATH_MUST_CHECK;

/* --- push --------------------------------------------------------------------------------- */

/* A file, or a folder with all below it but .git, .cache and .athanor, and the name that it gets in
 * the repository; NULL or "": a file keeps its own, a folder's files lie at the top. */
typedef struct ath_hub_source {
  const char *local, *remote;
  const char *const *include, *const *exclude; /* patterns of names in the folder */
} ath_hub_source;

typedef struct ath_hub_push_options {
  const char *message;  /* of the commit */
  const char *token;
  bool private_repo;    /* where it is to be made */
  bool quiet;           /* no progress is shown: others show theirs */
  const volatile sig_atomic_t *stop;
} ath_hub_push_options;

typedef struct ath_hub_pushed {
  char id[ATH_HUB_ID_MAX]; /* with the user's name */
  char url[512];           /* of the commit, or of the repository where there was none to make */
  char commit[64];         /* the head of the branch now */
  bool committed;          /* false: all was there already */
  uint64_t files;          /* in the commit */
  uint64_t bytes;          /* of large files that were sent; the others travel in the commit */
} ath_hub_pushed;

/* One commit with the files that differ from those there, in a repository that is made if missing;
 * "NAME" alone is the user's. When another commit came between, it is made anew on top of that. */
ath_status ath_hub_push(const ath_hub_place *place, const ath_hub_source *sources, size_t count,
                        const ath_hub_push_options *options, ath_hub_pushed *out) ATH_MUST_CHECK;

/* --- who ---------------------------------------------------------------------------------- */

typedef struct ath_hub_user {
  char name[ATH_HUB_ID_MAX], full_name[ATH_HUB_ID_MAX];
  char token_name[ATH_HUB_ID_MAX], role[64]; /* of the token: "write"; "" if it is not told */
} ath_hub_user;

/* ATH_DENIED without a token, or with one that the Hub does not know. */
ath_status ath_hub_whoami(const char *token, ath_hub_user *out) ATH_MUST_CHECK;
/* Asks the Hub whose token it is and keeps it where huggingface_hub looks, for the owner's eyes
 * only; `path`, of ATH_HUB_LOCAL_MAX bytes, tells where. */
ath_status ath_hub_login(const char *token, ath_hub_user *out, char *path) ATH_MUST_CHECK;
/* Forgets all tokens kept there. *was: there were any. */
ath_status ath_hub_logout(bool *was) ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
