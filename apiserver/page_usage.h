/* The table of usage on pages. */
#ifndef BJ_APISERVER_PAGE_USAGE_H
#define BJ_APISERVER_PAGE_USAGE_H

#include "apiserver/page.h"
#include "apiserver/params.h"

/* Append usage by the groups of p, with a row of totals.  0, a refusal, or an
 * error of the store. */
int bj_page_usage_table(struct bj_call *c, const struct bj_params *p,
                        const struct bj_page_place *at);

#endif
