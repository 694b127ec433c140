/* One job that the asker may see, for what is told about it. */
#ifndef BJ_APISERVER_FOUND_H
#define BJ_APISERVER_FOUND_H

#include "apiserver/call.h"
#include "apiserver/params.h"
#include "base/arena.h"

/* Texts are in an arena. */
struct bj_found {
    int64_t job; /* its number in the store */
    struct bj_slice key, cluster, id, user;
    int64_t uid, start, end, nodes, gpus; /* BJ_SQL_NULL: not known */
};

/* Find the one job that a name stands for, as bj_job_named has it, among those
 * that the asker may see and the filters of p let through.  0; a refusal: 404
 * when there is none, 409 when it is several; or an error of the store. */
int bj_found_get(struct bj_call *c, const struct bj_params *p,
                 struct bj_slice name, struct bj_arena *arena,
                 struct bj_found *ret);

#endif
