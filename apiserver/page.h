/* Web pages for people: HTML without scripts, from the same rows that the API
 * gives.  Whatever comes from outside is escaped here, and nowhere else. */
#ifndef BJ_APISERVER_PAGE_H
#define BJ_APISERVER_PAGE_H

#include "apiserver/call.h"
#include "base/buf.h"
#include "base/json.h"

/* How a value of a row is shown. */
enum bj_page_form {
    BJ_SHOW_TEXT,
    BJ_SHOW_SENTENCE, /* as long as it is, over several lines */
    BJ_SHOW_NUMBER,   /* as it is */
    BJ_SHOW_TIME,     /* ISO 8601, shown without T and Z */
    BJ_SHOW_SECONDS,  /* 1-02:03:04 */
    BJ_SHOW_BYTES,    /* 1.5 GiB */
    BJ_SHOW_PERCENT,  /* with a bar */
    BJ_SHOW_JOULES,   /* in Wh or kWh */
    BJ_SHOW_GRAMS,    /* in g or kg */
    BJ_SHOW_ROUND,    /* one digit behind the point */
    BJ_SHOW_STATE,    /* of a job */
    BJ_SHOW_JOB       /* a link to the page of the job in the member "key" */
};

struct bj_page_column {
    const char *key, *title;
    enum bj_page_form form;
};

/* Begin a page; up is how to get from its path to the root ("" or "../"). */
void bj_page_open(struct bj_call *c, const char *title, const char *up);
void bj_page_close(struct bj_call *c);

/* Text, escaped. */
void bj_page_text(struct bj_buf *b, struct bj_slice s);

/* Text as a part of a path or query string, escaped for both. */
void bj_page_url(struct bj_buf *b, struct bj_slice s);

/* A value in its form; what is null is a dash. */
void bj_page_value(struct bj_buf *b, const struct bj_page_column *k,
                   const struct bj_json *row, const char *up);

/* Rows as a table (columns end with key NULL), and one row as a list of names
 * and values, nulls left out; none is what stands there where there is nothing
 * to show. */
void bj_page_table(struct bj_buf *b, const struct bj_page_column *columns,
                   const struct bj_json *rows, const char *up,
                   const char *none);
void bj_page_list(struct bj_buf *b, const struct bj_page_column *columns,
                  const struct bj_json *row, const char *none);

/* Turn the document of a refusal into a page.  Where the request has no
 * credentials, or wrong ones, and names and passwords are configured, a browser
 * asks the user for them. */
void bj_page_refuse(struct bj_call *c);

/* What a browser finds at the root. */
int bj_page_root(struct bj_call *c);

extern const char bj_page_style[];

#endif
