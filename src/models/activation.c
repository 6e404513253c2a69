/* activation.c: config.json's names of activations. */
#include "models/activation.h"

#include <string.h>

static const struct {
  const char *name;
  ath_activation_kind kind;
} names[] = {
  {"gelu", ATH_GELU},
  {"gelu_new", ATH_GELU_TANH},
  {"gelu_pytorch_tanh", ATH_GELU_TANH},
  {"relu", ATH_RELU},
  {"silu", ATH_SILU},
};

ath_status ath_activation_from_name(const char *name, ath_activation_kind *out) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i].name, name) != 0) continue;
    *out = names[i].kind;
    return ATH_OK;
  }
  return ath_fail(ATH_UNSUPPORTED, "no activation \"%s\"; there are gelu, gelu_new, "
                                   "gelu_pytorch_tanh, relu and silu", name);
}
