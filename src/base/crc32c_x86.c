/* crc32c_x86.c: CRC-32C by the crc32 instruction of SSE 4.2. */
#include "base/crc32c.h"

#if defined(__x86_64__)

#include <nmmintrin.h>

#define CRC_TARGET __attribute__((target("sse4.2")))
#define CRC_STEP_8(state, byte) _mm_crc32_u8(state, byte)
#define CRC_STEP_64(state, word) (uint32_t)_mm_crc32_u64(state, word)
#include "base/crc32c_streams.h"

bool ath_crc32c_has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }

#endif
