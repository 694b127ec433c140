/* Jobs by finding, on pages. */
#ifndef BJ_APISERVER_PAGES_PAGE_PERSON_H
#define BJ_APISERVER_PAGES_PAGE_PERSON_H

#include "apiserver/frame/page.h"
#include "apiserver/frame/params.h"

/* Append the number of jobs for each finding, the most frequent first, among
 * jobs that match p and started between its times.  0, or an error of the
 * store. */
int bj_page_finding_counts(struct bj_call *c, const struct bj_params *p,
                           const char *to_root);

#endif
