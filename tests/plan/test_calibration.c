/* test_calibration.c: one large product, of which the time is known: the compiler's cycles, divided
 * by our clocks, put it at the share of each chip's peak that ../shared/design/pjrt.md found. */
#include "plan/compile.h"

#include "backends/pjrt_testing.h"

static const char product[] =
    "module @dot {\n"
    "  func.func public @main(%a: tensor<8192x8192xbf16>, %b: tensor<8192x8192xbf16>)\n"
    "      -> tensor<8192x8192xbf16> {\n"
    "    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0],\n"
    "         precision = [DEFAULT, DEFAULT]\n"
    "       : (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16>\n"
    "    return %0 : tensor<8192x8192xbf16>\n"
    "  }\n"
    "}\n";

/* The share of the peak at which `program` multiplies two matrices of 8192. */
static double share_of_peak(const ath_slice *slice, const ath_buffer *program) {
  ath_arena *arena;
  ath_xla_program read;
  ath_line_names names = {0};
  ath_cost cost;
  assert_ok(ath_arena_create(1 << 24, &arena));
  assert_ok(ath_xla_program_read(program->bytes, program->length, arena, &read));
  assert_ok(ath_cost_of(&read, &names, arena, &cost));
  ath_arena_destroy(arena);
  return 2.0 * 8192 * 8192 * 8192 / (cost.cycles / slice->chip->hertz) / slice->chip->flops;
}

static void a_large_product_takes_the_known_share_of_each_peak(void **state) {
  (void)state;
  static const struct { const char *slice; double share; int64_t memory; } known[] = {
    {"v4:2x2x1", 0.93, 33000000000}, {"v5e:1x1", 0.88, 16900000000},
    {"v5p:2x2x1", 0.90, 102800000000}, {"v6e:1x1", 0.70, 33500000000}};
  if (!have_plugin("build/pjrt/libtpu.so")) skip();
  setenv("ATHANOR_COMPILE_CACHE", "off", 1);
  setenv("ATHANOR_PJRT_TPU", "build/pjrt/libtpu.so", 1);
  ath_pjrt_plugin *plugin;
  ath_buffer text = ath_buffer_make(1 << 12);
  assert_ok(ath_buffer_string(&text, product));
  assert_ok(ath_pjrt_plugin_load("tpu", true, &plugin));
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    ath_slice slice;
    ath_verdict verdict;
    ath_verdict_init(&verdict);
    assert_ok(ath_slice_parse(known[i].slice, strlen(known[i].slice), &slice));
    slice.chips = 1; /* of the slice only one is used */
    assert_ok(ath_plan_compile(plugin, &slice, &text, false, &verdict));
    assert_true(verdict.fits && !verdict.cached);
    assert_near(share_of_peak(&slice, &verdict.program), known[i].share, 0.007, 0);
    assert_near((double)verdict.limit, (double)known[i].memory, 0, 0.01);
    assert_int_equal(verdict.memory.arguments, 2 * 8192 * 8192 * 2);
    ath_verdict_free(&verdict);
  }
  ath_buffer_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_large_product_takes_the_known_share_of_each_peak),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
