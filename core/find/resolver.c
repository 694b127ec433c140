#include "core/find/resolver.h"

#include "base/wait.h"
#include "core/find/ident_find.h"
#include "core/poller.h"

#include <stdlib.h>

enum { QUEUE_MAX = 16384, SEEN = 64, HUNG_MAX = 64 };

/* A request.  The caller and the queue hold a reference each. */
struct bj_ident_request {
    atomic_uint refs;
    atomic_bool dropped;
    _Atomic(struct bj_ident *) reply; /* set once */
    struct bj_ident_request *next;
    struct bj_ident_query q;
    char text[]; /* memory of q; directories are terminated */
};

struct bj_resolver {
    struct bj_poller poller;
    struct bj_conf conf; /* own copy of the parts for the search */
    struct bj_users *users;
    /* under lock */
    struct bj_ident_request *first, *last;
    struct bj_ident_request *now; /* the one that the thread works on */
    bool fault_new;
    struct bj_err fault;
    uint32_t seen[SEEN]; /* hashes of the last messages */
    unsigned nseen;
    struct bj_resolver_stat stat;
};

static void request_unref(struct bj_ident_request *request)
{
    if (atomic_fetch_sub(&request->refs, 1) != 1)
        return;
    bj_ident_unref(atomic_load(&request->reply));
    free(request);
}

static void conf_free(struct bj_conf *conf)
{
    free(conf->procfs);
    for (size_t i = 0; i < conf->job_files.n; i++)
        free(conf->job_files.v[i]);
    free(conf->job_files.v);
}

/* An abandoned thread may outlive the options. */
static int conf_copy(struct bj_conf *to, const struct bj_conf *from)
{
    const struct bj_strv *dirs = &from->job_files;
    *to = (struct bj_conf){.label_user = from->label_user,
                           .label_account = from->label_account};
    to->procfs = strdup(from->procfs ? from->procfs : "/proc");
    to->job_files.v = calloc(dirs->n + 1, sizeof(char *));
    if (!to->procfs || !to->job_files.v)
        return -ENOMEM;
    for (size_t i = 0; i < dirs->n; i++) {
        to->job_files.v[i] = strdup(dirs->v[i]);
        if (!to->job_files.v[i])
            return -ENOMEM;
        to->job_files.n++;
    }
    return 0;
}

static void resolver_gone(struct bj_poller *poller)
{
    struct bj_resolver *r = (struct bj_resolver *)poller;
    for (struct bj_ident_request *a = r->first, *next; a; a = next) {
        next = a->next;
        request_unref(a);
    }
    bj_users_free(r->users);
    conf_free(&r->conf);
    free(r);
}

/* The message may quote a name with any characters, but must be one line of the
 * log. */
static void one_line(struct bj_err *err)
{
    for (char *p = err->msg; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
}

/* Is the message different from the last few? */
static bool is_news(struct bj_resolver *r, const struct bj_err *err)
{
    uint32_t h = (uint32_t)-err->code;
    for (const char *p = err->msg; *p; p++)
        h = h * 31 + (unsigned char)*p;
    for (unsigned i = 0; i < SEEN && i < r->nseen; i++)
        if (r->seen[i] == h)
            return false;
    r->seen[r->nseen++ % SEEN] = h;
    return true;
}

/* Under lock. */
static void take_fault(struct bj_resolver *r, const struct bj_err *err)
{
    struct bj_err e = *err;
    one_line(&e);
    r->stat.faults++;
    if (is_news(r, &e)) {
        r->fault = e;
        r->fault_new = true;
    }
}

static void note_fault(void *ctx, const struct bj_err *err)
{
    struct bj_resolver *r = ctx;
    pthread_mutex_lock(r->poller.lock);
    take_fault(r, err);
    pthread_mutex_unlock(r->poller.lock);
}

/* Under lock: one request less to wait for. */
static void request_done(struct bj_resolver *r)
{
    r->now = NULL;
    if (--r->stat.waiting == 0)
        pthread_cond_broadcast(&r->poller.change);
}

/* A result that arrives after its request was dropped counts, too. */
static bool reply(struct bj_worker *w, struct bj_ident_request *a)
{
    struct bj_resolver *r = (struct bj_resolver *)w->poller;
    const struct bj_ident_sources src = {&r->conf, r->users, note_fault, r};
    r->first = a->next;
    if (!r->first)
        r->last = NULL;
    r->now = a;
    bj_worker_unlock(w);
    bool dropped = atomic_load(&a->dropped);
    struct bj_ident *id = dropped ? NULL : bj_ident_find(&src, &a->q);
    atomic_store(&a->reply, id);
    bool ours = bj_worker_lock(w);
    r->stat.answered += id != NULL;
    request_unref(a);
    if (ours)
        request_done(r);
    return ours;
}

static bool resolver_step(struct bj_worker *w)
{
    struct bj_resolver *r = (struct bj_resolver *)w->poller;
    if (r->first)
        return reply(w, r->first);
    r->poller.due_usec = UINT64_MAX;
    return true;
}

/* Under lock.  A hanging lookup delays only one job, not the others: up to
 * HUNG_MAX threads are left behind, one for each job that hangs. */
static void replace_stuck(struct bj_resolver *r)
{
    if (bj_poller_replace(&r->poller)) {
        const struct bj_ident_query *q = &r->now->q;
        struct bj_slice id = q->f[BJ_ID_JOBID];
        struct bj_err err = {0};
        bj_err_set(&err, -ETIMEDOUT,
                   "identity of job %s: the user database or a process of the "
                   "job does not respond",
                   id.n > 0 ? id.p : q->dirs[0].p);
        take_fault(r, &err);
        request_done(r);
    }
    if (r->first)
        bj_poller_start(&r->poller); /* if starting one failed before */
}

int bj_resolver_new_with(const struct bj_conf *conf, const struct bj_host *host,
                         const struct bj_userdb *users, uint64_t stuck_usec,
                         struct bj_resolver **ret, struct bj_err *err)
{
    static const struct bj_poller_work work = {.step = resolver_step,
                                               .gone = resolver_gone,
                                               .abandoned_max = HUNG_MAX};
    struct bj_resolver *r = calloc(1, sizeof(*r));
    if (!r ||
        bj_poller_init(&r->poller, &work, "bj-resolver", host, NULL) < 0) {
        free(r);
        return bj_err_set(err, -ENOMEM, "start the resolver");
    }
    int e = conf_copy(&r->conf, conf);
    r->users = bj_users_new(users);
    if (!r->users)
        e = -ENOMEM;
    if (stuck_usec)
        r->poller.stuck_usec = stuck_usec;
    if (e == 0)
        e = bj_poller_start(&r->poller);
    if (e < 0) {
        bj_resolver_free(r);
        return bj_err_set(err, e, "start the resolver");
    }
    *ret = r;
    return 0;
}

int bj_resolver_new(const struct bj_conf *conf, const struct bj_host *host,
                    struct bj_resolver **ret, struct bj_err *err)
{
    return bj_resolver_new_with(conf, host, &bj_userdb_system, 0, ret, err);
}

void bj_resolver_free(struct bj_resolver *r)
{
    if (r)
        bj_poller_free(&r->poller);
}

static struct bj_slice resolver_copy(char **to, struct bj_slice s)
{
    struct bj_slice own = {*to, s.n};
    if (s.n > 0)
        memcpy(*to, s.p, s.n);
    (*to)[s.n] = '\0';
    *to += s.n + 1;
    return own;
}

enum {
    NDIRS = sizeof(((struct bj_ident_query *)0)->dirs) / sizeof(struct bj_slice)
};

static struct bj_ident_request *request_new(const struct bj_ident_query *q)
{
    size_t size = 0;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        size += q->f[i].n + 1;
    for (int i = 0; i < NDIRS; i++)
        size += q->dirs[i].n + 1;
    struct bj_ident_request *a = calloc(1, sizeof(*a) + size);
    if (!a)
        return NULL;
    atomic_init(&a->refs, 2);
    char *p = a->text;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        a->q.f[i] = resolver_copy(&p, q->f[i]);
    for (int i = 0; i < NDIRS; i++)
        a->q.dirs[i] = resolver_copy(&p, q->dirs[i]);
    return a;
}

struct bj_ident_request *bj_resolver_submit(struct bj_resolver *r,
                                            const struct bj_ident_query *q)
{
    struct bj_ident_request *a = request_new(q);
    if (!a)
        return NULL;
    pthread_mutex_lock(r->poller.lock);
    replace_stuck(r);
    bool full = r->stat.waiting >= QUEUE_MAX;
    if (!full) {
        if (r->last)
            r->last->next = a;
        else
            r->first = a;
        r->last = a;
        r->stat.waiting++;
        bj_poller_wake(&r->poller);
    }
    pthread_mutex_unlock(r->poller.lock);
    if (full) {
        free(a);
        return NULL;
    }
    return a;
}

void bj_resolver_wait(struct bj_resolver *r, uint64_t deadline_usec)
{
    pthread_mutex_lock(r->poller.lock);
    while (r->stat.waiting > 0 &&
           bj_wait_until(&r->poller.change, r->poller.lock, deadline_usec))
        ;
    pthread_mutex_unlock(r->poller.lock);
}

struct bj_ident *bj_ident_request_result(struct bj_ident_request *request)
{
    struct bj_ident *id = atomic_load(&request->reply);
    return id ? bj_ident_ref(id) : NULL;
}

void bj_ident_request_drop(struct bj_ident_request *request)
{
    if (!request)
        return;
    atomic_store(&request->dropped, true);
    request_unref(request);
}

void bj_resolver_stat(struct bj_resolver *r, struct bj_resolver_stat *ret)
{
    pthread_mutex_lock(r->poller.lock);
    replace_stuck(r);
    *ret = r->stat;
    pthread_mutex_unlock(r->poller.lock);
}

bool bj_resolver_fault(struct bj_resolver *r, struct bj_err *ret)
{
    pthread_mutex_lock(r->poller.lock);
    bool is_new = r->fault_new;
    if (is_new)
        *ret = r->fault;
    r->fault_new = false;
    pthread_mutex_unlock(r->poller.lock);
    return is_new;
}
