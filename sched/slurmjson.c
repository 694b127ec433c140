#include "sched/slurmjson.h"

#include "base/arena.h"
#include "base/json.h"
#include "sched/slurmrest_value.h"
#include "sched/value.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The index of the next significant byte. */
static size_t pass(struct bj_slurmjson_fix *f, struct bj_slice s)
{
    size_t i = 0;
    for (; i < s.n; i++) {
        const char c = s.p[i];
        if (f->escape)
            f->escape = false;
        else if (f->string && c == '\\')
            f->escape = true;
        else if (c == '"')
            f->string = !f->string;
        else if (!f->string && (c == 'I' || c == 'N' || c == '-'))
            break;
    }
    return i;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool no_number(struct bj_slice word)
{
    return bj_slice_eq(word, BJ_SLICE("Infinity")) ||
           bj_slice_eq(word, BJ_SLICE("NaN"));
}

/* The bytes held back are complete. */
static int release(struct bj_slurmjson_fix *f,
                   int (*sink)(void *, struct bj_slice, struct bj_err *),
                   void *ctx, struct bj_err *err)
{
    const struct bj_slice word = {f->word, f->n};
    const bool minus = f->minus;
    int r = 0;
    f->n = 0;
    f->minus = false;
    if (no_number(word))
        return sink(ctx, BJ_SLICE("null"), err);
    if (minus)
        r = sink(ctx, BJ_SLICE("-"), err);
    return r < 0 || word.n == 0 ? r : sink(ctx, word, err);
}

/* Take the rest of a word; true when it may continue in the next piece. */
static bool slurmjson_take_word(struct bj_slurmjson_fix *f, struct bj_slice *s)
{
    while (s->n > 0 && is_letter(*s->p) && f->n < sizeof(f->word)) {
        f->word[f->n++] = *s->p++;
        s->n--;
    }
    return s->n == 0 && f->n < sizeof(f->word);
}

int bj_slurmjson_fix(struct bj_slurmjson_fix *f, struct bj_slice piece,
                     int (*sink)(void *, struct bj_slice, struct bj_err *),
                     void *ctx, struct bj_err *err)
{
    while (piece.n > 0) {
        if (f->minus || f->n > 0) {
            if (slurmjson_take_word(f, &piece))
                break;
            int r = release(f, sink, ctx, err);
            if (r < 0)
                return r;
        }
        const size_t n = pass(f, piece);
        int r = n > 0 ? sink(ctx, (struct bj_slice){piece.p, n}, err) : 0;
        if (r < 0)
            return r;
        piece.p += n;
        piece.n -= n;
        if (piece.n == 0)
            break;
        if (*piece.p == '-')
            f->minus = true;
        else
            f->word[f->n++] = *piece.p;
        piece.p++;
        piece.n--;
    }
    return 0;
}

/* --- documents ------------------------------------------------------------*/

struct bj_slurmjson {
    struct bj_slurmjson_conf conf;
    enum bj_slurmjson_kind kind;
    struct bj_json_stream *stream;
    struct bj_slurmjson_fix fix;
    struct bj_arena arena; /* of the current record */
    struct bj_sdiag diag;
    uint64_t request_sec;            /* req_time */
    uint64_t table_sum;              /* bf_table_size_sum; BJ_ABSENT: unknown */
    bool named;                      /* the cluster's name was reported */
    char first_error[BJ_REST_ERROR]; /* the first of "errors" */
};

/* A field: its path in the document and its offset in the record.  Of several
 * paths for the same offset the last one present counts. */
struct bj_slurmjson_field {
    const char *path;
    int (*parse)(const struct bj_json *v, struct bj_arena *a, void *to);
    size_t at;
};

/* 0, or -EINVAL when one of them has a wrong type. */
static int slurmjson_fields(struct bj_slurmjson *j, const struct bj_json *v,
                            const struct bj_slurmjson_field *f, size_t n,
                            void *record)
{
    int bad = 0;
    for (const struct bj_slurmjson_field *end = f + n; f < end; f++) {
        const struct bj_json *value = bj_json_path(v, f->path);
        int r = value ? f->parse(value, &j->arena, (char *)record + f->at) : 0;
        if (r == -ENOMEM)
            return r;
        if (r < 0)
            bad = -EINVAL;
    }
    return bad;
}

/* A parser of fields in addition to those of sched/slurmrest_value.h: a text as
 * it is, even "None". */
static int slurmjson_raw(const struct bj_json *v, struct bj_arena *a, void *to)
{
    (void)a;
    const struct bj_slice s = bj_json_text(v);
    if (s.n > 0)
        *(struct bj_slice *)to = s;
    return 0;
}

/* Report the name of the replying cluster, once. */
static int slurmjson_name(struct bj_slurmjson *j, struct bj_slice name)
{
    if (j->named || name.n == 0 || !j->conf.cluster)
        return 0;
    j->named = true;
    return j->conf.cluster(j->conf.ctx, name);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- licences, reservations -----------------------------------------------*/

#define L(member) offsetof(struct bj_license, member)

static int slurmjson_take_license(struct bj_slurmjson *j,
                                  const struct bj_json *v)
{
    static const struct bj_slurmjson_field fields[] = {
        {"LicenseName", slurmjson_raw, L(name)},
        {"Total", bj_rest_number, L(total)},
        {"Used", bj_rest_number, L(used)},
        {"Free", bj_rest_number, L(free)},
        {"Reserved", bj_rest_number, L(reserved)},
        {"LastConsumed", bj_rest_number, L(last_consumed)},
        {"LastDeficit", bj_rest_number, L(last_deficit)},
    };
    struct bj_license l = {{NULL, 0}, BJ_ABSENT, BJ_ABSENT, BJ_ABSENT,
                           BJ_ABSENT, BJ_ABSENT, BJ_ABSENT};
    int r = slurmjson_fields(j, v, fields, COUNT(fields), &l);
    if (r == 0 && l.name.n == 0)
        r = -EINVAL;
    return r < 0 ? r : j->conf.license(j->conf.ctx, &l);
}

#define R(member) offsetof(struct bj_reservation, member)

/* scontrol derives the state from the times. Source: Slurm,
 * src/api/reservation_info.c. */
static int slurmjson_take_reservation(struct bj_slurmjson *j,
                                      const struct bj_json *v)
{
    static const struct bj_slurmjson_field fields[] = {
        {"name", slurmjson_raw, R(name)},
        {"node_list", bj_rest_text, R(nodes)},
        {"flags", bj_rest_words, R(flags)},
        {"start_time", bj_rest_time, R(start_sec)},
        {"end_time", bj_rest_time, R(end_sec)},
        {"node_count", bj_rest_number, R(node_count)},
        {"core_count", bj_rest_number, R(core_count)},
    };
    struct bj_reservation s = {.start_sec = BJ_ABSENT,
                               .end_sec = BJ_ABSENT,
                               .node_count = BJ_ABSENT,
                               .core_count = BJ_ABSENT};
    const uint64_t now = j->conf.now_sec;
    int r = slurmjson_fields(j, v, fields, COUNT(fields), &s);
    if (r == 0 && s.name.n == 0)
        r = -EINVAL;
    if (r < 0)
        return r;
    s.state = s.start_sec != BJ_ABSENT && s.start_sec <= now && now <= s.end_sec
                  ? BJ_SLICE("ACTIVE")
                  : BJ_SLICE("INACTIVE");
    return j->conf.reservation(j->conf.ctx, &s);
}

/* --- accounting -----------------------------------------------------------*/

/* A fraction in millionths. */
static int read_ppm(const struct bj_json *v, struct bj_arena *a, void *to)
{
    int64_t ppm;
    bool set = true, infinite = false;
    (void)a;
    if (bj_json_kind(v) == BJ_JSON_OBJECT) {
        (void)bj_json_bool(bj_json_get(v, "set"), &set);
        (void)bj_json_bool(bj_json_get(v, "infinite"), &infinite);
        v = bj_json_get(v, "number");
    }
    if (!set || infinite)
        return 0;
    /* Some versions write huge numbers for infinite and unset ones. */
    const int64_t most = INT64_C(1000000) * 1000000;
    int r = bj_json_fixed(v, 6, &ppm);
    if (r == 0 && ppm >= 0 && ppm <= most)
        *(uint64_t *)to = (uint64_t)ppm;
    return r == -EINVAL ? r
                        : 0; /* a value that does not fit counts as infinite */
}

struct share {
    struct bj_share v;
    struct bj_slice name, parent, type;
};

#define S(member) offsetof(struct share, member)

static int slurmjson_take_share(struct bj_slurmjson *j, const struct bj_json *v)
{
    static const struct bj_slurmjson_field fields[] = {
        {"name", slurmjson_raw, S(name)},
        {"parent", slurmjson_raw, S(parent)},
        {"type", bj_rest_words, S(type)},
        {"shares", bj_rest_number, S(v.shares)},
        {"usage", bj_rest_number, S(v.usage)},
        {"shares_normalized", read_ppm, S(v.norm_ppm)},
        {"effective_usage", read_ppm, S(v.used_ppm)},
        {"fairshare.factor", read_ppm, S(v.fairshare_ppm)},
        {"fairshare.level", read_ppm, S(v.level_ppm)},
    };
    enum { USE_PARENT = 0x7fffffff }; /* SLURMDB_FS_USE_PARENT */
    struct share s = {.v = {.shares = BJ_ABSENT,
                            .usage = BJ_ABSENT,
                            .norm_ppm = BJ_ABSENT,
                            .used_ppm = BJ_ABSENT,
                            .fairshare_ppm = BJ_ABSENT,
                            .level_ppm = BJ_ABSENT}};
    int r = slurmjson_fields(j, v, fields, COUNT(fields), &s);
    if (r == 0 && s.name.n == 0)
        r = -EINVAL;
    if (r < 0)
        return r;
    const bool user = bj_slice_eq(s.type, BJ_SLICE("USER"));
    s.v.account = user ? s.parent : s.name;
    s.v.user = user ? s.name : (struct bj_slice){"", 0};
    if (s.v.shares == USE_PARENT)
        s.v.shares = BJ_ABSENT;
    if (!user) /* sshare reports it for users only */
        s.v.fairshare_ppm = BJ_ABSENT;
    return s.v.account.n > 0 ? j->conf.share(j->conf.ctx, &s.v) : -EINVAL;
}

#define A(member) offsetof(struct bj_limits, member)

static int slurmjson_take_limits(struct bj_slurmjson *j,
                                 const struct bj_json *v)
{
    static const struct bj_slurmjson_field fields[] = {
        {"cluster", slurmjson_raw, A(cluster)},
        {"account", slurmjson_raw, A(account)},
        {"user", slurmjson_raw, A(user)},
        {"partition", slurmjson_raw, A(partition)},
        {"max.jobs.per.count", bj_rest_number, A(jobs)},
        {"max.jobs.per.submitted", bj_rest_number, A(submit)},
        {"max.jobs.active", bj_rest_number, A(max_jobs)},
        {"max.jobs.total", bj_rest_number, A(max_submit)},
        {"max.tres.total", bj_rest_tres, A(group)},
        {"max.tres.per.job", bj_rest_tres, A(max)},
    };
    struct bj_limits l = {.jobs = BJ_ABSENT,
                          .submit = BJ_ABSENT,
                          .max_jobs = BJ_ABSENT,
                          .max_submit = BJ_ABSENT};
    int r = slurmjson_fields(j, v, fields, COUNT(fields), &l);
    if (r == 0 && l.account.n == 0)
        r = -EINVAL;
    return r < 0 ? r : j->conf.limits(j->conf.ctx, &l);
}

static int slurmjson_take_cluster(struct bj_slurmjson *j,
                                  const struct bj_json *v)
{
    const struct bj_slice name = bj_json_text(bj_json_get(v, "name"));
    if (name.n == 0)
        return -EINVAL;
    return j->conf.cluster ? j->conf.cluster(j->conf.ctx, name) : 0;
}

/* --- the controller -------------------------------------------------------*/

#define D(member) offsetof(struct bj_sdiag, member)

static const struct {
    struct bj_slice key;
    size_t at;
} numbers[] = {
    {BJ_WORD("req_time_start"), D(since_sec)},
    {BJ_WORD("server_thread_count"), D(server_threads)},
    {BJ_WORD("agent_queue_size"), D(agent_queue)},
    {BJ_WORD("agent_count"), D(agents)},
    {BJ_WORD("agent_thread_count"), D(agent_threads)},
    {BJ_WORD("dbd_agent_queue_size"), D(dbd_queue)},
    {BJ_WORD("jobs_submitted"), D(jobs_submitted)},
    {BJ_WORD("jobs_started"), D(jobs_started)},
    {BJ_WORD("jobs_completed"), D(jobs_completed)},
    {BJ_WORD("jobs_canceled"), D(jobs_cancelled)},
    {BJ_WORD("jobs_failed"), D(jobs_failed)},
    {BJ_WORD("schedule_cycle_total"), D(cycles)},
    {BJ_WORD("schedule_cycle_last"), D(cycle_last_usec)},
    {BJ_WORD("schedule_cycle_max"), D(cycle_max_usec)},
    {BJ_WORD("schedule_cycle_mean"), D(cycle_mean_usec)},
    {BJ_WORD("schedule_cycle_mean_depth"), D(depth_mean)},
    {BJ_WORD("schedule_queue_length"), D(queue_length)},
    {BJ_WORD("schedule_cycle_per_minute"), D(cycles_per_min)},
    {BJ_WORD("bf_backfilled_jobs"), D(bf_jobs)},
    {BJ_WORD("bf_last_backfilled_jobs"), D(bf_jobs_cycle)},
    {BJ_WORD("bf_backfilled_het_jobs"), D(bf_het_jobs)},
    {BJ_WORD("bf_cycle_counter"), D(bf_cycles)},
    {BJ_WORD("bf_when_last_cycle"), D(bf_last_sec)},
    {BJ_WORD("bf_cycle_last"), D(bf_last_usec)},
    {BJ_WORD("bf_cycle_max"), D(bf_max_usec)},
    {BJ_WORD("bf_cycle_mean"), D(bf_mean_usec)},
    {BJ_WORD("bf_cycle_sum"), D(bf_sum_usec)},
    {BJ_WORD("bf_last_depth"), D(bf_depth)},
    {BJ_WORD("bf_last_depth_try"), D(bf_depth_try)},
    {BJ_WORD("bf_depth_mean"), D(bf_depth_mean)},
    {BJ_WORD("bf_depth_mean_try"), D(bf_depth_try_mean)},
    {BJ_WORD("bf_queue_len"), D(bf_queue)},
    {BJ_WORD("bf_queue_len_mean"), D(bf_queue_mean)},
    {BJ_WORD("bf_table_size"), D(bf_table)},
};

static void take_rpcs(struct bj_slurmjson *j, const struct bj_json *list,
                      bool user)
{
    BJ_JSON_EACH(v, list)
    {
        struct bj_sdiag_rpc r = {.user = user,
                                 .name = bj_json_text(bj_json_get(
                                     v, user ? "user" : "message_type")),
                                 .count = BJ_ABSENT,
                                 .total_usec = BJ_ABSENT};
        (void)bj_rest_number(bj_json_get(v, "count"), NULL, &r.count);
        (void)bj_rest_number(bj_json_get(v, "total_time"), NULL, &r.total_usec);
        if (r.name.n > 0 && r.count != BJ_ABSENT && r.total_usec != BJ_ABSENT)
            j->conf.rpc(j->conf.ctx, &r);
    }
}

/* A member of "statistics". */
static int slurmjson_take_stat(struct bj_slurmjson *j, struct bj_slice key,
                               const struct bj_json *v)
{
    static const struct bj_slice by_type = BJ_WORD("rpcs_by_message_type");
    static const struct bj_slice by_user = BJ_WORD("rpcs_by_user");
    static const struct bj_slice table_sum = BJ_WORD("bf_table_size_sum");
    static const struct bj_slice request_time = BJ_WORD("req_time");
    if (bj_slice_eq(key, table_sum))
        return bj_rest_number(v, &j->arena, &j->table_sum);
    if (bj_slice_eq(key, request_time))
        return bj_rest_number(v, &j->arena, &j->request_sec);
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (bj_slice_eq(key, numbers[i].key))
            return bj_rest_number(v, &j->arena,
                                  (char *)&j->diag + numbers[i].at);
    if (j->conf.rpc && bj_slice_eq(key, by_type))
        take_rpcs(j, v, false);
    if (j->conf.rpc && bj_slice_eq(key, by_user))
        take_rpcs(j, v, true);
    return 0;
}

/* Make absent what sdiag omits before the first event, which is 0 here, and
 * unknown times.  bf_table_size_mean is another mean in Slurm 24.11
 * (STATS_MSG_BF_QUEUE_LEN_MEAN), so calculate it. */
static void slurmjson_settle_diag(struct bj_slurmjson *j)
{
    struct bj_sdiag *d = &j->diag;
    if (d->since_sec == 0)
        d->since_sec = BJ_ABSENT;
    if (d->since_sec == BJ_ABSENT || j->request_sec == BJ_ABSENT ||
        j->request_sec <= d->since_sec + 60)
        d->cycles_per_min = BJ_ABSENT;
    if (d->bf_last_sec == 0)
        d->bf_last_sec = BJ_ABSENT;
    if (d->cycles == 0)
        d->cycle_mean_usec = d->depth_mean = BJ_ABSENT;
    if (d->bf_cycles == 0)
        d->bf_mean_usec = d->bf_depth_mean = d->bf_depth_try_mean =
            d->bf_queue_mean = BJ_ABSENT;
    else if (d->bf_cycles != BJ_ABSENT && j->table_sum != BJ_ABSENT)
        d->bf_table_mean = j->table_sum / d->bf_cycles;
}

/* --- jobs -----------------------------------------------------------------*/

struct bj_slice bj_slurmjson_job_state(const struct bj_slice *name, size_t n)
{
    static const struct bj_slice flags[] = {
        BJ_WORD("COMPLETING"),   BJ_WORD("STAGE_OUT"),
        BJ_WORD("CONFIGURING"),  BJ_WORD("EXPEDITING"),
        BJ_WORD("RESIZING"),     BJ_WORD("REQUEUED"),
        BJ_WORD("REQUEUE_FED"),  BJ_WORD("REQUEUE_HOLD"),
        BJ_WORD("SPECIAL_EXIT"), BJ_WORD("STOPPED"),
        BJ_WORD("REVOKED"),      BJ_WORD("RESV_DEL_HOLD"),
        BJ_WORD("SIGNALING"),
    };
    static const struct bj_slice silent[] = {
        BJ_WORD("LAUNCH_FAILED"), BJ_WORD("RECONFIG_FAIL"),
        BJ_WORD("POWER_UP_NODE"), BJ_WORD("UPDATE_DB")};
    for (size_t f = 0; f < COUNT(flags); f++)
        for (size_t i = 0; i < n; i++)
            if (bj_slice_eq(name[i], flags[f]))
                return name[i];
    for (size_t i = 0; i < n; i++) {
        bool shown = name[i].n > 0;
        for (size_t f = 0; f < COUNT(silent); f++)
            shown = shown && !bj_slice_eq(name[i], silent[f]);
        if (shown)
            return name[i];
    }
    return (struct bj_slice){NULL, 0};
}

/* "RUNNING"; ["RUNNING","COMPLETING"] */
static int parse_state(const struct bj_json *v, struct bj_arena *a, void *to)
{
    enum { STATES = 32 };
    struct bj_slice name[STATES];
    size_t n = 0;
    (void)a;
    if (bj_json_kind(v) == BJ_JSON_STRING)
        name[n++] = bj_json_text(v);
    BJ_JSON_EACH(word, v)
    {
        if (n < STATES)
            name[n++] = bj_json_text(word);
    }
    const struct bj_slice state = bj_slurmjson_job_state(name, n);
    *(struct bj_slice *)to = state;
    return state.n > 0 ? 0 : -EINVAL;
}

/* Values that are not members of the record. */
struct job {
    struct bj_squeue_job v;
    struct bj_slice tasks, allocated, requested, description, cluster;
    uint64_t uid;
};

#define J(member) offsetof(struct job, member)

static const struct bj_slurmjson_field job_fields[] = {
    {"job_id", slurmjson_raw, J(v.id)},
    {"array_task_string", slurmjson_raw, J(tasks)},
    {"job_state", parse_state, J(v.state)},
    {"partition", slurmjson_raw, J(v.partition)},
    {"account", bj_rest_text, J(v.account)},
    {"user_id", bj_rest_number, J(uid)},
    {"user_name", bj_rest_text, J(v.user)},
    {"qos", bj_rest_text, J(v.qos)},
    {"allocating_node", bj_rest_text, J(v.host)},
    {"resv_name", bj_rest_text, J(v.reservation)},
    {"features", bj_rest_text, J(v.features)},
    {"state_reason", slurmjson_raw, J(v.reason)},
    {"state_description", slurmjson_raw, J(description)},
    {"submit_time", bj_rest_time, J(v.submit_sec)},
    {"eligible_time", bj_rest_time, J(v.eligible_sec)},
    {"start_time", bj_rest_time, J(v.start_sec)},
    {"node_count", bj_rest_number, J(v.nodes)},
    {"tres_req_str", bj_rest_text, J(requested)},
    {"tres_alloc_str", bj_rest_text, J(allocated)},
    {"cluster", slurmjson_raw, J(cluster)},
};

/* A user who is unknown on the replying host is a number. */
static int settle_user(struct bj_slurmjson *j, struct job *job)
{
    char text[24];
    if (job->v.user.n > 0 || job->uid == BJ_ABSENT)
        return 0;
    const int n =
        snprintf(text, sizeof(text), "%llu", (unsigned long long)job->uid);
    job->v.user = bj_arena_copy(&j->arena, (struct bj_slice){text, (size_t)n});
    return j->arena.failed ? -ENOMEM : 0;
}

/* Read one element: 0, -EINVAL (bad), or the result of the callback. */
static int slurmjson_take_job(struct bj_slurmjson *j, const struct bj_json *v)
{
    struct job job = {.uid = BJ_ABSENT,
                      .v = {.submit_sec = BJ_ABSENT,
                            .eligible_sec = BJ_ABSENT,
                            .start_sec = BJ_ABSENT,
                            .nodes = BJ_ABSENT}};
    uint64_t id;
    int r = slurmjson_fields(j, v, job_fields, COUNT(job_fields), &job);
    if (r == 0)
        r = settle_user(j, &job);
    if (r == 0)
        r = slurmjson_name(j, job.cluster);
    if (r < 0)
        return r;
    if (bj_slice_u64(job.v.id, &id) < 0 || job.v.state.n == 0 ||
        bj_squeue_tasks(job.tasks, &job.v.jobs) < 0)
        return -EINVAL;
    /* Absent up to 22.05; {"", 0} means "reported, and empty". */
    if (!job.v.host.p && bj_json_get(v, "allocating_node"))
        job.v.host = (struct bj_slice){"", 0};
    job.v.host_unknown = !job.v.host.p;
    if (job.description.n > 0)
        job.v.reason = job.description;
    if (bj_tres_parse(job.allocated.n > 0 ? job.allocated : job.requested,
                      BJ_TRES_REQUESTED, &job.v.tres) > 0)
        return -EINVAL;
    return j->conf.job(j->conf.ctx, &job.v);
}

/* --- nodes ----------------------------------------------------------------*/

struct node {
    struct bj_sinfo_node v;
    struct bj_slice flags;
    uint64_t mem_mib, allocated_mib, free_mib;
};

#define N(member) offsetof(struct node, member)

/* Up to 22.05 unknown is -2. */
static int parse_free(const struct bj_json *v, struct bj_arena *a, void *to)
{
    int64_t n;
    if (bj_json_i64(v, &n) == 0 && n < 0)
        return 0;
    return bj_rest_number(v, a, to);
}

/* Unknown is UINT32_MAX - 1. */
static int parse_load(const struct bj_json *v, struct bj_arena *a, void *to)
{
    int r = bj_rest_number(v, a, to);
    uint64_t *n = to;
    if (r == 0 && *n >= UINT32_MAX - 1)
        *n = BJ_ABSENT;
    return r;
}

static const struct bj_slurmjson_field node_fields[] = {
    {"name", slurmjson_raw, N(v.name)},
    {"state", bj_rest_words, N(v.state_text)},
    {"state_flags", bj_rest_words, N(flags)}, /* up to 22.05 */
    {"cpus", bj_rest_number, N(v.cpus)},
    {"alloc_cpus", bj_rest_number, N(v.allocated)},
    {"real_memory", bj_rest_number, N(mem_mib)},
    {"alloc_memory", bj_rest_number, N(allocated_mib)},
    {"free_memory", parse_free, N(free_mib)}, /* up to 22.05 */
    {"free_mem", bj_rest_number, N(free_mib)},
    {"cpu_load", parse_load, N(v.load_centi)},
    {"weight", bj_rest_number, N(v.weight)},
    {"gres", bj_rest_text, N(v.gres)},
    {"gres_used", bj_rest_text, N(v.gres_used)},
    {"reason", bj_rest_text, N(v.reason)},
    {"reason_set_by_user", bj_rest_text, N(v.reason_by)},
};

static int mib_to_bytes(uint64_t mib, uint64_t *ret)
{
    if (mib == BJ_ABSENT)
        *ret = BJ_ABSENT;
    else if (__builtin_mul_overflow(mib, (uint64_t)1 << 20, ret))
        return -EINVAL;
    return 0;
}

/* Join "DOWN" and "DRAIN+NOT_RESPONDING". */
static int join_state(struct bj_slurmjson *j, struct node *n)
{
    if (n->flags.n == 0)
        return 0;
    char *text = bj_arena_alloc(&j->arena, n->v.state_text.n + 1 + n->flags.n);
    if (!text)
        return -ENOMEM;
    const size_t at = n->v.state_text.n;
    if (at > 0)
        memcpy(text, n->v.state_text.p, at);
    text[at] = '+';
    memcpy(text + at + 1, n->flags.p, n->flags.n);
    n->v.state_text = (struct bj_slice){text, at + 1 + n->flags.n};
    return 0;
}

/* As in sinfo: CPUs of a drained or down node that are not allocated are other.
 * Source: Slurm, src/sinfo/sinfo.c, _update_sinfo(). */
static void split_cpus(struct bj_sinfo_node *n)
{
    if (n->allocated > n->cpus)
        n->allocated = n->cpus;
    const uint64_t rest = n->cpus - n->allocated;
    const bool out =
        n->state.base == BJ_NODE_DOWN || (n->state.flags & 1u << BJ_NODE_DRAIN);
    n->idle = out ? 0 : rest;
    n->other = out ? rest : 0;
}

static int each_partition(struct bj_slurmjson *j, const struct bj_json *v,
                          struct bj_sinfo_node *n)
{
    int r = 0;
    BJ_JSON_EACH(name, v)
    {
        n->partition = bj_json_text(name);
        if (r == 0 && n->partition.n > 0)
            r = j->conf.node(j->conf.ctx, n);
    }
    if (bj_json_kind(v) != BJ_JSON_STRING)
        return r;
    struct bj_slice rest = bj_json_text(v);
    while (r == 0 && rest.n > 0) {
        bj_slice_field(&rest, ',', &n->partition);
        if (n->partition.n > 0)
            r = j->conf.node(j->conf.ctx, n);
    }
    return r;
}

static int slurmjson_take_node(struct bj_slurmjson *j, const struct bj_json *v)
{
    struct node n = {.v = {.cpus = BJ_ABSENT,
                           .allocated = BJ_ABSENT,
                           .load_centi = BJ_ABSENT,
                           .weight = BJ_ABSENT},
                     .mem_mib = BJ_ABSENT,
                     .allocated_mib = BJ_ABSENT,
                     .free_mib = BJ_ABSENT};
    int r = slurmjson_fields(j, v, node_fields, COUNT(node_fields), &n);
    if (r == 0)
        r = join_state(j, &n);
    if (r < 0)
        return r;
    if (n.v.name.n == 0 || n.v.state_text.n == 0 || n.v.cpus == BJ_ABSENT ||
        n.v.allocated == BJ_ABSENT || n.mem_mib == BJ_ABSENT ||
        n.allocated_mib == BJ_ABSENT ||
        mib_to_bytes(n.mem_mib, &n.v.mem_bytes) < 0 ||
        mib_to_bytes(n.allocated_mib, &n.v.mem_allocated_bytes) < 0 ||
        mib_to_bytes(n.free_mib, &n.v.mem_free_bytes) < 0)
        return -EINVAL;
    n.v.state = bj_node_state_parse(n.v.state_text, n.v.allocated, n.v.cpus);
    split_cpus(&n.v);
    return each_partition(j, bj_json_get(v, "partitions"), &n.v);
}

static const char *const jobs_argv[] = {"squeue",       "--local", "--all",
                                        "--states=all", "--json",  NULL};
static const char *const nodes_argv[] = {"scontrol", "--all", "--json",
                                         "show",     "nodes", NULL};
static const char *const reservations_argv[] = {
    "scontrol", "--all", "--json", "show", "reservations", NULL};
static const char *const diag_argv[] = {"sdiag", "--json", NULL};
static const char *const licenses_argv[] = {"scontrol", "--json", "show",
                                            "licenses", NULL};
static const char *const shares_argv[] = {"sshare", "--all", "--json", NULL};
static const char *const limits_argv[] = {"sacctmgr", "--readonly",   "--json",
                                          "list",     "associations", NULL};

const char *const *const bj_slurmjson_argv[BJ_SLURMJSON_KINDS] = {
    [BJ_SLURMJSON_JOBS] = jobs_argv,
    [BJ_SLURMJSON_NODES] = nodes_argv,
    [BJ_SLURMJSON_RESERVATIONS] = reservations_argv,
    [BJ_SLURMJSON_DIAG] = diag_argv,
    [BJ_SLURMJSON_LICENSES] = licenses_argv,
    [BJ_SLURMJSON_SHARES] = shares_argv,
    [BJ_SLURMJSON_LIMITS] = limits_argv,
};
const char *const bj_slurmjson_sinfo_argv[] = {"sinfo", "--local", "--all",
                                               "--json", NULL};

/* --- elements -------------------------------------------------------------*/

static int element(void *ctx, struct bj_slice key, const struct bj_json *v,
                   struct bj_err *err)
{
    static int (*const take[BJ_SLURMJSON_KINDS])(struct bj_slurmjson *,
                                                 const struct bj_json *) = {
        [BJ_SLURMJSON_JOBS] = slurmjson_take_job,
        [BJ_SLURMJSON_NODES] = slurmjson_take_node,
        [BJ_SLURMJSON_RESERVATIONS] = slurmjson_take_reservation,
        [BJ_SLURMJSON_LICENSES] = slurmjson_take_license,
        [BJ_SLURMJSON_SHARES] = slurmjson_take_share,
        [BJ_SLURMJSON_LIMITS] = slurmjson_take_limits,
        [BJ_SLURMJSON_CLUSTERS] = slurmjson_take_cluster,
    };
    struct bj_slurmjson *j = ctx;
    bj_arena_reset(&j->arena);
    int r = j->kind == BJ_SLURMJSON_DIAG ? slurmjson_take_stat(j, key, v)
                                         : take[j->kind](j, v);
    if (r == -EINVAL) {
        if (j->conf.bad)
            j->conf.bad(j->conf.ctx);
        return 0;
    }
    return r < 0 ? bj_err_set(err, r, "a record of Slurm's JSON") : 0;
}

/* {"slurm":{"cluster":...}}; "Slurm", without the cluster, up to 22.05. */
static int take_meta(void *ctx, struct bj_slice key, const struct bj_json *v,
                     struct bj_err *err)
{
    (void)key;
    int r = slurmjson_name(ctx, bj_json_text(bj_json_get(v, "cluster")));
    return r < 0 ? bj_err_set(err, r, "the cluster's name") : 0;
}

static int take_error(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    struct bj_slurmjson *j = ctx;
    (void)key;
    (void)err;
    bj_rest_error(v, j->first_error);
    return 0;
}

/* sinfo from Slurm 23.02 on: nodes of one state, without single nodes. */
static int skip_group(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    (void)ctx;
    (void)key;
    (void)v;
    (void)err;
    return 0;
}

/* --- documents ------------------------------------------------------------*/

enum { TARGET_LIST, TARGET_ERRORS, TARGET_META, TARGET_GROUPS, TARGETS };

#define DOCUMENT(path)                                                         \
    {                                                                          \
        {path, element}, {"errors", take_error}, {"meta", take_meta},          \
        {                                                                      \
            NULL, NULL                                                         \
        }                                                                      \
    }

static const struct bj_json_target targets[BJ_SLURMJSON_KINDS][TARGETS + 1] = {
    [BJ_SLURMJSON_JOBS] = DOCUMENT("jobs"),
    [BJ_SLURMJSON_NODES] = {{"nodes", element},
                            {"errors", take_error},
                            {"meta", take_meta},
                            {"sinfo", skip_group},
                            {0}},
    [BJ_SLURMJSON_RESERVATIONS] = DOCUMENT("reservations"),
    [BJ_SLURMJSON_DIAG] = DOCUMENT("statistics"),
    [BJ_SLURMJSON_LICENSES] = DOCUMENT("licenses"),
    [BJ_SLURMJSON_SHARES] = DOCUMENT("shares.shares"),
    [BJ_SLURMJSON_LIMITS] = DOCUMENT("associations"),
    [BJ_SLURMJSON_PING] = {{"meta", take_meta}, {"errors", take_error}, {0}},
    [BJ_SLURMJSON_CLUSTERS] = DOCUMENT("clusters"),
};

/* A job lists the state of each of its cores: more than all the rest. */
static const char *const skipped[] = {"job_resources", "gres_detail", NULL};

int bj_slurmjson_new(enum bj_slurmjson_kind kind,
                     const struct bj_slurmjson_conf *conf,
                     struct bj_slurmjson **ret, struct bj_err *err)
{
    static const struct bj_json_limits limits = {
        .bytes = 16 << 20, .values = 200000, .skip = skipped};
    struct bj_slurmjson *j = calloc(1, sizeof(*j));
    if (!j)
        return bj_err_set(err, -ENOMEM, "Slurm's JSON");
    j->conf = *conf;
    j->kind = kind;
    memset(&j->diag, 0xff, sizeof(j->diag));
    j->table_sum = j->request_sec = BJ_ABSENT;
    int r = bj_json_stream_new(targets[kind], j, "Slurm's JSON", &limits,
                               &j->stream, err);
    if (r < 0) {
        free(j);
        return r;
    }
    *ret = j;
    return 0;
}

static int feed(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct bj_slurmjson *j = ctx;
    return bj_json_stream_feed(j->stream, piece, err);
}

int bj_slurmjson_feed(struct bj_slurmjson *j, struct bj_slice piece,
                      struct bj_err *err)
{
    int r = bj_slurmjson_fix(&j->fix, piece, feed, j, err);
    return r == -EINVAL ? bj_err_wrap(err, -EBADMSG, "read") : r;
}

int bj_slurmjson_end(struct bj_slurmjson *j, struct bj_err *err)
{
    int r = bj_json_stream_end(j->stream, err);
    if (r == -EINVAL)
        return bj_err_wrap(err, -EBADMSG, "read");
    if (r < 0)
        return r;
    if (j->first_error[0])
        return bj_err_set(err, -EREMOTEIO, "Slurm reports: %s", j->first_error);
    if (j->kind == BJ_SLURMJSON_NODES &&
        bj_json_stream_found(j->stream, TARGET_GROUPS))
        return bj_err_set(err, -EBADMSG,
                          "this is sinfo's JSON of groups of nodes (Slurm "
                          "23.02 and later); use \"scontrol --all --json show "
                          "nodes\"");
    if (!bj_json_stream_found(j->stream, TARGET_LIST))
        return bj_err_set(err, -EBADMSG, "Slurm's JSON has no %s",
                          targets[j->kind][TARGET_LIST].path);
    if (j->kind != BJ_SLURMJSON_DIAG)
        return 0;
    slurmjson_settle_diag(j);
    r = j->conf.diag(j->conf.ctx, &j->diag);
    return r < 0 ? bj_err_set(err, r, "Slurm's JSON") : 0;
}

void bj_slurmjson_free(struct bj_slurmjson *j)
{
    if (!j)
        return;
    bj_json_stream_free(j->stream);
    bj_arena_free(&j->arena);
    free(j);
}
