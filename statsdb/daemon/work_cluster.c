#include "statsdb/daemon/work_impl.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

int64_t bj_work_cluster(struct bj_work *w, const char *name)
{
    struct bj_st *st;
    int64_t id = 0;
    if (bj_db_prepare(bj_store_db(w->store),
                      "SELECT id FROM cluster WHERE name = ?1", &st, NULL) < 0)
        return 0;
    bj_st_bind_filled(st, 1, bj_slice_str(name));
    if (bj_st_row(st, NULL) > 0)
        id = bj_st_get_i64(st, 0);
    bj_st_finalize(st);
    return id;
}
