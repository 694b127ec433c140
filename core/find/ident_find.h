/* The search for the identity of a job: all sources, in their order.  This is
 * the part that may block; the resolver (core/find/ident.h) calls it from its
 * thread.
 *
 *   1  the path of the cgroup, which only root and the batch system make
 *   2  a file that the prolog left (core/find/jobfile.h)
 *   3  owner of the job's processes
 *   4  environment of a process of that owner (core/find/environ.h)
 *
 * A later source only fills what the earlier ones left open. */
#ifndef BJ_CORE_FIND_IDENT_FIND_H
#define BJ_CORE_FIND_IDENT_FIND_H

#include "core/find/ident.h"
#include "core/find/users.h"

#include <sys/types.h>

/* What the search uses.  fault is called for what should not be (a damaged
 * file, a user database that fails), not for what has merely gone. */
struct bj_ident_sources {
    const struct bj_conf *conf; /* procfs, job_files, label_... */
    struct bj_users *users;
    void (*fault)(void *ctx, const struct bj_err *err);
    void *ctx;
};

/* Find out.  NULL when memory is out. */
struct bj_ident *bj_ident_find(const struct bj_ident_sources *src,
                               const struct bj_ident_query *q);

/* -- Between the files of the search -- */

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
    bool batch;           /* of the batch system itself */
};

/* What is known so far. */
struct bj_ident_search {
    const struct bj_ident_sources *src;
    const struct bj_ident_query *q;
    struct bj_slice f[BJ_ID_FIELDS]; /* into raw */
    char raw[BJ_ID_FIELDS][BJ_RAW_CAP];
    char nodes[BJ_NODES_CAP];
    struct bj_slice nodelist; /* into nodes */
    uint64_t start_sec;
    bool file, environ; /* these had fields of the job */
    bool unknown_job;   /* JOBID of the query is only a stand-in */
    bool denied;        /* an environment must not be read */
    bool missed;        /* something could not be read for now */
    enum bj_ident_source uid_source;
    struct bj_ident_proc *procs; /* oldest first */
    size_t nprocs;
};

/* Take a field unless it has a value already. */
void bj_search_take(struct bj_ident_search *s, enum bj_ident_field field,
                    struct bj_slice value);
/* Likewise the list of nodes; not at all when there is no room for it. */
void bj_search_take_nodes(struct bj_ident_search *s, struct bj_slice nodelist);
void bj_search_take_uid(struct bj_ident_search *s, uid_t uid,
                        enum bj_ident_source source);

/* Read the processes of the job: fills procs. */
void bj_search_procs(struct bj_ident_search *s);
/* The job id of a SLUID, from the title of a slurmstepd. */
void bj_search_title(struct bj_ident_search *s);
/* The uid, from the owner of a process. */
void bj_search_owner(struct bj_ident_search *s);
/* The rest, from an environment. */
void bj_search_environ(struct bj_ident_search *s);

/* The attributes in HTCondor's job ad, found through the environment env of a
 * process of the job that belongs to uid.  False when there is no ad to be
 * trusted. */
bool bj_condor_take(struct bj_ident_search *s, struct bj_slice env, uid_t uid);

/* Parse an ad: -EINVAL when it has no ClusterId or no ProcId.  f gets JOBID
 * ("cluster.proc", in id of cap bytes), ACCOUNT and NAME; the others pass. */
int bj_condor_parse(struct bj_slice ad, char *id, size_t cap,
                    struct bj_slice f[BJ_ID_FIELDS]);

#endif
