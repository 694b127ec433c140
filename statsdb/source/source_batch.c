#include "statsdb/source/source_sacct.h"

#include "base/array.h"
#include "sched/chain.h"

#include <stdlib.h>
#include <string.h>

enum { CHAIN_JOBS = 200 }; /* jobids of a request */

int bj_source_room(const struct bj_source_run *run, uint64_t *lines,
                   uint64_t more, const struct bj_sacct_counts *counts,
                   struct bj_err *err)
{
    if (run->batch_lines > 0 && *lines >= run->batch_lines) {
        int r = bj_upsert_commit(run->upsert, err);
        if (r == 0 && counts && run->progress)
            run->progress(run->ctx, counts);
        if (r == 0)
            r = bj_upsert_begin(run->upsert, err);
        if (r < 0)
            return r;
        *lines = 0;
    }
    *lines += more;
    return 0;
}

int bj_source_take_job(void *sink, const struct bj_sched_job *job,
                       struct bj_err *err)
{
    struct bj_source_sink *to = sink;
    const struct bj_slice name =
        job->cluster.n > 0 ? job->cluster : to->cluster;
    if (name.n < sizeof(to->name)) {
        memcpy(to->name, name.p, name.n);
        to->name[name.n] = '\0';
    }
    int r = to->chains ? bj_source_chain_take(to->chains, job, err) : 0;
    if (r != 0)
        return r < 0 ? r : 0;
    r = bj_source_room(to->run, &to->lines, 1 + job->steps,
                       bj_sacct_counts(to->reader), err);
    return r < 0 ? r : bj_upsert_job(to->run->upsert, to->cluster, job, err);
}

void bj_source_take_bad(void *sink, const struct bj_sacct_bad *bad)
{
    const struct bj_source_sink *to = sink;
    if (to->run->bad)
        to->run->bad(to->run->ctx, bad);
}

/* --- runs of several records ---------------------------------------------- */

int bj_source_chain_take(struct bj_source_chains *c,
                         const struct bj_sched_job *job, struct bj_err *err)
{
    const bool part = bj_chain_is_part(job);
    if (c->chain) {
        int r = part ? bj_chain_add(c->chain, job, err) : 0;
        return r < 0 ? r : 1;
    }
    if (!part || job->id_number == BJ_ABSENT)
        return 0;
    if (!BJ_GROW(c->id, c->ids + 1, c->cap))
        return bj_err_set(err, -ENOMEM, "resized jobs");
    c->id[c->ids++] = job->id_number;
    return 1;
}

static int by_id(const void *pa, const void *pb)
{
    const uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return (a > b) - (a < b);
}

static void drop_repeated(struct bj_source_chains *c)
{
    size_t n = 0;
    qsort(c->id, c->ids, sizeof(*c->id), by_id);
    for (size_t i = 0; i < c->ids; i++)
        if (n == 0 || c->id[n - 1] != c->id[i])
            c->id[n++] = c->id[i];
    c->ids = n;
}

struct storing {
    const struct bj_source_run *run;
    struct bj_slice cluster;
};

static int store(void *ctx, const struct bj_sched_job *job, struct bj_err *err)
{
    const struct storing *s = ctx;
    return bj_upsert_job(s->run->upsert, s->cluster, job, err);
}

int bj_source_chains_run(struct bj_source_chains *c,
                         const struct bj_source_run *run,
                         struct bj_slice cluster,
                         int (*ask)(void *ctx, const uint64_t *id, size_t n,
                                    struct bj_err *err),
                         void *ctx, struct bj_err *err)
{
    struct storing to = {run, cluster};
    if (c->ids == 0)
        return 0;
    drop_repeated(c);
    c->chain = bj_chain_new();
    int r = c->chain ? 0 : bj_err_set(err, -ENOMEM, "resized jobs");
    for (size_t at = 0, n; r == 0 && at < c->ids; at += n) {
        n = c->ids - at < CHAIN_JOBS ? c->ids - at : CHAIN_JOBS;
        r = ask(ctx, &c->id[at], n, err);
        if (r == 0)
            r = bj_chain_take(c->chain, store, &to, err);
    }
    return r;
}

void bj_source_chains_free(struct bj_source_chains *c)
{
    bj_chain_free(c->chain);
    free(c->id);
    *c = (struct bj_source_chains){.id = NULL};
}
