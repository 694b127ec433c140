#include "apiserver/frame/params.h"

#include "apiserver/frame/call.h"
#include "base/opt_value.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "statsdb/job/job_name.h"

#include <string.h>

enum { SECOND = 1000000, DAY = 86400 };

const struct bj_param_rule bj_param_rules[BJ_PARAMS] = {
    [BJ_PARAM_USER] = {"user", BJ_PARAM_LIST, "Jobs of these users."},
    [BJ_PARAM_ACCOUNT] = {"account", BJ_PARAM_LIST, "Jobs of these accounts."},
    [BJ_PARAM_PARTITION] = {"partition", BJ_PARAM_LIST,
                            "Jobs in these partitions or queues."},
    [BJ_PARAM_CLUSTER] = {"cluster", BJ_PARAM_LIST, "Jobs of these clusters."},
    [BJ_PARAM_STATE] = {"state", BJ_PARAM_LIST,
                        "Jobs in these states, in any case; also ended, all, "
                        "and the names of Slurm."},
    [BJ_PARAM_NODE] = {"node", BJ_PARAM_LIST,
                       "Jobs that ran on these nodes, also as lists of Slurm: "
                       "n[101-104,107]."},
    [BJ_PARAM_NAME] = {"name", BJ_PARAM_TEXT,
                       "Jobs whose name contains this text; case of ASCII "
                       "letters is ignored."},
    [BJ_PARAM_JOB] = {"job", BJ_PARAM_LIST,
                      "These jobs at any time: key, SLUID, UUID, jobid or "
                      "display_id."},
    [BJ_PARAM_FIELDS] =
        {"fields", BJ_PARAM_LIST,
         "Only these fields. Lists have some fields only on request."},
    [BJ_PARAM_GROUP_BY] =
        {"group_by", BJ_PARAM_LIST,
         "One row for each cluster, account, user, partition, faculty, day or "
         "month."},
    [BJ_PARAM_FROM] =
        {"from", BJ_PARAM_TIME,
         "Begin of the time. Default: a week ago; for one job its start."},
    [BJ_PARAM_TO] = {"to", BJ_PARAM_TIME,
                     "End of the time. Default: now; for one job its end."},
    [BJ_PARAM_LIMIT] = {"limit", BJ_PARAM_UINT, "Maximum number of rows."},
    [BJ_PARAM_CURSOR] = {"cursor", BJ_PARAM_TEXT,
                         "Continue the list whose meta.next this is."},
    [BJ_PARAM_ORDER] =
        {"order", BJ_PARAM_TEXT,
         "Order by start time or by sort: desc (newest or largest first, the "
         "default) or asc."},
    [BJ_PARAM_TOTAL] = {"total", BJ_PARAM_FLAG, "Count all jobs that match."},
    [BJ_PARAM_MINE] = {"mine", BJ_PARAM_FLAG,
                       "Only jobs of the user, even where more are visible."},
    [BJ_PARAM_RUNNING] = {"running", BJ_PARAM_FLAG,
                          "true: only jobs that run; false: only others."},
    [BJ_PARAM_METRIC] = {"metric", BJ_PARAM_LIST,
                         "Only these metrics of /api/v1/series."},
    [BJ_PARAM_BY] =
        {"by", BJ_PARAM_TEXT,
         "Rows for the whole job (job, the default), each node or each gpu."},
    [BJ_PARAM_STEP] =
        {"step", BJ_PARAM_UINT,
         "Seconds between rows. Default: depends on the length of the time."},
    [BJ_PARAM_FINDING] =
        {"finding", BJ_PARAM_LIST,
         "Only findings with these names, written with underscores or blanks; "
         "of jobs, those that have one."},
    [BJ_PARAM_GPU] = {"gpu", BJ_PARAM_FLAG,
                      "true: only jobs with GPUs; false: only others."},
    [BJ_PARAM_BEGAN] =
        {"began", BJ_PARAM_FLAG,
         "true: only jobs that began in the time; pending jobs began when they "
         "were submitted."},
    [BJ_PARAM_FORMAT] = {"format", BJ_PARAM_TEXT,
                         "json (the default) or csv, instead of the header "
                         "Accept; of a bill also pdf."},
    [BJ_PARAM_LIVE] = {"live", BJ_PARAM_FLAG,
                       "false: the page of a running job does not reload."},
    [BJ_PARAM_SORT] = {"sort", BJ_PARAM_TEXT,
                       "Order by this field, which has numbers or times; the "
                       "cursor is then a number of rows. Of usage: core_hours, "
                       "gpu_hours, energy_kwh, cpu_unused_hours or "
                       "gpu_unused_hours. Of findings: cost (the most severe, "
                       "then the most expensive first) or start."},
    [BJ_PARAM_PAPER] = {"paper", BJ_PARAM_TEXT,
                        "Paper of a PDF: a4 (the default) or letter."},
    [BJ_PARAM_WIDTH] = {"width", BJ_PARAM_UINT,
                        "Width at which an image is shown, 240 to 2000 "
                        "(default 600); it has two pixels for each."},
    [BJ_PARAM_SHOW] = {"show", BJ_PARAM_TEXT,
                       "Which nodes a page lists: all (the default), out of "
                       "service (out), the worst of the week (worst), or those "
                       "with GPUs (gpus)."},
    [BJ_PARAM_MONTH] = {"month", BJ_PARAM_TEXT,
                        "A month of the site's time zone, as 2026-11."},
};

struct reading {
    struct bj_call *c;
    struct bj_params *p;
    unsigned mask;
};

/* Round down to the start of a day, a week (Monday), a month, a year or an hour
 * of the site's zone; for the end of a range, round up to its last second. */
static int rounded(char unit, bool end, int64_t *sec)
{
    const struct bj_tz *tz = bj_tz_used();
    struct bj_civil t = {0};
    const int64_t day = bj_tz_day(tz, *sec);
    int64_t first = day, next = day + 1; /* days */
    bj_civil_from_days(day, &t);
    switch (unit) {
    case 'h': {
        const int64_t over = (*sec + bj_tz_offset(tz, *sec)) % 3600;
        *sec += end ? 3599 - over : -over;
        return *sec < 0 ? -EINVAL : 0;
    }
    case 'd':
        break;
    case 'w': /* 1970-01-01 was a Thursday */
        first = day - (day + 3) % 7;
        next = first + 7;
        break;
    case 'M':
        first = bj_days_from_civil(t.year, t.month, 1);
        next = first + (int64_t)bj_days_of_month(t.year, t.month);
        break;
    case 'y':
        first = bj_days_from_civil(t.year, 1, 1);
        next = bj_days_from_civil(t.year + 1, 1, 1);
        break;
    default:
        return -EINVAL;
    }
    *sec = end ? bj_tz_midnight(tz, next) - 1 : bj_tz_midnight(tz, first);
    return *sec < 0 ? -EINVAL : 0;
}

/* Parse a duration, which may be in weeks: "2w". */
static int read_duration(struct bj_slice s, uint64_t *usec)
{
    uint64_t weeks;
    const struct bj_slice number = {s.p, s.n > 0 ? s.n - 1 : 0};
    if (s.n < 2 || s.p[s.n - 1] != 'w' || bj_slice_u64(number, &weeks) < 0)
        return bj_duration_parse(s, usec);
    return __builtin_mul_overflow(weeks, (uint64_t)7 * DAY * SECOND, usec)
               ? -EINVAL
               : 0;
}

/* Parse "now", "now-7d", "now/d" or "now-1w/w" as in Grafana; not before 1970.
 */
static int parse_now(struct bj_slice behind, int64_t now_sec, bool end,
                     int64_t *ret)
{
    const char *slash = behind.n > 0 ? memchr(behind.p, '/', behind.n) : NULL;
    struct bj_slice unit = {0};
    uint64_t usec = 0;
    if (slash) {
        unit = (struct bj_slice){slash + 1,
                                 behind.n - (size_t)(slash - behind.p) - 1};
        behind.n = (size_t)(slash - behind.p);
    }
    if (behind.n > 0 &&
        (behind.p[0] != '-' ||
         read_duration((struct bj_slice){behind.p + 1, behind.n - 1}, &usec) <
             0 ||
         usec / SECOND > (uint64_t)now_sec))
        return -EINVAL;
    *ret = now_sec - (int64_t)(usec / SECOND);
    if (!slash)
        return 0;
    return unit.n == 1 ? rounded(unit.p[0], end, ret) : -EINVAL;
}

int bj_param_time(struct bj_slice s, int64_t now_sec, bool end, int64_t *ret)
{
    uint64_t v;
    if (bj_slice_starts(s, BJ_SLICE("now")))
        return parse_now((struct bj_slice){s.p + 3, s.n - 3}, now_sec, end,
                         ret);
    if (bj_slice_u64(s, &v) == 0) {
        /* Smaller numbers are seconds, until the year 5138; larger ones
         * milliseconds, since 1973. */
        v = v >= 100000000000 ? v / 1000 : v;
        if (v > 253402300799) /* the end of the year 9999 */
            return -EINVAL;
        *ret = (int64_t)v;
        return 0;
    }
    /* An unescaped '+' of a query string has become a blank. */
    char text[40];
    char *blank = NULL;
    if (s.n < sizeof(text) && s.n > 10 && s.p[10] == 'T') {
        memcpy(text, s.p, s.n);
        blank = memchr(text, ' ', s.n);
    }
    if (blank) {
        *blank = '+';
        s.p = text;
    }
    struct bj_civil c;
    if (bj_civil_parse(s, &c) < 0 ||
        bj_stamp_sec(s, BJ_STAMP_BARE_UTC, ret) < 0)
        return -EINVAL;
    if (!c.zoned)
        *ret = bj_tz_sec(bj_tz_used(), *ret);
    return *ret < 0 ? -EINVAL : 0;
}

static int params_wrong(struct reading *r, enum bj_param which,
                        const char *what)
{
    return bj_call_refuse(r->c, 400, "The parameter %s %s.",
                          bj_param_rules[which].name, what);
}

static int add_value(struct reading *r, enum bj_param which, struct bj_slice s)
{
    struct bj_params *p = r->p;
    if (p->values == BJ_PARAM_VALUES)
        return bj_call_refuse(r->c, 400, "The request has more than %d values.",
                              BJ_PARAM_VALUES);
    p->value[p->values].which = which;
    p->value[p->values++].text = s;
    p->given[which] = true;
    return 0;
}

static bool means_all(struct bj_slice s)
{
    return s.n == 0 || bj_slice_eq(s, BJ_SLICE("*")) ||
           bj_slice_eq(s, BJ_SLICE("$__all"));
}

/* Cut at the next comma outside of brackets: "n[1-3,7],m1". */
static bool next_node(struct bj_slice *list, struct bj_slice *ret)
{
    size_t n = 0;
    int depth = 0;
    for (; n < list->n && (depth > 0 || list->p[n] != ','); n++)
        depth += (list->p[n] == '[') - (list->p[n] == ']');
    const bool any = list->n > 0;
    *ret = (struct bj_slice){list->p, n};
    n += n < list->n;
    *list = (struct bj_slice){list->p + n, list->n - n};
    return any;
}

static bool next_item(enum bj_param which, struct bj_slice *list,
                      struct bj_slice *ret)
{
    if (which == BJ_PARAM_NODE)
        return next_node(list, ret);
    if (which != BJ_PARAM_JOB)
        return bj_slice_field(list, ',', ret);
    *ret = bj_job_name_cut(list);
    return ret->n > 0 || list->n > 0;
}

static int add_list(struct reading *r, enum bj_param which, struct bj_slice s)
{
    struct bj_slice item;
    int rc = 0;
    if (s.n >= 2 && s.p[0] == '{' && s.p[s.n - 1] == '}')
        s = (struct bj_slice){s.p + 1, s.n - 2};
    if (s.n == 0)
        r->p->all[which] = true;
    while (rc == 0 && next_item(which, &s, &item)) {
        if (means_all(item))
            r->p->all[which] = true;
        else
            rc = add_value(r, which, item);
    }
    return rc;
}

static int add_flag(struct reading *r, enum bj_param which, struct bj_slice s)
{
    bool yes = s.n == 0 || bj_slice_eq(s, BJ_SLICE("true")) ||
               bj_slice_eq(s, BJ_SLICE("1"));
    if (!yes && !bj_slice_eq(s, BJ_SLICE("false")) &&
        !bj_slice_eq(s, BJ_SLICE("0")))
        return params_wrong(r, which, "must be true or false");
    r->p->given[which] = true;
    r->p->number[which] = yes;
    return 0;
}

static int params_add(struct reading *r, enum bj_param which, struct bj_slice s)
{
    uint64_t v;
    if (s.n > 0 && memchr(s.p, '\0', s.n))
        return params_wrong(r, which, "contains a NUL");
    switch (bj_param_rules[which].kind) {
    case BJ_PARAM_LIST:
        return add_list(r, which, s);
    case BJ_PARAM_FLAG:
        return add_flag(r, which, s);
    case BJ_PARAM_TEXT:
        if (r->p->given[which])
            return params_wrong(r, which, "is given twice");
        return s.n == 0 ? 0 : add_value(r, which, s);
    case BJ_PARAM_TIME:
        if (s.n == 0)
            return 0;
        if (bj_param_time(s, r->c->now_sec, which == BJ_PARAM_TO,
                          &r->p->number[which]) < 0)
            return params_wrong(r, which, "must be a time: " BJ_PARAM_TIMES);
        break;
    case BJ_PARAM_UINT:
        if (s.n == 0)
            return 0;
        if (bj_slice_u64(s, &v) < 0 || v > INT64_MAX)
            return params_wrong(r, which, "must be a whole number");
        r->p->number[which] = (int64_t)v;
        break;
    }
    r->p->given[which] = true;
    return 0;
}

/* Find a parameter by its name; -1: unknown. */
static int params_find(unsigned mask, struct bj_slice name)
{
    for (int i = 0; i < BJ_PARAMS; i++)
        if ((mask & 1u << i) &&
            bj_slice_eq(bj_slice_str(bj_param_rules[i].name), name))
            return i;
    return -1;
}

static int unknown(struct reading *r, struct bj_slice key)
{
    struct bj_buf known = {0};
    bj_buf_str(&known, r->mask ? "; the parameters are" : "");
    for (int i = 0; i < BJ_PARAMS; i++)
        if (r->mask & 1u << i)
            bj_buf_printf(&known, "%s %s",
                          (r->mask & ((1u << i) - 1)) ? "," : "",
                          bj_param_rules[i].name);
    bj_buf_put(&known, "", 1);
    int rc = bj_call_refuse(r->c, 400, "Unknown parameter '%.*s'%s.",
                            key.n < 60 ? (int)key.n : 60, key.p,
                            known.failed ? "" : known.p);
    bj_buf_free(&known);
    return rc;
}

static int on_arg(void *ctx, struct bj_slice key, struct bj_slice value)
{
    struct reading *r = ctx;
    struct bj_slice name = key;
    bool var = bj_slice_starts(key, BJ_SLICE("var-"));
    if (var)
        name = (struct bj_slice){key.p + 4, key.n - 4};
    int which = params_find(r->mask, name);
    if (which >= 0)
        return params_add(r, (enum bj_param)which, value);
    if (var)
        return 0;
    return unknown(r, key);
}

void bj_params_clear(struct bj_params *p)
{
    p->values = 0;
    memset(p->given, 0, sizeof(p->given));
    memset(p->all, 0, sizeof(p->all));
    memset(p->number, 0, sizeof(p->number));
}

void bj_params_end(struct bj_params *p)
{
    for (int i = 0; i < BJ_PARAMS; i++)
        if (p->all[i])
            p->given[i] = false;
}

int bj_params_put(struct bj_call *c, struct bj_params *p, unsigned mask,
                  struct bj_slice name, struct bj_slice value)
{
    struct reading r = {c, p, mask};
    int which = params_find(mask, name);
    return which < 0 ? 0 : params_add(&r, (enum bj_param)which, value);
}

int bj_params_read(struct bj_call *c, unsigned mask, struct bj_params *ret)
{
    const struct bj_endpoint *e = c->endpoint;
    struct reading r = {.c = c, .p = ret, .mask = mask};
    if (e && bj_endpoint_has_rows(e))
        r.mask |= BJ_BIT(BJ_PARAM_FORMAT);
    bj_params_clear(ret);
    int rc = bj_http_each_arg(c->req, on_arg, &r);
    bj_params_end(ret);
    struct bj_slice format = bj_params_text(ret, BJ_PARAM_FORMAT);
    if (rc == 0 && format.n > 0 && !bj_slice_eq(format, BJ_SLICE("csv")) &&
        !bj_slice_eq(format, BJ_SLICE("json")) &&
        !(mask & BJ_BIT(BJ_PARAM_PAPER) &&
          bj_slice_eq(format, BJ_SLICE("pdf"))))
        return params_wrong(&r, BJ_PARAM_FORMAT, "must be json or csv");
    return rc;
}

struct bj_slice bj_params_text(const struct bj_params *p, enum bj_param which)
{
    for (unsigned i = 0; i < p->values; i++)
        if (p->value[i].which == which)
            return p->value[i].text;
    return (struct bj_slice){0};
}

int bj_params_period(struct bj_call *c, const struct bj_params *p,
                     int64_t *from, int64_t *to)
{
    enum { WEEK = 7 * 86400 };
    *to = p->given[BJ_PARAM_TO] ? p->number[BJ_PARAM_TO] : c->now_sec;
    *from = p->given[BJ_PARAM_FROM] ? p->number[BJ_PARAM_FROM] : *to - WEEK;
    return *from > *to
               ? bj_call_refuse(c, 400,
                                "The parameter from must not be later than to.")
               : 0;
}
