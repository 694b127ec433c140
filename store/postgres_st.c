/* Statements of PostgreSQL.  The first run is one round trip; a statement that
 * runs again is prepared, and later runs send its name and values only.  Rows
 * arrive one by one; if the connection is needed for another statement, the
 * remaining rows are kept in memory. */
#include "store/postgres_st.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

static struct bj_postgres *db_of(const struct bj_postgres_st *st)
{
    return bj_postgres_of(st->base.db);
}

static int allocate(struct bj_postgres_st *st, int params)
{
    size_t n = params > 0 ? (size_t)params : 1;
    st->param = calloc(n, sizeof(*st->param));
    st->params = st->param ? params : 0;
    st->types = calloc(n, sizeof(*st->types));
    st->values = calloc(n, sizeof(*st->values));
    st->lengths = calloc(n, sizeof(*st->lengths));
    st->formats = calloc(n, sizeof(*st->formats));
    return st->param && st->types && st->values && st->lengths && st->formats
               ? 0
               : -ENOMEM;
}

int bj_postgres_prepare(struct bj_db *db, const char *sql, struct bj_st **ret,
                        struct bj_err *err)
{
    struct bj_postgres_st *st = calloc(1, sizeof(*st));
    struct bj_buf text = {0};
    *ret = NULL;
    if (!st)
        return bj_err_set(err, -ENOMEM, "prepare");
    st->sql = strdup(sql);
    st->base = (struct bj_st){db->engine, db, st->sql};
    int r = st->sql ? bj_postgres_rewrite(sql, &text) : -ENOMEM;
    if (r >= 0)
        r = allocate(st, r);
    st->rewritten = text.p;
    if (r < 0) {
        bj_postgres_finalize(&st->base);
        return bj_err_set(err, r == -EINVAL ? -EPROTO : r,
                          "prepare: parameters of %.100s", sql);
    }
    *ret = &st->base;
    return 0;
}

/* The prepared statement is dropped at the server later, together with others.
 */
static void drop_name(struct bj_postgres_st *st)
{
    if (st->name)
        bj_buf_printf(&db_of(st)->unused, "DEALLOCATE s%u;", st->name);
    st->name = 0;
}

void bj_postgres_finalize(struct bj_st *of)
{
    struct bj_postgres_st *st = bj_postgres_st_of(of);
    bj_postgres_reset(of);
    drop_name(st);
    bj_postgres_take_columns(st, NULL, NULL);
    bj_buf_free(&st->kept);
    for (int i = 0; i < st->params; i++)
        free(st->param[i].clean);
    free(st->param);
    free(st->types);
    free(st->values);
    free(st->lengths);
    free(st->formats);
    free(st->sql);
    free(st->rewritten);
    free(st);
}

int bj_postgres_parameters(struct bj_st *st)
{
    return bj_postgres_st_of(st)->params;
}

/* --- values --------------------------------------------------------------- */

static struct bj_postgres_param *param(struct bj_st *of, int at)
{
    struct bj_postgres_st *st = bj_postgres_st_of(of);
    return at >= 1 && at <= st->params ? &st->param[at - 1] : NULL;
}

void bj_postgres_clear(struct bj_st *of)
{
    for (int i = 1; i <= bj_postgres_st_of(of)->params; i++)
        bj_postgres_bind_null(of, i);
}

void bj_postgres_bind_null(struct bj_st *st, int at)
{
    struct bj_postgres_param *v = param(st, at);
    if (v)
        v->p = NULL;
}

/* A number can be sent as text, and an integer as a real number. */
void bj_postgres_bind_i64(struct bj_st *st, int at, int64_t i)
{
    struct bj_postgres_param *v = param(st, at);
    if (!v)
        return;
    if (v->type == 0)
        v->type = BJ_PG_INT8;
    v->n = snprintf(v->text, sizeof(v->text), "%lld", (long long)i);
    v->p = v->text;
}

void bj_postgres_bind_f64(struct bj_st *st, int at, double f)
{
    struct bj_postgres_param *v = param(st, at);
    if (!v)
        return;
    if (v->type != BJ_PG_TEXT)
        v->type = BJ_PG_FLOAT8;
    v->n = snprintf(v->text, sizeof(v->text), "%.17g", f);
    v->p = v->text;
}

void bj_postgres_bind_text(struct bj_st *st, int at, struct bj_slice s)
{
    struct bj_postgres_param *v = param(st, at);
    if (!v)
        return;
    v->type = BJ_PG_TEXT;
    v->p = s.p;
    v->n = s.n > INT32_MAX ? INT32_MAX : (int)s.n;
}

/* PostgreSQL refuses texts that are not UTF-8: they are stored as they would be
 * displayed.  Searches for such a text find it, because they convert it, too.
 */
static int clean(struct bj_postgres_param *v, struct bj_err *err)
{
    const struct bj_slice s = {v->p, (size_t)v->n};
    if (!v->p || v->p == v->text || bj_text_is_utf8(s))
        return 0;
    char *text = malloc(3 * s.n);
    if (!text)
        return bj_err_set(err, -ENOMEM, "text");
    v->n = (int)bj_text_utf8(s, text);
    free(v->clean);
    v->p = v->clean = text;
    return 0;
}

/* Texts are sent in binary format, with a length; the server checks them. */
static int gather(struct bj_postgres_st *st, struct bj_err *err)
{
    for (int i = 0; i < st->params; i++) {
        int r = clean(&st->param[i], err);
        if (r < 0)
            return r;
        st->values[i] = st->param[i].p;
        st->lengths[i] = st->param[i].n;
        st->formats[i] = st->param[i].type == BJ_PG_TEXT;
    }
    return 0;
}

/* Can the types of the prepared statement represent these values? */
static bool fits(const struct bj_postgres_st *st)
{
    for (int i = 0; i < st->params; i++)
        if (st->param[i].p && st->types[i] != st->param[i].type)
            return false;
    return true;
}

/* --- running -------------------------------------------------------------- */

static int prepare_named(struct bj_postgres_st *st, struct bj_err *err)
{
    struct bj_postgres *p = db_of(st);
    char name[16];
    if (st->name && fits(st))
        return 0;
    drop_name(st);
    for (int i = 0; i < st->params; i++)
        st->types[i] = st->param[i].type;
    snprintf(name, sizeof(name), "s%u", ++p->names);
    if (!p->lib->send_prepare(p->conn, name, st->rewritten, st->params,
                              st->types))
        return bj_postgres_fail(p, NULL, err, "prepare");
    int r = bj_postgres_finish(p, NULL, err, "prepare");
    if (r == 0)
        st->name = p->names;
    return r;
}

int bj_postgres_describe(struct bj_postgres_st *st, struct bj_err *err)
{
    struct bj_postgres *p = db_of(st);
    struct bj_pg_result *res = NULL;
    char name[16];
    int r = bj_postgres_ready(p, err);
    if (r == 0)
        r = prepare_named(st, err);
    if (r < 0)
        return r;
    snprintf(name, sizeof(name), "s%u", st->name);
    if (!p->lib->send_describe(p->conn, name))
        return bj_postgres_fail(p, NULL, err, "describe");
    r = bj_postgres_finish(p, &res, err, "describe");
    if (r == 0)
        r = bj_postgres_take_columns(st, res, err);
    p->lib->clear(res);
    return r;
}

static int send(struct bj_postgres_st *st, struct bj_err *err)
{
    struct bj_postgres *p = db_of(st);
    char name[16];
    int sent, r = st->ran || st->name ? prepare_named(st, err) : 0;
    if (r == 0)
        r = gather(st, err);
    if (r < 0)
        return r;
    if (st->name) {
        snprintf(name, sizeof(name), "s%u", st->name);
        sent = p->lib->send_prepared(p->conn, name, st->params, st->values,
                                     st->lengths, st->formats, 0);
    } else {
        for (int i = 0; i < st->params; i++)
            st->types[i] = st->param[i].type;
        sent =
            p->lib->send_params(p->conn, st->rewritten, st->params, st->types,
                                st->values, st->lengths, st->formats, 0);
    }
    if (!sent)
        return bj_postgres_fail(p, NULL, err, "");
    p->lib->single_row(p->conn);
    return 0;
}

static int start(struct bj_postgres_st *st, struct bj_err *err)
{
    struct bj_postgres *p = db_of(st);
    int r = bj_postgres_ready(p, err);
    if (r == 0)
        r = send(st, err);
    if (r < 0)
        return r;
    st->ran = st->running = true;
    st->kept_error = 0;
    p->reading = st;
    return 0;
}

/* Process the result after the last row, which has the number of changed rows.
 */
static int take_end(struct bj_postgres_st *st, struct bj_pg_result *res,
                    struct bj_err *err)
{
    struct bj_postgres *p = db_of(st);
    int status = res ? p->lib->result_status(res) : -1;
    int r = 0;
    if (status != BJ_PG_TUPLES_OK && status != BJ_PG_COMMAND_OK &&
        status != BJ_PG_EMPTY_QUERY)
        r = bj_postgres_fail(p, res, err, "");
    else if (!st->row && st->kept.len == 0)
        r = bj_postgres_take_columns(st, res, err);
    if (r == 0)
        p->changes = bj_postgres_changed(p, res);
    p->lib->clear(res);
    while ((res = bj_postgres_next(p)) != NULL)
        p->lib->clear(res);
    p->reading = NULL;
    return r;
}

/* Receive the next row from the server: 1 with *ret, 0, or an error. */
static int receive(struct bj_postgres_st *st, struct bj_pg_result **ret,
                   struct bj_err *err)
{
    struct bj_postgres *p = db_of(st);
    struct bj_pg_result *res = bj_postgres_next(p);
    if (!res || p->lib->result_status(res) != BJ_PG_SINGLE_TUPLE)
        return take_end(st, res, err);
    if (!st->row && st->kept.len == 0) {
        int r = bj_postgres_take_columns(st, res, err);
        if (r < 0) {
            p->lib->clear(res);
            return r;
        }
    }
    *ret = res;
    return 1;
}

void bj_postgres_keep(struct bj_postgres_st *st)
{
    struct bj_postgres *p = db_of(st);
    struct bj_pg_result *res;
    int r;
    while (p->reading == st && (r = receive(st, &res, &st->kept_err)) != 0) {
        if (r < 0) {
            st->kept_error = r;
            break;
        }
        bj_postgres_keep_row(st, res);
        p->lib->clear(res);
    }
    if (st->kept.failed)
        st->kept_error = bj_err_set(&st->kept_err, -ENOMEM, "rows");
    p->reading = NULL;
}

void bj_postgres_reset(struct bj_st *of)
{
    struct bj_postgres_st *st = bj_postgres_st_of(of);
    struct bj_postgres *p = db_of(st);
    struct bj_pg_result *res;
    if (p->reading == st) {
        while ((res = bj_postgres_next(p)) != NULL)
            p->lib->clear(res);
        p->reading = NULL;
    }
    if (st->row)
        p->lib->clear(st->row);
    st->row = NULL;
    st->running = false;
    bj_buf_free(&st->kept);
    st->kept = (struct bj_buf){0};
    st->kept_at = 0;
    st->kept_error = 0;
}

/* At the end of the kept rows. */
static int end_of_kept(struct bj_postgres_st *st, struct bj_err *err)
{
    int r = st->kept_error;
    if (r < 0 && err)
        *err = st->kept_err;
    return r;
}

/* The statement itself is wrong: add its begin to the message. */
static int wrong(const struct bj_postgres_st *st, struct bj_err *err)
{
    return bj_err_wrap(err, -EPROTO, "%.80s", st->sql);
}

int bj_postgres_row(struct bj_st *of, struct bj_err *err)
{
    struct bj_postgres_st *st = bj_postgres_st_of(of);
    struct bj_pg_result *res = NULL;
    int r = st->running ? 0 : start(st, err);
    if (r < 0) {
        bj_postgres_reset(of);
        return r == -EPROTO ? wrong(st, err) : r;
    }
    if (bj_postgres_kept(st))
        return 1;
    r = db_of(st)->reading == st ? receive(st, &res, err)
                                 : end_of_kept(st, err);
    if (r > 0)
        bj_postgres_fields(st, res);
    else
        bj_postgres_reset(of);
    return r == -EPROTO ? wrong(st, err) : r;
}

int bj_postgres_insert(struct bj_st *of, int64_t *ret_id, struct bj_err *err)
{
    static const char returning[] = " RETURNING id";
    struct bj_postgres_st *st = bj_postgres_st_of(of);
    if (!st->inserts) {
        size_t n = strlen(st->rewritten);
        char *text = realloc(st->rewritten, n + sizeof(returning));
        if (!text)
            return bj_err_set(err, -ENOMEM, "insert");
        memcpy(text + n, returning, sizeof(returning));
        st->rewritten = text;
        st->inserts = true;
    }
    return bj_st_int(of, ret_id, err);
}
