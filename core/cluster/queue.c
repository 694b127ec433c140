/* Counts of jobs by label. */
#include "core/cluster/part.h"

#include <errno.h>

static const struct bj_slice none; /* no key */

struct entry {
    const struct bj_squeue_job *job;
    struct bj_jobs_stat v; /* for all tasks of the line */
    struct bj_slice state;
    bool pending;
};

static void add_to(struct bj_cluster_work *w, const struct entry *e,
                   enum bj_cluster_list list, struct bj_slice k0,
                   struct bj_slice k1)
{
    struct bj_jobs_stat *s = bj_cluster_get(w, list, k0, k1, none);
    if (!s)
        return; /* arena.failed is set */
    if (s->jobs == 0)
        s->cpus = s->nodes = s->mem_bytes = s->gpus = s->wait_sec =
            s->wait_max_sec = BJ_ABSENT;
    bj_cluster_add(&s->jobs, e->v.jobs);
    bj_cluster_add(&s->cpus, e->v.cpus);
    bj_cluster_add(&s->nodes, e->v.nodes);
    bj_cluster_add(&s->mem_bytes, e->v.mem_bytes);
    bj_cluster_add(&s->gpus, e->v.gpus);
    bj_cluster_add(&s->wait_sec, e->v.wait_sec);
    if (e->v.wait_max_sec != BJ_ABSENT &&
        (s->wait_max_sec == BJ_ABSENT || e->v.wait_max_sec > s->wait_max_sec))
        s->wait_max_sec = e->v.wait_max_sec;
}

/* Of n jobs; BJ_ABSENT: unknown. */
static uint64_t queue_times(uint64_t n, uint64_t v)
{
    uint64_t r;
    if (v == BJ_ABSENT || __builtin_mul_overflow(n, v, &r))
        return BJ_ABSENT;
    return r;
}

/* A resource that Slurm does not list is not requested. */
static uint64_t listed(const struct bj_squeue_job *j, uint64_t v)
{
    return v == BJ_ABSENT && !j->brief && !j->partial ? 0 : v;
}

/* A line may cover many array tasks; its request is for one of them. */
static struct entry make_entry(const struct bj_cluster_work *w,
                               const struct bj_squeue_job *j)
{
    static const struct bj_slice pending = {"PENDING", 7};
    static const struct bj_slice gpu = {"gpu", 3};
    struct entry e = {.job = j, .pending = bj_slice_eq(j->state, pending)};
    const uint64_t n = j->jobs;
    e.v.jobs = n;
    e.v.cpus = queue_times(n, listed(j, bj_tres_get(&j->tres, BJ_TRES_CPU)));
    e.v.nodes = queue_times(n, j->nodes);
    e.v.mem_bytes =
        queue_times(n, listed(j, bj_tres_get(&j->tres, BJ_TRES_MEM)));
    e.v.gpus =
        j->brief
            ? BJ_ABSENT
            : queue_times(n, bj_tres_sum(&j->tres, BJ_TRES_GRES, gpu, NULL));
    e.v.wait_sec = e.v.wait_max_sec = BJ_ABSENT;
    if (e.pending && j->submit_sec != BJ_ABSENT) {
        e.v.wait_max_sec =
            w->wall_sec > j->submit_sec ? w->wall_sec - j->submit_sec : 0;
        e.v.wait_sec = queue_times(n, e.v.wait_max_sec);
    }
    return e;
}

/* GPUs by model. The part of the untyped total beyond the typed ones is counted
 * under the empty model, so that the sum is complete. */
static void add_gpus(struct bj_cluster_work *w, const struct entry *e,
                     struct bj_slice partition)
{
    static const struct bj_slice gpu = {"gpu", 3};
    uint64_t left = e->v.gpus == BJ_ABSENT ? 0 : e->v.gpus;
    const struct bj_tres_list *list = &e->job->tres;
    for (unsigned i = 0; i <= list->n && left > 0; i++) {
        const bool rest = i == list->n;
        const struct bj_tres *t = &list->v[rest ? 0 : i];
        if (!rest && (t->type != BJ_TRES_GRES || t->model.n == 0 ||
                      !bj_slice_eq(t->name, gpu)))
            continue;
        uint64_t n = rest ? left : queue_times(e->job->jobs, t->count);
        n = n < left ? n : left;
        left -= n;
        struct bj_label l;
        struct bj_slice model =
            bj_cluster_label(rest ? (struct bj_slice){"", 0} : t->model, &l);
        struct bj_count_stat *s =
            bj_cluster_get(w, BJ_CL_JOBS_GPUS, e->state, model, none);
        if (s)
            bj_cluster_add(&s->count, n);
        if (!(w->by & BJ_BY_PARTITION))
            continue;
        s = bj_cluster_get(w, BJ_CL_PARTITION_JOBS_GPUS, partition, e->state,
                           model);
        if (s)
            bj_cluster_add(&s->count, n);
    }
}

/* A job that requests several features counts for each of them. */
static void add_features(struct bj_cluster_work *w, const struct entry *e)
{
    struct bj_slice rest = e->job->features, name = {"", 0};
    do {
        struct bj_label l;
        bj_slice_field(&rest, '&', &name);
        add_to(w, e, BJ_CL_FEATURE_JOBS, bj_cluster_label(name, &l), e->state);
    } while (rest.n > 0);
}

static void add_reason(struct bj_cluster_work *w, const struct entry *e,
                       struct bj_slice partition)
{
    struct bj_label l;
    if (!e->pending || !(w->by & BJ_BY_REASON))
        return;
    const struct bj_slice reason =
        bj_cluster_label(bj_squeue_reason(e->job->reason), &l);
    add_to(w, e, BJ_CL_PENDING, reason, none);
    if (w->by & BJ_BY_PARTITION)
        add_to(w, e, BJ_CL_PARTITION_PENDING, partition, reason);
}

/* A job by its id; not for pending lines, which may cover many tasks. */
static void add_each(struct bj_cluster_work *w, const struct entry *e)
{
    const struct bj_slice id = e->job->id;
    uint64_t n;
    if (!w->conf->each_job || e->pending || bj_slice_u64(id, &n) < 0 ||
        id.p[0] == '0')
        return;
    struct bj_jobs_stat *s =
        bj_cluster_single(w, BJ_CL_EACH_JOB, id, none, none);
    if (!s)
        return;
    const struct bj_sub sub = s->sub;
    *s = e->v;
    s->sub = sub;
}

int bj_cluster_add_job(struct bj_cluster_work *w, const struct bj_squeue_job *j)
{
    struct bj_label state, partition;
    struct entry e = make_entry(w, j);
    e.state = bj_cluster_label(j->state, &state);
    const struct bj_slice part = bj_cluster_label(j->partition, &partition);
    const struct {
        unsigned by;
        enum bj_cluster_list list;
        struct bj_slice key;
    } lists[] = {
        {BJ_BY_USER, BJ_CL_USER_JOBS, j->user},
        {BJ_BY_ACCOUNT, BJ_CL_ACCOUNT_JOBS, j->account},
        {j->brief || j->partial ? 0 : BJ_BY_QOS, BJ_CL_QOS_JOBS, j->qos},
        {j->brief || j->host_unknown ? 0 : BJ_BY_HOST, BJ_CL_HOST_JOBS,
         j->host},
        {j->brief ? 0 : BJ_BY_RESERVATION, BJ_CL_RESERVATION_JOBS,
         j->reservation},
    };
    add_to(w, &e, BJ_CL_JOBS, e.state, none);
    if (w->by & BJ_BY_PARTITION)
        add_to(w, &e, BJ_CL_PARTITION_JOBS, part, e.state);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct bj_label l;
        if (w->by & lists[i].by)
            add_to(w, &e, lists[i].list, bj_cluster_label(lists[i].key, &l),
                   e.state);
    }
    if ((w->by & BJ_BY_FEATURE) && !j->brief && !j->partial)
        add_features(w, &e);
    add_gpus(w, &e, part);
    add_reason(w, &e, part);
    add_each(w, &e);
    return 0;
}

int bj_cluster_queue_line(struct bj_cluster_work *w, struct bj_slice line)
{
    struct bj_squeue_job j;
    return bj_squeue_parse(line, &j) < 0 ? -EINVAL : bj_cluster_add_job(w, &j);
}
