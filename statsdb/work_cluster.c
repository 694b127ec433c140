#include "statsdb/sql.h"
#include "statsdb/store.h"
#include "statsdb/work_impl.h"

int64_t bj_work_cluster(struct bj_work *w, const char *name)
{
    struct sqlite3_stmt *st;
    int64_t id = 0;
    if (bj_sql_prepare(bj_store_db(w->store),
                       "SELECT id FROM cluster WHERE name = ?1", &st, NULL) < 0)
        return 0;
    bj_sql_bind_text(st, 1, bj_slice_str(name));
    if (bj_sql_row(st, NULL) > 0)
        id = bj_sql_get(st, 0);
    sqlite3_finalize(st);
    return id;
}
