#include "apiserver/v1/sum_rows.h"

#include "apiserver/frame/reader.h"
#include "base/stamp.h"
#include "base/tz.h"

enum { DAY = 86400 };

static int64_t sum_rows_day(int64_t sec, int64_t *month)
{
    struct bj_civil t = {0};
    bj_civil_from_days(bj_tz_day(bj_tz_used(), sec >= 0 ? sec : 0), &t);
    *month = (int64_t)t.year * 12 + t.month - 1;
    return t.day;
}

/* Skip months without sums. */
static int first_month(struct bj_call *c, int64_t *ret)
{
    struct bj_st *st;
    int r = bj_reader_prepare(
        c->reader, "SELECT id >> 37 FROM rollup_usage ORDER BY id LIMIT 1", &st,
        &c->err);
    if (r == 0 && (r = bj_st_row(st, &c->err)) > 0)
        *ret = bj_st_get_i64(st, 0);
    return r < 0 ? r : 0;
}

static void find_whole(struct bj_sum_rows *s, bool by_day)
{
    const int64_t next = s->last + 1;
    const int64_t days =
        bj_days_from_civil((int)(next / 12), (unsigned)(next % 12) + 1, 1) -
        bj_days_from_civil((int)(s->last / 12), (unsigned)(s->last % 12) + 1,
                           1);
    s->whole = s->from == 1 ? s->first : s->first + 1;
    s->upto = by_day ? s->whole - 1 : s->to == days ? s->last : s->last - 1;
}

int bj_sum_rows_read(struct bj_call *c, const struct bj_params *p, bool by_day,
                     struct bj_sum_rows *ret)
{
    int64_t first = INT64_MAX, now = c->now_sec + DAY, from, to;
    int r = first_month(c, &first);
    if (r == 0)
        r = bj_params_period(c, p, &from, &to);
    if (r != 0)
        return r;
    ret->from = sum_rows_day(from, &ret->first);
    ret->to = sum_rows_day(to < now ? to : now, &ret->last);
    if (ret->first < first) {
        ret->first = first;
        ret->from = 1;
    }
    find_whole(ret, by_day);
    return 0;
}

/* The first or last row of a month: a day, or 0 if the month is whole.  month
 * and its day: where the days are not all. */
static void put_day(struct bj_query *q, const struct bj_sum_rows *s,
                    int64_t month, int64_t day, int64_t otherwise)
{
    bj_query_sql(q, "CASE WHEN m BETWEEN ");
    bj_query_int(q, s->whole);
    bj_query_sql(q, " AND ");
    bj_query_int(q, s->upto);
    bj_query_sql(q, " THEN CAST(0 AS INTEGER) WHEN m = ");
    bj_query_int(q, month);
    bj_query_sql(q, " THEN ");
    bj_query_int(q, day);
    bj_query_sql(q, " ELSE ");
    bj_query_int(q, otherwise);
    bj_query_sql(q, " END");
}

void bj_sum_rows_with(struct bj_query *q, const struct bj_sum_rows *s)
{
    bj_query_sql(q, "WITH RECURSIVE each_mo(m) AS (SELECT CAST(");
    bj_query_int(q, s->first);
    bj_query_sql(q,
                 " AS INTEGER) UNION ALL SELECT m + 1 FROM each_mo WHERE m < ");
    bj_query_int(q, s->last);
    bj_query_sql(q, "), mo(m, since, upto) AS (SELECT m, ");
    put_day(q, s, s->first, s->from, 1);
    bj_query_sql(q, ", ");
    put_day(q, s, s->last, s->to, 31);
    bj_query_sql(q, " FROM each_mo)");
}

void bj_sum_rows_where(struct bj_query *q, const struct bj_sum_rows *s)
{
    bj_query_sql(q, " WHERE r.id BETWEEN ((mo.m << 37) | (a.id << 5) |"
                    " mo.since) AND ((mo.m << 37) | (a.id << 5) | mo.upto) AND"
                    " mo.m <= ");
    bj_query_int(q, s->last);
}
