#include "core/energy/ipmi.h"
#include "core/energy/redfish.h"

#include <stdio.h>
#include <string.h>

bool bj_redfish_uri(struct bj_slice s, char dst[BJ_REDFISH_URI])
{
    dst[0] = '\0';
    if (s.n == 0 || s.n >= BJ_REDFISH_URI || s.p[0] != '/' ||
        (s.n > 1 && s.p[1] == '/'))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '\\')
            return false;
    }
    memcpy(dst, s.p, s.n);
    dst[s.n] = '\0';
    return true;
}

struct bj_slice bj_redfish_id(const char *uri)
{
    struct bj_slice s = bj_slice_str(uri);
    while (s.n > 1 && s.p[s.n - 1] == '/')
        s.n--;
    size_t begin = s.n;
    while (begin > 0 && s.p[begin - 1] != '/')
        begin--;
    return (struct bj_slice){s.p + begin, s.n - begin};
}

static bool link_of(const struct bj_json *v, char dst[BJ_REDFISH_URI])
{
    dst[0] = '\0';
    const struct bj_json *id = bj_json_get(v, "@odata.id");
    return bj_json_kind(id) == BJ_JSON_STRING &&
           bj_redfish_uri(bj_json_text(id), dst);
}

size_t bj_redfish_members(const struct bj_json *doc,
                          char (*uri)[BJ_REDFISH_URI], size_t max,
                          char next[BJ_REDFISH_URI])
{
    size_t n = 0;
    BJ_JSON_EACH(m, bj_json_get(doc, "Members"))
    {
        if (n < max && link_of(m, uri[n]))
            n++;
    }
    bj_redfish_uri(bj_json_text(bj_json_get(doc, "Members@odata.nextLink")),
                   next);
    return n;
}

void bj_redfish_links(const struct bj_json *doc, struct bj_redfish_chassis *c)
{
    link_of(bj_json_path(doc, "Links.ContainedBy"), c->within);
    link_of(bj_json_get(doc, "EnvironmentMetrics"), c->environment);
    link_of(bj_json_get(doc, "Power"), c->power);
}

/* --- numbers --------------------------------------------------------------*/

/* Read a number in millionths, not negative.  -ENOENT: missing or null. */
static int micro(const struct bj_json *v, const char *what, uint64_t *ret,
                 struct bj_err *err)
{
    int64_t n;
    int r = bj_json_fixed(v, 6, &n);
    if (r == -ENOENT)
        return r;
    if (r == -EINVAL)
        return bj_err_set(err, -EBADMSG, "%s is not a number", what);
    if (r < 0 || n < 0)
        return bj_err_set(err, -ERANGE, "%s is not plausible", what);
    *ret = (uint64_t)n;
    return 0;
}

static int watts(const struct bj_json *v, const char *what, uint64_t *ret,
                 struct bj_err *err)
{
    uint64_t uw = 0;
    int r = micro(v, what, &uw, err);
    if (r < 0)
        return r;
    r = bj_ipmi_plausible((uw + 500000) / 1000000, err);
    if (r < 0)
        return bj_err_wrap(err, r, "%s", what);
    *ret = uw;
    return 0;
}

/* Read a limit; implausible values are absent. */
static void limit(const struct bj_json *v, uint64_t *ret)
{
    uint64_t uw;
    if (watts(v, "limit", &uw, NULL) == 0)
        *ret = uw;
}

/* Read the energy from EnergyJoules or, if power is missing, from EnergykWh,
 * whose steps of up to 3.6 MJ are too coarse otherwise. */
static int energy(const struct bj_json *doc, bool kwh, uint64_t *ret_uj,
                  struct bj_err *err)
{
    uint64_t uj;
    int r = micro(bj_json_path(doc, "EnergyJoules.Reading"), "EnergyJoules",
                  &uj, err);
    if (r == 0)
        *ret_uj = uj;
    if (r != -ENOENT || !kwh)
        return r;
    r = micro(bj_json_path(doc, "EnergykWh.Reading"), "EnergykWh", &uj, err);
    if (r < 0)
        return r;
    if (uj > BJ_ABSENT / 3600000 - 1)
        return bj_err_set(err, -ERANGE, "EnergykWh is not plausible");
    *ret_uj = uj * 3600000;
    return 0;
}

/* Whether the value is valid: BMCs report 0 for a missing counter. */
static bool reported(int r, uint64_t uj)
{
    return r == 0 && uj > 0 && uj != BJ_ABSENT;
}

int bj_redfish_environment(const struct bj_json *doc, struct bj_zone_sample *z,
                           struct bj_err *err)
{
    uint64_t uw = BJ_ABSENT, uj = BJ_ABSENT;
    int r =
        watts(bj_json_path(doc, "PowerWatts.Reading"), "PowerWatts", &uw, err);
    if (r < 0 && r != -ENOENT)
        return r;
    int e = energy(doc, r == -ENOENT, &uj, err);
    if (r == -ENOENT && !reported(e, uj))
        return e < 0 && e != -ENOENT
                   ? e
                   : bj_err_set(err, -ENODATA, "no PowerWatts");
    z->power_uw = uw;
    if (reported(e, uj))
        z->energy_uj = uj;
    limit(bj_json_path(doc, "PowerLimitWatts.SetPoint"), &z->limit_uw);
    return 0;
}

/* The first entry with a number is that of the chassis; later ones are its
 * parts (processors, memory). */
int bj_redfish_power(const struct bj_json *doc, struct bj_zone_sample *z,
                     struct bj_err *err)
{
    BJ_JSON_EACH(c, bj_json_get(doc, "PowerControl"))
    {
        int r = watts(bj_json_get(c, "PowerConsumedWatts"),
                      "PowerConsumedWatts", &z->power_uw, err);
        if (r == 0)
            limit(bj_json_path(c, "PowerLimit.LimitInWatts"), &z->limit_uw);
        if (r != -ENOENT)
            return r;
    }
    return bj_err_set(err, -ENODATA, "no PowerConsumedWatts");
}
