/* Power meters: the interface of each kind of meter.
 *
 * A meter returns raw samples of zones; wraps, resets, gaps, threads,
 * deadlines, back-off and errors are handled in one place for all kinds
 * (accum.h, meters.h).  Each kind has a file and a line in
 * meter_list.h. */
#ifndef BJ_CORE_ENERGY_METER_H
#define BJ_CORE_ENERGY_METER_H

#include "base/err.h"
#include "base/slice.h"
#include "core/energy/conf.h"
#include "core/energy/meter_list.h"
#include "core/model/record.h"

#include <stdatomic.h>
#include <stdbool.h>

/* What a zone measures. */
enum bj_zone_role {
    BJ_ZONE_CPU,      /* processor packages */
    BJ_ZONE_DRAM,     /* memory, if the package does not include it */
    BJ_ZONE_GPU,      /* accelerators */
    BJ_ZONE_NODE,     /* the whole node, all of the above included */
    BJ_ZONE_PLATFORM, /* the node without some of its parts (psys, a module):
                         used as the node, and marked partial */
    BJ_ZONE_PART,     /* part or copy of another zone: shown, not added */
    BJ_ZONE_ROLES
};

enum { BJ_ZONES_MAX = 64, BJ_ZONE_NAME = 48 };

/* The current values of a zone, as its source reports them.  Unknown fields are
 * BJ_ABSENT. */
struct bj_zone_sample {
    char name[BJ_ZONE_NAME]; /* unique in its meter; [a-z0-9_.-] */
    char id[BJ_ZONE_NAME];   /* as the source writes it; empty: none */
    enum bj_zone_role role;
    uint64_t energy_uj;  /* counter, 0 .. range_uj */
    uint64_t range_uj;   /* the counter wraps to 0 after this value; absent:
                            never */
    uint64_t power_uw;   /* level; may be an average over the source's period */
    uint64_t limit_uw;   /* active power limit */
    uint64_t max_uw;     /* maximum power of the zone, to check values */
    uint64_t stamp_usec; /* CLOCK_BOOTTIME of the measurement; absent: time of
                            the read */
    bool restarted;      /* the counter began again since the last sample */
};

struct bj_meter_sample {
    size_t n;
    struct bj_zone_sample zone[BJ_ZONES_MAX];
};

/* The environment of a meter. */
struct bj_meter_env {
    const struct bj_energy_conf *conf;
    const char *procfs, *sysfs, *devfs; /* mount points */
    bool forced;             /* named by an option, not tried automatically */
    const atomic_bool *stop; /* true: give up soon, with -ECANCELED */
};

/* A kind of meter.  All functions of a meter are called from one thread. */
struct bj_meter_kind {
    const char *name; /* value of --energy.meter and label "meter" */
    bool slow;        /* may block for longer than a millisecond: gets a thread
                         and the period of conf->slow_usec */
    /* Whether such a meter may exist: a file exists, an option is set.  Cheap,
     * never blocks; called periodically until a meter is found.  NULL:
     * always. */
    bool (*present)(const struct bj_meter_env *env);
    /* Open the meter.  Returns 0 and *ret; -ENODEV if this machine has no such
     * meter (not logged, tried again at a long interval); else an error with a
     * message. */
    int (*open)(const struct bj_meter_env *env, void **ret, struct bj_err *err);
    /* Fill *out, which is zeroed with n = 0 before.  Zones may come and go.
     * Returns 0, or the kind of fault:
     *   -ETIMEDOUT  no response before the deadline   (timeout)
     *   -EIO etc.   the system refused                (io)
     *   -EACCES     -EPERM                            (denied)
     *   -EBADMSG    an invalid reply                  (protocol)
     *   -ERANGE     an impossible value               (implausible)
     *   -ENODEV     the meter has gone: closed, and opened again later
     *   -ECANCELED  env->stop was set
     * After an error of one zone return the others and the error; both are
     * used. */
    int (*read)(void *m, struct bj_meter_sample *out, struct bj_err *err);
    void (*close)(void *m);
    /* For docs/energy.md. */
    const char *reads;     /* a protocol, or files */
    const char *reports;   /* values; of a local meter zones and roles */
    const char *automatic; /* when it is used without being named; NULL: a local
                              meter, always */
};

#define BJ_METER_DECLARE(name)                                                 \
    extern const struct bj_meter_kind bj_meter_##name;
BJ_METERS(BJ_METER_DECLARE, )
#undef BJ_METER_DECLARE

/* --- zone ---*/

/* Functions for the zones of all meters. */

/* Initialise a zone with a name and role; all values are unknown. */
void bj_zone_init(struct bj_zone_sample *z, const char *name,
                  enum bj_zone_role role);

/* Append a zone to a reading; NULL: no room. */
struct bj_zone_sample *bj_zone_add(struct bj_meter_sample *out,
                                   const struct bj_zone_sample *z);

/* Make a zone's name from text: lower case, each run of invalid characters
 * becomes one '_', none at the end, cut to BJ_ZONE_NAME-1 bytes. */
void bj_zone_name(char dst[BJ_ZONE_NAME], struct bj_slice text);

/* Keep the first fault of a reading that continues with other zones: *first is
 * initially 0; e belongs to r (negative). */
void bj_zone_fault(int *first, struct bj_err *err, int r,
                   const struct bj_err *e);

#endif
