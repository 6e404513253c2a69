/* card.c: the model card of a run: its results so far and the settings that led to them. */
#include <assert.h>
#include <string.h>

#include "formats/model_card.h"
#include "train/run.h"

enum { METRICS_MAX = 6, ROWS_MAX = 96, TEXT_MAX = 1 << 16 };

static size_t list_metrics(const ath_run *run, ath_card_metric *out) {
  ath_train_summary s;
  ath_run_summarise(run, &s);
  size_t count = 0;
  out[count++] = (ath_card_metric){"steps", (double)s.steps};
  out[count++] = (ath_card_metric){"training loss (mean over the run)", s.train_loss};
  if (s.evaluated) {
    out[count++] = (ath_card_metric){"evaluation loss", s.eval.loss};
    out[count++] = (ath_card_metric){"perplexity of masked tokens", s.eval.perplexity};
    out[count++] = (ath_card_metric){"accuracy over masked tokens", s.eval.accuracy};
  }
  assert(count <= METRICS_MAX);
  return count;
}

/* The settings that decide the result, with what data and tokenizer made of a 0. Their values are
 * written one after another into `text`, each ended by a NUL, and found again once it has stopped
 * moving. */
static ath_status list_settings(const ath_run *run, ath_buffer *text, ath_card_row *rows,
                                size_t *row_count) {
  size_t count, starts[ROWS_MAX];
  const ath_setting *settings = ath_train_settings(&count);
  ath_train_options shown = run->options;
  shown.vocab_size = ath_model_get_config(run->model)->vocab_size;
  shown.max_seq_length = ath_dataset_length(run->data);
  *row_count = 0;
  for (size_t i = 0; i < count; i++) {
    if (!settings[i].fixed) continue;
    assert(*row_count < ROWS_MAX);
    starts[*row_count] = text->length;
    rows[(*row_count)++].name = settings[i].name;
    ATH_TRY(ath_train_setting_print(&settings[i], &shown, text));
    ATH_TRY(ath_buffer_byte(text, '\0'));
  }
  for (size_t i = 0; i < *row_count; i++) rows[i].value = text->bytes + starts[i];
  return ATH_OK;
}

ath_status ath_run_save_card(const ath_run *self, const char *folder) {
  const ath_model_config *config = ath_model_get_config(self->model);
  char description[256], data[128];
  snprintf(description, sizeof description,
           "A RoBERTa masked language model of %lld layers x %lld (%.1f M parameters), trained "
           "with Athanor.", (long long)config->num_hidden_layers, (long long)config->hidden_size,
           1e-6 * (double)ath_model_size(self->model));
  snprintf(data, sizeof data, "%llu records of %d tokens.",
           (unsigned long long)ath_dataset_size(self->data), ath_dataset_length(self->data));
  ath_card_metric metrics[METRICS_MAX];
  ath_card_row rows[ROWS_MAX];
  ath_buffer text = ath_buffer_make(TEXT_MAX);
  int32_t mask = ath_tokenizer_special(self->tokenizer, ATH_TOKEN_MASK);
  ath_model_card card = {.name = ath_run_push_name(self), .description = description, .data = data,
                         .mask_token = ath_tokenizer_token(self->tokenizer, mask),
                         .metrics = metrics, .parameters = rows,
                         .repository = ath_run_push_repository(self)};
  if (card.name == NULL) card.name = "RoBERTa";
  card.metric_count = list_metrics(self, metrics);
  ath_status status = list_settings(self, &text, rows, &card.parameter_count);
  if (status == ATH_OK) status = ath_model_card_write(&card, folder);
  ath_buffer_free(&text);
  return status;
}
