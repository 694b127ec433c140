/* Texts for people in the words of a site.  Programs have English texts; a site
 * may replace each of them (report/model/catalogue.h).  As with uselocale(3), a
 * thread has its own set of replaced texts. */
#ifndef BJ_BASE_LOCAL_H
#define BJ_BASE_LOCAL_H

#include "base/arena.h"
#include "base/buf.h"

struct bj_local_text {
    struct bj_slice english, text, html; /* terminated; html: text escaped */
};

/* Zero-initialise; free with bj_locals_free. */
struct bj_locals {
    struct bj_arena arena;
    struct bj_local_text *text; /* in the order of english */
    size_t n, cap;
};

/* Add a replaced text; both are copied.  arena.failed: no memory. */
void bj_locals_add(struct bj_locals *l, struct bj_slice english,
                   struct bj_slice text);
bool bj_locals_has(const struct bj_locals *l, struct bj_slice english);
void bj_locals_free(struct bj_locals *l); /* this thread uses English then */

/* From now on this thread uses these texts, which must stay; NULL: English. */
void bj_locals_use(const struct bj_locals *l);
const struct bj_locals *bj_locals_used(void);

/* The site's text for english; english itself if it is not replaced. */
const char *bj_local(const char *english);
struct bj_slice bj_local_slice(struct bj_slice english);

/* As bj_local(), for HTML: the site's text is escaped; english is a literal. */
const char *bj_local_escaped(const char *english);

/* bj_buf_printf() that replaces {parts in braces} by the site's texts; the
 * second also escapes these parts for HTML.  A part that contains directives,
 * such as {%d of %zu jobs}, is named "{1} of {2} jobs" in the catalogue, where
 * their order may differ.  The format must not contain '*'. */
void bj_local_put(struct bj_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void bj_local_html(struct bj_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a text that is not a format. */
void bj_local_str(struct bj_buf *b, const char *text);
void bj_local_html_str(struct bj_buf *b, const char *text);

#endif
