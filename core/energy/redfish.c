#include "core/energy/redfish.h"

#include "core/energy/redfish_session.h"
#include "core/energy/zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 8 }; /* maximum number of pages of the list of chassis */

/* A chassis that reports power, and how. */
struct source {
    char name[BJ_ZONE_NAME];
    enum bj_zone_role role;
    bool environment; /* EnvironmentMetrics; else Power */
    struct bj_redfish_chassis chassis;
};

struct redfish {
    struct bj_redfish *service;
    size_t n;
    struct source source[BJ_REDFISH_CHASSIS];
};

/* --- reading --------------------------------------------------------------*/

static int read_source(struct redfish *m, const struct source *s,
                       struct bj_zone_sample *z, struct bj_err *err)
{
    const struct bj_json *doc;
    const char *uri =
        s->environment ? s->chassis.environment : s->chassis.power;
    int r = bj_redfish_get(m->service, uri, &doc, err);
    if (r < 0)
        return r;
    r = s->environment ? bj_redfish_environment(doc, z, err)
                       : bj_redfish_power(doc, z, err);
    return r < 0 ? bj_err_wrap(err, r, "Redfish: %s", uri) : 0;
}

/* Whether the service itself does not respond, so that further requests are
 * useless. */
static bool hopeless(int r)
{
    return r != -ENODATA && r != -ERANGE && r != -EBADMSG && r != -EIO;
}

static int redfish_read(void *p, struct bj_meter_sample *out,
                        struct bj_err *err)
{
    struct redfish *m = p;
    int first = 0;
    for (size_t i = 0; i < m->n; i++) {
        struct bj_zone_sample z;
        struct bj_err why = {0};
        const struct bj_slice id = bj_redfish_id(m->source[i].chassis.uri);
        bj_zone_init(&z, m->source[i].name, m->source[i].role);
        snprintf(z.id, sizeof(z.id), "%.*s", (int)id.n, id.p);
        int r = read_source(m, &m->source[i], &z, &why);
        if (r == 0) {
            bj_zone_add(out, &z);
            continue;
        }
        bj_zone_fault(&first, err, r, &why);
        if (hopeless(r))
            break;
    }
    return first;
}

/* --- search ---------------------------------------------------------------*/

static bool wanted(const struct bj_energy_conf *conf, const char *uri)
{
    struct bj_slice id = bj_redfish_id(uri);
    for (size_t i = 0; i < conf->redfish_chassis.n; i++) {
        if (bj_slice_eq(id, bj_slice_str(conf->redfish_chassis.v[i])))
            return true;
    }
    return conf->redfish_chassis.n == 0;
}

/* List the paths of all wanted chassis. */
static int list_chassis(struct redfish *m, const struct bj_energy_conf *conf,
                        struct bj_err *err)
{
    char page[BJ_REDFISH_URI] = "/redfish/v1/Chassis";
    for (int i = 0; i < PAGES && page[0]; i++) {
        char uri[BJ_REDFISH_CHASSIS][BJ_REDFISH_URI];
        const struct bj_json *doc;
        int r = bj_redfish_get(m->service, page, &doc, err);
        if (r < 0)
            return r;
        size_t n = bj_redfish_members(doc, uri, BJ_REDFISH_CHASSIS, page);
        for (size_t k = 0; k < n && m->n < BJ_REDFISH_CHASSIS; k++) {
            if (wanted(conf, uri[k]))
                memcpy(m->source[m->n++].chassis.uri, uri[k], sizeof(uri[k]));
        }
    }
    return 0;
}

/* Find the document of the chassis with its power: 0, -ENODATA if none. */
static int probe(struct redfish *m, struct source *s, struct bj_err *err)
{
    const struct bj_json *doc;
    struct bj_zone_sample z;
    int r = bj_redfish_get(m->service, s->chassis.uri, &doc, err);
    if (r < 0)
        return r;
    bj_redfish_links(doc, &s->chassis);
    r = -ENODATA;
    for (int environment = 1; environment >= 0; environment--) {
        s->environment = environment;
        const char *uri =
            environment ? s->chassis.environment : s->chassis.power;
        if (!uri[0])
            continue;
        bj_zone_init(&z, "x", BJ_ZONE_NODE);
        r = read_source(m, s, &z, err);
        if (r == 0 || (hopeless(r) && r != -ENODEV))
            return r;
    }
    return r == -ENODEV ? -ENODATA : r;
}

/* Leave out chassis without power.  Their errors matter only if no chassis
 * reports power. */
static int probe_all(struct redfish *m, struct bj_err *err)
{
    size_t n = 0;
    int first = 0;
    for (size_t i = 0; i < m->n; i++) {
        struct bj_err why = {0};
        int r = probe(m, &m->source[i], &why);
        if (r < 0 && hopeless(r) && r != -ENODEV)
            return bj_err_copy(err, r, &why);
        if (r < 0 && r != -ENODATA && r != -ENODEV)
            bj_zone_fault(&first, err, r, &why);
        if (r == 0 && n != i)
            m->source[n] = m->source[i];
        n += r == 0;
    }
    m->n = n;
    if (n > 0)
        return 0;
    return first < 0 ? first
                     : bj_err_set(err, -ENODEV, "no chassis reports its power");
}

static bool is_within(const struct redfish *m, const char *uri)
{
    for (size_t i = 0; i < m->n; i++) {
        if (uri[0] && strcmp(m->source[i].chassis.uri, uri) == 0)
            return true;
    }
    return false;
}

static bool name_taken(const struct redfish *m, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (strcmp(m->source[k].name, m->source[i].name) == 0)
            return true;
    }
    return false;
}

/* Name the zones "node", or "chassis-ID" each.  A chassis within another one
 * that reports power is a part of that one, unless it is configured. */
static void name_all(struct redfish *m, bool configured)
{
    for (size_t i = 0; i < m->n; i++) {
        struct source *s = &m->source[i];
        struct bj_slice id = bj_redfish_id(s->chassis.uri);
        char text[BJ_REDFISH_URI + 16];
        snprintf(text, sizeof(text), "chassis-%.*s", (int)id.n, id.p);
        s->role = !configured && is_within(m, s->chassis.within) ? BJ_ZONE_PART
                                                                 : BJ_ZONE_NODE;
        bj_zone_name(s->name, bj_slice_str(m->n == 1 ? "node" : text));
        if (name_taken(m, i))
            snprintf(s->name, sizeof(s->name), "chassis-no-%zu", i + 1);
    }
}

/* --- the meter ------------------------------------------------------------*/

static void redfish_close(void *p)
{
    struct redfish *m = p;
    bj_redfish_free(m->service);
    free(m);
}

/* The service is configured, so its absence, or missing power, is an error. */
static int find(struct redfish *m, const struct bj_meter_env *env,
                struct bj_err *err)
{
    int r = bj_redfish_new(env, &m->service, err);
    if (r < 0)
        return r;
    r = list_chassis(m, env->conf, err);
    if (r == 0)
        r = probe_all(m, err);
    if (r == 0)
        name_all(m, env->conf->redfish_chassis.n > 0);
    if (r == -ENODEV && err)
        err->code = -EIO;
    return r == -ENODEV ? -EIO : r;
}

static bool redfish_present(const struct bj_meter_env *env)
{
    return env->conf->redfish_url && env->conf->redfish_url[0];
}

static int redfish_open(const struct bj_meter_env *env, void **ret,
                        struct bj_err *err)
{
    struct redfish *m = calloc(1, sizeof(*m));
    if (!m)
        return bj_err_set(err, -ENOMEM, "Redfish");
    int r = find(m, env, err);
    if (r < 0) {
        redfish_close(m);
        return r;
    }
    *ret = m;
    return 0;
}

const struct bj_meter_kind bj_meter_redfish = {
    .name = "redfish",
    .slow = true,
    .present = redfish_present,
    .open = redfish_open,
    .read = redfish_read,
    .close = redfish_close,
};
