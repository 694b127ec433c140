/* What the exporter answers: the routes, and the snapshots behind them. */
#ifndef BJ_STANDALONE_SERVE_H
#define BJ_STANDALONE_SERVE_H

#include "base/guard.h"
#include "base/httpd.h"
#include "core/core.h"
#include "standalone/conf.h"
#include "standalone/dialect.h"
#include "standalone/gzip.h"
#include "standalone/page.h"
#include "standalone/trace.h"

enum { BJ_SERVE_ROUTES = 7, BJ_SERVE_PATH = 160 };

struct bj_serve {
    const struct bj_exporter_conf *conf;
    struct bj_core *core;
    struct bj_httpd *httpd;
    struct bj_guard guard;
    struct bj_http_route routes[BJ_SERVE_ROUTES];
    struct bj_gzip *gzip;
    uint64_t looks;
    struct bj_snap *snap; /* of this round, or not older than max-age */
    struct bj_page_heads heads[BJ_PAGE_FORMATS];
    size_t page_bytes[BJ_PAGE_FORMATS]; /* of the last page of each format */
    size_t packed_bytes;                /* a guess at the next packed one */
    /* Pages of other exporters: of telemetry_path (NULL: our own), and below
     * it, each under its name. */
    const struct bj_dialect *dialect;
    struct bj_style style;
    struct bj_dialect_room room;
    char below[BJ_SERVE_PATH];
    size_t dialect_bytes;
    struct bj_trace *trace; /* NULL: not wanted */
    struct bj_err failure;  /* why the last look failed; code 0: it did not */
};

/* Make the HTTP server (not listening yet) with its routes: /, the telemetry
 * path and what is below it, that of tracing, /cost, /health.  conf, core and s
 * itself must stay where they are. */
int bj_serve_init(struct bj_serve *s, const struct bj_exporter_conf *conf,
                  struct bj_core *core, struct bj_err *err);
void bj_serve_free(struct bj_serve *s);

/* Look at the node now, as for a scrape; the result serves this round, and as
 * long as max-age allows. */
int bj_serve_look(struct bj_serve *s, struct bj_err *err);

/* Append the page of the telemetry path, in the text format, from a new look.
 * 0 or -errno as above. */
int bj_serve_write(struct bj_serve *s, struct bj_buf *out, struct bj_err *err);

/* The end of a round of the program's loop: whoever asks from now on is shown
 * a new look.  Requests of one round share one. */
void bj_serve_round(struct bj_serve *s);

#endif
