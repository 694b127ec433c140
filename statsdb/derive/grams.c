#include "statsdb/derive/grams.h"

#include "base/array.h"
#include "carbon/factor.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

enum { PUE_MAX = 64, BASES = BJ_FACTOR_CONSTANT + 1 };

__extension__ typedef __int128 wide;

/* A factor and its period; a gap if there is no factor. */
struct piece {
    int64_t from, to;
    uint32_t mg;
    bool estimated;
};

struct pieces {
    struct piece *v;
    size_t n, cap;
};

struct source {
    int64_t id, cluster; /* cluster 0: all */
    bool best, marginal;
};

struct pue {
    int64_t cluster, start, ppm;
};

struct bj_grams {
    struct bj_db *db;
    struct bj_st *factors, *sources, *pues;
    bool known;
    struct source source[BJ_GRAMS_MAX]; /* by rank */
    size_t source_n;
    struct pue pue[PUE_MAX * 4]; /* by cluster and start */
    size_t pue_n;
    struct pieces gaps, rest; /* periods that no layer has covered yet */
    struct pieces layer;
};

static const char *const factors_sql =
    "SELECT start, \"end\", mg_per_kwh, estimated FROM factor WHERE source ="
    " :source AND basis = :basis AND start < :to AND start >= coalesce((SELECT"
    " max(start) FROM factor WHERE source = :source AND basis = :basis AND"
    " start <= :from), :from)"
    " ORDER BY start";

int bj_grams_new(struct bj_store *s, struct bj_grams **ret, struct bj_err *err)
{
    struct bj_grams *g = calloc(1, sizeof(*g));
    if (!g)
        return bj_err_set(err, -ENOMEM, "grams");
    g->db = bj_store_db(s);
    int r = bj_db_prepare(g->db, factors_sql, &g->factors, err);
    if (r == 0)
        r = bj_db_prepare(g->db,
                          "SELECT id, coalesce(cluster, 0) AS cluster,"
                          " provider = 'best' AS best, kind = 'marginal' AS"
                          " marginal FROM factor_source"
                          " ORDER BY rank, id",
                          &g->sources, err);
    if (r == 0)
        r = bj_db_prepare(g->db,
                          "SELECT cluster, start, ppm FROM pue ORDER BY 1, 2",
                          &g->pues, err);
    if (r < 0) {
        bj_grams_free(g);
        return r;
    }
    *ret = g;
    return 0;
}

void bj_grams_free(struct bj_grams *g)
{
    if (!g)
        return;
    bj_st_finalize(g->factors);
    bj_st_finalize(g->sources);
    bj_st_finalize(g->pues);
    free(g->gaps.v);
    free(g->rest.v);
    free(g->layer.v);
    free(g);
}

void bj_grams_forget(struct bj_grams *g)
{
    g->known = false;
}

static int read_sources(struct bj_grams *g, struct bj_err *err)
{
    int r;
    g->source_n = g->pue_n = 0;
    while ((r = bj_st_row(g->sources, err)) > 0)
        if (g->source_n < BJ_GRAMS_MAX)
            g->source[g->source_n++] = (struct source){
                .id = bj_st_i64(g->sources, "id"),
                .cluster = bj_st_i64(g->sources, "cluster"),
                .best = bj_st_i64(g->sources, "best") != 0,
                .marginal = bj_st_i64(g->sources, "marginal") != 0};
    while (r == 0 && (r = bj_st_row(g->pues, err)) > 0) {
        if (g->pue_n < sizeof(g->pue) / sizeof(g->pue[0]))
            g->pue[g->pue_n++] = (struct pue){bj_st_i64(g->pues, "cluster"),
                                              bj_st_i64(g->pues, "start"),
                                              bj_st_i64(g->pues, "ppm")};
        r = 0;
    }
    g->known = r == 0;
    return r;
}

static int grams_add(struct pieces *p, struct piece v)
{
    if (v.from >= v.to)
        return 0;
    if (!BJ_GROW(p->v, p->n + 1, p->cap))
        return -ENOMEM;
    p->v[p->n++] = v;
    return 0;
}

/* --- one layer: a source's factors of one time scale --------------------
 */

static int64_t valid_to(const struct piece *p, int basis)
{
    int64_t to = p->from + BJ_FACTOR_LIVE_SEC;
    return basis == BJ_FACTOR_LIVE && to > p->to ? to : p->to;
}

/* Read the layer's pieces between two times; each ends where the next begins.
 */
static int read_layer(struct bj_grams *g, int64_t source, int basis,
                      int64_t from, int64_t to, struct bj_err *err)
{
    struct bj_st *st = g->factors;
    int r, bad = 0;
    g->layer.n = 0;
    bj_st_set_i64(st, "source", source);
    bj_st_set_i64(st, "basis", basis);
    bj_st_set_i64(st, "to", to);
    bj_st_set_i64(st, "from", from);
    while ((r = bj_st_row(st, err)) > 0) {
        struct piece p = {bj_st_i64(st, "start"), bj_st_i64(st, "end"),
                          (uint32_t)bj_st_i64(st, "mg_per_kwh"),
                          bj_st_i64(st, "estimated") != 0};
        size_t n = g->layer.n;
        p.to = valid_to(&p, basis);
        if (n > 0 && g->layer.v[n - 1].to > p.from)
            g->layer.v[n - 1].to = p.from;
        if (bad == 0)
            bad = grams_add(&g->layer, p);
    }
    return r < 0 ? r : bad < 0 ? bj_err_set(err, bad, "grams") : 0;
}

/* --- adding up -------------------------------------------------------------
 */

struct sum {
    wide nanograms, covered; /* covered: in nanojoules */
    int64_t seconds;
    bool estimated;
};

/* Part of a bin, under one factor and one PUE:
 * uJ * s/s * mg/kWh * ppm, in ng: 3.6e12 uJ are a kWh. */
static void add_part(struct sum *s, int64_t uj, int64_t part, int64_t len,
                     uint32_t mg, int64_t pue_ppm)
{
    wide e = (wide)uj * (wide)part;
    s->covered += e * 1000 / (wide)len;
    s->nanograms += e * (wide)mg * (wide)pue_ppm /
                    ((wide)len * (wide)INT64_C(3600000000000));
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Add all bins that overlap a period. */
static void add_bins(struct sum *s, const struct bj_grams_job *job,
                     int64_t from, int64_t to, uint32_t mg, int64_t ppm)
{
    const struct bj_energy_bin whole = {job->start_sec, job->microjoules};
    const struct bj_energy_bin *bin = job->bins ? job->bin : &whole;
    size_t n = job->bins ? job->bins : 1, lo = 0, hi = n;
    while (hi - lo > 1) { /* find the last bin that begins at or before from */
        size_t mid = lo + (hi - lo) / 2;
        *(bin[mid].start_sec <= from ? &lo : &hi) = mid;
    }
    for (; lo < n && bin[lo].start_sec < to; lo++) {
        int64_t end = lo + 1 < n ? bin[lo + 1].start_sec : job->end_sec;
        int64_t a = larger(from, bin[lo].start_sec), b = smaller(to, end);
        if (a < b)
            add_part(s, bin[lo].microjoules, b - a, end - bin[lo].start_sec, mg,
                     ppm);
    }
}

/* Add a period with one factor, split where the PUE changes. */
static void add_piece(const struct bj_grams *g, struct sum *s,
                      const struct bj_grams_job *job, struct piece p)
{
    int64_t ppm = 1000000, from = p.from;
    for (size_t i = 0; i < g->pue_n; i++) {
        if (g->pue[i].cluster != job->cluster || g->pue[i].start >= p.to)
            continue;
        if (g->pue[i].start > from) {
            add_bins(s, job, from, g->pue[i].start, p.mg, ppm);
            from = g->pue[i].start;
        }
        ppm = g->pue[i].ppm;
    }
    add_bins(s, job, from, p.to, p.mg, ppm);
    s->seconds += p.to - p.from;
    s->estimated = s->estimated || p.estimated;
}

/* Cover the gaps with the layer, and store the remaining gaps in rest. */
static int cover(struct bj_grams *g, const struct bj_grams_job *job,
                 struct sum *s)
{
    int r = 0;
    size_t i = 0;
    g->rest.n = 0;
    for (size_t k = 0; r == 0 && k < g->gaps.n; k++) {
        int64_t at = g->gaps.v[k].from, end = g->gaps.v[k].to;
        while (i < g->layer.n && g->layer.v[i].to <= at)
            i++;
        for (size_t n = i; r == 0 && n < g->layer.n; n++) {
            struct piece p = g->layer.v[n];
            if (p.from >= end)
                break;
            p.from = larger(p.from, at);
            p.to = smaller(p.to, end);
            if (p.from >= p.to)
                continue;
            r = grams_add(&g->rest, (struct piece){.from = at, .to = p.from});
            add_piece(g, s, job, p);
            at = p.to;
        }
        if (r == 0)
            r = grams_add(&g->rest, (struct piece){.from = at, .to = end});
    }
    struct pieces rest = g->rest;
    g->rest = g->gaps;
    g->gaps = rest;
    return r;
}

/* --- sources ---------------------------------------------------------------
 */

static bool counts_for(const struct source *s, int64_t cluster)
{
    return !s->best && (s->cluster == 0 || s->cluster == cluster);
}

/* Sum up the layers of a source, or for "best" those of all sources of its
 * kind, in the order of preference. */
static int sum_up(struct bj_grams *g, const struct bj_grams_job *job,
                  const struct source *of, struct sum *s, struct bj_err *err)
{
    int r = 0;
    g->gaps.n = 0;
    r = grams_add(&g->gaps,
                  (struct piece){.from = job->start_sec, .to = job->end_sec});
    for (int basis = 0; r == 0 && basis < BASES; basis++)
        for (size_t i = 0; r == 0 && i < g->source_n && g->gaps.n > 0; i++) {
            const struct source *one = &g->source[i];
            if (!counts_for(one, job->cluster) ||
                (of->best ? one->marginal != of->marginal : one != of))
                continue;
            r = read_layer(g, one->id, basis, g->gaps.v[0].from,
                           g->gaps.v[g->gaps.n - 1].to, err);
            if (r < 0)
                return r;
            r = cover(g, job, s);
        }
    return r < 0 ? bj_err_set(err, r, "grams") : 0;
}

int bj_grams_of(struct bj_grams *g, const struct bj_grams_job *job,
                struct bj_grams_row ret[BJ_GRAMS_MAX], struct bj_err *err)
{
    int r = g->known ? 0 : read_sources(g, err), n = 0;
    struct bj_grams_job copy = *job;
    if (copy.end_sec <= copy.start_sec)
        copy.end_sec = copy.start_sec + 1;
    for (size_t i = 0; r == 0 && i < g->source_n; i++) {
        const struct source *s = &g->source[i];
        struct sum sum = {0};
        if (!s->best && !counts_for(s, job->cluster))
            continue;
        r = sum_up(g, &copy, s, &sum, err);
        if (r < 0 || sum.seconds == 0)
            continue;
        bool all = sum.seconds == copy.end_sec - copy.start_sec;
        ret[n++] = (struct bj_grams_row){
            .source = s->id,
            .micrograms = (int64_t)((sum.nanograms + 500) / 1000),
            .covered_uj =
                all ? job->microjoules : (int64_t)(sum.covered / 1000),
            .estimated = sum.estimated};
    }
    return r < 0 ? r : n;
}
