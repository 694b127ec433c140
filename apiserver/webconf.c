#include "apiserver/webconf.h"

#include "apiserver/conf.h"
#include "apiserver/secret.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { FILE_BYTES = 256 << 10 };

#define autodocument __attribute__((cleanup(yaml_document_delete)))

void bj_webconf_free(struct bj_webconf *c)
{
    for (size_t i = 0; i < c->users; i++) {
        free(c->user[i].name);
        free(c->user[i].hash);
    }
    free(c->user);
    *c = (struct bj_webconf){0};
}

const char *bj_webconf_hash(const struct bj_webconf *c, struct bj_slice name)
{
    for (size_t i = 0; i < c->users; i++)
        if (bj_slice_eq(bj_slice_str(c->user[i].name), name))
            return c->user[i].hash;
    return NULL;
}

static struct bj_slice scalar(const yaml_node_t *n)
{
    if (!n || n->type != YAML_SCALAR_NODE)
        return (struct bj_slice){0};
    return (struct bj_slice){(const char *)n->data.scalar.value,
                             n->data.scalar.length};
}

static int wrong(const char *path, const yaml_node_t *n, struct bj_err *err,
                 const char *what)
{
    return bj_err_set(err, -EINVAL, "%s:%zu: %s", path, n->start_mark.line + 1,
                      what);
}

static int add_user(struct bj_webconf *c, const char *path,
                    const yaml_node_t *key, const yaml_node_t *value,
                    struct bj_err *err)
{
    struct bj_slice name = scalar(key), hash = scalar(value);
    if (name.n == 0 || memchr(name.p, ':', name.n) ||
        memchr(name.p, '\0', name.n))
        return wrong(path, key, err, "basic_auth_users: a name is needed");
    if (!hash.p || strlen(hash.p) != hash.n || !bj_secret_usable(hash.p))
        return wrong(path, value, err,
                     "basic_auth_users: the password must be hashed (bcrypt)");
    if (bj_webconf_hash(c, name))
        return wrong(path, key, err, "basic_auth_users: a name comes twice");
    struct bj_webuser *v =
        reallocarray(c->user, c->users + 1, sizeof(*c->user));
    if (!v)
        return bj_err_set(err, -ENOMEM, "%s", path);
    c->user = v;
    v += c->users++;
    v->name = strndup(name.p, name.n);
    v->hash = strndup(hash.p, hash.n);
    return v->name && v->hash ? 0 : bj_err_set(err, -ENOMEM, "%s", path);
}

static int read_section(struct bj_webconf *c, const char *path,
                        yaml_document_t *doc, const yaml_node_pair_t *pair,
                        struct bj_err *err)
{
    const yaml_node_t *key = yaml_document_get_node(doc, pair->key);
    const yaml_node_t *value = yaml_document_get_node(doc, pair->value);
    if (!bj_slice_eq(scalar(key), BJ_SLICE("basic_auth_users")))
        return wrong(path, key, err,
                     "only basic_auth_users is known here; for TLS put a "
                     "proxy in front");
    if (value->type == YAML_SCALAR_NODE && value->data.scalar.length == 0)
        return 0;
    if (value->type != YAML_MAPPING_NODE)
        return wrong(path, value, err, "basic_auth_users holds NAME: HASH");
    int r = 0;
    for (yaml_node_pair_t *p = value->data.mapping.pairs.start;
         r == 0 && p < value->data.mapping.pairs.top; p++)
        r = add_user(c, path, yaml_document_get_node(doc, p->key),
                     yaml_document_get_node(doc, p->value), err);
    return r;
}

static int parse(struct bj_webconf *c, const char *path, struct bj_slice text,
                 struct bj_err *err)
{
    yaml_parser_t parser;
    autodocument yaml_document_t doc = {0};
    if (!yaml_parser_initialize(&parser))
        return bj_err_set(err, -ENOMEM, "%s", path);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p,
                                 text.n);
    int ok = yaml_parser_load(&parser, &doc), r = 0;
    if (!ok)
        r = bj_err_set(err, -EINVAL, "%s:%zu: %s", path,
                       parser.problem_mark.line + 1,
                       parser.problem ? parser.problem : "bad YAML");
    yaml_parser_delete(&parser);
    if (!ok)
        return r;
    const yaml_node_t *root = yaml_document_get_root_node(&doc);
    if (!root)
        return 0; /* an empty file: no users */
    if (root->type != YAML_MAPPING_NODE)
        return wrong(path, root, err, "a mapping was expected");
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
         r == 0 && p < root->data.mapping.pairs.top; p++)
        r = read_section(c, path, &doc, p, err);
    return r;
}

int bj_webconf_read(struct bj_webconf *c, const char *path, struct bj_err *err)
{
    struct bj_slice text;
    char *buf = malloc(FILE_BYTES);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "%s", path);
    int r = bj_file_read_all(AT_FDCWD, path, buf, FILE_BYTES, &text, err);
    if (r < 0)
        r = bj_api_conf_unread("web.config.file", err);
    else
        r = parse(c, path, text, err);
    explicit_bzero(buf, FILE_BYTES);
    free(buf);
    return r;
}
