#include "apiserver/conf/prompool.h"

#include "base/clock.h"
#include "base/fetch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct bj_prompool_conf, member)
#define SEC(n) ((uint64_t)(n)*1000000)

enum { ANSWER_BYTES = 16 << 20 };

const struct bj_opt bj_prompool_opts[] = {
    {.name = "prometheus.url",
     .kind = BJ_OPT_STR,
     .off = AT(server.url),
     .check = bj_fetch_check,
     .arg = "URL",
     .help = "URL of the Prometheus server with the time series of jobs. "
             "Empty: none.",
     .more = "Set it to show curves on job pages."},
    BJ_PROM_CLIENT_OPTS(AT(server)),
    {.name = "prometheus.match",
     .kind = BJ_OPT_LIST,
     .off = AT(server.match),
     .check = bj_prom_check_match,
     .arg = "LABEL=VALUE",
     .help = "Label that series must have, such as job=batchjob.",
     .more = "Set it where Prometheus scrapes the same nodes twice."},
    {.name = "prometheus.cluster-label",
     .kind = BJ_OPT_STR,
     .off = AT(cluster_label),
     .preset = "cluster",
     .arg = "NAME",
     .help = "Label with the cluster of a series. Series without it match "
             "every cluster. Empty: none.",
     .more = "Set it when your scrape configuration uses another label.",
     .rare = true},
    {.name = "prometheus.timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(server.timeout_usec),
     .lo = SEC(1),
     .hi = SEC(120),
     .preset = "10s",
     .help = "Longest time that one query may take.",
     .more = "Raise it when curves of large jobs fail.",
     .rare = true},
    {.name = "prometheus.scrape-interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(server.scrape_usec),
     .lo = SEC(1),
     .hi = SEC(3600),
     .preset = "1m",
     .help = "Scrape interval of that Prometheus server. Steps are no shorter, "
             "and rates span four intervals.",
     .more = "Set it to the scrape_interval in prometheus.yml."},
    {.name = "prometheus.max-queries",
     .kind = BJ_OPT_U64,
     .off = AT(queries),
     .lo = 1,
     .hi = BJ_PROM_QUERIES,
     .preset = "2",
     .help = "Maximum number of concurrent queries; further ones wait. Each "
             "may take 1 MiB of memory.",
     .more = "Lower it to protect the Prometheus server.",
     .rare = true},
    {.name = NULL},
};

struct bj_prompool {
    atomic_uint refs;
    pthread_mutex_t lock;
    struct bj_prom *idle[BJ_PROM_QUERIES]; /* clients that are not in use */
    unsigned n_idle, busy, queries;
    struct bj_prom_conf conf; /* texts owned by the pool */
    atomic_bool stop;         /* always false: a deadline ends each query */
};

int bj_prompool_check(const struct bj_prompool_conf *c, struct bj_err *err)
{
    const struct bj_prom_conf *s = &c->server;
    if (bj_is_set(s->url) && bj_is_set(s->user) != bj_is_set(s->password_file))
        return bj_err_set(err, -EINVAL,
                          "prometheus.user and prometheus.password-file must "
                          "be given together");
    return bj_prom_check_server(s, err);
}

/* --- start and end ----------------------------------------------------------
 */

/* Copy all texts of a configuration. */
static char **prompool_text_of(struct bj_prom_conf *c, unsigned i)
{
    char **const all[] = {&c->url,        &c->user,    &c->password_file,
                          &c->token_file, &c->ca_file, &c->cert_file,
                          &c->key_file};
    return i < sizeof(all) / sizeof(all[0]) ? all[i] : NULL;
}

static int copy_conf(struct bj_prom_conf *to, const struct bj_prom_conf *from)
{
    struct bj_prom_conf c = *from;
    int r = 0;
    *to = (struct bj_prom_conf){.timeout_usec = c.timeout_usec,
                                .max_bytes = ANSWER_BYTES};
    for (unsigned i = 0; r == 0 && prompool_text_of(to, i); i++)
        if (*prompool_text_of(&c, i) &&
            !(*prompool_text_of(to, i) = strdup(*prompool_text_of(&c, i))))
            r = -ENOMEM;
    for (size_t i = 0; r == 0 && i < c.headers.n; i++)
        r = bj_strv_add(&to->headers, strdup(c.headers.v[i])) ? 0 : -ENOMEM;
    return r;
}

int bj_prompool_new(const struct bj_prompool_conf *conf,
                    struct bj_prompool **ret, struct bj_err *err)
{
    *ret = NULL;
    if (!bj_is_set(conf->server.url))
        return 0;
    struct bj_prompool *p = calloc(1, sizeof(*p));
    if (!p)
        return bj_err_set(err, -ENOMEM, "prometheus");
    atomic_init(&p->refs, 1);
    pthread_mutex_init(&p->lock, NULL);
    p->queries = (unsigned)conf->queries;
    int r = copy_conf(&p->conf, &conf->server);
    if (r < 0)
        bj_err_set(err, r, "prometheus");
    /* Make the first client now: it initialises libcurl, which must not happen
     * in two threads at once. */
    if (r == 0)
        r = bj_prom_new(&p->conf, &p->stop, &p->idle[0], err);
    if (r < 0) {
        bj_prompool_unref(p);
        return r;
    }
    p->n_idle = 1;
    *ret = p;
    return 0;
}

struct bj_prompool *bj_prompool_ref(struct bj_prompool *p)
{
    if (p)
        atomic_fetch_add(&p->refs, 1);
    return p;
}

void bj_prompool_unref(struct bj_prompool *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) > 1)
        return;
    while (p->n_idle > 0)
        bj_prom_free(p->idle[--p->n_idle]);
    pthread_mutex_destroy(&p->lock);
    for (unsigned i = 0; prompool_text_of(&p->conf, i); i++)
        free(*prompool_text_of(&p->conf, i));
    bj_strv_free(&p->conf.headers);
    free(p);
}

/* --- queries ---------------------------------------------------------------
 */

static int take_client(struct bj_prompool *p, struct bj_prom **ret,
                       struct bj_err *err)
{
    int r = 0;
    *ret = NULL;
    pthread_mutex_lock(&p->lock);
    if (p->busy >= p->queries)
        r = bj_err_set(err, -EBUSY, "prometheus: %u queries are running",
                       p->queries);
    else
        p->busy++;
    if (r == 0 && p->n_idle > 0)
        *ret = p->idle[--p->n_idle];
    pthread_mutex_unlock(&p->lock);
    if (r < 0 || *ret)
        return r;
    r = bj_prom_new(&p->conf, &p->stop, ret, err);
    if (r < 0) {
        pthread_mutex_lock(&p->lock);
        p->busy--;
        pthread_mutex_unlock(&p->lock);
    }
    return r;
}

static void put_client(struct bj_prompool *p, struct bj_prom *client)
{
    pthread_mutex_lock(&p->lock);
    p->busy--;
    p->idle[p->n_idle++] = client;
    pthread_mutex_unlock(&p->lock);
}

bool bj_prompool_late(const struct bj_prompool *p, uint64_t since_usec)
{
    return bj_clock_boot_usec() - since_usec > p->conf.timeout_usec;
}

int bj_prompool_query(struct bj_prompool *p, const char *query,
                      const struct bj_prompool_range *range,
                      const struct bj_prom_sink *sink, struct bj_err *err)
{
    struct bj_prom *client;
    int r = take_client(p, &client, err);
    if (r < 0)
        return r;
    bj_prom_limit(client, range->limit_usec);
    r = bj_prom_range(client, query, range->from, range->to, range->step, sink,
                      err);
    put_client(p, client);
    return r;
}
