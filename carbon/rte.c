/* RTE eCO2mix: quarter-hours of France, by the portal's explore API v2.1.
 * Direct emissions of production.  Future rows are null, and values are filled
 * in and corrected later, so each query requests a whole day. */
#include "base/stamp.h"
#include "carbon/provider_list.h"

#include <stdio.h>

enum { STEP_SEC = 15 * 60, DAY_SEC = 86400 };

#define PATH "/api/explore/v2.1/catalog/datasets/eco2mix-national-tr/records"

void bj_carbon_rte_url(const struct bj_carbon_target *target,
                       struct bj_buf *out)
{
    struct bj_civil day;
    bj_civil_from_days((int64_t)(target->now_sec / DAY_SEC) - 1, &day);
    char where[128];
    snprintf(where, sizeof(where),
             "date_heure in [date'%04d-%02u-%02u' TO now()] and taux_co2 is "
             "not null",
             day.year, day.month, day.day);
    bj_carbon_url(out, target->origin, PATH);
    bj_carbon_param(out, "select", "taux_co2,date_heure");
    bj_carbon_param(out, "where", where);
    bj_carbon_param(out, "order_by", "date_heure desc");
    bj_carbon_param(out, "limit", "100"); /* the maximum */
    bj_carbon_param(out, "offset", "0");
    bj_carbon_param(out, "timezone", "Europe/Paris");
}

static int read_row(const struct bj_json *row, const char *zone,
                    struct bj_carbon_reply *ret, struct bj_err *err)
{
    (void)zone, (void)err;
    struct bj_carbon_point p = {.len_sec = STEP_SEC, .kind = BJ_FACTOR_DIRECT};
    bj_factor_json(bj_json_get(row, "taux_co2"), &p.mg_per_kwh);
    bj_carbon_reply_add(ret, bj_json_get(row, "date_heure"), p);
    return 0;
}

static int read_all(const struct bj_json *doc, const char *zone,
                    struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_rows(bj_json_get(doc, "results"), "results", zone,
                                read_row, ret, err);
}

int bj_carbon_rte_parse(struct bj_slice text, const char *zone,
                        struct bj_carbon_reply *ret, struct bj_err *err)
{
    return bj_carbon_reply_parse(text, zone, read_all, ret, err);
}
