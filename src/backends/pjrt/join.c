/* join.c: the store of several processes as the callbacks by which a plugin joins their devices.
 * They are called from the plugin's threads, for as long as its client lives. */
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/api.h"

static void free_value(char *value) { free(value); }

/* The failure of this thread as an error of the plugin's making. */
static PJRT_Error *make_error(PJRT_CallbackError *make, PJRT_Error_Code code) {
  const char *text = ath_error_text();
  return (*make)(code, text, strlen(text));
}

/* Copies what was found to where the plugin reads it, and from where it is freed by free_value. */
static ath_status hand_over(const ath_buffer *found, char **value, size_t *size) {
  *value = malloc(found->length + 1);
  if (*value == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu bytes", found->length);
  if (found->length > 0) memcpy(*value, found->bytes, found->length);
  *size = found->length;
  return ATH_OK;
}

static PJRT_Error *get(PJRT_KeyValueGetCallback_Args *args) {
  ath_buffer found = ath_buffer_make(ATH_STORE_VALUE_MAX);
  int milliseconds = args->timeout_in_ms > 0 ? args->timeout_in_ms : 0;
  ath_status status =
      ath_store_get(args->user_arg, args->key, args->key_size, milliseconds, &found);
  if (status == ATH_OK) status = hand_over(&found, &args->value, &args->value_size);
  ath_buffer_free(&found);
  args->value_deleter_callback = free_value;
  if (status == ATH_OK) return NULL;
  return make_error(args->callback_error, status == ATH_NOT_FOUND
                                              ? PJRT_Error_Code_DEADLINE_EXCEEDED
                                              : PJRT_Error_Code_INTERNAL);
}

static PJRT_Error *try_get(PJRT_KeyValueTryGetCallback_Args *args) {
  ath_buffer found = ath_buffer_make(ATH_STORE_VALUE_MAX);
  ath_status status = ath_store_try_get(args->user_arg, args->key, args->key_size, &found);
  if (status == ATH_OK) status = hand_over(&found, &args->value, &args->value_size);
  ath_buffer_free(&found);
  args->value_deleter_callback = free_value;
  if (status == ATH_OK) return NULL;
  return make_error(args->callback_error, status == ATH_NOT_FOUND ? PJRT_Error_Code_NOT_FOUND
                                                                  : PJRT_Error_Code_INTERNAL);
}

static PJRT_Error *put(PJRT_KeyValuePutCallback_Args *args) {
  ath_status status = ath_store_put(args->user_arg, args->key, args->key_size, args->value,
                                    args->value_size);
  return status == ATH_OK ? NULL : make_error(args->callback_error, PJRT_Error_Code_INTERNAL);
}

void ath_pjrt_join(ath_store *store, PJRT_Client_Create_Args *args) {
  args->kv_get_callback = get;
  args->kv_try_get_callback = try_get;
  args->kv_put_callback = put;
  args->kv_get_user_arg = args->kv_try_get_user_arg = args->kv_put_user_arg = store;
}
