/* test_gpus.c: slices of GPUs, and what the compiler is told of them. */
#include "plan/chips.h"
#include "testing.h"

static ath_status parse(const char *text, ath_slice *out) {
  return ath_slice_parse(text, strlen(text), out);
}

static void gpus_are_those_of_one_host_or_of_several(void **state) {
  (void)state;
  ath_slice slice;
  assert_ok(parse("h100:8", &slice));
  assert_true(slice.chips == 8 && slice.chip->gpu == &ath_gpu_h100);
  assert_ok(parse("a100:1", &slice));
  assert_true(slice.chips == 1 && slice.chip->gpu == &ath_gpu_a100);
  assert_ok(parse("h200:3x5", &slice)); /* no torus: any number will do */
  assert_true(slice.chips == 15 && slice.dims[0] == 3 && slice.dims[1] == 5);
  assert_fails(parse("h100:2x2x2", &slice), ATH_USAGE, "hosts times GPUs");
  assert_fails(parse("h100:0", &slice), ATH_USAGE, "not a shape");
  assert_fails(parse("b100:8", &slice), ATH_USAGE, "a100, h100, h200");
  assert_ok(parse("v5e:2x4", &slice));
  assert_null(slice.chip->gpu);
}

/* GB by NVIDIA's data sheets; the driver keeps a little, and counts in powers of two. */
static void memory_is_that_of_the_data_sheets(void **state) {
  (void)state;
  const struct { const ath_gpu *gpu; double gigabytes, terabytes_per_second; } sheets[] = {
    {&ath_gpu_a100, 80, 2.039}, {&ath_gpu_h100, 80, 3.35}, {&ath_gpu_h200, 141, 4.8}};
  for (size_t i = 0; i < 3; i++) {
    const ath_gpu *gpu = sheets[i].gpu;
    assert_near((double)gpu->memory / (1 << 30), sheets[i].gigabytes, 0, 0.02);
    assert_near((double)gpu->bandwidth, sheets[i].terabytes_per_second * 1e12, 0, 1e-3);
    assert_true(ath_gpu_memory_limit(gpu) < gpu->memory);
    assert_near((double)ath_gpu_memory_limit(gpu), 0.9 * (double)gpu->memory, 1, 0);
  }
}

static void the_compiler_is_told_the_kind_of_gpu(void **state) {
  (void)state;
  ath_buffer text = ath_buffer_make(1 << 14);
  assert_ok(ath_gpu_print_target(&ath_gpu_h100, &text));
  assert_non_null(strstr(text.bytes, "cuda_compute_capability { major: 9 minor: 0 "
                                     "feature_extension: ACCELERATED_FEATURES }"));
  assert_non_null(strstr(text.bytes, "core_count: 132 "));
  assert_non_null(strstr(text.bytes, "device_memory_size: 84942979072 "));
  assert_non_null(strstr(text.bytes, "\"Compute Capability 9.0a\""));
  ath_buffer_clear(&text);
  assert_ok(ath_gpu_print_target(&ath_gpu_a100, &text));
  assert_non_null(strstr(text.bytes, "feature_extension: NONE"));
  assert_non_null(strstr(text.bytes, "\"Compute Capability 8.0\""));
  ath_buffer_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(gpus_are_those_of_one_host_or_of_several),
    cmocka_unit_test(memory_is_that_of_the_data_sheets),
    cmocka_unit_test(the_compiler_is_told_the_kind_of_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
