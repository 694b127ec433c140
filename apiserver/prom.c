#include "apiserver/prom.h"

#include "base/fetch.h"
#include "base/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define AT(member) offsetof(struct bj_prom_conf, member)
#define SEC(n) ((uint64_t)(n)*1000000)

enum { QUERIES = 16, SECRET_BYTES = 4096, ANSWER_BYTES = 16 << 20 };

const struct bj_opt bj_prom_opts[] = {
    {.name = "prometheus.url",
     .kind = BJ_OPT_STR,
     .off = AT(url),
     .arg = "URL",
     .help = "Prometheus server that scrapes the nodes, for the time series of "
             "jobs; empty: none."},
    {.name = "prometheus.user",
     .kind = BJ_OPT_STR,
     .off = AT(user),
     .arg = "NAME",
     .help = "Name for it (basic auth)."},
    {.name = "prometheus.password-file",
     .kind = BJ_OPT_STR,
     .off = AT(password_file),
     .arg = "FILE",
     .help = "File with the password."},
    {.name = "prometheus.bearer-file",
     .kind = BJ_OPT_STR,
     .off = AT(bearer_file),
     .arg = "FILE",
     .help = "File with a token for it instead."},
    {.name = "prometheus.ca-file",
     .kind = BJ_OPT_STR,
     .off = AT(ca_file),
     .arg = "FILE",
     .help = "Certificates that are trusted instead of the system's."},
    {.name = "prometheus.cert-file",
     .kind = BJ_OPT_STR,
     .off = AT(cert_file),
     .arg = "FILE",
     .help = "Our own certificate."},
    {.name = "prometheus.key-file",
     .kind = BJ_OPT_STR,
     .off = AT(key_file),
     .arg = "FILE",
     .help = "Its key, where it is not in the same file."},
    {.name = "prometheus.match",
     .kind = BJ_OPT_STR,
     .off = AT(match),
     .arg = "TEXT",
     .help = "Label matchers that every question gets, such as "
             "job=\"batchjob\": to leave out what is scraped twice."},
    {.name = "prometheus.cluster-label",
     .kind = BJ_OPT_STR,
     .off = AT(cluster_label),
     .preset = "cluster",
     .arg = "NAME",
     .help = "Label that, on series that have it, must be the name of the "
             "job's cluster; empty: none."},
    {.name = "prometheus.timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(timeout_usec),
     .lo = SEC(1),
     .hi = SEC(120),
     .preset = "10s",
     .help = "How long it may take to answer."},
    {.name = "prometheus.scrape-interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(scrape_usec),
     .lo = SEC(1),
     .hi = SEC(3600),
     .preset = "1m",
     .help = "How often it scrapes the nodes: no step is shorter, and rates "
             "are over four of these."},
    {.name = "prometheus.max-queries",
     .kind = BJ_OPT_U64,
     .off = AT(queries),
     .lo = 1,
     .hi = QUERIES,
     .preset = "4",
     .help = "Questions to it at a time; more requests get status 503."},
    {.name = NULL},
};

struct bj_prom {
    atomic_uint refs;
    pthread_mutex_t lock;
    struct bj_fetch *idle[QUERIES]; /* connections that are not in use */
    unsigned idles, busy;
    char *url, *user, *password, *bearer, *ca, *cert, *key;
    uint64_t timeout_usec;
    unsigned queries;
};

static bool given(const char *s)
{
    return s && s[0];
}

int bj_prom_check(const struct bj_prom_conf *c, struct bj_err *err)
{
    if (!given(c->url))
        return 0;
    if (strncmp(c->url, "http://", 7) != 0 &&
        strncmp(c->url, "https://", 8) != 0)
        return bj_err_set(err, -EINVAL,
                          "prometheus.url: neither http:// nor https://");
    if (given(c->user) != given(c->password_file))
        return bj_err_set(err, -EINVAL,
                          "prometheus.user and prometheus.password-file need "
                          "each other");
    if (given(c->user) && given(c->bearer_file))
        return bj_err_set(err, -EINVAL,
                          "prometheus.user or prometheus.bearer-file, not "
                          "both");
    if (given(c->match) && strpbrk(c->match, "{}\n"))
        return bj_err_set(err, -EINVAL,
                          "prometheus.match: matchers only, without braces");
    return 0;
}

/* --- its life --------------------------------------------------------------
 */

static int copy(char **to, const char *s, struct bj_err *err)
{
    if (!given(s))
        return 0;
    *to = strdup(s);
    return *to ? 0 : bj_err_set(err, -ENOMEM, "prometheus");
}

/* A secret that a file holds, without the line's end. */
static int read_secret(char **to, const char *path, struct bj_err *err)
{
    char text[SECRET_BYTES];
    struct bj_slice s;
    if (!given(path))
        return 0;
    int r = bj_file_read_trusted(AT_FDCWD, path, text, sizeof(text), &s, err);
    if (r < 0)
        return r;
    s = bj_slice_trim(s);
    *to = strndup(s.p ? s.p : "", s.n);
    explicit_bzero(text, sizeof(text));
    return *to ? 0 : bj_err_set(err, -ENOMEM, "prometheus");
}

/* The URL of range queries, whether or not the base ends with a slash. */
static int make_url(struct bj_prom *p, const char *base, struct bj_err *err)
{
    struct bj_slice s = bj_slice_str(base);
    while (s.n > 0 && s.p[s.n - 1] == '/')
        s.n--;
    if (asprintf(&p->url, "%.*s/api/v1/query_range", (int)s.n, s.p) < 0) {
        p->url = NULL;
        return bj_err_set(err, -ENOMEM, "prometheus");
    }
    return 0;
}

static int fill(struct bj_prom *p, const struct bj_prom_conf *c,
                struct bj_err *err)
{
    int r = make_url(p, c->url, err);
    if (r == 0)
        r = copy(&p->user, c->user, err);
    if (r == 0)
        r = copy(&p->ca, c->ca_file, err);
    if (r == 0)
        r = copy(&p->cert, c->cert_file, err);
    if (r == 0)
        r = copy(&p->key, c->key_file, err);
    if (r == 0)
        r = read_secret(&p->password, c->password_file, err);
    if (r == 0)
        r = read_secret(&p->bearer, c->bearer_file, err);
    /* The first connection is made here, where no other thread is about to:
     * libcurl is started with it. */
    if (r == 0)
        r = bj_fetch_new(&p->idle[0], err);
    if (r == 0)
        p->idles = 1;
    return r;
}

int bj_prom_new(const struct bj_prom_conf *conf, struct bj_prom **ret,
                struct bj_err *err)
{
    *ret = NULL;
    if (!given(conf->url))
        return 0;
    struct bj_prom *p = calloc(1, sizeof(*p));
    if (!p)
        return bj_err_set(err, -ENOMEM, "prometheus");
    atomic_init(&p->refs, 1);
    pthread_mutex_init(&p->lock, NULL);
    p->timeout_usec = conf->timeout_usec;
    p->queries = (unsigned)conf->queries;
    int r = fill(p, conf, err);
    if (r < 0)
        bj_prom_unref(p);
    else
        *ret = p;
    return r;
}

struct bj_prom *bj_prom_ref(struct bj_prom *p)
{
    if (p)
        atomic_fetch_add(&p->refs, 1);
    return p;
}

static void wipe(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    free(s);
}

void bj_prom_unref(struct bj_prom *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) > 1)
        return;
    while (p->idles > 0)
        bj_fetch_free(p->idle[--p->idles]);
    pthread_mutex_destroy(&p->lock);
    free(p->url);
    free(p->user);
    free(p->ca);
    free(p->cert);
    free(p->key);
    wipe(p->password);
    wipe(p->bearer);
    free(p);
}

/* --- asking ----------------------------------------------------------------
 */

static int take(struct bj_prom *p, struct bj_fetch **ret, struct bj_err *err)
{
    int r = 0;
    *ret = NULL;
    pthread_mutex_lock(&p->lock);
    if (p->busy >= p->queries)
        r = bj_err_set(err, -EBUSY, "prometheus: %u questions at a time",
                       p->queries);
    else
        p->busy++;
    if (r == 0 && p->idles > 0)
        *ret = p->idle[--p->idles];
    pthread_mutex_unlock(&p->lock);
    if (r < 0 || *ret)
        return r;
    r = bj_fetch_new(ret, err);
    if (r < 0) {
        pthread_mutex_lock(&p->lock);
        p->busy--;
        pthread_mutex_unlock(&p->lock);
    }
    return r;
}

static void give_back(struct bj_prom *p, struct bj_fetch *f)
{
    pthread_mutex_lock(&p->lock);
    p->busy--;
    p->idle[p->idles++] = f;
    pthread_mutex_unlock(&p->lock);
}

struct answer {
    struct bj_json_stream *stream;
    int (*series)(void *ctx, const struct bj_json *v, struct bj_err *err);
    void *ctx;
};

static int on_series(void *ctx, struct bj_slice key, const struct bj_json *v,
                     struct bj_err *err)
{
    struct answer *a = ctx;
    (void)key;
    return a->series(a->ctx, v, err);
}

static int on_piece(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct answer *a = ctx;
    return bj_json_stream_feed(a->stream, piece, err);
}

/* application/x-www-form-urlencoded */
static void put_encoded(struct bj_buf *b, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
            (c >= 'a' && c <= 'z') || c == '_' || c == '-' || c == '.')
            bj_buf_put(b, &s.p[i], 1);
        else
            bj_buf_printf(b, "%%%02X", c);
    }
}

static int fetch(const struct bj_prom *p, struct bj_fetch *f,
                 struct bj_slice body, struct answer *a, struct bj_err *err)
{
    static const char *const headers[] = {
        "Content-Type: application/x-www-form-urlencoded",
        "Accept: application/json", NULL};
    struct bj_fetch_reply reply = {0};
    struct bj_fetch_request req = {
        .url = p->url,
        .headers = headers,
        .body = body,
        .user = p->user,
        .password = p->password,
        .bearer = p->bearer,
        .ca_file = p->ca,
        .cert_file = p->cert,
        .key_file = p->key,
        .no_proxy = true,
        .connect_usec = p->timeout_usec < SEC(5) ? p->timeout_usec : SEC(5),
        .total_usec = p->timeout_usec,
        .max_bytes = ANSWER_BYTES,
        .sink = on_piece,
        .ctx = a,
    };
    int r = bj_fetch(f, &req, &reply, err);
    if (r == 0)
        r = bj_json_stream_end(a->stream, err);
    bj_fetch_reply_free(&reply);
    return r;
}

int bj_prom_ask(struct bj_prom *p, struct bj_slice query,
                const struct bj_prom_range *range,
                int (*series)(void *ctx, const struct bj_json *v,
                              struct bj_err *err),
                void *ctx, struct bj_err *err)
{
    static const struct bj_json_target targets[] = {{"data.result", on_series},
                                                    {NULL, NULL}};
    struct bj_json_limits limits = {.bytes = 1 << 20, .values = 65536};
    struct answer a = {.series = series, .ctx = ctx};
    struct bj_buf body = {0};
    struct bj_fetch *f;
    int r = take(p, &f, err);
    if (r < 0)
        return r;
    bj_buf_printf(&body, "start=%lld&end=%lld&step=%lld&timeout=%llus&query=",
                  (long long)range->from, (long long)range->to,
                  (long long)range->step,
                  (unsigned long long)(p->timeout_usec / SEC(1)));
    put_encoded(&body, query);
    r = body.failed ? bj_err_set(err, -ENOMEM, "prometheus")
                    : bj_json_stream_new(targets, &a, "prometheus", &limits,
                                         &a.stream, err);
    if (r == 0)
        r = fetch(p, f, (struct bj_slice){body.p, body.len}, &a, err);
    bj_json_stream_free(a.stream);
    bj_buf_free(&body);
    give_back(p, f);
    return r;
}
