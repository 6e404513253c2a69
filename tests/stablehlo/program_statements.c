/* program_statements.c: prints one module for each form of statement that the writer knows:
 * `stablehlo_program_statements` lists their names, with a name it prints that module. Its inputs
 * are called x, y, z and its output "out"; test_statements.py runs it against numpy. */
#include <stdio.h>
#include <string.h>

#include "stablehlo/module.h"

typedef struct statement {
  const char *name;
  ath_type inputs[3]; /* rank −1: no more */
  ath_type output;
  ath_hlo_value (*print)(ath_hlo *hlo, const ath_hlo_value *in);
} statement;

#define F32(...) {ATH_F32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {__VA_ARGS__}}
#define BF16(...) {ATH_BF16, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {__VA_ARGS__}}
#define I32(...) {ATH_I32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {__VA_ARGS__}}
#define U32(...) {ATH_U32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {__VA_ARGS__}}
#define SCALAR {.dtype = ATH_F32}
#define NO {.rank = -1}
#define PRINT(name) static ath_hlo_value print_##name(ath_hlo *h, const ath_hlo_value *in)

/* --- constants and shapes --- */

PRINT(fill) { return ath_hlo_fill(h, in[0], 0.1); }
PRINT(fill_infinite) { return ath_hlo_fill(h, in[0], -1 / (in[0].rank - 1.0)); }
PRINT(iota) { return ath_hlo_iota(h, ATH_HLO_I32, 2, in[0].dims, 1); }
PRINT(reshape) { return ath_hlo_reshape(h, in[0], 3, (int64_t[]){2, 2, 6}); }
PRINT(broadcast) {
  return ath_hlo_broadcast(h, in[0], 3, (int64_t[]){3, 2, 4}, (int[]){0, 2});
}
PRINT(broadcast_rows) { return ath_hlo_broadcast_rows(h, in[0], in[1]); }
PRINT(broadcast_columns) { return ath_hlo_broadcast_columns(h, in[0], in[1]); }
PRINT(broadcast_scalar) { return ath_hlo_broadcast_rows(h, in[0], in[1]); }
PRINT(transpose) { return ath_hlo_transpose(h, in[0], (int[]){2, 0, 1}); }
PRINT(slice) { return ath_hlo_slice(h, in[0], (int64_t[]){1, 2}, (int64_t[]){4, 5}); }
PRINT(concatenate) {
  return ath_hlo_concatenate(h, (ath_hlo_value[]){in[0], in[1], in[0]}, 3, 1);
}
PRINT(to_bf16) { return ath_hlo_convert(h, in[0], ATH_HLO_BF16); }
PRINT(to_i32) { return ath_hlo_convert(h, in[0], ATH_HLO_I32); }
PRINT(same) { /* none of these needs a statement */
  ath_hlo_value x = ath_hlo_reshape(h, in[0], 2, in[0].dims);
  x = ath_hlo_transpose(h, ath_hlo_convert(h, x, ATH_HLO_F32), (int[]){0, 1});
  return ath_hlo_reduce(h, "add", ath_hlo_concatenate(h, &x, 1, 0), 0);
}

/* --- elementwise --- */

#define UNARY(op) PRINT(op) { return ath_hlo_unary(h, #op, in[0]); }
UNARY(exponential)
UNARY(negate)
UNARY(tanh)
UNARY(rsqrt)
UNARY(sqrt)
UNARY(log)
UNARY(logistic)
UNARY(erf)
UNARY(abs)
PRINT(is_finite) {
  return ath_hlo_convert(h, ath_hlo_unary(h, "is_finite", in[0]), ATH_HLO_I32);
}
#define BINARY(op) PRINT(op) { return ath_hlo_binary(h, #op, in[0], in[1]); }
BINARY(add)
BINARY(subtract)
BINARY(multiply)
BINARY(divide)
BINARY(maximum)
BINARY(minimum)
BINARY(power)
BINARY(and)
BINARY(or)
BINARY(xor)
BINARY(remainder)
PRINT(shift_left) { return ath_hlo_binary(h, "shift_left", in[0], in[1]); }
PRINT(shift_right) { return ath_hlo_binary(h, "shift_right_logical", in[0], in[1]); }
PRINT(wrapping) { /* 2^31 and more are numbers as others are */
  ath_hlo_value odd = ath_hlo_constant(h, ATH_HLO_U32, 0x85EBCA6B);
  return ath_hlo_binary(h, "multiply", odd, in[0]);
}

/* Bits of the six comparisons, LT lowest. */
PRINT(compare) {
  static const char *const directions[] = {"LT", "LE", "EQ", "NE", "GE", "GT"};
  ath_hlo_value sum = ath_hlo_constant(h, ATH_HLO_I32, 0);
  for (int i = 0; i < 6; i++) {
    ath_hlo_value holds = ath_hlo_compare(h, directions[i], in[0], in[1]);
    ath_hlo_value bit = ath_hlo_constant(h, ATH_HLO_I32, 1 << i);
    ath_hlo_value none = ath_hlo_constant(h, ATH_HLO_I32, 0);
    sum = ath_hlo_binary(h, "add", ath_hlo_select(h, holds, bit, none), sum);
  }
  return sum;
}
PRINT(select) {
  ath_hlo_value less = ath_hlo_compare(h, "LT", in[0], ath_hlo_constant(h, ATH_HLO_F32, 0));
  return ath_hlo_select(h, less, in[1], ath_hlo_constant(h, ATH_HLO_F32, 7));
}

/* x < 0 ? y + x : 7 − y, for a single x. */
PRINT(if) {
  ath_hlo_value less = ath_hlo_compare(h, "LT", in[0], ath_hlo_constant(h, ATH_HLO_F32, 0));
  ath_hlo_value chosen = ath_hlo_if(h, less, in[1]);
  ath_hlo_else(h, ath_hlo_binary(h, "add", in[1], in[0]));
  ath_hlo_value seven = ath_hlo_constant(h, ATH_HLO_F32, 7);
  ath_hlo_end(h, ath_hlo_binary(h, "subtract", seven, in[1]));
  return chosen;
}
/* Through bf16 and back: without the barrier a compiler may leave out both. */
PRINT(barrier) {
  ath_hlo_value x = ath_hlo_barrier(h, ath_hlo_convert(h, in[0], ATH_HLO_BF16));
  return ath_hlo_convert(h, x, ATH_HLO_F32);
}

/* --- reductions, products, rows --- */

PRINT(sum) { return ath_hlo_reduce(h, "add", in[0], 1 << 1); }
PRINT(sum_all) { return ath_hlo_reduce(h, "add", in[0], 7); }
PRINT(largest) { return ath_hlo_reduce(h, "maximum", in[0], 1 << 0 | 1 << 2); }
PRINT(smallest) { return ath_hlo_reduce(h, "minimum", in[0], 1 << 2); }
PRINT(largest_i32) { return ath_hlo_reduce(h, "maximum", in[0], 1); }
PRINT(smallest_u32) { return ath_hlo_reduce(h, "minimum", in[0], 1); }
PRINT(dot) { return ath_hlo_dot(h, in[0], in[1], 0, 1, 0, ATH_HLO_F32); }
PRINT(dot_first) { return ath_hlo_dot(h, in[0], in[1], 0, 0, 0, ATH_HLO_F32); }
PRINT(dot_batch) { return ath_hlo_dot(h, in[0], in[1], 2, 3, 3, ATH_HLO_F32); }
PRINT(gather) { return ath_hlo_gather_rows(h, in[0], in[1]); }
PRINT(scatter) { return ath_hlo_scatter_add_rows(h, in[0], in[1], in[2]); }

#define CASE(name, ...) {#name, __VA_ARGS__, print_##name}
static const statement statements[] = {
  {"fill_bf16", {BF16(3, 2), NO}, BF16(3, 2), print_fill},
  {"fill_nothing_but_infinity", {F32(3), NO}, F32(3), print_fill_infinite},
  CASE(fill, {F32(3, 2), NO}, F32(3, 2)),
  CASE(iota, {F32(3, 5), NO}, I32(3, 5)),
  CASE(reshape, {F32(4, 6), NO}, F32(2, 2, 6)),
  CASE(broadcast, {F32(3, 4), NO}, F32(3, 2, 4)),
  CASE(broadcast_rows, {F32(2, 4), F32(3, 2, 4), NO}, F32(3, 2, 4)),
  CASE(broadcast_columns, {F32(3, 2), F32(3, 2, 4), NO}, F32(3, 2, 4)),
  CASE(broadcast_scalar, {SCALAR, F32(3, 2), NO}, F32(3, 2)),
  CASE(transpose, {F32(2, 3, 4), NO}, F32(4, 2, 3)),
  CASE(slice, {F32(4, 6), NO}, F32(3, 3)),
  CASE(concatenate, {F32(2, 3), F32(2, 4), NO}, F32(2, 10)),
  CASE(to_bf16, {F32(4, 6), NO}, BF16(4, 6)),
  CASE(to_i32, {F32(4, 6), NO}, I32(4, 6)),
  CASE(same, {F32(4, 6), NO}, F32(4, 6)),
  CASE(exponential, {F32(4, 6), NO}, F32(4, 6)),
  CASE(negate, {F32(4, 6), NO}, F32(4, 6)),
  CASE(tanh, {F32(4, 6), NO}, F32(4, 6)),
  CASE(rsqrt, {F32(4, 6), NO}, F32(4, 6)),
  CASE(sqrt, {F32(4, 6), NO}, F32(4, 6)),
  CASE(log, {F32(4, 6), NO}, F32(4, 6)),
  CASE(logistic, {F32(4, 6), NO}, F32(4, 6)),
  CASE(erf, {F32(4, 6), NO}, F32(4, 6)),
  CASE(abs, {F32(4, 6), NO}, F32(4, 6)),
  CASE(is_finite, {F32(4, 6), NO}, I32(4, 6)),
  CASE(add, {F32(4, 6), F32(4, 6), NO}, F32(4, 6)),
  {"add_scalar", {SCALAR, F32(4, 6), NO}, F32(4, 6), print_add},
  CASE(subtract, {F32(4, 6), F32(4, 6), NO}, F32(4, 6)),
  {"subtract_scalar", {F32(4, 6), SCALAR, NO}, F32(4, 6), print_subtract},
  CASE(multiply, {F32(4, 6), F32(4, 6), NO}, F32(4, 6)),
  CASE(divide, {F32(4, 6), F32(4, 6), NO}, F32(4, 6)),
  CASE(maximum, {F32(4, 6), F32(4, 6), NO}, F32(4, 6)),
  CASE(minimum, {F32(4, 6), F32(4, 6), NO}, F32(4, 6)),
  CASE(power, {F32(4, 6), F32(4, 6), NO}, F32(4, 6)),
  CASE(and, {U32(4, 6), U32(4, 6), NO}, U32(4, 6)),
  CASE(or, {U32(4, 6), U32(4, 6), NO}, U32(4, 6)),
  CASE(xor, {U32(4, 6), U32(4, 6), NO}, U32(4, 6)),
  CASE(remainder, {U32(4, 6), U32(4, 6), NO}, U32(4, 6)),
  CASE(shift_left, {U32(4, 6), U32(4, 6), NO}, U32(4, 6)),
  CASE(shift_right, {U32(4, 6), U32(4, 6), NO}, U32(4, 6)),
  CASE(wrapping, {U32(4, 6), NO}, U32(4, 6)),
  CASE(compare, {F32(4, 6), F32(4, 6), NO}, I32(4, 6)),
  {"compare_i32", {I32(4, 6), I32(4, 6), NO}, I32(4, 6), print_compare},
  {"compare_u32", {U32(4, 6), U32(4, 6), NO}, I32(4, 6), print_compare},
  CASE(select, {F32(4, 6), F32(4, 6), NO}, F32(4, 6)),
  {"if_below", {SCALAR, F32(4, 6), NO}, F32(4, 6), print_if},
  {"if_above", {SCALAR, F32(4, 6), NO}, F32(4, 6), print_if},
  CASE(barrier, {F32(4, 6), NO}, F32(4, 6)),
  CASE(sum, {F32(3, 5, 4), NO}, F32(3, 4)),
  CASE(sum_all, {F32(3, 5, 4), NO}, SCALAR),
  CASE(largest, {F32(3, 5, 4), NO}, F32(5)),
  CASE(smallest, {F32(3, 5, 4), NO}, F32(3, 5)),
  CASE(largest_i32, {I32(4, 6), NO}, I32(6)),
  CASE(smallest_u32, {U32(4, 6), NO}, U32(6)),
  CASE(dot, {F32(3, 5), F32(5, 2), NO}, F32(3, 2)),
  CASE(dot_first, {F32(5, 3), F32(5, 2), NO}, F32(3, 2)),
  CASE(dot_batch, {F32(2, 3, 4, 5), F32(2, 3, 6, 5), NO}, F32(2, 3, 4, 6)),
  {"dot_bf16", {BF16(3, 5), BF16(5, 2), NO}, F32(3, 2), print_dot},
  CASE(gather, {F32(6, 4), I32(2, 3), NO}, F32(2, 3, 4)),
  {"gather_bf16", {BF16(6, 4), I32(5), NO}, BF16(5, 4), print_gather},
  CASE(scatter, {F32(6, 4), I32(2, 3), F32(2, 3, 4)}, F32(6, 4)),
};
enum { STATEMENTS = sizeof statements / sizeof *statements };

/* --- the operation that prints it --- */

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  (void)inputs, (void)input_count, (void)output_count;
  outputs[0] = statements[*(const int *)attributes].output;
  return ATH_OK;
}

static ath_status print_stablehlo(const ath_hlo_call *call) {
  const statement *its = &statements[*(const int *)call->node->attributes];
  call->outputs[0] = its->print(call->hlo, call->inputs);
  return ATH_OK;
}

static const ath_op operation = {
  .name = "statement", .infer = infer, .stablehlo = print_stablehlo};

static ath_status print_module(int index) {
  static const char *const names[3] = {"x", "y", "z"};
  ath_graph *g = NULL;
  ath_arena *arena = NULL;
  ath_buffer text = ath_buffer_make(1 << 20);
  ath_hlo_signature signature;
  ath_value inputs[3], output;
  int count = 0;
  ath_status status = ath_graph_create(&g);
  if (status == ATH_OK) status = ath_arena_create(1 << 20, &arena);
  for (; status == ATH_OK && count < 3 && statements[index].inputs[count].rank >= 0; count++)
    inputs[count] = ath_graph_input(g, names[count], statements[index].inputs[count]);
  if (status == ATH_OK) {
    ath_graph_add(g, &operation, &index, sizeof index, inputs, count, &output, 1);
    ath_graph_output(g, "out", output);
    status = ath_hlo_module_print(g, NULL, arena, &signature, &text);
  }
  if (status == ATH_OK) fwrite(text.bytes, 1, text.length, stdout);
  ath_buffer_free(&text);
  ath_arena_destroy(arena);
  ath_graph_destroy(g);
  return status;
}

int main(int argc, char **argv) {
  for (int i = 0; i < STATEMENTS; i++) {
    if (argc < 2) printf("%s\n", statements[i].name);
    else if (strcmp(argv[1], statements[i].name) == 0) {
      if (print_module(i) == ATH_OK) return 0;
      fprintf(stderr, "%s\n", ath_error_text());
      return 1;
    }
  }
  return argc < 2 ? 0 : 2;
}
