/* varints_x86.c: lists of varints with AVX2 and BMI2. There is no branch on the length of a number:
 * those of token ids change too irregularly to be foreseen. */
#include "formats/varints.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <pthread.h>
#include <string.h>

#define FAST __attribute__((target("avx2,bmi,bmi2,popcnt")))

enum { LANES = 8, BLOCK = 64, VECTOR = 16, GROUP_ROOM = 2 * VECTOR, ROWS = 1 << 12 };

/* --- tables ---------------------------------------------------------------------------------
 *
 * Fast are numbers below 2^21, of at most three bytes, as the ids of all vocabularies are: four of
 * them lie within twelve bytes. */

typedef struct tables {
  uint8_t split[256][VECTOR]; /* shuffles four numbers side by side into lanes of four bytes; by
                                 their lengths, each less one and in two bits */
  uint8_t join[256][VECTOR];  /* and back; by two bits for each, set where a byte has its top bit */
  uint8_t lengths[ROWS];      /* of four numbers, by the bits set where one ends; for `split` */
} tables;

static tables the_tables __attribute__((aligned(64)));
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Fills both shuffles for four lengths. */
static void make_shuffles(unsigned lengths) {
  uint8_t split[VECTOR], join[VECTOR];
  unsigned at = 0, tops = 0;
  memset(split, 128, VECTOR); /* 128: a zero */
  memset(join, 128, VECTOR);
  for (unsigned lane = 0; lane < 4; lane++) {
    unsigned length = lengths >> (2 * lane) & 3;
    for (unsigned byte = 0; byte <= length; byte++, at++) {
      split[4 * lane + byte] = (uint8_t)at;
      join[at] = (uint8_t)(4 * lane + byte);
    }
    tops |= (length == 2 ? 3 : length) << (2 * lane);
  }
  memcpy(the_tables.split[lengths], split, VECTOR);
  memcpy(the_tables.join[tops], join, VECTOR);
}

static uint8_t lengths_of_ends(unsigned ends) {
  unsigned lengths = 0;
  for (unsigned lane = 0; lane < 4 && ends != 0; lane++) {
    unsigned length = (unsigned)__builtin_ctz(ends);
    lengths |= (length & 3) << (2 * lane);
    ends >>= length + 1;
  }
  return (uint8_t)lengths;
}

static void make_tables(void) {
  for (unsigned lengths = 0; lengths < 256; lengths++) {
    unsigned fours = lengths & lengths >> 1 & 0x55; /* a length of four bytes is none of ours */
    if (fours == 0) make_shuffles(lengths);
  }
  for (unsigned ends = 0; ends < ROWS; ends++) the_tables.lengths[ends] = lengths_of_ends(ends);
}

static const tables *tables_get(void) {
  pthread_once(&once, make_tables);
  return &the_tables;
}

bool ath_varints_has_fast(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}

/* --- writing ------------------------------------------------------------------------------- */

FAST
static uint32_t sum_lanes(__m256i lanes) {
  uint32_t values[LANES], sum = 0;
  _mm256_storeu_si256((__m256i *)values, lanes);
  for (int i = 0; i < LANES; i++) sum += values[i];
  return sum;
}

/* All bits that any of the numbers has. */
FAST
static uint32_t join_bits(const int32_t *values, size_t count) {
  __m256i bits = _mm256_setzero_si256();
  size_t i = 0;
  for (; count - i >= LANES; i += LANES)
    bits = _mm256_or_si256(bits, _mm256_loadu_si256((const __m256i *)(values + i)));
  uint32_t lanes[LANES], all = 0;
  _mm256_storeu_si256((__m256i *)lanes, bits);
  for (int k = 0; k < LANES; k++) all |= lanes[k];
  for (; i < count; i++) all |= (uint32_t)values[i];
  return all;
}

/* Of numbers below 2^21, as ids are: one byte more for each border of seven bits that they are
 * above. A lane counts to 2^21 at most before it is read. */
FAST
static size_t size_of_ids(const int32_t *values, size_t count) {
  enum { ROUND = 1 << 20 };
  const __m256i one = _mm256_set1_epi32((1 << 7) - 1), two = _mm256_set1_epi32((1 << 14) - 1);
  size_t size = count, i = 0;
  while (count - i >= LANES) {
    __m256i more = _mm256_setzero_si256();
    size_t stop = count - i > ROUND ? i + ROUND : count;
    for (; stop - i >= LANES; i += LANES) {
      __m256i v = _mm256_loadu_si256((const __m256i *)(values + i));
      more = _mm256_sub_epi32(more, _mm256_cmpgt_epi32(v, one));
      more = _mm256_sub_epi32(more, _mm256_cmpgt_epi32(v, two));
    }
    size += sum_lanes(more);
  }
  return size + ath_varints_size_plain(values + i, count - i) - (count - i);
}

FAST
size_t ath_varints_size_fast(const int32_t *values, size_t count) {
  uint32_t bits = join_bits(values, count);
  if (bits < 1u << 7) return count;
  return bits < 1u << 21 ? size_of_ids(values, count) : ath_varints_size_plain(values, count);
}

/* Numbers below 128, each of them a byte. */
FAST
static void put_bytes(uint8_t *out, const int32_t *values, size_t count) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  size_t i = 0;
  for (; count - i >= 4 * LANES; i += 4 * LANES) {
    const __m256i *from = (const __m256i *)(values + i);
    __m256i a = _mm256_packs_epi32(_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1));
    __m256i b = _mm256_packs_epi32(_mm256_loadu_si256(from + 2), _mm256_loadu_si256(from + 3));
    __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), order);
    _mm256_storeu_si256((__m256i *)(out + i), bytes);
  }
  for (; i < count; i++) out[i] = (uint8_t)values[i];
}

/* Eight of them: their groups of seven bits in a byte each, the top bits of all but the last byte
 * set, and then the bytes in use pushed together, four numbers at a time. What a store writes too
 * much is overwritten by the next. */
FAST
static uint8_t *put_group(uint8_t *out, __m256i v, const tables *t) {
  __m256i second = _mm256_and_si256(_mm256_slli_epi32(v, 1), _mm256_set1_epi32(0x7f00));
  __m256i third = _mm256_and_si256(_mm256_slli_epi32(v, 2), _mm256_set1_epi32(0x7f0000));
  __m256i bytes = _mm256_and_si256(v, _mm256_set1_epi32(0x7f));
  bytes = _mm256_or_si256(bytes, _mm256_or_si256(second, third));
  __m256i two = _mm256_cmpgt_epi32(v, _mm256_set1_epi32((1 << 7) - 1));
  __m256i three = _mm256_cmpgt_epi32(v, _mm256_set1_epi32((1 << 14) - 1));
  __m256i tops = _mm256_or_si256(_mm256_and_si256(two, _mm256_set1_epi32(0x80)),
                                 _mm256_and_si256(three, _mm256_set1_epi32(0x8000)));
  bytes = _mm256_or_si256(bytes, tops);
  uint32_t key = _pext_u32((uint32_t)_mm256_movemask_epi8(tops), 0x33333333);
  uint32_t low = key & 255, high = key >> 8;
  __m128i a = _mm256_castsi256_si128(bytes), b = _mm256_extracti128_si256(bytes, 1);
  a = _mm_shuffle_epi8(a, _mm_load_si128((const __m128i *)t->join[low]));
  b = _mm_shuffle_epi8(b, _mm_load_si128((const __m128i *)t->join[high]));
  _mm_storeu_si128((__m128i *)out, a);
  out += 4 + _mm_popcnt_u32(low);
  _mm_storeu_si128((__m128i *)out, b);
  return out + 4 + _mm_popcnt_u32(high);
}

/* Whole groups while they are of such numbers and there is room for all that is stored. */
FAST
static uint8_t *put_groups(uint8_t *out, const uint8_t *end, const int32_t *values, size_t count,
                           size_t *done) {
  const tables *t = tables_get();
  for (; count - *done >= LANES && end - out >= GROUP_ROOM; *done += LANES) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(values + *done));
    if (!_mm256_testz_si256(v, _mm256_set1_epi32((int)0xffe00000))) break;
    out = put_group(out, v, t);
  }
  return out;
}

FAST
uint8_t *ath_varints_put_fast(uint8_t *out, size_t size, const int32_t *values, size_t count) {
  uint8_t *end = out + size;
  if (size == count) {
    put_bytes(out, values, count);
    return end;
  }
  size_t i = 0;
  out = put_groups(out, end, values, count, &i);
  uint8_t last[2 * GROUP_ROOM]; /* what is near the end goes there by way of this */
  if (count - i >= LANES && end - out < GROUP_ROOM) {
    size_t put = (size_t)(put_groups(last, last + sizeof last, values, count, &i) - last);
    memcpy(out, last, put);
    out += put;
  }
  return ath_varints_put_plain(out, (size_t)(end - out), values + i, count - i);
}

/* --- reading ------------------------------------------------------------------------------- */

FAST
static uint64_t top_bits(const uint8_t *block) {
  const __m256i *at = (const __m256i *)block;
  uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_loadu_si256(at));
  uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_loadu_si256(at + 1));
  return (uint64_t)high << 32 | low;
}

FAST
static void widen_block(const uint8_t *block, int32_t *values) {
  for (int i = 0; i < BLOCK; i += LANES) {
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(block + i));
    _mm256_storeu_si256((__m256i *)(values + i), _mm256_cvtepu8_epi32(bytes));
  }
}

/* Four numbers, which begin at `from`; the shuffle puts each into a lane. */
FAST
static void take_four(const uint8_t *from, const uint8_t *split, int32_t *values) {
  __m128i v = _mm_loadu_si128((const __m128i *)from);
  v = _mm_and_si128(v, _mm_set1_epi8(127));
  v = _mm_shuffle_epi8(v, _mm_load_si128((const __m128i *)split));
  v = _mm_maddubs_epi16(_mm_set1_epi16((short)0x8001), v); /* pairs: first + 128 · second */
  v = _mm_madd_epi16(v, _mm_set1_epi32(1 << 30 | 1));      /* pairs: first + 16,384 · second */
  _mm_storeu_si128((__m128i *)values, v);
}

/* The last few of a block. */
FAST
static void take_singly(const uint8_t *from, uint64_t ends, int32_t *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint32_t word;
    unsigned length = (unsigned)_tzcnt_u64(ends) + 1;
    memcpy(&word, from, sizeof word);
    values[i] = (int32_t)_pext_u32(_bzhi_u32(word, 8 * length), 0x7f7f7f7f);
    from += length;
    ends >>= length;
  }
}

/* The numbers whose last bytes are the set bits of `ends`, `count` of them; returns how many bytes
 * they take, or, when they are not whole fours, all those up to the last set bit. Where each four
 * begins is found on its own, by the place of the last set bit before, so that no four has to wait
 * for another. */
FAST
static size_t take_numbers(const uint8_t *block, uint64_t ends, int32_t *values, size_t count) {
  const tables *t = tables_get();
  size_t at = 0;
  uint64_t last = 8;
  for (size_t fours = count / 4; fours > 0; fours--, values += 4, last <<= 4) {
    size_t next = (size_t)_tzcnt_u64(_pdep_u64(last, ends)) + 1;
    take_four(block + at, t->split[t->lengths[ends >> at & (ROWS - 1)]], values);
    at = next;
  }
  if (count % 4 == 0) return at;
  take_singly(block + at, ends >> at, values, count % 4);
  return 64 - (size_t)__builtin_clzll(ends);
}

/* By blocks of 64 bytes that begin where a number does. The last one is copied, so that nothing is
 * read behind the list, and filled with bytes that end no number; of the others whole fours are
 * taken, and what is left is the beginning of the next block. */
FAST
void ath_varints_take_fast(const uint8_t *bytes, size_t length, size_t *at, int32_t *values,
                           size_t capacity, size_t *count) {
  uint8_t copy[BLOCK + VECTOR];
  while (*at < length) {
    const uint8_t *block = bytes + *at;
    size_t left = length - *at;
    if (left >= BLOCK && capacity - *count >= BLOCK && top_bits(block) == 0) {
      widen_block(block, values + *count); /* an attention mask is nothing else */
      *at += BLOCK;
      *count += BLOCK;
      continue;
    }
    if (left < sizeof copy) {
      memset(copy, 128, sizeof copy);
      memcpy(copy, block, left < BLOCK ? left : BLOCK);
      block = copy;
    }
    uint64_t more = top_bits(block), ends = ~more;
    size_t found = (size_t)_mm_popcnt_u64(ends);
    if (ends == 0 || found > capacity - *count) return;
    size_t used = 64 - (size_t)__builtin_clzll(ends);
    uint64_t inside = _bzhi_u64(more, (unsigned)used); /* four bytes have three such in a row */
    if ((inside & inside >> 1 & inside >> 2) != 0) return;
    if (left > BLOCK && found >= 4) found -= found % 4;
    *at += take_numbers(block, ends, values + *count, found);
    *count += found;
  }
}

#endif
