/* encoding_view.c: a text as its tokens cut it, for the eye: each token's part on a colour of its
 * own; without colours the parts stand between bars.
 *
 *     Hel|lo,|  world
 *
 * Tokens without a part of the text are shown themselves, in angle brackets: special tokens, and
 * those that share a character with the token before, as bytes of one character do. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/encoding.h"

#define RESET "\033[0m"
#define DIM "\033[2m"
#define RED "\033[97;41m"

/* Pale enough for black letters; no two in turn are alike. */
static const char *const colours[] = {"\033[30;48;5;153m", "\033[30;48;5;223m", "\033[30;48;5;157m",
                                      "\033[30;48;5;225m", "\033[30;48;5;229m"};
enum { COLOUR_COUNT = sizeof colours / sizeof *colours };

bool ath_cli_wants_colour(void) {
  const char *refused = getenv("NO_COLOR"); /* no-color.org */
  return ath_cli_may_steer(STDOUT_FILENO) && (refused == NULL || *refused == '\0');
}

typedef struct view {
  const ath_encoding_view *style;
  const char *bytes, *end; /* of what has not been shown */
  size_t place;            /* code points before it */
  bool begun;              /* something stands on the line */
  ath_buffer *out;
} view;

/* The bytes up to a place in code points, which is not before the last one. */
static size_t bytes_until(const view *self, size_t place) {
  const char *at = self->bytes;
  for (size_t left = place - self->place; left > 0 && at < self->end; left--)
    do at++;
    while (at < self->end && ath_utf8_continues(*at));
  return (size_t)(at - self->bytes);
}

static ath_status show(view *self, const char *colour, const char *bytes, size_t length) {
  if (self->style->colour) ATH_TRY(ath_buffer_string(self->out, colour));
  ATH_TRY(ath_cli_put_visible(self->out, bytes, length));
  self->begun = true;
  return self->style->colour ? ath_buffer_string(self->out, RESET) : ATH_OK;
}

static ath_status show_until(view *self, size_t place, const char *colour) {
  size_t length = bytes_until(self, place);
  ATH_TRY(show(self, colour, self->bytes, length));
  self->bytes += length;
  self->place = place;
  return ATH_OK;
}

static ath_status show_token(view *self, const ath_encoding *e, size_t i) {
  size_t length;
  const char *token = ath_encoding_token(e, self->style->tokenizer, i, &length);
  ATH_TRY(ath_buffer_string(self->out, self->style->colour ? DIM "<" : "<"));
  ATH_TRY(ath_cli_put_visible(self->out, token, length));
  self->begun = true;
  return ath_buffer_string(self->out, self->style->colour ? ">" RESET : ">");
}

/* What no token covers, such as spaces that a pre-tokeniser drops, is shown bare. */
static ath_status put_token(view *self, const ath_encoding *e, size_t i) {
  size_t start = e->starts[i], end = e->ends[i];
  const char *colour = e->ids[i] == self->style->unknown ? RED : colours[i % COLOUR_COUNT];
  if (start > self->place) ATH_TRY(show_until(self, start, ""));
  if (!self->style->colour && self->begun) ATH_TRY(ath_buffer_byte(self->out, '|'));
  if (end <= self->place) return show_token(self, e, i);
  return show_until(self, end, colour);
}

ath_status ath_cli_put_view(const ath_encoding_view *style, const char *text, size_t length,
                            const ath_encoding *encoding, ath_buffer *out) {
  view self = {.style = style, .bytes = text, .end = text + length, .out = out};
  assert(encoding->starts != NULL || encoding->length == 0);
  for (size_t i = 0; i < encoding->length; i++) ATH_TRY(put_token(&self, encoding, i));
  ATH_TRY(show(&self, "", self.bytes, (size_t)(self.end - self.bytes)));
  return ath_buffer_byte(out, '\n');
}
