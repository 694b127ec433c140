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
#include "core/energy/accum.h"
#include "core/energy/meter.h"
#include "core/host.h"

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

/* --- slot ---*/

/* A slot: alternative meters, one of which is read.
 * Internal to meters.c. */

enum { BJ_SLOT_KINDS = 4, BJ_METER_FAULTS = 5 };
extern const char *const bj_meter_fault_names[BJ_METER_FAULTS];

struct bj_meter_zone {
    char name[BJ_ZONE_NAME], id[BJ_ZONE_NAME];
    enum bj_zone_role role;
    struct bj_accum accum;
};

/* State of a slot, copied under its lock. */
struct bj_slot_view {
    const struct bj_meter_kind *kind; /* kind that is open, or was open last;
                                         NULL: none */
    bool running;                     /* the meter is open */
    bool ran, failing;
    uint64_t good_usec, duration_usec, faults[BJ_METER_FAULTS];
    uint64_t period_usec; /* interval of readings */
    size_t nzones;
    struct bj_meter_zone zone[BJ_ZONES_MAX];
};

struct bj_slot;

/* kinds: n alternatives, in the order of preference. The environment's conf
 * is copied. */
int bj_slot_new(const struct bj_meter_kind *const *kinds, size_t n,
                const struct bj_meter_env *env, const struct bj_host *host,
                struct bj_slot **ret);
void bj_slot_free(struct bj_slot *s); /* waits two seconds at most */

/* Without a meter: check whether one may exist now, and start reading it.  True
 * if a meter is being read. */
bool bj_slot_search(struct bj_slot *s, uint64_t now_usec);

/* Read the meter if it is a fast one. */
void bj_slot_tick(struct bj_slot *s, uint64_t now_usec);

/* For a meter with a thread: the functions of core/poller.h for pages. */
bool bj_slot_hurry(struct bj_slot *s, uint64_t now_usec, uint64_t gap_usec);
void bj_slot_await(struct bj_slot *s, uint64_t end_usec);
void bj_slot_page(struct bj_slot *s, uint64_t now_usec, uint64_t gap_usec);

/* The machine was suspended: counters may have been reset. */
void bj_slot_suspended(struct bj_slot *s);

/* Whether the slot has values, read or restored. */
bool bj_slot_has_values(struct bj_slot *s);

/* Copy the state.  Zones without a sample for three periods have power
 * BJ_ABSENT. */
void bj_slot_view(struct bj_slot *s, uint64_t now_usec,
                  struct bj_slot_view *ret);

/* Restore the state of a zone of that kind, before the first reading.  -ENOENT:
 * the slot does not have this kind. */
int bj_slot_restore(struct bj_slot *s, struct bj_slice kind,
                    const struct bj_meter_zone *zone);

#endif
