#include "carbon/conf.h"

#include "carbon/factor.h"

#define AT(member) offsetof(struct bj_carbon_conf, member)
#define SECOND 1000000u

const struct bj_opt bj_carbon_opts[] = {
    {.name = "emissions.provider",
     .kind = BJ_OPT_LIST,
     .off = AT(providers),
     .arg = "NAME",
     .choices = "rte|electricitymaps|neso|watttime|file|table|constant",
     .help = "Source of emission factors; the first that has a value counts. "
             "Without one: table and constant, as far as country and factor "
             "are given. Ask from one host of a site, not from every "
             "node. " BJ_FACTOR_CREDITS},
    {.name = "emissions.country",
     .kind = BJ_OPT_STR,
     .off = AT(country),
     .arg = "CODE",
     .help = "Country of the site, ISO 3166-1 code of two or three letters; "
             "the yearly table needs it."},
    {.name = "emissions.zone",
     .kind = BJ_OPT_LIST,
     .off = AT(zones),
     .arg = "PROVIDER=ZONE",
     .help = "Grid zone as the provider calls it, such as "
             "electricitymaps=DE or watttime=CAISO_NORTH."},
    {.name = "emissions.token-file",
     .kind = BJ_OPT_LIST,
     .off = AT(token_files),
     .arg = "PROVIDER=PATH",
     .help = "File with the provider's token (electricitymaps) or "
             "user:password (watttime), readable by us alone."},
    {.name = "emissions.url",
     .kind = BJ_OPT_LIST,
     .off = AT(urls),
     .arg = "PROVIDER=URL",
     .help = "Address to ask instead of the provider's own, for mirrors."},
    {.name = "emissions.factor",
     .kind = BJ_OPT_STR,
     .off = AT(factor),
     .arg = "GRAMS",
     .help = "Constant factor in g/kWh, for the provider constant."},
    {.name = "emissions.factor-kind",
     .kind = BJ_OPT_STR,
     .off = AT(factor_kind),
     .preset = "average_lifecycle",
     .choices = "average_lifecycle|average_direct|marginal",
     .help = "What the constant factor counts."},
    {.name = "emissions.file",
     .kind = BJ_OPT_STR,
     .off = AT(file),
     .arg = "PATH",
     .help = "File with factors (CSV, or JSON in *.json), for the provider "
             "file; read again when it changes."},
    {.name = "emissions.file-max-age",
     .kind = BJ_OPT_DURATION,
     .off = AT(file_age_usec),
     .lo = 0,
     .hi = 3660ull * 86400 * SECOND,
     .preset = "0",
     .help = "The file does not count when it was not written for so long; 0 "
             "for any age."},
    {.name = "emissions.cache",
     .kind = BJ_OPT_STR,
     .off = AT(cache),
     .arg = "PATH",
     .help = "File in which replies outlive a restart; nowhere when not "
             "given."},
    {.name = "emissions.period",
     .kind = BJ_OPT_DURATION,
     .off = AT(period_usec),
     .lo = 0,
     .hi = 86400ull * SECOND,
     .preset = "0",
     .help = "Time between questions to a provider, not below 1m; 0 for what "
             "each provider's data ask for."},
    {.name = "emissions.timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(timeout_usec),
     .lo = SECOND / 10,
     .hi = 300ull * SECOND,
     .preset = "20s",
     .help = "Time that one question may take."},
    {.name = "emissions.ca-file",
     .kind = BJ_OPT_STR,
     .off = AT(ca_file),
     .arg = "PATH",
     .help = "Certificates (PEM) to trust instead of the system's."},
    {0},
};
