#include "carbon/provider.h"

#include "base/stamp.h"

#include <stdio.h>

/* --- rte ------------------------------------------------------------------
 *
 * RTE eCO2mix: quarter-hours of France, by the portal's explore API v2.1.
 * Direct emissions of production.  Future rows are null, and values are filled
 * in and corrected later, so each query requests a whole day. */

enum { RTE_STEP_SEC = 15 * 60, RTE_DAY_SEC = 86400 };

#define RTE_PATH                                                               \
    "/api/explore/v2.1/catalog/datasets/eco2mix-national-tr/records"

static void rte_url(const struct bj_carbon_target *target, struct bj_buf *out)
{
    struct bj_civil day;
    bj_civil_from_days((int64_t)(target->now_sec / RTE_DAY_SEC) - 1, &day);
    char where[128];
    snprintf(where, sizeof(where),
             "date_heure in [date'%04d-%02u-%02u' TO now()] and taux_co2 is "
             "not null",
             day.year, day.month, day.day);
    bj_carbon_url(out, target->origin, RTE_PATH);
    bj_carbon_param(out, "select", "taux_co2,date_heure");
    bj_carbon_param(out, "where", where);
    bj_carbon_param(out, "order_by", "date_heure desc");
    bj_carbon_param(out, "limit", "100"); /* the maximum */
    bj_carbon_param(out, "offset", "0");
    bj_carbon_param(out, "timezone", "Europe/Paris");
}

static int rte_read_row(const struct bj_json *row, const char *zone,
                        struct bj_carbon_reply *ret, struct bj_err *err)
{
    (void)zone, (void)err;
    struct bj_carbon_point p = {.len_sec = RTE_STEP_SEC,
                                .kind = BJ_FACTOR_DIRECT};
    bj_factor_json(bj_json_get(row, "taux_co2"), &p.mg_per_kwh);
    bj_carbon_reply_add(ret, bj_json_get(row, "date_heure"), p);
    return 0;
}

static int rte_read_all(const struct bj_json *doc, const char *zone,
                        struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_rows(bj_json_get(doc, "results"), "results", zone,
                                rte_read_row, ret, err);
}

static int rte_parse(struct bj_slice text, const char *zone,
                     struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_parse(text, zone, rte_read_all, ret, err);
}

/* --- emaps -----------------------------------------------------------------
 *
 * Electricity Maps: hourly values of a zone, API v3. The reply shows whether
 * its values are life-cycle (the default of the API) or direct emissions. */

enum { EMAPS_STEP_SEC = 3600 };

static void emaps_url(const struct bj_carbon_target *target, struct bj_buf *out)
{
    bj_carbon_url(out, target->origin, "/v3/carbon-intensity/latest");
    bj_carbon_param(out, "zone", target->zone);
}

static int emaps_read_kind(const struct bj_json *v, uint8_t *ret,
                           struct bj_err *err)
{
    struct bj_slice s = bj_json_text(v);
    if (s.n == 0 || bj_slice_eq(s, BJ_SLICE("lifecycle")))
        *ret = BJ_FACTOR_LIFECYCLE;
    else if (bj_slice_eq(s, BJ_SLICE("direct")))
        *ret = BJ_FACTOR_DIRECT;
    else
        return bj_carbon_reply_bad("emissionFactorType", s,
                                   "lifecycle' or 'direct", err);
    return 0;
}

static int emaps_check_zone(const struct bj_json *row, const char *zone,
                            struct bj_err *err)
{
    struct bj_slice s = bj_json_text(bj_json_get(row, "zone"));
    if (s.n == 0 || bj_slice_eq(s, bj_slice_str(zone)))
        return 0;
    return bj_carbon_reply_bad("zone", s, zone, err);
}

static int emaps_read_row(const struct bj_json *row, const char *zone,
                          struct bj_carbon_reply *ret, struct bj_err *err)
{
    struct bj_carbon_point p = {.len_sec = EMAPS_STEP_SEC};
    int r = emaps_check_zone(row, zone, err);
    if (r == 0)
        r = emaps_read_kind(bj_json_get(row, "emissionFactorType"), &p.kind,
                            err);
    if (r < 0)
        return r;
    bj_factor_json(bj_json_get(row, "carbonIntensity"), &p.mg_per_kwh);
    bj_json_bool(bj_json_get(row, "isEstimated"), &p.estimated);
    bj_carbon_reply_add(ret, bj_json_get(row, "datetime"), p);
    return 0;
}

/* One value, or those of the last day in "history". */
static int emaps_read_all(const struct bj_json *doc, const char *zone,
                          struct bj_carbon_reply *ret, struct bj_err *err)
{
    const struct bj_json *history = bj_json_get(doc, "history");
    if (history)
        return bj_carbon_reply_rows(history, "history", zone, emaps_read_row,
                                    ret, err);
    if (!bj_json_get(doc, "carbonIntensity"))
        return bj_err_set(err, -EINVAL, "no carbonIntensity in the reply");
    return emaps_read_row(doc, zone, ret, err);
}

static int emaps_parse(struct bj_slice text, const char *zone,
                       struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_parse(text, zone, emaps_read_all, ret, err);
}

/* --- neso ------------------------------------------------------------------
 *
 * The Carbon Intensity API of Great Britain's National Energy System Operator:
 * half-hours, direct emissions. Measured values come late and replace
 * forecasts, which are marked as such; so each query requests the last day. */

enum { NESO_STEP_SEC = 30 * 60 };

static void neso_url(const struct bj_carbon_target *target, struct bj_buf *out)
{
    /* 24 hours up to the end of the current half-hour. */
    uint64_t end =
        target->now_sec - target->now_sec % NESO_STEP_SEC + NESO_STEP_SEC;
    char stamp[BJ_STAMP_MAX], path[64];
    bj_stamp_text((int64_t)end * 1000000, 0, 0, stamp);
    snprintf(path, sizeof(path), "/intensity/%.16sZ/pt24h", stamp);
    bj_carbon_url(out, target->origin, path);
}

static uint32_t neso_length(const struct bj_json *row)
{
    int64_t from, to;
    if (bj_stamp_sec(bj_json_text(bj_json_get(row, "from")), BJ_STAMP_BARE_UTC,
                     &from) < 0 ||
        bj_stamp_sec(bj_json_text(bj_json_get(row, "to")), BJ_STAMP_BARE_UTC,
                     &to) < 0 ||
        to <= from || to - from > BJ_FACTOR_LIVE_SEC)
        return NESO_STEP_SEC;
    return (uint32_t)(to - from);
}

static int neso_read_row(const struct bj_json *row, const char *zone,
                         struct bj_carbon_reply *ret, struct bj_err *err)
{
    (void)zone, (void)err;
    struct bj_carbon_point p = {.len_sec = neso_length(row),
                                .kind = BJ_FACTOR_DIRECT};
    if (bj_factor_json(bj_json_path(row, "intensity.actual"), &p.mg_per_kwh) <
        0) {
        p.estimated = true;
        bj_factor_json(bj_json_path(row, "intensity.forecast"), &p.mg_per_kwh);
    }
    bj_carbon_reply_add(ret, bj_json_get(row, "from"), p);
    return 0;
}

static int neso_read_all(const struct bj_json *doc, const char *zone,
                         struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_rows(bj_json_get(doc, "data"), "data", zone,
                                neso_read_row, ret, err);
}

static int neso_parse(struct bj_slice text, const char *zone,
                      struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_parse(text, zone, neso_read_all, ret, err);
}

/* --- watttime --------------------------------------------------------------
 *
 * WattTime, API v3: five-minute values of a region, the marginal rate of the
 * plant that supplies the next load, in pounds of CO2 per MWh. Never mix it
 * with averages. */

enum { WATTTIME_STEP_SEC = 5 * 60, WATTTIME_SPAN_SEC = 2 * 3600 };

static void watttime_url(const struct bj_carbon_target *target,
                         struct bj_buf *out)
{
    char start[BJ_STAMP_MAX], end[BJ_STAMP_MAX];
    int64_t now = (int64_t)target->now_sec;
    bj_stamp_text((now - WATTTIME_SPAN_SEC) * 1000000, 0, 0, start);
    bj_stamp_text(now * 1000000, 0, 0, end);
    bj_carbon_url(out, target->origin, "/v3/historical");
    bj_carbon_param(out, "region", target->zone);
    bj_carbon_param(out, "start", start);
    bj_carbon_param(out, "end", end);
    bj_carbon_param(out, "signal_type", "co2_moer");
}

/* A member of meta must have this value, if present. */
static int watttime_check(const struct bj_json *doc, const char *path,
                          const char *want, struct bj_err *err)
{
    struct bj_slice s = bj_json_text(bj_json_path(doc, path));
    if (s.n == 0 || bj_slice_eq(s, bj_slice_str(want)))
        return 0;
    return bj_carbon_reply_bad(path, s, want, err);
}

static int watttime_read_row(const struct bj_json *row, const char *zone,
                             struct bj_carbon_reply *ret, struct bj_err *err)
{
    (void)zone, (void)err;
    struct bj_carbon_point p = {.len_sec = WATTTIME_STEP_SEC,
                                .kind = BJ_FACTOR_MARGINAL};
    bj_factor_json_pounds(bj_json_get(row, "value"), &p.mg_per_kwh);
    bj_carbon_reply_add(ret, bj_json_get(row, "point_time"), p);
    return 0;
}

static int watttime_read_all(const struct bj_json *doc, const char *zone,
                             struct bj_carbon_reply *ret, struct bj_err *err)
{
    int r = watttime_check(doc, "meta.units", "lbs_co2_per_mwh", err);
    if (r == 0)
        r = watttime_check(doc, "meta.signal_type", "co2_moer", err);
    if (r == 0)
        r = watttime_check(doc, "meta.region", zone, err);
    if (r < 0)
        return r;
    return bj_carbon_reply_rows(bj_json_get(doc, "data"), "data", zone,
                                watttime_read_row, ret, err);
}

static int watttime_parse(struct bj_slice text, const char *zone,
                          struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_parse(text, zone, watttime_read_all, ret, err);
}

/* --- all -------------------------------------------------------------------*/

enum { KIB = 1024 };

const struct bj_carbon_provider bj_carbon_providers[] = {
    {.name = "rte",
     .zone = "FR",
     .country = "FR",
     .origin = "https://reseaux-energies-rte.opendatasoft.com",
     .period_sec = 30 * 60,
     .max_bytes = 256 * KIB,
     .url = rte_url,
     .parse = rte_parse},
    {.name = "electricitymaps",
     .zoned = true,
     .origin = "https://api.electricitymaps.com",
     .auth = BJ_CARBON_HEADER,
     .auth_header = "auth-token",
     .period_sec = 30 * 60,
     .max_bytes = 256 * KIB,
     .url = emaps_url,
     .parse = emaps_parse},
    {.name = "neso",
     .zone = "GB",
     .country = "GB",
     .origin = "https://api.carbonintensity.org.uk",
     .period_sec = 30 * 60,
     .max_bytes = 256 * KIB,
     .url = neso_url,
     .parse = neso_parse},
    {.name = "watttime",
     .zoned = true,
     .origin = "https://api.watttime.org",
     .auth = BJ_CARBON_LOGIN,
     .login_path = "/login",
     .login_sec = 25 * 60, /* tokens last 30 */
     .period_sec = 5 * 60,
     .max_bytes = 256 * KIB,
     .url = watttime_url,
     .parse = watttime_parse},
    {.name = "file",
     .source = BJ_CARBON_FILE,
     .zoned = true,
     .period_sec = 60,
     .max_bytes = 4096 * KIB},
    {.name = "table", .source = BJ_CARBON_TABLE},
    {.name = "constant", .source = BJ_CARBON_CONSTANT},
    {0},
};

const struct bj_carbon_provider *bj_carbon_provider(struct bj_slice name)
{
    for (const struct bj_carbon_provider *p = bj_carbon_providers; p->name; p++)
        if (bj_slice_eq(name, bj_slice_str(p->name)))
            return p;
    return NULL;
}
