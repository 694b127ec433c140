#include "carbon/provider.h"

#include "carbon/provider_list.h"

enum { KIB = 1024 };

const struct bj_carbon_provider bj_carbon_providers[] = {
    {.name = "rte",
     .zone = "FR",
     .country = "FR",
     .origin = "https://reseaux-energies-rte.opendatasoft.com",
     .period_sec = 30 * 60,
     .max_bytes = 256 * KIB,
     .url = bj_carbon_rte_url,
     .parse = bj_carbon_rte_parse},
    {.name = "electricitymaps",
     .zoned = true,
     .origin = "https://api.electricitymaps.com",
     .auth = BJ_CARBON_HEADER,
     .auth_header = "auth-token",
     .period_sec = 30 * 60,
     .max_bytes = 256 * KIB,
     .url = bj_carbon_emaps_url,
     .parse = bj_carbon_emaps_parse},
    {.name = "neso",
     .zone = "GB",
     .country = "GB",
     .origin = "https://api.carbonintensity.org.uk",
     .period_sec = 30 * 60,
     .max_bytes = 256 * KIB,
     .url = bj_carbon_neso_url,
     .parse = bj_carbon_neso_parse},
    {.name = "watttime",
     .zoned = true,
     .origin = "https://api.watttime.org",
     .auth = BJ_CARBON_LOGIN,
     .login_path = "/login",
     .login_sec = 25 * 60, /* tokens last 30 */
     .period_sec = 5 * 60,
     .max_bytes = 256 * KIB,
     .url = bj_carbon_watttime_url,
     .parse = bj_carbon_watttime_parse},
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
