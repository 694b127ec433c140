/* Keeps the labels of jobs from one page to the next, as jobs rarely change. */
#include "core/view/dialect_walk.h"

#include "base/grow.h"
#include "core/find/ident.h"

#include <errno.h>
#include <stdlib.h>

/* A job whose labels were written; the reference keeps its address from being
 * reused. */
struct bj_dialect_kept {
    const struct bj_ident *ident;
    bool runs;
};

static bool same_env(const struct bj_dialect_env *a,
                     const struct bj_dialect_env *b)
{
    return bj_slice_eq(a->host, b->host) && a->hide_user == b->hide_user &&
           a->hide_account == b->hide_account && a->unified == b->unified &&
           a->strict == b->strict && a->skip_uids == b->skip_uids &&
           a->nskip_uids == b->nskip_uids;
}

bool bj_dialect_kept(const struct bj_dialect_walk *w)
{
    const struct bj_dialect_room *room = w->room;
    const struct bj_job *job = w->snap->jobs.v;
    const struct bj_slice cluster = {room->cluster.p, room->cluster.len};
    if (room->dialect != w->dialect || room->nkept != w->snap->jobs.n ||
        !same_env(&room->env, w->env) ||
        !bj_slice_eq(cluster, w->snap->cluster))
        return false;
    for (size_t i = 0; i < room->nkept; i++)
        if (room->kept[i].ident != job[i].ident ||
            room->kept[i].runs != bj_dialect_runs(&job[i]))
            return false;
    return true;
}

void bj_dialect_forget(struct bj_dialect_room *room)
{
    for (size_t i = 0; i < room->nkept; i++)
        bj_ident_unref(room->kept[i].ident);
    room->nkept = 0;
    room->dialect = NULL;
}

int bj_dialect_keep(struct bj_dialect_walk *w)
{
    struct bj_dialect_room *room = w->room;
    const struct bj_job *job = w->snap->jobs.v;
    const size_t n = w->snap->jobs.n;
    if (!BJ_GROW(room->kept, n, room->kept_cap))
        return -ENOMEM;
    room->cluster.len = 0;
    bj_buf_slice(&room->cluster, w->snap->cluster);
    if (room->cluster.failed) {
        bj_buf_free(&room->cluster);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        room->kept[i] = (struct bj_dialect_kept){bj_ident_ref(job[i].ident),
                                                 bj_dialect_runs(&job[i])};
    room->nkept = n;
    room->env = *w->env;
    room->dialect = w->dialect;
    return 0;
}
