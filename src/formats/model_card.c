/* model_card.c: the README.md of a model folder: YAML front matter between "---" lines, then
 * Markdown. What is not known is left out rather than guessed. */
#include "formats/model_card.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "storage/file.h"

enum { CARD_MAX = 1 << 20 };

/* A text in a table cell: a bar or a line break would end the cell. */
static ath_status put_cell(const char *text, ath_buffer *out) {
  for (; *text != '\0'; text++) {
    if (*text == '|') ATH_TRY(ath_buffer_byte(out, '\\'));
    ATH_TRY(ath_buffer_byte(out, *text == '\n' ? ' ' : *text));
  }
  return ATH_OK;
}

/* A JSON string is a YAML string too, whatever it holds. */
static ath_status put_key(const char *key, const char *value, ath_buffer *out) {
  if (value == NULL) return ATH_OK;
  ATH_TRY(ath_buffer_format(out, "%s: ", key));
  ATH_TRY(ath_buffer_json(out, value, strlen(value)));
  return ath_buffer_byte(out, '\n');
}

static ath_status put_front_matter(const ath_model_card *self, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, "---\n"));
  ATH_TRY(put_key("language", self->language, out));
  ATH_TRY(put_key("license", self->license, out));
  return ath_buffer_string(out, "library_name: transformers\n"
                                "pipeline_tag: fill-mask\n"
                                "tags:\n- fill-mask\n- athanor\n"
                                "---\n\n");
}

static ath_status put_section(const char *title, const char *text, ath_buffer *out) {
  if (text == NULL) return ATH_OK;
  return ath_buffer_format(out, "## %s\n\n%s\n\n", title, text);
}

static ath_status put_metrics(const ath_model_card *self, ath_buffer *out) {
  if (self->metric_count == 0) return ATH_OK;
  ATH_TRY(ath_buffer_string(out, "## Results\n\n| Metric | Value |\n|---|---|\n"));
  for (size_t i = 0; i < self->metric_count; i++) {
    double value = self->metrics[i].value;
    ATH_TRY(ath_buffer_string(out, "| "));
    ATH_TRY(put_cell(self->metrics[i].name, out));
    if (isnan(value)) ATH_TRY(ath_buffer_string(out, " | nan |\n")); /* printf adds a sign */
    else ATH_TRY(ath_buffer_format(out, " | %.*f |\n", value == floor(value) ? 0 : 4, value));
  }
  return ath_buffer_byte(out, '\n');
}

static ath_status put_parameters(const ath_model_card *self, ath_buffer *out) {
  if (self->parameter_count == 0) return ATH_OK;
  ATH_TRY(ath_buffer_string(out, "## Hyper-parameters\n\n| Name | Value |\n|---|---|\n"));
  for (size_t i = 0; i < self->parameter_count; i++) {
    ATH_TRY(ath_buffer_string(out, "| "));
    ATH_TRY(put_cell(self->parameters[i].name, out));
    ATH_TRY(ath_buffer_string(out, " | "));
    ATH_TRY(put_cell(self->parameters[i].value, out));
    ATH_TRY(ath_buffer_string(out, " |\n"));
  }
  return ath_buffer_byte(out, '\n');
}

static ath_status put_use(const ath_model_card *self, ath_buffer *out) {
  const char *mask = self->mask_token != NULL ? self->mask_token : "[MASK]";
  bool here = self->repository == NULL;
  const char *model = here ? "." : self->repository;
  return ath_buffer_format(
      out,
      "## How to use\n\n"
      "%s transformers:\n\n"
      "```python\n"
      "from transformers import pipeline\n\n"
      "fill = pipeline(\"fill-mask\", model=\"%s\")\n"
      "print(fill(\"The capital of France is %s.\"))\n"
      "```\n\n"
      "and with Athanor:\n\n"
      "```sh\n"
      "athanor fill-mask --model %s \"The capital of France is %s.\"\n"
      "```\n",
      here ? "From a copy of this folder, with" : "With", model, mask, model, mask);
}

static ath_status make_card(const ath_model_card *self, ath_buffer *out) {
  ATH_TRY(put_front_matter(self, out));
  ATH_TRY(ath_buffer_format(out, "# %s\n\n", self->name));
  if (self->description != NULL) ATH_TRY(ath_buffer_format(out, "%s\n\n", self->description));
  ATH_TRY(put_metrics(self, out));
  ATH_TRY(put_section("Training data", self->data, out));
  ATH_TRY(put_parameters(self, out));
  return put_use(self, out);
}

ath_status ath_model_card_write(const ath_model_card *self, const char *folder) {
  assert(self->name != NULL);
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, "README.md"));
  ath_buffer card = ath_buffer_make(CARD_MAX);
  ath_status status = ath_context(make_card(self, &card), "%s", path);
  if (status == ATH_OK) status = ath_file_write(path, card.bytes, card.length);
  ath_buffer_free(&card);
  return status;
}
