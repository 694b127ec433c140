/* Electricity Maps: hourly values of a zone, API v3.  The reply shows whether
 * its values are life-cycle (the default of the API) or direct emissions. */
#include "carbon/provider_list.h"

enum { STEP_SEC = 3600 };

void bj_carbon_emaps_url(const struct bj_carbon_target *target,
                         struct bj_buf *out)
{
    bj_carbon_url(out, target->origin, "/v3/carbon-intensity/latest");
    bj_carbon_param(out, "zone", target->zone);
}

static int read_kind(const struct bj_json *v, uint8_t *ret, struct bj_err *err)
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

static int check_zone(const struct bj_json *row, const char *zone,
                      struct bj_err *err)
{
    struct bj_slice s = bj_json_text(bj_json_get(row, "zone"));
    if (s.n == 0 || bj_slice_eq(s, bj_slice_str(zone)))
        return 0;
    return bj_carbon_reply_bad("zone", s, zone, err);
}

static int read_row(const struct bj_json *row, const char *zone,
                    struct bj_carbon_reply *ret, struct bj_err *err)
{
    struct bj_carbon_point p = {.len_sec = STEP_SEC};
    int r = check_zone(row, zone, err);
    if (r == 0)
        r = read_kind(bj_json_get(row, "emissionFactorType"), &p.kind, err);
    if (r < 0)
        return r;
    bj_factor_json(bj_json_get(row, "carbonIntensity"), &p.mg_per_kwh);
    bj_json_bool(bj_json_get(row, "isEstimated"), &p.estimated);
    bj_carbon_reply_add(ret, bj_json_get(row, "datetime"), p);
    return 0;
}

/* One value, or those of the last day in "history". */
static int read_all(const struct bj_json *doc, const char *zone,
                    struct bj_carbon_reply *ret, struct bj_err *err)
{
    const struct bj_json *history = bj_json_get(doc, "history");
    if (history)
        return bj_carbon_reply_rows(history, "history", zone, read_row, ret,
                                    err);
    if (!bj_json_get(doc, "carbonIntensity"))
        return bj_err_set(err, -EINVAL, "no carbonIntensity in the reply");
    return read_row(doc, zone, ret, err);
}

int bj_carbon_emaps_parse(struct bj_slice text, const char *zone,
                          struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_parse(text, zone, read_all, ret, err);
}
