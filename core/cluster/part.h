/* Converts a command's output to records. Private to core/cluster/. */
#ifndef BJ_CORE_CLUSTER_PART_H
#define BJ_CORE_CLUSTER_PART_H

#include "base/buf.h"
#include "base/text.h"
#include "core/cluster/conf.h"
#include "core/cluster/group.h"
#include "core/model/cluster.h"
#include "sched/pbs_live.h"
#include "sched/sdiag.h"
#include "sched/sinfo.h"
#include "sched/slurmjson.h"
#include "sched/slurmlist.h"
#include "sched/squeue.h"
#include "sched/tres.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The reply of a command as records; immutable and shared when complete. */
struct bj_cluster_part {
    atomic_uint refs;
    struct bj_arena arena;
    struct bj_list list[BJ_CL_LISTS];
    struct bj_slice
        cluster; /* its name, clean; empty where a source does not report it */
    struct bj_group held; /* nodes in reservations, struct bj_held;
                             BJ_CLUSTER_RESERVATIONS only */
};

/* A node in active reservations. */
struct bj_held {
    struct bj_sub sub;  /* node */
    struct bj_slice by; /* names of the reservations, separated by ',' */
    const void *newest; /* the reservation added last */
};

/* Labels to count by. */
enum {
    BJ_BY_PARTITION = 1,
    BJ_BY_USER = 2,
    BJ_BY_ACCOUNT = 4,
    BJ_BY_QOS = 8,
    BJ_BY_HOST = 16,
    BJ_BY_REASON = 32,
    BJ_BY_RESERVATION = 64,
    BJ_BY_NODE = 128,
    BJ_BY_FEATURE = 256,
};

/* A part under construction. Zero-initialise, then set the first members. */
struct bj_cluster_work {
    const struct bj_scheduler_conf *conf;
    unsigned by;          /* BJ_BY_* */
    uint64_t wall_sec;    /* when the command was started */
    struct bj_slice name; /* of the cluster; empty: unknown */
    const struct bj_cluster_part *reservations; /* NULL: unknown */
    const struct bj_cluster_part *previous;     /* of this source, or NULL */

    struct bj_cluster_part *part;
    struct bj_group group[BJ_CL_LISTS];
    struct bj_group seen;    /* nodes: struct bj_sub */
    uint64_t good, bad;      /* lines */
    uint64_t clusters;       /* clusters in a document */
    struct bj_buf text;      /* text that is not parsed line by line */
    struct bj_err complaint; /* the first error in a file */
};

/* A source: its command or document, and its parser. */
struct bj_cluster_reader {
    const char *name;
    const char *const *argv; /* text form; NULL: reads cluster.constants */
    const char *path;        /* below slurmrestd's /slurm/v0.0.40/ */
    bool db;                 /* below its /slurmdb/v0.0.40/ */
    enum bj_slurmjson_kind json;
    /* Parse a line: 0, or -EINVAL when it cannot be parsed; NULL as argv. */
    int (*line)(struct bj_cluster_work *w, struct bj_slice line);
    /* After the last line; may be NULL. -EINVAL as above. */
    int (*end)(struct bj_cluster_work *w);
    bool slow; /* at cluster.slow-interval */
};
extern const struct bj_cluster_reader
    bj_cluster_readers[BJ_CLUSTER_SOURCES]; /* lists.c */

/* Begin with an empty part (-ENOMEM); after the last line, end puts the lists
 * into the part. Free frees the rest, except a part that was taken (part set to
 * NULL). */
int bj_cluster_work_begin(struct bj_cluster_work *w);
int bj_cluster_work_line(struct bj_cluster_work *w,
                         const struct bj_cluster_reader *r,
                         struct bj_slice line);
int bj_cluster_work_end(struct bj_cluster_work *w,
                        const struct bj_cluster_reader *r);
void bj_cluster_work_free(struct bj_cluster_work *w);

struct bj_cluster_part *bj_cluster_part_ref(struct bj_cluster_part *p);
void bj_cluster_part_unref(struct bj_cluster_part *p); /* NULL is fine */

/* The record of these keys in a list under construction; NULL: out of memory,
 * arena.failed set. */
void *bj_cluster_get(struct bj_cluster_work *w, enum bj_cluster_list list,
                     struct bj_slice k0, struct bj_slice k1,
                     struct bj_slice k2);

/* As bj_cluster_get, for records that cannot be summed up: also NULL, and
 * counted, beyond the maximum. */
void *bj_cluster_single(struct bj_cluster_work *w, enum bj_cluster_list list,
                        struct bj_slice k0, struct bj_slice k1,
                        struct bj_slice k2);

/* A label value made from external text, in the caller's buffer. */
struct bj_label {
    char text[BJ_LABEL_MAX + 1];
};
struct bj_slice bj_cluster_label(struct bj_slice s, struct bj_label *l);

/* Add a record of a source to the sums. 0, -EINVAL (left out, to be counted),
 * -ENOMEM. */
int bj_cluster_add_job(struct bj_cluster_work *w,
                       const struct bj_squeue_job *job);
int bj_cluster_add_node(struct bj_cluster_work *w,
                        const struct bj_sinfo_node *node);
int bj_cluster_add_diag(struct bj_cluster_work *w, const struct bj_sdiag *diag);
void bj_cluster_add_rpc(void *work, const struct bj_sdiag_rpc *rpc);
int bj_cluster_add_license(struct bj_cluster_work *w,
                           const struct bj_license *v);
int bj_cluster_add_reservation(struct bj_cluster_work *w,
                               const struct bj_reservation *v);
int bj_cluster_add_share(struct bj_cluster_work *w, const struct bj_share *v);
int bj_cluster_add_limits(struct bj_cluster_work *w, const struct bj_limits *v);
int bj_cluster_add_queue(struct bj_cluster_work *w,
                         const struct bj_pbs_queue *v);

/* Add the constants of a file (base/constants.h). -ENOMEM. */
int bj_cluster_read_constants(struct bj_cluster_work *w, const char *file,
                              struct bj_slice text);

/* A parser of a source's JSON that adds to w; free it with bj_slurmjson_free.
 * -ENOMEM. */
int bj_cluster_json_new(struct bj_cluster_work *w, enum bj_slurmjson_kind kind,
                        struct bj_slurmjson **ret, struct bj_err *err);

/* Parsers of one line. */
int bj_cluster_queue_line(struct bj_cluster_work *w, struct bj_slice line);
int bj_cluster_node_line(struct bj_cluster_work *w, struct bj_slice line);
int bj_cluster_no_line(struct bj_cluster_work *w,
                       struct bj_slice line); /* a source with JSON only */
int bj_cluster_limit_line(struct bj_cluster_work *w, struct bj_slice line);

#endif
