#include "statsdb/tables/site_zone.h"

#include "store/db.h"

#include <string.h>

int bj_site_zone_name(struct bj_db *db, char ret[static BJ_TZ_NAME],
                      struct bj_err *err)
{
    struct bj_st *st = NULL;
    ret[0] = '\0';
    int r = bj_db_prepare(db, "SELECT time_zone FROM site", &st, err);
    if (r == 0)
        r = bj_st_row(st, err);
    if (r > 0) {
        const struct bj_slice s = bj_st_get_text(st, 0);
        if (s.n > 0 && s.n < BJ_TZ_NAME) {
            memcpy(ret, s.p, s.n);
            ret[s.n] = '\0';
        }
    }
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

int bj_site_zone_read(struct bj_db *db, struct bj_tz **ret, struct bj_err *err)
{
    char name[BJ_TZ_NAME];
    *ret = NULL;
    int r = bj_site_zone_name(db, name, err);
    if (r == 0)
        r = bj_tz_load(name[0] ? name : "UTC", ret, err);
    return r < 0 ? bj_err_wrap(err, r, "time zone of the site") : 0;
}
