#include "apiserver/jobs.h"

#include "apiserver/server.h"
#include "apiserver/table.h"
#include "base/digits.h"

/* --- which keys -------------------------------------------------------------
 */

static bool find_key(struct bj_slice key, unsigned *at)
{
    for (*at = 0; bj_job_keys[*at].key; ++*at)
        if (bj_slice_eq(bj_slice_str(bj_job_keys[*at].key), key))
            return true;
    return false;
}

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
    const struct bj_job_key *key = &bj_job_keys[at];
    for (unsigned i = 0; i < BJ_JOB_VALUES && key->sql[i]; i++) {
        unsigned char value = place_of(k, key->sql[i]);
        k->value[k->n][i] = value;
        k->users[value].word[k->n / 64] |= UINT64_C(1) << k->n % 64;
    }
    k->at[k->n] = (unsigned char)at;
    k->key[k->n++] = key->key;
}

int bj_jobs_pick(struct bj_call *c, const struct bj_params *p, bool derived,
                 struct bj_picked *ret)
{
    bool want[BJ_API_COLUMNS] = {false};
    unsigned at;
    for (unsigned i = 0; p->given[BJ_PARAM_FIELDS] && i < p->values; i++) {
        struct bj_slice s = p->value[i].text;
        if (p->value[i].which != BJ_PARAM_FIELDS)
            continue;
        if (!find_key(s, &at))
            return bj_call_refuse(c, 400,
                                  "There is no field '%.*s'; "
                                  "/api/v1/openapi.json names all.",
                                  s.n < 60 ? (int)s.n : 60, s.p);
        want[at] = true;
    }
    bool behind = false;
    ret->n = ret->values = 0;
    ret->derived = false;
    for (unsigned i = 0; bj_job_keys[i].key; i++) {
        behind = behind || strcmp(bj_job_keys[i].key, BJ_COLUMN_DERIVED) == 0;
        if (p->given[BJ_PARAM_FIELDS] ? !want[i] : behind && !derived)
            continue;
        ret->derived = ret->derived || behind;
        pick(ret, i);
    }
    return 0;
}

void bj_jobs_select(struct bj_query *q, const struct bj_picked *k)
{
    bj_query_sql(q, "SELECT j.at, j.id, bj_pack(");
    for (unsigned i = 0; i < k->values; i++) {
        bj_query_sql(q, i ? ", " : "");
        bj_query_sql(q, k->sql[i]);
    }
    bj_query_sql(q, ") FROM job AS j LEFT JOIN job_more AS m ON m.job = j.id");
    /* Work only for those who ask for it. */
    if (k->derived)
        bj_query_sql(q, " LEFT JOIN job_use AS u ON u.job = j.id");
    bj_query_sql(q, " WHERE 1");
}

/* --- rows ------------------------------------------------------------------
 */

enum { PACKED = 2 }; /* behind j.at and j.id */

/* A key of a row that is being written. */
struct cell {
    struct bj_call *c;
    const struct bj_picked *k;
    const struct bj_job_key *key;
    const unsigned char *value; /* which values it is made of */
};

static int64_t number(const struct cell *l, unsigned i)
{
    return l->k->number[l->value[i]];
}

/* A value as text, good until the next step; digits are where those of a number
 * may go. */
static struct bj_slice text(const struct cell *l, unsigned i,
                            char digits[static BJ_DIGITS_ROOM])
{
    int64_t v = number(l, i);
    if (v == BJ_PACK_TEXT)
        return l->k->text[l->value[i]];
    if (v == BJ_SQL_NULL)
        return (struct bj_slice){0};
    return (struct bj_slice){digits,
                             (size_t)(bj_digits_i64(digits, v) - digits)};
}

static int word(const struct cell *l, enum bj_word which, struct bj_slice *ret)
{
    return bj_words_text(l->c->api->words, l->c->reader, which, number(l, 0),
                         ret, &l->c->err);
}

/* Texts one after another, until the end of the scratch buffer's next use. */
static struct bj_slice join(const struct cell *l, const struct bj_slice *part,
                            unsigned parts)
{
    struct bj_buf *to = &l->c->api->scratch;
    to->len = 0;
    for (unsigned i = 0; i < parts; i++)
        bj_buf_slice(to, part[i]);
    return (struct bj_slice){to->failed ? NULL : to->p, to->len};
}

/* cluster, raw_id, submit */
static int key_text(const struct cell *l, struct bj_slice *ret)
{
    char id[BJ_DIGITS_ROOM], submit[BJ_DIGITS_ROOM];
    struct bj_slice cluster;
    int r = word(l, BJ_WORD_CLUSTER, &cluster);
    if (r == 0 && cluster.p)
        *ret = join(l,
                    (struct bj_slice[]){cluster, BJ_SLICE(":"), text(l, 1, id),
                                        BJ_SLICE(":"), text(l, 2, submit)},
                    5);
    return r;
}

/* dir, leaf */
static int path_text(const struct cell *l, struct bj_slice *ret)
{
    char leaf[BJ_DIGITS_ROOM];
    struct bj_slice dir;
    *ret = text(l, 1, leaf);
    if (number(l, 0) == BJ_SQL_NULL)
        return 0;
    int r = word(l, BJ_WORD_DIR, &dir);
    if (r == 0)
        *ret = dir.p ? join(l, (struct bj_slice[]){dir, BJ_SLICE("/"), *ret}, 3)
                     : dir;
    return r;
}

/* shown_id, array_job, array_task, het_job, het_offset, raw_id */
static struct bj_slice shown_text(const struct cell *l,
                                  char digits[static BJ_DIGITS_ROOM])
{
    char more[BJ_DIGITS_ROOM];
    struct bj_slice shown = text(l, 0, digits);
    for (unsigned i = 1; i < 5 && !shown.p; i += 2)
        if (number(l, i) != BJ_SQL_NULL && number(l, i + 1) != BJ_SQL_NULL)
            shown =
                join(l,
                     (struct bj_slice[]){text(l, i, digits),
                                         i == 1 ? BJ_SLICE("_") : BJ_SLICE("+"),
                                         text(l, i + 1, more)},
                     3);
    return shown.p ? shown : text(l, 5, digits);
}

static int64_t made_number(const struct cell *l)
{
    int64_t v[BJ_JOB_VALUES];
    if (!l->key->make)
        return number(l, 0);
    for (unsigned i = 0; i < BJ_JOB_VALUES && l->key->sql[i]; i++)
        v[i] = number(l, i);
    return l->key->make(v);
}

static int put_cell(const struct cell *l, struct bj_rows *rows)
{
    char digits[BJ_DIGITS_ROOM];
    struct bj_slice s = {0};
    int r = 0;
    switch (l->key->kind) {
    case BJ_AS_WORD:
        r = word(l, l->key->word, &s);
        break;
    case BJ_AS_WORD_INT:
        r = word(l, l->key->word, &s);
        bj_put_number(rows, s);
        return r;
    case BJ_AS_KEY:
        r = key_text(l, &s);
        break;
    case BJ_AS_PATH:
        r = path_text(l, &s);
        break;
    case BJ_AS_SHOWN_ID:
        s = shown_text(l, digits);
        break;
    case BJ_AS_TEXT:
        s = text(l, 0, digits);
        break;
    default:
        bj_table_number(l->key->kind, rows, made_number(l));
        return 0;
    }
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
        if (k->number[i] != before[i] || k->number[i] == BJ_PACK_TEXT)
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
    struct cell cell = {.c = c, .k = k};
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
        cell.key = &bj_job_keys[k->at[i]];
        cell.value = k->value[i];
        r = put_cell(&cell, rows);
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
