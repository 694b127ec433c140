/* All parts of Slurm's JSON but jobs and nodes. */
#include "sched/slurmjson_priv.h"
#include "sched/slurmrest_value.h"
#include "sched/word.h"

#include <errno.h>
#include <stddef.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- licences, reservations -----------------------------------------------*/

#define L(member) offsetof(struct bj_license, member)

int bj_slurmjson_take_license(struct bj_slurmjson *j, const struct bj_json *v)
{
    static const struct bj_slurmjson_field fields[] = {
        {"LicenseName", bj_slurmjson_raw, L(name)},
        {"Total", bj_rest_number, L(total)},
        {"Used", bj_rest_number, L(used)},
        {"Free", bj_rest_number, L(free)},
        {"Reserved", bj_rest_number, L(reserved)},
        {"LastConsumed", bj_rest_number, L(last_consumed)},
        {"LastDeficit", bj_rest_number, L(last_deficit)},
    };
    struct bj_license l = {{NULL, 0}, BJ_ABSENT, BJ_ABSENT, BJ_ABSENT,
                           BJ_ABSENT, BJ_ABSENT, BJ_ABSENT};
    int r = bj_slurmjson_fields(j, v, fields, COUNT(fields), &l);
    if (r == 0 && l.name.n == 0)
        r = -EINVAL;
    return r < 0 ? r : j->conf.license(j->conf.ctx, &l);
}

#define R(member) offsetof(struct bj_reservation, member)

/* scontrol derives the state from the times. Source: Slurm,
 * src/api/reservation_info.c. */
int bj_slurmjson_take_reservation(struct bj_slurmjson *j,
                                  const struct bj_json *v)
{
    static const struct bj_slurmjson_field fields[] = {
        {"name", bj_slurmjson_raw, R(name)},
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
    int r = bj_slurmjson_fields(j, v, fields, COUNT(fields), &s);
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

int bj_slurmjson_take_share(struct bj_slurmjson *j, const struct bj_json *v)
{
    static const struct bj_slurmjson_field fields[] = {
        {"name", bj_slurmjson_raw, S(name)},
        {"parent", bj_slurmjson_raw, S(parent)},
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
    int r = bj_slurmjson_fields(j, v, fields, COUNT(fields), &s);
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

int bj_slurmjson_take_limits(struct bj_slurmjson *j, const struct bj_json *v)
{
    static const struct bj_slurmjson_field fields[] = {
        {"cluster", bj_slurmjson_raw, A(cluster)},
        {"account", bj_slurmjson_raw, A(account)},
        {"user", bj_slurmjson_raw, A(user)},
        {"partition", bj_slurmjson_raw, A(partition)},
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
    int r = bj_slurmjson_fields(j, v, fields, COUNT(fields), &l);
    if (r == 0 && l.account.n == 0)
        r = -EINVAL;
    return r < 0 ? r : j->conf.limits(j->conf.ctx, &l);
}

int bj_slurmjson_take_cluster(struct bj_slurmjson *j, const struct bj_json *v)
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

int bj_slurmjson_take_stat(struct bj_slurmjson *j, struct bj_slice key,
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
void bj_slurmjson_settle_diag(struct bj_slurmjson *j)
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
