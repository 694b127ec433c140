#include "carbon/conf.h"

#include "carbon/factor.h"

#define AT(member) offsetof(struct bj_carbon_conf, member)

const struct bj_opt bj_carbon_opts[] = {
    {.name = "emissions.provider",
     .kind = BJ_OPT_LIST,
     .off = AT(providers),
     .arg = "NAME",
     .choices = "rte|electricitymaps|neso|watttime|file|table|constant",
     .help =
         "Provider of emission factors, in order of preference; the first with "
         "a value is used. Default: table and constant, if country and factor "
         "are set. Enable on one host of the site only. " BJ_FACTOR_CREDITS,
     .more = "Set it to choose a provider with current values; "
             "docs/emissions.md compares them."},
    {.name = "emissions.country",
     .kind = BJ_OPT_STR,
     .off = AT(country),
     .arg = "CODE",
     .help = "Country of the site, ISO 3166-1 code of two or three letters. "
             "Provider table needs it.",
     .more = "Needed for yearly averages without a provider account."},
    {.name = "emissions.zone",
     .kind = BJ_OPT_LIST,
     .off = AT(zones),
     .arg = "PROVIDER=ZONE",
     .help = "Grid zone in the provider's own terms, such as "
             "electricitymaps=DE or watttime=CAISO_NORTH.",
     .more = "Needed for electricitymaps and watttime."},
    {.name = "emissions.token-file",
     .kind = BJ_OPT_LIST,
     .off = AT(token_files),
     .arg = "PROVIDER=PATH",
     .help =
         "File with the provider's token (electricitymaps) or user:password "
         "(watttime), readable only by the user of this program.",
     .more = "Needed for electricitymaps and watttime."},
    {.name = "emissions.url",
     .kind = BJ_OPT_LIST,
     .off = AT(urls),
     .arg = "PROVIDER=URL",
     .help = "URL to use instead of the provider's own, for mirrors.",
     .more = "Set it when the host has no direct access to the provider.",
     .rare = true},
    {.name = "emissions.factor",
     .kind = BJ_OPT_STR,
     .off = AT(factor),
     .arg = "GRAMS [KIND]",
     .help = "Constant emission factor in g CO2e/kWh, for provider constant. "
             "Its kind is average_lifecycle unless average_direct or marginal "
             "follows.",
     .more = "Set it when your electricity contract states a factor."},
    {.name = "emissions.file",
     .kind = BJ_OPT_STR,
     .off = AT(file),
     .arg = "PATH",
     .help = "File with emission factors (CSV, or JSON in *.json), for "
             "provider file. Read again when it changes.",
     .more = "Set it when another program provides factors."},
    {.name = "emissions.ca-file",
     .kind = BJ_OPT_STR,
     .off = AT(ca_file),
     .arg = "PATH",
     .help = "CA certificates (PEM) to verify providers with. Default: the "
             "system's.",
     .more = "Set it when a proxy re-signs connections.",
     .rare = true},
    {0},
};
