/* test_plain_encoding.c: the encoder (trie, word cache, eight bytes at a time) against a plain one
 * that goes through the whole vocabulary at every byte; and from several threads at once. */
#include <pthread.h>

#include "tokenizer_testing.h"

#include "unigram_testing.h"

enum { PIECES_MAX = 60, TEXT_MAX = 120, SPECIALS = 5, UNKNOWN = 2, MARK_LENGTH = 3 };
static const char mark[] = "\u2581";
static const char *const alphabet[] = {"a", "b", "c", "d", " ", " ", "\u2581", "\u00e9",
                                       "\u2580", "\U0001F600", "\t", "\u201d"};

static uint32_t draw(uint64_t *state, uint32_t below) { /* a linear congruential generator */
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33) % below;
}

static void draw_text(uint64_t *state, uint32_t most, char *text) {
  text[0] = '\0';
  for (uint32_t n = draw(state, most + 1); n > 0; n--)
    strcat(text, alphabet[draw(state, sizeof alphabet / sizeof *alphabet)]);
}

typedef struct vocabulary {
  char texts[PIECES_MAX][32];
  ath_unigram_piece pieces[PIECES_MAX];
  size_t count;
} vocabulary;

static void draw_vocabulary(uint64_t *state, vocabulary *out) {
  out->count = 0;
  while (out->count < 5 + draw(state, PIECES_MAX - 5)) {
    char *text = out->texts[out->count];
    draw_text(state, 4, text);
    bool known = text[0] == '\0';
    for (size_t i = 0; i < out->count; i++) known = known || strcmp(out->texts[i], text) == 0;
    if (known) continue;
    out->pieces[out->count++] =
        (ath_unigram_piece){text, -1.0 - 0.5 * (double)draw(state, 10)};
  }
}

static size_t character_length(const char *s) {
  unsigned char c = (unsigned char)*s;
  return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

/* The ids of one word, by the definition. */
static size_t plain_word(const vocabulary *v, const char *word, size_t length, int32_t *ids) {
  double best[TEXT_MAX * 8], least = 0;
  int from[TEXT_MAX * 8], piece[TEXT_MAX * 8];
  for (size_t i = 0; i < v->count; i++)
    if (v->pieces[i].score < least) least = v->pieces[i].score;
  for (size_t i = 0; i <= length; i++) from[i] = -1;
  best[0] = 0;
  for (size_t at = 0, step; at < length; at += step) {
    step = character_length(word + at);
    bool single = false;
    for (size_t size = 1; size <= length - at; size++) {
      for (size_t i = 0; i < v->count; i++) {
        if (strlen(v->texts[i]) != size || memcmp(v->texts[i], word + at, size) != 0) continue;
        double score = v->pieces[i].score + best[at];
        single = single || size == step;
        if (from[at + size] >= 0 && score <= best[at + size]) continue;
        best[at + size] = score;
        from[at + size] = (int)at;
        piece[at + size] = SPECIALS + (int)i;
      }
    }
    double score = least - 10 + best[at];
    if (single || (from[at + step] >= 0 && score <= best[at + step])) continue;
    best[at + step] = score;
    from[at + step] = (int)at;
    piece[at + step] = UNKNOWN;
  }
  int32_t reversed[TEXT_MAX * 8];
  size_t count = 0;
  for (int at = (int)length; at > 0; at = from[at]) {
    bool fused = count > 0 && piece[at] == UNKNOWN && reversed[count - 1] == UNKNOWN;
    if (!fused) reversed[count++] = piece[at];
  }
  for (size_t i = 0; i < count; i++) ids[i] = reversed[count - 1 - i];
  return count;
}

/* The ids of a text without quotes and special tokens: marks for spaces, one in front, cut before
 * each. */
static size_t plain_text(const vocabulary *v, const char *text, int32_t *ids) {
  char marked[TEXT_MAX * 8] = "";
  if (text[0] == '\0') return 0;
  if (text[0] != ' ' && strncmp(text, mark, MARK_LENGTH) != 0) strcpy(marked, mark);
  for (const char *p = text; *p != '\0'; p++) {
    if (*p == ' ') strcat(marked, mark);
    else strncat(marked, p, 1);
  }
  size_t count = 0;
  for (const char *p = marked; *p != '\0';) {
    const char *next = strstr(p + 1, mark);
    size_t length = next != NULL ? (size_t)(next - p) : strlen(p);
    count += plain_word(v, p, length, ids + count);
    p += length;
  }
  return count;
}

static void ids_are_those_of_the_plain_encoder(void **state) {
  (void)state;
  uint64_t seed = 20240601;
  ath_encoding encoding = {0};
  for (int round = 0; round < 60; round++) {
    vocabulary v;
    ath_tokenizer *t = NULL;
    draw_vocabulary(&seed, &v);
    assert_ok(unigram_of(v.pieces, v.count, &t));
    for (int n = 0; n < 100; n++) {
      char text[TEXT_MAX * 4 + 1];
      int32_t expected[TEXT_MAX * 8];
      draw_text(&seed, n % 2 == 0 ? 12 : TEXT_MAX, text);
      size_t count = plain_text(&v, text, expected);
      assert_ok(ath_tokenizer_encode(t, text, strlen(text), 0, &encoding));
      assert_int_equal(encoding.length, count);
      if (count > 0) assert_memory_equal(encoding.ids, expected, count * sizeof *expected);
    }
    ath_tokenizer_destroy(t);
  }
  ath_encoding_free(&encoding);
}

enum { THREADS = 4, ROUNDS = 300 };
typedef struct job {
  const ath_tokenizer *tokenizer;
  const vocabulary *vocabulary;
  uint64_t seed;
  int different;
} job;

static void *encode_many(void *context) {
  job *self = context;
  ath_encoding encoding = {0};
  for (int n = 0; n < ROUNDS; n++) {
    char text[TEXT_MAX * 4 + 1];
    int32_t expected[TEXT_MAX * 8];
    draw_text(&self->seed, 30, text);
    size_t count = plain_text(self->vocabulary, text, expected);
    if (ath_tokenizer_encode(self->tokenizer, text, strlen(text), 0, &encoding) != ATH_OK ||
        encoding.length != count ||
        (count > 0 && memcmp(encoding.ids, expected, count * sizeof *expected) != 0))
      self->different++;
  }
  ath_encoding_free(&encoding);
  return NULL;
}

static void threads_share_one_tokenizer(void **state) {
  (void)state;
  uint64_t seed = 7;
  vocabulary v;
  ath_tokenizer *t = NULL;
  draw_vocabulary(&seed, &v);
  assert_ok(unigram_of(v.pieces, v.count, &t));
  pthread_t threads[THREADS];
  job jobs[THREADS];
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (job){t, &v, (uint64_t)i, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, encode_many, &jobs[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(jobs[i].different, 0);
  }
  ath_tokenizer_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(ids_are_those_of_the_plain_encoder),
    cmocka_unit_test(threads_share_one_tokenizer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
