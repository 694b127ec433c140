/* A slot: alternative meters, one of which is read.
 * Internal to meters.c. */
#ifndef BJ_CORE_ENERGY_SLOT_H
#define BJ_CORE_ENERGY_SLOT_H

#include "core/energy/accum.h"
#include "core/host.h"

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
