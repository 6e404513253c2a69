/* plot.c: a plan as an SVG drawing: two panels, time of a step and memory of a chip, over the
 * batch sizes that were compiled.
 *
 * There is no background, and every colour is of a middle brightness, so that the drawing stands on
 * a light page as on a dark one. */
#include <assert.h>
#include <math.h>

#include "athanor/plan.h"
#include "base/buffer.h"

enum { WIDTH = 960, PLOT_WIDTH = 350, PLOT_HEIGHT = 270, BELOW = 62, HEAD = 34 };
enum { LEGEND_ROW = 20, LEGEND_COLUMN = 150, LEGEND_COLUMNS = 6, TICKS_WANTED = 5 };

/* One for each slice, and dashed lines when they come again. */
static const char *const colours[] = {"#3f83d6", "#d9761a", "#2f9e5f", "#d6485a",
                                      "#9467d0", "#1b98a8", "#cc5599", "#8f8a1c"};
enum { COLOURS = sizeof colours / sizeof *colours };

typedef enum quantity { TIME, MEMORY } quantity;

typedef struct panel {
  const ath_plan *plan;
  quantity what;
  double left, top;           /* of the plot's area, in pixels */
  double batch_end, end;      /* of the axes, which begin at 0; in records, and `unit` */
  double batch_tick, tick;
  double unit;                /* seconds or bytes that the axis counts as 1 */
  const char *title, *unit_name;
  ath_buffer *out;
} panel;

/* --- numbers ------------------------------------------------------------------------------- */

/* Seconds or bytes; NaN where not known. */
static double value_of(const panel *self, const ath_plan_point *point) {
  if (self->what == TIME) return point->step_seconds > 0 ? point->step_seconds : NAN;
  return point->memory >= 0 ? (double)point->memory : NAN;
}

static double limit_of(const panel *self, const ath_plan_report *report) {
  return self->what == MEMORY && report->memory.limit > 0 ? (double)report->memory.limit : NAN;
}

/* Of 1, 2, 5 times a power of ten, the one that makes about TICKS_WANTED ticks. */
static double tick_for(double largest) {
  double power = pow(10, floor(log10(largest / TICKS_WANTED)));
  double each = largest / TICKS_WANTED / power;
  return power * (each > 5 ? 10 : each > 2 ? 5 : each > 1 ? 2 : 1);
}

static double larger(double a, double b) { return b > a ? b : a; } /* b NaN: a */

static void settle_axes(panel *self) {
  double most = 0, batch = 1;
  for (size_t i = 0; i < self->plan->count; i++) {
    const ath_plan_report *r = &self->plan->reports[i];
    most = larger(most, limit_of(self, r));
    for (size_t k = 0; k < r->point_count; k++) {
      most = larger(most, value_of(self, &r->points[k]));
      batch = larger(batch, (double)r->points[k].batch_per_chip);
    }
  }
  bool milliseconds = self->what == TIME && most < 10;
  self->unit = self->what == MEMORY ? 1e9 : milliseconds ? 1e-3 : 1;
  self->unit_name = self->what == MEMORY ? "GB" : milliseconds ? "ms" : "s";
  self->tick = tick_for(most > 0 ? 1.05 * most / self->unit : 1);
  self->end = self->tick * ceil((most > 0 ? 1.05 * most / self->unit : 1) / self->tick);
  self->batch_tick = larger(1, tick_for(batch));
  self->batch_end = self->batch_tick * ceil(batch / self->batch_tick);
  assert(self->end > 0 && self->batch_end >= batch);
}

static double across(const panel *self, double batch) {
  return self->left + PLOT_WIDTH * batch / self->batch_end;
}

static double up(const panel *self, double value) {
  return self->top + PLOT_HEIGHT * (1 - value / self->unit / self->end);
}

/* --- axes ---------------------------------------------------------------------------------- */

static ath_status put_text(ath_buffer *out, const char *kind, double x, double y,
                           const char *text) {
  return ath_buffer_format(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", kind, x, y,
                           text);
}

static ath_status put_number(ath_buffer *out, const char *kind, double x, double y, double number) {
  return ath_buffer_format(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%.6g</text>\n", kind, x,
                           y, number);
}

static ath_status put_axes(const panel *self) {
  double right = self->left + PLOT_WIDTH, bottom = self->top + PLOT_HEIGHT;
  ATH_TRY(ath_buffer_format(self->out, "<text class=\"title\" x=\"%.1f\" y=\"%.1f\">%s, %s"
                            "</text>\n", self->left, self->top - 14, self->title,
                            self->unit_name));
  for (int i = 0; i * self->tick <= self->end * (1 + 1e-9); i++) {
    double y = up(self, i * self->tick * self->unit);
    ATH_TRY(ath_buffer_format(self->out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>\n",
                              i == 0 ? "axis" : "grid", self->left, y, right));
    ATH_TRY(put_number(self->out, "end", self->left - 8, y + 4, i * self->tick));
  }
  for (int i = 0; i * self->batch_tick <= self->batch_end * (1 + 1e-9); i++) {
    double x = across(self, i * self->batch_tick);
    ATH_TRY(ath_buffer_format(self->out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>\n", x, bottom));
    ATH_TRY(put_number(self->out, "middle", x, bottom + 20, i * self->batch_tick));
  }
  return put_text(self->out, "middle", self->left + PLOT_WIDTH / 2.0, bottom + 42,
                  "batch, records a chip");
}

/* --- curves -------------------------------------------------------------------------------- */

/* The attributes with which a slice's lines are drawn. */
static ath_status put_stroke(ath_buffer *out, size_t slice) {
  return ath_buffer_format(out, "stroke=\"%s\"%s", colours[slice % COLOURS],
                           slice >= COLOURS ? " stroke-dasharray=\"7 3\"" : "");
}

static ath_status put_mark(const panel *self, size_t slice, const ath_plan_point *p) {
  const ath_plan_report *r = &self->plan->reports[slice];
  double value = value_of(self, p);
  ATH_TRY(ath_buffer_format(
      self->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" stroke=\"%s\" fill=\"%s\" "
      "data-topology=\"%s\" data-batch=\"%lld\" data-%s=\"",
      across(self, (double)p->batch_per_chip), up(self, value), colours[slice % COLOURS],
      p->fits ? colours[slice % COLOURS] : "none", r->topology, (long long)p->batch_per_chip,
      self->what == TIME ? "seconds" : "bytes"));
  ATH_TRY(self->what == TIME ? ath_buffer_double(self->out, value)
                             : ath_buffer_integer(self->out, p->memory));
  return ath_buffer_format(self->out, "\"><title>%s, %lld records a chip: %.4g %s%s</title>"
                           "</circle>\n", r->topology, (long long)p->batch_per_chip,
                           value / self->unit, self->unit_name, p->fits ? "" : ", does not fit");
}

static ath_status put_curve(const panel *self, size_t slice) {
  const ath_plan_report *r = &self->plan->reports[slice];
  int known = 0;
  for (size_t k = 0; k < r->point_count; k++) {
    double value = value_of(self, &r->points[k]);
    if (isnan(value)) continue;
    if (known++ == 0) ATH_TRY(ath_buffer_string(self->out, "<path class=\"curve\" d=\""));
    ATH_TRY(ath_buffer_format(self->out, "%c%.2f %.2f", known == 1 ? 'M' : 'L',
                              across(self, (double)r->points[k].batch_per_chip), up(self, value)));
  }
  if (known == 0) return ATH_OK;
  ATH_TRY(ath_buffer_string(self->out, "\" "));
  ATH_TRY(put_stroke(self->out, slice));
  ATH_TRY(ath_buffer_string(self->out, "/>\n"));
  for (size_t k = 0; k < r->point_count; k++)
    if (!isnan(value_of(self, &r->points[k])))
      ATH_TRY(put_mark(self, slice, &r->points[k]));
  return ATH_OK;
}

/* Slices of one generation have one limit, drawn once, in grey where several share it. */
static ath_status put_limit(const panel *self, size_t slice) {
  const ath_plan_report *all = self->plan->reports, *r = &all[slice];
  double limit = limit_of(self, r), y = up(self, limit);
  const char *colour = colours[slice % COLOURS];
  if (isnan(limit)) return ATH_OK;
  for (size_t i = 0; i < self->plan->count; i++) {
    if (i == slice || all[i].memory.limit != r->memory.limit) continue;
    if (i < slice) return ATH_OK;
    colour = "#808080";
  }
  ATH_TRY(ath_buffer_format(self->out, "<path class=\"limit\" d=\"M%.1f %.2fh%d\" stroke=\"%s\" "
                            "data-limit=\"%lld\"/>\n", self->left, y, PLOT_WIDTH, colour,
                            (long long)r->memory.limit));
  return ath_buffer_format(self->out, "<text x=\"%.1f\" y=\"%.1f\">%.2f</text>\n",
                           self->left + PLOT_WIDTH + 5, y + 4, limit / self->unit);
}

static ath_status put_panel(panel *self) {
  bool any = false;
  settle_axes(self);
  ATH_TRY(put_axes(self));
  for (size_t i = 0; i < self->plan->count; i++) {
    ATH_TRY(put_limit(self, i));
    ATH_TRY(put_curve(self, i));
    for (size_t k = 0; k < self->plan->reports[i].point_count; k++)
      any |= !isnan(value_of(self, &self->plan->reports[i].points[k]));
  }
  if (any) return ATH_OK;
  return put_text(self->out, "middle", self->left + PLOT_WIDTH / 2.0,
                  self->top + PLOT_HEIGHT / 2.0, "not known");
}

/* --- the whole ----------------------------------------------------------------------------- */

static ath_status put_legend(const ath_plan *plan, double left, ath_buffer *out) {
  for (size_t i = 0; i < plan->count; i++) {
    double x = left + LEGEND_COLUMN * (double)(i % LEGEND_COLUMNS);
    double y = HEAD / 2.0 + LEGEND_ROW * (double)(i / LEGEND_COLUMNS);
    ATH_TRY(ath_buffer_format(out, "<path class=\"curve\" d=\"M%.1f %.1fh24\" ", x, y));
    ATH_TRY(put_stroke(out, i));
    ATH_TRY(ath_buffer_string(out, "/>\n"));
    ATH_TRY(put_text(out, "name", x + 30, y + 4, plan->reports[i].topology));
  }
  return ATH_OK;
}

static ath_status put_style(int height, ath_buffer *out) {
  return ath_buffer_format(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Time and memory over the batch size\">\n"
      "<style>\n"
      "text { font: 12px sans-serif; fill: #7a7a7a }\n"
      ".title, .name { font-size: 13px } .title { font-weight: bold }\n"
      ".end { text-anchor: end } .middle { text-anchor: middle }\n"
      ".axis { stroke: #808080 } .grid { stroke: #808080; stroke-opacity: 0.25 }\n"
      ".curve { fill: none; stroke-width: 2 } circle { stroke-width: 2 }\n"
      ".limit { fill: none; stroke-width: 1.5; stroke-dasharray: 2 4 }\n"
      "</style>\n", WIDTH, height, WIDTH, height);
}

ath_status ath_plan_plot(const ath_plan *self, ath_buffer *out) {
  int rows = (int)(self->count + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS;
  double top = HEAD + LEGEND_ROW * rows + 10;
  panel time = {.plan = self, .what = TIME, .left = 62, .top = top, .out = out,
                .title = "Time of a step (the compiler's estimate)"};
  panel memory = {.plan = self, .what = MEMORY, .left = 540, .top = top, .out = out,
                  .title = "Memory on a chip, its limit dotted"};
  ATH_TRY(put_style((int)top + PLOT_HEIGHT + BELOW, out));
  ATH_TRY(put_legend(self, time.left, out));
  ATH_TRY(put_panel(&time));
  ATH_TRY(put_panel(&memory));
  return ath_buffer_string(out, "</svg>\n");
}
