/* characters.c: characters in UTF-8, and their classes from the generated tables. */
#include "tokenizers/characters.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tokenizers/character_tables.h"

uint32_t ath_character_at(const char *bytes, size_t at) {
  const uint8_t *s = (const uint8_t *)bytes + at;
  if (s[0] < 0x80) return s[0];
  if (s[0] < 0xE0) return (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
  if (s[0] < 0xF0) return (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
  return (s[0] & 0x07u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
}

uint32_t ath_character_before(const char *bytes, size_t at) {
  assert(at > 0);
  do at--;
  while (((uint8_t)bytes[at] & 0xC0) == 0x80);
  return ath_character_at(bytes, at);
}

/* --- the generated tables ------------------------------------------------------------------- */

/* The number of the run that holds a character. */
static size_t find_run(const uint32_t *runs, size_t count, uint32_t c) {
  size_t low = 0, high = count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (runs[middle] >> 8 <= c) low = middle;
    else high = middle;
  }
  assert(runs[low] >> 8 <= c);
  return low;
}

/* Nearly all text lies in the first two planes, whose record numbers are spread out when the first
 * character is looked up. */
enum { PLAIN_END = 0x20000 };
static uint8_t plain[PLAIN_END];
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;
static atomic_bool plain_ready;

static void spread_plain(void) {
  for (size_t r = 0; r < ath_character_run_count; r++) {
    uint32_t from = ath_character_runs[r] >> 8, to = PLAIN_END;
    if (from >= PLAIN_END) break;
    if (r + 1 < ath_character_run_count && ath_character_runs[r + 1] >> 8 < to)
      to = ath_character_runs[r + 1] >> 8;
    memset(plain + from, (int)(ath_character_runs[r] & 0xFF), to - from);
  }
  atomic_store_explicit(&plain_ready, true, memory_order_release);
}

const ath_character_record *ath_character_look_up(uint32_t c) {
  assert(c < 0x110000);
  if (!atomic_load_explicit(&plain_ready, memory_order_acquire))
    pthread_once(&plain_once, spread_plain);
  if (c < PLAIN_END) return &ath_character_records[plain[c]];
  size_t run = find_run(ath_character_runs, ath_character_run_count, c);
  return &ath_character_records[ath_character_runs[run] & 0xFF];
}

uint32_t ath_character_script(uint32_t c) {
  return ath_script_runs[find_run(ath_script_runs, ath_script_run_count, c)] & 0xFF;
}

bool ath_is_white_space(uint32_t c) {
  return (ath_character_look_up(c)->flags & ATH_IS_WHITE_SPACE) != 0;
}

bool ath_is_word_character(uint32_t c) {
  return (ath_character_look_up(c)->flags & ATH_IS_WORD) != 0;
}

size_t ath_character_write(uint32_t c, char out[4]) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
  static const uint8_t first[] = {0, 0, 0xC0, 0xE0, 0xF0};
  out[0] = (char)(first[length] | c);
  return length;
}
