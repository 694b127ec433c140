/* Conditions that hold for all sums over a cluster: parts add up to the whole,
 * and no two series have the same labels. */
#ifndef BJ_TESTS_FUZZ_FUZZ_CLUSTER_H
#define BJ_TESTS_FUZZ_FUZZ_CLUSTER_H

#include "core/cluster/part.h"
#include "tests/fuzz/fuzz.h"

/* hosts: whether jobs by host are checked; Slurm up to 22.05 does not report
 * the host. brief: a command of the site reported the jobs, without QOS, host
 * and reservation. */
static inline void check_jobs(const struct bj_cluster_part *p, bool hosts,
                              bool brief)
{
    uint64_t whole = 0;
    for (unsigned k = BJ_CL_JOBS; k <= BJ_CL_RESERVATION_JOBS; k++) {
        if ((k == BJ_CL_HOST_JOBS && !hosts) ||
            (brief && (k == BJ_CL_QOS_JOBS || k == BJ_CL_HOST_JOBS ||
                       k == BJ_CL_RESERVATION_JOBS)))
            continue;
        const struct bj_jobs_stat *v = p->list[k].v;
        uint64_t jobs = 0;
        for (size_t i = 0; i < p->list[k].n; i++)
            bj_cluster_add(&jobs, v[i].jobs);
        whole = k == BJ_CL_JOBS ? jobs : whole;
        MUST(jobs == whole);
    }
}

static inline void check_nodes(const struct bj_cluster_part *p)
{
    for (unsigned k = BJ_CL_NODES; k <= BJ_CL_EACH_NODE; k++) {
        const struct bj_nodes_stat *v = p->list[k].v;
        for (size_t i = 0; i < p->list[k].n; i++)
            MUST(v[i].cpus >= BJ_ABSENT - 1 ||
                 v[i].cpus ==
                     v[i].cpus_allocated + v[i].cpus_idle + v[i].cpus_other);
    }
    for (unsigned k = BJ_CL_GPUS; k <= BJ_CL_EACH_NODE_GPUS; k++) {
        const struct bj_gpus_stat *v = p->list[k].v;
        for (size_t i = 0; i < p->list[k].n; i++)
            MUST(v[i].gpus >= BJ_ABSENT - 1 ||
                 v[i].gpus ==
                     v[i].allocated + v[i].idle + v[i].blocked + v[i].other);
    }
}

static inline void check_keys(const struct bj_cluster_work *w)
{
    for (unsigned k = 0; k < BJ_CL_LISTS; k++) {
        const struct bj_list *l = &w->part->list[k];
        for (size_t i = 0; i < l->n; i++) {
            const struct bj_sub *a =
                (const void *)((const char *)l->v + i * w->group[k].size);
            const struct bj_sub *b =
                (const void *)((const char *)a + w->group[k].size);
            bool same = i + 1 < l->n;
            for (int x = 0; x < BJ_SUB_KEYS; x++) {
                MUST(a->key[x].n <= BJ_LABEL_MAX);
                MUST(!a->key[x].p || a->key[x].p[a->key[x].n] == '\0');
                same = same && bj_slice_eq(a->key[x], b->key[x]);
            }
            MUST(!same);
        }
    }
}

#endif
