#include "apiserver/job_name.h"

#include "statsdb/fragment.h"
#include "statsdb/job_name.h"
#include "store/db.h"

/* A UUID is not stored but computed from the job. The search is fast among the
 * jobs of one user; an admin has to name a user or an account. */
/* clang-format off */
static const char uuid_sql[] =
    " AND (SELECT bj_uuid(" BJ_SQL_DISPLAY_ID("x") ", w.uid, "
    "(SELECT name FROM account WHERE id = j.account), "
    "(SELECT text FROM hosts WHERE id = j.hosts)) FROM (SELECT 1) AS one LEFT JOIN "
    "job_more AS x ON x.job = j.id LEFT JOIN owner AS w ON w.id = j.owner) = ";
/* clang-format on */

bool bj_job_name_indexed(struct bj_slice name)
{
    return bj_job_name_parse(name).kind != BJ_NAME_UUID;
}

int bj_job_named(struct bj_query *q, struct bj_call *c,
                 const struct bj_params *p, struct bj_slice text,
                 enum bj_job_name_parts parts)
{
    struct bj_job_name name = bj_job_name_parse(text);
    q->b.dialect = bj_db_dialect(bj_reader_db(c->reader));
    if (name.kind != BJ_NAME_UUID) {
        bj_query_sql(q, " AND j.id IN (");
        bj_job_name_query(&name, parts, &q->b);
        bj_query_sql(q, ")");
        return 0;
    }
    if (bj_query_wide(c, p))
        return bj_call_refuse(c, 400,
                              "A UUID is searched among the jobs of a user "
                              "or an account: use "
                              "/api/v1/jobs?job=UUID&user=NAME.");
    if (q->b.dialect != BJ_DIALECT_SQLITE)
        return bj_call_refuse(c, 501,
                              "A UUID is searched only in a store of SQLite: "
                              "use the id of the job.");
    bj_query_sql(q, uuid_sql);
    bj_query_text(q, text);
    return 0;
}

/* Several names, of which none is a UUID. */
static int by_names(struct bj_query *q, struct bj_call *c,
                    const struct bj_params *p)
{
    unsigned n = 0;
    q->b.dialect = bj_db_dialect(bj_reader_db(c->reader));
    for (unsigned i = 0; i < p->values; i++) {
        if (p->value[i].which != BJ_PARAM_JOB)
            continue;
        struct bj_job_name name = bj_job_name_parse(p->value[i].text);
        if (name.kind == BJ_NAME_UUID)
            return bj_call_refuse(
                c, 400, "A UUID must be the only value of the parameter job.");
        bj_query_sql(q, n++ ? " AS below UNION ALL SELECT id FROM ("
                            : " AND j.id IN (SELECT id FROM (");
        bj_job_name_query(&name, BJ_NAME_WITH_PARTS, &q->b);
        bj_query_sql(q, ")");
    }
    bj_query_sql(q, " AS below)");
    return 0;
}

int bj_jobs_named(struct bj_query *q, struct bj_call *c,
                  const struct bj_params *p)
{
    unsigned names = 0;
    for (unsigned i = 0; i < p->values; i++)
        names += p->value[i].which == BJ_PARAM_JOB;
    return names > 1 ? by_names(q, c, p)
                     : bj_job_named(q, c, p, bj_params_text(p, BJ_PARAM_JOB),
                                    BJ_NAME_WITH_PARTS);
}
