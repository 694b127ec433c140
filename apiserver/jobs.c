#include "apiserver/jobs.h"

#include "apiserver/server.h"
#include "apiserver/table.h"
#include "statsdb/job_value.h"

/* --- which keys -------------------------------------------------------------
 */

/* Where a value is in the statement.  Equal texts of one table are one text, as
 * compilers have it; else SQLite is asked for it twice. */
static unsigned char place_of(struct bj_picked *k, const char *sql)
{
    unsigned i = 0;
    while (i < k->values && k->sql[i] != sql)
        i++;
    if (i == k->values) {
        k->users[i] = (struct bj_picked_set){{0}};
        k->sql[k->values++] = sql;
    }
    return (unsigned char)i;
}

static void pick(struct bj_picked *k, unsigned at)
{
    const struct bj_job_column *key = &bj_job_columns[at];
    for (unsigned i = 0; i < BJ_JOB_VALUES && key->sql[i]; i++) {
        unsigned char value = place_of(k, key->sql[i]);
        k->value[k->n][i] = value;
        k->users[value].word[k->n / 64] |= UINT64_C(1) << k->n % 64;
    }
    k->at[k->n] = (unsigned char)at;
    k->key[k->n++] = key->name;
    k->derived = k->derived || bj_job_column_is_derived(key);
}

int bj_jobs_pick(struct bj_call *c, const struct bj_params *p, bool all,
                 struct bj_picked *ret)
{
    bool want[BJ_JOB_COLUMNS] = {false};
    for (unsigned i = 0; p->given[BJ_PARAM_FIELDS] && i < p->values; i++) {
        struct bj_slice s = p->value[i].text;
        if (p->value[i].which != BJ_PARAM_FIELDS)
            continue;
        const struct bj_job_column *column = bj_job_column(s);
        if (!column)
            return bj_call_refuse(c, 400,
                                  "There is no field '%.*s'; "
                                  "/api/v1/openapi.json names all.",
                                  s.n < 60 ? (int)s.n : 60, s.p);
        want[column - bj_job_columns] = true;
    }
    ret->n = ret->values = 0;
    ret->derived = false;
    for (unsigned i = 0; bj_job_columns[i].name; i++)
        if (p->given[BJ_PARAM_FIELDS]
                ? want[i]
                : all || bj_job_columns[i].in == BJ_IN_LISTS)
            pick(ret, i);
    return 0;
}

void bj_jobs_select(struct bj_query *q, const struct bj_picked *k)
{
    bj_query_sql(q, "SELECT j.at, j.id, bj_pack(");
    for (unsigned i = 0; i < k->values; i++) {
        bj_query_sql(q, i ? ", " : "");
        bj_query_sql(q, k->sql[i]);
    }
    bj_query_sql(q, ") FROM " BJ_JOB_FROM);
    if (k->derived)
        bj_query_sql(q, BJ_JOB_FROM_USE);
    bj_query_sql(q, " WHERE 1");
}

/* --- rows ------------------------------------------------------------------
 */

enum { PACKED = 2 }; /* behind j.at and j.id */

static int word(void *ctx, enum bj_word which, int64_t id, struct bj_slice *ret,
                struct bj_err *err)
{
    struct bj_call *c = ctx;
    return bj_words_text(c->api->words, c->reader, which, id, ret, err);
}

/* Column i of the row. */
static int put_cell(const struct bj_picked *k, unsigned i,
                    struct bj_job_raw *raw, struct bj_rows *rows,
                    struct bj_err *err)
{
    const struct bj_job_column *column = &bj_job_columns[k->at[i]];
    struct bj_slice s;
    for (unsigned n = 0; n < BJ_JOB_VALUES && column->sql[n]; n++) {
        raw->number[n] = k->number[k->value[i][n]];
        if (raw->number[n] == BJ_SQL_TEXT)
            raw->text[n] = k->text[k->value[i][n]];
    }
    if (!bj_job_is_text(column->kind)) {
        bj_table_number(column->kind, rows, bj_job_number(column, raw));
        return 0;
    }
    int r = bj_job_text(column, raw, &s, err);
    if (column->kind == BJ_AS_WORD_INT)
        bj_put_number(rows, s);
    else
        bj_put_text(rows, s);
    return r;
}

static void add(struct bj_picked_set *to, const struct bj_picked_set *set)
{
    for (unsigned i = 0; i < BJ_PICKED_WORDS; i++)
        to->word[i] |= set->word[i];
}

/* Take over the values of the row that a statement stands on; ret are the keys
 * that are not as in the row before.  No two texts are taken to be the same. */
static int take_values(struct bj_picked *k, struct sqlite3_stmt *st,
                       struct bj_picked_set *ret)
{
    int64_t before[BJ_PICKED_VALUES];
    const char *p = sqlite3_column_blob(st, PACKED);
    struct bj_slice blob = {p, (size_t)sqlite3_column_bytes(st, PACKED)};
    memcpy(before, k->number, k->values * sizeof(before[0]));
    if (!p || !bj_pack_read(blob, k->values, k->number, k->text))
        return -ENOMEM;
    for (unsigned i = 0; i < k->values; i++)
        if (k->number[i] != before[i] || k->number[i] == BJ_SQL_TEXT)
            add(ret, &k->users[i]);
    return 0;
}

/* The first key of a set from at on, or end. */
static unsigned next_of(const struct bj_picked_set *set, unsigned at,
                        unsigned end)
{
    for (unsigned i = at / 64; i < BJ_PICKED_WORDS && at < end; i++) {
        uint64_t rest = set->word[i] & (UINT64_MAX << at % 64);
        if (rest)
            return i * 64 + (unsigned)__builtin_ctzll(rest);
        at = (i + 1) * 64;
    }
    return end;
}

int bj_jobs_row(struct bj_call *c, struct bj_picked *k, struct sqlite3_stmt *st,
                struct bj_rows *rows)
{
    struct bj_picked_set changed = {{0}};
    struct bj_job_raw raw;
    raw.word = word;
    raw.ctx = c;
    raw.scratch = &c->api->scratch;
    if (rows->n == 0)
        memset(&changed, 0xff, sizeof(changed));
    int r = take_values(k, st, &changed);
    if (r < 0)
        return bj_err_set(&c->err, r, "jobs");
    bj_row_begin(rows);
    for (unsigned i = 0; r == 0; i++) {
        unsigned from = i;
        i = next_of(&changed, from, k->n);
        if (i > from)
            bj_put_same(rows, i - from);
        if (i == k->n)
            break;
        r = put_cell(k, i, &raw, rows, &c->err);
    }
    bj_row_end(rows);
    return r;
}

void bj_jobs_with_gpu(struct bj_query *q, const struct bj_params *p)
{
    if (p->given[BJ_PARAM_GPU])
        bj_query_sql(q, p->number[BJ_PARAM_GPU] ? " AND +j.gpus > 0"
                                                : " AND ifnull(j.gpus, 0) = 0");
}

int bj_jobs_whole(struct bj_call *c, const struct bj_jobs_end *end)
{
    return !end->partial
               ? 0
               : bj_call_refuse(c, 503,
                                "Looking for jobs took the store too long; "
                                "narrow from and to, or name a user or an "
                                "account.");
}
