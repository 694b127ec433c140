/* What pages with a list share: forms, default times, the fields to request. */
#ifndef BJ_APISERVER_PAGE_FORM_H
#define BJ_APISERVER_PAGE_FORM_H

#include "apiserver/page.h"
#include "apiserver/params.h"

/* May the user see jobs of other users? */
bool bj_page_sees_others(const struct bj_call *c);

/* Request the fields that columns show, and the key. 0 or a refusal. */
int bj_page_fields(struct bj_call *c, struct bj_params *p,
                   const struct bj_page_column *columns);

/* Forms have dates instead of times: the default is a week, and the last day is
 * included. */
void bj_page_times(const struct bj_call *c, struct bj_params *p);

/* Append an input with the value of the request. */
void bj_page_input(struct bj_buf *b, const struct bj_params *p,
                   enum bj_param which, const char *title, const char *type);
void bj_page_date(struct bj_buf *b, const struct bj_params *p,
                  enum bj_param which, const char *title);

/* A choice ends with value NULL. */
struct bj_page_choice {
    const char *value, *title;
};
void bj_page_select(struct bj_buf *b, const struct bj_params *p,
                    enum bj_param which, const char *title,
                    const struct bj_page_choice *choices);

/* Append the parameters of the request except some, each with "&amp;" after
 * it, for links that change those. */
void bj_page_args(struct bj_buf *b, const struct bj_call *c, unsigned except);

#endif
