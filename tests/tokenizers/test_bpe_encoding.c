/* test_bpe_encoding.c: BPE on small inputs with the values that the reference library gives
 * (section B of the log of known failures), on long words beside a plain search, and files that
 * are wrong. */
#include <stdbool.h>
#include <time.h>

#include "base/random.h"
#include "tokenizer_testing.h"

#define BPE(members) "{\"model\":{\"type\":\"BPE\"," members "}}"
#define ABC "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"<unk>\":3},\"merges\":[\"a b\"]"

static void characters_that_are_missing_vanish_or_become_unknown(void **state) {
  (void)state;
  static const struct { const char *json, *text, *expected; } cases[] = {
    {BPE(ABC), "axb", "ab(0,2)"},
    {BPE(ABC), "x", ""},
    {BPE(ABC ",\"unk_token\":\"<unk>\""), "axxb",
     "a(0,1) <unk>(1,2) <unk>(2,3) b(3,4)"},
    {BPE(ABC ",\"unk_token\":\"<unk>\",\"fuse_unk\":true"), "axxb",
     "a(0,1) <unk>(1,3) b(3,4)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_tokenizer *t = tokenizer_of(cases[i].json);
    assert_string_equal(shown(t, cases[i].text), cases[i].expected);
    ath_tokenizer_destroy(t);
  }
}

static void the_order_of_the_merges_counts_not_the_length(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(BPE("\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"bc\":4},"
                                      "\"merges\":[[\"b\",\"c\"],[\"a\",\"b\"]]"));
  assert_string_equal(shown(t, "abc"), "a(0,1) bc(1,3)");
  ath_tokenizer_destroy(t);
}

static void unknown_characters_become_bytes(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(
      BPE("\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"<unk>\":3,\"<0xC3>\":4,\"<0xA9>\":5},"
          "\"merges\":[\"a b\"],\"unk_token\":\"<unk>\",\"byte_fallback\":true"));
  assert_string_equal(shown(t, "\u00e9ab"), "<0xC3>(0,1) <0xA9>(0,1) ab(1,3)");
  /* The unknown token is held back until a known character comes. */
  assert_string_equal(shown(t, "y\u00e9a"), "<0xC3>(0,1) <0xA9>(1,2) <unk>(1,2) a(2,3)");
  ath_tokenizer_destroy(t);
}

static void the_last_character_has_the_suffix(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(
      BPE("\"vocab\":{\"a\":0,\"b</w>\":1,\"ab</w>\":2,\"a</w>\":3},\"merges\":[\"a b</w>\"],"
          "\"continuing_subword_prefix\":\"\",\"end_of_word_suffix\":\"</w>\""));
  assert_string_equal(shown(t, "aab"), "a(0,1) ab</w>(1,3)");
  assert_string_equal(shown(t, "a"), "a</w>(0,1)");
  ath_tokenizer_destroy(t);
}

static void dropout_is_the_same_each_time_and_one_leaves_nothing_merged(void **state) {
  (void)state;
  ath_tokenizer *some = tokenizer_of(BPE(ABC ",\"dropout\":0.9"));
  ath_tokenizer *all = tokenizer_of(BPE(ABC ",\"dropout\":1.0,\"ignore_merges\":true"));
  char first[4096];
  snprintf(first, sizeof first, "%s", shown(some, "abababababababababab"));
  assert_string_equal(shown(some, "abababababababababab"), first);
  assert_non_null(strstr(first, "ab("));
  assert_non_null(strstr(first, "a("));
  assert_string_equal(shown(all, "ab"), "a(0,1) b(1,2)");
  ath_tokenizer_destroy(some);
  ath_tokenizer_destroy(all);
}

/* --- long words ----------------------------------------------------------------------------- */

enum { LETTERS = 3, TOKENS = 40, LONG = 700 };

typedef struct plain {
  char tokens[TOKENS][64];
  int count, merges[TOKENS][3], merge_count;
} plain;

static int plain_id(const plain *self, const char *token) {
  for (int i = 0; i < self->count; i++)
    if (strcmp(self->tokens[i], token) == 0) return i;
  return -1;
}

/* Merges of tokens that are there already, in the order of a trainer or, `mixed`, in another. */
static plain random_plain(uint32_t seed, bool mixed) {
  plain self = {.tokens = {"a", "b", "c"}, .count = LETTERS};
  uint32_t bits[4];
  for (uint32_t i = 0; self.count < TOKENS && i < 200; i++) {
    ath_random(seed, ATH_RANDOM_SHUFFLE, 0, i, 0, bits);
    int left = (int)ath_below(bits[0], (uint32_t)self.count);
    int right = (int)ath_below(bits[1], (uint32_t)self.count);
    char made[128];
    snprintf(made, sizeof made, "%s%s", self.tokens[left], self.tokens[right]);
    if (strlen(made) > 30 || plain_id(&self, made) >= 0) continue;
    memcpy(self.tokens[self.count], made, strlen(made) + 1);
    int at = self.merge_count++;
    if (mixed) {
      int other = (int)ath_below(bits[2], (uint32_t)self.merge_count);
      memcpy(self.merges[at], self.merges[other], sizeof self.merges[at]);
      at = other;
    }
    self.merges[at][0] = left;
    self.merges[at][1] = right;
    self.merges[at][2] = self.count++;
  }
  return self;
}

static ath_tokenizer *plain_tokenizer(const plain *self) {
  ath_buffer json = ath_buffer_make(1 << 16);
  assert_ok(ath_buffer_string(&json, "{\"model\":{\"type\":\"BPE\",\"vocab\":{"));
  for (int i = 0; i < self->count; i++)
    assert_ok(ath_buffer_format(&json, "%s\"%s\":%d", i > 0 ? "," : "", self->tokens[i], i));
  assert_ok(ath_buffer_string(&json, "},\"merges\":["));
  for (int i = 0; i < self->merge_count; i++)
    assert_ok(ath_buffer_format(&json, "%s\"%s %s\"", i > 0 ? "," : "",
                                self->tokens[self->merges[i][0]],
                                self->tokens[self->merges[i][1]]));
  assert_ok(ath_buffer_string(&json, "]}}"));
  ath_tokenizer *tokenizer = tokenizer_of(json.bytes);
  ath_buffer_free(&json);
  return tokenizer;
}

/* The least rank's leftmost pair, again and again. */
static int plain_encode(const plain *self, const char *text, int *ids) {
  int count = 0;
  for (; text[count] != '\0'; count++) ids[count] = text[count] - 'a';
  for (;;) {
    int rank = self->merge_count, at = 0;
    for (int i = 0; i + 1 < count; i++)
      for (int r = 0; r < rank; r++)
        if (self->merges[r][0] == ids[i] && self->merges[r][1] == ids[i + 1]) rank = r, at = i;
    if (rank == self->merge_count) return count;
    ids[at] = self->merges[rank][2];
    count--;
    memmove(ids + at + 1, ids + at + 2, (size_t)(count - at - 1) * sizeof *ids);
  }
}

/* Random letters, a few again and again, or one letter. */
static void random_word(uint32_t seed, uint32_t period, char text[LONG + 1]) {
  uint32_t bits[4];
  for (uint32_t i = 0; i < LONG; i++) {
    ath_random(seed, ATH_RANDOM_SHUFFLE, 1, period > 0 ? i % period : i, 0, bits);
    text[i] = (char)('a' + ath_below(bits[0], LETTERS));
  }
  text[LONG - seed % 40] = '\0';
}

static void long_words_are_merged_as_by_a_plain_search(void **state) {
  (void)state;
  static const uint32_t periods[] = {0, 1, 2, 5, 31, 100};
  ath_encoding encoding = {0};
  for (uint32_t seed = 0; seed < 60; seed++) {
    plain model = random_plain(seed, seed % 2 == 1);
    ath_tokenizer *t = plain_tokenizer(&model);
    char text[LONG + 1];
    int expected[LONG];
    random_word(seed, periods[seed % 6], text);
    int count = plain_encode(&model, text, expected);
    assert_ok(ath_tokenizer_encode(t, text, strlen(text), ATH_ENCODE_OFFSETS, &encoding));
    assert_int_equal(encoding.length, count);
    assert_memory_equal(encoding.ids, expected, (size_t)count * sizeof *expected);
    assert_int_equal(encoding.ends[count - 1], strlen(text));
    ath_tokenizer_destroy(t);
  }
  ath_encoding_free(&encoding);
}

/* A chain of merges that begins at the word's end and decides its first token: windows cannot tell,
 * so that the word is merged as a whole. Each letter of the chain merges with the next one unless
 * that has merged already. */
static void a_far_end_decides_the_beginning(void **state) {
  (void)state;
  enum { LINKS = 300 };
  ath_buffer json = ath_buffer_make(1 << 20), text = ath_buffer_make(1 << 16);
  assert_ok(ath_buffer_string(&json, "{\"model\":{\"type\":\"BPE\",\"vocab\":{"));
  for (int i = 0; i <= LINKS; i++) {
    char letter[8];
    snprintf(letter, sizeof letter, "%c%c%c", 0xE4, 0x80 | i >> 6, 0x80 | (i & 63));
    assert_ok(ath_buffer_format(&json, "\"%s\":%d,", letter, i));
    assert_ok(ath_buffer_string(&text, letter));
  }
  for (int i = 0; i < LINKS; i++)
    assert_ok(ath_buffer_format(&json, "%s\"%.3s%.3s\":%d", i > 0 ? "," : "", text.bytes + 3 * i,
                                text.bytes + 3 * (i + 1), LINKS + 1 + i));
  assert_ok(ath_buffer_string(&json, "},\"merges\":["));
  for (int i = LINKS - 1; i >= 0; i--)
    assert_ok(ath_buffer_format(&json, "[\"%.3s\",\"%.3s\"]%s", text.bytes + 3 * i,
                                text.bytes + 3 * (i + 1), i > 0 ? "," : ""));
  assert_ok(ath_buffer_string(&json, "]}}"));
  ath_tokenizer *t = tokenizer_of(json.bytes);
  ath_encoding encoding = {0};
  for (size_t letters = LINKS; letters <= LINKS + 1; letters++) {
    assert_ok(ath_tokenizer_encode(t, text.bytes, letters * 3, 0, &encoding));
    assert_int_equal(encoding.length, (letters + 1) / 2);
    assert_int_equal(encoding.ids[0], letters % 2 == 0 ? LINKS + 1 : 0);
  }
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(t);
  ath_buffer_free(&json);
  ath_buffer_free(&text);
}

static void a_megabyte_of_one_character_takes_no_time(void **state) {
  (void)state;
  enum { LENGTH = 1 << 20 };
  ath_tokenizer *t = tokenizer_of(BPE("\"vocab\":{\"a\":0,\"aa\":1,\"aaaa\":2,\"<unk>\":3},"
                                      "\"merges\":[\"a a\",\"aa aa\"],\"unk_token\":\"<unk>\""));
  char *text = malloc(LENGTH);
  ath_encoding encoding = {0};
  memset(text, 'a', LENGTH);
  clock_t begun = clock();
  assert_ok(ath_tokenizer_encode(t, text, LENGTH, ATH_ENCODE_OFFSETS, &encoding));
  assert_int_equal(encoding.length, LENGTH / 4);
  assert_int_equal(encoding.ends[LENGTH / 4 - 1], LENGTH);
  memset(text, 'x', LENGTH);
  assert_ok(ath_tokenizer_encode(t, text, LENGTH, ATH_ENCODE_OFFSETS, &encoding));
  assert_int_equal(encoding.length, LENGTH);
  assert_true((double)(clock() - begun) / CLOCKS_PER_SEC < 10);
  ath_encoding_free(&encoding);
  free(text);
  ath_tokenizer_destroy(t);
}

/* --- files ---------------------------------------------------------------------------------- */

static void files_that_make_no_model_are_refused_with_the_place(void **state) {
  (void)state;
  static const struct { const char *json, *part; ath_status status; } cases[] = {
    {BPE("\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\",\"a c\"]"),
     "model.merges[1]: the token \"c\" is not in the vocabulary", ATH_INVALID},
    {BPE("\"vocab\":{\"a\":0,\"b\":1},\"merges\":[[\"a\",\"b\"]]"),
     "model.merges[0]: the token \"ab\" is not in the vocabulary", ATH_INVALID},
    {BPE("\"vocab\":{\"a\":0},\"merges\":[\"a b c\"]"), "model.merges[0]: expected two tokens",
     ATH_INVALID},
    {BPE("\"vocab\":{\"a\":0},\"merges\":[\"ab\"]"), "model.merges[0]: expected two tokens",
     ATH_INVALID},
    {BPE("\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]"), "expected two tokens, found 1", ATH_INVALID},
    {BPE("\"vocab\":{\"a\":1,\"b\":1},\"merges\":[]"), "model.vocab.b: 1 is the id of \"a\"",
     ATH_INVALID},
    {BPE("\"vocab\":{\"a\":-1},\"merges\":[]"), "model.vocab.a: -1 is not between", ATH_INVALID},
    {BPE("\"vocab\":{\"a\":2000000},\"merges\":[]"), "model.vocab: the id 2000000",
     ATH_UNSUPPORTED},
    {BPE("\"vocab\":{\"a\":99999999999},\"merges\":[]"), "model.vocab.a", ATH_INVALID},
    {BPE("\"vocab\":{\"a\":0.5},\"merges\":[]"), "model.vocab.a: expected an integer",
     ATH_INVALID},
    {BPE("\"vocab\":{\"a\":0}"), "model.merges: expected an array", ATH_INVALID},
    {BPE("\"vocab\":[],\"merges\":[]"), "model.vocab: expected an object", ATH_INVALID},
    {BPE("\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":1.5"), "model.dropout: 1.5", ATH_INVALID},
    {BPE("\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"],"
         "\"continuing_subword_prefix\":\"##\""), "shorter than the prefix", ATH_INVALID},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_tokenizer *t = NULL;
    assert_fails(load_text(cases[i].json, &t), cases[i].status, cases[i].part);
    assert_null(t);
  }
}

static void an_unknown_token_outside_the_vocabulary_fails_when_it_is_needed(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(BPE(ABC ",\"unk_token\":\"zz\""));
  ath_encoding encoding = {0};
  assert_string_equal(shown(t, "ab"), "ab(0,2)");
  assert_fails(ath_tokenizer_encode(t, "ax", 2, 0, &encoding), ATH_INVALID,
               "\"x\" is not in the vocabulary, nor is the unknown token \"zz\"");
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(characters_that_are_missing_vanish_or_become_unknown),
    cmocka_unit_test(the_order_of_the_merges_counts_not_the_length),
    cmocka_unit_test(unknown_characters_become_bytes),
    cmocka_unit_test(the_last_character_has_the_suffix),
    cmocka_unit_test(dropout_is_the_same_each_time_and_one_leaves_nothing_merged),
    cmocka_unit_test(long_words_are_merged_as_by_a_plain_search),
    cmocka_unit_test(a_far_end_decides_the_beginning),
    cmocka_unit_test(a_megabyte_of_one_character_takes_no_time),
    cmocka_unit_test(files_that_make_no_model_are_refused_with_the_place),
    cmocka_unit_test(an_unknown_token_outside_the_vocabulary_fails_when_it_is_needed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
