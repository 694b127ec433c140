/* The ledger: attributes the energy of a node to its jobs, exactly.
 *
 * Integer arithmetic only: no files, clocks, threads or locks.
 *
 * Input (bj_ledger_tick): totals in microjoules of each metered component, the
 * total of the whole node if a meter measures it, and the use of each job.
 * Output, for each component: an account per job and three more: system,
 * unallocated and deficit.  At any time
 *
 *     jobs + dropped + system + unallocated + pending = taken
 *
 * for each component and policy, to the microjoule, where taken is the sum of
 * the input, and for other it is
 *
 *     node - (cpu + dram + gpu, as settled with the node) + deficit
 *
 * pending is not attributed yet: a node meter is slower than the ticks, so the
 * deltas of components and of the jobs' use are held until the next reading of
 * the node and attributed then.  The window also stays open while a known meter
 * has no value, until it returns or patience_usec is over.
 *
 * Attribution of a window of length dt (docs/energy.md):
 *   static   S = min(host, idle power * dt) of host = cpu + dram + other, taken
 *            from these in proportion; to jobs by their reserved share of the
 *            node, r = max(cpus/cpus, mem/mem), at most 1; what is not
 *            reserved is unallocated; a sum above the node is scaled down.
 *   dynamic  the rest: cpu and other by CPU time used, dram by memory times
 *            time; what no job used is system's.
 *   hybrid = both; usage = all of it dynamic; reservation = all of it static.
 * Each component is divided separately.  Remainders go to the largest fractions
 * (ties: to the first), so every sum is exact and no share is off by a
 * microjoule.  A job counts half in the interval between two ticks in which it
 * began or ended (reservation and memory; its CPU time is exact).  gpu is not
 * divided here: bj_account_gpu adds it to the accounts of its holders, and the
 * rest is unallocated. */
#ifndef BJ_CORE_ENERGY_LEDGER_H
#define BJ_CORE_ENERGY_LEDGER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/model/record.h"

#include <stdbool.h>

enum bj_component {
    BJ_ENERGY_CPU,
    BJ_ENERGY_DRAM,
    BJ_ENERGY_GPU,
    BJ_ENERGY_OTHER,
    BJ_COMPONENTS
};
extern const char *const bj_component_names[BJ_COMPONENTS];

enum bj_policy { BJ_HYBRID, BJ_USAGE, BJ_RESERVATION, BJ_POLICIES };
extern const char *const bj_policy_names[BJ_POLICIES];

struct bj_ledger;
struct bj_account;

struct bj_ledger_conf {
    uint64_t idle_uw;   /* power of the host (no gpu) without jobs; 0: learn */
    uint64_t cpus;      /* of the node; 0, BJ_ABSENT: unknown, shares then come
                           from memory alone */
    uint64_t mem_bytes; /* the same */
    uint64_t patience_usec; /* after this time without new values of a meter,
                               the window is closed without it.
                               0: three minutes */
};

/* Input of a tick.  Totals never fall; BJ_ABSENT: no meter, or no sample this
 * time.  If a meter returns within patience_usec, its energy since the last
 * value belongs to the window that waited for it.  If it returns later, or with
 * a lower total, it continues from its new value (see missed_uj).  A new
 * reading of the node with an unchanged total means a gap: the window is closed
 * without the node. */
struct bj_tick {
    uint64_t now_usec;                /* CLOCK_BOOTTIME */
    uint64_t total_uj[BJ_COMPONENTS]; /* cpu, dram, gpu; other is ignored */
    uint64_t node_uj;
    uint64_t node_stamp_usec; /* of the reading of node_uj: a new one ends the
                                 window */
    uint64_t cpu_usec;        /* used by the whole node, or BJ_ABSENT */
    uint64_t mem_bytes;       /* the same */
    bool held[BJ_COMPONENTS]; /* some energy is held back (accum.h), which the
                                 total does not include: the window waits for
                                 it; other: of the node */
    bool suspended; /* the machine was suspended since the last tick */
};

/* NULL: no memory. */
struct bj_ledger *bj_ledger_new(const struct bj_ledger_conf *conf);
void bj_ledger_free(struct bj_ledger *l); /* with all accounts */

/* Open the account of a job.  key is unique in this boot (job id and the inode
 * of its cgroup).  If the state file has an account with this key, it is used
 * and keeps its totals.  whole: the job began after the last tick, so its whole
 * use belongs to this window; else its use counts from the first
 * bj_account_use.  NULL: no memory. */
struct bj_account *bj_ledger_open(struct bj_ledger *l, struct bj_slice key,
                                  bool whole);

/* The CPU time of a job so far (never falls; BJ_ABSENT: unknown this time), its
 * current memory, and its reservation.  Set it before each tick. */
struct bj_job_use {
    uint64_t cpu_usec, mem_bytes;
    uint64_t cpus, mem_limit_bytes; /* BJ_ABSENT: no such reservation */
};
void bj_account_use(struct bj_account *a, const struct bj_job_use *use);

/* Add the energy of a job's accelerators since the last call, before the tick
 * that includes it.  If the tick has no total for gpu, the sum of these is the
 * total. */
void bj_account_gpu(struct bj_account *a, uint64_t delta_uj);

/* The job has ended; its account is still part of the open window.  Its last
 * use may be set until the next tick. */
void bj_account_close(struct bj_account *a);

/* Energy of accelerators from before the job's end will be added later
 * (bj_account_gpu): while lingers is set, the account does not become final.
 * It gets no other energy. */
void bj_account_linger(struct bj_account *a, bool lingers);

/* The key of an account. */
struct bj_slice bj_account_key(const struct bj_account *a);

/* True after the window in which it was closed was attributed: its totals are
 * final. */
bool bj_account_final(const struct bj_account *a);

/* Free an account.  Its energy counts as dropped. */
void bj_ledger_drop(struct bj_ledger *l, struct bj_account *a);

void bj_ledger_tick(struct bj_ledger *l, const struct bj_tick *tick);

/* Totals in microjoules. */
uint64_t bj_account_uj(const struct bj_account *a, enum bj_policy p,
                       enum bj_component c);
/* Part of the totals was attributed after a restart for a time without ticks,
 * or is missing for such a time (the account was opened again after the first
 * tick). */
bool bj_account_flagged(const struct bj_account *a);

struct bj_ledger_sums {
    uint64_t system_uj[BJ_POLICIES][BJ_COMPONENTS];
    uint64_t unallocated_uj[BJ_POLICIES][BJ_COMPONENTS];
    uint64_t dropped_uj[BJ_POLICIES][BJ_COMPONENTS]; /* of dropped accounts */
    uint64_t pending_uj[BJ_COMPONENTS];
    uint64_t taken_uj[BJ_COMPONENTS];  /* all input, and other */
    uint64_t alone_uj[BJ_COMPONENTS];  /* the part of taken_uj in windows that
                                          were closed without the node */
    uint64_t missed_uj[BJ_COMPONENTS]; /* counted by a meter after the window no
                                          longer waited for it: attributed to no
                                          job */
    uint64_t node_uj;                  /* of windows closed with a reading of
                                          the node */
    uint64_t node_missed_uj;
    uint64_t deficit_uj; /* components minus node, where positive */
    uint64_t idle_uw;    /* in use; 0: unknown */
    bool idle_learnt;    /* idle_uw was learned, not configured */
    uint64_t windows;
    uint64_t tick_usec; /* boot clock of the last tick, even before a restart: a
                           job that began later is whole */
};
void bj_ledger_sums(const struct bj_ledger *l, struct bj_ledger_sums *ret);

/* Append the state as text for a file: totals, open window, learned idle power,
 * boot id, and lines of the caller (the position of each zone's accumulator; a
 * missing final newline is added).  Save it before new totals are shown, so
 * that they never fall after a crash. */
void bj_ledger_save(const struct bj_ledger *l, struct bj_slice boot_id,
                    struct bj_slice extra, struct bj_buf *out);

/* Read a state into a new ledger.  -EBADMSG, with the line, for text that is
 * damaged, truncated or foreign; -ENOMEM; the ledger is then unchanged.
 * *ret_extra, the caller's lines, points into text.  With another or an empty
 * boot id only the learned idle power is used, and *ret_same_boot is false.  In
 * the same boot, the next tick's deltas cover the time since the state was
 * written; they are attributed to the jobs that exist before and after, whose
 * accounts are flagged.  Loaded accounts sleep until bj_ledger_open, which must
 * be before the first tick for their use to continue; the caller drops those
 * that it does not open (bj_ledger_unopened). */
int bj_ledger_load(struct bj_ledger *l, struct bj_slice text,
                   struct bj_slice boot_id, struct bj_slice *ret_extra,
                   bool *ret_same_boot, struct bj_err *err);

/* Does an account from a state file that is not opened yet have that key? */
bool bj_ledger_is_unopened(const struct bj_ledger *l, struct bj_slice key);

/* An account that is not opened yet, and its key; NULL: none.  If no job opens
 * it, its job ended while the program did not run: read its totals, then drop
 * it. */
struct bj_account *bj_ledger_unopened(const struct bj_ledger *l,
                                      struct bj_slice *ret_key);

#endif
