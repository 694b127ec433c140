/* Serves the page of statsdb/metrics/metrics_page.h over HTTP, at /metrics.
 *
 * A separate thread serves the newest page, so that clients never wait for a
 * request to a scheduler, and imports never wait for clients. */
#ifndef BJ_STATSDB_METRICS_METRICS_HTTP_H
#define BJ_STATSDB_METRICS_METRICS_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

struct bj_metrics_http;

/* Listen on all addresses (base/listen.h) and serve: 503 until there is a page.
 * web_file: base/web_conf.h; NULL or empty: no TLS and no passwords. Both must
 * outlive *ret. -EADDRINUSE and other errors with a message, which contains the
 * file if it is the cause. */
int bj_metrics_http_new(const struct bj_strv *addresses, const char *web_file,
                        struct bj_metrics_http **ret, struct bj_err *err);

/* Stop serving; NULL is fine. */
void bj_metrics_http_free(struct bj_metrics_http *w);

/* Set the page. The server takes ownership of the buffer; *page is then empty.
 */
void bj_metrics_http_put(struct bj_metrics_http *w, struct bj_buf *page);

#endif
