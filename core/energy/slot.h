/* A slot: meters that are alternatives of each other, one of which is read.
 * Internal to meters.c. */
#ifndef BJ_CORE_ENERGY_SLOT_H
#define BJ_CORE_ENERGY_SLOT_H

#include "core/energy/accum.h"
#include "core/host.h"

enum { BJ_SLOT_KINDS = 4, BJ_METER_FAULTS = 5 };
extern const char *const bj_meter_fault_names[BJ_METER_FAULTS];

struct bj_meter_zone {
    char name[BJ_ZONE_NAME];
    enum bj_zone_role role;
    struct bj_accum accum;
};

/* What is known of a slot.  Copied out under its lock. */
struct bj_slot_view {
    const struct bj_meter_kind *kind; /* open, or the last that was; NULL */
    bool running;                     /* it is open */
    bool ran, failing;
    uint64_t good_usec, duration_usec, faults[BJ_METER_FAULTS];
    uint64_t period_usec; /* pace at which it is read */
    size_t nzones;
    struct bj_meter_zone zone[BJ_ZONES_MAX];
};

struct bj_slot;

/* kinds: n alternatives, in the order of trust.  The environment's conf is
 * copied. */
int bj_slot_new(const struct bj_meter_kind *const *kinds, size_t n,
                const struct bj_meter_env *env, const struct bj_host *host,
                struct bj_slot **ret);
void bj_slot_free(struct bj_slot *s); /* waits two seconds at most */

/* While it has no meter: look whether there may be one now, and start to read
 * it.  True when it is being read. */
bool bj_slot_look(struct bj_slot *s, uint64_t now_usec);

/* Read it, when it is a fast one. */
void bj_slot_tick(struct bj_slot *s, uint64_t now_usec);

/* The machine has slept: no zone's counter can be trusted over it. */
void bj_slot_slept(struct bj_slot *s);

/* Whether there is anything to view: it was read, or restored. */
bool bj_slot_told(struct bj_slot *s);

/* Zones without a sample for three periods have power BJ_ABSENT in it. */
void bj_slot_view(struct bj_slot *s, uint64_t now_usec,
                  struct bj_slot_view *ret);

void bj_slot_view_copy(struct bj_slot_view *to,
                       const struct bj_slot_view *from);

/* A zone goes on from this state, which was told by that kind.  Before the
 * first look.  -ENOENT when it is none of the slot's. */
int bj_slot_restore(struct bj_slot *s, struct bj_slice kind,
                    const struct bj_meter_zone *zone);

#endif
