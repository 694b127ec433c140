/* The smaller sources: name, controller, licenses, reservations, shares,
 * limits, partitions. */
#include "base/constants.h"
#include "core/cluster/part.h"
#include "sched/hostlist.h"

#include <errno.h>
#include <inttypes.h>

enum { HELD_MAX = 1 << 20 }; /* maximum number of nodes of a reservation */

static const struct bj_slice none; /* no key */

static int cluster_text_line(struct bj_cluster_work *w, struct bj_slice line)
{
    bj_buf_slice(&w->text, line);
    bj_buf_str(&w->text, "\n");
    return w->text.failed ? -ENOMEM : 0;
}

int bj_cluster_no_line(struct bj_cluster_work *w, struct bj_slice line)
{
    (void)w;
    (void)line;
    return -EINVAL;
}

static int cluster_config_end(struct bj_cluster_work *w)
{
    struct bj_label l;
    const struct bj_slice name =
        bj_slurm_cluster((struct bj_slice){w->text.p, w->text.len});
    if (name.n == 0)
        return -EINVAL;
    w->part->cluster =
        bj_arena_copy(&w->part->arena, bj_cluster_label(name, &l));
    return 0;
}

/* --- the controller ------------------------------------------------------ */

void bj_cluster_add_rpc(void *work, const struct bj_sdiag_rpc *r)
{
    struct bj_cluster_work *w = work;
    struct bj_label l;
    if (r->user && !(w->by & BJ_BY_USER))
        return;
    struct bj_rpc_stat *s =
        bj_cluster_get(w, r->user ? BJ_CL_RPC_USERS : BJ_CL_RPC_TYPES,
                       bj_cluster_label(r->name, &l), none, none);
    if (!s)
        return; /* arena.failed is set */
    bj_cluster_add(&s->count, r->count);
    bj_cluster_add(&s->total_usec, r->total_usec);
}

int bj_cluster_add_diag(struct bj_cluster_work *w, const struct bj_sdiag *diag)
{
    struct bj_controller_stat *s =
        bj_cluster_get(w, BJ_CL_CONTROLLER, none, none, none);
    if (s)
        s->diag = *diag;
    return 0;
}

static int cluster_diag_end(struct bj_cluster_work *w)
{
    struct bj_sdiag d;
    if (bj_sdiag_parse((struct bj_slice){w->text.p, w->text.len}, &d,
                       bj_cluster_add_rpc, w) < 0)
        return -EINVAL;
    return bj_cluster_add_diag(w, &d);
}

int bj_cluster_add_license(struct bj_cluster_work *w,
                           const struct bj_license *v)
{
    struct bj_label l;
    struct bj_license_stat *s = bj_cluster_get(
        w, BJ_CL_LICENSES, bj_cluster_label(v->name, &l), none, none);
    if (!s)
        return 0;
    bj_cluster_add(&s->total, v->total);
    bj_cluster_add(&s->used, v->used);
    bj_cluster_add(&s->free, v->free);
    bj_cluster_add(&s->reserved, v->reserved);
    bj_cluster_add(&s->last_consumed, v->last_consumed);
    bj_cluster_add(&s->last_deficit, v->last_deficit);
    return 0;
}

static int cluster_license_line(struct bj_cluster_work *w, struct bj_slice line)
{
    struct bj_license v;
    int r = bj_license_parse(line, &v);
    return r < 0 ? r : bj_cluster_add_license(w, &v);
}

/* --- reservations -------------------------------------------------------- */

/* A node may be in several reservations; it gets all their names. */
static int hold_node(struct bj_cluster_work *w, struct bj_slice node,
                     struct bj_slice name, const void *id)
{
    char both[2 * BJ_LABEL_MAX + 2];
    struct bj_label l;
    const struct bj_slice key[BJ_SUB_KEYS] = {bj_cluster_label(node, &l)};
    struct bj_held *h = bj_group_get(&w->part->held, key);
    if (!h)
        return -ENOMEM;
    if (h->newest == id)
        return 0;
    h->newest = id;
    if (h->by.n == 0) {
        h->by = name;
        return 0;
    }
    memcpy(both, h->by.p, h->by.n);
    both[h->by.n] = ',';
    memcpy(both + h->by.n + 1, name.p, name.n);
    struct bj_label cut;
    h->by = bj_arena_copy(
        &w->part->arena,
        bj_cluster_label((struct bj_slice){both, h->by.n + 1 + name.n}, &cut));
    return 0;
}

static int hold_all(struct bj_cluster_work *w, const struct bj_reservation *v,
                    struct bj_slice label)
{
    struct bj_hostlist list;
    struct bj_slice node;
    const struct bj_slice name = bj_arena_copy(&w->part->arena, label);
    if (bj_hostlist_begin(&list, v->nodes, BJ_HOSTS_SLURM) < 0)
        return -EINVAL;
    for (int i = 0; i < HELD_MAX && bj_hostlist_next(&list, &node); i++)
        if (hold_node(w, node, name, name.p) < 0)
            return -ENOMEM;
    return 0;
}

int bj_cluster_add_reservation(struct bj_cluster_work *w,
                               const struct bj_reservation *v)
{
    static const struct bj_slice active = {"ACTIVE", 6};
    struct bj_label l;
    const struct bj_slice name = bj_cluster_label(v->name, &l);
    struct bj_reservation_stat *s =
        bj_cluster_single(w, BJ_CL_RESERVATIONS, name, none, none);
    if (!s)
        return 0;
    s->active = bj_slice_eq(v->state, active);
    s->start_sec = v->start_sec;
    s->end_sec = v->end_sec;
    s->nodes = v->node_count;
    s->cores = v->core_count;
    return s->active ? hold_all(w, v, name) : 0;
}

static int cluster_reservation_line(struct bj_cluster_work *w,
                                    struct bj_slice line)
{
    struct bj_reservation v;
    int r = bj_reservation_parse(line, &v);
    return r < 0 ? r : bj_cluster_add_reservation(w, &v);
}

/* --- accounting ---------------------------------------------------------- */

/* Whether a record of this user is reported: without the label user only those
 * of accounts are. */
static bool is_reported(const struct bj_cluster_work *w, struct bj_slice user)
{
    return user.n == 0 || (w->by & BJ_BY_USER);
}

int bj_cluster_add_share(struct bj_cluster_work *w, const struct bj_share *v)
{
    struct bj_label account, user;
    if (!is_reported(w, v->user))
        return 0;
    const struct bj_slice key[BJ_SUB_KEYS] = {
        bj_cluster_label(v->account, &account),
        bj_cluster_label(v->user, &user)};
    const bool again = bj_group_find(&w->group[BJ_CL_SHARES], key);
    struct bj_share_stat *s =
        bj_cluster_single(w, BJ_CL_SHARES, key[0], key[1], none);
    if (!s)
        return 0;
    if (!again) {
        s->shares = s->usage = s->norm_ppm = s->used_ppm = BJ_ABSENT;
        s->fairshare_ppm = v->fairshare_ppm;
        s->level_ppm = v->level_ppm;
    }
    bj_cluster_add(&s->shares, v->shares);
    bj_cluster_add(&s->usage, v->usage);
    bj_cluster_add(&s->norm_ppm, v->norm_ppm);
    bj_cluster_add(&s->used_ppm, v->used_ppm);
    /* One association for each partition: which one counts depends on the job,
     * so factors that differ are unknown. */
    if (s->fairshare_ppm != v->fairshare_ppm)
        s->fairshare_ppm = BJ_ABSENT;
    if (s->level_ppm != v->level_ppm)
        s->level_ppm = BJ_ABSENT;
    return 0;
}

static int cluster_share_line(struct bj_cluster_work *w, struct bj_slice line)
{
    struct bj_share v;
    return bj_share_parse(line, &v) < 0 ? -EINVAL : bj_cluster_add_share(w, &v);
}

/* GPUs of a limit; absent where there is none. */
static uint64_t gpu_limit(const struct bj_tres_list *list)
{
    static const struct bj_slice gpu = {"gpu", 3};
    for (unsigned i = 0; i < list->n; i++)
        if (list->v[i].type == BJ_TRES_GRES &&
            bj_slice_eq(list->v[i].name, gpu))
            return bj_tres_sum(list, BJ_TRES_GRES, gpu, NULL);
    return BJ_ABSENT;
}

static void take_limits(const struct bj_limits *v, struct bj_limit_stat *s)
{
    s->jobs = v->jobs;
    s->submit = v->submit;
    s->max_jobs = v->max_jobs;
    s->max_submit = v->max_submit;
    s->cpus = bj_tres_get(&v->group, BJ_TRES_CPU);
    s->nodes = bj_tres_get(&v->group, BJ_TRES_NODE);
    s->mem_bytes = bj_tres_get(&v->group, BJ_TRES_MEM);
    s->gpus = gpu_limit(&v->group);
    s->max_cpus = bj_tres_get(&v->max, BJ_TRES_CPU);
    s->max_nodes = bj_tres_get(&v->max, BJ_TRES_NODE);
    s->max_mem_bytes = bj_tres_get(&v->max, BJ_TRES_MEM);
    s->max_gpus = gpu_limit(&v->max);
}

int bj_cluster_add_limits(struct bj_cluster_work *w, const struct bj_limits *v)
{
    struct bj_label account, user, partition;
    /* One database may serve several clusters. */
    if (!is_reported(w, v->user) || !bj_slice_eq(w->name, v->cluster))
        return 0;
    struct bj_limit_stat *s = bj_cluster_single(
        w, BJ_CL_LIMITS, bj_cluster_label(v->account, &account),
        bj_cluster_label(v->user, &user),
        bj_cluster_label(v->partition, &partition));
    if (!s)
        return 0;
    take_limits(v, s);
    return 0;
}

int bj_cluster_limit_line(struct bj_cluster_work *w, struct bj_slice line)
{
    struct bj_limits v;
    return bj_limits_parse(line, &v) < 0 ? -EINVAL
                                         : bj_cluster_add_limits(w, &v);
}

/* --- partitions -----------------------------------------------------------*/

int bj_cluster_add_queue(struct bj_cluster_work *w,
                         const struct bj_pbs_queue *v)
{
    struct bj_label l;
    struct bj_partition_stat *s = bj_cluster_single(
        w, BJ_CL_PARTITIONS, bj_cluster_label(v->name, &l), none, none);
    if (!s)
        return 0;
    s->enabled = v->enabled;
    s->started = v->started;
    return 0;
}

/* --- constants ------------------------------------------------------------*/

/* Constants of this cluster override those of all clusters. Errors are reported
 * in the first of the two rounds. */
static int take_constants(struct bj_cluster_work *w, const char *file,
                          struct bj_slice text, bool own)
{
    struct bj_constants c = {.text = text, .file = file};
    struct bj_constant v;
    struct bj_err err = {0};
    struct bj_label l;
    int r;
    while ((r = bj_constants_next(&c, &v, &err)) != 0) {
        if (r > 0 && v.micro < 0)
            r = bj_err_set(&err, -EINVAL, "%s:%" PRIu64 ": it is below 0", file,
                           c.line);
        if (r < 0 && !own && w->bad++ == 0)
            w->complaint = err;
        if (r < 0 || (v.cluster.n > 0) != own ||
            (own && !bj_slice_eq(v.cluster, w->name)))
            continue;
        struct bj_constant_stat *s = bj_cluster_single(
            w, BJ_CL_CONSTANTS, bj_cluster_label(v.name, &l), none, none);
        if (s) {
            s->micro = (uint64_t)v.micro;
            s->period_sec = v.period_sec;
        }
        w->good++;
    }
    return w->part->arena.failed ? -ENOMEM : 0;
}

int bj_cluster_read_constants(struct bj_cluster_work *w, const char *file,
                              struct bj_slice text)
{
    int r = take_constants(w, file, text, false);
    return r < 0 ? r : take_constants(w, file, text, true);
}

/* --- the readers ----------------------------------------------------------*/

/* The sources of the cluster collector: for each its command, its slurmrestd
 * path and its parser. */

const struct bj_cluster_reader bj_cluster_readers[BJ_CLUSTER_SOURCES] = {
    [BJ_CLUSTER_CONFIG] = {.name = "config",
                           .argv = bj_slurm_config_argv,
                           .path = "ping",
                           .json = BJ_SLURMJSON_PING,
                           .line = cluster_text_line,
                           .end = cluster_config_end,
                           .slow = true},
    [BJ_CLUSTER_RESERVATIONS] = {.name = "reservations",
                                 .argv = bj_reservations_argv,
                                 .path = "reservations",
                                 .json = BJ_SLURMJSON_RESERVATIONS,
                                 .line = cluster_reservation_line},
    [BJ_CLUSTER_QUEUE] = {.name = "queue",
                          .argv = bj_squeue_argv,
                          .path = "jobs",
                          .json = BJ_SLURMJSON_JOBS,
                          .line = bj_cluster_queue_line},
    [BJ_CLUSTER_NODES] = {.name = "nodes",
                          .argv = bj_sinfo_argv,
                          .path = "nodes",
                          .json = BJ_SLURMJSON_NODES,
                          .line = bj_cluster_node_line},
    [BJ_CLUSTER_DIAG] = {.name = "diag",
                         .argv = bj_sdiag_argv,
                         .path = "diag",
                         .json = BJ_SLURMJSON_DIAG,
                         .line = cluster_text_line,
                         .end = cluster_diag_end},
    [BJ_CLUSTER_LICENSES] = {.name = "licenses",
                             .argv = bj_licenses_argv,
                             .path = "licenses",
                             .json = BJ_SLURMJSON_LICENSES,
                             .line = cluster_license_line},
    [BJ_CLUSTER_SHARES] = {.name = "shares",
                           .argv = bj_shares_argv,
                           .path = "shares",
                           .json = BJ_SLURMJSON_SHARES,
                           .line = cluster_share_line,
                           .slow = true},
    [BJ_CLUSTER_PARTITIONS] = {.name = "partitions",
                               .argv = bj_qstat_queues_argv,
                               .json = BJ_SLURMJSON_KINDS,
                               .line = bj_cluster_no_line},
    [BJ_CLUSTER_CONSTANTS] = {.name = "constants", .json = BJ_SLURMJSON_KINDS},
    [BJ_CLUSTER_LIMITS] = {.name = "limits",
                           .argv = bj_limits_argv,
                           .path = "associations",
                           .db = true,
                           .json = BJ_SLURMJSON_LIMITS,
                           .line = bj_cluster_limit_line,
                           .slow = true},
};
