#include "collectd-plugin/dispatch.h"

#include "base/text.h"
#include "collectd-plugin/name.h"
#include "core/find/ident.h"
#include "core/view/types.h"
#include "core/view/view.h"

#include <stdlib.h>

enum { ATTRS_MAX = 24 };

_Static_assert(BJ_NAME_SIZE <= DATA_MAX_NAME_LEN, "a name fits a value list");

/* The name of a job in collectd. Made once for each identity. */
struct job_name {
    const struct bj_ident *ident; /* a reference */
    meta_data_t *meta;            /* NULL: no meta data */
    char name[BJ_NAME_SIZE];
    bool hidden; /* without name, or with the name of the job before it */
};

/* An attribute of the current info metric. */
struct attr {
    struct bj_slice key;
    size_t at; /* its index in bj_sample.info, or FROM_... */
    char type[DATA_MAX_NAME_LEN];
};

/* Attributes that are labels of all samples in the exporter. */
enum { FROM_USER = 1000, FROM_ACCOUNT, FROM_CLUSTER };

struct bj_dispatch {
    const struct bj_conf *conf;
    struct job_name *jobs; /* in the order of the snapshot */
    size_t njobs;
    char cluster[BJ_LABEL_MAX + 1]; /* in the meta data */
    /* the current walk */
    const struct bj_snap *snap;
    const struct bj_metric_table *table;
    enum bj_kind kind;
    struct attr attrs[ATTRS_MAX];
    size_t nattrs;
    struct bj_buf type;
    value_t value;
    value_list_t list;
};

struct bj_dispatch *bj_dispatch_new(const struct bj_conf *conf)
{
    struct bj_dispatch *d = calloc(1, sizeof(*d));
    if (d)
        d->conf = conf;
    return d;
}

static void names_free(struct job_name *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bj_ident_unref(jobs[i].ident);
        meta_data_destroy(jobs[i].meta);
    }
    free(jobs);
}

void bj_dispatch_free(struct bj_dispatch *d)
{
    if (!d)
        return;
    names_free(d->jobs, d->njobs);
    bj_buf_free(&d->type);
    free(d);
}

/* --- names of jobs ------------------------------------------------------- */

static struct bj_slice shown_user(const struct bj_dispatch *d,
                                  const struct bj_ident *id)
{
    return d->conf->label_user ? id->f[BJ_ID_USER] : BJ_SLICE("");
}

static struct bj_slice shown_account(const struct bj_dispatch *d,
                                     const struct bj_ident *id)
{
    return d->conf->label_account ? id->f[BJ_ID_ACCOUNT] : BJ_SLICE("");
}

/* collectd's JSON replaces non-ASCII characters by '?' and drops a list with a
 * long string, so only short ASCII text is attached. */
static bool meta_worthy(struct bj_slice s)
{
    if (s.n == 0 || s.n > BJ_LABEL_MAX)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 0x20 || s.p[i] > 0x7e)
            return false;
    return true;
}

/* Meta data of a job. NULL when there is none, never an empty object: the JSON
 * formatter writes an invalid document for that. */
static meta_data_t *meta_new(const struct bj_dispatch *d,
                             const struct bj_ident *id)
{
    const struct {
        const char *key;
        struct bj_slice value;
    } pairs[] = {
        {"jobid", id->f[BJ_ID_JOBID]},
        {"user", shown_user(d, id)},
        {"account", shown_account(d, id)},
        {"cluster", d->snap->cluster},
    };
    meta_data_t *meta = NULL;
    bool filled = false;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char text[BJ_LABEL_MAX + 1];
        struct bj_slice v = pairs[i].value;
        if (!meta_worthy(v) || (!meta && !(meta = meta_data_create())))
            continue;
        memcpy(text, v.p, v.n);
        text[v.n] = '\0';
        filled |= meta_data_add_string(meta, pairs[i].key, text) == 0;
    }
    if (filled)
        return meta;
    meta_data_destroy(meta);
    return NULL;
}

/* Reuse the name of an identity, or make it. Both lists are in the order of the
 * jobs, so *from only moves forward. */
static void name_fill(const struct bj_dispatch *d, struct job_name *name,
                      const struct bj_ident *ident, size_t *from)
{
    for (size_t i = *from; i < d->njobs; i++) {
        if (d->jobs[i].ident != ident)
            continue;
        *name = d->jobs[i];
        d->jobs[i].ident = NULL;
        d->jobs[i].meta = NULL;
        *from = i + 1;
        return;
    }
    name->ident = bj_ident_ref(ident);
    name->meta = meta_new(d, ident);
    bj_name_job(ident, name->name);
}

/* The cluster's name may arrive after the first jobs. */
static void cluster_refresh(struct bj_dispatch *d)
{
    const struct bj_slice name = d->snap->cluster;
    if (name.n >= sizeof(d->cluster) ||
        bj_slice_eq(name, bj_slice_str(d->cluster)))
        return;
    names_free(d->jobs, d->njobs);
    d->jobs = NULL;
    d->njobs = 0;
    if (name.n > 0)
        memcpy(d->cluster, name.p, name.n);
    d->cluster[name.n] = '\0';
}

static int names_refresh(struct bj_dispatch *d)
{
    cluster_refresh(d);
    const struct bj_job *jobs = d->snap->jobs.v;
    size_t n = d->snap->jobs.n, from = 0;
    struct job_name *names = calloc(n > 0 ? n : 1, sizeof(*names));
    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        name_fill(d, &names[i], jobs[i].ident, &from);
        names[i].hidden =
            names[i].name[0] == '\0' ||
            (i > 0 && strcmp(names[i].name, names[i - 1].name) == 0);
    }
    names_free(d->jobs, d->njobs);
    d->jobs = names;
    d->njobs = n;
    return 0;
}

/* --- values -------------------------------------------------------------- */

static void list_type(struct bj_dispatch *d, const char *type)
{
    snprintf(d->list.type, sizeof(d->list.type), "%s", type);
}

/* Attributes of the table's info metric, and their types. */
static void attr_add(struct bj_dispatch *d, const char *key, size_t at)
{
    if (!bj_attr_has_type(key) || d->nattrs == ATTRS_MAX)
        return;
    struct attr *a = &d->attrs[d->nattrs++];
    a->key = bj_slice_str(key);
    a->at = at;
    bj_buf_reset(&d->type);
    bj_attr_type(d->table, key, &d->type);
    bj_buf_put(&d->type, "", 1);
    snprintf(a->type, sizeof(a->type), "%s", d->type.failed ? "" : d->type.p);
}

static void attrs_collect(struct bj_dispatch *d)
{
    d->nattrs = 0;
    for (size_t i = 0; d->table->info[i]; i++)
        attr_add(d, d->table->info[i], i);
    if (d->table->owner != BJ_OF_JOB)
        return;
    for (size_t i = 0; bj_job_attr_keys[i]; i++)
        attr_add(d, bj_job_attr_keys[i], FROM_USER + i);
}

static int on_family(void *ctx, const struct bj_metric_table *t,
                     const struct bj_metric *m)
{
    struct bj_dispatch *d = ctx;

    d->table = t;
    d->kind = m->kind;
    if (t->info)
        attrs_collect(d);
    bj_buf_reset(&d->type);
    bj_metric_collectd_type(t, m, &d->type);
    bj_buf_put(&d->type, "", 1);
    if (d->type.failed)
        return -ENOMEM;
    list_type(d, d->type.p);
    return 0;
}

static void dispatch_put(struct bj_dispatch *d, uint64_t value)
{
    if (value > INT64_MAX)
        return;
    if (d->kind == BJ_COUNTER)
        d->value.derive = (derive_t)value;
    else
        d->value.gauge = (gauge_t)value;
    /* A full queue drops a list silently (0). */
    plugin_dispatch_values(&d->list);
}

static struct bj_slice attr_value(const struct bj_dispatch *d,
                                  const struct attr *a,
                                  const struct bj_sample *s)
{
    switch (a->at) {
    case FROM_USER:
        return shown_user(d, s->job->ident);
    case FROM_ACCOUNT:
        return shown_account(d, s->job->ident);
    case FROM_CLUSTER:
        return d->snap->cluster;
    default:
        return s->info[a->at];
    }
}

static void put_attrs(struct bj_dispatch *d, const struct bj_sample *s)
{
    for (size_t i = 0; i < d->nattrs; i++) {
        struct bj_slice v = attr_value(d, &d->attrs[i], s);
        if (v.n == 0)
            continue;
        list_type(d, d->attrs[i].type);
        bj_name_text(v, d->list.type_instance);
        dispatch_put(d, 1);
    }
}

/* Put the keys of a sample into the list: a step, or the first of several keys
 * without a job, becomes the plugin instance; all others the type instance,
 * "a:b" for two keys of a job. */
static void list_sub(struct bj_dispatch *d, const struct bj_sample *s)
{
    const struct bj_sub *sub = s->sub;
    const char *const *label = d->table->label;
    bool step = s->job && label[0] && strcmp(label[0], "step") == 0;

    d->list.type_instance[0] = '\0';
    if (!sub)
        return;
    if (step)
        bj_name_step(s->job->ident, sub->key[0], d->list.plugin_instance);
    else if (s->job && label[1])
        bj_name_pair(sub->key[0], sub->key[1], d->list.type_instance);
    else if (label[1])
        bj_name_text(sub->key[0], d->list.plugin_instance);
    else
        bj_name_text(sub->key[0], d->list.type_instance);
    if (label[2])
        bj_name_pair(sub->key[1], sub->key[2], d->list.type_instance);
    else if (label[1] && (step || !s->job))
        bj_name_text(sub->key[1], d->list.type_instance);
}

static int on_sample(void *ctx, const struct bj_sample *s)
{
    struct bj_dispatch *d = ctx;
    const struct bj_job *jobs = d->snap->jobs.v;
    const struct job_name *name = s->job ? &d->jobs[s->job - jobs] : NULL;

    if (name && name->hidden)
        return 0;
    d->list.meta = name ? name->meta : NULL;
    snprintf(d->list.plugin_instance, sizeof(d->list.plugin_instance), "%s",
             name ? name->name : "");
    list_sub(d, s);
    if (s->info)
        put_attrs(d, s);
    else
        dispatch_put(d, s->value);
    return 0;
}

int bj_dispatch_snap(struct bj_dispatch *d, const struct bj_snap *snap,
                     cdtime_t now, struct bj_err *err)
{
    const struct bj_sink sink = {d, on_family, on_sample};

    d->snap = snap;
    int r = names_refresh(d);
    if (r == 0) {
        d->list = (value_list_t)VALUE_LIST_INIT;
        d->list.values = &d->value;
        d->list.values_len = 1;
        d->list.time = now;
        snprintf(d->list.plugin, sizeof(d->list.plugin), "batchjob");
        r = bj_view_native(snap, &sink);
    }
    d->snap = NULL; /* releases the caller's reference */
    d->list.meta = NULL;
    if (r < 0)
        return bj_err_set(err, r, "some values were not dispatched");
    return 0;
}
