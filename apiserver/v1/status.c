/* The status of the server itself: /, /health, /metrics. */
#include "apiserver/frame/page.h"
#include "apiserver/frame/replica.h"
#include "apiserver/frame/state.h"
#include "apiserver/gate/gate_send.h"
#include "base/clock.h"
#include "base/tls.h"
#include "base/version.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static int on_root(struct bj_call *c)
{
    struct bj_slice accept = bj_http_header(c->req, "Accept");
    if (bj_slice_starts(bj_slice_trim(accept), BJ_SLICE("text/html")))
        return bj_page_root(c);
    bj_call_open(c);
    bj_buf_printf(&c->reply->body,
                  "[{\"program\":\"batchjob_stats_server\","
                  "\"version\":\"%s\"}]",
                  bj_version);
    bj_call_close(c, "");
    return 0;
}

/* The reason of an error, which all users can see; so it has no paths, which
 * are in the log. */
static const char *reason(int code, char *buf, size_t n)
{
    switch (code) {
    case -ENOTSUP:
        return "a newer version of batchjob_stats_db wrote it";
    case -EAGAIN:
        return "batchjob_stats_db must run once to update it";
    case -EROFS:
        return "its directory is not writable and batchjob_stats_db does not "
               "run";
    case -EBADMSG:
        return "it is damaged or not a store";
    default:
        return strerror_r(-code, buf, n);
    }
}

/* Responds with 503 only if the server cannot process any request, because a
 * service manager may then restart it. */
static int status_on_health(struct bj_call *c)
{
    int r = bj_reader_begin(c->worker->reader, &c->err);
    char text[128];
    if (r == 0) {
        r = bj_replica_read_lag(c);
        bj_reader_end(c->worker->reader);
    }
    if (r < 0)
        return bj_call_refuse(c, 503, "The store cannot be read: %s.",
                              reason(r, text, sizeof(text)));
    bj_call_open(c);
    bj_buf_str(&c->reply->body, "[{\"store\":\"ok\"");
    if (c->lag[0])
        bj_buf_printf(&c->reply->body, ",\"replica_lag_seconds\":%s", c->lag);
    bj_buf_str(&c->reply->body, "}]");
    bj_call_close(c, "");
    return 0;
}

/* --- /metrics --------------------------------------------------------------
 */

static void family(struct bj_buf *b, const char *name, const char *type,
                   const char *help)
{
    bj_buf_printf(b, "# HELP batchjob_api_%s %s\n# TYPE batchjob_api_%s %s\n",
                  name, help, name, type);
}

static void single(struct bj_buf *b, const char *name, const char *type,
                   const char *help, uint64_t v)
{
    family(b, name, type, help);
    bj_buf_printf(b, "batchjob_api_%s %llu\n", name, (unsigned long long)v);
}

static uint64_t load_count(const uint64_t *n)
{
    return __atomic_load_n(n, __ATOMIC_RELAXED);
}

static const char *endpoint_name(const struct bj_server *a, unsigned i)
{
    return i < BJ_API_ENDPOINTS - 1 ? a->endpoint[i]->path : "none";
}

static bool status_present(const struct bj_server *a, unsigned i)
{
    return i == BJ_API_ENDPOINTS - 1 || a->endpoint[i];
}

static void put_requests(const struct bj_server *a, struct bj_buf *b)
{
    family(b, "requests_total", "counter",
           "Requests by endpoint and class of status.");
    for (unsigned i = 0; i < BJ_API_ENDPOINTS; i++)
        for (unsigned k = 1; k < BJ_API_CLASSES && status_present(a, i); k++)
            if (load_count(&a->count[i].n[k]) > 0)
                bj_buf_printf(
                    b,
                    "batchjob_api_requests_total{endpoint=\"%s\","
                    "code=\"%uxx\"} %llu\n",
                    endpoint_name(a, i), k,
                    (unsigned long long)load_count(&a->count[i].n[k]));
    family(b, "request_seconds_total", "counter", "Time spent on requests.");
    for (unsigned i = 0; i < BJ_API_ENDPOINTS; i++)
        if (status_present(a, i) && load_count(&a->count[i].usec) > 0) {
            bj_buf_printf(
                b, "batchjob_api_request_seconds_total{endpoint=\"%s\"} ",
                endpoint_name(a, i));
            bj_buf_fixed(b, load_count(&a->count[i].usec), 6);
            bj_buf_str(b, "\n");
        }
}

static void put_process(struct bj_buf *b)
{
    struct rusage u;
    unsigned long long pages = 0;
    char line[128];
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fgets(line, sizeof(line), f)) {
        struct bj_slice rest = bj_slice_str(line), word;
        uint64_t v = 0;
        if (bj_slice_word(&rest, &word) && bj_slice_word(&rest, &word) &&
            bj_slice_u64(word, &v) == 0)
            pages = v;
    }
    if (f)
        fclose(f);
    bj_buf_printf(b,
                  "# HELP process_resident_memory_bytes Resident memory.\n"
                  "# TYPE process_resident_memory_bytes gauge\n"
                  "process_resident_memory_bytes %llu\n",
                  pages * (unsigned long long)sysconf(_SC_PAGESIZE));
    if (getrusage(RUSAGE_SELF, &u) < 0)
        return;
    bj_buf_str(b, "# HELP process_cpu_seconds_total CPU time used.\n"
                  "# TYPE process_cpu_seconds_total counter\n"
                  "process_cpu_seconds_total ");
    bj_buf_fixed(b,
                 (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
                     (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
                 6);
    bj_buf_str(b, "\n");
}

static void put_expiry(const struct bj_web *web, struct bj_buf *b)
{
    int64_t end = web->tls ? bj_tls_expires(web->tls) : 0;
    if (end > 0)
        single(b, "tls_certificate_expiry_timestamp_seconds", "gauge",
               "Time at which the first certificate of the TLS configuration "
               "expires.",
               (uint64_t)end);
}

static void put_lag(const struct bj_replica *p, struct bj_buf *b)
{
    int64_t msec = __atomic_load_n(&p->lag_msec, __ATOMIC_RELAXED);
    if (msec >= 0)
        single(b, "replica_lag_seconds", "gauge",
               "Time that the store, a replica, was behind at the last request "
               "that read it.",
               (uint64_t)msec / 1000);
}

static int on_metrics(struct bj_call *c)
{
    const struct bj_server *a = c->worker->server;
    struct bj_buf *b = &c->reply->body;
    struct bj_httpd_stat http;
    bj_httpd_stat(a->httpd, &http);
    c->reply->type = "text/plain; version=0.0.4; charset=utf-8";
    family(b, "build_info", "gauge", "Version of the program; always 1.");
    bj_buf_printf(b,
                  "batchjob_api_build_info{version=\"%s\",revision=\"%s\"} 1\n",
                  bj_version, bj_revision);
    put_requests(a, b);
    single(b, "store_up", "gauge", "1 if the store is open, else 0.",
           __atomic_load_n(&a->store_open, __ATOMIC_RELAXED));
    single(b, "store_opens_total", "counter",
           "Times that the store was opened.", load_count(&a->store_opened));
    put_lag(&a->replica, b);
    single(b, "query_timeouts_total", "counter",
           "Requests that exceeded query.timeout.",
           load_count(&a->store_timeouts));
    single(b, "connections_total", "counter", "Connections accepted.",
           http.connections);
    single(b, "refused_total", "counter",
           "Requests refused because too many answers were in flight.",
           http.refused);
    single(b, "expired_total", "counter",
           "Connections closed at their deadline.", http.expired);
    single(b, "evicted_total", "counter", "Connections closed to make room.",
           http.evicted);
    single(b, "config_reload_success", "gauge",
           "1 if the last reload succeeded, else 0.", !a->reload_failed);
    if (c->worker->conf->gate.enabled)
        bj_gate_metrics(a->gate, b);
    put_expiry(bj_auth_web(c->worker->auth), b);
    put_process(b);
    return 0;
}

const struct bj_endpoint bj_endpoints_status[] = {
    {.path = "/",
     .methods = BJ_HTTP_GET,
     .run = on_root,
     .help = "Name and version of the server; a page for browsers."},
    {.path = "/health",
     .methods = BJ_HTTP_GET,
     .run = status_on_health,
     .help = "Status 200 if the store can be read, else 503."},
    {.path = "/metrics",
     .methods = BJ_HTTP_GET,
     .run = on_metrics,
     .help = "Metrics of the server itself, for Prometheus.",
     .type = "text/plain"},
    {.path = NULL},
};
