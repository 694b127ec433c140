#include "apiserver/job/job_name.h"

#include "base/jobuuid.h"
#include "statsdb/job/job_name.h"
#include "statsdb/tables/fragment.h"
#include "store/db.h"

/* clang-format off */
static const char candidates_sql[] =
    "SELECT j.id, j.display_id, o.uid, "
    BJ_SQL_NAME("account", "j.account") ", " BJ_SQL_WORD("hosts", "j.hosts")
    " FROM job AS j LEFT JOIN owner AS o ON o.id = j.owner WHERE 1 = 1";
/* clang-format on */

static struct bj_slice name_text_of(struct bj_st *st, int col)
{
    struct bj_slice s = bj_st_get_text(st, col);
    return s.p ? s : BJ_SLICE("");
}

static void name_compare(struct bj_st *st, struct bj_slice uuid,
                         struct bj_job_found *ret)
{
    char own[BJ_JOB_UUID_BYTES];
    bj_job_uuid(name_text_of(st, 1), name_text_of(st, 2), name_text_of(st, 3),
                name_text_of(st, 4), own);
    if (ret->n < BJ_JOBS_FOUND && bj_slice_eq(bj_slice_str(own), uuid))
        ret->id[ret->n++] = bj_st_get_i64(st, 0);
}

/* Read the jobs that the user may see, and those of the named users or
 * accounts. */
static int name_search(struct bj_call *c, const struct bj_params *p,
                       struct bj_slice uuid, struct bj_job_found *ret)
{
    struct bj_query q = {0};
    struct bj_st *st = NULL;
    bj_query_sql(&q, candidates_sql);
    int r = bj_query_scope(&q, c, p, "j");
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        r = 0;
        name_compare(st, uuid, ret);
    }
    bj_query_free(&q);
    return r;
}

static int search_name(struct bj_call *c, const struct bj_params *p,
                       struct bj_slice name, struct bj_job_found *ret)
{
    ret->n = 0;
    if (bj_job_name_parse(name).kind != BJ_NAME_UUID)
        return 0;
    if (bj_query_wide(c, p))
        return bj_call_refuse(c, 400,
                              "A UUID is searched among the jobs of a user "
                              "or an account: use "
                              "/api/v1/jobs?job=UUID&user=NAME.");
    return name_search(c, p, name, ret);
}

static void add_found(struct bj_query *q, const struct bj_job_found *found)
{
    bj_query_sql(q, " AND j.id IN (NULL"); /* the list may be empty */
    for (unsigned i = 0; i < found->n; i++) {
        bj_query_sql(q, ",");
        bj_query_int(q, found->id[i]);
    }
    bj_query_sql(q, ")");
}

int bj_job_named(struct bj_query *q, struct bj_call *c,
                 const struct bj_params *p, struct bj_slice name)
{
    struct bj_job_found found;
    q->named = true;
    int r = search_name(c, p, name, &found);
    if (r == 0)
        r = bj_query_scope(q, c, p, "j");
    const struct bj_job_name parsed = bj_job_name_parse(name);
    if (r == 0 && parsed.kind == BJ_NAME_UUID) {
        add_found(q, &found);
    } else if (r == 0) {
        q->b.dialect = bj_db_dialect(bj_reader_db(c->reader));
        bj_query_sql(q, " AND j.id IN (");
        bj_job_name_query(&parsed, BJ_NAME_EXACT, &q->b);
        bj_query_sql(q, ")");
    }
    return r;
}

static unsigned names_of(const struct bj_params *p)
{
    unsigned names = 0;
    for (unsigned i = 0; i < p->values; i++)
        names += p->value[i].which == BJ_PARAM_JOB;
    return names;
}

int bj_jobs_search(struct bj_call *c, const struct bj_params *p,
                   struct bj_job_found *ret)
{
    if (names_of(p) == 1)
        return search_name(c, p, bj_params_text(p, BJ_PARAM_JOB), ret);
    for (unsigned i = 0; i < p->values; i++)
        if (p->value[i].which == BJ_PARAM_JOB &&
            bj_job_name_parse(p->value[i].text).kind == BJ_NAME_UUID)
            return bj_call_refuse(
                c, 400, "A UUID must be the only value of the parameter job.");
    return 0;
}

void bj_jobs_named(struct bj_query *q, struct bj_call *c,
                   const struct bj_params *p, const struct bj_job_found *found)
{
    struct bj_slice v[BJ_PARAM_VALUES];
    const struct bj_filter_texts names = bj_query_texts(p, BJ_PARAM_JOB, v);
    q->b.dialect = bj_db_dialect(bj_reader_db(c->reader));
    if (names.n == 1 && bj_job_name_parse(v[0]).kind == BJ_NAME_UUID)
        add_found(q, found);
    else
        bj_filter_jobs(&q->b, names);
}
