/* Slurm's reports on a cluster as JSON: squeue, sinfo, scontrol, sdiag, sshare
 * and sacctmgr with --json, and slurmrestd below /slurm and /slurmdb; the
 * formats of Slurm 21.08 to 26.05 (data_parser and openapi plugins 0.0.37 to
 * 0.0.45).
 *
 * The records and their values are those of the text readers (sched/squeue.h,
 * sinfo.h, sdiag.h, slurmlist.h).  Differences between versions: numbers plain
 * or {"set","infinite","number"}; states as one text, as a list, or with
 * separate flags; lists as arrays or separated by commas; free_mem and
 * free_memory; the words Infinity and NaN, which are not JSON.
 *
 * Sources: Slurm, src/plugins/openapi/v0.0.37 and v0.0.38, and
 * src/plugins/data_parser, parsers.c (JOB_INFO, NODE, STATS_MSG, ...). */
#ifndef BJ_SCHED_SLURMJSON_H
#define BJ_SCHED_SLURMJSON_H

#include "base/err.h"
#include "base/slice.h"
#include "sched/sdiag.h"
#include "sched/sinfo.h"
#include "sched/slurmlist.h"
#include "sched/squeue.h"

#include <stdbool.h>

/* The content of a document. */
enum bj_slurmjson_kind {
    BJ_SLURMJSON_JOBS,
    BJ_SLURMJSON_NODES,
    BJ_SLURMJSON_RESERVATIONS,
    BJ_SLURMJSON_DIAG,
    BJ_SLURMJSON_LICENSES,
    BJ_SLURMJSON_SHARES,
    BJ_SLURMJSON_LIMITS,
    BJ_SLURMJSON_PING,     /* only the common parts of all documents */
    BJ_SLURMJSON_CLUSTERS, /* of the accounting database */
    BJ_SLURMJSON_KINDS
};

/* Arguments of commands that print such a document; NULL at the end, and NULL
 * for kinds without a command.  Slurm 22.05 supports --json only in squeue and
 * sinfo; nodes then come from bj_slurmjson_sinfo_argv. */
extern const char *const *const bj_slurmjson_argv[BJ_SLURMJSON_KINDS];
extern const char *const bj_slurmjson_sinfo_argv[];

/* Receivers of the records, which are valid during the call only.  A negative
 * return ends the reading with it.  Those of the document's kind are required.
 */
struct bj_slurmjson_conf {
    uint64_t now_sec; /* to decide which reservations are active */
    void *ctx;
    int (*job)(void *ctx, const struct bj_squeue_job *v);
    /* once for each partition, as in sinfo --Node */
    int (*node)(void *ctx, const struct bj_sinfo_node *v);
    int (*reservation)(void *ctx, const struct bj_reservation *v);
    int (*diag)(void *ctx, const struct bj_sdiag *v); /* at the end */
    void (*rpc)(void *ctx, const struct bj_sdiag_rpc *v);
    int (*license)(void *ctx, const struct bj_license *v);
    int (*share)(void *ctx, const struct bj_share *v);
    int (*limits)(void *ctx, const struct bj_limits *v);
    /* Receives a cluster: the one that replies (in jobs and, after 22.05, in
     * every document), or each one in the accounting database.  May be NULL. */
    int (*cluster)(void *ctx, struct bj_slice name);
    /* A record could not be read and was left out.  May be NULL. */
    void (*bad)(void *ctx);
};

struct bj_slurmjson;

/* conf is copied.  -ENOMEM. */
int bj_slurmjson_new(enum bj_slurmjson_kind kind,
                     const struct bj_slurmjson_conf *conf,
                     struct bj_slurmjson **ret, struct bj_err *err);

/* Feed the next piece of the document, cut anywhere.  Memory: the largest
 * record, without its job_resources.  -EBADMSG: not JSON; -EFBIG: a record of
 * more than 16 MiB or 200 000 values; -ENOMEM; the result of a callback. */
int bj_slurmjson_feed(struct bj_slurmjson *j, struct bj_slice piece,
                      struct bj_err *err);

/* The document has ended.  -EBADMSG: it is incomplete, or of another kind;
 * -EREMOTEIO: it has "errors", the first of which is the message (that nothing
 * was found is not an error). */
int bj_slurmjson_end(struct bj_slurmjson *j, struct bj_err *err);

void bj_slurmjson_free(struct bj_slurmjson *j); /* NULL is fine */

/* squeue's single name for the states of a job in a list, all in capitals: that
 * of the first flag in squeue's order, else the base state; empty: none.
 * Source: Slurm, src/common/slurm_protocol_defs.c, job_state_string(). */
struct bj_slice bj_slurmjson_job_state(const struct bj_slice *name, size_t n);

/* --- slurmjson fix ---*/

/* Numbers in Slurm's JSON that are not JSON: before 24.11 it writes Infinity,
 * -Infinity and NaN, which RFC 8259 does not allow. */

/* Zero-initialise for each document. */
struct bj_slurmjson_fix {
    bool string, escape, minus;
    char word[12];
    size_t n;
};

/* Pass on a piece of a document, cut anywhere, with null in place of such words
 * and all else unchanged.  A negative return of the sink ends it. */
int bj_slurmjson_fix(struct bj_slurmjson_fix *f, struct bj_slice piece,
                     int (*sink)(void *ctx, struct bj_slice piece,
                                 struct bj_err *err),
                     void *ctx, struct bj_err *err);

#endif
