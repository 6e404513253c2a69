/* gpus.c: the table of GPUs, and its rows as the compiler's text.
 *
 * Figures: NVIDIA's data sheets of A100, H100 (SXM5) and H200 for memory, bandwidth and kind; the
 * CUDA programming guide's table of compute capabilities for what a core has; memory and clock as
 * the drivers report them, in openxla/xla, xla/backends/gpu/target_config/specs. */
#include "plan/gpus.h"

#include "backends/pjrt/client.h"

const ath_gpu ath_gpu_a100 = {
  .model = "NVIDIA A100-SXM4-80GB", .major = 8, .cores = 108, .lanes = 64, .shared = 164 << 10,
  .optin = 163 << 10, .bandwidth = 2039040000000, .l2 = 40 << 20, .memory = 85100068864,
  .gigahertz = 1.41};
const ath_gpu ath_gpu_h100 = {
  .model = "NVIDIA H100 80GB HBM3", .major = 9, .accelerated = true, .cores = 132, .lanes = 128,
  .shared = 228 << 10, .optin = 227 << 10, .bandwidth = 3352320000000, .l2 = 50 << 20,
  .memory = 84942979072, .gigahertz = 1.98};
const ath_gpu ath_gpu_h200 = {
  .model = "NVIDIA H200", .major = 9, .accelerated = true, .cores = 132, .lanes = 128,
  .shared = 228 << 10, .optin = 227 << 10, .bandwidth = 4800000000000, .l2 = 50 << 20,
  .memory = (int64_t)139 << 30, /* what a program sees of 141 GB, rounded down */
  .gigahertz = 1.98};

int64_t ath_gpu_memory_limit(const ath_gpu *self) {
  return (int64_t)(ATH_PJRT_CUDA_MEMORY * (double)self->memory);
}

/* What all of them have, by the table of compute capabilities 8.0 and 9.0. */
static const char same[] =
    "threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048\n"
    "shared_memory_per_block: 49152 registers_per_core_limit: 65536\n"
    "registers_per_block_limit: 65536 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535\n"
    "block_dim_limit_z: 65535 thread_dim_limit_x: 1024 thread_dim_limit_y: 1024\n"
    "thread_dim_limit_z: 64 device_address_bits: 64 device_vendor: \"NVIDIA Corporation\"\n"
    "driver_version: \"13.0.0\" runtime_version: \"13.0.0\"\n"
    "compile_time_toolkit_version: \"13.0.0\" dnn_version: \"9.10.0\"\n";

ath_status ath_gpu_print_target(const ath_gpu *self, ath_buffer *out) {
  ATH_TRY(ath_buffer_format(
      out,
      "gpu_device_info {\n%score_count: %d fpus_per_core: %d shared_memory_per_core: %d\n"
      "shared_memory_per_block_optin: %d memory_bandwidth: %lld l2_cache_size: %lld\n"
      "device_memory_size: %lld clock_rate_ghz: %g\n",
      same, self->cores, self->lanes, self->shared, self->optin, (long long)self->bandwidth,
      (long long)self->l2, (long long)self->memory, self->gigahertz));
  return ath_buffer_format(
      out,
      "cuda_compute_capability { major: %d minor: %d feature_extension: %s }\n"
      "platform_version: \"Compute Capability %d.%d%s\" name: \"%s\"\n}\n"
      "platform_name: \"CUDA\" dnn_version_info { major: 9 minor: 10 }\n"
      "device_description_str: \"%s\"\n",
      self->major, self->minor, self->accelerated ? "ACCELERATED_FEATURES" : "NONE", self->major,
      self->minor, self->accelerated ? "a" : "", self->model, self->model);
}
