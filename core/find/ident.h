/* The identity of a job, and the thread that resolves it.
 *
 * Resolving may block (a user database over the network, a /proc file of a
 * process that is stuck in the kernel), so a pass never does it: it submits a
 * request to the resolver, waits a moment at most, and takes the result when
 * there is one. */
#ifndef BJ_CORE_FIND_IDENT_H
#define BJ_CORE_FIND_IDENT_H

#include "base/err.h"
#include "base/slice.h"
#include "core/conf.h"
#include "core/host.h"

#include <stdatomic.h>
#include <stdint.h>

/* Where account, partition and the like were found. */
enum bj_ident_source {
    BJ_IDENT_NONE,    /* nothing beyond the cgroup path */
    BJ_IDENT_CGROUP,  /* owner of the cgroup or its path */
    BJ_IDENT_PROCESS, /* owner of a process */
    BJ_IDENT_FILE,    /* a file that the prolog wrote (root's) */
    BJ_IDENT_ENVIRON, /* environment of a process: the user could forge it */
};

/* The fields of an identity.  BJ_INFO_... are the labels of
 * batchjob_job_info, in the order of bj_job_info_keys (core/model/metric.h). */
enum bj_ident_field {
    BJ_ID_JOBID, /* raw job id as the batch system prints it */
    BJ_ID_NODE,  /* slurmd's node name, where a host runs several */
    BJ_ID_USER,  /* user name */
    BJ_ID_ACCOUNT,
    BJ_ID_UID,
    BJ_ID_PARTITION, /* partition or queue */
    BJ_ID_QOS,
    BJ_ID_NAME,       /* job name: free text, cleaned */
    BJ_ID_ARRAY_JOB,  /* id of the array ... */
    BJ_ID_ARRAY_TASK, /* ... and the task in it */
    BJ_ID_HET_JOB,    /* id of the heterogeneous job ... */
    BJ_ID_HET_OFFSET, /* ... and the offset of this component */
    BJ_ID_SLUID,      /* Slurm 26.05 and later */
    BJ_ID_SYSTEM,     /* slurm, pbs, lsf, ... */
    BJ_ID_SOURCE,     /* source of account and the rest: "prolog", "environ",
                         "prolog+environ"; where these are unknown, of the uid:
                         "cgroup", "process"; or empty */
    BJ_ID_UUID,       /* of Slurm's jobs (base/jobuuid.h), where the list of
                         their nodes is known */
    BJ_ID_FIELDS
};

/* An identity.  Immutable and shared once made: only the reference count
 * changes.  Absent fields are empty slices.  All text is clean. */
struct bj_ident {
    atomic_uint refs;
    struct bj_slice f[BJ_ID_FIELDS];
    /* The labels of every sample of the job, escaped, without braces:
     * jobid="4711",user="anna",account="physics" (as configured). */
    struct bj_slice labels;
    /* Those of batchjob_job_info beyond them, likewise; empty: none. */
    struct bj_slice info;
    uint64_t start_sec; /* from the prolog file; BJ_ABSENT when unknown */
    bool complete; /* a new request would find no more; otherwise request again,
                      less and less often: the first processes of a job may be
                      the batch system's */
    char text[];   /* what the slices point to */
};

/* Make one from fields (copied, cleaned and cut to BJ_LABEL_MAX bytes here);
 * NULL when memory is out.  conf decides which labels there are.  start_sec is
 * BJ_ABSENT and complete false: the caller may set them before sharing it.
 *
 * A job id that cleaning changes ends with '~' and eight hexadecimal digits of
 * its hash, so that two ids stay two.  The label jobid is always there, empty
 * while the id is not known. */
struct bj_ident *bj_ident_new(const struct bj_slice f[BJ_ID_FIELDS],
                              const struct bj_conf *conf);
/* One more reference; returns id. */
struct bj_ident *bj_ident_ref(const struct bj_ident *id);
void bj_ident_unref(const struct bj_ident *id); /* NULL is fine */

/* A job as its cgroup path describes it. */
struct bj_ident_query {
    /* The fields of the path: JOBID or SLUID, NODE, UID, USER, SYSTEM; else
     * empty.  While the id cannot be found, JOBID stays empty in the result. */
    struct bj_slice f[BJ_ID_FIELDS];
    struct bj_slice dirs[4]; /* absolute paths of its cgroup
                                directories; unused ones are empty */
};

/* A request under way.  Shared by the caller and the resolver. */
struct bj_ident_request;
struct bj_resolver;

/* Start the resolver with a thread of the host; one that hangs is abandoned
 * after a while, and another takes its place.  What it needs of conf and host
 * is copied; host's ctx must live until bj_resolver_free. */
int bj_resolver_new(const struct bj_conf *conf, const struct bj_host *host,
                    struct bj_resolver **ret, struct bj_err *err);
/* Stop it.  Waits two seconds at most for its thread: one that is stuck in the
 * kernel is abandoned with what it owns.  Requests still held stay valid, and
 * those without a result never get one.  No other call on r may be under way.
 * NULL is fine. */
void bj_resolver_free(struct bj_resolver *r);

/* Submit a request; the query is copied.  Never blocks.  NULL when memory is
 * out, or when very many requests wait already (the thread is stuck). */
struct bj_ident_request *bj_resolver_submit(struct bj_resolver *r,
                                            const struct bj_ident_query *q);
/* Wait until nothing is unanswered, or until the boot clock shows deadline. */
void bj_resolver_wait(struct bj_resolver *r, uint64_t deadline_usec);
/* The result with a reference for the caller, or NULL when there is none yet
 * (or never will be, since memory is out: drop the request and submit another
 * one some time).  Never blocks. */
struct bj_ident *bj_ident_request_result(struct bj_ident_request *ask);
/* Drop the question, answered or not.  NULL is fine. */
void bj_ident_request_drop(struct bj_ident_request *ask);

/* Counters of the resolver, for its batchjob_collector_* rows.  To be read now
 * and then: this call and bj_resolver_submit also check whether the thread
 * hangs. */
struct bj_resolver_stat {
    uint64_t answered, faults; /* since the start */
    uint64_t waiting;          /* now; the one being answered counts,
                                  until its thread is abandoned */
};
void bj_resolver_stat(struct bj_resolver *r, struct bj_resolver_stat *ret);

/* The newest fault that was not handed out yet: true and *ret is filled.  A
 * message that came not long ago does not come again, so each may be logged.
 * It holds no control characters. */
bool bj_resolver_fault(struct bj_resolver *r, struct bj_err *ret);

#endif
