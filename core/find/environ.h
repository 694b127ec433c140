/* The attributes of a job in the environment of one of its processes.
 *
 * The user of a job can set any variable, so an environment is used only if it
 * names the job of the cgroup, and its values are marked (BJ_IDENT_ENVIRON).
 * The user name never comes from it.
 *
 * Sources: Slurm sbatch(1) and srun(1), "OUTPUT ENVIRONMENT VARIABLES"; PBS
 * Professional qsub(1B), "Environment variables"; LSF "Environment variables
 * set for job execution"; OAR oarsub(1); Grid Engine qsub(1), "ENVIRONMENTAL
 * VARIABLES"; HTCondor "Environmental variables set by the starter". */
#ifndef BJ_CORE_FIND_ENVIRON_H
#define BJ_CORE_FIND_ENVIRON_H

#include "core/find/ident.h"

/* Maximum number of bytes read of /proc/PID/environ, by bj_file_read_head. */
enum { BJ_ENVIRON_CAP = 256 * 1024 };

/* Get the value of a variable: the first one of that name, as getenv(3) does.
 * False: not set.  env consists of NAME=VALUE, each followed by a NUL; the last
 * NUL may be missing. */
bool bj_environ_get(struct bj_slice env, struct bj_slice name,
                    struct bj_slice *ret);

/* The attributes of a job in an environment; the slices point into it. */
struct bj_environ {
    struct bj_slice f[BJ_ID_FIELDS];
    struct bj_slice nodelist; /* of the whole job, as Slurm writes it */
    bool step; /* it is the environment of a step; that of the job itself is
                  preferred */
};

/* Read the attributes of a job from an environment, if that names the job.
 * system is the batch system of the cgroup's layout; if no variables of it are
 * known, those of any system are used.  jobid may be empty if it is unknown:
 * then the first id that is a number is used.  False, with *ret unchanged, if
 * the environment names no job or another one.
 *
 * A component of a heterogeneous Slurm job has a cgroup named by its own id
 * while its processes get the id of the first one: SLURM_JOB_ID_HET_GROUP_n
 * (before 20.11 ..._PACK_GROUP_n) shows the component of an id, and variables
 * with that suffix are preferred. */
bool bj_environ_job(struct bj_slice env, struct bj_slice system,
                    struct bj_slice jobid, struct bj_environ *ret);

/* Whether variables of the batch system are known, so that an environment
 * helps. */
bool bj_environ_knows(struct bj_slice system);
/* Whether one of its variables has that field. */
bool bj_environ_gives(struct bj_slice system, enum bj_ident_field field);

#endif
