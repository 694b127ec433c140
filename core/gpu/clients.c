#include "core/gpu/clients.h"

#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 bj_u128;

/* KEEP: number of readings for which a missing file is remembered, so that it
 * is not counted twice if it appears again. */
enum { BUCKETS = 1024, CLIENTS_MAX = 16384, KEEP = 64 };

/* Time of a job on an engine class of a device. */
struct sum {
    struct sum *next;
    char pdev[BJ_FDINFO_TEXT], engine[BJ_FDINFO_TEXT];
    uint64_t busy_ns, capacity;
};

struct job {
    struct job *next;
    uint64_t number, reading;
    struct sum *sums;
};

/* The duration of a cycle of an engine class: possible cycles, compared with
 * our clock. */
struct rate {
    struct rate *next;
    char pdev[BJ_FDINFO_TEXT], engine[BJ_FDINFO_TEXT];
    uint64_t first_total, first_usec, total, usec, reading;
};

/* An open file, and the amounts counted so far for its engines. */
struct client {
    struct client *next;
    char pdev[BJ_FDINFO_TEXT], id[BJ_FDINFO_TEXT];
    uint64_t reading;
    unsigned n;
    struct {
        char name[BJ_FDINFO_TEXT];
        uint64_t counted; /* nanoseconds or cycles */
        bool cycles;
    } engine[BJ_FDINFO_ENGINES];
};

struct bj_gpu_clients {
    uint64_t reading, now_usec;
    size_t n;
    struct client *bucket[BUCKETS];
    struct job *jobs;
    struct rate *rates;
};

int bj_gpu_clients_new(struct bj_gpu_clients **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

/* --- jobs and their counters ----------------------------------------------*/

static void free_job(struct job *j)
{
    while (j->sums) {
        struct sum *s = j->sums;
        j->sums = s->next;
        free(s);
    }
    free(j);
}

static struct job *job_of(const struct bj_gpu_clients *c, uint64_t number)
{
    struct job *j = c->jobs;
    while (j && j->number != number)
        j = j->next;
    return j;
}

bool bj_gpu_clients_job(struct bj_gpu_clients *c, uint64_t number)
{
    struct job *j = job_of(c, number);
    if (!j) {
        j = calloc(1, sizeof(*j));
        if (!j)
            return false;
        j->number = number;
        j->next = c->jobs;
        c->jobs = j;
    }
    j->reading = c->reading;
    return true;
}

static struct sum *clients_sum_of(struct job *j, const char *pdev,
                                  const char *engine)
{
    struct sum *s = j->sums;
    while (s && (strcmp(s->engine, engine) != 0 || strcmp(s->pdev, pdev) != 0))
        s = s->next;
    if (s)
        return s;
    s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    memcpy(s->pdev, pdev, strlen(pdev) + 1);
    memcpy(s->engine, engine, strlen(engine) + 1);
    s->next = j->sums;
    return j->sums = s;
}

/* --- cycles ---------------------------------------------------------------*/

static struct rate *rate_of(struct bj_gpu_clients *c, const char *pdev,
                            const char *engine)
{
    struct rate *r = c->rates;
    while (r && (strcmp(r->engine, engine) != 0 || strcmp(r->pdev, pdev) != 0))
        r = r->next;
    if (r)
        return r;
    r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    memcpy(r->pdev, pdev, strlen(pdev) + 1);
    memcpy(r->engine, engine, strlen(engine) + 1);
    r->next = c->rates;
    return c->rates = r;
}

/* Update the clock from the first file of a reading. If its cycles fell, the
 * clock was restarted. */
static void learn(const struct bj_gpu_clients *c, struct rate *r,
                  uint64_t total)
{
    if (r->reading == c->reading)
        return;
    if (r->reading == 0 || total < r->total) {
        r->first_total = total;
        r->first_usec = c->now_usec;
    }
    r->total = total;
    r->usec = c->now_usec;
    r->reading = c->reading;
}

/* Convert cycles to nanoseconds; BJ_ABSENT: not known yet. */
static uint64_t cycles_ns(const struct rate *r, uint64_t cycles)
{
    uint64_t of = r->total - r->first_total, usec = r->usec - r->first_usec;
    if (of == 0 || usec == 0)
        return BJ_ABSENT;
    bj_u128 ns = (bj_u128)usec * 1000;
    /* At most a century, so that nothing overflows. */
    if (ns >> 62 || (bj_u128)cycles * ns / of >> 62)
        return BJ_ABSENT;
    return (uint64_t)((bj_u128)cycles * ns / of);
}

/* --- open files -----------------------------------------------------------*/

static struct client **slot_of(struct bj_gpu_clients *c,
                               const struct bj_fdinfo *f)
{
    uint64_t hash = bj_hash(bj_hash(BJ_HASH, bj_slice_str(f->pdev)),
                            bj_slice_str(f->client));
    struct client **at = &c->bucket[hash % BUCKETS];
    while (*at && (strcmp((*at)->id, f->client) != 0 ||
                   strcmp((*at)->pdev, f->pdev) != 0))
        at = &(*at)->next;
    return at;
}

static int client_of(struct bj_gpu_clients *c, const struct bj_fdinfo *f,
                     struct client **ret)
{
    struct client **at = slot_of(c, f);
    if (!*at) {
        if (c->n == CLIENTS_MAX)
            return -E2BIG;
        *at = calloc(1, sizeof(**at));
        if (!*at)
            return -ENOMEM;
        memcpy((*at)->pdev, f->pdev, sizeof(f->pdev));
        memcpy((*at)->id, f->client, sizeof(f->client));
        c->n++;
    }
    *ret = *at;
    return 0;
}

/* The amount counted for an engine; NULL: no room. */
static uint64_t *counted_of(struct client *k, const char *name, bool cycles)
{
    for (unsigned i = 0; i < k->n; i++)
        if (k->engine[i].cycles == cycles &&
            strcmp(k->engine[i].name, name) == 0)
            return &k->engine[i].counted;
    if (k->n == BJ_FDINFO_ENGINES)
        return NULL;
    memcpy(k->engine[k->n].name, name, strlen(name) + 1);
    k->engine[k->n].cycles = cycles;
    return &k->engine[k->n++].counted;
}

/* Count the growth of an engine's value. A value that falls temporarily is
 * ignored until it exceeds the counted amount. False: the time is not known
 * yet. */
static bool clients_count(struct bj_gpu_clients *c, struct job *j,
                          struct client *k, const struct bj_fdinfo_engine *e)
{
    bool cycles = e->busy_ns == BJ_ABSENT;
    uint64_t now = cycles ? e->cycles : e->busy_ns, ns;
    if (now == BJ_ABSENT || (cycles && e->total_cycles == BJ_ABSENT))
        return true;
    struct rate *r = cycles ? rate_of(c, k->pdev, e->name) : NULL;
    uint64_t *before = counted_of(k, e->name, cycles);
    struct sum *s = clients_sum_of(j, k->pdev, e->name);
    if (!before || !s || (cycles && !r))
        return false;
    s->capacity = e->capacity;
    if (r)
        learn(c, r, e->total_cycles);
    if (now <= *before)
        return true;
    ns = r ? cycles_ns(r, now - *before) : now - *before;
    if (ns == BJ_ABSENT || ns >= BJ_ABSENT - 1 - s->busy_ns)
        return false;
    s->busy_ns += ns;
    *before = now;
    return true;
}

int bj_gpu_clients_take(struct bj_gpu_clients *c, uint64_t number,
                        const struct bj_fdinfo *f, bool counted)
{
    struct job *j = job_of(c, number);
    struct client *k;
    if (!j || f->client[0] == '\0')
        return -EINVAL;
    int r = client_of(c, f, &k);
    if (r < 0 || k->reading == c->reading)
        return r;
    k->reading = c->reading;
    bool known = true;
    for (unsigned i = 0; counted && i < f->n; i++)
        known &= clients_count(c, j, k, &f->engine[i]);
    return known ? 1 : 2;
}

/* --- a reading ------------------------------------------------------------*/

void bj_gpu_clients_begin(struct bj_gpu_clients *c, uint64_t now_usec)
{
    c->reading++;
    c->now_usec = now_usec;
}

static void drop_clients(struct bj_gpu_clients *c, bool all)
{
    uint64_t keep = all ? 0 : c->n > CLIENTS_MAX / 2 ? 1 : KEEP;
    for (size_t i = 0; i < BUCKETS && c->n > 0; i++)
        for (struct client **at = &c->bucket[i]; *at;) {
            struct client *k = *at;
            if (c->reading - k->reading < keep) {
                at = &k->next;
                continue;
            }
            *at = k->next;
            free(k);
            c->n--;
        }
}

static void drop_jobs(struct bj_gpu_clients *c, bool all)
{
    for (struct job **at = &c->jobs; *at;) {
        struct job *j = *at;
        if (!all && j->reading == c->reading) {
            at = &j->next;
            continue;
        }
        *at = j->next;
        free_job(j);
    }
}

void bj_gpu_clients_end(struct bj_gpu_clients *c)
{
    drop_clients(c, false);
    drop_jobs(c, false);
}

void bj_gpu_clients_free(struct bj_gpu_clients *c)
{
    if (!c)
        return;
    drop_clients(c, true);
    drop_jobs(c, true);
    while (c->rates) {
        struct rate *r = c->rates;
        c->rates = r->next;
        free(r);
    }
    free(c);
}

void bj_gpu_clients_publish(const struct bj_gpu_clients *c,
                            struct bj_gpu_set *out)
{
    for (const struct job *j = c->jobs; j; j = j->next)
        for (const struct sum *s = j->sums; s; s = s->next) {
            struct bj_gpu *g = bj_gpu_get(out, s->pdev);
            if (!g || out->ntimes == BJ_GPU_TIMES_MAX)
                return;
            struct bj_gpu_time *t = &out->time[out->ntimes++];
            *t = (struct bj_gpu_time){.gpu = (uint32_t)(g - out->v),
                                      .job = j->number,
                                      .busy_usec = s->busy_ns / 1000,
                                      .capacity = s->capacity};
            memcpy(t->engine, s->engine, sizeof(t->engine));
        }
}
