/* test_unigram_parts.c: the parts of Unigram training against brute force: seed pieces against
 * counting of all substrings, expected counts and best paths against listing of all ways to cut a
 * word. */
#include <math.h>
#include <stdbool.h>

#include "base/random.h"
#include "testing.h"
#include "tokenizers/trainers/lattice.h"
#include "tokenizers/trainers/suffix_pieces.h"
#include "tokenizers/trainers/word_count.h"

static ath_word_list list_of(const char *const *words, const uint64_t *counts, size_t count) {
  ath_word_list list = {.text = calloc(1, 1 << 16), .count = count};
  list.starts = malloc((count + 1) * sizeof *list.starts);
  list.counts = malloc(count * sizeof *list.counts);
  size_t used = 0;
  for (size_t w = 0; w < count; w++) {
    size_t length = strlen(words[w]);
    assert_true(used + length + 1 < 1 << 16);
    list.starts[w] = (uint32_t)used;
    memcpy(list.text + used, words[w], length + 1);
    used += length + 1;
    list.counts[w] = counts[w];
    list.total += counts[w];
  }
  list.starts[count] = (uint32_t)used;
  return list;
}

static const char *word_of(const ath_word_list *list, size_t w) {
  return list->text + list->starts[w];
}

/* `count` distinct random words of 1 … longest letters, some of more than one byte. */
static ath_word_list random_words(uint32_t seed, size_t count, uint32_t longest) {
  static const char *const letters[] = {"a", "b", "c", "é", "▁", "😀"};
  char text[64][128] = {{0}};
  const char *words[64];
  uint64_t counts[64];
  for (size_t w = 0; w < count; w++) {
    uint32_t bits[4];
    for (uint32_t attempt = 0;; attempt++) {
      ath_random(seed, ATH_RANDOM_SHUFFLE, attempt, w, 0, bits);
      text[w][0] = '\0';
      uint32_t length = 1 + ath_below(bits[0], longest);
      for (uint32_t i = 0; i < length; i++) {
        ath_random(seed, ATH_RANDOM_SHUFFLE, attempt, w, i + 1, bits);
        strcat(text[w], letters[ath_below(bits[1], 6)]);
      }
      bool known = false;
      for (size_t v = 0; v < w; v++) known = known || strcmp(text[v], text[w]) == 0;
      if (!known) break;
    }
    words[w] = text[w];
    counts[w] = 1 + ath_below(bits[2], 4);
  }
  return list_of(words, counts, count);
}

static bool begins(const char *at) { return ((unsigned char)*at & 0xC0) != 0x80; }

/* Where some bytes stand first. */
static const char *first_place(const ath_word_list *list, const char *bytes, size_t length) {
  for (const char *at = list->text; at < bytes; at++)
    if (strncmp(at, bytes, length) == 0) return at;
  return bytes;
}

/* How often some bytes stand in the corpus. */
static uint64_t brute_count(const ath_word_list *list, const char *bytes, size_t length) {
  uint64_t count = 0;
  for (size_t w = 0; w < list->count; w++)
    for (const char *at = word_of(list, w); *at != '\0'; at++)
      if (strncmp(at, bytes, length) == 0) count += list->counts[w];
  return count;
}

static int brute_code_points(const char *bytes, size_t length) {
  int count = 0;
  for (size_t i = 0; i < length; i++) count += begins(bytes + i);
  return count;
}

/* Whether no letter after it keeps the count. */
static bool brute_maximal(const ath_word_list *list, const char *bytes, size_t length) {
  uint64_t count = brute_count(list, bytes, length);
  for (size_t w = 0; w < list->count; w++)
    for (const char *at = word_of(list, w); *at != '\0'; at++) {
      if (strncmp(at, bytes, length) != 0 || at[length] == '\0') continue;
      size_t more = length + 1;
      while (!begins(at + more)) more++;
      if (brute_count(list, at, more) == count) return false;
    }
  return true;
}

static const ath_seed_piece *find_seed(const ath_seed_pieces *seeds, const char *bytes,
                                       size_t length) {
  for (size_t p = 0; p < seeds->count; p++) {
    const ath_seed_piece *seed = &seeds->pieces[p];
    if (seed->length == length &&
        memcmp(seeds->words->text + seeds->suffixes[seed->first], bytes, length) == 0)
      return seed;
  }
  return NULL;
}

static void compare_seeds(const ath_word_list *list, int max_length) {
  ath_seed_pieces seeds;
  assert_ok(ath_seed_pieces_find(list, 100000, max_length, &seeds));
  size_t expected = 0;
  for (size_t w = 0; w < list->count; w++)
    for (const char *at = word_of(list, w); *at != '\0'; at++)
      for (size_t n = 1; begins(at) && n <= strlen(at); n++) {
        if (!begins(at + n)) continue;
        int characters = brute_code_points(at, n);
        uint64_t count = brute_count(list, at, n);
        bool wanted = characters == 1 || (characters <= max_length && count >= 2 &&
                                          brute_maximal(list, at, n));
        const ath_seed_piece *seed = find_seed(&seeds, at, n);
        if (wanted != (seed != NULL)) fail_msg("\"%.*s\": wanted %d", (int)n, at, wanted);
        if (seed == NULL) continue;
        assert_int_equal(seed->count, count);
        assert_int_equal(seed->is_character, characters == 1);
        expected += first_place(list, at, n) == at;
      }
  assert_int_equal(seeds.count, expected);
  ath_seed_pieces_free(&seeds);
}

static void seed_pieces_are_the_maximal_repeats_of_the_corpus(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 40; seed++) {
    ath_word_list list = random_words(seed, 12, 9);
    compare_seeds(&list, seed % 2 == 0 ? 16 : 3);
    ath_word_list_free(&list);
  }
}

static void seed_pieces_beyond_the_limit_are_the_worst(void **state) {
  (void)state;
  ath_word_list list = random_words(7, 30, 9);
  ath_seed_pieces all, some;
  assert_ok(ath_seed_pieces_find(&list, 100000, 16, &all));
  assert_ok(ath_seed_pieces_find(&list, 10, 16, &some));
  assert_int_equal(some.count, some.character_count + 10);
  for (size_t p = all.character_count + 1; p < all.count; p++)
    assert_true(all.pieces[p - 1].score >= all.pieces[p].score);
  for (size_t p = 0; p < some.count; p++)
    assert_int_equal(some.pieces[p].score, all.pieces[p].score);
  ath_seed_pieces_free(&all);
  ath_seed_pieces_free(&some);
  ath_word_list_free(&list);
}

/* --- the lattice --------------------------------------------------------------------------- */

typedef struct fixture {
  ath_word_list list;
  ath_seed_pieces seeds;
  ath_lattice *lattice;
  double *scores, *expected, *brute;
  uint64_t *uses;
} fixture;

/* Scores are random, of pieces that sum to less than 1. */
static fixture *make_fixture(ath_word_list list, int threads, uint32_t seed) {
  fixture *f = calloc(1, sizeof *f);
  f->list = list;
  assert_ok(ath_seed_pieces_find(&f->list, 100000, 16, &f->seeds));
  assert_ok(ath_lattice_create(&f->seeds, threads, &f->lattice));
  size_t n = f->seeds.count;
  f->scores = calloc(n, sizeof *f->scores);
  f->expected = calloc(n, sizeof *f->expected);
  f->brute = calloc(n, sizeof *f->brute);
  f->uses = calloc(n, sizeof *f->uses);
  for (size_t p = 0; p < n; p++) {
    uint32_t bits[4];
    ath_random(seed, ATH_RANDOM_MASKING, 0, p, 0, bits);
    f->scores[p] = log((0.05 + ath_uniform(bits[0])) / (double)n);
  }
  return f;
}

static void free_fixture(fixture *f) {
  ath_lattice_destroy(f->lattice);
  ath_seed_pieces_free(&f->seeds);
  ath_word_list_free(&f->list);
  free(f->scores);
  free(f->expected);
  free(f->brute);
  free(f->uses);
  free(f);
}

static const char *piece_text(const fixture *f, size_t p) {
  return f->list.text + f->seeds.suffixes[f->seeds.pieces[p].first];
}

/* One way to cut a text: the pieces chosen so far. */
typedef struct path {
  size_t pieces[32], count;
} path;

typedef void (*path_visitor)(fixture *f, const path *way, double probability, double weight);

static void each_way(fixture *f, const char *text, size_t left, path *way, double probability,
                     double weight, path_visitor visit) {
  if (left == 0) {
    visit(f, way, probability, weight);
    return;
  }
  for (size_t p = 0; p < f->seeds.count; p++) {
    size_t length = f->seeds.pieces[p].length;
    if (length > left || memcmp(piece_text(f, p), text, length) != 0) continue;
    way->pieces[way->count++] = p;
    each_way(f, text + length, left - length, way, probability * exp(f->scores[p]), weight, visit);
    way->count--;
  }
}

static double brute_sum;

static void add_probability(fixture *f, const path *way, double probability, double weight) {
  (void)f, (void)way, (void)weight;
  brute_sum += probability;
}

static void add_expected(fixture *f, const path *way, double probability, double weight) {
  for (size_t i = 0; i < way->count; i++) f->brute[way->pieces[i]] += probability * weight;
}

/* Expected counts by listing every way; returns the loss per word. */
static double brute_expect(fixture *f) {
  double loss = 0;
  for (size_t w = 0; w < f->list.count; w++) {
    const char *text = word_of(&f->list, w);
    double count = (double)f->list.counts[w];
    path way = {{0}, 0};
    brute_sum = 0;
    each_way(f, text, strlen(text), &way, 1, 0, add_probability);
    each_way(f, text, strlen(text), &way, 1, count / brute_sum, add_expected);
    loss -= count * log(brute_sum);
  }
  return loss / (double)f->list.total;
}

static void expected_counts_equal_those_of_all_ways_to_cut(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 20; seed++) {
    fixture *f = make_fixture(random_words(seed, 15, 8), 2, seed);
    double loss = ath_lattice_expect(f->lattice, f->scores, f->expected);
    assert_near(loss, brute_expect(f), 1e-9, 1e-9);
    for (size_t p = 0; p < f->seeds.count; p++)
      assert_near(f->expected[p], f->brute[p], 1e-5, 0); /* counted in units of 2^-24 */
    free_fixture(f);
  }
}

static double best_score;
static path best_way;
static size_t without;

static void keep_best_way(fixture *f, const path *way, double probability, double weight) {
  (void)probability, (void)weight;
  double score = 0;
  for (size_t i = 0; i < way->count; i++) {
    if (way->pieces[i] == without) return;
    score += f->scores[way->pieces[i]];
  }
  if (score <= best_score) return;
  best_score = score;
  best_way = *way;
}

static void brute_best(fixture *f, const char *text, size_t length) {
  path way = {{0}, 0};
  best_score = -INFINITY;
  best_way.count = 0;
  each_way(f, text, length, &way, 1, 0, keep_best_way);
}

static void best_paths_equal_those_of_all_ways_to_cut(void **state) {
  (void)state;
  without = SIZE_MAX;
  for (uint32_t seed = 0; seed < 20; seed++) {
    fixture *f = make_fixture(random_words(seed, 15, 8), 2, seed);
    uint64_t tokens = 0;
    for (size_t w = 0; w < f->list.count; w++) {
      brute_best(f, word_of(&f->list, w), strlen(word_of(&f->list, w)));
      tokens += best_way.count * f->list.counts[w];
      for (size_t i = 0; i < best_way.count; i++)
        f->brute[best_way.pieces[i]] += (double)f->list.counts[w];
    }
    assert_int_equal(ath_lattice_best(f->lattice, f->scores, f->uses), tokens);
    for (size_t p = 0; p < f->seeds.count; p++) assert_int_equal(f->uses[p], f->brute[p]);
    free_fixture(f);
  }
}

static void an_alternative_is_the_best_way_without_the_piece(void **state) {
  (void)state;
  fixture *f = make_fixture(random_words(3, 30, 9), 1, 3);
  for (size_t p = 0; p < f->seeds.count; p++) {
    int32_t parts[ATH_PIECE_LENGTH_MAX];
    int count = ath_lattice_alternative(f->lattice, 0, p, f->scores, parts);
    without = p;
    brute_best(f, piece_text(f, p), f->seeds.pieces[p].length);
    assert_int_equal(count, best_way.count);
    if (p < f->seeds.character_count) assert_int_equal(count, 0);
    for (int i = 0; i < count; i++)
      assert_int_equal(parts[i], best_way.pieces[best_way.count - 1 - (size_t)i]);
  }
  free_fixture(f);
}

static void dropped_pieces_are_used_no_more(void **state) {
  (void)state;
  fixture *f = make_fixture(random_words(5, 20, 8), 2, 5);
  size_t n = f->seeds.count, kept = 0;
  int32_t *numbers = calloc(n, sizeof *numbers);
  double before = ath_lattice_expect(f->lattice, f->scores, f->expected);
  for (size_t p = 0; p < n; p++) {
    bool stays = p < f->seeds.character_count || p % 3 == 0;
    numbers[p] = stays ? (int32_t)kept : -1;
    if (!stays) f->scores[p] = -1000; /* as good as dropped, for the numbers to compare with */
    kept += stays;
  }
  double loss = ath_lattice_expect(f->lattice, f->scores, f->brute);
  assert_true(loss > before);
  for (size_t p = 0; p < n; p++)
    if (numbers[p] >= 0) f->scores[numbers[p]] = f->scores[p];
  ath_lattice_keep(f->lattice, numbers, kept);
  assert_int_equal(ath_lattice_pieces(f->lattice), kept);
  assert_near(ath_lattice_expect(f->lattice, f->scores, f->expected), loss, 1e-12, 1e-12);
  for (size_t p = 0; p < n; p++)
    if (numbers[p] >= 0) assert_near(f->expected[numbers[p]], f->brute[p], 1e-6, 0);
  free(numbers);
  free_fixture(f);
}

/* EM proper (Dempster, Laird, Rubin 1977) never makes the likelihood worse. */
static void the_loss_never_rises_over_rounds_of_em(void **state) {
  (void)state;
  fixture *f = make_fixture(random_words(11, 60, 12), 2, 11);
  double last = INFINITY;
  for (int round = 0; round < 30; round++) {
    double loss = ath_lattice_expect(f->lattice, f->scores, f->expected), total = 0;
    assert_true(loss <= last + 1e-6);
    last = loss;
    for (size_t p = 0; p < f->seeds.count; p++) total += f->expected[p];
    for (size_t p = 0; p < f->seeds.count; p++)
      f->scores[p] = log((f->expected[p] + 1e-12) / total);
  }
  free_fixture(f);
}

/* --- long words, which need rescaling: against sums of logarithms ----------------------- */

static double add_logs(double a, double b) {
  double high = a > b ? a : b, low = a > b ? b : a;
  return low == -INFINITY ? high : high + log1p(exp(low - high));
}

/* Expected counts of a word's pieces by forward and backward sums of logarithms. */
static double log_expect(fixture *f, const char *text, double weight) {
  size_t n = strlen(text);
  double *forward = malloc((n + 1) * sizeof *forward);
  double *backward = malloc((n + 1) * sizeof *backward);
  for (size_t i = 0; i <= n; i++) forward[i] = backward[i] = -INFINITY;
  forward[0] = backward[n] = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t p = 0; begins(text + i) && p < f->seeds.count; p++)
      if (strncmp(text + i, piece_text(f, p), f->seeds.pieces[p].length) == 0) {
        double *to = &forward[i + f->seeds.pieces[p].length];
        *to = add_logs(*to, forward[i] + f->scores[p]);
      }
  for (size_t i = n; i-- > 0;)
    for (size_t p = 0; begins(text + i) && p < f->seeds.count; p++)
      if (strncmp(text + i, piece_text(f, p), f->seeds.pieces[p].length) == 0) {
        double after = backward[i + f->seeds.pieces[p].length] + f->scores[p];
        f->brute[p] += weight * exp(forward[i] + after - forward[n]);
        backward[i] = add_logs(backward[i], after);
      }
  double whole = forward[n];
  free(forward);
  free(backward);
  return whole;
}

static void long_words_do_not_underflow(void **state) {
  (void)state;
  static const char *const parts[] = {"ab", "c", "▁", "😀😀", "bca", "éé", "d"};
  char *text = calloc(1, 20000);
  for (uint32_t i = 0; i < 2500; i++) {
    uint32_t bits[4];
    ath_random(1, ATH_RANDOM_SHUFFLE, 0, i, 0, bits);
    strcat(text, parts[ath_below(bits[0], 7)]);
  }
  const char *words[] = {text, "ab", "😀ab"};
  uint64_t counts[] = {1, 3, 2};
  fixture *f = make_fixture(list_of(words, counts, 3), 1, 1);
  /* The rarer, the smaller the numbers: some pieces as good as impossible. */
  for (size_t p = 0; p < f->seeds.count; p++) f->scores[p] -= (double)(p % 7) * 4;
  double loss = 0;
  for (size_t w = 0; w < 3; w++)
    loss -= (double)counts[w] * log_expect(f, words[w], (double)counts[w]);
  assert_true(loss > 6 * 745); /* exp(−745) is 0 */
  assert_near(ath_lattice_expect(f->lattice, f->scores, f->expected), loss / 6, 0, 1e-9);
  for (size_t p = 0; p < f->seeds.count; p++)
    assert_near(f->expected[p], f->brute[p], 1e-4, 1e-6);
  free_fixture(f);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(seed_pieces_are_the_maximal_repeats_of_the_corpus),
      cmocka_unit_test(seed_pieces_beyond_the_limit_are_the_worst),
      cmocka_unit_test(expected_counts_equal_those_of_all_ways_to_cut),
      cmocka_unit_test(best_paths_equal_those_of_all_ways_to_cut),
      cmocka_unit_test(an_alternative_is_the_best_way_without_the_piece),
      cmocka_unit_test(dropped_pieces_are_used_no_more),
      cmocka_unit_test(the_loss_never_rises_over_rounds_of_em),
      cmocka_unit_test(long_words_do_not_underflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
