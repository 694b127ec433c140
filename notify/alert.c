/* Alerts, and their table in the store. */
#include "base/array.h"
#include "base/html.h"
#include "base/json.h"
#include "base/text.h"
#include "notify/notify_impl.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 1000,    /* bytes of a sentence */
    UNKNOWN_SEC = 86400 /* an alert of which nothing is known ends */
};

const char *const bj_alert_kinds[BJ_ALERT_KINDS] = {"finding", "node", "gpu",
                                                    "import"};

const struct bj_alert_field_info bj_alert_fields[BJ_ALERT_FIELDS] = {
    [BJ_AF_ALERT] = {"alertname", false},
    [BJ_AF_CLUSTER] = {"cluster", false},
    [BJ_AF_SEVERITY] = {"severity", false},
    [BJ_AF_RULE] = {"rule", false},
    [BJ_AF_JOBID] = {"jobid", false},
    [BJ_AF_NODE] = {"node", false},
    [BJ_AF_GPU] = {"gpu", false},
    [BJ_AF_PARTITION] = {"partition", false},
    [BJ_AF_ACCOUNT] = {"account", false},
    [BJ_AF_USER] = {"user", true},
    [BJ_AF_TEXT] = {"text", false},
    [BJ_AF_ADVICE] = {"advice", false},
    [BJ_AF_RUNBOOK] = {"url", false},
    [BJ_AF_TASKS] = {"tasks", false},
    [BJ_AF_JOBNAME] = {"name", true},
    [BJ_AF_PAGE] = {"page", false},
};

/* --- in memory -------------------------------------------------------------
 */

void bj_alerts_free(struct bj_alerts *a)
{
    bj_arena_free(&a->arena);
    free(a->v);
    *a = (struct bj_alerts){.n = 0};
}

struct bj_alert *bj_alerts_add(struct bj_alerts *a, enum bj_alert_kind kind,
                               const char *name, int64_t since_sec)
{
    if (!BJ_GROW(a->v, a->n + 1, a->room)) {
        a->arena.failed = 1;
        return NULL;
    }
    struct bj_alert *v = &a->v[a->n++];
    *v = (struct bj_alert){.kind = kind, .since_sec = since_sec};
    bj_alert_set(a, v, BJ_AF_ALERT, bj_slice_str(name));
    return v;
}

void bj_alert_set(struct bj_alerts *a, struct bj_alert *v,
                  enum bj_alert_field field, struct bj_slice text)
{
    char clean[TEXT_MAX + 1];
    size_t n = bj_text_clean(
        text, clean, field < BJ_AF_LABELS ? BJ_LABEL_MAX + 1 : sizeof(clean));
    v->field[field] =
        n > 0 ? bj_arena_copy(&a->arena, (struct bj_slice){clean, n})
              : (struct bj_slice){0};
}

/* --- texts -----------------------------------------------------------------
 */

void bj_alert_summary(const struct bj_alert *v, struct bj_buf *b)
{
    const struct bj_slice *f = v->field;
    if (v->kind == BJ_ALERT_FINDING)
        bj_buf_printf(b, "Job %.*s", (int)f[BJ_AF_JOBID].n, f[BJ_AF_JOBID].p);
    else if (v->kind == BJ_ALERT_IMPORT)
        bj_buf_printf(b, "Cluster %.*s", (int)f[BJ_AF_CLUSTER].n,
                      f[BJ_AF_CLUSTER].p);
    else
        bj_buf_printf(b, "Node %.*s", (int)f[BJ_AF_NODE].n, f[BJ_AF_NODE].p);
    if (f[BJ_AF_GPU].n > 0)
        bj_buf_printf(b, ", GPU %.*s", (int)f[BJ_AF_GPU].n, f[BJ_AF_GPU].p);
    if (f[BJ_AF_TASKS].n > 0)
        bj_buf_printf(b, ", %.*s tasks", (int)f[BJ_AF_TASKS].n,
                      f[BJ_AF_TASKS].p);
    bj_buf_str(b, ": ");
    bj_buf_slice(b, f[BJ_AF_TEXT]);
}

bool bj_alert_page(const struct bj_alert *v, const char *pages,
                   struct bj_buf *b)
{
    const bool job = v->field[BJ_AF_PAGE].n > 0;
    const struct bj_slice last =
        job ? v->field[BJ_AF_PAGE] : v->field[BJ_AF_NODE];
    if (!pages || !pages[0] || last.n == 0)
        return false;
    const size_t n = strlen(pages);
    bj_buf_put(b, pages, pages[n - 1] == '/' ? n - 1 : n);
    bj_buf_str(b, job ? "/jobs/" : "/nodes/");
    bj_url_text(b, last);
    return true;
}

/* --- one row ---------------------------------------------------------------
 */

/* What makes an alert the same one. */
static void alert_key(const struct bj_alert *v, struct bj_buf *out)
{
    static const enum bj_alert_field parts[] = {
        BJ_AF_ALERT, BJ_AF_CLUSTER, BJ_AF_JOBID,   BJ_AF_RULE,
        BJ_AF_NODE,  BJ_AF_GPU,     BJ_AF_SEVERITY};
    bj_buf_reset(out);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        bj_buf_str(out, i > 0 ? ":" : "");
        bj_buf_slice(out, v->field[parts[i]]);
    }
}

static void alert_json(const struct bj_alert *v, struct bj_buf *out)
{
    bj_buf_reset(out);
    struct bj_json_out o = {.to = out};
    bj_json_put_object(&o, NULL);
    for (int i = 0; i < BJ_ALERT_FIELDS; i++)
        if (v->field[i].n > 0)
            bj_json_put_str(&o, bj_alert_fields[i].name, v->field[i]);
    bj_json_put_end(&o);
    out->failed = out->failed || bj_json_out_end(&o) < 0;
}

static enum bj_alert_kind alert_kind(struct bj_slice name)
{
    int kind = 0;
    while (kind < BJ_ALERT_KINDS - 1 &&
           !bj_slice_eq(name, bj_slice_str(bj_alert_kinds[kind])))
        kind++;
    return (enum bj_alert_kind)kind;
}

int bj_alert_of_row(struct bj_st *st, struct bj_alerts *a, struct bj_err *err)
{
    const struct bj_json *doc = NULL;
    int r = bj_json_parse(&a->arena, bj_st_text(st, "fields"), "notify_alert",
                          NULL, &doc, err);
    struct bj_alert *v =
        r == 0 ? bj_alerts_add(a, alert_kind(bj_st_text(st, "kind")), "",
                               bj_st_i64(st, "since"))
               : NULL;
    if (!v)
        return r < 0 ? r : bj_err_set(err, -ENOMEM, "alerts");
    const int64_t ended = bj_st_i64(st, "ended");
    v->ended_sec = ended == BJ_SQL_NULL ? 0 : ended;
    for (int i = 0; i < BJ_ALERT_FIELDS; i++)
        bj_alert_set(a, v, (enum bj_alert_field)i,
                     bj_json_text(bj_json_get(doc, bj_alert_fields[i].name)));
    return a->arena.failed ? bj_err_set(err, -ENOMEM, "alerts") : 0;
}

static int alert_rows(struct bj_st *st, struct bj_alerts *ret,
                      struct bj_err *err)
{
    int r;
    while ((r = bj_st_row(st, err)) > 0)
        if ((r = bj_alert_of_row(st, ret, err)) < 0)
            break;
    return r;
}

int bj_alerts_read(struct bj_store *s, int64_t now_sec, struct bj_alerts *ret,
                   struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(bj_store_db(s),
                          "SELECT kind, since, ended, fields FROM"
                          " notify_alert WHERE ended IS NULL OR ended >= ?1"
                          " ORDER BY since, key",
                          &st, err);
    if (r == 0)
        bj_st_bind_i64(st, 1, now_sec - BJ_ALERT_KEPT_SEC);
    if (r == 0)
        r = alert_rows(st, ret, err);
    bj_st_finalize(st);
    return r;
}

/* --- what has ended --------------------------------------------------------
 */

/* Running jobs with this number, or tasks of this array, of whose nodes not all
 * are known: their findings may last. */
static const char unknown_sql[] =
    "SELECT count(*) FROM job AS j WHERE j.cluster = (SELECT id FROM cluster"
    " WHERE name = :cluster) AND (j.jobid = :jobid OR j.array_job_id = :array)"
    " AND j.state = 2 AND j.\"end\" IS NULL AND (:all = 1 OR (SELECT"
    " count(DISTINCT p.node) FROM job_part AS p WHERE p.job = j.id) < j.nodes)";

/* 1: the job runs, and its findings are not known. */
static int is_unknown(struct bj_store *s, const struct bj_alert *v, bool all,
                      struct bj_err *err)
{
    struct bj_st *st = NULL;
    int64_t number, n = 0;
    int r = bj_db_prepare(bj_store_db(s), unknown_sql, &st, err);
    if (r < 0)
        return r;
    bj_st_set_text(st, "cluster", v->field[BJ_AF_CLUSTER]);
    bj_st_bind_jobid(st, bj_st_param(st, "jobid"), v->field[BJ_AF_JOBID]);
    bj_st_set_i64(
        st, "array",
        bj_jobid_number(v->field[BJ_AF_JOBID], &number) ? number : BJ_SQL_NULL);
    bj_st_set_i64(st, "all", all);
    r = bj_st_int(st, &n, err);
    bj_st_finalize(st);
    return r < 0 ? r : n > 0;
}

static const struct bj_notify_known *
known_of(const struct bj_notify_known *known, size_t clusters,
         struct bj_slice cluster)
{
    for (size_t i = 0; i < clusters; i++)
        if (bj_slice_eq(bj_slice_str(known[i].cluster), cluster))
            return &known[i];
    return NULL;
}

/* Was the GPU found to be well? */
static bool is_well(const struct bj_alerts *found, const struct bj_alert *v)
{
    for (size_t i = 0; i < found->n; i++) {
        const struct bj_alert *f = &found->v[i];
        if (f->kind == v->kind &&
            bj_slice_eq(f->field[BJ_AF_CLUSTER], v->field[BJ_AF_CLUSTER]) &&
            bj_slice_eq(f->field[BJ_AF_NODE], v->field[BJ_AF_NODE]) &&
            bj_slice_eq(f->field[BJ_AF_GPU], v->field[BJ_AF_GPU]))
            return true; /* well, or with another severity */
    }
    return false;
}

/* 1: an alert that was not found has ended; 0: its end is not known. */
static int has_ended(struct bj_store *s, const struct bj_alerts *found,
                     const struct bj_notify_known *known, size_t clusters,
                     const struct bj_alert *v, struct bj_err *err)
{
    const struct bj_notify_known *k =
        known_of(known, clusters, v->field[BJ_AF_CLUSTER]);
    if (!k)
        return 1;
    switch (v->kind) {
    case BJ_ALERT_FINDING: {
        int r = is_unknown(s, v, !k->findings, err);
        return r < 0 ? r : !r;
    }
    case BJ_ALERT_NODE:
        return k->nodes;
    case BJ_ALERT_GPU:
        return is_well(found, v);
    default:
        return 1;
    }
}

static int alert_compare(const void *a, const void *b)
{
    const struct bj_slice *x = a, *y = b;
    const size_t n = x->n < y->n ? x->n : y->n;
    const int order = n > 0 ? memcmp(x->p, y->p, n) : 0;
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* The keys of what was found, sorted, in the arena. */
static struct bj_slice *alert_keys(struct bj_alerts *found, size_t *ret_n)
{
    struct bj_slice *keys =
        bj_arena_alloc(&found->arena, found->n * sizeof(*keys));
    struct bj_buf key = {0};
    *ret_n = 0;
    for (size_t i = 0; keys && i < found->n; i++) {
        if (found->v[i].good)
            continue;
        alert_key(&found->v[i], &key);
        keys[(*ret_n)++] =
            bj_arena_copy(&found->arena, (struct bj_slice){key.p, key.len});
    }
    if (key.failed)
        found->arena.failed = 1;
    bj_buf_free(&key);
    if (*ret_n > 0)
        qsort(keys, *ret_n, sizeof(*keys), alert_compare);
    return keys;
}

/* Read the alerts that last. */
static int read_lasting(struct bj_store *s, struct bj_alerts *ret,
                        int64_t **ret_seen, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(bj_store_db(s),
                          "SELECT kind, since, ended, fields, seen FROM"
                          " notify_alert WHERE ended IS NULL",
                          &st, err);
    size_t room = 0;
    while (r == 0 && (r = bj_st_row(st, err)) > 0) {
        r = bj_alert_of_row(st, ret, err);
        if (r == 0 && !BJ_GROW(*ret_seen, ret->n, room))
            r = bj_err_set(err, -ENOMEM, "alerts");
        if (r == 0)
            (*ret_seen)[ret->n - 1] = bj_st_i64(st, "seen");
    }
    bj_st_finalize(st);
    return r;
}

static int alert_end(struct bj_st *st, struct bj_slice key, int64_t now_sec,
                     struct bj_err *err)
{
    bj_st_bind_i64(st, 1, now_sec);
    bj_st_bind_text(st, 2, key);
    return bj_st_run(st, err);
}

/* End the alerts that were not found now, where that is their end. */
static int alert_end_others(struct bj_store *s, struct bj_alerts *found,
                            const struct bj_notify_known *known,
                            size_t clusters, int64_t now_sec,
                            struct bj_err *err)
{
    struct bj_alerts lasting = {.n = 0};
    int64_t *seen = NULL;
    struct bj_st *st = NULL;
    struct bj_buf key = {0};
    size_t n = 0;
    const struct bj_slice *keys = alert_keys(found, &n);
    int r = found->arena.failed ? bj_err_set(err, -ENOMEM, "alerts")
                                : read_lasting(s, &lasting, &seen, err);
    if (r == 0)
        r = bj_db_prepare(bj_store_db(s),
                          "UPDATE notify_alert SET ended = ?1 WHERE key = ?2",
                          &st, err);
    for (size_t i = 0; r == 0 && i < lasting.n; i++) {
        alert_key(&lasting.v[i], &key);
        const struct bj_slice k = {key.p, key.len};
        if (key.failed)
            r = bj_err_set(err, -ENOMEM, "alerts");
        else if (n == 0 || !bsearch(&k, keys, n, sizeof(k), alert_compare))
            r = now_sec - seen[i] > UNKNOWN_SEC
                    ? 1
                    : has_ended(s, found, known, clusters, &lasting.v[i], err);
        if (r > 0)
            r = alert_end(st, k, now_sec, err);
    }
    bj_st_finalize(st);
    bj_alerts_free(&lasting);
    bj_buf_free(&key);
    free(seen);
    return r;
}

/* --- writing ---------------------------------------------------------------
 */

/* An alert that begins again within the time for which it is kept is the same
 * one, unless its end was an event. */
static const char put_sql[] =
    "INSERT INTO notify_alert(key, kind, cluster, user, since, seen, fields)"
    " VALUES(:key, :kind, :cluster, :user, :since, :now, :fields)"
    " ON CONFLICT(key) DO UPDATE SET since = CASE WHEN notify_alert.told = 2"
    " THEN :since ELSE notify_alert.since END, told = CASE WHEN"
    " notify_alert.told = 2 THEN NULL ELSE notify_alert.told END, user = :user,"
    " seen = :now, ended = NULL, fields = :fields";

static int alert_put(struct bj_st *st, const struct bj_alert *v,
                     struct bj_buf *key, struct bj_buf *json, int64_t now_sec,
                     struct bj_err *err)
{
    alert_key(v, key);
    alert_json(v, json);
    if (key->failed || json->failed)
        return bj_err_set(err, -ENOMEM, "alerts");
    bj_st_set_text(st, "key", (struct bj_slice){key->p, key->len});
    bj_st_set_text(st, "kind", bj_slice_str(bj_alert_kinds[v->kind]));
    bj_st_set_text(st, "cluster", v->field[BJ_AF_CLUSTER]);
    bj_st_set_filled(st, "user", v->field[BJ_AF_USER]);
    bj_st_set_i64(st, "since", v->since_sec);
    bj_st_set_i64(st, "now", now_sec);
    bj_st_set_text(st, "fields", (struct bj_slice){json->p, json->len});
    return bj_st_run(st, err);
}

static int alert_put_all(struct bj_store *s, const struct bj_alerts *found,
                         int64_t now_sec, struct bj_err *err)
{
    struct bj_st *st = NULL;
    struct bj_buf key = {0}, json = {0};
    int r = bj_db_prepare(bj_store_db(s), put_sql, &st, err);
    for (size_t i = 0; r == 0 && i < found->n; i++)
        if (!found->v[i].good)
            r = alert_put(st, &found->v[i], &key, &json, now_sec, err);
    bj_st_finalize(st);
    bj_buf_free(&key);
    bj_buf_free(&json);
    return r;
}

static int alert_forget(struct bj_store *s, int64_t now_sec, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(bj_store_db(s),
                          "DELETE FROM notify_alert WHERE ended < ?1 AND"
                          " coalesce(told, 0) <> 1",
                          &st, err);
    if (r < 0)
        return r;
    bj_st_bind_i64(st, 1, now_sec - BJ_ALERT_KEPT_SEC);
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

int bj_alerts_write(struct bj_store *s, struct bj_alerts *found,
                    const struct bj_notify_known *known, size_t clusters,
                    int64_t now_sec, struct bj_err *err)
{
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = alert_put_all(s, found, now_sec, err);
    if (r == 0)
        r = alert_end_others(s, found, known, clusters, now_sec, err);
    if (r == 0)
        r = alert_forget(s, now_sec, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}
