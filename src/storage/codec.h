/* codec.h: compressed forms of files, each unpacked by its own library, piece by piece. */
#ifndef ATHANOR_STORAGE_CODEC_H
#define ATHANOR_STORAGE_CODEC_H

#include <stdbool.h>
#include <stddef.h>

#include "athanor/status.h"

/* One step: what is taken from `in` and put to `out`. */
typedef struct ath_codec_step {
  const char *in;
  size_t in_length;
  char *out;
  size_t out_room;
  bool last;     /* in: behind `in` the file ends */
  bool complete; /* out: all that was begun is finished, so the file may end here */
} ath_codec_step;

typedef struct ath_codec {
  const char *name;           /* "gzip" */
  const char *suffix;         /* ".gz" */
  const char *magic;          /* what such a file begins with */
  size_t magic_length;
  ath_status (*open)(void **state) ATH_MUST_CHECK;
  /* Moves `in` and `out` on. Several files one behind the other are one, as for the usual programs.
   * ATH_CORRUPT, with what is wrong. */
  ath_status (*unpack)(void *state, ath_codec_step *step) ATH_MUST_CHECK;
  void (*close)(void *state); /* NULL is allowed */
} ath_codec;

enum { ATH_CODEC_MAGIC_MAX = 6 };

/* By the first bytes; NULL: not compressed, as far as is known here. */
const ath_codec *ath_codec_of_bytes(const char *bytes, size_t length);
/* By the name's end; NULL for any other. */
const ath_codec *ath_codec_of_name(const char *path);

#endif
