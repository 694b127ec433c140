/* The page of statsdb/report.h over HTTP, at /metrics.
 *
 * A separate thread serves the page that was put last, so that clients never
 * wait for a request to a scheduler, and imports never wait for clients. */
#ifndef BJ_STATSDB_METRICS_HTTP_H
#define BJ_STATSDB_METRICS_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

struct bj_metrics_http;

/* Listen on all addresses (base/listen.h) and begin to answer: with 503 until
 * there is a page.  web_file: base/web_conf.h; NULL or empty: no TLS and no
 * passwords.  Both must outlive it.  -EADDRINUSE and the like, with a message,
 * which names the file where it is to blame. */
int bj_metrics_http_new(const struct bj_strv *addresses, const char *web_file,
                        struct bj_metrics_http **ret, struct bj_err *err);

/* Stop answering; NULL is fine. */
void bj_metrics_http_free(struct bj_metrics_http *w);

/* The page from now on.  The buffer is taken over, *page is then empty. */
void bj_metrics_http_put(struct bj_metrics_http *w, struct bj_buf *page);

#endif
