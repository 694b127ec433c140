#include "base/fetch.h"
#include "base/text.h"
#include "statsdb/prom/prom.h"

#include <string.h>

#define OF(member) offsetof(struct bj_prom_conf, member)
#define SEC(n) ((uint64_t)(n)*1000000)

enum { HOUR = 3600, DAY = 86400, HEADERS_MAX = 16 };

const struct bj_opt bj_prom_opts[] = {
    {.name = "prometheus.url",
     .kind = BJ_OPT_STR,
     .off = OF(url),
     .check = bj_fetch_check,
     .help = "Prometheus-compatible server that scrapes the exporters of the "
             "cluster: http://HOST:9090."},
    {.name = "prometheus.match",
     .kind = BJ_OPT_LIST,
     .off = OF(match),
     .check = bj_prom_check_match,
     .arg = "LABEL=VALUE",
     .preset = "cluster=%c",
     .help =
         "Labels of this cluster's series on the server; %c is the cluster's "
         "name. Empty if the server has only this cluster and no such label.",
     .more = "Set it to the labels in the scrape configuration."},
    {.name = "prometheus.scrape-interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(scrape_usec),
     .lo = SEC(1),
     .hi = SEC(HOUR),
     .preset = "30s",
     .help = "Scrape interval of the server.",
     .more = "Set it to the value in the scrape configuration."},
    {.name = "prometheus.history",
     .kind = BJ_OPT_DURATION,
     .off = OF(history_usec),
     .lo = SEC(60),
     .preset = "15d",
     .help = "How long the server keeps samples (its "
             "--storage.tsdb.retention.time).",
     .more = "Set it to the retention of the server."},
    {.name = "prometheus.settle",
     .kind = BJ_OPT_DURATION,
     .off = OF(settle_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "5m",
     .help =
         "Query a job this long after its end; at least two scrape intervals.",
     .more =
         "Raise it when samples arrive late, for example over remote write.",
     .rare = true},
    {.name = "prometheus.grace",
     .kind = BJ_OPT_DURATION,
     .off = OF(grace_usec),
     .hi = SEC(DAY),
     .preset = "2m",
     .help = "How long the exporters show the last values of an ended job "
             "(their job.grace).",
     .more = "Set it to job.grace of the exporters.",
     .rare = true},
    {.name = "prometheus.timeout",
     .kind = BJ_OPT_DURATION,
     .off = OF(timeout_usec),
     .lo = SEC(1),
     .hi = SEC(HOUR),
     .preset = "60s",
     .help = "Timeout of a query.",
     .more = "Raise it when the server is slow.",
     .rare = true},
    {.name = "prometheus.max-samples",
     .kind = BJ_OPT_U64,
     .off = OF(max_samples),
     .lo = 1000,
     .hi = UINT64_C(1000000000),
     .preset = "5000000",
     .help = "Samples that one query may make the server read; well below its "
             "--query.max-samples.",
     .more = "Lower it when the server refuses queries, raise it to query more "
             "jobs at once.",
     .rare = true},
    BJ_PROM_CLIENT_OPTS(0),
    {.name = "prometheus.scratch-place",
     .kind = BJ_OPT_STR,
     .off = OF(scratch_place),
     .preset = "scratch",
     .help = "Place of collector.process.place that is scratch.",
     .more = "Set it when the exporters use another name for the scratch file "
             "system.",
     .rare = true},
    {.name = "prometheus.factors",
     .kind = BJ_OPT_BOOL,
     .off = OF(factors),
     .preset = "false",
     .help = "Also read emission factors from the server, as reported by an "
             "exporter with collector.emissions.",
     .more = "Set it when one exporter of the site requests emission factors.",
     .rare = true},
    {.name = NULL},
};

static bool is_label(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
              (i > 0 && c >= '0' && c <= '9')))
            return false;
    }
    return s.n > 0;
}

static int cut_match(const char *text, struct bj_slice *label,
                     struct bj_slice *value, struct bj_err *err)
{
    *value = bj_slice_str(text);
    if (strchr(text, '=') && bj_slice_field(value, '=', label) &&
        is_label(*label) && !strchr(text, '\n'))
        return 0;
    return bj_err_set(err, -EINVAL, "'%.40s' is not LABEL=VALUE", text);
}

int bj_prom_check_match(const char *text, struct bj_err *err)
{
    struct bj_slice label, value;
    return cut_match(text, &label, &value, err);
}

int bj_prom_matchers(const struct bj_strv *match, const char *cluster,
                     struct bj_buf *out, struct bj_err *err)
{
    for (size_t i = 0; i < match->n; i++) {
        struct bj_slice label, v;
        int r = cut_match(match->v[i], &label, &v, err);
        if (r < 0)
            return bj_err_wrap(err, r, "prometheus.match");
        bj_buf_slice(out, label);
        bj_buf_str(out, "=\"");
        bj_prom_put(out,
                    bj_slice_eq(v, BJ_SLICE("%c")) ? bj_slice_str(cluster) : v,
                    false);
        bj_buf_str(out, "\",");
    }
    return 0;
}

int bj_prom_check_server(const struct bj_prom_conf *c, struct bj_err *err)
{
    if (!c->url || !c->url[0])
        return 0;
    if (c->headers.n > HEADERS_MAX)
        return bj_err_set(err, -EINVAL, "prometheus.header: more than %d",
                          HEADERS_MAX);
    if (c->user && c->user[0] && c->token_file && c->token_file[0])
        return bj_err_set(err, -EINVAL,
                          "prometheus: set only one of user and token-file");
    return 0;
}

int bj_prom_check(const struct bj_prom_conf *c, struct bj_err *err)
{
    int r = bj_prom_check_server(c, err);
    if (r < 0 || !c->url || !c->url[0] || c->settle_usec >= 2 * c->scrape_usec)
        return r;
    return bj_err_set(
        err, -EINVAL,
        "prometheus.settle: must be at least two scrape intervals");
}
