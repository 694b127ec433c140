/* The exporter's HTTP routes and the snapshots they serve. */
#ifndef BJ_STANDALONE_SERVE_H
#define BJ_STANDALONE_SERVE_H

#include "base/guard.h"
#include "base/gzip.h"
#include "base/httpd.h"
#include "core/core.h"
#include "standalone/conf.h"
#include "standalone/dialect.h"
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
    uint64_t passes;
    struct bj_snap *snap; /* of this round, or not older than max-age */
    struct bj_page_heads heads[BJ_PAGE_FORMATS];
    size_t page_bytes[BJ_PAGE_FORMATS]; /* of the last page */
    size_t packed_bytes; /* expected size of the next compressed page */
    /* Pages of other exporters: at telemetry_path (NULL: native), and below it
     * by name. */
    const struct bj_dialect *dialect;
    struct bj_dialect_options options;
    struct bj_dialect_room room;
    char below[BJ_SERVE_PATH];
    size_t dialect_bytes;
    struct bj_trace *trace; /* NULL: disabled */
    struct bj_err failure;  /* error of the last pass; code 0: none */
};

/* Create the HTTP server (not listening yet) with its routes: /, the telemetry
 * path and below, the trace path, /cost, /health. conf, core and s must stay at
 * their addresses. */
int bj_serve_init(struct bj_serve *s, const struct bj_exporter_conf *conf,
                  struct bj_core *core, struct bj_err *err);
void bj_serve_free(struct bj_serve *s);

/* Run a pass now, as for a scrape; its result serves this round, and later ones
 * up to max-age. */
int bj_serve_pass(struct bj_serve *s, struct bj_err *err);

/* Append the page of the telemetry path, in the text format, from a new pass. 0
 * or -errno as above. */
int bj_serve_write(struct bj_serve *s, struct bj_buf *out, struct bj_err *err);

/* End a round of the main loop: later requests get a new pass. Requests of one
 * round share a pass. */
void bj_serve_round(struct bj_serve *s);

#endif
