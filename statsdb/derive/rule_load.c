/* Loads the rules: the built-in ones, then those of the site's file. */
#include "base/file.h"
#include "base/hash.h"
#include "statsdb/derive/rule_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static void hash(uint64_t *h, struct bj_slice s)
{
    *h = bj_hash_unit(bj_hash(*h, s), 0xff);
}

static void hash_all(uint64_t *h, const struct bj_slice *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        hash(h, v[i]);
    hash(h, BJ_SLICE(""));
}

static void sign(struct bj_rules *r)
{
    uint64_t h = BJ_HASH;
    for (size_t i = 0; i < r->n; i++) {
        const struct bj_rule_text *t = r->text[i];
        hash(&h, t->name);
        hash(&h, t->severity);
        hash(&h, t->text);
        hash(&h, t->advice);
        hash(&h, t->url);
        hash(&h, bj_slice_str(r->rule[i].condition));
        hash_all(&h, t->unless, t->unlesses);
        hash_all(&h, t->cluster, t->clusters);
        hash_all(&h, t->partition, t->partitions);
        hash_all(&h, t->qos, t->qoses);
        h = bj_hash_unit(h, t->running_sec);
        hash(&h, t->enabled ? BJ_SLICE("on") : BJ_SLICE("off"));
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
        e = bj_rules_read(r, "built-in rules", bj_slice_str(*rule), err);
    if (e == 0 && yaml.n > 0)
        e = bj_rules_read(r, name, yaml, err);
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
