/* The power meters of this machine: found, read, summed.
 *
 * Meters that see the same thing in different ways (the commands to one BMC)
 * are alternatives: the first that works is read.  Slow ones have a thread
 * each and hand over their newest sample; fast ones are read in place. */
#ifndef BJ_CORE_ENERGY_METERS_H
#define BJ_CORE_ENERGY_METERS_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/core.h"
#include "core/energy/meter.h"

struct bj_meters;

/* Energy of one role, of the meter that is believed for it: the first in the
 * order of trust that told it lately. */
struct bj_role_total {
    uint64_t uj;         /* since the start, over changes of the meter too */
    uint64_t power_uw;   /* BJ_ABSENT: not known */
    uint64_t stamp_usec; /* of its newest sample */
    const char *source;  /* kind's name; NULL: no meter tells it now */
    bool partial;
};

enum { BJ_ROLES = BJ_ZONE_NODE + 1 }; /* those that are summed */

struct bj_totals {
    struct bj_role_total role[BJ_ROLES];
};

/* conf names the kinds (-EINVAL for a name that is none); it and host must
 * outlive the meters.  Without any meter there is no thread. */
int bj_meters_new(const struct bj_conf *conf, const struct bj_host *host,
                  struct bj_meters **ret, struct bj_err *err);
/* Stop the threads.  One that is stuck in the kernel is left behind after two
 * seconds with what it owns.  NULL is fine. */
void bj_meters_free(struct bj_meters *m);

/* Look for meters that are not there yet, at most once a minute; cheap.  True
 * while there is any. */
bool bj_meters_look(struct bj_meters *m, uint64_t now_usec);

/* Read the fast ones, take what the slow ones told.  slept: the machine was
 * suspended since the last reading. */
void bj_meters_read(struct bj_meters *m, uint64_t now_usec, bool slept,
                    struct bj_totals *ret);

/* From now on, publish what was read last.  Until then the state before is
 * told: what has been shown must have been saved, or a crash would make
 * counters fall. */
void bj_meters_show(struct bj_meters *m);

void bj_meters_publish(const struct bj_meters *m, uint64_t now_usec,
                       struct bj_arena *arena, struct bj_snap *snap);

/* The positions of all counters at the last reading, as lines of text, and
 * back.  What is not
 * understood is left out. */
void bj_meters_save(struct bj_meters *m, struct bj_buf *out);
void bj_meters_load(struct bj_meters *m, struct bj_slice text);

#endif
