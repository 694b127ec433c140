/* The first run of a statement is one round trip; a statement that runs again
 * is prepared, and later runs send its name and values only.  Rows arrive one
 * by one, their values as text; if the connection is needed for another
 * statement, the remaining rows are kept in memory. */
#include "store/postgres_st.h"

#include "base/text.h"
#include "store/postgres_conn.h"
#include "store/postgres_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 * 1024 }; /* of a COPY */

/* A parameter.  Its type is that of its first value, and changes only if it
 * cannot represent a later value, because the server then compiles the
 * statement again. */
struct bj_postgres_param {
    unsigned type; /* 0: only NULL so far */
    const char *p; /* NULL: NULL */
    int n;
    char text[32]; /* a number in decimal */
    char *clean;   /* a text converted to UTF-8 */
};

/* A value of the current row. */
struct bj_postgres_field {
    const char *p; /* NULL: NULL; a NUL follows */
    int n;
};

struct bj_postgres_st {
    struct bj_st base;
    char *sql;       /* as passed to prepare */
    char *rewritten; /* with $1 */
    int params;
    struct bj_postgres_param *param;
    unsigned *types;     /* types of the prepared statement's parameters ... */
    const char **values; /* ... and the values to send */
    int *lengths, *formats;
    unsigned name; /* of the prepared statement; 0: none */
    bool ran;      /* at least once */
    bool inserts;  /* its SQL has RETURNING id */
    bool running;  /* between its first row and its end */

    int columns;           /* number of columns of the result */
    unsigned *column_type; /* their types ... */
    char **column_name;    /* ... and names */
    struct bj_postgres_field *field;
    struct bj_pg_result *row; /* fields point into it ... */

    /* ... or into kept rows: for each field its length as int (-1: NULL), its
     * bytes and a NUL. */
    struct bj_buf kept;
    size_t kept_at;
    int kept_error; /* error after the kept rows, or 0 */
    struct bj_err kept_err;
};

static struct bj_postgres_st *st_of(struct bj_st *st)
{
    return (struct bj_postgres_st *)st;
}

/* --- rows that arrive ----------------------------------------------------- */

static void free_columns(struct bj_postgres_st *st)
{
    for (int i = 0; i < st->columns; i++)
        free(st->column_name[i]);
    free(st->column_name);
    free(st->column_type);
    free(st->field);
    st->column_name = NULL;
    st->column_type = NULL;
    st->field = NULL;
    st->columns = 0;
}

static int take_columns(struct bj_postgres_st *st,
                        const struct bj_pg_result *res, struct bj_err *err)
{
    const struct bj_libpq *lib = bj_postgres_of(st->base.db)->lib;
    int n = res ? lib->columns(res) : 0;
    free_columns(st);
    if (n == 0)
        return 0;
    st->column_name = calloc((size_t)n, sizeof(*st->column_name));
    st->column_type = calloc((size_t)n, sizeof(*st->column_type));
    st->field = calloc((size_t)n, sizeof(*st->field));
    st->columns = st->column_name ? n : 0;
    bool full = st->column_name && st->column_type && st->field;
    for (int i = 0; full && i < n; i++) {
        st->column_type[i] = lib->column_type(res, i);
        st->column_name[i] = strdup(lib->column_name(res, i));
        full = st->column_name[i] != NULL;
    }
    if (full)
        return 0;
    free_columns(st);
    return bj_err_set(err, -ENOMEM, "columns");
}

static void set_fields(struct bj_postgres_st *st, struct bj_pg_result *res)
{
    const struct bj_libpq *lib = bj_postgres_of(st->base.db)->lib;
    lib->clear(st->row);
    st->row = res;
    for (int i = 0; i < st->columns; i++) {
        bool null = lib->is_null(res, 0, i);
        st->field[i].p = null ? NULL : lib->value(res, 0, i);
        st->field[i].n = null ? 0 : lib->length(res, 0, i);
    }
}

static void keep_row(struct bj_postgres_st *st, const struct bj_pg_result *res)
{
    const struct bj_libpq *lib = bj_postgres_of(st->base.db)->lib;
    for (int i = 0; i < st->columns; i++) {
        int n = lib->is_null(res, 0, i) ? -1 : lib->length(res, 0, i);
        bj_buf_put(&st->kept, &n, sizeof(n));
        if (n >= 0)
            bj_buf_put(&st->kept, lib->value(res, 0, i), (size_t)n + 1);
    }
}

static bool take_kept(struct bj_postgres_st *st)
{
    if (st->kept_at >= st->kept.len || st->kept.failed)
        return false;
    for (int i = 0; i < st->columns; i++) {
        const char *p = st->kept.p + st->kept_at;
        int n;
        memcpy(&n, p, sizeof(n));
        st->kept_at += sizeof(n) + (n < 0 ? 0 : (size_t)n + 1);
        st->field[i].p = n < 0 ? NULL : p + sizeof(n);
        st->field[i].n = n < 0 ? 0 : n;
    }
    return true;
}

/* --- statements ------------------------------------------------------------
 */

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
    st->base = (struct bj_st){.engine = db->engine, .db = db, .sql = st->sql};
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
    struct bj_postgres_st *st = st_of(of);
    bj_postgres_reset(of);
    drop_name(st);
    take_columns(st, NULL, NULL);
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
    return st_of(st)->params;
}

/* --- values --------------------------------------------------------------- */

static struct bj_postgres_param *param(struct bj_st *of, int at)
{
    struct bj_postgres_st *st = st_of(of);
    return at >= 1 && at <= st->params ? &st->param[at - 1] : NULL;
}

void bj_postgres_clear(struct bj_st *of)
{
    for (int i = 1; i <= st_of(of)->params; i++)
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
static int postgres_st_clean(struct bj_postgres_param *v, struct bj_err *err)
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
        int r = postgres_st_clean(&st->param[i], err);
        if (r < 0)
            return r;
        st->values[i] = st->param[i].p;
        st->lengths[i] = st->param[i].n;
        st->formats[i] = st->param[i].type == BJ_PG_TEXT;
    }
    return 0;
}

/* Can the types of the prepared statement represent these values? */
static bool postgres_st_fits(const struct bj_postgres_st *st)
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
    if (st->name && postgres_st_fits(st))
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

static int describe(struct bj_postgres_st *st, struct bj_err *err)
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
        r = take_columns(st, res, err);
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
        r = take_columns(st, res, err);
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
        int r = take_columns(st, res, err);
        if (r < 0) {
            p->lib->clear(res);
            return r;
        }
    }
    *ret = res;
    return 1;
}

static void keep_rest(struct bj_postgres_st *st)
{
    struct bj_postgres *p = db_of(st);
    struct bj_pg_result *res;
    int r;
    while (p->reading == st && (r = receive(st, &res, &st->kept_err)) != 0) {
        if (r < 0) {
            st->kept_error = r;
            break;
        }
        keep_row(st, res);
        p->lib->clear(res);
    }
    if (st->kept.failed)
        st->kept_error = bj_err_set(&st->kept_err, -ENOMEM, "rows");
    p->reading = NULL;
}

void bj_postgres_reset(struct bj_st *of)
{
    struct bj_postgres_st *st = st_of(of);
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
static int postgres_st_wrong(const struct bj_postgres_st *st,
                             struct bj_err *err)
{
    return bj_err_wrap(err, -EPROTO, "%.80s", st->sql);
}

static int postgres_st_start(struct bj_postgres_st *st, struct bj_err *err)
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
    p->keep = keep_rest;
    return 0;
}

int bj_postgres_row(struct bj_st *of, struct bj_err *err)
{
    struct bj_postgres_st *st = st_of(of);
    struct bj_pg_result *res = NULL;
    int r = st->running ? 0 : postgres_st_start(st, err);
    if (r < 0) {
        bj_postgres_reset(of);
        return r == -EPROTO ? postgres_st_wrong(st, err) : r;
    }
    if (take_kept(st))
        return 1;
    r = db_of(st)->reading == st ? receive(st, &res, err)
                                 : end_of_kept(st, err);
    if (r > 0)
        set_fields(st, res);
    else
        bj_postgres_reset(of);
    return r == -EPROTO ? postgres_st_wrong(st, err) : r;
}

int bj_postgres_insert(struct bj_st *of, int64_t *ret_id, struct bj_err *err)
{
    static const char returning[] = " RETURNING id";
    struct bj_postgres_st *st = st_of(of);
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

/* --- values of a row ------------------------------------------------------ */

int bj_postgres_columns(struct bj_st *of)
{
    struct bj_postgres_st *st = st_of(of);
    if (st->columns == 0 && !st->ran)
        describe(st, NULL);
    return st->columns;
}

const char *bj_postgres_column_name(struct bj_st *of, int col)
{
    struct bj_postgres_st *st = st_of(of);
    return col >= 0 && col < bj_postgres_columns(of) ? st->column_name[col]
                                                     : NULL;
}

/* Parse a 64 bit integer. */
static bool get_integer(struct bj_slice s, int64_t *ret)
{
    bool minus = s.n > 0 && s.p[0] == '-';
    uint64_t v;
    if (minus) {
        s.p++;
        s.n--;
    }
    if (bj_slice_u64(s, &v) < 0 || v > (uint64_t)INT64_MAX + minus)
        return false;
    *ret = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* Parse a number of PostgreSQL: an integer if it has no fraction and fits.
 * Programs use the C locale, so the decimal separator is a point. */
static void get_number(const struct bj_postgres_field *f, struct bj_value *ret)
{
    ret->type = BJ_TYPE_INTEGER;
    if (get_integer((struct bj_slice){f->p, (size_t)f->n}, &ret->i64))
        return;
    ret->type = BJ_TYPE_REAL;
    ret->f64 = strtod(f->p, NULL);
}

static void get_one(const struct bj_postgres_st *st, int col,
                    struct bj_value *ret)
{
    const struct bj_postgres_field *f = &st->field[col];
    if (!f->p) {
        ret->type = BJ_TYPE_NULL;
        return;
    }
    switch (st->column_type[col]) {
    case BJ_PG_BOOL:
        ret->type = BJ_TYPE_INTEGER;
        ret->i64 = *f->p == 't';
        break;
    case BJ_PG_INT2:
    case BJ_PG_INT4:
    case BJ_PG_INT8:
    case BJ_PG_OID:
    case BJ_PG_NUMERIC:
        get_number(f, ret);
        break;
    case BJ_PG_FLOAT4:
    case BJ_PG_FLOAT8:
        ret->type = BJ_TYPE_REAL;
        ret->f64 = strtod(f->p, NULL);
        break;
    default:
        ret->type = BJ_TYPE_TEXT;
        ret->text = (struct bj_slice){f->p, (size_t)f->n};
    }
}

void bj_postgres_get(struct bj_st *of, int col, unsigned n,
                     struct bj_value *ret)
{
    for (unsigned i = 0; i < n; i++)
        get_one(st_of(of), col + (int)i, &ret[i]);
}

/* A text that is a number is converted, as in SQLite. */
int64_t bj_postgres_get_i64(struct bj_st *of, int col)
{
    struct bj_value v;
    get_one(st_of(of), col, &v);
    if (v.type == BJ_TYPE_TEXT)
        get_number(&st_of(of)->field[col], &v);
    if (v.type == BJ_TYPE_REAL)
        return v.f64 >= 9223372036854775808.0    ? INT64_MAX
               : v.f64 >= -9223372036854775808.0 ? (int64_t)v.f64
                                                 : INT64_MIN;
    return v.type == BJ_TYPE_INTEGER ? v.i64 : BJ_SQL_NULL;
}

double bj_postgres_get_f64(struct bj_st *of, int col)
{
    struct bj_value v;
    get_one(st_of(of), col, &v);
    if (v.type == BJ_TYPE_TEXT)
        get_number(&st_of(of)->field[col], &v);
    return v.type == BJ_TYPE_INTEGER ? (double)v.i64
           : v.type == BJ_TYPE_REAL  ? v.f64
                                     : 0;
}

struct bj_slice bj_postgres_get_text(struct bj_st *of, int col)
{
    const struct bj_postgres_st *st = st_of(of);
    const struct bj_postgres_field *f = &st->field[col];
    if (f->p && st->column_type[col] == BJ_PG_BOOL)
        return *f->p == 't' ? BJ_SLICE("1") : BJ_SLICE("0");
    return (struct bj_slice){f->p, (size_t)f->n};
}

/* --- many rows: COPY in text format --------------------------------------- */

/* The character to write after a backslash, or 0 if the character needs no
 * escape. */
static char escaped(char c)
{
    switch (c) {
    case '\\':
        return c;
    case '\n':
        return 'n';
    case '\t':
        return 't';
    case '\r':
        return 'r';
    default:
        return 0;
    }
}

static void put_utf8(struct bj_buf *to, struct bj_slice s)
{
    if (!bj_buf_room(to, 2 * s.n))
        return;
    char *p = to->p + to->len;
    for (size_t i = 0; i < s.n; i++) {
        char other = escaped(s.p[i]);
        if (other)
            *p++ = '\\';
        *p++ = other ? other : s.p[i];
    }
    to->len = (size_t)(p - to->p);
}

static void put_i64(struct bj_buf *to, int64_t v)
{
    bj_buf_put(to, "-", v < 0);
    bj_buf_u64(to, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static void postgres_st_put_text(struct bj_buf *to, struct bj_slice s)
{
    struct bj_buf clean = {0};
    if (bj_text_is_utf8(s)) {
        put_utf8(to, s);
        return;
    }
    if (bj_buf_room(&clean, 3 * s.n))
        clean.len = bj_text_utf8(s, clean.p);
    else
        to->failed = true;
    put_utf8(to, (struct bj_slice){clean.p, clean.len});
    bj_buf_free(&clean);
}

static void postgres_st_put_row(struct bj_buf *to, const struct bj_value *v,
                                int columns)
{
    for (int i = 0; i < columns; i++) {
        bj_buf_put(to, "\t", i ? 1 : 0);
        switch (v[i].type) {
        case BJ_TYPE_NULL:
            bj_buf_put(to, "\\N", 2);
            break;
        case BJ_TYPE_INTEGER:
            put_i64(to, v[i].i64);
            break;
        case BJ_TYPE_REAL:
            bj_buf_printf(to, "%.17g", v[i].f64);
            break;
        case BJ_TYPE_TEXT:
            postgres_st_put_text(to, v[i].text);
        }
    }
    bj_buf_put(to, "\n", 1);
}

static int begin_copy(struct bj_postgres *p, const struct bj_load *l,
                      struct bj_err *err)
{
    struct bj_pg_result *res = NULL;
    struct bj_buf sql = {0};
    bj_buf_printf(&sql, "COPY \"%s\"(", l->table);
    for (int i = 0; i < l->columns; i++)
        bj_buf_printf(&sql, "%s\"%s\"", i ? ", " : "", l->column[i]);
    bj_buf_str(&sql, ") FROM STDIN");
    bj_buf_put(&sql, "", 1);
    int r = sql.failed ? bj_err_set(err, -ENOMEM, "load")
                       : bj_postgres_ready(p, err);
    if (r == 0 && !p->lib->send_query(p->conn, sql.p))
        r = bj_postgres_fail(p, NULL, err, "");
    bj_buf_free(&sql);
    if (r == 0)
        res = bj_postgres_next(p);
    if (r == 0 && (!res || p->lib->result_status(res) != BJ_PG_COPY_IN)) {
        r = bj_postgres_fail(p, res, err, l->table);
        bj_postgres_finish(p, NULL, NULL, "");
    }
    p->lib->clear(res);
    return r;
}

static int send_block(struct bj_postgres *p, struct bj_buf *block,
                      struct bj_err *err)
{
    if (block->failed)
        return bj_err_set(err, -ENOMEM, "load");
    if (block->len > 0 &&
        p->lib->put_copy(p->conn, block->p, (int)block->len) != 1)
        return bj_postgres_fail(p, NULL, err, "");
    block->len = 0;
    return 0;
}

/* Other statements of the connection must not run meanwhile. */
int bj_postgres_load(struct bj_db *db, const struct bj_load *l,
                     struct bj_err *err)
{
    struct bj_postgres *p = bj_postgres_of(db);
    struct bj_value value[BJ_LOAD_COLUMNS];
    struct bj_buf block = {0};
    int r = begin_copy(p, l, err);
    if (r < 0)
        return r;
    while (r == 0 && (r = l->next(l->ctx, value, err)) > 0) {
        postgres_st_put_row(&block, value, l->columns);
        r = block.len >= BLOCK ? send_block(p, &block, err) : 0;
    }
    if (r == 0)
        r = send_block(p, &block, err);
    bj_buf_free(&block);
    /* After an error the server discards the rows. */
    if (p->lib->end_copy(p->conn, r < 0 ? "stopped" : NULL) != 1)
        return r < 0 ? r : bj_postgres_fail(p, NULL, err, "");
    int end = bj_postgres_finish(p, NULL, r < 0 ? NULL : err, l->table);
    return r < 0 ? r : end;
}
