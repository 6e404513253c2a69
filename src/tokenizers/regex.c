/* regex.c: Oniguruma, loaded when first needed. */
#include "tokenizers/regex.h"

#include <assert.h>
#include <oniguruma.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/library.h"
#include "tokenizers/unicode_classes.h"

/* Steps back in one match and in all that a search tries; entries of the stack of what may be tried
 * again. The first is the library's own limit, so that the reference has it too. */
enum { RETRIES_IN_MATCH = 10000000, RETRIES_IN_SEARCH = 50000000, STACK_MAX = 4 << 20 };
enum { GROUPS_MAX = 63, PATTERN_MAX = 1 << 20 };

struct ath_regex {
  regex_t *compiled;
};

/* --- the library -------------------------------------------------------------------------- */

/* The functions used; their types are those of oniguruma.h. */
#define ONIGURUMA_FUNCTIONS(X)                                                              \
  X(onig_initialize) X(onig_new) X(onig_free) X(onig_search_with_param)                     \
  X(onig_number_of_captures) X(onig_error_code_to_str) X(onig_new_match_param)              \
  X(onig_set_match_stack_limit_size_of_match_param)                                         \
  X(onig_set_retry_limit_in_match_of_match_param)                                           \
  X(onig_set_retry_limit_in_search_of_match_param) X(onig_unicode_define_user_property)

static struct {
#define DECLARE(name) ATH_LIBRARY_POINTER(name);
  ONIGURUMA_FUNCTIONS(DECLARE)
#undef DECLARE
  OnigEncoding utf8;
  OnigSyntaxType *syntax;
  OnigMatchParam *limits;
  bool loaded;
} onig;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held to load and to compile */

static ath_status load_symbols(void) {
#define SYMBOL(name) ATH_LIBRARY_SYMBOL(onig, name),
  const ath_symbol symbols[] = {ONIGURUMA_FUNCTIONS(SYMBOL) {"OnigEncodingUTF8", &onig.utf8},
                                {"OnigSyntaxOniguruma", &onig.syntax}};
#undef SYMBOL
  return ath_library_load("libonig.so.5", "which regular expressions need; Debian: apt-get install "
                          "libonig5", symbols, sizeof symbols / sizeof *symbols);
}

/* --- Unicode 16 ----------------------------------------------------------------------------- */

/* Characters from `first` on are of one class, up to the next run. */
typedef struct class_run {
  uint32_t first;
  unsigned class;
} class_run;

/* A page like the one before it, which is all of one class, adds no run and is passed over. */
static size_t list_runs(class_run *out) {
  size_t count = 0, changes = 0;
  assert(out != NULL);
  for (uint32_t page = 0; page < 0x110000 / 128; page++) {
    if (page > 0 && ath_class_pages[page] == ath_class_pages[page - 1] && changes == 0) continue;
    changes = 0;
    for (uint32_t c = page * 128; c < (page + 1) * 128; c++) {
      unsigned class = ath_class_of(c);
      if (count > 0 && out[count - 1].class == class) continue;
      out[count++] = (class_run){c, class};
      changes++;
    }
  }
  return count;
}

/* A property given by the user comes before the library's own of that name. The list, which begins
 * with the number of ranges, must stay. */
static ath_status define(const char *name, OnigCodePoint *ranges) {
  if (onig.onig_unicode_define_user_property(name, ranges) == ONIG_NORMAL) return ATH_OK;
  return ath_fail(ATH_INTERNAL, "libonig does not take the property %s", name);
}

static ath_status define_property(const char *name, unsigned set, const class_run *runs,
                                  size_t count) {
  OnigCodePoint *ranges = calloc(2 * count + 1, sizeof *ranges);
  if (ranges == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the letters of Unicode");
  OnigCodePoint n = 0;
  for (size_t i = 0; i < count; i++) {
    if ((set >> runs[i].class & 1) == 0) continue;
    uint32_t next = i + 1 < count ? runs[i + 1].first : 0x110000;
    if (n > 0 && ranges[2 * n] + 1 == runs[i].first) {
      ranges[2 * n] = next - 1;
      continue;
    }
    n++;
    ranges[2 * n - 1] = runs[i].first;
    ranges[2 * n] = next - 1;
  }
  ranges[0] = n;
  ath_status status = define(name, ranges);
  if (status != ATH_OK) free(ranges);
  return status;
}

/* The script of Chinese characters, as of Unicode 16. */
static OnigCodePoint han[] = {
  22, 0x2E80, 0x2E99, 0x2E9B, 0x2EF3, 0x2F00, 0x2FD5, 0x3005, 0x3005, 0x3007, 0x3007, 0x3021,
  0x3029, 0x3038, 0x303B, 0x3400, 0x4DBF, 0x4E00, 0x9FFF, 0xF900, 0xFA6D, 0xFA70, 0xFAD9, 0x16FE2,
  0x16FE3, 0x16FF0, 0x16FF1, 0x20000, 0x2A6DF, 0x2A700, 0x2B739, 0x2B740, 0x2B81D, 0x2B820,
  0x2CEA1, 0x2CEB0, 0x2EBE0, 0x2EBF0, 0x2EE5D, 0x2F800, 0x2FA1D, 0x30000, 0x3134A, 0x31350,
  0x323AF,
};

static ath_status define_properties(void) {
  static const struct { const char *name; unsigned set; } properties[] = {
    {"L", ATH_SET_LETTERS}, {"Letter", ATH_SET_LETTERS},
    {"Lu", ATH_SET_UPPER}, {"Uppercase_Letter", ATH_SET_UPPER},
    {"Ll", ATH_SET_LOWER}, {"Lowercase_Letter", ATH_SET_LOWER},
    {"Lt", ATH_SET_TITLE}, {"Titlecase_Letter", ATH_SET_TITLE},
    {"Lm", ATH_SET_MODIFIER}, {"Modifier_Letter", ATH_SET_MODIFIER},
    {"Lo", ATH_SET_LETTER}, {"Other_Letter", ATH_SET_LETTER},
    {"M", ATH_SET_MARK}, {"Mark", ATH_SET_MARK},
    {"N", ATH_SET_NUMBER}, {"Number", ATH_SET_NUMBER},
  };
  enum { RUNS_MAX = 8192 };
  class_run *runs = malloc(RUNS_MAX * sizeof *runs);
  if (runs == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the letters of Unicode");
  size_t count = list_runs(runs);
  assert(count <= RUNS_MAX);
  ath_status status = ATH_OK;
  for (size_t i = 0; i < sizeof properties / sizeof *properties && status == ATH_OK; i++)
    status = define_property(properties[i].name, properties[i].set, runs, count);
  free(runs);
  return status == ATH_OK ? define("Han", han) : status;
}

static ath_status load_library(void) {
  if (onig.loaded) return ATH_OK;
  ATH_TRY(load_symbols());
  if (onig.onig_initialize(&onig.utf8, 1) != ONIG_NORMAL)
    return ath_fail(ATH_INTERNAL, "libonig does not start");
  ATH_TRY(define_properties());
  onig.limits = onig.onig_new_match_param();
  if (onig.limits == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for regular expressions");
  onig.onig_set_match_stack_limit_size_of_match_param(onig.limits, STACK_MAX);
  onig.onig_set_retry_limit_in_match_of_match_param(onig.limits, RETRIES_IN_MATCH);
  onig.onig_set_retry_limit_in_search_of_match_param(onig.limits, RETRIES_IN_SEARCH);
  onig.loaded = true;
  return ATH_OK;
}

/* --- expressions ---------------------------------------------------------------------------- */

static void release(void *regex) { onig.onig_free(((ath_regex *)regex)->compiled); }

static ath_status fail_compile(int code, OnigErrorInfo *info) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  onig.onig_error_code_to_str(text, code, info);
  return ath_fail(code == ONIGERR_MEMORY ? ATH_NO_MEMORY : ATH_INVALID,
                  "not a regular expression of Oniguruma's: %s", (const char *)text);
}

static ath_status compile(const char *pattern, size_t length, ath_arena *arena, ath_regex *self) {
  const OnigUChar *bytes = (const OnigUChar *)pattern;
  OnigErrorInfo info;
  ATH_TRY(load_library());
  int code = onig.onig_new(&self->compiled, bytes, bytes + length, ONIG_OPTION_NONE, onig.utf8,
                           onig.syntax, &info);
  if (code != ONIG_NORMAL) return fail_compile(code, &info);
  ath_status status = ath_arena_on_destroy(arena, release, self);
  if (status != ATH_OK) {
    release(self);
    return status;
  }
  int groups = onig.onig_number_of_captures(self->compiled);
  if (groups <= GROUPS_MAX) return ATH_OK;
  return ath_fail(ATH_INVALID, "a regular expression with %d groups; at most %d", groups,
                  GROUPS_MAX);
}

ath_status ath_regex_compile(const char *pattern, size_t length, ath_arena *arena,
                             const ath_regex **out) {
  if (length > PATTERN_MAX)
    return ath_fail(ATH_INVALID, "a regular expression of %zu bytes; at most %d", length,
                    PATTERN_MAX);
  ath_regex *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  pthread_mutex_lock(&lock);
  ath_status status = compile(pattern, length, arena, self);
  pthread_mutex_unlock(&lock);
  *out = self;
  return status;
}

static ath_status fail_search(int code, size_t from) {
  if (code == ONIGERR_MEMORY) return ath_fail(ATH_NO_MEMORY, "no memory for a regular expression");
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  onig.onig_error_code_to_str(text, code);
  return ath_fail(ATH_INVALID, "the tokenizer's regular expression fails on this text from byte %zu"
                  " on: %s", from, (const char *)text);
}

/* The places of the groups are on the stack, so that nothing is allocated for them. */
ath_status ath_regex_search(const ath_regex *self, const char *bytes, size_t length, size_t from,
                            bool *found, ath_match *out) {
  assert(from <= length && length <= INT32_MAX);
  int starts[GROUPS_MAX + 1], ends[GROUPS_MAX + 1];
  OnigRegion region = {GROUPS_MAX + 1, 0, starts, ends, NULL};
  const OnigUChar *text = (const OnigUChar *)bytes, *end = text + length;
  int code = onig.onig_search_with_param(self->compiled, text, end, text + from, end, &region,
                                         ONIG_OPTION_NONE, onig.limits);
  assert(region.beg == starts && region.end == ends);
  *found = false;
  if (code == ONIG_MISMATCH) return ATH_OK;
  if (code < 0) return fail_search(code, from);
  *out = (ath_match){(size_t)starts[0], (size_t)ends[0]};
  if (out->start < from || out->end < out->start || out->end > length) /* by \K in a lookaround */
    return ath_fail(ATH_INVALID, "the tokenizer's regular expression matches backwards at byte %zu",
                    from);
  *found = true;
  return ATH_OK;
}
