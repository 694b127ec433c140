/* The files of rules. */
#include "base/file.h"
#include "base/hash.h"
#include "base/opt.h"
#include "base/text.h"
#include "base/yaml.h"
#include "statsdb/derive/rule_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* --- one file -------------------------------------------------------------*/

/* The document is a mapping with one key, "rules": a list of mappings. Deeper
 * nesting is refused, so that aliases cannot do harm. */
struct reader {
    struct bj_rules *rules;
    struct bj_yaml yaml;
    yaml_document_t *doc;
};

static int rule_file_wrong(struct reader *d, const yaml_node_t *n,
                           const char *what)
{
    return bj_yaml_wrong(&d->yaml, n->start_mark, "%s", what);
}

static const char *text_at(const void *ctx, size_t i)
{
    return ((const char *const *)ctx)[i];
}

/* A text that is none of the names, which end with NULL. */
static int none_of(struct reader *d, const yaml_node_t *n, struct bj_slice got,
                   const char *const *names)
{
    char text[240];
    return rule_file_wrong(
        d, n, bj_suggest_or_list(got, text_at, names, text, sizeof(text)));
}

/* A scalar, copied into the arena. */
static int get_text(struct reader *d, const yaml_node_t *n, size_t max,
                    struct bj_slice *ret)
{
    if (n->type != YAML_SCALAR_NODE)
        return rule_file_wrong(d, n, "a text is expected");
    struct bj_slice s = bj_yaml_text(n);
    if (s.n > max)
        return rule_file_wrong(d, n, "the text is too long");
    char clean[BJ_RULE_TEXT_MAX + 1];
    s.n = bj_text_clean(s, clean, sizeof(clean));
    s.p = clean;
    *ret = bj_arena_copy(&d->rules->arena, s);
    return d->rules->arena.failed ? bj_err_set(d->yaml.err, -ENOMEM, "rules")
                                  : 0;
}

/* A list of texts, or a single one. */
static int get_list(struct reader *d, const yaml_node_t *n, unsigned max,
                    struct bj_slice *ret, unsigned *ret_n)
{
    *ret_n = 0;
    if (n->type == YAML_SCALAR_NODE) {
        *ret_n = 1;
        return get_text(d, n, 200, ret);
    }
    if (n->type != YAML_SEQUENCE_NODE)
        return rule_file_wrong(d, n, "a list is expected");
    for (const yaml_node_item_t *i = n->data.sequence.items.start;
         i < n->data.sequence.items.top; i++) {
        const yaml_node_t *item = yaml_document_get_node(d->doc, *i);
        if (*ret_n == max)
            return rule_file_wrong(d, item, "the list is too long");
        int r = get_text(d, item, 200, &ret[*ret_n]);
        if (r < 0)
            return r;
        ++*ret_n;
    }
    return 0;
}

static int get_bool(struct reader *d, const yaml_node_t *n, bool *ret)
{
    if (n->type == YAML_SCALAR_NODE) {
        *ret = bj_slice_eq(bj_yaml_text(n), BJ_SLICE("true"));
        if (*ret || bj_slice_eq(bj_yaml_text(n), BJ_SLICE("false")))
            return 0;
    }
    return rule_file_wrong(d, n, "true or false is expected");
}

static int get_severity(struct reader *d, const yaml_node_t *n,
                        struct bj_slice *ret)
{
    static const char *const known[] = {"info", "warning", "critical", NULL};
    int r = get_text(d, n, 20, ret);
    for (int i = 0; r == 0 && known[i]; i++)
        if (bj_slice_eq(*ret, bj_slice_str(known[i])))
            return 0;
    return r < 0 ? r : none_of(d, n, *ret, known);
}

/* The URL of a page; a browser must not run it as a script. */
static int get_url(struct reader *d, const yaml_node_t *n, struct bj_slice *ret)
{
    int r = get_text(d, n, 500, ret);
    if (r < 0 || ret->n == 0 || bj_slice_starts(*ret, BJ_SLICE("https://")) ||
        bj_slice_starts(*ret, BJ_SLICE("http://")))
        return r;
    return rule_file_wrong(d, n, "a URL with https:// or http:// is expected");
}

/* Whole seconds, from a minute to a week; 0: the rule is for ended jobs. */
static int get_running(struct reader *d, const yaml_node_t *n, uint32_t *ret)
{
    double sec;
    if (n->type != YAML_SCALAR_NODE ||
        bj_rule_number(bj_yaml_text(n), &sec) < 0 || (sec > 0 && sec < 60) ||
        sec < 0 || sec > 7 * 86400)
        return rule_file_wrong(d, n, "a time from 1m to 7d is expected, or 0");
    *ret = (uint32_t)sec;
    return 0;
}

static int get_actions(struct reader *d, const yaml_node_t *n,
                       struct bj_rule_text *t)
{
    struct bj_slice text[BJ_RULE_ACTIONS];
    int r = get_list(d, n, BJ_RULE_ACTIONS, text, &t->actions);
    for (unsigned i = 0; r == 0 && i < t->actions; i++)
        if (bj_rule_action(text[i], &t->action[i]) < 0)
            r = rule_file_wrong(d, n,
                                "'warn after TIME' or 'cancel after TIME' is"
                                " expected, such as 'warn after 45m'");
    return r;
}

/* An override replaces numbers by name. */
static int set_one(struct reader *d, struct bj_rule_text *t,
                   const yaml_node_t *key, const yaml_node_t *v)
{
    struct bj_slice name;
    double number;
    int r = get_text(d, key, 64, &name);
    if (r < 0)
        return r;
    if (v->type != YAML_SCALAR_NODE ||
        bj_rule_number(bj_yaml_text(v), &number) < 0)
        return rule_file_wrong(d, v,
                               "a number is expected, with or without a unit");
    unsigned i = 0;
    while (i < t->sets && !bj_slice_eq(t->set[i].name, name))
        i++;
    if (i == BJ_RULE_THRESHOLDS)
        return rule_file_wrong(d, key, "too many thresholds");
    t->sets += i == t->sets;
    t->set[i] = (struct bj_threshold){name, number};
    return 0;
}

static int get_set(struct reader *d, const yaml_node_t *n,
                   struct bj_rule_text *t)
{
    if (n->type != YAML_MAPPING_NODE)
        return rule_file_wrong(d, n, "names with numbers are expected");
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
         p < n->data.mapping.pairs.top; p++) {
        int r = set_one(d, t, yaml_document_get_node(d->doc, p->key),
                        yaml_document_get_node(d->doc, p->value));
        if (r < 0)
            return r;
    }
    return 0;
}

static int get_key(struct reader *d, struct bj_rule_text *t,
                   struct bj_slice key, const yaml_node_t *k,
                   const yaml_node_t *v)
{
    static const char *const known[] = {
        "name", "severity", "text",     "advice",  "url",
        "when", "set",      "unless",   "cluster", "partition",
        "qos",  "running",  "escalate", "enabled", NULL};
    if (bj_slice_eq(key, BJ_SLICE("name")))
        return 0;
    if (bj_slice_eq(key, BJ_SLICE("severity")))
        return get_severity(d, v, &t->severity);
    if (bj_slice_eq(key, BJ_SLICE("text")))
        return get_text(d, v, BJ_RULE_TEXT_MAX, &t->text);
    if (bj_slice_eq(key, BJ_SLICE("advice")))
        return get_text(d, v, BJ_RULE_TEXT_MAX, &t->advice);
    if (bj_slice_eq(key, BJ_SLICE("url")))
        return get_url(d, v, &t->url);
    if (bj_slice_eq(key, BJ_SLICE("when")))
        return get_list(d, v, BJ_RULE_ROWS, t->when, &t->rows);
    if (bj_slice_eq(key, BJ_SLICE("unless")))
        return get_list(d, v, BJ_RULE_ROWS, t->unless, &t->unlesses);
    if (bj_slice_eq(key, BJ_SLICE("cluster")))
        return get_list(d, v, BJ_RULE_WHERE, t->cluster, &t->clusters);
    if (bj_slice_eq(key, BJ_SLICE("partition")))
        return get_list(d, v, BJ_RULE_WHERE, t->partition, &t->partitions);
    if (bj_slice_eq(key, BJ_SLICE("qos")))
        return get_list(d, v, BJ_RULE_WHERE, t->qos, &t->qoses);
    if (bj_slice_eq(key, BJ_SLICE("running")))
        return get_running(d, v, &t->running_sec);
    if (bj_slice_eq(key, BJ_SLICE("escalate")))
        return get_actions(d, v, t);
    if (bj_slice_eq(key, BJ_SLICE("enabled")))
        return get_bool(d, v, &t->enabled);
    if (bj_slice_eq(key, BJ_SLICE("set")))
        return get_set(d, v, t);
    return none_of(d, k, key, known);
}

/* The value of "name". */
static int rule_file_find_name(struct reader *d, const yaml_node_t *n,
                               struct bj_slice *ret)
{
    *ret = (struct bj_slice){NULL, 0};
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
         p < n->data.mapping.pairs.top; p++) {
        const yaml_node_t *k = yaml_document_get_node(d->doc, p->key);
        if (k->type != YAML_SCALAR_NODE ||
            !bj_slice_eq(bj_yaml_text(k), BJ_SLICE("name")))
            continue;
        int r = get_text(d, yaml_document_get_node(d->doc, p->value), 64, ret);
        if (r < 0)
            return r;
    }
    return ret->n > 0 ? 0 : rule_file_wrong(d, n, "a rule needs a name");
}

static const char *rule_at(const void *ctx, size_t i)
{
    const struct bj_rules *r = ctx;
    return i < r->n ? r->rule[i].name : NULL;
}

static int finish_rule(struct reader *d, const yaml_node_t *n,
                       const struct bj_rule_text *t)
{
    char text[200], like[BJ_OPT_SUGGESTION];
    bj_suggest(t->name, rule_at, d->rules, like);
    if (t->rows == 0 && like[0] && !bj_rules_base(d->rules, t->name)) {
        snprintf(text, sizeof(text), "there is no rule '%.*s'%s",
                 (int)t->name.n, t->name.p, like);
        return rule_file_wrong(d, n, text);
    }
    if (t->rows == 0)
        return rule_file_wrong(d, n, "a rule needs rows in when");
    if (t->text.n == 0)
        return rule_file_wrong(d, n, "a rule needs a text");
    int r = bj_rules_add(d->rules, t, d->yaml.err);
    return r < 0 ? bj_yaml_position(&d->yaml, n->start_mark, r) : 0;
}

static int get_rule(struct reader *d, const yaml_node_t *n)
{
    if (n->type != YAML_MAPPING_NODE)
        return rule_file_wrong(d, n,
                               "a rule with name, when and text is expected");
    struct bj_slice name;
    int r = rule_file_find_name(d, n, &name);
    if (r < 0)
        return r;
    const struct bj_rule_text *base = bj_rules_base(d->rules, name);
    struct bj_rule_text t =
        base ? *base
             : (struct bj_rule_text){.severity = BJ_SLICE("info"),
                                     .enabled = true};
    t.name = name;
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
         r == 0 && p < n->data.mapping.pairs.top; p++) {
        const yaml_node_t *k = yaml_document_get_node(d->doc, p->key);
        if (k->type != YAML_SCALAR_NODE)
            return rule_file_wrong(d, k, "a key is expected");
        r = get_key(d, &t, bj_yaml_text(k), k,
                    yaml_document_get_node(d->doc, p->value));
    }
    return r < 0 ? r : finish_rule(d, n, &t);
}

static int get_rules(struct reader *d)
{
    yaml_node_t *root = yaml_document_get_root_node(d->doc);
    if (!root)
        return 0; /* an empty file */
    if (root->type != YAML_MAPPING_NODE)
        return rule_file_wrong(d, root, "rules: is expected");
    for (const yaml_node_pair_t *p = root->data.mapping.pairs.start;
         p < root->data.mapping.pairs.top; p++) {
        const yaml_node_t *k = yaml_document_get_node(d->doc, p->key);
        const yaml_node_t *v = yaml_document_get_node(d->doc, p->value);
        if (k->type != YAML_SCALAR_NODE ||
            !bj_slice_eq(bj_yaml_text(k), BJ_SLICE("rules")))
            return rule_file_wrong(d, k, "rules: is expected");
        if (v->type != YAML_SEQUENCE_NODE)
            return rule_file_wrong(d, v, "a list of rules is expected");
        for (const yaml_node_item_t *i = v->data.sequence.items.start;
             i < v->data.sequence.items.top; i++) {
            int r = get_rule(d, yaml_document_get_node(d->doc, *i));
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* Read YAML into rules. */
static int rules_read(struct bj_rules *rules, const char *name,
                      struct bj_slice yaml, struct bj_err *err)
{
    bj_autodocument doc = {0};
    struct reader d = {.rules = rules,
                       .yaml = {.name = name, .text = yaml, .err = err},
                       .doc = &doc};
    if (yaml.n > BJ_RULE_FILE_MAX)
        return bj_err_set(err, -EINVAL, "%s: is too long", name);
    int r = bj_yaml_document(&d.yaml, &doc);
    return r < 0 ? r : get_rules(&d);
}

/* --- loads the rules: the built-in ones, then those of the site's file ----*/

static void rule_file_hash(uint64_t *h, struct bj_slice s)
{
    *h = bj_hash_unit(bj_hash(*h, s), 0xff);
}

static void hash_all(uint64_t *h, const struct bj_slice *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        rule_file_hash(h, v[i]);
    rule_file_hash(h, BJ_SLICE(""));
}

static void sign(struct bj_rules *r)
{
    uint64_t h = BJ_HASH;
    for (size_t i = 0; i < r->n; i++) {
        const struct bj_rule_text *t = r->text[i];
        rule_file_hash(&h, t->name);
        rule_file_hash(&h, t->severity);
        rule_file_hash(&h, t->text);
        rule_file_hash(&h, t->advice);
        rule_file_hash(&h, t->url);
        rule_file_hash(&h, bj_slice_str(r->rule[i].condition));
        hash_all(&h, t->unless, t->unlesses);
        hash_all(&h, t->cluster, t->clusters);
        hash_all(&h, t->partition, t->partitions);
        hash_all(&h, t->qos, t->qoses);
        h = bj_hash_unit(h, t->running_sec);
        rule_file_hash(&h, t->enabled ? BJ_SLICE("on") : BJ_SLICE("off"));
    }
    snprintf(r->sign, sizeof(r->sign), "%016llx", (unsigned long long)h);
}

int bj_rules_text(const char *name, struct bj_slice yaml, struct bj_rules **ret,
                  struct bj_err *err)
{
    struct bj_rules *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "rules");
    int e = 0;
    for (const char *const *rule = bj_rules_builtin; e == 0 && *rule; rule++)
        e = rules_read(r, "built-in rules", bj_slice_str(*rule), err);
    if (e == 0 && yaml.n > 0)
        e = rules_read(r, name, yaml, err);
    if (e < 0) {
        bj_rules_free(r);
        return e;
    }
    sign(r);
    *ret = r;
    return 0;
}

int bj_rules_load(const char *path, struct bj_rules **ret, struct bj_err *err)
{
    struct bj_slice text = {NULL, 0};
    if (!path || !path[0])
        return bj_rules_text("", text, ret, err);
    char *buf = malloc(BJ_RULE_FILE_MAX);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "rules");
    int r =
        bj_file_read_trusted(AT_FDCWD, path, buf, BJ_RULE_FILE_MAX, &text, err);
    if (r == 0)
        r = bj_rules_text(path, text, ret, err);
    else /* -ENOENT means an ended job elsewhere */
        r = bj_err_wrap(err, r == -ENOENT ? bj_err_recode(err, -EINVAL) : r,
                        "findings.file");
    free(buf);
    return r;
}
