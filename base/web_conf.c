#include "base/web_conf.h"

#include "base/array.h"
#include "base/file.h"
#include "base/opt.h"
#include "base/opt_value.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/yaml.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 256 << 10, LIST_MAX = 256 };

/* A file being read. */
struct walk {
    struct bj_web_conf *conf;
    struct bj_yaml yaml;
    yaml_document_t *doc;
};

/* A key of a section, and the function that stores its value at at; take NULL:
 * a key of the format that is not supported, for the reason in help. */
struct field {
    const char *name;
    int (*take)(struct walk *w, const yaml_node_t *value, void *at);
    size_t off;
    const char *help;
};

static void free_pem(struct bj_pem *p)
{
    free(p->file);
    if (p->text)
        explicit_bzero(p->text, strlen(p->text));
    free(p->text);
}

void bj_web_conf_free(struct bj_web_conf *c)
{
    for (size_t i = 0; i < c->users; i++) {
        free(c->user[i].name);
        free(c->user[i].hash);
    }
    free(c->user);
    free_pem(&c->tls.cert);
    free_pem(&c->tls.key);
    free_pem(&c->tls.client_ca);
    bj_strv_free(&c->tls.sans);
    bj_strv_free(&c->tls.curves);
    for (int i = 0; i < BJ_WEB_HEADERS; i++)
        free(c->header[i].value);
    *c = (struct bj_web_conf){0};
}

const char *bj_web_conf_hash(const struct bj_web_conf *c, struct bj_slice name)
{
    for (size_t i = 0; i < c->users; i++)
        if (bj_slice_eq(bj_slice_str(c->user[i].name), name))
            return c->user[i].hash;
    return NULL;
}

const char *bj_web_conf_any_hash(const struct bj_web_conf *c)
{
    return c->users > 0 ? c->user[0].hash : NULL;
}

/* --- values ----------------------------------------------------------------
 */

static int web_conf_wrong(struct walk *w, const yaml_node_t *n,
                          const char *what)
{
    return bj_yaml_wrong(&w->yaml, n->start_mark, "%s", what);
}

static int web_conf_no_memory(struct walk *w)
{
    return bj_err_set(w->yaml.err, -ENOMEM, "%s", w->yaml.name);
}

/* A text without NUL and control characters. */
static bool is_line(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return s.p != NULL;
}

static int web_conf_take_file(struct walk *w, const yaml_node_t *value,
                              void *at)
{
    struct bj_slice s = bj_yaml_text(value), dir = bj_slice_str(w->yaml.name);
    char **ret = at;
    if (!is_line(s))
        return web_conf_wrong(w, value, "the name of a file was expected");
    if (s.n == 0)
        return 0;
    while (dir.n > 0 && dir.p[dir.n - 1] != '/')
        dir.n--;
    if (s.p[0] == '/')
        dir.n = 0;
    if (asprintf(ret, "%.*s%.*s", (int)dir.n, dir.p, (int)s.n, s.p) < 0) {
        *ret = NULL;
        return web_conf_no_memory(w);
    }
    return 0;
}

static int take_pem(struct walk *w, const yaml_node_t *value, void *at)
{
    struct bj_slice s = bj_yaml_text(value);
    char **ret = at;
    if (!s.p || memchr(s.p, '\0', s.n))
        return web_conf_wrong(w, value, "a text in PEM was expected");
    *ret = s.n ? strndup(s.p, s.n) : NULL;
    return s.n && !*ret ? web_conf_no_memory(w) : 0;
}

static int add_text(struct walk *w, struct bj_strv *l, struct bj_slice s)
{
    return bj_strv_add(l, strndup(s.p, s.n)) ? 0 : web_conf_no_memory(w);
}

/* Call take for each scalar of a list. */
static int each_text(struct walk *w, const yaml_node_t *value,
                     int (*take)(struct walk *w, const yaml_node_t *n,
                                 void *at),
                     struct bj_strv *at)
{
    if (value->type == YAML_SCALAR_NODE && value->data.scalar.length == 0)
        return 0;
    if (value->type != YAML_SEQUENCE_NODE)
        return web_conf_wrong(w, value, "a list was expected");
    int r = 0;
    for (yaml_node_item_t *i = value->data.sequence.items.start;
         r == 0 && i < value->data.sequence.items.top; i++) {
        const yaml_node_t *n = yaml_document_get_node(w->doc, *i);
        if (bj_yaml_text(n).n == 0 || !is_line(bj_yaml_text(n)) ||
            at->n == LIST_MAX)
            return web_conf_wrong(w, n, "a list of texts was expected");
        r = take(w, n, at);
    }
    return r;
}

static int take_san(struct walk *w, const yaml_node_t *n, void *at)
{
    return add_text(w, at, bj_yaml_text(n));
}

static int take_sans(struct walk *w, const yaml_node_t *value, void *at)
{
    return each_text(w, value, take_san, at);
}

/* The names of a choice, and the names of its values elsewhere. */
struct choice {
    const char *name, *meaning;
};

static const struct choice curves[] = {
    {"CurveP256", "SECP256R1"},
    {"CurveP384", "SECP384R1"},
    {"CurveP521", "SECP521R1"},
    {"X25519", "X25519"},
    {NULL, NULL},
};

static int find_choice(const struct choice *c, struct bj_slice s)
{
    for (int i = 0; c[i].name; i++)
        if (bj_slice_eq(bj_slice_str(c[i].name), s))
            return i;
    return -1;
}

static const char *choice_at(const void *ctx, size_t i)
{
    return ((const struct choice *)ctx)[i].name;
}

static const char *field_at(const void *ctx, size_t i)
{
    return ((const struct field *)ctx)[i].name;
}

/* got is none of the names: the similar one, or all of them. */
static int none_of(struct walk *w, const yaml_node_t *n, const char *what,
                   const char *(*at)(const void *ctx, size_t i),
                   const void *ctx)
{
    char text[280], list[240] = "a word was expected";
    const struct bj_slice got = bj_yaml_text(n);
    if (got.p)
        bj_suggest_or_list(got, at, ctx, list, sizeof(list));
    snprintf(text, sizeof(text), "%s: %s", what, list);
    return web_conf_wrong(w, n, text);
}

static int take_curve(struct walk *w, const yaml_node_t *n, void *at)
{
    int i = find_choice(curves, bj_yaml_text(n));
    if (i < 0)
        return none_of(w, n, "curve_preferences", choice_at, curves);
    return add_text(w, at, bj_slice_str(curves[i].meaning));
}

static int take_curves(struct walk *w, const yaml_node_t *value, void *at)
{
    return each_text(w, value, take_curve, at);
}

static int take_auth(struct walk *w, const yaml_node_t *value, void *at)
{
    static const struct choice kinds[] = {
        {"NoClientCert", NULL},
        {"RequestClientCert", NULL},
        {"RequireAnyClientCert", NULL},
        {"VerifyClientCertIfGiven", NULL},
        {"RequireAndVerifyClientCert", NULL},
        {NULL, NULL},
    };
    int i = bj_yaml_text(value).n ? find_choice(kinds, bj_yaml_text(value)) : 0;
    if (i < 0)
        return none_of(w, value, "client_auth_type", choice_at, kinds);
    *(unsigned *)at = (unsigned)i;
    return 0;
}

static int take_version(struct walk *w, const yaml_node_t *value, void *at)
{
    static const struct choice versions[] = {{"TLS10", NULL},
                                             {"TLS11", NULL},
                                             {"TLS12", NULL},
                                             {"TLS13", NULL},
                                             {NULL, NULL}};
    int i = find_choice(versions, bj_yaml_text(value));
    if (i < 0)
        return none_of(w, value, "version", choice_at, versions);
    *(unsigned *)at = (unsigned)i;
    return 0;
}

static int take_bool(struct walk *w, const yaml_node_t *value, void *at)
{
    struct bj_slice s = bj_yaml_text(value);
    char shown[32], text[80];
    bj_text_clean(s, shown, sizeof(shown));
    snprintf(text, sizeof(text), "true or false was expected, not '%s'", shown);
    if (!bj_slice_eq(s, BJ_SLICE("true")) && !bj_slice_eq(s, BJ_SLICE("false")))
        return web_conf_wrong(w, value, text);
    *(bool *)at = s.p[0] == 't';
    return 0;
}

static int take_http2(struct walk *w, const yaml_node_t *value, void *at)
{
    bool wanted = false;
    (void)at;
    int r = take_bool(w, value, &wanted);
    if (r == 0 && wanted)
        return web_conf_wrong(w, value,
                              "http2: HTTP/2 is not served, only HTTP/1.1");
    return r;
}

static int take_duration(struct walk *w, const yaml_node_t *value, void *at)
{
    if (bj_duration_parse(bj_yaml_text(value), at) < 0)
        return web_conf_wrong(w, value,
                              "interval: a duration such as 10ms is needed");
    return 0;
}

static int take_count(struct walk *w, const yaml_node_t *value, void *at)
{
    uint64_t n = 0;
    if (bj_slice_u64(bj_yaml_text(value), &n) < 0 || n > 1000000)
        return web_conf_wrong(w, value,
                              "burst: a number up to 1000000 is needed");
    *(uint64_t *)at = n;
    return 0;
}

/* --- sections --------------------------------------------------------------
 */

static int take_fields(struct walk *w, const yaml_node_t *map,
                       const struct field *fields, void *base);

static int take_field(struct walk *w, const yaml_node_t *key,
                      const yaml_node_t *value, const struct field *fields,
                      void *base)
{
    char text[120];
    for (const struct field *f = fields; f->name; f++) {
        if (!bj_slice_eq(bj_slice_str(f->name), bj_yaml_text(key)))
            continue;
        if (f->take)
            return f->take(w, value, (char *)base + f->off);
        snprintf(text, sizeof(text), "%s is not supported: %s", f->name,
                 f->help);
        return web_conf_wrong(w, key, text);
    }
    if (!is_line(bj_yaml_text(key)))
        return web_conf_wrong(w, key, "a name was expected");
    return none_of(w, key, "key", field_at, fields);
}

static bool is_repeated(struct walk *w, const yaml_node_t *map,
                        const yaml_node_pair_t *end)
{
    struct bj_slice name =
        bj_yaml_text(yaml_document_get_node(w->doc, end->key));
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < end; p++)
        if (bj_slice_eq(bj_yaml_text(yaml_document_get_node(w->doc, p->key)),
                        name))
            return true;
    return false;
}

static int take_fields(struct walk *w, const yaml_node_t *map,
                       const struct field *fields, void *base)
{
    int r = 0;
    if (map->type == YAML_SCALAR_NODE && map->data.scalar.length == 0)
        return 0;
    if (map->type != YAML_MAPPING_NODE)
        return web_conf_wrong(w, map, "a mapping was expected");
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
         r == 0 && p < map->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(w->doc, p->key);
        if (is_repeated(w, map, p))
            return web_conf_wrong(w, key, "a key comes twice");
        r = take_field(w, key, yaml_document_get_node(w->doc, p->value), fields,
                       base);
    }
    return r;
}

static int add_user(struct walk *w, const yaml_node_t *key,
                    const yaml_node_t *value)
{
    struct bj_web_conf *c = w->conf;
    struct bj_slice name = bj_yaml_text(key), hash = bj_yaml_text(value);
    if (name.n == 0 || memchr(name.p, ':', name.n) || !is_line(name))
        return web_conf_wrong(w, key, "basic_auth_users: a name is needed");
    if (!hash.p || strlen(hash.p) != hash.n || !bj_secret_usable(hash.p))
        return web_conf_wrong(
            w, value, "basic_auth_users: the password must be hashed (bcrypt)");
    if (bj_web_conf_hash(c, name))
        return web_conf_wrong(w, key, "basic_auth_users: a key comes twice");
    struct bj_webuser *v =
        reallocarray(c->user, c->users + 1, sizeof(*c->user));
    if (!v)
        return web_conf_no_memory(w);
    c->user = v;
    v += c->users++;
    v->name = strndup(name.p, name.n);
    v->hash = strndup(hash.p, hash.n);
    return v->name && v->hash ? 0 : web_conf_no_memory(w);
}

static int take_users(struct walk *w, const yaml_node_t *value, void *at)
{
    int r = 0;
    (void)at;
    if (value->type == YAML_SCALAR_NODE && value->data.scalar.length == 0)
        return 0;
    if (value->type != YAML_MAPPING_NODE)
        return web_conf_wrong(w, value, "basic_auth_users holds NAME: HASH");
    for (yaml_node_pair_t *p = value->data.mapping.pairs.start;
         r == 0 && p < value->data.mapping.pairs.top; p++)
        r = add_user(w, yaml_document_get_node(w->doc, p->key),
                     yaml_document_get_node(w->doc, p->value));
    return r;
}

#define TLS(member) offsetof(struct bj_tls_conf, member)

static const struct field tls_fields[] = {
    {"cert_file", web_conf_take_file, TLS(cert.file), NULL},
    {"key_file", web_conf_take_file, TLS(key.file), NULL},
    {"cert", take_pem, TLS(cert.text), NULL},
    {"key", take_pem, TLS(key.text), NULL},
    {"client_ca_file", web_conf_take_file, TLS(client_ca.file), NULL},
    {"client_ca", take_pem, TLS(client_ca.text), NULL},
    {"client_auth_type", take_auth, TLS(client_auth), NULL},
    {"client_allowed_sans", take_sans, TLS(sans), NULL},
    {"min_version", take_version, TLS(lowest), NULL},
    {"max_version", take_version, TLS(upper), NULL},
    {"prefer_server_cipher_suites", take_bool, TLS(server_order), NULL},
    {"curve_preferences", take_curves, TLS(curves), NULL},
    {"cipher_suites", NULL, 0,
     "GnuTLS chooses; TLS 1.2 and 1.3 have only strong ones"},
    {"cert_ref", NULL, 0, "use client_ca_file"},
    {"key_ref", NULL, 0, "use client_ca_file"},
    {"client_ca_ref", NULL, 0, "use client_ca_file"},
    {NULL, NULL, 0, NULL},
};

/* Settings that contradict each other, as Go and exporter-toolkit judge. */
static const char *tls_mismatch(const struct bj_tls_conf *t)
{
    const struct bj_pem *all[] = {&t->cert, &t->key, &t->client_ca};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i]->file && all[i]->text)
            return "a file and a text for the same thing";
    bool cert = t->cert.file || t->cert.text, key = t->key.file || t->key.text,
         ca = t->client_ca.file || t->client_ca.text,
         verified = t->client_auth >= BJ_CLIENT_IF_GIVEN;
    if (!cert || !key)
        return cert  ? "cert_file without key_file"
               : key ? "key_file without cert_file"
                     : "cert_file and key_file are missing";
    if (ca && !verified)
        return "client_ca_file without a client_auth_type that verifies";
    if (verified && !ca)
        return "client_auth_type verifies, but client_ca_file is missing";
    if (t->sans.n > 0 && t->client_auth != BJ_CLIENT_REQUIRED)
        return "client_allowed_sans without RequireAndVerifyClientCert";
    return t->lowest > t->upper ? "min_version is above max_version" : NULL;
}

static int take_tls(struct walk *w, const yaml_node_t *value, void *at)
{
    struct bj_tls_conf *t = at;
    bool empty =
        (value->type == YAML_SCALAR_NODE && value->data.scalar.length == 0) ||
        (value->type == YAML_MAPPING_NODE &&
         value->data.mapping.pairs.start == value->data.mapping.pairs.top);
    t->lowest = 2;
    t->upper = BJ_TLS_VERSIONS - 1;
    t->server_order = true;
    int r = take_fields(w, value, tls_fields, t);
    if (r < 0 || empty)
        return r;
    const char *bad = tls_mismatch(t);
    char text[120];
    t->given = true;
    snprintf(text, sizeof(text), "tls_server_config: %s", bad ? bad : "");
    return bad ? web_conf_wrong(w, value, text) : 0;
}

static int take_header(struct walk *w, const yaml_node_t *key,
                       const yaml_node_t *value)
{
    static const struct {
        const char *name, *only[3];
    } known[] = {
        {"Content-Security-Policy", {NULL}},
        {"Strict-Transport-Security", {NULL}},
        {"X-Content-Type-Options", {"nosniff"}},
        {"X-Frame-Options", {"deny", "sameorigin"}},
        {"X-XSS-Protection", {NULL}},
    };
    struct bj_slice name = bj_yaml_text(key), s = bj_yaml_text(value);
    size_t i = 0, n = 0, known_n = sizeof(known) / sizeof(known[0]);
    while (i < known_n && !bj_slice_eq(name, bj_slice_str(known[i].name)))
        i++;
    if (i == known_n)
        return web_conf_wrong(
            w, key,
            "headers: expected Content-Security-Policy, "
            "Strict-Transport-Security, X-Content-Type-Options, "
            "X-Frame-Options or X-XSS-Protection");
    bool good = !known[i].only[0];
    for (const char *const *o = known[i].only; *o; o++)
        good = good || bj_slice_eq(s, bj_slice_str(*o));
    if (!is_line(s) || (!good && s.n > 0))
        return web_conf_wrong(
            w, value,
            "headers: expected nosniff for X-Content-Type-Options, deny or "
            "sameorigin for X-Frame-Options, a line for others");
    if (s.n == 0)
        return 0;
    while (w->conf->header[n].name)
        n++;
    w->conf->header[n].value = strndup(s.p, s.n);
    if (!w->conf->header[n].value)
        return web_conf_no_memory(w);
    w->conf->header[n].name = known[i].name;
    return 0;
}

static int take_headers(struct walk *w, const yaml_node_t *value, void *at)
{
    int r = 0;
    (void)at;
    if (value->type != YAML_MAPPING_NODE)
        return web_conf_wrong(w, value, "headers holds NAME: VALUE");
    for (yaml_node_pair_t *p = value->data.mapping.pairs.start;
         r == 0 && p < value->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(w->doc, p->key);
        r = is_repeated(w, value, p)
                ? web_conf_wrong(w, key, "headers: a key comes twice")
                : take_header(w, key, yaml_document_get_node(w->doc, p->value));
    }
    return r;
}

static int take_http(struct walk *w, const yaml_node_t *value, void *at)
{
    static const struct field fields[] = {{"http2", take_http2, 0, NULL},
                                          {"headers", take_headers, 0, NULL},
                                          {NULL, NULL, 0, NULL}};
    return take_fields(w, value, fields, at);
}

static int take_rate(struct walk *w, const yaml_node_t *value, void *at)
{
    static const struct field fields[] = {
        {"interval", take_duration, offsetof(struct bj_web_conf, rate_usec),
         NULL},
        {"burst", take_count, offsetof(struct bj_web_conf, burst), NULL},
        {NULL, NULL, 0, NULL}};
    return take_fields(w, value, fields, at);
}

static const struct field sections[] = {
    {"tls_server_config", take_tls, offsetof(struct bj_web_conf, tls), NULL},
    {"http_server_config", take_http, 0, NULL},
    {"basic_auth_users", take_users, 0, NULL},
    {"rate_limit", take_rate, 0, NULL},
    {"auth_excluded_paths", NULL, 0, "authentication applies to all paths"},
    {NULL, NULL, 0, NULL},
};

static int take_document(struct walk *w)
{
    struct bj_web_conf *c = w->conf;
    const yaml_node_t *root = yaml_document_get_root_node(w->doc);
    int r = 0;
    c->burst = 1;
    if (root) /* an empty file sets nothing */
        r = take_fields(w, root, sections, c);
    if (r == 0 && c->burst == 0)
        r = bj_err_set(w->yaml.err, -EINVAL, "%s: rate_limit: burst is 0",
                       w->yaml.name);
    if (r == 0 && c->rate_usec > UINT64_MAX / 2 / c->burst)
        r = bj_err_set(w->yaml.err, -EINVAL,
                       "%s: rate_limit: interval is too long", w->yaml.name);
    return r;
}

int bj_web_conf_parse(struct bj_web_conf *c, const char *path,
                      struct bj_slice text, struct bj_err *err)
{
    bj_autodocument doc = {0};
    struct walk w = {.conf = c,
                     .yaml = {.name = path, .text = text, .err = err},
                     .doc = &doc};
    int r = bj_yaml_document(&w.yaml, &doc);
    return r < 0 ? r : take_document(&w);
}

int bj_web_conf_read(struct bj_web_conf *c, const char *path,
                     struct bj_err *err)
{
    struct bj_slice text;
    char *buf = malloc(FILE_BYTES);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "%s", path);
    int r = bj_file_read_all(AT_FDCWD, path, buf, FILE_BYTES, &text, err);
    if (r == 0)
        r = bj_web_conf_parse(c, path, text, err);
    explicit_bzero(buf, FILE_BYTES);
    free(buf);
    return r;
}
