/* Shared by the files of slurmjson.  Private to them. */
#ifndef BJ_SCHED_SLURMJSON_PRIV_H
#define BJ_SCHED_SLURMJSON_PRIV_H

#include "base/arena.h"
#include "base/json.h"
#include "sched/slurmjson.h"
#include "sched/slurmjson_fix.h"
#include "sched/slurmrest_value.h"

struct bj_slurmjson {
    struct bj_slurmjson_conf conf;
    enum bj_slurmjson_kind kind;
    struct bj_json_stream *stream;
    struct bj_slurmjson_fix fix;
    struct bj_arena arena; /* of the current record */
    struct bj_sdiag diag;
    uint64_t request_sec;            /* req_time */
    uint64_t table_sum;              /* bf_table_size_sum; BJ_ABSENT: unknown */
    bool named;                      /* the cluster's name was reported */
    char first_error[BJ_REST_ERROR]; /* the first of "errors" */
};

/* A field: its path in the document and its offset in the record.  Of several
 * paths for the same offset the last one present counts. */
struct bj_slurmjson_field {
    const char *path;
    int (*parse)(const struct bj_json *v, struct bj_arena *a, void *to);
    size_t at;
};

/* 0, or -EINVAL when one of them has a wrong type. */
int bj_slurmjson_fields(struct bj_slurmjson *j, const struct bj_json *v,
                        const struct bj_slurmjson_field *f, size_t n,
                        void *record);

/* A parser of fields in addition to those of sched/slurmrest_value.h: a text as
 * it is, even "None". */
int bj_slurmjson_raw(const struct bj_json *v, struct bj_arena *a, void *to);

/* Read one element: 0, -EINVAL (bad), or the result of the callback. */
int bj_slurmjson_take_job(struct bj_slurmjson *j, const struct bj_json *v);
int bj_slurmjson_take_node(struct bj_slurmjson *j, const struct bj_json *v);
int bj_slurmjson_take_reservation(struct bj_slurmjson *j,
                                  const struct bj_json *v);
int bj_slurmjson_take_license(struct bj_slurmjson *j, const struct bj_json *v);
int bj_slurmjson_take_share(struct bj_slurmjson *j, const struct bj_json *v);
int bj_slurmjson_take_limits(struct bj_slurmjson *j, const struct bj_json *v);
int bj_slurmjson_take_cluster(struct bj_slurmjson *j, const struct bj_json *v);
/* A member of "statistics". */
int bj_slurmjson_take_stat(struct bj_slurmjson *j, struct bj_slice key,
                           const struct bj_json *v);
/* All of them were read. */
void bj_slurmjson_settle_diag(struct bj_slurmjson *j);

/* Report the name of the replying cluster, once. */
int bj_slurmjson_name(struct bj_slurmjson *j, struct bj_slice name);

#endif
