/* What the parts of slurmjson share. */
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
    struct bj_arena arena; /* of the record at hand */
    struct bj_sdiag diag;
    uint64_t asked_sec;            /* req_time */
    uint64_t table_sum;            /* bf_table_size_sum; BJ_ABSENT: not told */
    bool named;                    /* the cluster */
    char complaint[BJ_REST_ERROR]; /* the first of the errors */
};

/* A field: where it is in the document and in the record.  Of several that
 * lead to the same place the last one that is there counts. */
struct bj_slurmjson_field {
    const char *path;
    int (*parse)(const struct bj_json *v, struct bj_arena *a, void *to);
    size_t at;
};

/* 0, or -EINVAL when one of them is there and is no such thing. */
int bj_slurmjson_fields(struct bj_slurmjson *j, const struct bj_json *v,
                        const struct bj_slurmjson_field *f, size_t n,
                        void *record);

/* Parsers of fields besides those of sched/slurmrest_value.h.  A text as it is,
 * be it "None". */
int bj_slurmjson_raw(const struct bj_json *v, struct bj_arena *a, void *to);

/* One element each: 0, -EINVAL (bad), or what the callback says. */
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
/* All of them have been taken. */
void bj_slurmjson_settle_diag(struct bj_slurmjson *j);

/* The answering cluster's name, which may be known already. */
int bj_slurmjson_name(struct bj_slurmjson *j, struct bj_slice name);

#endif
