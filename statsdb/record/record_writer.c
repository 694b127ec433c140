#include "statsdb/record/record_writer.h"

#include "base/clock.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/wait.h"

#include <stdlib.h>

enum {
    /* records of a transaction; the last request may exceed it */
    GROUP_RECORDS = 4000,
    BUFFER_KEEP = 256 * 1024
};

struct bj_record_writer {
    const struct bj_statsdb_conf *conf;
    struct bj_store *store; /* its own connection */
    struct bj_records *records;
    struct bj_gunzip *gunzip;
    struct bj_buf text;
    void (*wake)(void *ctx);
    void *ctx;
    pthread_t thread;
    bool runs, failing;
    pthread_mutex_t lock;
    pthread_cond_t change;
    /* under lock */
    struct bj_record_post *first, **last; /* posts to store */
    struct bj_record_post *answered;
    bool stop;
    struct bj_record_counts counts; /* atomic */
};

static void writer_count(uint64_t *n, uint64_t more)
{
    __atomic_store_n(n, *n + more, __ATOMIC_RELAXED);
}

void bj_record_fail(struct bj_http_reply *r, unsigned status, const char *text)
{
    struct bj_json_out o = {.to = &r->body};
    r->status = status;
    r->type = "application/json";
    bj_buf_reset(&r->body);
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "error", bj_slice_str(text));
    bj_json_put_end(&o);
    bj_json_out_end(&o);
}

static void retry_after(struct bj_http_reply *r, const char *seconds)
{
    r->header[0].name = "Retry-After";
    r->header[0].value = seconds;
}

/* --- the transaction ------------------------------------------------------*/

static struct bj_slice cluster_name(const void *ctx, size_t i)
{
    const struct bj_statsdb_conf *conf = ctx;
    return bj_slice_str(conf->cluster[i].name);
}

/* Return the records of a post as text; false: the post is answered already. */
static bool unpack(struct bj_record_writer *w, struct bj_record_post *p,
                   struct bj_slice *ret)
{
    *ret = p->body;
    if (!p->packed)
        return true;
    bj_buf_reset(&w->text);
    int r = bj_gunzip(&w->gunzip, p->body, BJ_RECORD_BODY_BYTES, &w->text);
    *ret = (struct bj_slice){w->text.p, w->text.len};
    if (r == -EFBIG)
        bj_record_fail(&p->reply, 413, "The body is too long, decompressed.");
    else if (r == -EINVAL)
        bj_record_fail(&p->reply, 400, "The body is not gzip.");
    else if (r < 0)
        bj_record_fail(&p->reply, 503, "Not enough memory.");
    return r == 0;
}

static int store_one(struct bj_record_writer *w, struct bj_record_post *p,
                     struct bj_record_verdict *sum, struct bj_err *err)
{
    const struct bj_record_clusters known = {w->conf->clusters, cluster_name,
                                             w->conf};
    struct bj_record_verdict v;
    struct bj_slice text;
    if (!unpack(w, p, &text))
        return 0;
    p->reply.status = 200;
    p->reply.type = "application/json";
    int r = bj_record_body(w->records, &known, &p->client, text, &v,
                           &p->reply.body, err);
    if (r == -E2BIG) {
        bj_record_fail(&p->reply, 413, err->msg);
        return 0;
    }
    sum->stored += v.stored;
    sum->malformed += v.malformed;
    sum->denied += v.denied;
    return r;
}

/* Store posts until there are enough; *rest: the remaining posts. */
static int store_group(struct bj_record_writer *w, struct bj_record_post *first,
                       struct bj_record_post **rest,
                       struct bj_record_verdict *sum, struct bj_err *err)
{
    *sum = (struct bj_record_verdict){0};
    *rest = first;
    int r = bj_records_begin(w->records, err);
    while (r == 0 && *rest && sum->stored < GROUP_RECORDS) {
        r = store_one(w, *rest, sum, err);
        *rest = (*rest)->next;
    }
    if (r == 0)
        r = bj_records_commit(w->records, err);
    if (r < 0)
        bj_records_rollback(w->records);
    if (w->text.cap > BUFFER_KEEP)
        bj_buf_free(&w->text);
    return r;
}

/* The store has failed: the clients keep their records and send them again. */
static void fail_group(struct bj_record_writer *w, struct bj_record_post *first,
                       const struct bj_record_post *end,
                       const struct bj_err *err)
{
    if (!w->failing)
        bj_log(BJ_LOG_ERROR, err, "received records cannot be stored");
    w->failing = true;
    writer_count(&w->counts.failures, 1);
    for (struct bj_record_post *p = first; p && p != end; p = p->next) {
        bj_record_fail(&p->reply, 503, "The records could not be stored.");
        retry_after(&p->reply, "60");
    }
}

static void count_group(struct bj_record_writer *w,
                        const struct bj_record_verdict *sum)
{
    if (w->failing)
        bj_log(BJ_LOG_INFO, NULL, "storing received records works again");
    w->failing = false;
    writer_count(&w->counts.commits, 1);
    writer_count(&w->counts.stored, sum->stored);
    writer_count(&w->counts.malformed, sum->malformed);
    writer_count(&w->counts.denied, sum->denied);
}

/* Without the lock.  Returns the remaining posts. */
static struct bj_record_post *run_group(struct bj_record_writer *w,
                                        struct bj_record_post *first)
{
    struct bj_record_verdict sum;
    struct bj_record_post *rest;
    struct bj_err err = {0};
    int r = store_group(w, first, &rest, &sum, &err);
    if (r < 0 && rest == first)
        rest = NULL; /* no transaction began: no post can be stored */
    if (r < 0)
        fail_group(w, first, rest, &err);
    else
        count_group(w, &sum);
    return rest;
}

/* --- the thread -----------------------------------------------------------*/

static struct bj_record_post *take_all(struct bj_record_writer *w)
{
    struct bj_record_post *first = w->first;
    w->first = NULL;
    w->last = &w->first;
    return first;
}

/* With the lock: move the posts from first until rest (excluded) to the
 * answered ones. */
static void return_posts(struct bj_record_writer *w,
                         struct bj_record_post *first,
                         const struct bj_record_post *rest)
{
    struct bj_record_post *next;
    for (struct bj_record_post *p = first; p != rest; p = next) {
        next = p->next;
        p->next = w->answered;
        w->answered = p;
    }
}

static void *writer_run(void *ctx)
{
    struct bj_record_writer *w = ctx;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->stop && !w->first)
            pthread_cond_wait(&w->change, &w->lock);
        if (w->stop)
            break;
        struct bj_record_post *first = take_all(w);
        while (first) {
            pthread_mutex_unlock(&w->lock);
            struct bj_record_post *rest = run_group(w, first);
            pthread_mutex_lock(&w->lock);
            return_posts(w, first, rest);
            w->wake(w->ctx);
            first = rest;
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

void bj_record_writer_add(struct bj_record_writer *w,
                          struct bj_record_post *post)
{
    pthread_mutex_lock(&w->lock);
    post->next = NULL;
    *w->last = post;
    w->last = &post->next;
    pthread_cond_signal(&w->change);
    pthread_mutex_unlock(&w->lock);
}

struct bj_record_post *bj_record_writer_answered(struct bj_record_writer *w)
{
    pthread_mutex_lock(&w->lock);
    struct bj_record_post *p = w->answered;
    w->answered = NULL;
    pthread_mutex_unlock(&w->lock);
    return p;
}

void bj_record_writer_counts(const struct bj_record_writer *w,
                             struct bj_record_counts *ret)
{
    const struct bj_record_counts *c = &w->counts;
    ret->stored = __atomic_load_n(&c->stored, __ATOMIC_RELAXED);
    ret->malformed = __atomic_load_n(&c->malformed, __ATOMIC_RELAXED);
    ret->denied = __atomic_load_n(&c->denied, __ATOMIC_RELAXED);
    ret->commits = __atomic_load_n(&c->commits, __ATOMIC_RELAXED);
    ret->failures = __atomic_load_n(&c->failures, __ATOMIC_RELAXED);
}

/* --- start and end --------------------------------------------------------*/

static int writer_start(struct bj_record_writer *w, struct bj_err *err)
{
    int r = bj_thread_create(&w->thread, 0, writer_run, w);
    w->runs = r == 0;
    return r < 0 ? bj_err_set(err, r, "cannot start the thread for records")
                 : 0;
}

int bj_record_writer_new(const struct bj_statsdb_conf *conf,
                         struct bj_store *store, void (*wake)(void *ctx),
                         void *ctx, struct bj_record_writer **ret,
                         struct bj_err *err)
{
    struct bj_record_writer *w = calloc(1, sizeof(*w));
    if (!w || bj_wait_init(&w->lock, &w->change) < 0) {
        free(w);
        return bj_err_set(err, -ENOMEM, "records");
    }
    w->conf = conf;
    w->wake = wake;
    w->ctx = ctx;
    w->last = &w->first;
    const struct bj_store_options opt = {.shared_with = store,
                                         .cache_bytes = conf->cache_bytes / 2,
                                         .max_bytes = conf->max_bytes};
    int r = bj_store_open(&opt, &w->store, err);
    if (r == 0)
        r = bj_records_new(w->store, &w->records, err);
    if (r == 0)
        r = writer_start(w, err);
    if (r < 0) {
        bj_record_writer_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

void bj_record_writer_stop(struct bj_record_writer *w)
{
    if (!w->runs)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->change);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    w->runs = false;
    struct bj_record_post *left = take_all(w);
    for (struct bj_record_post *p = left; p; p = p->next) {
        bj_record_fail(&p->reply, 503, "The server is being stopped.");
        retry_after(&p->reply, "10");
    }
    return_posts(w, left, NULL);
}

void bj_record_writer_free(struct bj_record_writer *w)
{
    if (!w)
        return;
    bj_record_writer_stop(w);
    bj_records_free(w->records);
    bj_store_close(w->store);
    bj_gunzip_free(w->gunzip);
    bj_buf_free(&w->text);
    bj_wait_destroy(&w->lock, &w->change);
    free(w);
}
