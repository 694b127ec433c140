/* WattTime, API v3: five-minute values of a region, the marginal rate of the
 * plant that supplies the next load, in pounds of CO2 per MWh.  Never mix it
 * with averages. */
#include "base/stamp.h"
#include "carbon/provider_list.h"

enum { STEP_SEC = 5 * 60, SPAN_SEC = 2 * 3600 };

void bj_carbon_watttime_url(const struct bj_carbon_target *target,
                            struct bj_buf *out)
{
    char start[BJ_STAMP_MAX], end[BJ_STAMP_MAX];
    int64_t now = (int64_t)target->now_sec;
    bj_stamp_text((now - SPAN_SEC) * 1000000, 0, 0, start);
    bj_stamp_text(now * 1000000, 0, 0, end);
    bj_carbon_url(out, target->origin, "/v3/historical");
    bj_carbon_param(out, "region", target->zone);
    bj_carbon_param(out, "start", start);
    bj_carbon_param(out, "end", end);
    bj_carbon_param(out, "signal_type", "co2_moer");
}

/* A member of meta must have this value, if present. */
static int check(const struct bj_json *doc, const char *path, const char *want,
                 struct bj_err *err)
{
    struct bj_slice s = bj_json_text(bj_json_path(doc, path));
    if (s.n == 0 || bj_slice_eq(s, bj_slice_str(want)))
        return 0;
    return bj_carbon_reply_bad(path, s, want, err);
}

static int read_row(const struct bj_json *row, const char *zone,
                    struct bj_carbon_reply *ret, struct bj_err *err)
{
    (void)zone, (void)err;
    struct bj_carbon_point p = {.len_sec = STEP_SEC,
                                .kind = BJ_FACTOR_MARGINAL};
    bj_factor_json_pounds(bj_json_get(row, "value"), &p.mg_per_kwh);
    bj_carbon_reply_add(ret, bj_json_get(row, "point_time"), p);
    return 0;
}

static int read_all(const struct bj_json *doc, const char *zone,
                    struct bj_carbon_reply *ret, struct bj_err *err)
{
    int r = check(doc, "meta.units", "lbs_co2_per_mwh", err);
    if (r == 0)
        r = check(doc, "meta.signal_type", "co2_moer", err);
    if (r == 0)
        r = check(doc, "meta.region", zone, err);
    if (r < 0)
        return r;
    return bj_carbon_reply_rows(bj_json_get(doc, "data"), "data", zone,
                                read_row, ret, err);
}

int bj_carbon_watttime_parse(struct bj_slice text, const char *zone,
                             struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_parse(text, zone, read_all, ret, err);
}
