#include "statsdb/derive/parts.h"

#include "base/array.h"
#include "base/local.h"
#include "statsdb/derive/evidence.h"
#include "store/db.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 8 }; /* most names of nodes, or of the GPUs of a node */

void bj_parts_clear(struct bj_parts *p)
{
    bj_arena_reset(&p->arena);
    p->n = 0;
    p->too_many = false;
}

void bj_parts_free(struct bj_parts *p)
{
    bj_arena_free(&p->arena);
    free(p->v);
    *p = (struct bj_parts){.n = 0};
}

struct bj_part *bj_parts_at(struct bj_parts *p, struct bj_slice node,
                            struct bj_slice gpu, struct bj_slice index)
{
    for (size_t i = p->n; i > 0; i--)
        if (bj_slice_eq(p->v[i - 1].node, node) &&
            bj_slice_eq(p->v[i - 1].gpu, gpu))
            return &p->v[i - 1];
    if (p->n == BJ_PARTS_MAX || !BJ_GROW(p->v, p->n + 1, p->cap)) {
        p->too_many = true;
        return NULL;
    }
    struct bj_part *part = &p->v[p->n++];
    *part = (struct bj_part){.node = bj_arena_copy(&p->arena, node),
                             .gpu = bj_arena_copy(&p->arena, gpu),
                             .index = bj_arena_copy(&p->arena, index),
                             .cpus = BJ_SQL_NULL,
                             .cpus_milli = BJ_SQL_NULL,
                             .samples = BJ_SQL_NULL,
                             .memory = BJ_SQL_NULL,
                             .memory_limit = BJ_SQL_NULL,
                             .busy_ppm = BJ_SQL_NULL,
                             .idle_since = BJ_SQL_NULL};
    return part;
}

/* The host of an address with a port. */
static struct bj_slice host_of(struct bj_slice s)
{
    size_t n = s.n;
    while (n > 0 && s.p[n - 1] >= '0' && s.p[n - 1] <= '9')
        n--;
    if (n > 1 && n < s.n && s.p[n - 1] == ':')
        s.n = n - 1;
    return s;
}

struct bj_part *bj_parts_of_series(struct bj_parts *p,
                                   const struct bj_json *metric)
{
    struct bj_slice node = bj_json_text(bj_json_get(metric, "slurm_node"));
    if (node.n == 0)
        node = host_of(bj_json_text(bj_json_get(metric, "instance")));
    return bj_parts_at(p, node, bj_json_text(bj_json_get(metric, "gpu")),
                       bj_json_text(bj_json_get(metric, "index")));
}

static int parts_compare(struct bj_slice a, struct bj_slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

static int parts_by_name(const void *x, const void *y)
{
    const struct bj_part *a = x, *b = y;
    int c = parts_compare(a->node, b->node);
    if (c == 0) /* 2 before 10 */
        c = (a->index.n > b->index.n) - (a->index.n < b->index.n);
    if (c == 0)
        c = parts_compare(a->index, b->index);
    return c != 0 ? c : parts_compare(a->gpu, b->gpu);
}

void bj_parts_sort(struct bj_parts *p)
{
    if (p->n > 0)
        qsort(p->v, p->n, sizeof(*p->v), parts_by_name);
}

/* --- names -----------------------------------------------------------------
 */

/* Count those chosen from part at on that are of its kind and, if of_node, of
 * its node. */
static size_t chosen_of(const struct bj_parts *p, const bool *chosen, size_t at,
                        bool of_node)
{
    size_t n = 0;
    for (size_t i = at; i < p->n; i++)
        n +=
            chosen[i] && (!of_node || bj_slice_eq(p->v[i].node, p->v[at].node));
    return n;
}

/* Append what is between two of n names: name i is next. */
static bool put_between(struct bj_buf *out, size_t i, size_t n)
{
    if (i == NAMES && n > NAMES + 1) {
        bj_local_put(out, " {and %zu more}", n - i);
        return false;
    }
    if (i > 0 && i + 1 == n)
        bj_local_put(out, " {and} ");
    else
        bj_buf_str(out, i > 0 ? ", " : "");
    return true;
}

/* The GPUs of a node: "g2: GPU 2 and 3". */
static void parts_put_gpus(const struct bj_parts *p, const bool *chosen,
                           size_t at, struct bj_buf *out)
{
    const size_t n = chosen_of(p, chosen, at, true);
    size_t done = 0;
    bj_buf_clean(out, p->v[at].node);
    bj_buf_str(out, ": ");
    if (p->v[at].index.n > 0)
        bj_local_str(out, "{GPU} ");
    for (size_t i = at; i < p->n; i++) {
        const struct bj_part *g = &p->v[i];
        if (!chosen[i] || !bj_slice_eq(g->node, p->v[at].node))
            continue;
        if (!put_between(out, done++, n))
            return;
        bj_buf_clean(out, g->index.n > 0 ? g->index : g->gpu);
    }
}

static void put_nodes(const struct bj_parts *p, const bool *chosen,
                      struct bj_buf *out)
{
    const size_t n = chosen_of(p, chosen, 0, false);
    size_t done = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (!chosen[i])
            continue;
        if (!put_between(out, done++, n))
            return;
        bj_buf_clean(out, p->v[i].node);
    }
}

void bj_parts_names(const struct bj_parts *p, const bool *chosen,
                    struct bj_buf *out)
{
    size_t at = 0, nodes = 0;
    while (at < p->n && !chosen[at])
        at++;
    if (at < p->n && p->v[at].gpu.n == 0) {
        put_nodes(p, chosen, out);
        return;
    }
    struct bj_slice last = {0};
    for (; at < p->n; at++) {
        if (!chosen[at] || (nodes > 0 && bj_slice_eq(p->v[at].node, last)))
            continue;
        last = p->v[at].node;
        if (nodes == NAMES) {
            bj_local_put(out, "; {...}");
            return;
        }
        bj_buf_str(out, nodes++ > 0 ? "; " : "");
        parts_put_gpus(p, chosen, at, out);
    }
}

/* --- facts -----------------------------------------------------------------
 */

struct facts {
    struct bj_parts *p;
    bool *chosen, *differs; /* of p->n */
    double *value;
    struct bj_fact_names *names;
};

/* Name the chosen parts as those of a fact. */
static void name(struct facts *f, enum bj_fact fact)
{
    struct bj_buf b = {0};
    bj_parts_names(f->p, f->chosen, &b);
    if (b.len > 0 && !b.failed)
        f->names->of[fact] =
            bj_arena_copy(&f->names->arena, (struct bj_slice){b.p, b.len}).p;
    bj_buf_free(&b);
}

/* Busy CPUs relative to the CPUs of the node, or the use of a GPU. */
static double use_of(const struct bj_part *p, bool gpu)
{
    if (gpu)
        return p->busy_ppm == BJ_SQL_NULL ? (double)NAN : (double)p->busy_ppm;
    return p->cpus <= 0 || p->cpus_milli == BJ_SQL_NULL
               ? (double)NAN
               : (double)p->cpus_milli / (double)p->cpus;
}

/* The facts of the nodes, or of the GPUs. */
static void compare_all(struct facts *f, bool gpu, int64_t expected,
                        enum bj_fact count, enum bj_fact deviation,
                        double fact[BJ_FACT_COUNT])
{
    const struct bj_parts *p = f->p;
    size_t n = 0, differ = 0;
    for (size_t i = 0; i < p->n; i++)
        if ((p->v[i].gpu.n > 0) == gpu)
            f->value[n++] = use_of(&p->v[i], gpu);
    if (p->too_many || expected < 2 || (int64_t)n != expected)
        return;
    const double most = bj_evidence_uneven(f->value, n, f->differs);
    if (isnan(most))
        return;
    n = 0;
    for (size_t i = 0; i < p->n; i++) {
        f->chosen[i] = (p->v[i].gpu.n > 0) == gpu && f->differs[n++];
        differ += f->chosen[i];
    }
    fact[count] = (double)differ;
    fact[deviation] = most;
    name(f, count);
}

static void name_unused(struct facts *f, bool gpu, enum bj_fact fact)
{
    for (size_t i = 0; i < f->p->n; i++)
        f->chosen[i] = f->p->v[i].unused && (f->p->v[i].gpu.n > 0) == gpu;
    name(f, fact);
}

static void name_failed(struct facts *f)
{
    for (size_t i = 0; i < f->p->n; i++)
        f->chosen[i] = f->p->v[i].failed;
    name(f, BJ_FACT_GPU_FAULT);
}

void bj_parts_facts(struct bj_parts *p, int64_t nodes, int64_t gpus,
                    double fact[BJ_FACT_COUNT], struct bj_fact_names *names)
{
    fact[BJ_FACT_NODES_UNEVEN] = fact[BJ_FACT_NODE_DEVIATION] = (double)NAN;
    fact[BJ_FACT_GPUS_UNEVEN] = fact[BJ_FACT_GPU_DEVIATION] = (double)NAN;
    bj_arena_reset(&names->arena);
    memset(names->of, 0, sizeof(names->of));
    if (p->n == 0)
        return;
    bj_parts_sort(p);
    struct facts f = {p, calloc(p->n, sizeof(bool)), calloc(p->n, sizeof(bool)),
                      calloc(p->n, sizeof(double)), names};
    if (f.chosen && f.differs && f.value) {
        compare_all(&f, false, nodes, BJ_FACT_NODES_UNEVEN,
                    BJ_FACT_NODE_DEVIATION, fact);
        compare_all(&f, true, gpus, BJ_FACT_GPUS_UNEVEN, BJ_FACT_GPU_DEVIATION,
                    fact);
        name_unused(&f, false, BJ_FACT_NODES_UNUSED);
        name_unused(&f, true, BJ_FACT_GPUS_UNUSED);
        name_failed(&f);
    }
    free(f.chosen);
    free(f.differs);
    free(f.value);
}
