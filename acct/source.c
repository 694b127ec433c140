#include "acct/source.h"

#include "base/array.h"
#include "statsdb/job/job_name.h"

#include <stdio.h>

bool bj_acct_list_next(const struct bj_strv *list, struct bj_acct_at *at,
                       struct bj_slice *ret)
{
    for (;;) {
        while (at->rest.n > 0) {
            *ret = bj_slice_trim(bj_job_name_cut(&at->rest));
            if (ret->n > 0)
                return true;
        }
        if (at->text == list->n)
            return false;
        at->rest = bj_slice_str(list->v[at->text++]);
    }
}

unsigned bj_acct_list_count(const struct bj_strv *list)
{
    struct bj_acct_at at = {0};
    struct bj_slice v;
    unsigned n = 0;
    while (bj_acct_list_next(list, &at, &v))
        n++;
    return n;
}

int bj_acct_cluster_add(struct bj_acct_clusters *list, struct bj_slice name,
                        int64_t complete_sec, struct bj_err *err)
{
    if (!BJ_GROW(list->v, list->n + 1, list->room))
        return bj_err_set(err, -ENOMEM, "clusters");
    struct bj_acct_cluster *c = &list->v[list->n++];
    snprintf(c->name, sizeof(c->name), "%.*s", (int)name.n,
             name.n ? name.p : "");
    c->complete_sec = complete_sec;
    return 0;
}
