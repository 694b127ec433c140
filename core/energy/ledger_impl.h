/* Shared by ledger.c and ledger_state.c (the state as text). */
#ifndef BJ_CORE_ENERGY_LEDGER_IMPL_H
#define BJ_CORE_ENERGY_LEDGER_IMPL_H

#include "core/energy/ledger.h"

__extension__ typedef unsigned __int128 bj_u128;

/* Bounds that no real value reaches.  They keep every product and every sum
 * below 2^128: values above them are cut; energy above is kept for the next
 * window. */
#define BJ_LEDGER_CPUS_MAX (UINT64_C(1) << 16)
#define BJ_LEDGER_MEM_MAX (UINT64_C(1) << 48)
#define BJ_LEDGER_TIME_MAX (UINT64_C(1) << 42)   /* of a window; 50 days */
#define BJ_LEDGER_ENERGY_MAX (UINT64_C(1) << 61) /* in a window */
#define BJ_LEDGER_TOTAL_MAX (UINT64_MAX / 4)     /* ever */
#define BJ_LEDGER_WEIGHT_MAX ((bj_u128)1 << 108) /* of one receiver */

/* The weights by which energy is divided. */
enum bj_weight { BJ_W_RESERVED, BJ_W_CPU, BJ_W_MEM, BJ_W_GPU, BJ_WEIGHTS };

/* A receiver of energy of a window: a job, the system, or unallocated. */
struct bj_receiver {
    struct bj_account *account; /* NULL: system or unallocated */
    bj_u128 raw[BJ_WEIGHTS];
    uint64_t weight[BJ_WEIGHTS]; /* scaled, so that each sum is below 2^63 */
    uint64_t uj;                 /* its share */
    bj_u128 fraction;            /* the fraction that was cut off uj */
};

/* The receivers of a window; the last two are system and unallocated. */
struct bj_split {
    struct bj_receiver *v;
    uint32_t *order; /* used by bj_split_share; as long as v */
    size_t n;
    uint64_t sum[BJ_WEIGHTS]; /* of the scaled weights, never 0 */
};

struct bj_account {
    struct bj_ledger *ledger;
    struct bj_slice key;
    bool cpu_known;          /* cpu_seen_usec is valid: use counts from it */
    bool born;               /* opened since the last tick */
    bool whole;              /* its whole use belongs to the window */
    bool closed;             /* has ended; the next tick is its last one */
    bool ended;              /* that tick is done */
    bool lingers;            /* energy of accelerators will be added later */
    bool final;              /* its last window is settled */
    bool unopened;           /* from a state file; not opened yet */
    bool flagged;            /* see bj_account_flagged */
    bool involved;           /* in the open window */
    uint64_t cpu_usec;       /* last reported; BJ_ABSENT: never */
    uint64_t cpu_seen_usec;  /* at the last tick */
    uint64_t mem_bytes;      /* last reported; BJ_ABSENT: never */
    uint64_t mem_seen_bytes; /* at the last tick; 0 before it began */
    uint64_t cpus, mem_limit_bytes;
    uint64_t gpu_new_uj; /* since the last tick */
    /* In the open window.  Presence is counted in halves: a tick in which a job
     * began or ended counts half, so that two successive jobs on the same CPUs
     * count as one.  For the same reason memory is twice the trapezoid below
     * two ticks. */
    bj_u128 raw[BJ_WEIGHTS];
    uint64_t total_uj[BJ_POLICIES][BJ_COMPONENTS];
};

/* An input total. */
struct bj_intake {
    uint64_t last_uj;
    bool known;           /* last_uj is valid */
    bool live;            /* the window waits for it */
    uint64_t silent_usec; /* time without a value so far */
};

/* Powers of windows without jobs: a ring. */
enum { BJ_IDLE_SAMPLES = 128 };
struct bj_idle {
    uint64_t uw[BJ_IDLE_SAMPLES];
    uint64_t n, next;
    uint64_t value_uw; /* the resulting idle power; 0: too few */
};

struct bj_ledger {
    struct bj_ledger_conf conf;
    struct bj_account **accounts; /* in the order of opening */
    size_t n, cap;
    size_t unopened;               /* number of accounts that wait for
                                    bj_ledger_open */
    struct bj_receiver *receivers; /* cap + 2 */
    uint32_t *order;

    bool ticked;            /* there was a first tick */
    bool resumed;           /* the next tick is the first after a restart */
    uint64_t tick_usec;     /* of the last tick */
    uint64_t interval_usec; /* between the last two */
    uint64_t cpu_usec, mem_bytes;           /* of the node, at the last tick */
    struct bj_intake intake[BJ_COMPONENTS]; /* BJ_ENERGY_OTHER: the node */
    uint64_t node_stamp_usec; /* of the last reading that was used */
    uint64_t gpu_given_uj;    /* sum of bj_account_gpu since the last tick */

    /* The open window. */
    uint64_t span_usec;   /* its length, without suspended time */
    uint64_t waited_usec; /* as span_usec, without the time of a restart */
    bool odd;             /* not usable for learning idle power */
    bool gap;             /* there was a restart in it */
    bool jobs;            /* there was a job in it */
    bj_u128 node_cpu;     /* used by the whole node, as in BJ_W_CPU */
    bj_u128 node_mem;     /* the same for BJ_W_MEM */

    struct bj_idle idle[2]; /* without and with a reading of the node */
    struct bj_ledger_sums sums;
};

static inline bj_u128 bj_weight_add(bj_u128 a, bj_u128 b)
{
    bj_u128 sum = a + b;
    return sum < BJ_LEDGER_WEIGHT_MAX ? sum : BJ_LEDGER_WEIGHT_MAX;
}

static inline uint64_t bj_min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Compute the idle power from the ring. */
void bj_idle_refresh(struct bj_idle *idle);

/* Add a new account, or one of the state; NULL: no memory. */
struct bj_account *bj_ledger_add(struct bj_ledger *l, struct bj_slice key);

#endif
