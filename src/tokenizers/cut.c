/* cut.c: truncation: which tokens of each text stay, and the windows that hold the others.
 *
 * What the strategies keep and the order of the windows follow the tokenizers library (0.23.3).
 *
 *   first text   a0 a1 a2 | a2 a3 a4     its windows, which share `stride` tokens
 *   second text  b0 b1 | b1 b2
 *   encoding     a0 b0, a1 b0, a1 b1, a0 b1: each window of one text with each of the other */
#include "tokenizers/tokenizer.h"

/* How the tokens of one text are cut into windows. */
typedef struct cutting {
  ath_span tokens; /* where the text's tokens are */
  size_t room;     /* tokens that a window has for it */
  size_t step;     /* from window to window */
  size_t count;    /* of windows, at least 1 */
  ath_side side;
} cutting;

static ath_span window_of(const cutting *self, size_t index) {
  assert(index < self->count);
  size_t length = self->tokens.end - self->tokens.start, skipped = index * self->step;
  if (self->count == 1 && length <= self->room) return self->tokens;
  size_t start = skipped, end = skipped + self->room < length ? skipped + self->room : length;
  if (self->side == ATH_LEFT) {
    size_t mirrored = length - end;
    end = length - start;
    start = mirrored;
  }
  return (ath_span){self->tokens.start + start, self->tokens.start + end};
}

/* Counts the windows of a text that has `room` in each. */
static ath_status plan_windows(const ath_truncation *t, bool windows, size_t room, cutting *self) {
  size_t length = self->tokens.end - self->tokens.start;
  self->room = room;
  self->side = t->side;
  self->count = 1;
  self->step = 0;
  if (length <= room || !windows) return ATH_OK;
  if (t->stride >= room)
    return ath_fail(ATH_INVALID, "truncation to %zu tokens leaves room for %zu of a text, but"
                    " windows are to share %zu (stride); make stride smaller or max_length larger",
                    t->max_length, room, t->stride);
  self->step = room - t->stride;
  self->count += (length - room + self->step - 1) / self->step;
  return ATH_OK;
}

/* How much of `room` each of two texts gets when the longer is cut first. */
static void share_room(size_t room, const size_t lengths[2], size_t rooms[2]) {
  int shorter = lengths[0] > lengths[1];
  size_t least = lengths[shorter];
  if (2 * least <= room) {
    rooms[shorter] = least;
    rooms[!shorter] = room - least;
  } else {
    rooms[shorter] = room / 2;
    rooms[!shorter] = room - room / 2;
  }
}

/* One text pays for all that is too much. */
static ath_status cut_one(int which, int texts, size_t room, const size_t lengths[2],
                          size_t rooms[2]) {
  static const char *const names[2] = {"first", "second"};
  if (which >= texts)
    return ath_fail(ATH_INVALID, "truncation is to cut only the second text (OnlySecond), but there"
                    " is one text, of %zu tokens for %zu; use LongestFirst or OnlyFirst",
                    lengths[0], room);
  size_t other = texts == 2 ? lengths[1 - which] : 0;
  if (other >= room)
    return ath_fail(ATH_INVALID, "truncation is to cut only the %s text, but the other has %zu"
                    " tokens and there is room for %zu; use LongestFirst or a larger max_length",
                    names[which], other, room);
  rooms[0] = lengths[0];
  rooms[1] = lengths[1];
  rooms[which] = room - other;
  return ATH_OK;
}

static ath_status find_rooms(const ath_truncation *t, int texts, size_t room,
                             const size_t lengths[2], size_t rooms[2]) {
  if (room == 0) {
    rooms[0] = rooms[1] = 0;
    return ATH_OK;
  }
  if (t->strategy == ATH_TRUNCATE_LONGEST_FIRST && texts == 2) {
    share_room(room, lengths, rooms);
    return ATH_OK;
  }
  if (texts == 1 && t->strategy != ATH_TRUNCATE_ONLY_SECOND) {
    rooms[0] = room;
    rooms[1] = 0;
    return ATH_OK;
  }
  return cut_one(t->strategy == ATH_TRUNCATE_ONLY_SECOND, texts, room, lengths, rooms);
}

/* Appends one window: the special tokens, and what it has of each text. */
static ath_status compose(const ath_tokenizer *self, ath_run *run, const ath_recompose *old,
                          const ath_layout *layout, const ath_span spans[2]) {
  for (size_t i = 0; i < layout->count; i++) {
    const ath_layout_part *part = &layout->parts[i];
    size_t from = run->out->length;
    if (part->sequence == ATH_SPECIAL)
      ATH_TRY(ath_run_emit_special(run, part->id, part->text, part->length));
    else
      ATH_TRY(ath_recompose_copy(run, old, spans[part->sequence]));
    ath_run_describe(run, from, part);
    ath_tokenizer_trim(self, run, from, part);
  }
  return ath_run_end_window(run, old->source, run->out->length);
}

/* The windows in the reference's order: those of the first text in turn, each with all of the
 * second text, but for the very first window, whose others come last. */
static ath_status compose_windows(const ath_tokenizer *self, ath_run *run, const ath_recompose *old,
                                  const ath_layout *layout, const cutting cuts[2]) {
  ath_span first[2] = {window_of(&cuts[0], 0), window_of(&cuts[1], 0)};
  ATH_TRY(compose(self, run, old, layout, first));
  for (size_t a = 1; a <= cuts[0].count; a++) {
    size_t begin = a == cuts[0].count; /* the first window's first has been */
    for (size_t b = begin; b < cuts[1].count; b++) {
      ath_span spans[2] = {window_of(&cuts[0], a % cuts[0].count), window_of(&cuts[1], b)};
      ATH_TRY(compose(self, run, old, layout, spans));
    }
  }
  return ATH_OK;
}

static ath_status plan(const ath_truncation *t, ath_run *run, int texts, size_t room,
                       cutting cuts[2]) {
  enum { TOKENS_MAX = 1 << 28 };
  bool windows = (run->flags & ATH_ENCODE_WINDOWS) != 0;
  size_t lengths[2] = {run->texts[0].end - run->texts[0].start,
                       run->texts[1].end - run->texts[1].start};
  size_t rooms[2] = {lengths[0], lengths[1]};
  if (lengths[0] + lengths[1] > room) ATH_TRY(find_rooms(t, texts, room, lengths, rooms));
  for (int i = 0; i < 2; i++) {
    cuts[i] = (cutting){.tokens = run->texts[i]};
    ATH_TRY(plan_windows(t, windows, rooms[i], &cuts[i]));
  }
  if (cuts[0].count * cuts[1].count > TOKENS_MAX / (t->max_length + 1))
    return ath_fail(ATH_INVALID, "truncation makes %zu × %zu windows of %zu tokens; make stride"
                    " smaller or max_length larger", cuts[0].count, cuts[1].count, t->max_length);
  return ATH_OK;
}

ath_status ath_tokenizer_cut(const ath_tokenizer *self, ath_run *run, const ath_layout *layout,
                             int texts) {
  const ath_truncation *t = &self->truncation;
  cutting cuts[2];
  if (t->max_length < layout->special_count)
    return ath_fail(ATH_INVALID, "truncation to %zu tokens, but the post-processor adds %zu special"
                    " tokens; make max_length larger", t->max_length, layout->special_count);
  ATH_TRY(plan(t, run, texts, t->max_length - layout->special_count, cuts));
  ath_recompose old;
  ATH_TRY(ath_recompose_begin(run, &old));
  ATH_TRY(compose_windows(self, run, &old, layout, cuts));
  ath_recompose_end(run, &old);
  return ATH_OK;
}
