#include "core/energy/redfish.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/fetch.h"
#include "base/json.h"
#include "base/secret_file.h"
#include "core/energy/ipmi.h"
#include "core/energy/meter.h"

#include <stdio.h>
#include <stdlib.h>
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

/* --- the meter ------------------------------------------------------------*/

/* Requests to a Redfish service, with the login that it supports.
 *
 * A session is opened with the first request, renewed when the service no
 * longer knows it, and closed at the end, since BMCs allow only a few sessions.
 * A service without sessions gets the credentials with each request.
 *
 * Source: DMTF DSP0266, 13.3 (authentication). */

struct bj_redfish;

/* Log out and free; takes a second at most.  NULL is fine. */
static void redfish_free(struct bj_redfish *s);

enum {
    URL_BYTES = 512,
    SECRET_BYTES = 512,
    DOCUMENT_BYTES = 1 << 20,
    GOODBYE_USEC = 1000000,
};

struct bj_redfish {
    const struct bj_energy_conf *conf;
    const atomic_bool *stop;
    struct bj_fetch *fetch;
    struct bj_fetch_reply reply;
    struct bj_arena arena;
    char origin[URL_BYTES / 2];   /* without a final '/' */
    char password[SECRET_BYTES];  /* "": none */
    char header[SECRET_BYTES];    /* "X-Auth-Token: ..." ; "": no session */
    char session[BJ_REDFISH_URI]; /* the session to delete at the end */
    bool basic;                   /* the service has no sessions */
};

/* --- credentials ----------------------------------------------------------*/

static int load_password(struct bj_redfish *s, struct bj_err *err)
{
    int r = bj_secret_read(s->conf->redfish_password_file, s->password,
                           sizeof(s->password), err);
    return r < 0 ? bj_err_wrap(err, r, "energy.redfish-password-file") : 0;
}

static int set_origin(struct bj_redfish *s, struct bj_err *err)
{
    struct bj_slice url = bj_slice_str(s->conf->redfish_url);
    while (url.n > 0 && url.p[url.n - 1] == '/')
        url.n--;
    if (url.n == 0)
        return bj_err_set(err, -ENODEV,
                          "the URL of the Redfish service is missing");
    if (url.n >= sizeof(s->origin))
        return bj_err_set(err, -EINVAL, "the URL of Redfish is too long");
    memcpy(s->origin, url.p, url.n);
    s->origin[url.n] = '\0';
    return 0;
}

/* Prepare requests to env->conf->redfish_url; nothing is sent yet.  The
 * environment and its conf must outlive *ret.  -ENODEV: no URL.  -EACCES: no
 * password in its file, or other users can read the file
 * (base/secret_file.h). */
static int redfish_new(const struct bj_meter_env *env, struct bj_redfish **ret,
                       struct bj_err *err)
{
    struct bj_redfish *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "Redfish");
    s->conf = env->conf;
    s->stop = env->stop;
    int r = set_origin(s, err);
    if (r == 0)
        r = load_password(s, err);
    if (r == 0)
        r = bj_fetch_new(&s->fetch, err);
    if (r < 0) {
        redfish_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

/* --- requests -------------------------------------------------------------*/

/* The parts of a request that differ between requests. */
struct request {
    const char *method, *uri;
    struct bj_slice body;
    const char *header;
    bool credentials;
    uint64_t usec;
    const atomic_bool *abort;
};

static int redfish_request(struct bj_redfish *s, const struct request *a,
                           struct bj_err *err)
{
    char url[URL_BYTES];
    snprintf(url, sizeof(url), "%s%s", s->origin, a->uri);
    const char *headers[] = {
        "Accept: application/json",
        "OData-Version: 4.0",
        a->body.n > 0          ? "Content-Type: application/json"
        : bj_is_set(a->header) ? a->header
                               : NULL,
        NULL,
    };
    const struct bj_fetch_request req = {
        .method = a->method,
        .url = url,
        .headers = headers,
        .body = a->body,
        .user = a->credentials ? s->conf->redfish_user : NULL,
        .password = a->credentials ? s->password : NULL,
        .ca_file = bj_is_set(s->conf->redfish_ca_file)
                       ? s->conf->redfish_ca_file
                       : NULL,
        .insecure = s->conf->redfish_insecure,
        .no_proxy = true,
        .connect_usec = a->usec,
        .total_usec = a->usec,
        .max_bytes = DOCUMENT_BYTES,
        .abort = a->abort,
    };
    return bj_fetch(s->fetch, &req, &s->reply, err);
}

/* --- sessions -------------------------------------------------------------*/

/* Keep the Location of a session, which is a path or a whole URL of the
 * service. */
static void keep_session(struct bj_redfish *s)
{
    struct bj_slice at = bj_fetch_header(&s->reply, "Location");
    struct bj_slice origin = bj_slice_str(s->origin);
    if (bj_slice_starts(at, origin)) {
        at.p += origin.n;
        at.n -= origin.n;
    }
    bj_redfish_uri(at, s->session);
}

static int keep_token(struct bj_redfish *s, struct bj_err *err)
{
    struct bj_slice token = bj_fetch_header(&s->reply, "X-Auth-Token");
    if (token.n == 0)
        return bj_err_set(err, -EBADMSG, "the Redfish session has no token");
    int n = snprintf(s->header, sizeof(s->header), "X-Auth-Token: %.*s",
                     (int)token.n, token.p);
    if (n < 0 || (size_t)n >= sizeof(s->header)) {
        s->header[0] = '\0';
        return bj_err_set(err, -EBADMSG, "a Redfish token of %zu bytes",
                          token.n);
    }
    keep_session(s);
    return 0;
}

static int credentials_body(struct bj_redfish *s, struct bj_buf *b)
{
    struct bj_json_out o = {.to = b};
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "UserName", bj_slice_str(s->conf->redfish_user));
    bj_json_put_str(&o, "Password", bj_slice_str(s->password));
    bj_json_put_end(&o);
    return bj_json_out_end(&o);
}

/* Whether the status means that the service has no sessions. */
static bool has_no_sessions(unsigned status)
{
    return status == 400 || status == 404 || status == 405 || status == 501;
}

static int log_in(struct bj_redfish *s, struct bj_err *err)
{
    struct bj_buf body = {0};
    s->header[0] = s->session[0] = '\0';
    if (credentials_body(s, &body) < 0) {
        bj_buf_free(&body);
        return bj_err_set(err, -ENOMEM, "Redfish session");
    }
    const struct request a = {
        .uri = "/redfish/v1/SessionService/Sessions",
        .body = {body.p, body.len},
        .usec = s->conf->timeout_usec,
        .abort = s->stop,
    };
    int r = redfish_request(s, &a, err);
    explicit_bzero(body.p, body.len);
    bj_buf_free(&body);
    if (r == 0)
        return keep_token(s, err);
    s->basic = has_no_sessions(s->reply.status);
    return s->basic ? 0 : bj_err_wrap(err, r, "log in");
}

static void log_out(struct bj_redfish *s)
{
    const struct request a = {
        .method = "DELETE",
        .uri = s->session,
        .header = s->header,
        .usec = GOODBYE_USEC,
    };
    if (bj_is_set(s->session) && bj_is_set(s->header))
        redfish_request(s, &a, NULL);
}

static void redfish_free(struct bj_redfish *s)
{
    if (!s)
        return;
    if (s->fetch)
        log_out(s);
    bj_fetch_free(s->fetch);
    bj_fetch_reply_free(&s->reply);
    bj_arena_free(&s->arena);
    explicit_bzero(s->password, sizeof(s->password));
    explicit_bzero(s->header, sizeof(s->header));
    free(s);
}

/* --- documents ------------------------------------------------------------*/

static int redfish_fetch(struct bj_redfish *s, const char *uri,
                         struct bj_err *err)
{
    bool anonymous = !bj_is_set(s->conf->redfish_user);
    if (!anonymous && !s->basic && !bj_is_set(s->header)) {
        int r = log_in(s, err);
        if (r < 0)
            return r;
    }
    const struct request a = {
        .uri = uri,
        .header = s->header,
        .credentials = s->basic,
        .usec = s->conf->timeout_usec,
        .abort = s->stop,
    };
    return redfish_request(s, &a, err);
}

/* Errors of base/fetch.h as errors of meters. */
static int fault(const struct bj_redfish *s, int r)
{
    if (r == -EREMOTEIO)
        return s->reply.status == 404 ? -ENODEV : -EIO;
    return r == -EPROTO || r == -EFBIG || r == -EINVAL ? -EBADMSG : r;
}

/* Get a document.  The tree is valid until the next call.  -ENODEV: the
 * document does not exist; -EBADMSG: the response is not JSON, or not HTTP;
 * -EACCES: the service refuses the credentials; -ETIMEDOUT, -ECANCELED; other
 * codes of base/fetch.h. */
static int redfish_get(struct bj_redfish *s, const char *uri,
                       const struct bj_json **ret, struct bj_err *err)
{
    int r = redfish_fetch(s, uri, err);
    if (r == -EACCES && s->reply.status == 401 && bj_is_set(s->header)) {
        s->header[0] = '\0'; /* it has expired, or the BMC was reset */
        r = redfish_fetch(s, uri, err);
    }
    if (r < 0)
        return bj_err_wrap(err, fault(s, r), "Redfish");
    bj_arena_reset(&s->arena);
    struct bj_slice text = {s->reply.body.p, s->reply.body.len};
    r = bj_json_parse(&s->arena, text, uri, NULL, ret, err);
    if (r == 0 && bj_json_kind(*ret) != BJ_JSON_OBJECT)
        r = bj_err_set(err, -EINVAL, "%s: expected a JSON object", uri);
    if (r < 0)
        return bj_err_wrap(err, r == -ENOMEM ? r : -EBADMSG, "Redfish");
    return 0;
}

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
    int r = redfish_get(m->service, uri, &doc, err);
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

static bool redfish_wanted(const struct bj_energy_conf *conf, const char *uri)
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
        int r = redfish_get(m->service, page, &doc, err);
        if (r < 0)
            return r;
        size_t n = bj_redfish_members(doc, uri, BJ_REDFISH_CHASSIS, page);
        for (size_t k = 0; k < n && m->n < BJ_REDFISH_CHASSIS; k++) {
            if (redfish_wanted(conf, uri[k]))
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
    int r = redfish_get(m->service, s->chassis.uri, &doc, err);
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

static bool redfish_name_taken(const struct redfish *m, size_t i)
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
        if (redfish_name_taken(m, i))
            snprintf(s->name, sizeof(s->name), "chassis-no-%zu", i + 1);
    }
}

/* --- the meter ------------------------------------------------------------*/

static void redfish_close(void *p)
{
    struct redfish *m = p;
    redfish_free(m->service);
    free(m);
}

/* The service is configured, so its absence, or missing power, is an error. */
static int redfish_find(struct redfish *m, const struct bj_meter_env *env,
                        struct bj_err *err)
{
    int r = redfish_new(env, &m->service, err);
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
    int r = redfish_find(m, env, err);
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
    .reads = "the BMC's web service: `energy.redfish-url`",
    .reports = "watts; joules where available",
    .automatic = "if set",
};
