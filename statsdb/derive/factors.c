#include "statsdb/derive/factors.h"

#include "base/json.h"
#include "base/stamp.h"
#include "store/db.h"

#include <stdlib.h>

enum {
    SOURCE,
    SOURCE_ADD,
    PUT,
    PUE_PUT,
    PUE_SWEEP,
    PUE_LIST,
    AGAIN,
    STATEMENTS
};

enum { DAY = 86400, PUE_MAX = 64 };

static const char *const texts[STATEMENTS] = {
    [SOURCE] = "SELECT id FROM factor_source WHERE ifnull(cluster, 0) ="
               " ifnull(:cluster, 0) AND provider = :provider AND kind = :kind"
               " AND zone = :zone",
    [SOURCE_ADD] =
        "INSERT INTO factor_source(cluster, provider, kind, zone, country,"
        " rank) VALUES(:cluster, :provider, :kind, :zone, :country, :rank)"
        " ON CONFLICT(ifnull(cluster, 0), provider, kind, zone) DO UPDATE SET"
        " rank = :rank, country = :country WHERE factor_source.rank != :rank OR"
        " factor_source.country != :country",
    [PUT] = "INSERT INTO factor(source, basis, start, \"end\", mg_per_kwh,"
            " estimated, fetched) VALUES(:source, :basis, :start, :end, :mg,"
            " :estimated, :fetched) ON CONFLICT(source, basis, start) DO"
            " UPDATE SET \"end\" = :end, mg_per_kwh = :mg, estimated ="
            " :estimated, fetched = :fetched WHERE (factor.mg_per_kwh != :mg"
            " OR factor.\"end\" != :end OR factor.estimated != :estimated) AND"
            " factor.estimated >= :estimated",
    [PUE_PUT] = "INSERT INTO pue(cluster, start, ppm) VALUES(:cluster, :start,"
                " :ppm) ON CONFLICT(cluster, start) DO UPDATE SET ppm = :ppm"
                " WHERE pue.ppm != :ppm",
    [PUE_SWEEP] = "DELETE FROM pue WHERE cluster = :cluster AND start = :start",
    [PUE_LIST] = "SELECT start FROM pue WHERE cluster = :cluster",
    [AGAIN] = "INSERT INTO derive_todo(job) SELECT job FROM job_use"
              " WHERE energy_uj IS NOT NULL AND counted_end > :from"
              " AND counted_start < :to AND job NOT IN (SELECT job FROM"
              " derive_todo)",
};

struct bj_factors {
    struct bj_db *db;
    struct bj_st *st[STATEMENTS];
    int64_t from, to; /* changed period; from >= to: none */
};

int bj_factors_new(struct bj_store *s, struct bj_factors **ret,
                   struct bj_err *err)
{
    struct bj_factors *h = calloc(1, sizeof(*h));
    if (!h)
        return bj_err_set(err, -ENOMEM, "factors");
    h->db = bj_store_db(s);
    bj_factors_drop(h);
    int r = 0;
    for (int i = 0; r == 0 && i < STATEMENTS; i++)
        r = bj_db_prepare(h->db, texts[i], &h->st[i], err);
    if (r < 0) {
        bj_factors_free(h);
        return r;
    }
    *ret = h;
    return 0;
}

void bj_factors_free(struct bj_factors *h)
{
    if (!h)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        bj_st_finalize(h->st[i]);
    free(h);
}

void bj_factors_drop(struct bj_factors *h)
{
    h->from = INT64_MAX;
    h->to = INT64_MIN;
}

static void changed(struct bj_factors *h, int64_t from, int64_t to)
{
    h->from = from < h->from ? from : h->from;
    h->to = to > h->to ? to : h->to;
}

/* --- factors ---------------------------------------------------------------
 */

static void set_str(struct bj_st *st, const char *name, const char *s)
{
    bj_st_set_text(st, name, bj_slice_str(s));
}

static int source(struct bj_factors *h, int64_t cluster, int rank,
                  const struct bj_factor *f, int64_t *ret, struct bj_err *err)
{
    int r = 0;
    for (int i = SOURCE_ADD; r == 0 && i >= SOURCE; i--) {
        struct bj_st *st = h->st[i];
        bj_st_set_i64(st, "cluster", cluster);
        set_str(st, "provider", f->provider);
        set_str(st, "kind", bj_factor_kind_name(f->kind));
        set_str(st, "zone", f->zone);
        if (i == SOURCE_ADD) {
            set_str(st, "country", f->country);
            bj_st_set_i64(st, "rank", rank);
            r = bj_st_run(st, err);
            continue;
        }
        r = bj_st_row(st, err);
        *ret = r > 0 ? bj_st_get_i64(st, 0) : 0;
        bj_st_reset(st);
    }
    return r > 0 ? 0
           : r < 0
               ? r
               : bj_err_set(err, -EPROTO,
                            "a factor source was neither found nor inserted");
}

/* Time scale of the factor; factors stated by the site count as yearly. */
static enum bj_factor_from basis(const struct bj_factor *f, int64_t len)
{
    if (f->from > BJ_FACTOR_STATED)
        return f->from;
    return len <= BJ_FACTOR_LIVE_SEC ? BJ_FACTOR_LIVE
           : len <= 40 * DAY         ? BJ_FACTOR_STATED
                                     : BJ_FACTOR_YEAR;
}

int bj_factors_put(struct bj_factors *h, int64_t cluster, int rank,
                   const struct bj_factor *f, struct bj_err *err)
{
    struct bj_st *st = h->st[PUT];
    int64_t id = 0, start = bj_sql_u64(f->start_sec),
            end = bj_sql_u64(f->end_sec);
    if (end <= 0)
        end = INT64_MAX;
    if (end <= start || f->mg_per_kwh == 0)
        return 0;
    int r = source(h, cluster, rank, f, &id, err);
    if (r < 0)
        return r;
    enum bj_factor_from from = basis(f, end - start);
    bj_st_set_i64(st, "source", id);
    bj_st_set_i64(st, "basis", (int)from);
    bj_st_set_i64(st, "start", start);
    bj_st_set_i64(st, "end", end);
    bj_st_set_i64(st, "mg", f->mg_per_kwh);
    bj_st_set_i64(st, "estimated", f->estimated);
    bj_st_set_i64(st, "fetched", bj_sql_u64(f->fetched_sec));
    r = bj_st_run(st, err);
    /* A live value remains valid for a while after its end; the next value ends
     * it. */
    if (r == 0 && bj_db_changes(h->db) > 0)
        changed(h, start, end < INT64_MAX ? end + BJ_FACTOR_LIVE_SEC : end);
    return r;
}

/* --- PUE -------------------------------------------------------------------
 */

static int one_pue(const char *text, int64_t *ret_start, int64_t *ret_ppm,
                   struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(text), first;
    *ret_start = 0;
    if (strchr(text, '=') && bj_slice_field(&rest, '=', &first) &&
        bj_stamp_sec(bj_slice_trim(first), BJ_STAMP_BARE_UTC, ret_start) < 0)
        return bj_err_set(err, -EINVAL,
                          "pue: '%.40s' does not begin with a day", text);
    if (bj_decimal_i64(rest, 6, ret_ppm) < 0 || *ret_ppm < 500000 ||
        *ret_ppm > 5000000)
        return bj_err_set(err, -EINVAL,
                          "pue: '%.40s' is not a number between 0.5 and 5, "
                          "optionally after DAY=",
                          text);
    return 0;
}

int bj_pue_check(const struct bj_strv *pue, struct bj_err *err)
{
    int64_t start, ppm;
    int r = pue->n > PUE_MAX
                ? bj_err_set(err, -EINVAL, "pue: more than %d", PUE_MAX)
                : 0;
    for (size_t i = 0; r == 0 && i < pue->n; i++)
        r = one_pue(pue->v[i], &start, &ppm, err);
    return r;
}

static int remove_pues(struct bj_factors *h, int64_t cluster,
                       const int64_t *keep, size_t n, struct bj_err *err)
{
    int64_t gone[PUE_MAX];
    size_t going = 0;
    struct bj_st *st = h->st[PUE_LIST];
    int r;
    bj_st_set_i64(st, "cluster", cluster);
    while ((r = bj_st_row(st, err)) > 0) {
        int64_t start = bj_st_i64(st, "start");
        size_t k = 0;
        while (k < n && keep[k] != start)
            k++;
        if (k == n && going < PUE_MAX)
            gone[going++] = start;
    }
    st = h->st[PUE_SWEEP];
    for (size_t i = 0; r == 0 && i < going; i++) {
        bj_st_set_i64(st, "cluster", cluster);
        bj_st_set_i64(st, "start", gone[i]);
        changed(h, gone[i], INT64_MAX);
        r = bj_st_run(st, err);
    }
    return r;
}

int bj_factors_pue(struct bj_factors *h, int64_t cluster,
                   const struct bj_strv *pue, struct bj_err *err)
{
    int64_t start[PUE_MAX], ppm;
    int r = bj_pue_check(pue, err);
    for (size_t i = 0; r == 0 && i < pue->n; i++) {
        struct bj_st *st = h->st[PUE_PUT];
        r = one_pue(pue->v[i], &start[i], &ppm, err);
        if (r < 0)
            break;
        bj_st_set_i64(st, "cluster", cluster);
        bj_st_set_i64(st, "start", start[i]);
        bj_st_set_i64(st, "ppm", ppm);
        r = bj_st_run(st, err);
        if (r == 0 && bj_db_changes(h->db) > 0)
            changed(h, start[i], INT64_MAX);
    }
    return r < 0 ? r : remove_pues(h, cluster, start, pue->n, err);
}

/* --- affected jobs ------------------------------------------------------
 */

int64_t bj_factors_flush(struct bj_factors *h, struct bj_err *err)
{
    struct bj_st *st = h->st[AGAIN];
    if (h->from >= h->to)
        return 0;
    bj_st_set_i64(st, "from", h->from);
    bj_st_set_i64(st, "to", h->to);
    int r = bj_st_run(st, err);
    int64_t n = bj_db_changes(h->db);
    bj_factors_drop(h);
    return r < 0 ? r : n;
}
