/* The Carbon Intensity API of Great Britain's National Energy System Operator:
 * half-hours, direct emissions.  Measured values come late and replace
 * forecasts, which are marked as such; so each query requests the last day. */
#include "base/stamp.h"
#include "carbon/provider_list.h"

#include <stdio.h>

enum { STEP_SEC = 30 * 60 };

void bj_carbon_neso_url(const struct bj_carbon_target *target,
                        struct bj_buf *out)
{
    /* 24 hours up to the end of the current half-hour. */
    uint64_t end = target->now_sec - target->now_sec % STEP_SEC + STEP_SEC;
    char stamp[BJ_STAMP_MAX], path[64];
    bj_stamp_text((int64_t)end * 1000000, 0, 0, stamp);
    snprintf(path, sizeof(path), "/intensity/%.16sZ/pt24h", stamp);
    bj_carbon_url(out, target->origin, path);
}

static uint32_t length(const struct bj_json *row)
{
    int64_t from, to;
    if (bj_stamp_sec(bj_json_text(bj_json_get(row, "from")), BJ_STAMP_BARE_UTC,
                     &from) < 0 ||
        bj_stamp_sec(bj_json_text(bj_json_get(row, "to")), BJ_STAMP_BARE_UTC,
                     &to) < 0 ||
        to <= from || to - from > BJ_FACTOR_LIVE_SEC)
        return STEP_SEC;
    return (uint32_t)(to - from);
}

static int read_row(const struct bj_json *row, const char *zone,
                    struct bj_carbon_reply *ret, struct bj_err *err)
{
    (void)zone, (void)err;
    struct bj_carbon_point p = {.len_sec = length(row),
                                .kind = BJ_FACTOR_DIRECT};
    if (bj_factor_json(bj_json_path(row, "intensity.actual"), &p.mg_per_kwh) <
        0) {
        p.estimated = true;
        bj_factor_json(bj_json_path(row, "intensity.forecast"), &p.mg_per_kwh);
    }
    bj_carbon_reply_add(ret, bj_json_get(row, "from"), p);
    return 0;
}

static int read_all(const struct bj_json *doc, const char *zone,
                    struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_rows(bj_json_get(doc, "data"), "data", zone,
                                read_row, ret, err);
}

int bj_carbon_neso_parse(struct bj_slice text, const char *zone,
                         struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_parse(text, zone, read_all, ret, err);
}
