/* Tables of usage in pages. */
#ifndef BJ_APISERVER_PAGES_PAGE_USAGE_H
#define BJ_APISERVER_PAGES_PAGE_USAGE_H

#include "apiserver/frame/page.h"
#include "apiserver/frame/params.h"

/* Append the table of usage that the parameters describe, with its total.  0, a
 * refusal, or an error of the store. */
int bj_page_usage_table(struct bj_call *c, const struct bj_params *p,
                        const struct bj_page_place *at);

/* Append such a table with fewer columns.  most: maximum number of rows,
 * without a total; 0: all rows. */
int bj_page_usage_brief(struct bj_call *c, const struct bj_params *p,
                        const struct bj_page_place *at, uint64_t most);

/* Does the site have a file of faculties of accounts? */
bool bj_page_has_faculties(const struct bj_call *c);

/* Append what the tables mean. */
void bj_page_usage_note(struct bj_buf *b);

/* Append links to the page for whole months and for the last days. */
void bj_page_periods(struct bj_call *c, const char *page);

#endif
