/* codec.c: gzip by zlib; zstd, xz and bzip2 by libraries that are loaded when a file is met.
 *
 * What one file costs in memory is bounded: zstd's window by the library's own limit of 128 MB,
 * that of xz here. */
#include "storage/codec.h"

#include <bzlib.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/library.h"

enum { GZIP_ONLY = 16 + MAX_WBITS, XZ_MEMORY_MAX = 256 << 20 };

static ath_status no_memory(const char *name) {
  return ath_fail(ATH_NO_MEMORY, "no memory to unpack %s", name);
}

/* --- gzip (RFC 1952) ----------------------------------------------------------------------- */

typedef struct gzip {
  z_stream z;
  bool between; /* behind one member; another may begin */
  bool padded;  /* … or nothing but zeros follows, as tapes have it */
} gzip;

static ath_status gzip_open(void **state) {
  gzip *self = calloc(1, sizeof *self);
  if (self == NULL || inflateInit2(&self->z, GZIP_ONLY) != Z_OK) {
    free(self);
    return no_memory("gzip");
  }
  *state = self;
  return ATH_OK;
}

static void gzip_close(void *state) {
  gzip *self = state;
  if (self != NULL) inflateEnd(&self->z);
  free(self);
}

/* Another member begins with its magic, and padding is zeros; the rest is none of both. */
static ath_status gzip_begin_next(gzip *self, ath_codec_step *step) {
  if (*step->in == '\0') self->padded = true;
  while (self->padded && step->in_length > 0 && *step->in == '\0') step->in++, step->in_length--;
  if (step->in_length == 0) return ATH_OK;
  if (self->padded || *step->in != '\x1f')
    return ath_fail(ATH_CORRUPT, "what follows the end of the gzip data is none");
  self->between = false;
  return inflateReset(&self->z) == Z_OK ? ATH_OK : no_memory("gzip");
}

static ath_status gzip_unpack(void *state, ath_codec_step *step) {
  gzip *self = state;
  if (self->between && step->in_length > 0) ATH_TRY(gzip_begin_next(self, step));
  step->complete = self->between;
  if (self->between) return ATH_OK;
  self->z.next_in = (Bytef *)step->in;
  self->z.avail_in = (uInt)step->in_length;
  self->z.next_out = (Bytef *)step->out;
  self->z.avail_out = (uInt)step->out_room;
  int code = inflate(&self->z, Z_NO_FLUSH);
  step->in = (const char *)self->z.next_in;
  step->in_length = self->z.avail_in;
  step->out = (char *)self->z.next_out;
  step->out_room = self->z.avail_out;
  self->between = step->complete = code == Z_STREAM_END;
  if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) return ATH_OK;
  if (code == Z_MEM_ERROR) return no_memory("gzip");
  return ath_fail(ATH_CORRUPT, "the gzip data are damaged: %s",
                  self->z.msg != NULL ? self->z.msg : "a dictionary is asked for");
}

/* --- zstd (RFC 8878) ----------------------------------------------------------------------- */

static struct {
  ATH_LIBRARY_POINTER(ZSTD_createDStream);
  ATH_LIBRARY_POINTER(ZSTD_freeDStream);
  ATH_LIBRARY_POINTER(ZSTD_decompressStream);
  ATH_LIBRARY_POINTER(ZSTD_isError);
  ATH_LIBRARY_POINTER(ZSTD_getErrorName);
} zstd;

static ath_status zstd_open(void **state) {
  const ath_symbol symbols[] = {
    ATH_LIBRARY_SYMBOL(zstd, ZSTD_createDStream), ATH_LIBRARY_SYMBOL(zstd, ZSTD_freeDStream),
    ATH_LIBRARY_SYMBOL(zstd, ZSTD_decompressStream), ATH_LIBRARY_SYMBOL(zstd, ZSTD_isError),
    ATH_LIBRARY_SYMBOL(zstd, ZSTD_getErrorName)};
  ATH_TRY(ath_library_load("libzstd.so.1", "Debian: apt-get install libzstd1", symbols,
                           sizeof symbols / sizeof *symbols));
  *state = zstd.ZSTD_createDStream();
  return *state != NULL ? ATH_OK : no_memory("zstd");
}

static void zstd_close(void *state) {
  if (state != NULL) zstd.ZSTD_freeDStream(state);
}

static ath_status zstd_unpack(void *state, ath_codec_step *step) {
  ZSTD_inBuffer in = {step->in, step->in_length, 0};
  ZSTD_outBuffer out = {step->out, step->out_room, 0};
  size_t code = zstd.ZSTD_decompressStream(state, &out, &in);
  if (zstd.ZSTD_isError(code))
    return ath_fail(ATH_CORRUPT, "the zstd data are damaged: %s", zstd.ZSTD_getErrorName(code));
  /* At the end of the input without a frame begun, the call asks for a header: nothing moved. */
  if (in.pos > 0 || out.pos > 0) step->complete = code == 0;
  step->in += in.pos;
  step->in_length -= in.pos;
  step->out += out.pos;
  step->out_room -= out.pos;
  return ATH_OK;
}

/* --- xz (tukaani.org/xz/xz-file-format.txt) ------------------------------------------------ */

static struct {
  ATH_LIBRARY_POINTER(lzma_stream_decoder);
  ATH_LIBRARY_POINTER(lzma_code);
  ATH_LIBRARY_POINTER(lzma_end);
} xz;

static void xz_close(void *state) {
  if (state != NULL) xz.lzma_end(state);
  free(state);
}

static ath_status xz_open(void **state) {
  const ath_symbol symbols[] = {ATH_LIBRARY_SYMBOL(xz, lzma_stream_decoder),
                                ATH_LIBRARY_SYMBOL(xz, lzma_code),
                                ATH_LIBRARY_SYMBOL(xz, lzma_end)};
  ATH_TRY(ath_library_load("liblzma.so.5", "Debian: apt-get install liblzma5", symbols,
                           sizeof symbols / sizeof *symbols));
  lzma_stream *self = calloc(1, sizeof *self);
  if (self == NULL ||
      xz.lzma_stream_decoder(self, XZ_MEMORY_MAX, LZMA_CONCATENATED) != LZMA_OK) {
    xz_close(self);
    return no_memory("xz");
  }
  *state = self;
  return ATH_OK;
}

static const char *xz_fault(lzma_ret code) {
  switch (code) {
    case LZMA_FORMAT_ERROR: return "what follows their end is none";
    case LZMA_OPTIONS_ERROR: return "they use what this library does not know";
    case LZMA_MEMLIMIT_ERROR: return "they ask for more than 256 MB of memory";
    default: return "they are damaged";
  }
}

static ath_status xz_unpack(void *state, ath_codec_step *step) {
  lzma_stream *self = state;
  self->next_in = (const uint8_t *)step->in;
  self->avail_in = step->in_length;
  self->next_out = (uint8_t *)step->out;
  self->avail_out = step->out_room;
  lzma_ret code = xz.lzma_code(self, step->last ? LZMA_FINISH : LZMA_RUN);
  step->in = (const char *)self->next_in;
  step->in_length = self->avail_in;
  step->out = (char *)self->next_out;
  step->out_room = self->avail_out;
  step->complete = code == LZMA_STREAM_END;
  if (code == LZMA_OK || code == LZMA_STREAM_END || code == LZMA_BUF_ERROR) return ATH_OK;
  if (code == LZMA_MEM_ERROR) return no_memory("xz");
  return ath_fail(ATH_CORRUPT, "the xz data: %s", xz_fault(code));
}

/* --- bzip2 --------------------------------------------------------------------------------- */

static struct {
  ATH_LIBRARY_POINTER(BZ2_bzDecompressInit);
  ATH_LIBRARY_POINTER(BZ2_bzDecompress);
  ATH_LIBRARY_POINTER(BZ2_bzDecompressEnd);
} bz;

typedef struct bzip2 {
  bz_stream b;
  bool between; /* behind one stream; another may begin */
} bzip2;

static ath_status bzip2_begin(bzip2 *self) {
  memset(&self->b, 0, sizeof self->b);
  return bz.BZ2_bzDecompressInit(&self->b, 0, 0) == BZ_OK ? ATH_OK : no_memory("bzip2");
}

static ath_status bzip2_open(void **state) {
  const ath_symbol symbols[] = {ATH_LIBRARY_SYMBOL(bz, BZ2_bzDecompressInit),
                                ATH_LIBRARY_SYMBOL(bz, BZ2_bzDecompress),
                                ATH_LIBRARY_SYMBOL(bz, BZ2_bzDecompressEnd)};
  ATH_TRY(ath_library_load("libbz2.so.1.0", "Debian: apt-get install libbz2-1.0", symbols,
                           sizeof symbols / sizeof *symbols));
  bzip2 *self = calloc(1, sizeof *self);
  if (self == NULL) return no_memory("bzip2");
  ath_status status = bzip2_begin(self);
  if (status == ATH_OK) *state = self;
  else free(self);
  return status;
}

static void bzip2_close(void *state) {
  bzip2 *self = state;
  if (self != NULL) bz.BZ2_bzDecompressEnd(&self->b);
  free(self);
}

static ath_status bzip2_unpack(void *state, ath_codec_step *step) {
  bzip2 *self = state;
  if (self->between && step->in_length > 0) {
    bz.BZ2_bzDecompressEnd(&self->b);
    ATH_TRY(bzip2_begin(self));
    self->between = false;
  }
  step->complete = self->between;
  if (self->between) return ATH_OK;
  self->b.next_in = (char *)step->in;
  self->b.avail_in = (unsigned)step->in_length;
  self->b.next_out = step->out;
  self->b.avail_out = (unsigned)step->out_room;
  int code = bz.BZ2_bzDecompress(&self->b);
  step->in = self->b.next_in;
  step->in_length = self->b.avail_in;
  step->out = self->b.next_out;
  step->out_room = self->b.avail_out;
  self->between = step->complete = code == BZ_STREAM_END;
  if (code == BZ_OK || code == BZ_STREAM_END) return ATH_OK;
  if (code == BZ_MEM_ERROR) return no_memory("bzip2");
  return ath_fail(ATH_CORRUPT, code == BZ_DATA_ERROR_MAGIC
                                   ? "what follows the end of the bzip2 data is none"
                                   : "the bzip2 data are damaged");
}

/* --- which --------------------------------------------------------------------------------- */

static const ath_codec codecs[] = {
  {"gzip", ".gz", "\x1f\x8b", 2, gzip_open, gzip_unpack, gzip_close},
  {"zstd", ".zst", "\x28\xb5\x2f\xfd", 4, zstd_open, zstd_unpack, zstd_close},
  {"xz", ".xz", "\xfd" "7zXZ\0", 6, xz_open, xz_unpack, xz_close},
  {"bzip2", ".bz2", "BZh", 3, bzip2_open, bzip2_unpack, bzip2_close},
};
enum { CODECS = sizeof codecs / sizeof *codecs };

/* A text may begin with "BZh": bzip2's has its level and a block's or the end's magic behind it. */
static bool is_bzip2(const char *bytes, size_t length) {
  return length >= ATH_CODEC_MAGIC_MAX && bytes[3] >= '1' && bytes[3] <= '9' &&
         (memcmp(bytes + 4, "1A", 2) == 0 || memcmp(bytes + 4, "\x17\x72", 2) == 0);
}

const ath_codec *ath_codec_of_bytes(const char *bytes, size_t length) {
  for (const ath_codec *codec = codecs; codec < codecs + CODECS; codec++)
    if (length >= codec->magic_length && memcmp(bytes, codec->magic, codec->magic_length) == 0 &&
        (codec->unpack != bzip2_unpack || is_bzip2(bytes, length)))
      return codec;
  return NULL;
}

const ath_codec *ath_codec_of_name(const char *path) {
  size_t length = strlen(path);
  for (const ath_codec *codec = codecs; codec < codecs + CODECS; codec++) {
    size_t suffix = strlen(codec->suffix);
    if (length > suffix && strcmp(path + length - suffix, codec->suffix) == 0) return codec;
  }
  return NULL;
}
