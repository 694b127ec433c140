#include "core/cluster/cluster.h"

#include "base/clock.h"
#include "core/cluster/query.h"
#include "core/poller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000000, STALE_PERIODS = 3 };

/* Kinds of errors. */
enum { MISSING, TIMEOUT, FAILED, OUTPUT, SYSTEM, KINDS };
static const char *const kinds[KINDS] = {
    [MISSING] = "missing", [TIMEOUT] = "timeout", [FAILED] = "exit",
    [OUTPUT] = "output",   [SYSTEM] = "system",
};

struct source {
    bool wanted, ran, failing;
    uint64_t period_usec, due_usec, good_usec, duration_usec;
    uint64_t runs, bad_lines, refused, errors[KINDS];
    struct bj_cluster_part *part; /* newest, or NULL */
};

struct bj_cluster {
    struct bj_poller poller;
    const struct bj_scheduler_conf *conf;
    unsigned by;
    struct bj_cluster_client *client;                     /* the thread's */
    char complaint[sizeof(((struct bj_err *)NULL)->msg)]; /* the thread's, of
                                                             the constants */
    struct source source[BJ_CLUSTER_SOURCES];             /* under lock */
};

/* --- the thread ---------------------------------------------------------- */

static int cluster_kind_of(int code)
{
    switch (code) {
    case -ENOENT:
    case -EACCES:
    case -ENOEXEC:
    case -ECONNREFUSED:
    case -EHOSTUNREACH:
    case -ENOTSUP:
        return MISSING;
    case -ETIMEDOUT:
        return TIMEOUT;
    case -EREMOTEIO:
        return FAILED;
    case -EBADMSG:
    case -EPROTO:
    case -EFBIG:
        return OUTPUT;
    default:
        return SYSTEM;
    }
}

static void cluster_log_change(struct bj_cluster *c, enum bj_cluster_source id,
                               const struct bj_err *err)
{
    bj_host_log(&c->poller.host, err ? BJ_LOG_WARN : BJ_LOG_INFO, err,
                err ? "cluster, %s" : "cluster, %s: works again",
                bj_cluster_readers[id].name);
}

/* Until the name is known, the sources of the name and those that need it are
 * queried at cluster.interval. */
static uint64_t period(const struct bj_cluster *c, enum bj_cluster_source id,
                       int code)
{
    return code == -EAGAIN || (code < 0 && id == BJ_CLUSTER_CONFIG)
               ? c->conf->period_usec
               : c->source[id].period_usec;
}

/* Before a page, if these come at the source's interval or more rarely.  All
 * sources may be due then, one after the other. */
static void align(const struct bj_cluster *c, struct source *s, uint64_t now)
{
    uint64_t took = 0;
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++)
        if (c->source[i].wanted)
            took += c->source[i].duration_usec;
    s->due_usec =
        bj_poller_aligned(&c->poller, now, s->due_usec, s->period_usec, took);
}

/* Record the result; takes the work's part on success. */
static void cluster_note(struct bj_cluster *c, enum bj_cluster_source id,
                         struct bj_cluster_work *w, uint64_t begun, int code)
{
    struct source *s = &c->source[id];
    const uint64_t now = bj_clock_boot_usec();
    s->ran = true;
    s->runs++;
    s->duration_usec = now - begun;
    s->failing = code < 0;
    /* A slow scheduler is queried less often. */
    s->due_usec = begun + period(c, id, code);
    if (code == 0)
        align(c, s, now);
    if (s->due_usec < now + s->duration_usec)
        s->due_usec = now + s->duration_usec;
    s->bad_lines += w->bad;
    if (code < 0) {
        s->errors[cluster_kind_of(code)]++;
        return;
    }
    s->refused = 0;
    for (unsigned k = 0; k < BJ_CL_LISTS; k++)
        s->refused += w->group[k].refused;
    bj_cluster_part_unref(s->part);
    s->part = w->part;
    w->part = NULL;
    s->good_usec = now;
}

static bool fresh(const struct source *s, uint64_t now_usec)
{
    const uint64_t round = 2 * s->duration_usec; /* with its rest */
    const uint64_t period = s->period_usec > round ? s->period_usec : round;
    return s->part && now_usec - s->good_usec <= STALE_PERIODS * period;
}

/* The part with the cluster's name; NULL: none yet. */
static const struct bj_cluster_part *named_part(const struct bj_cluster *c)
{
    static const enum bj_cluster_source by[] = {BJ_CLUSTER_CONFIG,
                                                BJ_CLUSTER_QUEUE};
    for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
        const struct bj_cluster_part *p = c->source[by[i]].part;
        if (p && p->cluster.n > 0)
            return p;
    }
    return NULL;
}

/* Log an error in a file when it differs from the last one. */
static bool new_error(struct bj_cluster *c, enum bj_cluster_source id,
                      const struct bj_cluster_work *w, int code)
{
    if (id != BJ_CLUSTER_CONSTANTS || code < 0 ||
        strcmp(c->complaint, w->complaint.msg) == 0)
        return false;
    snprintf(c->complaint, sizeof(c->complaint), "%s", w->complaint.msg);
    return c->complaint[0];
}

/* With the lock. Only this thread replaces parts: they stay during the query.
 */
static bool run_source(struct bj_worker *worker, enum bj_cluster_source id)
{
    struct bj_cluster *c = (struct bj_cluster *)worker->poller;
    struct source *s = &c->source[id];
    const struct source *resv = &c->source[BJ_CLUSTER_RESERVATIONS];
    const struct bj_cluster_part *list_has = named_part(c);
    const uint64_t begun = bj_clock_boot_usec();
    struct bj_cluster_work w = {.conf = c->conf,
                                .by = c->by,
                                .wall_sec = bj_clock_wall_usec() / SECOND,
                                .reservations =
                                    fresh(resv, begun) ? resv->part : NULL,
                                .previous = s->part};
    struct bj_err err = {0};
    if (list_has)
        w.name = list_has->cluster;
    bj_worker_unlock(worker);
    int code = bj_cluster_query(c->client, id, &w, &c->poller.stop, &err);
    bj_worker_lock(worker);
    const bool turned = s->failing != (code < 0);
    if (code != -ECANCELED)
        cluster_note(c, id, &w, begun, code);
    bj_worker_unlock(worker);
    if (code != -ECANCELED && turned)
        cluster_log_change(c, id, code < 0 ? &err : NULL);
    if (new_error(c, id, &w, code))
        cluster_log_change(c, id, &w.complaint);
    bj_cluster_work_free(&w);
    return bj_worker_lock(worker);
}

/* The source that is due first. If commands take longer than their period, all
 * get their turn. */
static enum bj_cluster_source next_source(const struct bj_cluster *c)
{
    enum bj_cluster_source best = c->source[BJ_CLUSTER_CONFIG].wanted
                                      ? BJ_CLUSTER_CONFIG
                                      : BJ_CLUSTER_QUEUE;
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++)
        if (c->source[i].wanted &&
            c->source[i].due_usec < c->source[best].due_usec)
            best = (enum bj_cluster_source)i;
    return best;
}

static bool cluster_step(struct bj_worker *w)
{
    struct bj_cluster *c = (struct bj_cluster *)w->poller;
    bool ours = run_source(w, next_source(c));
    c->poller.due_usec = c->source[next_source(c)].due_usec;
    return ours;
}

void bj_cluster_page(struct bj_cluster *c, uint64_t now_usec, uint64_t gap_usec)
{
    pthread_mutex_lock(c->poller.lock);
    c->poller.page_usec = now_usec;
    c->poller.gap_usec = gap_usec;
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++) {
        struct source *s = &c->source[i];
        if (s->wanted && s->ran && !s->failing)
            align(c, s, now_usec);
    }
    const uint64_t due = c->source[next_source(c)].due_usec;
    if (c->poller.busy_usec == 0 && due < c->poller.due_usec) {
        c->poller.due_usec = due;
        pthread_cond_broadcast(&c->poller.change);
    }
    pthread_mutex_unlock(c->poller.lock);
}

static void cluster_gone(struct bj_poller *poller)
{
    struct bj_cluster *c = (struct bj_cluster *)poller;
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++)
        bj_cluster_part_unref(c->source[i].part);
    bj_cluster_client_free(c->client);
    free(c);
}

/* --- start and end ----------------------------------------------------- */

static bool list_has(const struct bj_strv *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i], name) == 0)
            return true;
    return false;
}

static void find_wanted(struct bj_cluster *c)
{
    static const struct {
        const char *name;
        unsigned by;
    } by[] = {
        {"partition", BJ_BY_PARTITION},
        {"user", BJ_BY_USER},
        {"account", BJ_BY_ACCOUNT},
        {"qos", BJ_BY_QOS},
        {"host", BJ_BY_HOST},
        {"reason", BJ_BY_REASON},
        {"reservation", BJ_BY_RESERVATION},
        {"node", BJ_BY_NODE},
        {"feature", BJ_BY_FEATURE},
    };
    for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++)
        if (list_has(&c->conf->by, by[i].name))
            c->by |= by[i].by;
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++) {
        const struct bj_cluster_reader *r = &bj_cluster_readers[i];
        struct source *s = &c->source[i];
        s->wanted = i == BJ_CLUSTER_CONFIG || i == BJ_CLUSTER_QUEUE ||
                    i == BJ_CLUSTER_NODES || list_has(&c->conf->extra, r->name);
        /* PBS has no other sources, and no name of a cluster. */
        if (c->conf->via && *c->conf->via == 'p')
            s->wanted = i == BJ_CLUSTER_QUEUE || i == BJ_CLUSTER_NODES ||
                        i == BJ_CLUSTER_PARTITIONS;
        if (i == BJ_CLUSTER_CONSTANTS)
            s->wanted = c->conf->constants && *c->conf->constants;
        s->period_usec = r->slow ? c->conf->slow_usec : c->conf->period_usec;
    }
}

int bj_cluster_new(const struct bj_scheduler_conf *conf,
                   const struct bj_host *host, struct bj_cluster **ret,
                   struct bj_err *err)
{
    /* Queries use the options: the thread is never abandoned. */
    static const struct bj_poller_work work = {
        .step = cluster_step, .gone = cluster_gone, .stop_usec = UINT64_MAX};
    struct bj_cluster *c = calloc(1, sizeof(*c));
    if (!c || bj_poller_init(&c->poller, &work, "bj-cluster", host, NULL) < 0) {
        free(c);
        return bj_err_set(err, -ENOMEM, "cluster");
    }
    c->conf = conf;
    bj_poller_wake(&c->poller);
    find_wanted(c);
    int r = bj_cluster_client_new(conf, &c->client, err);
    if (r == 0) {
        r = bj_poller_start(&c->poller);
        if (r < 0)
            bj_err_set(err, r, "cluster: cannot start the thread");
    }
    if (r < 0) {
        bj_cluster_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

void bj_cluster_free(struct bj_cluster *c)
{
    if (c)
        bj_poller_free(&c->poller);
}

/* --- publishing -------------------------------------------------------------
 */

static void publish_parts(struct bj_cluster *c, uint64_t now_usec,
                          struct bj_cluster_lists *ret)
{
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++) {
        const struct source *s = &c->source[i];
        if (!fresh(s, now_usec))
            continue;
        ret->part[i] = bj_cluster_part_ref(s->part);
        for (unsigned k = 0; k < BJ_CL_LISTS; k++)
            if (s->part->list[k].n > 0)
                ret->list[k] = s->part->list[k];
    }
}

static void publish_errors(const struct bj_cluster *c, struct bj_snap *snap)
{
    struct bj_count_stat *v =
        bj_arena_alloc(&snap->arena, sizeof(*v) * BJ_CLUSTER_SOURCES * KINDS);
    size_t n = 0;
    for (unsigned i = 0; v && i < BJ_CLUSTER_SOURCES; i++)
        for (int k = 0; c->source[i].ran && k < KINDS; k++) {
            v[n].sub.key[0] = bj_slice_str(bj_cluster_readers[i].name);
            v[n].sub.key[1] = bj_slice_str(kinds[k]);
            v[n++].count = c->source[i].errors[k];
        }
    snap->cluster_lists.list[BJ_CL_SOURCE_ERRORS] = (struct bj_list){v, n};
}

static void publish_sources(const struct bj_cluster *c, uint64_t now_usec,
                            struct bj_snap *snap)
{
    struct bj_source_stat *v =
        bj_arena_alloc(&snap->arena, sizeof(*v) * BJ_CLUSTER_SOURCES);
    size_t n = 0;
    for (unsigned i = 0; v && i < BJ_CLUSTER_SOURCES; i++) {
        const struct source *s = &c->source[i];
        if (!s->ran)
            continue;
        v[n].sub.key[0] = bj_slice_str(bj_cluster_readers[i].name);
        v[n].success = !s->failing;
        v[n].age_usec = s->good_usec ? now_usec - s->good_usec : BJ_ABSENT;
        v[n].duration_usec = s->duration_usec;
        v[n].runs = s->runs;
        v[n].bad_lines = s->bad_lines;
        v[n++].refused = s->refused;
    }
    snap->cluster_lists.list[BJ_CL_SOURCES] = (struct bj_list){v, n};
}

void bj_cluster_publish(struct bj_cluster *c, uint64_t now_usec,
                        struct bj_snap *snap)
{
    pthread_mutex_lock(c->poller.lock);
    /* A command may have ended since the pass began. */
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++)
        if (c->source[i].good_usec > now_usec)
            now_usec = c->source[i].good_usec;
    publish_parts(c, now_usec, &snap->cluster_lists);
    publish_sources(c, now_usec, snap);
    publish_errors(c, snap);
    pthread_mutex_unlock(c->poller.lock);
}

void bj_cluster_release(struct bj_snap *snap)
{
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++)
        bj_cluster_part_unref(snap->cluster_lists.part[i]);
    snap->cluster_lists = (struct bj_cluster_lists){0};
}

struct bj_slice bj_cluster_name(struct bj_cluster *c, struct bj_arena *arena)
{
    struct bj_slice name = {"", 0};
    pthread_mutex_lock(c->poller.lock);
    const struct bj_cluster_part *p = named_part(c);
    if (p)
        name = bj_arena_copy(arena, p->cluster);
    pthread_mutex_unlock(c->poller.lock);
    return name;
}
