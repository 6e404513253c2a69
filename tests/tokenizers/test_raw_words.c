/* test_raw_words.c: byte-level words that stay bytes, and words that are looked up many at once,
 * beside the plain way: letters are written for all bytes, and each word is encoded by itself. */
#include "tokenizer_testing.h"

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/tokenizer.h"

enum { TOKENS_MAX = 256 + 200, TEXTS = 60, TEXT_MAX = 600 };

static uint32_t draw(uint64_t *state, uint32_t below) { /* a linear congruential generator */
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33) % below;
}

typedef struct token {
  char bytes[16];
  size_t length;
} token;

static void put_token(ath_buffer *out, const token *t) {
  char letters[2 * sizeof t->bytes + 2];
  char *end = ath_write_byte_letters(letters, t->bytes, t->length);
  assert_ok(ath_buffer_byte(out, '"'));
  for (const char *p = letters; p < end; p++) {
    if (*p == '"' || *p == '\\') assert_ok(ath_buffer_byte(out, '\\'));
    assert_ok(ath_buffer_byte(out, *p));
  }
  assert_ok(ath_buffer_byte(out, '"'));
}

static bool is_known(const token *tokens, size_t count, const token *t) {
  for (size_t i = 0; i < count; i++)
    if (tokens[i].length == t->length && memcmp(tokens[i].bytes, t->bytes, t->length) == 0)
      return true;
  return false;
}

static const char *const alphabet[] = {"a", "b", "c", " ", " ", "\u00e9", "'s", "1", "\U0001F600",
                                       "\u4f60", ".", "\n", "\t", "\"", "\\", "a b", "ab"};

static size_t draw_text(uint64_t *state, size_t most, char *text) {
  text[0] = '\0';
  for (size_t n = draw(state, (uint32_t)most + 1); n > 0; n--)
    strcat(text, alphabet[draw(state, sizeof alphabet / sizeof *alphabet)]);
  return strlen(text);
}

/* The bytes of the alphabet are merged more often than others, so that tokens grow. */
static size_t draw_tokens(uint64_t *state, token *tokens, ath_buffer *merges) {
  size_t count = 0;
  for (; count < 256; count++) tokens[count] = (token){{(char)count}, 1};
  for (size_t tries = 0; count < TOKENS_MAX && tries < 2000; tries++) {
    const token *parts[2];
    token made = {{0}, 0};
    for (int i = 0; i < 2; i++) {
      char text[64];
      parts[i] = &tokens[draw(state, (uint32_t)count)];
      if (draw(state, 3) == 0 && draw_text(state, 2, text) > 0)
        parts[i] = &tokens[(uint8_t)text[draw(state, (uint32_t)strlen(text))]];
      if (made.length + parts[i]->length > sizeof made.bytes) break;
      memcpy(made.bytes + made.length, parts[i]->bytes, parts[i]->length);
      made.length += parts[i]->length;
    }
    if (made.length <= parts[0]->length || is_known(tokens, count, &made)) continue;
    assert_ok(ath_buffer_string(merges, merges->length > 0 ? ", [" : "["));
    put_token(merges, parts[0]);
    assert_ok(ath_buffer_string(merges, ", "));
    put_token(merges, parts[1]);
    assert_ok(ath_buffer_string(merges, "]"));
    tokens[count++] = made;
  }
  return count;
}

static const char *const pre_tokenizers[] = {
  "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true}",
  "{\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true}",
  "{\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true,"
  " \"use_regex\": false}",
  "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Whitespace\"},"
  " {\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true,"
  " \"use_regex\": false}]}",
  "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"pattern\":"
  " {\"Regex\": \"\\\\p{N}{1,3}\"}, \"behavior\": \"Isolated\", \"invert\": false},"
  " {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": false}]}",
};

static ath_tokenizer *draw_tokenizer(uint64_t *state) {
  token tokens[TOKENS_MAX];
  ath_buffer merges = ath_buffer_make(1 << 20), json = ath_buffer_make(1 << 20);
  size_t count = draw_tokens(state, tokens, &merges);
  const char *form = draw(state, 2) ? "null" : "{\"type\": \"NFC\"}";
  assert_ok(ath_buffer_format(&json, "{\"normalizer\": %s, \"pre_tokenizer\": %s, ", form,
                              pre_tokenizers[draw(state, 5)]));
  assert_ok(ath_buffer_format(&json, "\"model\": {\"type\": \"BPE\", \"ignore_merges\": %s,"
                              " \"vocab\": {", draw(state, 2) ? "true" : "false"));
  for (size_t i = 0; i < count; i++) {
    if (i > 0) assert_ok(ath_buffer_string(&json, ", "));
    put_token(&json, &tokens[i]);
    assert_ok(ath_buffer_format(&json, ": %zu", (i * 7 + 3) % count)); /* ids in another order */
  }
  assert_ok(ath_buffer_format(&json, "}, \"merges\": [%s]}}", merges.bytes));
  ath_tokenizer *tokenizer = tokenizer_of(json.bytes);
  ath_buffer_free(&merges);
  ath_buffer_free(&json);
  return tokenizer;
}

static void assert_same(const ath_encoding *a, const ath_encoding *b) {
  assert_int_equal(a->length, b->length);
  for (size_t i = 0; i < a->length; i++) {
    assert_int_equal(a->ids[i], b->ids[i]);
    assert_int_equal(a->starts[i], b->starts[i]);
    assert_int_equal(a->ends[i], b->ends[i]);
  }
}

/* Words that are numbered are encoded one by one. */
static void compare(ath_tokenizer *t, const char *text, size_t length, ath_encoding *fast,
                    ath_encoding *ids, ath_encoding *plain) {
  t->raw = false;
  assert_ok(ath_tokenizer_encode(t, text, length, ATH_ENCODE_OFFSETS | ATH_ENCODE_WORDS, plain));
  t->raw = true;
  assert_ok(ath_tokenizer_encode(t, text, length, ATH_ENCODE_OFFSETS, fast));
  assert_ok(ath_tokenizer_encode(t, text, length, 0, ids));
  assert_same(fast, plain);
  assert_int_equal(ids->length, plain->length);
  if (ids->length > 0)
    assert_memory_equal(ids->ids, plain->ids, ids->length * sizeof *ids->ids);
}

static void words_that_stay_bytes_give_the_same_tokens(void **state) {
  (void)state;
  uint64_t seed = 20240607;
  for (int round = 0; round < 40; round++) {
    ath_tokenizer *t = draw_tokenizer(&seed);
    ath_encoding fast = {0}, ids = {0}, plain = {0};
    assert_true(t->raw);
    for (int n = 0; n < TEXTS; n++) {
      char text[TEXT_MAX * 5 + 1];
      size_t length = draw_text(&seed, n % 3 == 0 ? TEXT_MAX : n % 3 == 1 ? 40 : 8, text);
      compare(t, text, length, &fast, &ids, &plain);
    }
    ath_encoding_free(&fast);
    ath_encoding_free(&ids);
    ath_encoding_free(&plain);
    ath_tokenizer_destroy(t);
  }
}

/* Long words, which are no parts of any cache, and repeats. */
static void long_words_stay_bytes_as_well(void **state) {
  (void)state;
  uint64_t seed = 5;
  for (int round = 0; round < 20; round++) {
    ath_tokenizer *t = draw_tokenizer(&seed);
    ath_encoding fast = {0}, ids = {0}, plain = {0};
    for (int n = 0; n < 20; n++) {
      char text[TEXT_MAX + 1];
      size_t length = 0, period = 1 + draw(&seed, 5);
      for (; length < TEXT_MAX; length++)
        text[length] = length >= period && draw(&seed, 50) > 0 ? text[length - period]
                                                               : (char)('a' + draw(&seed, 3));
      compare(t, text, length, &fast, &ids, &plain);
    }
    ath_encoding_free(&fast);
    ath_encoding_free(&ids);
    ath_encoding_free(&plain);
    ath_tokenizer_destroy(t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(words_that_stay_bytes_give_the_same_tokens),
    cmocka_unit_test(long_words_stay_bytes_as_well),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
