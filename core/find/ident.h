/* The identity of a job, and the thread that resolves it.
 *
 * Resolving may block (a user database over the network, a /proc file of a
 * process that is stuck in the kernel), so a pass never does it: it submits a
 * request to the resolver, waits for a short time at most, and takes the result
 * when it is available. */
#ifndef BJ_CORE_FIND_IDENT_H
#define BJ_CORE_FIND_IDENT_H

#include "base/absent.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/conf.h"
#include "core/host.h"

#include <stdatomic.h>
#include <stdint.h>

/* The source of account, partition and similar fields. */
enum bj_ident_source {
    BJ_IDENT_NONE,    /* none but the cgroup path */
    BJ_IDENT_CGROUP,  /* owner of the cgroup or its path */
    BJ_IDENT_PROCESS, /* owner of a process */
    BJ_IDENT_FILE,    /* a file that the prolog wrote, as root */
    BJ_IDENT_ENVIRON, /* environment of a process: the user could forge it */
};

/* The fields of an identity.  BJ_INFO_... are the labels of
 * batchjob_job_info, in the order of bj_job_info_keys (core/model/metric.h). */
enum bj_ident_field {
    BJ_ID_JOBID, /* job id as the batch system prints it */
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
    BJ_ID_SOURCE,     /* source of account and similar fields: "prolog",
                         "environ", "prolog+environ"; if these are unknown,
                         source of the uid: "cgroup", "process"; or empty */
    BJ_ID_UUID,       /* of Slurm jobs (base/jobuuid.h), if the list of their
                         nodes is known */
    BJ_ID_GPUS,       /* numbers of the GPUs that Slurm gave it on this node, as
                         "0,2-3": from the prolog's file only */
    BJ_ID_FIELDS
};

/* Numbers from the prolog's file; BJ_ABSENT: unknown. */
struct bj_ident_numbers {
    uint64_t start_sec;  /* since 1970 */
    uint64_t latest_sec; /* when its time limit ends it, as of its start */
    uint64_t restarts;
};
static const struct bj_ident_numbers bj_ident_no_numbers = {
    BJ_ABSENT, BJ_ABSENT, BJ_ABSENT};

/* An identity.  Immutable and shared once made: only the reference count
 * changes.  Absent fields are empty slices.  All text is clean. */
struct bj_ident {
    atomic_uint refs;
    struct bj_slice f[BJ_ID_FIELDS];
    /* The labels of every sample of the job, escaped, without braces:
     * jobid="4711",user="anna",account="physics" (as configured). */
    struct bj_slice labels;
    /* The other labels of batchjob_job_info, in the same form; empty: none. */
    struct bj_slice info;
    struct bj_ident_numbers n;
    bool complete; /* a new request would find no more fields; otherwise request
                      again, at growing intervals, since the first processes of
                      a job may be those of the batch system */
    char text[];   /* memory of the slices */
};

/* Make an identity from fields, which are copied, cleaned and cut to
 * BJ_LABEL_MAX bytes; NULL: out of memory.  conf selects the labels.  The
 * numbers are BJ_ABSENT and complete is false: the caller may set them before
 * it shares the identity.
 *
 * A job id that cleaning changes ends with '~' and eight hexadecimal digits of
 * its hash, so that different ids stay different.  The label jobid always
 * exists; it is empty while the id is unknown. */
struct bj_ident *bj_ident_new(const struct bj_slice f[BJ_ID_FIELDS],
                              const struct bj_conf *conf);
/* Add a reference; returns id. */
struct bj_ident *bj_ident_ref(const struct bj_ident *id);
void bj_ident_unref(const struct bj_ident *id); /* NULL is fine */

/* A job as its cgroup path describes it. */
struct bj_ident_query {
    /* The fields in the path: JOBID or SLUID, NODE, UID, USER, SYSTEM; the
     * others are empty.  If the id cannot be found, JOBID is empty in the
     * result. */
    struct bj_slice f[BJ_ID_FIELDS];
    struct bj_slice dirs[4]; /* absolute paths of its cgroup
                                directories; unused ones are empty */
};

/* A request.  Shared by the caller and the resolver. */
struct bj_ident_request;
struct bj_resolver;

/* Start the resolver with a thread of the host; a thread that hangs for long is
 * abandoned and replaced.  The necessary parts of conf and host are copied;
 * host's ctx must live until bj_resolver_free. */
int bj_resolver_new(const struct bj_conf *conf, const struct bj_host *host,
                    struct bj_resolver **ret, struct bj_err *err);
/* Stop the resolver.  Waits two seconds at most for its thread: a thread that
 * is stuck in the kernel is abandoned with its data.  The caller's requests
 * stay valid; those without a result never get one.  No other call for r may be
 * running.  NULL is fine. */
void bj_resolver_free(struct bj_resolver *r);

/* Submit a request; the query is copied.  Never blocks.  NULL: out of memory,
 * or too many requests wait already (the thread is stuck). */
struct bj_ident_request *bj_resolver_submit(struct bj_resolver *r,
                                            const struct bj_ident_query *q);
/* Wait until no request is waiting for its result, at most until deadline_usec
 * (boot clock). */
void bj_resolver_wait(struct bj_resolver *r, uint64_t deadline_usec);
/* The result, with a reference for the caller; NULL: not available yet, or
 * never because memory ran out (drop the request and submit a new one later).
 * Never blocks. */
struct bj_ident *bj_ident_request_result(struct bj_ident_request *request);
/* Drop the request, with or without a result.  NULL is fine. */
void bj_ident_request_drop(struct bj_ident_request *request);

/* Counters of the resolver, for its batchjob_collector_* rows.  Read them
 * regularly: this call and bj_resolver_submit also check whether the thread
 * hangs. */
struct bj_resolver_stat {
    uint64_t answered, faults; /* since the start */
    uint64_t waiting;          /* number now, including the current one until
                                  its thread is abandoned */
};
void bj_resolver_stat(struct bj_resolver *r, struct bj_resolver_stat *ret);

/* Get the newest fault that was not returned yet; false: none.  A recent
 * message is not returned again, so each may be logged.  It contains no control
 * characters. */
bool bj_resolver_fault(struct bj_resolver *r, struct bj_err *ret);

/* --- path fields ---*/

/* The fields of a cgroup path, packed.  They are kept as long as the job,
 * beside its resolved identity. */

struct bj_path_fields;

/* f: fields of an identity, whose text is clean and so without NUL; absent ones
 * are empty.  NULL: out of memory.  Free with free(). */
struct bj_path_fields *
bj_path_fields_new(const struct bj_slice f[BJ_ID_FIELDS]);

/* All fields; the slices point into p.  Absent ones are empty. */
void bj_path_fields_get(const struct bj_path_fields *p,
                        struct bj_slice f[BJ_ID_FIELDS]);

#endif
