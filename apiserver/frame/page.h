/* Web pages: HTML that is complete without its script, from the rows of the
 * API. Text from outside is escaped by bj_html_text and bj_url_text
 * (base/html.h). */
#ifndef BJ_APISERVER_FRAME_PAGE_H
#define BJ_APISERVER_FRAME_PAGE_H

#include "apiserver/frame/call.h"
#include "base/buf.h"
#include "statsdb/job/job_column.h"
#include "statsdb/job/rows.h"

enum { BJ_PAGE_COLUMNS = 32 }; /* of a table of a page, at most */

/* Begin a page up to its <main>; to_root is the relative path from it to the
 * root ("" or "../").  live_sec: the script reads parts with data-live-part
 * again at this interval, and browsers without scripts reload the page each
 * minute; 0: neither. */
void bj_page_frame(struct bj_call *c, const char *title, const char *to_root,
                   unsigned live_sec);

/* Begin a page with its title as a heading. */
void bj_page_open(struct bj_call *c, const char *title, const char *to_root);
void bj_page_close(struct bj_call *c);

/* The name of the reader's time zone for HTML, terminated; free it.  Lack of
 * memory fails the page b, too. */
struct bj_buf bj_page_zone(struct bj_buf *b);

/* Parts of links from a page. */
struct bj_page_place {
    const char *to_root; /* relative path to the root, "" or "../" */
    /* The parameters of the page that links keep: filters, and times.  Each is
     * a part of a URL, escaped for HTML, or NULL. */
    const char *filters, *times;
    bool name_apart; /* the name of a job is shown beside its id, so the link
                        to the job is the id alone */
};

/* Append the value of a column; a dash if it is empty. */
void bj_page_value(struct bj_buf *b, const struct bj_column *k,
                   const struct bj_cells *row, const struct bj_page_place *at);

/* Shows rows as a table: between begin and end, pass cells to the writer of
 * rows.  columns describes the columns of the rows; names, which ends with
 * NULL, says which of them the page shows, in order; each has a label.  Missing
 * values are dashes; to_root is the relative path to the root, for links to
 * jobs; none is the text if there are no rows. */
struct bj_page_table {
    struct bj_cells cells;
    struct bj_buf *b;
    const struct bj_column *column[BJ_PAGE_COLUMNS + 1]; /* ends with NULL */
    struct bj_page_place at;
    uint64_t rows;
    const char *needs; /* key of a value; rows without it are omitted; NULL:
                          show all rows */
    uint64_t most;     /* maximum number of rows shown; further rows are only
                          counted; 0: all */
    /* For titles of numbers and times that are links: link is the page with its
     * other parameters, to which the parameter sort is appended, or NULL: no
     * links; sorted is the column by which the page is sorted. */
    const char *link;
    struct bj_slice sorted;
    bool ascending;
    bool is_part;   /* of a list with rows elsewhere: the script must not sort
                       it; may be set until the end */
    size_t head_at; /* where in b its head begins */
    bool has_total; /* the row of totals was written */
};
void bj_page_table_begin(struct bj_page_table *t, struct bj_buf *b,
                         const struct bj_column *columns,
                         const char *const *names, const char *to_root);
/* Make the next row the row of totals; call it after the last other row. */
void bj_page_table_total(struct bj_page_table *t);
void bj_page_table_end(struct bj_page_table *t, const char *none);

/* Append the job of a row as a link to its page: its name and id, of a job
 * without a name its id; from the columns name, display_id and key. */
void bj_page_named(struct bj_buf *b, const struct bj_cells *row,
                   const char *to_root);

/* Append a value of a row as text; a dash if it is empty. */
void bj_page_text(struct bj_buf *b, const struct bj_cells *row,
                  const char *key);

/* Append a number in this form. */
void bj_page_amount(struct bj_buf *b, enum bj_form form, double v);

/* Append a time, in UTC. */
void bj_page_time(struct bj_buf *b, int64_t sec);

/* Append these columns of the row of a job as a list of labels and values,
 * without empty values. */
void bj_page_list(struct bj_buf *b, const char *const *names,
                  const struct bj_cells *row, const char *none);

/* Convert the document of a refusal to a page. If passwords are configured and
 * the request has no name and password, or wrong ones, the browser prompts the
 * user for them. */
void bj_page_refuse(struct bj_call *c);

/* The endpoint of the page at the root. */
int bj_page_root(struct bj_call *c);

#endif
