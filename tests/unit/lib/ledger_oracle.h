/* A node with random jobs and meters, and an independent computation of what
 * the ledger must attribute: for test_ledger_property.c. */
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
    struct bj_account *account; /* NULL: the slot is free */
    bool is_new, whole, closed, ended, involved, flagged;
    char key[24];
    uint64_t cpu_usec, mem, cpus, limit;
    uint64_t seen_cpu, seen_mem;
    long double w[KINDS]; /* in the oracle's window */
    uint64_t before[BJ_POLICIES][BJ_COMPONENTS];
};

/* A simulated RAPL counter. */
struct counter {
    struct bj_accum accum;
    uint64_t raw, range;
    uint64_t want;   /* the accumulator's expected sum */
    uint64_t unread; /* energy since the last reading */
    uint64_t held;   /* a reading after a fall, not decided yet; NONE */
    bool reset;      /* reset since the last reading */
    unsigned lost;   /* consecutive lost samples */
};

/* Known energy of the GPUs: none, the total and that of each job, or only that
 * of each job. */
enum gpu { GPU_NONE, GPU_TOTAL, GPU_PER_JOB };

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
    uint64_t gpu_uj, reported_uj, node_uj, node_reported_uj, node_stamp;
    unsigned node_wait, node_dead;
    uint64_t cpu_usec, root_usec, seen_root, mem, seen_mem; /* NONE: unknown */
    bool first, resumed, gap;
    /* Last and first value of each meter; other: that of the node. */
    uint64_t meter_uj[BJ_COMPONENTS], first_uj[BJ_COMPONENTS];
    long double node_cpu_weight, node_mem_weight, window_usec;
    struct bj_ledger_sums sums; /* after the last tick */
    unsigned windows, restarts, wraps, resets, deficits, checked;
};

/* Add the usage of a job in a tick of the length dt. */
void oracle_weigh(struct node *n, struct job *j, long double dt);

/* Compute the attribution of the last window again: each job's energy must be
 * equal within a microjoule.  is: the sums after the window. */
void oracle_window(struct node *n, const struct bj_ledger_sums *is);

/* Check that no energy is lost and no sum decreases. */
void oracle_sums(struct node *n, const struct bj_ledger_sums *is);

#endif
