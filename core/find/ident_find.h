/* The search for the identity of a job: all sources, in their order.  This is
 * the part that may block; the resolver (core/find/ident.h) calls it from its
 * thread.
 *
 *   1  the path of the cgroup, which only root and the batch system create
 *   2  a file that the prolog left (core/find/jobfile.h)
 *   3  owner of the job's processes
 *   4  environment of a process of that owner (core/find/environ.h)
 *
 * A later source only adds fields that the earlier ones lack. */
#ifndef BJ_CORE_FIND_IDENT_FIND_H
#define BJ_CORE_FIND_IDENT_FIND_H

#include "core/find/ident.h"
#include "core/find/users.h"

#include <sys/types.h>

/* The sources of the search.  fault is called for errors (a damaged file, a
 * failing user database), not for a process or file that has gone. */
struct bj_ident_sources {
    const struct bj_conf *conf; /* procfs, job_files, label_... */
    struct bj_users *users;
    void (*fault)(void *ctx, const struct bj_err *err);
    void *ctx;
};

/* Determine the identity of a job.  NULL: out of memory. */
struct bj_ident *bj_ident_find(const struct bj_ident_sources *src,
                               const struct bj_ident_query *q);

/* -- Shared by the files of the search -- */

enum {
    BJ_RAW_CAP = 512,    /* bytes of a field before it is cleaned */
    BJ_NODES_CAP = 8192, /* of the list of the job's nodes */
    BJ_PROCS_MAX = 512,  /* processes of a job that are read */
    BJ_READS_MAX = 64    /* environments of a job that are read */
};

/* A process of the job. */
struct bj_ident_proc {
    pid_t pid;
    uid_t uid;            /* real one: a set-user-id program keeps it */
    uint64_t start_ticks; /* after boot */
    bool batch;           /* it belongs to the batch system */
};

/* The state of a search. */
struct bj_ident_search {
    const struct bj_ident_sources *src;
    const struct bj_ident_query *q;
    struct bj_slice f[BJ_ID_FIELDS]; /* into raw */
    char raw[BJ_ID_FIELDS][BJ_RAW_CAP];
    char nodes[BJ_NODES_CAP];
    struct bj_slice nodelist; /* into nodes */
    struct bj_ident_numbers n;
    bool file, environ; /* these sources had fields of the job */
    bool unknown_job;   /* the real job id is unknown; JOBID is a substitute */
    bool denied;        /* an environment could not be read: no permission */
    bool missed;        /* a source could not be read now: try again later */
    enum bj_ident_source uid_source;
    struct bj_ident_proc *procs; /* oldest first */
    size_t nprocs;
};

/* Parse an ad into f: JOBID ("cluster.proc", in id of cap bytes), ACCOUNT and
 * NAME; other attributes are ignored.  -EINVAL: no ClusterId or no ProcId. */
int bj_condor_parse(struct bj_slice ad, char *id, size_t cap,
                    struct bj_slice f[BJ_ID_FIELDS]);

#endif
