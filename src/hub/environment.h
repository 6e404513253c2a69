/* environment.h: what the environment says of the Hub: its address, the user's token, and where
 * huggingface_hub keeps things. The names are those of huggingface_hub's documentation
 * (huggingface.co/docs/huggingface_hub/package_reference/environment_variables). */
#ifndef ATHANOR_HUB_ENVIRONMENT_H
#define ATHANOR_HUB_ENVIRONMENT_H

#include <stdbool.h>

#include "athanor/hub.h"
#include "storage/file.h"

enum { ATH_HUB_ENDPOINT_MAX = 512, ATH_HUB_TOKEN_MAX = 4096 };

/* Without a slash at the end. ATH_USAGE where HF_ENDPOINT is no http address. */
ath_status ath_hub_endpoint(char out[ATH_HUB_ENDPOINT_MAX]) ATH_MUST_CHECK;
bool ath_hub_is_offline(void);

ath_status ath_hub_cache_folder(char out[ATH_PATH_MAX]) ATH_MUST_CHECK;
ath_status ath_hub_token_path(char out[ATH_PATH_MAX]) ATH_MUST_CHECK;
/* Tokens by name, beside that file. */
ath_status ath_hub_stored_tokens_path(char out[ATH_PATH_MAX]) ATH_MUST_CHECK;

/* `given`, if it is not NULL, or the user's, which with HF_HUB_DISABLE_IMPLICIT_TOKEN counts only
 * where it is `needed`. "": there is none. */
ath_status ath_hub_token(const char *given, bool needed, char out[ATH_HUB_TOKEN_MAX])
    ATH_MUST_CHECK;

#endif
