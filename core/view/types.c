#include "core/view/types.h"

#include "base/err.h"

const char *const bj_job_attr_keys[] = {"user", "account", "cluster", NULL};

bool bj_attr_has_type(const char *key)
{
    /* Not the job's name: users choose it freely, and it would become part of
     * file names and queries. */
    return strcmp(key, "name") != 0;
}

void bj_attr_type(const struct bj_metric_table *t, const char *key,
                  struct bj_buf *out)
{
    bj_buf_str(out, t->name);
    bj_buf_str(out, "_");
    bj_buf_str(out, key);
}

/* State of a walk. */
struct walk {
    int (*fn)(void *ctx, const char *name, enum bj_kind kind);
    void *ctx;
    struct bj_buf name;
};

/* Call fn with the name in the buffer. */
static int call(struct walk *w, enum bj_kind kind)
{
    bj_buf_put(&w->name, "", 1);
    int r = w->name.failed ? -ENOMEM : w->fn(w->ctx, w->name.p, kind);
    w->name.len = 0;
    return r;
}

static int walk_keys(struct walk *w, const struct bj_metric_table *t,
                     const char *const *keys)
{
    int r = 0;
    for (; r >= 0 && *keys; keys++) {
        if (!bj_attr_has_type(*keys))
            continue;
        bj_attr_type(t, *keys, &w->name);
        r = call(w, BJ_GAUGE);
    }
    return r;
}

static int walk_rows(struct walk *w, const struct bj_metric_table *t)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < t->nrows; i++) {
        bj_metric_collectd_type(t, &t->rows[i], &w->name);
        r = call(w, t->rows[i].kind);
    }
    return r;
}

/* An info metric has no type, since collectd has no labels; each of its labels
 * is a type. */
static int walk_table(struct walk *w, const struct bj_metric_table *t)
{
    if (!t->info)
        return walk_rows(w, t);
    int r = walk_keys(w, t, t->info);
    if (r >= 0 && t->owner == BJ_OF_JOB)
        r = walk_keys(w, t, bj_job_attr_keys);
    return r;
}

int bj_types_walk(int (*fn)(void *ctx, const char *name, enum bj_kind kind),
                  void *ctx)
{
    struct walk w = {.fn = fn, .ctx = ctx};
    int r = 0;
    for (size_t i = 0; r >= 0 && i < bj_metric_ntables; i++)
        r = walk_table(&w, &bj_metric_tables[i]);
    bj_buf_free(&w.name);
    return r < 0 ? r : 0;
}
