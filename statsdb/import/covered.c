#include "statsdb/import/covered.h"

#include "store/db.h"

int bj_covered_read(struct bj_store *s, const char *cluster, const char *source,
                    struct bj_covered *ret, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(bj_store_db(s),
                          "SELECT from_sec, to_sec FROM covered"
                          " WHERE cluster = :cluster AND source = :source",
                          &st, err);
    if (r < 0)
        return r;
    bj_st_set_text(st, "cluster", bj_slice_str(cluster));
    bj_st_set_text(st, "source", bj_slice_str(source));
    *ret = (struct bj_covered){0, 0};
    r = bj_st_row(st, err);
    if (r > 0)
        *ret = (struct bj_covered){bj_st_i64(st, "from_sec"),
                                   bj_st_i64(st, "to_sec")};
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

int bj_covered_write(struct bj_store *s, const char *cluster,
                     const char *source, const struct bj_covered *covered,
                     struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(
        bj_store_db(s),
        "INSERT INTO covered(cluster, source, from_sec, to_sec)"
        " VALUES(:cluster, :source, :from, :to) ON CONFLICT(cluster, source)"
        " DO UPDATE SET from_sec = :from, to_sec = :to WHERE covered.from_sec"
        " != :from OR covered.to_sec != :to",
        &st, err);
    if (r < 0)
        return r;
    bj_st_set_text(st, "cluster", bj_slice_str(cluster));
    bj_st_set_text(st, "source", bj_slice_str(source));
    bj_st_set_i64(st, "from", covered->from_sec);
    bj_st_set_i64(st, "to", covered->to_sec);
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

int bj_removed_before(struct bj_store *s, int64_t *ret_sec, struct bj_err *err)
{
    return bj_db_int(bj_store_db(s),
                     "SELECT coalesce(max(before_sec), 0) FROM removed",
                     ret_sec, err);
}
