#include "statsdb/derive/price.h"

#include "statsdb/tables/best.h"
#include "statsdb/tables/store.h"

#include <stdio.h>
#include <string.h>

/* --- costs -----------------------------------------------------------------
 */

__extension__ typedef __int128 wide;

/* The fraction of an hour, a GiB hour or a kWh in its unit of struct bj_paid
 * has this denominator, so that terms are added exactly. */
#define COMMON INT64_C(57600000000)
#define SECOND (COMMON / 3600)              /* of an hour */
#define MIB_SECOND (COMMON / (3600 * 1024)) /* of a GiB hour */
#define MILLIJOULE (COMMON / 3600000000)    /* of a kWh */

/* Add v * price * part, if both are known. False: too large. */
static bool price_add(wide *sum, bool *any, int64_t v, int64_t price,
                      int64_t part)
{
    wide one;
    if (v < 0 || price < 0)
        return true;
    *any = true;
    return !__builtin_mul_overflow((wide)v * price, (wide)part, &one) &&
           !__builtin_add_overflow(*sum, one, sum);
}

int64_t bj_cost(const struct bj_prices *p, const struct bj_paid *v)
{
    wide sum = COMMON / 2; /* rounds half up */
    bool any = false;
    if (!price_add(&sum, &any, v->cpu_sec, p->cpu_hour, SECOND) ||
        !price_add(&sum, &any, v->gpu_sec, p->gpu_hour, SECOND) ||
        !price_add(&sum, &any, v->memory_mib_sec, p->gib_hour, MIB_SECOND) ||
        !price_add(&sum, &any, v->energy_mj, p->kwh, MILLIJOULE) || !any)
        return BJ_SQL_NULL;
    sum /= COMMON;
    return sum > INT64_MAX ? BJ_SQL_NULL : (int64_t)sum;
}

static bool is_missing(int64_t v, int64_t price)
{
    return price != BJ_SQL_NULL && v == BJ_SQL_NULL;
}

bool bj_cost_is_minimum(const struct bj_prices *p, const struct bj_paid *v)
{
    return is_missing(v->cpu_sec, p->cpu_hour) ||
           is_missing(v->gpu_sec, p->gpu_hour) ||
           is_missing(v->memory_mib_sec, p->gib_hour) ||
           is_missing(v->energy_mj, p->kwh);
}

/* --- the store -------------------------------------------------------------
 */

int bj_prices_read(struct bj_db *db, struct bj_prices *ret, struct bj_err *err)
{
    struct bj_st *st = NULL;
    *ret = (struct bj_prices){BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL,
                              BJ_SQL_NULL, false,       ""};
    int r = bj_db_prepare(db,
                          "SELECT cpu_hour, gpu_hour, gib_hour, kwh, currency,"
                          " failed_nodes_free FROM price",
                          &st, err);
    if (r == 0)
        r = bj_st_row(st, err);
    if (r > 0) {
        ret->cpu_hour = bj_st_i64(st, "cpu_hour");
        ret->gpu_hour = bj_st_i64(st, "gpu_hour");
        ret->gib_hour = bj_st_i64(st, "gib_hour");
        ret->kwh = bj_st_i64(st, "kwh");
        ret->failed_nodes_free = bj_st_i64(st, "failed_nodes_free") > 0;
        struct bj_slice s = bj_st_text(st, "currency");
        snprintf(ret->currency, sizeof(ret->currency), "%.*s", (int)s.n,
                 s.p ? s.p : "");
    }
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

bool bj_prices_are(const struct bj_prices *p)
{
    return p->cpu_hour != BJ_SQL_NULL || p->gpu_hour != BJ_SQL_NULL ||
           p->gib_hour != BJ_SQL_NULL || p->kwh != BJ_SQL_NULL;
}

static int write_row(struct bj_db *db, const struct bj_report_conf *conf,
                     struct bj_err *err)
{
    static const char *const name[] = {"cpu_hour", "gpu_hour", "gib_hour",
                                       "kwh"};
    const char *const text[] = {conf->cpu_hour, conf->gpu_hour, conf->gib_hour,
                                conf->kwh};
    int64_t price[4];
    bool any = false;
    for (int i = 0; i < 4; i++) {
        if (bj_price_read(text[i], &price[i]) < 0)
            price[i] = BJ_SQL_NULL; /* the options were checked */
        any = any || price[i] != BJ_SQL_NULL;
    }
    struct bj_st *st = NULL;
    int r = bj_db_exec(db, "DELETE FROM price", err);
    if (r < 0 || !any)
        return r;
    r = bj_db_prepare(db,
                      "INSERT INTO price(id, currency, cpu_hour, gpu_hour,"
                      " gib_hour, kwh, failed_nodes_free)"
                      " VALUES(1, :currency, :cpu_hour, :gpu_hour,"
                      " :gib_hour, :kwh, :failed_nodes_free)",
                      &st, err);
    if (r < 0)
        return r;
    bj_st_set_text(st, "currency",
                   bj_slice_str(conf->currency ? conf->currency : ""));
    for (int i = 0; i < 4; i++)
        bj_st_set_i64(st, name[i], price[i]);
    bj_st_set_i64(st, "failed_nodes_free", conf->failed_nodes_free);
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

int bj_prices_write(struct bj_store *s, const struct bj_report_conf *conf,
                    struct bj_err *err)
{
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = write_row(bj_store_db(s), conf, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}
