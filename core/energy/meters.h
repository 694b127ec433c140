/* The power meters of this machine: finds, reads and sums them.
 *
 * Meters that measure the same thing (the protocols of one BMC) are
 * alternatives: the first one that works is read.  Each slow meter has a
 * thread, which provides its newest sample; fast meters are read in place. */
#ifndef BJ_CORE_ENERGY_METERS_H
#define BJ_CORE_ENERGY_METERS_H

#include "base/buf.h"
#include "core/copies.h"
#include "core/core.h"
#include "core/energy/meter.h"

struct bj_meters;

/* The kinds of meters, in the order of preference; NULL after the last one. */
const struct bj_meter_kind *bj_meters_kind(size_t i);

/* Energy of one role, from its preferred meter: the first in the order of
 * preference with a recent value. */
struct bj_role_total {
    uint64_t uj;         /* since the start, also across changes of the meter */
    uint64_t power_uw;   /* BJ_ABSENT: not known */
    uint64_t stamp_usec; /* of its newest sample */
    const char *source;  /* kind's name; NULL: no meter has a value now */
    bool partial;
    bool held; /* some energy is held back (accum.h): uj does not include it */
};

enum { BJ_ROLES = BJ_ZONE_NODE + 1 }; /* number of roles that are summed */

struct bj_totals {
    struct bj_role_total role[BJ_ROLES];
};

/* conf has the names of kinds (-EINVAL: unknown name); it and host must outlive
 * the meters.  A thread is only started for an existing slow meter. */
int bj_meters_new(const struct bj_conf *conf, const struct bj_host *host,
                  struct bj_meters **ret, struct bj_err *err);
/* Stop the threads.  A thread that hangs in the kernel is abandoned after two
 * seconds, with its memory.  NULL is fine. */
void bj_meters_free(struct bj_meters *m);

/* Search for further meters, at most once a minute; cheap.  True while a meter
 * exists. */
bool bj_meters_search(struct bj_meters *m, uint64_t now_usec);

/* For pages, as in core/poller.h: the meters with a thread.  hurry: true if any
 * is worth waiting for.  await may be called without the core's lock. */
bool bj_meters_hurry(struct bj_meters *m, uint64_t now_usec, uint64_t gap_usec);
void bj_meters_await(struct bj_meters *m, uint64_t end_usec);
void bj_meters_page(struct bj_meters *m, uint64_t now_usec, uint64_t gap_usec);

/* Append the names of open meters, each after " " or ", "; false: none is
 * open. */
bool bj_meters_names(const struct bj_meters *m, struct bj_buf *out);

/* Read the fast meters, and take the newest samples of the slow ones, into a
 * copy (core/copies.h).  slept: the machine was suspended since the last
 * reading.  gpu_uj: total energy that the drivers of accelerators report;
 * BJ_ABSENT: none.
 *
 * A meter of the node that measures less than processors and memory (and
 * accelerators, unless it is partial) together is not used for the node. */
void bj_meters_read(struct bj_meters *m, unsigned copy, uint64_t now_usec,
                    bool slept, uint64_t gpu_uj, struct bj_totals *ret);

/* Publish a copy. */
void bj_meters_publish(const struct bj_meters *m, unsigned copy,
                       uint64_t now_usec, struct bj_snap *snap);

/* Save the positions of all counters in a copy of the last reading as lines of
 * text, and load them.  Unknown lines are skipped. */
void bj_meters_save(const struct bj_meters *m, unsigned copy,
                    struct bj_buf *out);
void bj_meters_load(struct bj_meters *m, struct bj_slice text);

#endif
