/* prices.h: what an hour of a chip costs.
 *
 * A table of prices is text: a generation and a number to a line, "v5e 1.20", or "-" where no
 * price is known; "#" begins a comment.
 * The program carries src/plan/prices.txt; another file may take its place. */
#ifndef ATHANOR_PLAN_PRICES_H
#define ATHANOR_PLAN_PRICES_H

#include "athanor/status.h"

extern const char ath_prices_text[]; /* prices.txt as it was when the program was built */

/* The price for a generation ("v5e"), from the file or, where it is NULL, the program's own table;
 * −1 where the table does not have it. ATH_INVALID, with the line, for what is no table, has no
 * line at all, or names a generation that the program's own table does not. */
ath_status ath_price_find(const char *file, const char *generation, double *out) ATH_MUST_CHECK;

#endif
