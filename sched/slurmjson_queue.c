/* Jobs and nodes of Slurm's JSON. */
#include "sched/slurmjson_priv.h"
#include "sched/slurmrest_value.h"
#include "sched/word.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

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
    {"job_id", bj_slurmjson_raw, J(v.id)},
    {"array_task_string", bj_slurmjson_raw, J(tasks)},
    {"job_state", parse_state, J(v.state)},
    {"partition", bj_slurmjson_raw, J(v.partition)},
    {"account", bj_rest_text, J(v.account)},
    {"user_id", bj_rest_number, J(uid)},
    {"user_name", bj_rest_text, J(v.user)},
    {"qos", bj_rest_text, J(v.qos)},
    {"allocating_node", bj_rest_text, J(v.host)},
    {"resv_name", bj_rest_text, J(v.reservation)},
    {"features", bj_rest_text, J(v.features)},
    {"state_reason", bj_slurmjson_raw, J(v.reason)},
    {"state_description", bj_slurmjson_raw, J(description)},
    {"submit_time", bj_rest_time, J(v.submit_sec)},
    {"eligible_time", bj_rest_time, J(v.eligible_sec)},
    {"start_time", bj_rest_time, J(v.start_sec)},
    {"node_count", bj_rest_number, J(v.nodes)},
    {"tres_req_str", bj_rest_text, J(requested)},
    {"tres_alloc_str", bj_rest_text, J(allocated)},
    {"cluster", bj_slurmjson_raw, J(cluster)},
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

int bj_slurmjson_take_job(struct bj_slurmjson *j, const struct bj_json *v)
{
    struct job job = {.uid = BJ_ABSENT,
                      .v = {.submit_sec = BJ_ABSENT,
                            .eligible_sec = BJ_ABSENT,
                            .start_sec = BJ_ABSENT,
                            .nodes = BJ_ABSENT}};
    uint64_t id;
    int r = bj_slurmjson_fields(j, v, job_fields, COUNT(job_fields), &job);
    if (r == 0)
        r = settle_user(j, &job);
    if (r == 0)
        r = bj_slurmjson_name(j, job.cluster);
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
    {"name", bj_slurmjson_raw, N(v.name)},
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

int bj_slurmjson_take_node(struct bj_slurmjson *j, const struct bj_json *v)
{
    struct node n = {.v = {.cpus = BJ_ABSENT,
                           .allocated = BJ_ABSENT,
                           .load_centi = BJ_ABSENT,
                           .weight = BJ_ABSENT},
                     .mem_mib = BJ_ABSENT,
                     .allocated_mib = BJ_ABSENT,
                     .free_mib = BJ_ABSENT};
    int r = bj_slurmjson_fields(j, v, node_fields, COUNT(node_fields), &n);
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
