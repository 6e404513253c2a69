/* crc32c_arm64.c: CRC-32C by the crc32c and pmull instructions of ARMv8. CMakeLists.txt compiles
 * this file with -march=armv8-a+crc+crypto: clang before 16 has them in no other way. */
#include "base/crc32c.h"

#if defined(__aarch64__)

#include <arm_acle.h>
#include <arm_neon.h>
#include <sys/auxv.h>

enum { HWCAP_HAS_PMULL = 1 << 4, HWCAP_HAS_CRC32 = 1 << 7 }; /* Linux: asm/hwcap.h */

#define CRC_TARGET
#define CRC_STEP_8(state, byte) __crc32cb(state, byte)
#define CRC_STEP_64(state, word) __crc32cd(state, word)
#define CRC_PRODUCT(a, b) (uint64_t)vmull_p64(a, b)
#include "base/crc32c_streams.h"

bool ath_crc32c_has_instruction(void) {
  const unsigned long wanted = HWCAP_HAS_PMULL | HWCAP_HAS_CRC32;
  return (getauxval(AT_HWCAP) & wanted) == wanted;
}

#endif
