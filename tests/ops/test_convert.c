/* test_convert.c: f32 to bf16 and back, held against the C library's rounding in double. */
#include <math.h>

#include "interpreter.h"

enum { HALVES = 1 << 16, NEIGHBOURS = 6 };

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The nearest number of 8 significant bits, ties to even, by rint in double. Below 2^-126 the
 * numbers of bf16 lie 2^-133 apart; above its largest comes infinity. */
static double nearest(double x) {
  int exponent;
  frexp(x, &exponent);
  double step = ldexp(1, exponent - 8 > -133 ? exponent - 8 : -133);
  double rounded = rint(x / step) * step;
  return fabs(rounded) > ldexp(255, 120) ? copysign((double)INFINITY, x) : rounded;
}

/* Converts n floats in a graph of that one node. */
static void to_bf16(const float *x, int n, uint16_t *out) {
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value from = ath_graph_input(g, "x", ath_type_make(ATH_F32, 1, n));
  ath_value to = ath_convert(g, from, ATH_BF16);
  interpreter run = interpreter_make(g);
  memcpy(value_memory(&run, from), x, (size_t)n * sizeof *x);
  assert_ok(interpreter_run(&run));
  memcpy(out, value_memory(&run, to), (size_t)n * sizeof *out);
  interpreter_free(&run);
  ath_graph_destroy(g);
}

/* Every number of bf16, and around each the places where rounding turns: next to it, at the tie
 * and beside the tie. Infinities and NaN are among them. */
static void rounding_is_to_the_nearest_and_ties_to_even(void **state) {
  (void)state;
  static const uint32_t offsets[NEIGHBOURS] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
  static float x[HALVES * NEIGHBOURS];
  static uint16_t rounded[HALVES * NEIGHBOURS];
  for (uint32_t i = 0; i < HALVES * NEIGHBOURS; i++)
    x[i] = from_bits((i / NEIGHBOURS) << 16 | offsets[i % NEIGHBOURS]);
  to_bf16(x, HALVES * NEIGHBOURS, rounded);
  for (int i = 0; i < HALVES * NEIGHBOURS; i++) {
    float result = from_bits((uint32_t)rounded[i] << 16);
    assert_int_equal(!!signbit(result), !!signbit(x[i]));
    assert_int_equal(isnan(result), isnan(x[i]));
    double expected = isinf(x[i]) ? (double)x[i] : nearest((double)x[i]);
    if (!isnan(x[i]) && (double)result != expected)
      fail_msg("%a became %a and not %a", (double)x[i], (double)result, expected);
  }
}

static void every_bf16_number_survives_the_way_to_f32_and_back(void **state) {
  (void)state;
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value x = ath_graph_input(g, "x", ath_type_make(ATH_BF16, 1, HALVES));
  ath_value wide = ath_convert(g, x, ATH_F32), back = ath_convert(g, wide, ATH_BF16);
  interpreter run = interpreter_make(g);
  uint16_t *halves = value_memory(&run, x);
  for (int i = 0; i < HALVES; i++) halves[i] = (uint16_t)i;
  assert_ok(interpreter_run(&run));
  const uint32_t *bits = value_memory(&run, wide);
  const uint16_t *again = value_memory(&run, back);
  for (uint32_t i = 0; i < HALVES; i++) {
    assert_int_equal(bits[i], i << 16);
    if (isnan(from_bits(bits[i]))) assert_int_equal(again[i], i | 0x40); /* made quiet */
    else assert_int_equal(again[i], i);
  }
  interpreter_free(&run);
  ath_graph_destroy(g);
}

/* d Σ r round(x) / dx = r. */
static void the_gradient_is_converted_back(void **state) {
  (void)state;
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value x = ath_graph_variable(g, "x", ath_type_make(ATH_F32, 1, 5)), dx;
  ath_value r = ath_graph_input(g, "r", ath_type_make(ATH_BF16, 1, 5));
  ath_value loss = ath_reduce_sum(g, ath_multiply(g, ath_convert(g, x, ATH_BF16), r));
  assert_ok(ath_graph_gradients(g, loss, &x, 1, &dx));
  assert_int_equal(ath_graph_type(g, dx).dtype, ATH_F32);
  interpreter run = interpreter_make(g);
  const uint16_t halves[5] = {0x3F80, 0xC000, 0x3E80, 0x0000, 0x4049};
  const float expected[5] = {1, -2, 0.25f, 0, 3.140625f};
  memcpy(value_memory(&run, r), halves, sizeof halves);
  memset(value_memory(&run, x), 0, 20);
  assert_ok(interpreter_run(&run));
  assert_memory_equal(value_memory(&run, dx), expected, sizeof expected);
  interpreter_free(&run);
  ath_graph_destroy(g);
}

static void what_is_converted_already_adds_no_node(void **state) {
  (void)state;
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value x = ath_graph_input(g, "x", ath_type_make(ATH_F32, 2, 2, 3));
  assert_int_equal(ath_convert(g, x, ATH_F32), x);
  assert_int_equal(ath_graph_node_count(g), 0);
  ath_value ids = ath_graph_input(g, "ids", ath_type_make(ATH_I32, 1, 3));
  assert_int_equal(ath_convert(g, ids, ATH_BF16), ATH_NO_VALUE);
  assert_fails(ath_graph_status(g), ATH_INVALID, "convert: x is i32[3], not floating point");
  ath_graph_destroy(g);
  assert_ok(ath_graph_create(&g));
  x = ath_graph_input(g, "x", ath_type_make(ATH_F32, 2, 2, 3));
  assert_int_equal(ath_convert(g, x, ATH_U32), ATH_NO_VALUE);
  assert_fails(ath_graph_status(g), ATH_INVALID, "can be converted to f32 or bf16, not to u32");
  ath_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(rounding_is_to_the_nearest_and_ties_to_even),
    cmocka_unit_test(every_bf16_number_survives_the_way_to_f32_and_back),
    cmocka_unit_test(the_gradient_is_converted_back),
    cmocka_unit_test(what_is_converted_already_adds_no_node),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
