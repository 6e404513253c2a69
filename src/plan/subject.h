/* subject.h: the run that is planned: its model and the text of its training step. */
#ifndef ATHANOR_PLAN_SUBJECT_H
#define ATHANOR_PLAN_SUBJECT_H

#include "athanor/train.h"
#include "stablehlo/module.h"

typedef struct ath_subject {
  const ath_train_options *run;
  ath_model *model;
  int length;          /* tokens of a record */
  int64_t records;     /* of the training data; −1: not known */
} ath_subject;

ath_status ath_subject_open(const ath_train_options *run, ath_subject *out) ATH_MUST_CHECK;
void ath_subject_close(ath_subject *self);

/* The chips that share a batch; those along the axis `model` of the run's mesh work on the same
 * records. */
int ath_subject_shares(const ath_subject *self, int chips);
/* Appends the module of a micro-batch of `batch` records on each of the chips that share it: the
 * last of a step, or, where gradients are accumulated, one before. The signature lies in the
 * arena. */
ath_status ath_subject_print(const ath_subject *self, int64_t batch, int chips, bool last,
                             ath_arena *arena, ath_hlo_signature *signature, ath_buffer *out)
    ATH_MUST_CHECK;
/* Whether a module can index so large a batch. */
bool ath_subject_can_print(const ath_subject *self, int64_t batch, int chips);
/* Floating-point operations of a micro-batch of so many records: three times the products and the
 * attention of the forward pass, without what is computed again on the way back. */
ath_status ath_subject_flops(const ath_subject *self, int64_t batch, double *out) ATH_MUST_CHECK;
/* Steps of the whole run; −1: not known. */
int64_t ath_subject_steps(const ath_subject *self, int chips);

#endif
