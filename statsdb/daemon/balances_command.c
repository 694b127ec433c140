#include "statsdb/daemon/balances_command.h"

#include "base/file.h"
#include "base/json.h"
#include "base/stamp.h"
#include "base/text.h"
#include "base/tz.h"
#include "statsdb/tables/site_zone.h"
#include "store/db.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 20, HOUR = 3600, DAY = 86400, DIGITS = 3 };

static const struct unit {
    const char *name, *title, *column;
} units[] = {
    {"core-hours", "core hour", "cpu_sec"},
    {"gpu-hours", "GPU hour", "gpu_sec"},
};

/* A line of the file: days since 1970. */
struct budget {
    struct bj_slice account;
    int64_t thousandths; /* of hours */
    int64_t first, last;
};

struct balances {
    struct bj_store *store;
    const struct unit *unit;
    const struct bj_tz *zone;
    int64_t today;
    int64_t from_sec, to_sec; /* accounting was imported for this period */
    struct bj_json_out json;
    struct bj_err *err; /* the first line that is wrong */
};

/* --- the file --------------------------------------------------------------
 */

static int balances_day(struct bj_slice s, int64_t *ret)
{
    struct bj_civil c;
    if (s.n != strlen("2026-01-01") || bj_civil_parse(s, &c) < 0)
        return -EINVAL;
    *ret = bj_days_from_civil(c.year, c.month, c.day);
    return 0;
}

static int balances_parse(struct bj_slice line, struct budget *ret)
{
    struct bj_slice hours, first, last, more;
    *ret = (struct budget){.last = INT64_MAX};
    if (!bj_slice_word(&line, &ret->account) || !bj_slice_word(&line, &hours) ||
        !bj_slice_word(&line, &first))
        return -EINVAL;
    if (bj_decimal_i64(hours, DIGITS, &ret->thousandths) < 0 ||
        ret->thousandths < 0 || ret->thousandths > INT64_MAX / HOUR ||
        balances_day(first, &ret->first) < 0)
        return -EINVAL;
    if (bj_slice_word(&line, &last) &&
        (balances_day(last, &ret->last) < 0 || ret->last < ret->first))
        return -EINVAL;
    return bj_slice_word(&line, &more) ? -EINVAL : 0;
}

/* --- usage -----------------------------------------------------------------
 */

/* Months are counted as in the numbers of the rows: statsdb/tables/schema.c. */
static int64_t balances_month(int64_t day)
{
    struct bj_civil c;
    bj_civil_from_days(day, &c);
    return (int64_t)c.year * 12 + c.month - 1;
}

static int64_t balances_month_day(int64_t day)
{
    struct bj_civil c;
    bj_civil_from_days(day, &c);
    return balances_month(day) * 32 + c.day;
}

/* Seconds that jobs of the account held since the first day of its budget. */
static int balances_used(const struct balances *b, const struct budget *g,
                         int64_t *ret, struct bj_err *err)
{
    char sql[400];
    struct bj_st *st = NULL;
    snprintf(sql, sizeof(sql),
             "SELECT coalesce(sum(r.%s), 0) FROM rollup_day AS r JOIN assoc AS"
             " a ON a.id = r.assoc WHERE r.id >= :first AND r.month * 32 +"
             " r.day >= :day AND a.account = (SELECT id FROM account WHERE name"
             " = :account)",
             b->unit->column);
    int r = bj_db_prepare(bj_store_db(b->store), sql, &st, err);
    if (r < 0)
        return r;
    bj_st_set_i64(st, "first", balances_month(g->first) << 37);
    bj_st_set_i64(st, "day", balances_month_day(g->first));
    bj_st_set_text(st, "account", g->account);
    *ret = 0;
    r = bj_st_int(st, ret, err);
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

/* Write a row for each user who has had a job in the account. */
static int balances_put(struct balances *b, const struct budget *g,
                        int64_t left_sec, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(bj_store_db(b->store),
                          "SELECT DISTINCT u.name AS owner FROM assoc AS a JOIN"
                          " user AS u ON u.id = a.user WHERE a.account ="
                          " (SELECT id FROM account WHERE name = :account)"
                          " ORDER BY 1",
                          &st, err);
    if (r == 0)
        bj_st_set_text(st, "account", g->account);
    while (r == 0 && (r = bj_st_row(st, err)) > 0) {
        const int64_t down = left_sec < 0 && left_sec % HOUR != 0;
        bj_json_put_object(&b->json, NULL);
        bj_json_put_str(&b->json, "user", bj_st_text(st, "owner"));
        bj_json_put_str(&b->json, "project", g->account);
        bj_json_put_i64(&b->json, "value", left_sec / HOUR - down);
        bj_json_put_end(&b->json);
        r = 0;
    }
    bj_st_finalize(st);
    return r;
}

static int balances_line(struct balances *b, const char *path, uint64_t number,
                         struct bj_slice line)
{
    struct budget g;
    int64_t used = 0;
    char shown[80];
    if (balances_parse(line, &g) < 0) {
        bj_text_clean(line, shown, sizeof(shown));
        if (b->err->code == 0)
            bj_err_set(b->err, -EINVAL,
                       "%s:%llu: '%s' is not ACCOUNT HOURS FIRST-DAY "
                       "[LAST-DAY], such as: physics 100000 2026-01-01",
                       path, (unsigned long long)number, shown);
        return 0;
    }
    if (b->today < g.first || b->today > g.last)
        return 0;
    if (b->from_sec > bj_tz_midnight(b->zone, g.first)) {
        bj_text_clean(g.account, shown, sizeof(shown));
        fprintf(stderr,
                "batchjob_stats_db: warning: %s:%llu: %s: left out, as "
                "accounting is not imported from its first day on\n",
                path, (unsigned long long)number, shown);
        return 0;
    }
    struct bj_err why = {0};
    int r = balances_used(b, &g, &used, &why);
    if (r == 0)
        r = balances_put(b, &g, g.thousandths * HOUR / 1000 - used, &why);
    return r < 0 ? bj_err_copy(b->err, r, &why) : 0;
}

/* --- the command -----------------------------------------------------------
 */

/* The period that is imported of all clusters. */
static int balances_covered(struct balances *b, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(
        bj_store_db(b->store),
        "SELECT max(from_sec) AS since, min(to_sec) AS upto FROM (SELECT"
        " cluster, min(from_sec) AS from_sec, max(to_sec) AS to_sec FROM"
        " covered WHERE source <> 'prometheus' GROUP BY cluster) AS c",
        &st, err);
    if (r == 0)
        r = bj_st_row(st, err);
    b->from_sec = r > 0 ? bj_st_i64(st, "since") : BJ_SQL_NULL;
    b->to_sec = r > 0 ? bj_st_i64(st, "upto") : BJ_SQL_NULL;
    bj_st_finalize(st);
    if (r >= 0 && b->from_sec == BJ_SQL_NULL)
        return bj_err_set(err, -EAGAIN, "no accounting is imported yet");
    return r < 0 ? r : 0;
}

static int balances_write(struct balances *b, const char *path,
                          struct bj_slice text)
{
    struct bj_slice line;
    int r = 0;
    bj_json_put_object(&b->json, NULL);
    bj_json_put_u64(&b->json, "version", 1);
    bj_json_put_i64(&b->json, "timestamp", b->to_sec);
    bj_json_put_object(&b->json, "config");
    bj_json_put_str(&b->json, "unit", bj_slice_str(b->unit->title));
    bj_json_put_str(&b->json, "project_type", BJ_SLICE("account"));
    bj_json_put_end(&b->json);
    bj_json_put_array(&b->json, "balances");
    for (uint64_t n = 1; r == 0 && bj_slice_line(&text, &line); n++) {
        const char *hash = line.n > 0 ? memchr(line.p, '#', line.n) : NULL;
        line.n = hash ? (size_t)(hash - line.p) : line.n;
        line = bj_slice_trim(line);
        if (line.n > 0)
            r = balances_line(b, path, n, line);
    }
    bj_json_put_end(&b->json);
    bj_json_put_end(&b->json);
    return r;
}

int bj_balances(struct bj_store *s, const char *unit, const char *path,
                int64_t now_sec, struct bj_buf *out, struct bj_err *err)
{
    struct balances b = {.store = s, .json = {.to = out}, .err = err};
    struct bj_slice text = {0};
    struct bj_tz *zone = NULL;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (unit && strcmp(units[i].name, unit) == 0)
            b.unit = &units[i];
    if (!b.unit || !path)
        return bj_err_set(err, -EINVAL,
                          "balances: expected 'core-hours FILE' or 'gpu-hours "
                          "FILE'");
    char *buf = malloc(FILE_MOST);
    int r = buf ? bj_file_read_all(AT_FDCWD, path, buf, FILE_MOST, &text, err)
                : bj_err_set(err, -ENOMEM, "balances");
    if (r == 0)
        r = bj_site_zone_read(bj_store_db(s), &zone, err);
    if (r == 0)
        r = balances_covered(&b, err);
    if (r == 0) {
        b.zone = zone ? zone : bj_tz_utc;
        b.today = bj_tz_day(b.zone, now_sec);
        r = balances_write(&b, path, text);
    }
    if (r == 0 && bj_json_out_end(&b.json) < 0)
        r = bj_err_set(err, -ENOMEM, "balances");
    bj_buf_str(out, "\n");
    bj_tz_free(zone);
    free(buf);
    return r < 0 ? r : err->code;
}
