/* child.h: work that may end the process or never end, done in a child. */
#ifndef ATHANOR_CLI_CHILD_H
#define ATHANOR_CLI_CHILD_H

#include "athanor/status.h"
#include "base/buffer.h"

/* Runs `work` in a child process and appends what it put into its buffer to `out`. Its status and
 * text come back; a child that crashes is ATH_INTERNAL, one that takes longer than `seconds` is
 * ended (ATH_IO). Before this process has other threads. */
ath_status ath_cli_in_child(ath_status (*work)(const void *context, ath_buffer *out),
                            const void *context, int seconds, ath_buffer *out) ATH_MUST_CHECK;

#endif
