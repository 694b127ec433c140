/* A node that lives at random, and an oracle of what the ledger must make of
 * it: for test_ledger_property.c. */
#ifndef BJ_TESTS_UNIT_LEDGER_ORACLE_H
#define BJ_TESTS_UNIT_LEDGER_ORACLE_H

#include "core/energy/accum.h"
#include "core/energy/ledger.h"

#define SEC UINT64_C(1000000)
#define GIB (UINT64_C(1) << 30)
#define NONE BJ_ABSENT

enum { MAX_JOBS = 200, TICKS = 240, NODE_CPUS = 64 };
enum { R, U, M, G, KINDS }; /* reserved, CPU time, memory, gpu */

struct job {
    struct bj_account *account; /* NULL: this place is free */
    bool born, whole, closed, ended, involved, flagged;
    char key[24];
    uint64_t cpu_usec, mem, cpus, limit;
    uint64_t seen_cpu, seen_mem;
    long double w[KINDS]; /* in the oracle's window */
    uint64_t before[BJ_POLICIES][BJ_COMPONENTS];
};

/* A counter as RAPL shows it. */
struct counter {
    struct bj_accum accum;
    uint64_t raw, range;
    uint64_t want;   /* what the accumulator must have */
    uint64_t unread; /* since it was read last */
    bool reset;      /* since then */
    unsigned lost;   /* samples in a row */
};

enum gpu { GPU_NONE, GPU_TOTAL, GPU_TOLD };

struct node {
    uint64_t random;
    struct bj_ledger *l;
    struct bj_ledger_conf conf;
    struct job job[MAX_JOBS];
    unsigned serial, max_jobs, busy_percent, arrival_percent;
    struct counter counter[2]; /* cpu, dram */
    enum gpu gpu;
    bool has_node;
    unsigned node_percent; /* of the components; below 100 it is a deficit */
    uint64_t now, last_now, interval;
    uint64_t gpu_uj, told_uj, node_uj, node_shown, node_stamp;
    unsigned node_wait, node_dead;
    uint64_t cpu_usec, root_usec, seen_root, mem, seen_mem; /* NONE: unknown */
    bool first, resumed, gap;
    uint64_t given[BJ_COMPONENTS], base[BJ_COMPONENTS]; /* other: the node */
    long double u_node, m_node, span;
    struct bj_ledger_sums sums; /* after the last tick */
    unsigned windows, restarts, wraps, resets, deficits, checked;
};

/* Count what a job has used in a tick that is dt long. */
void oracle_weigh(struct node *n, struct job *j, long double dt);

/* The window that was just settled, worked out again: no receiver may be a
 * microjoule off.  is: the sums after it. */
void oracle_window(struct node *n, const struct bj_ledger_sums *is);

/* Every microjoule is somewhere; nothing falls. */
void oracle_sums(struct node *n, const struct bj_ledger_sums *is);

#endif
