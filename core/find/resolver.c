#include "core/find/resolver.h"

#include "base/clock.h"
#include "base/wait.h"
#include "core/find/ident_find.h"

#include <stdlib.h>

enum { QUEUE_MAX = 16384, STOP_SEC = 2, SEEN = 64 };

/* A question.  The asker and the queue hold a reference each. */
struct bj_ident_ask {
    atomic_uint refs;
    atomic_bool dropped;
    _Atomic(struct bj_ident *) answer; /* set once */
    struct bj_ident_ask *next;
    struct bj_ident_query q;
    char text[]; /* what q points to; directories are terminated */
};

/* The caller and the thread hold a reference each, so that a thread that comes
 * back after it was given up finds everything in its place. */
struct bj_resolver {
    atomic_uint refs;
    pthread_t thread;
    struct bj_conf conf; /* own copy of what the search needs */
    struct bj_users *users;
    pthread_mutex_t lock;
    pthread_cond_t asked, done; /* done: answered, or the thread ended */
    /* under lock */
    struct bj_ident_ask *first, *last;
    bool stop, ended, fault_new;
    struct bj_err fault;
    uint32_t seen[SEEN]; /* hashes of the last messages */
    unsigned nseen;
    struct bj_resolver_stat stat;
};

static void ask_unref(struct bj_ident_ask *ask)
{
    if (atomic_fetch_sub(&ask->refs, 1) != 1)
        return;
    bj_ident_unref(atomic_load(&ask->answer));
    free(ask);
}

static void queue_clear(struct bj_resolver *r)
{
    for (struct bj_ident_ask *a = r->first, *next; a; a = next) {
        next = a->next;
        ask_unref(a);
    }
    r->first = r->last = NULL;
}

static void conf_free(struct bj_conf *conf)
{
    free(conf->procfs);
    for (size_t i = 0; i < conf->job_files.n; i++)
        free(conf->job_files.v[i]);
    free(conf->job_files.v);
}

/* A thread that was left behind may outlive the options. */
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

static void resolver_unref(struct bj_resolver *r)
{
    if (atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    queue_clear(r);
    pthread_cond_destroy(&r->asked);
    bj_wait_destroy(&r->lock, &r->done);
    bj_users_free(r->users);
    conf_free(&r->conf);
    free(r);
}

/* The message may quote what anybody has written into a name, and goes to a
 * log that takes one line at a time. */
static void one_line(struct bj_err *err)
{
    for (char *p = err->msg; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
}

/* Is the message another one than the last few were? */
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

static void note_fault(void *ctx, const struct bj_err *err)
{
    struct bj_resolver *r = ctx;
    struct bj_err e = *err;
    one_line(&e);
    pthread_mutex_lock(&r->lock);
    r->stat.faults++;
    if (is_news(r, &e)) {
        r->fault = e;
        r->fault_new = true;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Take the next question off the queue; NULL when it is time to stop. */
static struct bj_ident_ask *next_ask(struct bj_resolver *r)
{
    pthread_mutex_lock(&r->lock);
    while (!r->first && !r->stop)
        pthread_cond_wait(&r->asked, &r->lock);
    struct bj_ident_ask *a = r->stop ? NULL : r->first;
    if (a) {
        r->first = a->next;
        if (!r->first)
            r->last = NULL;
    }
    pthread_mutex_unlock(&r->lock);
    return a;
}

static void answer(struct bj_resolver *r, struct bj_ident_ask *a)
{
    const struct bj_ident_sources src = {&r->conf, r->users, note_fault, r};
    bool dropped = atomic_load(&a->dropped);
    struct bj_ident *id = dropped ? NULL : bj_ident_find(&src, &a->q);
    atomic_store(&a->answer, id);
    ask_unref(a);
    pthread_mutex_lock(&r->lock);
    r->stat.answered += id != NULL;
    if (--r->stat.waiting == 0)
        pthread_cond_broadcast(&r->done);
    pthread_mutex_unlock(&r->lock);
}

static void *run(void *arg)
{
    struct bj_resolver *r = arg;
    struct bj_ident_ask *a;
    while ((a = next_ask(r)))
        answer(r, a);
    pthread_mutex_lock(&r->lock);
    r->ended = true;
    pthread_cond_broadcast(&r->done);
    pthread_mutex_unlock(&r->lock);
    resolver_unref(r);
    return NULL;
}

static int init_sync(struct bj_resolver *r)
{
    if (bj_wait_init(&r->lock, &r->done) < 0)
        return -ENOMEM;
    if (pthread_cond_init(&r->asked, NULL) == 0)
        return 0;
    bj_wait_destroy(&r->lock, &r->done);
    return -ENOMEM;
}

int bj_resolver_new_with(const struct bj_conf *conf, const struct bj_host *host,
                         const struct bj_userdb *users,
                         struct bj_resolver **ret, struct bj_err *err)
{
    struct bj_resolver *r = calloc(1, sizeof(*r));
    if (!r || init_sync(r) < 0) {
        free(r);
        return bj_err_set(err, -ENOMEM, "start the resolver");
    }
    atomic_init(&r->refs, 1);
    int e = conf_copy(&r->conf, conf);
    r->users = bj_users_new(users);
    if (!r->users)
        e = -ENOMEM;
    if (e == 0) {
        atomic_fetch_add(&r->refs, 1); /* the thread's */
        e = host->thread(host->ctx, &r->thread, run, r, "bj-resolver");
        if (e < 0)
            atomic_fetch_sub(&r->refs, 1);
    }
    if (e < 0) {
        resolver_unref(r);
        return bj_err_set(err, e, "start the resolver");
    }
    *ret = r;
    return 0;
}

int bj_resolver_new(const struct bj_conf *conf, const struct bj_host *host,
                    struct bj_resolver **ret, struct bj_err *err)
{
    return bj_resolver_new_with(conf, host, &bj_userdb_system, ret, err);
}

void bj_resolver_free(struct bj_resolver *r)
{
    if (!r)
        return;
    uint64_t end = bj_clock_boot_usec() + STOP_SEC * 1000000;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->asked);
    while (!r->ended && bj_wait_until(&r->done, &r->lock, end))
        ;
    bool ended = r->ended;
    queue_clear(r);
    pthread_mutex_unlock(&r->lock);
    if (ended)
        pthread_join(r->thread, NULL);
    else
        pthread_detach(r->thread);
    resolver_unref(r);
}

static struct bj_slice copy(char **to, struct bj_slice s)
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

static struct bj_ident_ask *ask_new(const struct bj_ident_query *q)
{
    size_t size = 0;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        size += q->f[i].n + 1;
    for (int i = 0; i < NDIRS; i++)
        size += q->dirs[i].n + 1;
    struct bj_ident_ask *a = calloc(1, sizeof(*a) + size);
    if (!a)
        return NULL;
    atomic_init(&a->refs, 2);
    char *p = a->text;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        a->q.f[i] = copy(&p, q->f[i]);
    for (int i = 0; i < NDIRS; i++)
        a->q.dirs[i] = copy(&p, q->dirs[i]);
    return a;
}

struct bj_ident_ask *bj_resolver_ask(struct bj_resolver *r,
                                     const struct bj_ident_query *q)
{
    struct bj_ident_ask *a = ask_new(q);
    if (!a)
        return NULL;
    pthread_mutex_lock(&r->lock);
    bool full = r->stat.waiting >= QUEUE_MAX;
    if (!full) {
        if (r->last)
            r->last->next = a;
        else
            r->first = a;
        r->last = a;
        r->stat.waiting++;
        pthread_cond_signal(&r->asked);
    }
    pthread_mutex_unlock(&r->lock);
    if (full) {
        free(a);
        return NULL;
    }
    return a;
}

void bj_resolver_wait(struct bj_resolver *r, uint64_t deadline_usec)
{
    pthread_mutex_lock(&r->lock);
    while (r->stat.waiting > 0 &&
           bj_wait_until(&r->done, &r->lock, deadline_usec))
        ;
    pthread_mutex_unlock(&r->lock);
}

struct bj_ident *bj_ident_ask_answer(struct bj_ident_ask *ask)
{
    struct bj_ident *id = atomic_load(&ask->answer);
    return id ? bj_ident_ref(id) : NULL;
}

void bj_ident_ask_drop(struct bj_ident_ask *ask)
{
    if (!ask)
        return;
    atomic_store(&ask->dropped, true);
    ask_unref(ask);
}

void bj_resolver_stat(struct bj_resolver *r, struct bj_resolver_stat *ret)
{
    pthread_mutex_lock(&r->lock);
    *ret = r->stat;
    pthread_mutex_unlock(&r->lock);
}

bool bj_resolver_fault(struct bj_resolver *r, struct bj_err *ret)
{
    pthread_mutex_lock(&r->lock);
    bool is_new = r->fault_new;
    if (is_new)
        *ret = r->fault;
    r->fault_new = false;
    pthread_mutex_unlock(&r->lock);
    return is_new;
}
