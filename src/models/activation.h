/* activation.h: config.json's names of activations. */
#ifndef ATHANOR_MODELS_ACTIVATION_H
#define ATHANOR_MODELS_ACTIVATION_H

#include "athanor/ops.h"

/* ATH_UNSUPPORTED, with the names there are, for any other. */
ath_status ath_activation_from_name(const char *name, ath_activation_kind *out) ATH_MUST_CHECK;

#endif
