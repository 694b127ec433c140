/* Small lists of a Slurm cluster: licences, reservations, shares, limits, and
 * the name of the cluster. */
#ifndef BJ_SCHED_SLURMLIST_H
#define BJ_SCHED_SLURMLIST_H

#include "base/slice.h"
#include "sched/tres.h"

#include <stdint.h>

/* Arguments; NULL at the end.  Those with times need SLURM_TIME_FORMAT=%s in
 * their environment. */
extern const char *const bj_licenses_argv[];
extern const char *const bj_reservations_argv[];
extern const char *const bj_shares_argv[];
extern const char *const bj_limits_argv[];
extern const char *const bj_slurm_config_argv[];

/* All line parsers return 0, -EINVAL if the line has another format, -ENOENT if
 * it reports an empty list.  Unknown numbers are BJ_ABSENT. */

struct bj_license {
    struct bj_slice name;
    uint64_t total, used, free, reserved;
    /* of a licence from an external server, as in the database: in use
     * anywhere, and the number in use beyond those given to the clusters */
    uint64_t last_consumed, last_deficit;
};
int bj_license_parse(struct bj_slice line, struct bj_license *ret);

struct bj_reservation {
    struct bj_slice name, nodes, state, flags; /* "n[1-3]", "ACTIVE", "MAINT" */
    uint64_t start_sec, end_sec, node_count, core_count;
};
int bj_reservation_parse(struct bj_slice line, struct bj_reservation *ret);

/* Of an account, or of a user in it (user is not empty). */
struct bj_share {
    struct bj_slice account, user;
    uint64_t shares, usage;      /* as configured; TRES-seconds, decayed */
    uint64_t norm_ppm, used_ppm; /* of the whole tree, in millionths */
    uint64_t fairshare_ppm;      /* fair-share factor: 1 is best */
    uint64_t level_ppm; /* LevelFS: shares by usage, within the same parent */
};
int bj_share_parse(struct bj_slice line, struct bj_share *ret);

/* Of an association: group limits of an account, or limits of a user. */
struct bj_limits {
    struct bj_slice cluster, account, user, partition;
    uint64_t jobs, submit;          /* running jobs; submitted jobs */
    uint64_t max_jobs, max_submit;  /* the same for each user below */
    struct bj_tres_list group, max; /* of all jobs together; of each job */
};
int bj_limits_parse(struct bj_slice line, struct bj_limits *ret);

/* ClusterName in the output of "scontrol show config"; empty: not found. */
struct bj_slice bj_slurm_cluster(struct bj_slice text);

#endif
