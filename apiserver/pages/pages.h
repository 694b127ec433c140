/* Parts that pages share: forms for parameters, tables of usage and findings.
 */
#ifndef BJ_APISERVER_PAGES_PAGES_H
#define BJ_APISERVER_PAGES_PAGES_H

#include "apiserver/frame/page.h"
#include "apiserver/frame/params.h"
#include "report/form/html.h"
#include "report/model/report.h"

/* May the user see jobs of other users? */
bool bj_page_sees_others(const struct bj_call *c);

/* Select the fields of jobs that a page shows, and the key.  names ends with
 * NULL.  0 or a refusal. */
int bj_page_fields(struct bj_call *c, struct bj_params *p,
                   const char *const *names);

/* Set the times of a page from the dates of its form: the default is a week,
 * and the last day is included. */
void bj_page_times(const struct bj_call *c, struct bj_params *p);

/* Append an input element with the value in the request. */
void bj_page_input(struct bj_buf *b, const struct bj_params *p,
                   enum bj_param which, const char *title, const char *type);
void bj_page_date(struct bj_buf *b, const struct bj_params *p,
                  enum bj_param which, const char *title);

/* A choice of a select element; a list of choices ends with value NULL. */
struct bj_page_choice {
    const char *value, *title;
};
void bj_page_select(struct bj_buf *b, const struct bj_params *p,
                    enum bj_param which, const char *title,
                    const struct bj_page_choice *choices);

/* Begin a card with a form: the dates, and lists of the users, accounts,
 * partitions, clusters and findings that exist for the user.  The caller
 * appends more and ends both.  0, or an error of the store. */
int bj_page_filters(struct bj_call *c, const struct bj_params *p);

/* Return the whole number of a cell; BJ_SQL_NULL: it has none. */
int64_t bj_page_whole(const struct bj_cells *row, const char *key);

/* Append the tasks of the array of a report, if it has one.  0, a refusal, or
 * an error of the store. */
int bj_page_array(struct bj_call *c, const struct bj_report *r,
                  const struct bj_doc *d, const struct bj_html_page *page);

/* Append the parameters of the request, except those in the mask except, each
 * followed by "&amp;", for links that change the excepted ones. */
void bj_page_args(struct bj_buf *b, const struct bj_call *c, unsigned except);

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

/* Append the part of what was held that was used, as a bar, grey if it is known
 * for less than half; nothing if nothing was held. */
void bj_page_use(struct bj_buf *b, int64_t held, int64_t known,
                 int64_t used_msec);

/* Append the waiting jobs that never start, if there are any.  0 or an error of
 * the store. */
int bj_page_never_start(struct bj_call *c, const struct bj_params *p);

/* Append what the tables mean. */
void bj_page_usage_note(struct bj_buf *b);

/* Append links to the page for whole months and for the last days. */
void bj_page_periods(struct bj_call *c, const char *page);

/* Months are counted as year * 12 + month - 1, in the site's time zone. */

/* The month of the parameter; without one, the last whole month.  0 or a
 * refusal. */
int bj_page_month(struct bj_call *c, const struct bj_params *p, int64_t *ret);
int64_t bj_page_month_of(int64_t sec);
int64_t bj_page_month_now(const struct bj_call *c);

/* Its first second, which for the next month is its end. */
int64_t bj_page_month_start(int64_t month);

int64_t bj_page_month_first_day(int64_t month); /* since 1970 */

/* Append "October 2026" in the words of the site, as text or escaped for HTML;
 * append "2026-10". */
void bj_page_month_text(struct bj_buf *b, int64_t month);
void bj_page_month_name(struct bj_buf *b, int64_t month);
void bj_page_month_number(struct bj_buf *b, int64_t month);

/* Append a select element of the last months, in which month is chosen; below
 * 0: none is. */
void bj_page_month_choice(struct bj_call *c, int64_t month);

/* The page of the bill of an account for a month, whose name is the tail of the
 * path; as CSV or PDF if the parameter format is "csv" or "pdf";
 * bj_drawing_document is the second part of its endpoint.  0, a refusal, or an
 * error. */
int bj_page_bill(struct bj_call *c, const struct bj_params *p);

/* Append the number of jobs for each finding, the most frequent first, among
 * jobs that match p and started between its times.  0, or an error of the
 * store. */
int bj_page_finding_counts(struct bj_call *c, const struct bj_params *p,
                           const char *to_root);

#endif
