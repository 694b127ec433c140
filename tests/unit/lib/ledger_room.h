/* A small node for tests of the ledger. */
#ifndef BJ_TESTS_UNIT_LEDGER_ROOM_H
#define BJ_TESTS_UNIT_LEDGER_ROOM_H

#include "core/energy/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define J UINT64_C(1000000)
#define SEC UINT64_C(1000000)
#define GIB (UINT64_C(1) << 30)
#define NONE BJ_ABSENT

/* A ledger, its next tick and its sums. */
struct ledger_rig {
    struct bj_ledger *l;
    struct bj_tick t;
    struct bj_ledger_sums s;
};

static inline struct ledger_rig ledger_rig_new(uint64_t idle_watts)
{
    struct bj_ledger_conf conf = {.idle_uw = idle_watts * J,
                                  .cpus = 10,
                                  .mem_bytes = 100 * GIB,
                                  .patience_usec = 30 * SEC};
    struct ledger_rig r = {.l = bj_ledger_new(&conf)};
    assert_non_null(r.l);
    r.t = (struct bj_tick){.total_uj = {0, NONE, NONE, NONE}, .node_uj = NONE};
    return r;
}

/* A tick sec seconds later, with uj more energy of the CPUs and cpu_sec more
 * CPU time. */
static inline void tick(struct ledger_rig *r, uint64_t sec, uint64_t uj,
                        uint64_t cpu_sec)
{
    r->t.now_usec += sec * SEC;
    r->t.total_uj[BJ_ENERGY_CPU] += uj;
    r->t.cpu_usec += cpu_sec * SEC;
    bj_ledger_tick(r->l, &r->t);
    bj_ledger_sums(r->l, &r->s);
}

/* Add a reading of the node's meter, uj higher, to the next tick. */
static inline void add_node_reading(struct ledger_rig *r, uint64_t uj)
{
    if (r->t.node_uj == NONE)
        r->t.node_uj = 0;
    r->t.node_uj += uj;
    r->t.node_stamp_usec++;
}

static inline struct bj_account *open_job(struct ledger_rig *r, const char *key,
                                          bool whole)
{
    return bj_ledger_open(r->l, bj_slice_str(key), whole);
}

static inline void use_cpu(struct bj_account *a, uint64_t cpu_sec,
                           uint64_t cpus)
{
    struct bj_job_use u = {cpu_sec * SEC, NONE, cpus, NONE};
    bj_account_use(a, &u);
}

static inline uint64_t cpu_uj(const struct bj_account *a, enum bj_policy p)
{
    return bj_account_uj(a, p, BJ_ENERGY_CPU);
}

static inline void ledger_rig_free(struct ledger_rig *r)
{
    bj_ledger_free(r->l);
}

#endif
