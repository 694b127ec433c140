#include "carbon/conf.h"

#include "carbon/factor.h"

#include <stdio.h>

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

/* --- the plan --------------------------------------------------------------*/

/* The value of "PROVIDER=VALUE" in a list; NULL: none. */
static const char *conf_value_of(const struct bj_strv *list,
                                 const char *provider)
{
    size_t n = strlen(provider);
    for (size_t i = 0; i < list->n; i++)
        if (strncmp(list->v[i], provider, n) == 0 && list->v[i][n] == '=')
            return list->v[i] + n + 1;
    return NULL;
}

static const struct bj_carbon_slot *find_slot(const struct bj_carbon_plan *plan,
                                              struct bj_slice name)
{
    for (size_t i = 0; i < plan->n; i++)
        if (bj_slice_eq(name, bj_slice_str(plan->v[i].provider->name)))
            return &plan->v[i];
    return NULL;
}

/* The providers that use a setting. */
static bool has_zone(const struct bj_carbon_provider *p)
{
    return p->zoned;
}

static bool has_token(const struct bj_carbon_provider *p)
{
    return p->auth != BJ_CARBON_OPEN;
}

static bool has_url(const struct bj_carbon_provider *p)
{
    return p->source == BJ_CARBON_HTTP;
}

/* Every row of a list must be for a provider in use that supports it, once. */
static int check_list(const struct bj_strv *list, const char *option,
                      bool (*fits)(const struct bj_carbon_provider *),
                      const struct bj_carbon_plan *plan, struct bj_err *err)
{
    for (size_t i = 0; i < list->n; i++) {
        struct bj_slice rest = bj_slice_str(list->v[i]), name;
        bool ok = bj_slice_field(&rest, '=', &name) && rest.n > 0;
        const struct bj_carbon_slot *s = ok ? find_slot(plan, name) : NULL;
        if (!ok)
            return bj_err_set(err, -EINVAL, "%s: '%s': expected PROVIDER=VALUE",
                              option, list->v[i]);
        if (!s || !fits(s->provider))
            return bj_err_set(err, -EINVAL,
                              "%s: '%s': expected a provider named in "
                              "emissions.provider that takes one",
                              option, list->v[i]);
        if (conf_value_of(list, s->provider->name) != rest.p)
            return bj_err_set(err, -EINVAL, "%s: '%s': given twice", option,
                              list->v[i]);
    }
    return 0;
}

static bool is_zone(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n < BJ_ZONE_MAX &&
           strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                     "0123456789_-.") == n;
}

/* "DE", "US-CAL-CISO": the country at the start of a zone's name. */
static const struct bj_country *country_of_zone(const char *zone)
{
    struct bj_slice rest = bj_slice_str(zone), word;
    if (!bj_slice_field(&rest, '-', &word) || word.n != 2)
        return NULL;
    return bj_carbon_country(word);
}

static int set_zone(const struct bj_carbon_conf *conf,
                    const struct bj_carbon_plan *plan, struct bj_carbon_slot *s,
                    struct bj_err *err)
{
    const struct bj_carbon_provider *p = s->provider;
    const char *zone = p->zone, *country = p->country;
    if (p->zoned) {
        zone = conf_value_of(&conf->zones, p->name);
        if (!zone && p->source == BJ_CARBON_FILE && plan->country)
            zone = plan->country->iso2;
        if (!zone)
            return bj_err_set(err, -EINVAL,
                              "emissions.zone: expected %s=ZONE, since "
                              "emissions.provider names %s",
                              p->name, p->name);
        if (!is_zone(zone))
            return bj_err_set(err, -EINVAL,
                              "emissions.zone: '%s=%s': expected letters, "
                              "digits, '_', '-' and '.', at most %d",
                              p->name, zone, BJ_ZONE_MAX - 1);
        const struct bj_country *c = country_of_zone(zone);
        c = c ? c : plan->country;
        country = c ? c->iso2 : NULL;
    }
    if (zone)
        snprintf(s->zone, sizeof(s->zone), "%s", zone);
    if (country)
        memcpy(s->country, country, sizeof(s->country));
    return 0;
}

static bool is_origin(const char *s)
{
    struct bj_slice u = bj_slice_str(s);
    if (u.n > 500 || (!bj_slice_starts(u, BJ_SLICE("https://")) &&
                      !bj_slice_starts(u, BJ_SLICE("http://"))))
        return false;
    for (size_t i = 0; i < u.n; i++)
        if (u.p[i] <= ' ' || u.p[i] > '~' || strchr("?#\"<>\\", u.p[i]))
            return false;
    return true;
}

static int set_http(const struct bj_carbon_conf *conf, struct bj_carbon_slot *s,
                    struct bj_err *err)
{
    const struct bj_carbon_provider *p = s->provider;
    const char *url = conf_value_of(&conf->urls, p->name);
    s->origin = url ? url : p->origin;
    if (!is_origin(s->origin))
        return bj_err_set(err, -EINVAL,
                          "emissions.url: '%s=%s': expected http:// or "
                          "https://, without a query",
                          p->name, s->origin);
    s->token_file = conf_value_of(&conf->token_files, p->name);
    if (has_token(p) && !s->token_file)
        return bj_err_set(err, -EINVAL,
                          "emissions.token-file: expected %s=PATH, since "
                          "emissions.provider names %s",
                          p->name, p->name);
    return 0;
}

static int set_static(const struct bj_carbon_conf *conf,
                      const struct bj_carbon_plan *plan,
                      struct bj_carbon_slot *s, struct bj_err *err)
{
    switch (s->provider->source) {
    case BJ_CARBON_TABLE:
        if (!plan->country)
            return bj_err_set(err, -EINVAL,
                              "emissions.country: expected a code of two or "
                              "three letters, since emissions.provider names "
                              "table");
        memcpy(s->zone, plan->country->iso3, sizeof(plan->country->iso3));
        memcpy(s->country, plan->country->iso2, sizeof(s->country));
        return 0;
    case BJ_CARBON_CONSTANT:
        if (plan->constant.mg_per_kwh == 0)
            return bj_err_set(err, -EINVAL,
                              "emissions.factor: expected a number of g/kWh, "
                              "since emissions.provider names constant");
        memcpy(s->country, plan->constant.country, sizeof(s->country));
        return 0;
    default:
        if (!conf->file || !*conf->file)
            return bj_err_set(err, -EINVAL,
                              "emissions.file: expected a path, since "
                              "emissions.provider names file");
        return 0;
    }
}

static int add_slot(const struct bj_carbon_conf *conf, struct bj_slice name,
                    struct bj_carbon_plan *plan, struct bj_err *err)
{
    const struct bj_carbon_provider *p = bj_carbon_provider(name);
    if (!p || find_slot(plan, name) || plan->n == BJ_CARBON_SLOTS)
        return bj_err_set(err, -EINVAL, "emissions.provider: '%.*s': %s",
                          (int)name.n, name.p, p ? "given twice" : "unknown");
    struct bj_carbon_slot *s = &plan->v[plan->n];
    *s = (struct bj_carbon_slot){.provider = p, .period_sec = p->period_sec};
    int r = p->source == BJ_CARBON_HTTP ? set_http(conf, s, err)
                                        : set_static(conf, plan, s, err);
    if (r == 0 && p->source <= BJ_CARBON_FILE)
        r = set_zone(conf, plan, s, err);
    if (r == 0)
        plan->n++;
    return r;
}

/* "380" or "380 average_direct" */
static int set_constant(const char *text, struct bj_factor *f,
                        struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(text), grams, kind;
    f->provider = "constant";
    f->from = BJ_FACTOR_CONSTANT;
    f->kind = BJ_FACTOR_LIFECYCLE;
    if (!bj_slice_word(&rest, &grams) ||
        bj_factor_grams(grams, &f->mg_per_kwh) < 0 ||
        (bj_slice_word(&rest, &kind) &&
         bj_factor_kind_parse(kind, &f->kind) < 0) ||
        bj_slice_word(&rest, &kind))
        return bj_err_set(err, -EINVAL,
                          "emissions.factor: '%s': expected g/kWh above 0, at "
                          "most %d, then nothing or average_lifecycle, "
                          "average_direct or marginal",
                          text, BJ_FACTOR_MG_MAX / 1000);
    return 0;
}

static int set_common(const struct bj_carbon_conf *conf,
                      struct bj_carbon_plan *plan, struct bj_err *err)
{
    if (conf->country && *conf->country) {
        plan->country = bj_carbon_country(bj_slice_str(conf->country));
        if (!plan->country)
            return bj_err_set(err, -EINVAL,
                              "emissions.country: '%s': expected a code of "
                              "ISO 3166-1, such as FR or FRA",
                              conf->country);
    }
    if (!conf->factor || !*conf->factor)
        return 0;
    if (plan->country)
        memcpy(plan->constant.country, plan->country->iso2,
               sizeof(plan->constant.country));
    return set_constant(conf->factor, &plan->constant, err);
}

/* Without a list of providers use those whose settings are given. */
static int add_presets(const struct bj_carbon_conf *conf,
                       struct bj_carbon_plan *plan, struct bj_err *err)
{
    int r = 0;
    if (conf->providers.n > 0)
        return 0;
    if (plan->country)
        r = add_slot(conf, BJ_SLICE("table"), plan, err);
    if (r == 0 && plan->constant.mg_per_kwh > 0)
        r = add_slot(conf, BJ_SLICE("constant"), plan, err);
    if (r == 0 && plan->n == 0)
        r = bj_err_set(err, -EINVAL,
                       "emissions.provider: expected at least one, or "
                       "emissions.country or emissions.factor");
    return r;
}

bool bj_carbon_wanted(const struct bj_carbon_conf *conf)
{
    return conf->providers.n > 0 || conf->zones.n > 0 ||
           conf->token_files.n > 0 || conf->urls.n > 0 ||
           bj_is_set(conf->country) || bj_is_set(conf->factor) ||
           bj_is_set(conf->file);
}

int bj_carbon_plan(const struct bj_carbon_conf *conf,
                   struct bj_carbon_plan *ret, struct bj_err *err)
{
    struct bj_carbon_plan plan = {0};
    int r = set_common(conf, &plan, err);
    for (size_t i = 0; r == 0 && i < conf->providers.n; i++)
        r = add_slot(conf, bj_slice_str(conf->providers.v[i]), &plan, err);
    if (r == 0)
        r = add_presets(conf, &plan, err);
    if (r == 0)
        r = check_list(&conf->zones, "emissions.zone", has_zone, &plan, err);
    if (r == 0)
        r = check_list(&conf->token_files, "emissions.token-file", has_token,
                       &plan, err);
    if (r == 0)
        r = check_list(&conf->urls, "emissions.url", has_url, &plan, err);
    if (r == 0)
        *ret = plan;
    return r;
}
