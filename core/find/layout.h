/* Layouts: the places of batch systems' jobs in the cgroup tree.
 *
 * A table of regular expressions for the path of a cgroup below the root of its
 * hierarchy, without a leading slash; a row for each batch system.  Named
 * groups are the fields of the path:
 *
 *   jobid  raw job id            sluid  Slurm's SLUID instead of it
 *   node   slurmd's node name    uid, user  the owner
 *   step, task                   (in the expression for steps)
 *
 * Sources: Slurm doc/html/cgroup_v2.shtml and cgroup_v1 plugin, OpenPBS
 * pbs_cgroups hook, OAR job_resource_manager_cgroups, HTCondor
 * ep-policy-configuration, Kubernetes kubelet cgroup drivers, libvirt
 * cgroups.html; LSF's path was reported by sites. */
#ifndef BJ_CORE_FIND_LAYOUT_H
#define BJ_CORE_FIND_LAYOUT_H

#include "base/err.h"
#include "core/conf.h"
#include "core/find/ident.h"

#include <stdbool.h>

/* The kind of a path in a set of layouts. */
enum bj_path_kind {
    BJ_PATH_OTHER = 0, /* no job, and none below it */
    BJ_PATH_INNER = 1, /* jobs may be below it */
    BJ_PATH_HIT = 2,   /* a job (or step); INNER may be set too */
};

struct bj_layouts; /* the compiled rows */
struct bj_layout;  /* one of them */

enum { BJ_CGROUP_V1 = 1, BJ_CGROUP_V2 = 2 };

/* The fields of a path.  The slices point into the path or into buf. */
struct bj_path_match {
    const struct bj_layout *layout;
    struct bj_slice f[BJ_ID_FIELDS]; /* JOBID, NODE, USER, UID, SLUID, SYSTEM */
    struct bj_slice step, task;
    char buf[512]; /* unescaped job id */
};

/* Compile the configured rows (conf->patterns, "name=expression"; they come
 * first) and the built-in rows that conf selects.  -EINVAL with a message that
 * names the option, the expression and the position in it. */
int bj_layouts_new(const struct bj_conf *conf, struct bj_layouts **ret,
                   struct bj_err *err);
void bj_layouts_free(struct bj_layouts *l);

/* The kind of a path in a hierarchy of that version.  A hit fills *ret; it is
 * INNER, too, if jobs of another batch system may be below it, such as those of
 * a slurmd in a pod. */
unsigned bj_layouts_job(const struct bj_layouts *l, unsigned version,
                        const char *path, struct bj_path_match *ret);

/* The same for a path below a job of that layout. */
unsigned bj_layout_step(const struct bj_layout *l, const char *path,
                        struct bj_path_match *ret);

#endif
