/* json_document.h: a tokenizer.json whose model's "vocab" and "merges" stay text, of which
 * json_rows.h reads, and a normaliser's character map, a long string; all the rest, which is small,
 * becomes a tree. */
#ifndef ATHANOR_TOKENIZERS_JSON_DOCUMENT_H
#define ATHANOR_TOKENIZERS_JSON_DOCUMENT_H

#include "tokenizers/json.h"

/* A part of the file's bytes, with its brackets or quotes. */
typedef struct ath_json_section {
  const char *key;
  size_t from, to;
  const json_t *value; /* the empty one that stands in the tree for it */
  bool read;
} ath_json_section;

#define ATH_JSON_MAP "precompiled_charsmap"
enum { ATH_JSON_SECTIONS = 3 };
typedef struct ath_json_document {
  ath_buffer file;
  json_t *tree;
  ath_json root;
  ath_json_section sections[ATH_JSON_SECTIONS]; /* as they come in the file */
  size_t section_count;
} ath_json_document;

/* Reads a file as ath_json_load does. The document stays where it is until it is freed, failed or
 * not. */
ath_status ath_json_document_load(const char *path, size_t maximum, ath_json_document *out)
    ATH_MUST_CHECK;
/* The same of a text, under this name. */
ath_status ath_json_document_parse(const char *name, const ath_buffer *text,
                                   ath_json_document *out) ATH_MUST_CHECK;
/* The section that this value stands for, or NULL. */
ath_json_section *ath_json_document_section(ath_json_document *self, const json_t *value);
/* A string as ath_json_string gives it, but without a NUL behind it: a section's lies in the
 * file. */
ath_status ath_json_document_string(const ath_json *json, const char **bytes, size_t *length)
    ATH_MUST_CHECK;
/* Checks the syntax of the sections that nobody has read. */
ath_status ath_json_document_check(const ath_json_document *self) ATH_MUST_CHECK;
void ath_json_document_free(ath_json_document *self);

#endif
