/* data_parallel.c: annotations that split the batch. */
#include "backends/pjrt/data_parallel.h"

#include <assert.h>

/* "{devices=[4,1]<=[4]}": dimension 0 is cut in 4, one part for each of devices 0 to 3. */
static ath_status print_split(int rank, int devices, ath_buffer *out) {
  ATH_TRY(ath_buffer_format(out, "{devices=[%d", devices));
  for (int i = 1; i < rank; i++) ATH_TRY(ath_buffer_string(out, ",1"));
  return ath_buffer_format(out, "]<=[%d]}", devices);
}

static ath_status print(void *user, int kind, const char *name, const ath_type *type,
                        ath_buffer *out) {
  int devices = ((const ath_data_parallel *)user)->sharding.partitions;
  if (kind < 0) return ATH_OK; /* values inside follow from the arguments */
  if (kind != ATH_HLO_INPUT || type->rank == 0) return ath_buffer_string(out, "{replicated}");
  if (type->dims[0] % devices == 0) return print_split(type->rank, devices, out);
  return ath_fail(ATH_INVALID, "%s: %lld rows cannot be shared among %d devices", name,
                  (long long)type->dims[0], devices);
}

void ath_data_parallel_init(ath_data_parallel *self, int devices) {
  assert(devices >= 1);
  *self = (ath_data_parallel){.sharding = {.print = print, .user = self, .partitions = devices}};
}
