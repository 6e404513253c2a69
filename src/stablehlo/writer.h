/* writer.h: the state of a StableHLO writer, for the files of src/stablehlo/ alone: hlo.c keeps it,
 * shapes.c, elementwise.c and products.c print statements with it, module.c prints around them. */
#ifndef ATHANOR_STABLEHLO_WRITER_H
#define ATHANOR_STABLEHLO_WRITER_H

#include "base/arena.h"
#include "base/hash_map.h"
#include "stablehlo/hlo.h"

/* "%<base>", or "%<base>.<serial>" for the statements of a node, which count from 1. */
typedef struct value_name {
  const char *base;
  int32_t serial; /* 0: none */
} value_name;

/* Values that an operation leaves for those that read its output. */
typedef struct kept_values {
  struct kept_values *next;
  ath_value output;
  int role, count;
  ath_hlo_value values[ATH_HLO_KEPT_MAX];
} kept_values;

struct ath_hlo {
  ath_buffer text;       /* statements, a line each */
  ath_arena *arena;      /* of names and kept values */
  ath_hash_map *bases;   /* name without "%" → how many values had to share it */
  value_name *names;     /* by value id */
  size_t name_count, name_capacity;
  kept_values *kept;
  const char *node;      /* whose statements are being printed, as error texts call it */
  const char *base;      /* the same, as values are named */
  int32_t serial;
  ath_status failure;
  char failure_text[1024];
};

ath_status ath_hlo_create(ath_hlo **out) ATH_MUST_CHECK;
void ath_hlo_destroy(ath_hlo *self); /* NULL is allowed */

/* What follows is printed for this node: error texts and values carry its name. */
void ath_hlo_enter(ath_hlo *self, const char *node);

/* A value that no statement makes: an argument of the function, named as it is. */
ath_hlo_value ath_hlo_argument(ath_hlo *self, const char *name, const ath_type *type);

/* The graph's type as a value's, without an id; and whether a value has that type. */
ath_hlo_value ath_hlo_shaped(ath_hlo_dtype dtype, int rank, const int64_t *dims);
bool ath_hlo_has_type(ath_hlo_value value, const ath_type *type);

/* Appends text made from `format`, which knows
 *   %v  const ath_hlo_value *   its name
 *   %t  const ath_hlo_value *   its type, "tensor<4x8xf32>"
 *   %l  int, const int64_t *    numbers with ", " between
 *   %s  const char *            %d  int
 * A value that does not exist is a failure, called an operand that was left out. */
void ath_hlo_put(ath_hlo *self, const char *format, ...);

/* Begins a statement: "    %name = ". The value has the type of `result` and a new name. */
ath_hlo_value ath_hlo_begin(ath_hlo *self, ath_hlo_value result);

/* "    // text" on a line of its own, or behind what stands on the line; control characters, which
 * would end the comment, as "?". */
void ath_hlo_comment(ath_hlo *self, const char *text, size_t length);

/* A statement of one line: ath_hlo_begin, ath_hlo_put and the end of the line. */
ath_hlo_value ath_hlo_statement(ath_hlo *self, ath_hlo_value result, const char *format, ...);

/* Whether all is well so far and `condition` holds; otherwise the writer fails with the text: a
 * fault in the operation that is being printed. */
bool ath_hlo_want(ath_hlo *self, bool condition, const char *format, ...) ATH_PRINTF(3, 4);

bool ath_hlo_same_dims(ath_hlo_value a, ath_hlo_value b);
static inline bool ath_hlo_is_float(ath_hlo_dtype dtype) {
  return dtype == ATH_HLO_F32 || dtype == ATH_HLO_BF16;
}
/* A scalar repeated to the shape of `like`; any other value as it is. */
ath_hlo_value ath_hlo_spread(ath_hlo *self, ath_hlo_value x, ath_hlo_value like);
/* Appends a constant's literal: bits for floats, "true", or a decimal number. */
void ath_hlo_put_literal(ath_hlo *self, ath_hlo_dtype dtype, double value);

#endif
