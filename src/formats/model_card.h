/* model_card.h: README.md of a model folder, with the front matter that the Hugging Face Hub
 * reads (huggingface.co/docs/hub/model-cards). All strings belong to the caller. */
#ifndef ATHANOR_FORMATS_MODEL_CARD_H
#define ATHANOR_FORMATS_MODEL_CARD_H

#include <stddef.h>

#include "athanor/status.h"

typedef struct ath_card_row {
  const char *name, *value;
} ath_card_row;

/* A measured number; the table shows four digits after the point. */
typedef struct ath_card_metric {
  const char *name;
  double value;
} ath_card_metric;

typedef struct ath_model_card {
  const char *name;        /* the model's title */
  const char *description; /* a sentence on what it is; may be NULL, as all below */
  const char *data;        /* what it was trained on */
  const char *language;    /* "en"; left out when NULL */
  const char *license;     /* "apache-2.0"; left out when NULL */
  const char *repository;  /* "USER/NAME" on the Hub; NULL: whoever reads it has the folder */
  const char *mask_token;  /* for the example; "[MASK]" when NULL */
  const ath_card_metric *metrics;
  size_t metric_count;
  const ath_card_row *parameters; /* hyper-parameters */
  size_t parameter_count;
} ath_model_card;

/* Writes `folder`/README.md atomically. */
ath_status ath_model_card_write(const ath_model_card *self, const char *folder) ATH_MUST_CHECK;

#endif
