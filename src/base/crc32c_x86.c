/* crc32c_x86.c: CRC-32C by the crc32 instruction of SSE 4.2 and carry-less products. */
#include "base/crc32c.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define CRC_TARGET __attribute__((target("sse4.2,pclmul")))
#define CRC_STEP_8(state, byte) _mm_crc32_u8(state, byte)
#define CRC_STEP_64(state, word) (uint32_t)_mm_crc32_u64(state, word)
#define CRC_PRODUCT(a, b)                                                                \
  (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)(a)),    \
                                                   _mm_cvtsi64_si128((long long)(b)), 0))
#include "base/crc32c_streams.h"

bool ath_crc32c_has_instruction(void) {
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

#endif
