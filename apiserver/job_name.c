#include "apiserver/job_name.h"
#include "statsdb/fragment.h"

#include "apiserver/words.h"

/* Ids that Slurm may skip between the components of a heterogeneous job. */
enum { HET_SKIPPED = 256 };

static void raw_id(struct bj_query *q, struct bj_slice id)
{
    uint64_t n;
    /* An id that is all digits is kept as a number; "007" is none. */
    if (bj_slice_u64(id, &n) == 0 && n <= INT64_MAX &&
        (id.p[0] != '0' || id.n == 1))
        bj_query_int(q, (int64_t)n);
    else
        bj_query_text(q, id);
}

static bool split_key(struct bj_slice s, struct bj_slice *cluster,
                      struct bj_slice *id, uint64_t *submit)
{
    size_t last = s.n;
    while (last > 0 && s.p[last - 1] != ':')
        last--;
    if (last == 0 || !bj_slice_field(&s, ':', cluster))
        return false;
    size_t gone = cluster->n + 1;
    if (last <= gone)
        return false;
    *id = (struct bj_slice){s.p, last - gone - 1};
    struct bj_slice digits = {s.p + (last - gone), s.n - (last - gone)};
    return cluster->n > 0 && id->n > 0 && bj_slice_u64(digits, submit) == 0 &&
           *submit <= INT64_MAX;
}

static bool split_task(struct bj_slice s, uint64_t *job, uint64_t *task)
{
    return bj_slice_number(&s, job) && s.n > 1 && s.p[0] == '_' &&
           bj_slice_u64((struct bj_slice){s.p + 1, s.n - 1}, task) == 0 &&
           *job <= INT64_MAX && *task <= INT64_MAX;
}

/* "4711+1", the blank being what an unescaped '+' of a query string becomes. */
static bool split_het(struct bj_slice s, uint64_t *leader, uint64_t *offset)
{
    return bj_slice_number(&s, leader) && s.n > 1 &&
           (s.p[0] == '+' || s.p[0] == ' ') &&
           bj_slice_u64((struct bj_slice){s.p + 1, s.n - 1}, offset) == 0 &&
           *leader <= INT64_MAX / 2 && *offset <= INT64_MAX / 4;
}

/* Slurm gives the components of a heterogeneous job consecutive jobids and
 * skips those in use. */
static void named_het(struct bj_query *q, int64_t leader, int64_t offset)
{
    bj_query_sql(q, " AND j.cluster IN (SELECT id FROM cluster) AND j.jobid"
                    " BETWEEN ");
    bj_query_int(q, leader);
    bj_query_sql(q, " AND ");
    bj_query_int(q, leader + offset + HET_SKIPPED);
    bj_query_sql(q, " AND EXISTS (SELECT 1 FROM job_more AS h WHERE h.job ="
                    " j.id AND h.het_job_id = ");
    bj_query_int(q, leader);
    bj_query_sql(q, " AND h.het_offset = ");
    bj_query_int(q, offset);
    bj_query_sql(q, ")");
}

static bool is_sluid(struct bj_slice s)
{
    if (s.n != 14 || s.p[0] != 's')
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (!strchr("0123456789ABCDEFGHJKMNPQRSTVWXYZ", s.p[i]) || !s.p[i])
            return false;
    return true;
}

static bool is_uuid(struct bj_slice s)
{
    if (s.n != 36)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23
                ? s.p[i] != '-'
                : !s.p[i] || !strchr("0123456789abcdef", s.p[i]))
            return false;
    return true;
}

/* It is computed from columns and has no index: fast among the jobs of one
 * user, so an admin has to name one. */
static const char uuid_sql[] = " AND (SELECT bj_uuid(" BJ_SQL_DISPLAY_ID(
    "x") ", w.uid, "
         "(SELECT name FROM account WHERE id = j.account), "
         "(SELECT text FROM hosts WHERE id = j.hosts)) FROM (SELECT 1) LEFT "
         "JOIN "
         "job_more AS x ON x.job = j.id LEFT JOIN owner AS w ON w.id = "
         "j.owner) = ";

bool bj_job_name_indexed(struct bj_slice name)
{
    return !is_uuid(name);
}

int bj_job_named(struct bj_query *q, struct bj_call *c,
                 const struct bj_params *p, struct bj_slice name)
{
    struct bj_slice cluster, id;
    uint64_t a, b;
    int64_t number;
    int r = 0;
    if (split_key(name, &cluster, &id, &a)) {
        r = bj_words_find(c->reader, BJ_WORD_CLUSTER, cluster, &number,
                          &c->err);
        bj_query_sql(q, " AND j.cluster = ");
        bj_query_int(q, number);
        bj_query_sql(q, " AND j.jobid = ");
        raw_id(q, id);
        bj_query_sql(q, " AND j.submit = ");
        bj_query_int(q, (int64_t)a);
    } else if (is_sluid(name)) {
        bj_query_sql(q, " AND j.sluid = ");
        bj_query_text(q, name);
    } else if (is_uuid(name) && bj_query_wide(c, p)) {
        return bj_call_refuse(
            c, 400,
            "A UUID is searched among the jobs of a user or an account: use "
            "/api/v1/jobs?job=UUID&user=NAME.");
    } else if (is_uuid(name)) {
        bj_query_sql(q, uuid_sql);
        bj_query_text(q, name);
    } else if (split_task(name, &a, &b)) {
        bj_query_sql(q, " AND j.array_job_id = ");
        bj_query_int(q, (int64_t)a);
        bj_query_sql(q, " AND j.array_task = ");
        bj_query_int(q, (int64_t)b);
    } else if (split_het(name, &a, &b)) {
        named_het(q, (int64_t)a, (int64_t)b);
    } else {
        bj_query_sql(q, " AND j.cluster IN (SELECT id FROM cluster)"
                        " AND j.jobid = ");
        raw_id(q, name);
    }
    return r;
}
