#include "statsdb/job/job_name.h"

#include "base/absent.h"
#include "sched/jobid.h"
#include "statsdb/tables/job_number.h"
#include "store/db.h"

#include <string.h>

enum {
    HET_SPAN = 256, /* ids that Slurm may skip between components */
    RANGES = 64,    /* of tasks in one name */
    SLUID_LEN = 14  /* "s" and 13 digits */
};

/* --- parsing ---------------------------------------------------------------
 */

static bool is_sluid(struct bj_slice s)
{
    if (s.n != SLUID_LEN || (s.p[0] | 32) != 's')
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (!memchr("0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz",
                    s.p[i], 54))
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
                : !memchr("0123456789abcdef", s.p[i], 16))
            return false;
    return true;
}

/* "cluster:jobid:submit"; a jobid may contain colons. */
static bool is_key(struct bj_slice s, struct bj_job_name *n)
{
    size_t last = s.n;
    uint64_t submit;
    while (last > 0 && s.p[last - 1] != ':')
        last--;
    if (last == 0 || !bj_slice_field(&s, ':', &n->cluster))
        return false;
    size_t gone = n->cluster.n + 1;
    if (last <= gone)
        return false;
    n->jobid = (struct bj_slice){s.p, last - gone - 1};
    struct bj_slice digits = {s.p + (last - gone), s.n - (last - gone)};
    if (n->cluster.n == 0 || n->jobid.n == 0 ||
        bj_slice_u64(digits, &submit) < 0 || submit > INT64_MAX)
        return false;
    n->submit = (int64_t)submit;
    return true;
}

/* Is it a step of Slurm, not a server of PBS? */
static bool is_step(struct bj_slice s)
{
    static const char *const names[] = {"batch", "extern", "interactive"};
    uint64_t number;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (bj_slice_eq(s, bj_slice_str(names[i])))
            return true;
    return bj_slice_u64(s, &number) == 0;
}

/* In an unescaped query string '+' becomes a blank. */
static bool is_component(struct bj_slice s, struct bj_job_name *n)
{
    uint64_t leader, offset;
    if (!bj_slice_number(&s, &leader) || s.n < 2 ||
        (s.p[0] != '+' && s.p[0] != ' ') ||
        bj_slice_u64((struct bj_slice){s.p + 1, s.n - 1}, &offset) < 0 ||
        leader > INT64_MAX / 2 || offset > INT64_MAX / 4)
        return false;
    n->kind = BJ_NAME_COMPONENT;
    n->number = (int64_t)leader;
    n->part = (int64_t)offset;
    return true;
}

/* An id of Slurm; those of LSF and plain ones of PBS look the same. */
static bool is_slurm(struct bj_slice s, struct bj_job_name *n)
{
    struct bj_jobid id;
    if (bj_jobid_slurm(s, &id) < 0 || (id.step.n > 0 && !is_step(id.step)))
        return false;
    n->text = id.without_step;
    if (is_component(id.without_step, n))
        return true;
    n->number = (int64_t)id.number;
    if (id.task != BJ_ABSENT) {
        n->kind = BJ_NAME_TASK;
        n->part = (int64_t)id.task;
    } else if (id.array) {
        n->kind = BJ_NAME_TASKS;
        n->tasks = id.tasks;
    } else {
        n->kind = BJ_NAME_JOB;
    }
    /* An id with leading zeros is kept as text. */
    return n->kind != BJ_NAME_JOB || id.without_step.p[0] != '0' ||
           id.without_step.n == 1;
}

struct bj_job_name bj_job_name_parse(struct bj_slice s)
{
    struct bj_job_name n = {.text = s};
    if (is_key(s, &n))
        n.kind = BJ_NAME_KEY;
    else if (is_sluid(s))
        n.kind = BJ_NAME_SLUID;
    else if (is_uuid(s))
        n.kind = BJ_NAME_UUID;
    else if (!is_slurm(s, &n) && !is_component(s, &n))
        n.kind = BJ_NAME_JOBID;
    return n;
}

struct bj_slice bj_job_name_cut(struct bj_slice *list)
{
    size_t n = 0;
    for (bool inside = false; n < list->n && (inside || list->p[n] != ','); n++)
        inside = list->p[n] == '[' || (inside && list->p[n] != ']');
    struct bj_slice one = {list->p, n};
    n += n < list->n;
    *list = (struct bj_slice){list->p + n, list->n - n};
    return one;
}

/* --- queries ---------------------------------------------------------------
 */

/* Uses the index over cluster, jobid and submit. */
#define BY_JOBID                                                               \
    "SELECT id FROM job WHERE cluster IN (SELECT id FROM cluster) AND "

/* Select texts that begin with an id followed by a character from low to high
 * (exclusive). */
static void put_prefix(struct bj_sql_build *b, struct bj_slice id,
                       const char *low, const char *high)
{
    bj_sql_build_add(b, " UNION ALL " BY_JOBID "jobid >= ");
    bj_sql_build_text(b, id);
    bj_buf_printf(&b->sql, " || '%s' AND jobid < ", low);
    bj_sql_build_text(b, id);
    bj_buf_printf(&b->sql, " || '%s'", high);
}

/* Select a jobid, with or without PBS' suffix. */
static void by_jobid(struct bj_sql_build *b, struct bj_slice id)
{
    bj_sql_build_add(b, BY_JOBID "jobid = ");
    bj_sql_build_jobid(b, id);
    put_prefix(b, id, ".", "/");
}

/* Select components of a heterogeneous job: their ids follow that of the
 * leader; Slurm skips ids in use. */
static void by_leader(struct bj_sql_build *b, const struct bj_job_name *n,
                      bool one)
{
    /* the first and the last of these ids */
    int64_t first = n->number + (one ? 0 : 1);
    int64_t last = n->number + HET_SPAN + (one ? n->part : -1);
    const bool texts = b->dialect == BJ_DIALECT_POSTGRESQL;
    bj_sql_build_add(b, BY_JOBID "jobid ");
    bj_sql_build_add(b, texts ? "IN (SELECT CAST(n AS TEXT) FROM"
                                " generate_series("
                              : "BETWEEN ");
    bj_sql_build_int(b, first);
    bj_sql_build_add(b, texts ? ", " : " AND ");
    bj_sql_build_int(b, last);
    bj_sql_build_add(b, texts ? ") AS s(n))" : "");
    bj_sql_build_add(b, " AND EXISTS (SELECT 1 FROM job_more AS h WHERE h.job ="
                        " job.id AND h.het_job_id = ");
    bj_sql_build_int(b, n->number);
    if (one) {
        bj_sql_build_add(b, " AND h.het_offset = ");
        bj_sql_build_int(b, n->part);
    }
    bj_sql_build_add(b, ")");
}

static void by_array(struct bj_sql_build *b, int64_t number)
{
    bj_sql_build_add(b, "SELECT id FROM job WHERE array_job_id = ");
    bj_sql_build_int(b, number);
}

static void name_by_number(struct bj_sql_build *b, const struct bj_job_name *n)
{
    put_prefix(b, n->text, "[", "\\");
    bj_sql_build_add(b, " UNION ALL ");
    by_array(b, n->number);
    if (n->number <= INT64_MAX - HET_SPAN) {
        bj_sql_build_add(b, " UNION ALL ");
        by_leader(b, n, false);
    }
}

/* Parse one range: "3", "1-10", "1-10:2". */
static bool range(struct bj_slice s, uint64_t ret[3])
{
    if (!bj_slice_number(&s, &ret[0]))
        return false;
    ret[1] = ret[0];
    ret[2] = 1;
    if (s.n > 0 && s.p[0] == '-') {
        s = (struct bj_slice){s.p + 1, s.n - 1};
        if (!bj_slice_number(&s, &ret[1]))
            return false;
    }
    if (s.n > 0 && s.p[0] == ':') {
        s = (struct bj_slice){s.p + 1, s.n - 1};
        if (!bj_slice_number(&s, &ret[2]))
            return false;
    }
    return s.n == 0 && ret[1] <= INT64_MAX && ret[2] > 0 && ret[2] <= INT64_MAX;
}

/* Select tasks, and the record of all waiting tasks. */
static void by_tasks(struct bj_sql_build *b, const struct bj_job_name *n)
{
    struct bj_slice rest = n->tasks, one;
    const char *limit = rest.n > 0 ? memchr(rest.p, '%', rest.n) : NULL;
    if (limit)
        rest.n = (size_t)(limit - rest.p);
    by_array(b, n->number);
    bj_sql_build_add(b, " AND (1 = 0");
    for (unsigned i = 0; i < RANGES && bj_slice_field(&rest, ',', &one); i++) {
        uint64_t v[3];
        if (!range(one, v))
            continue;
        bj_sql_build_add(b, " OR (array_task BETWEEN ");
        bj_sql_build_int(b, (int64_t)v[0]);
        bj_sql_build_add(b, " AND ");
        bj_sql_build_int(b, (int64_t)v[1]);
        bj_sql_build_add(b, " AND (array_task - ");
        bj_sql_build_int(b, (int64_t)v[0]);
        bj_sql_build_add(b, ") % ");
        bj_sql_build_int(b, (int64_t)v[2]);
        bj_sql_build_add(b, " = 0)");
    }
    bj_sql_build_add(b, ") UNION ");
    by_array(b, n->number);
    bj_sql_build_add(b, " AND (SELECT display_id FROM job_more WHERE job ="
                        " job.id) = ");
    bj_sql_build_text(b, n->text);
}

/* Select the record of waiting tasks, or of tasks that were cancelled together,
 * that contains a task without a record of its own.  Its list is split at its
 * commas, and each part into "first-last:step"; what a truncated list lacks may
 * be any task. */
static void by_member(struct bj_sql_build *b, const struct bj_job_name *n)
{
#define BEFORE(text, mark)                                                     \
    "CASE WHEN instr(" text ", '" mark "') > 0 THEN substr(" text              \
    ", 1, instr(" text ", '" mark "') - 1) ELSE " text " END"
#define BEHIND(text, mark, otherwise)                                          \
    "CASE WHEN instr(" text ", '" mark "') > 0 THEN substr(" text              \
    ", instr(" text ", '" mark "') + 1) ELSE " otherwise " END"
#define NUMBER(text)                                                           \
    "CASE WHEN " text " <> '' AND length(" text ") < 10 AND ltrim(" text       \
    ", '0123456789') = '' THEN CAST(" text " AS INT) END"
    bj_sql_build_add(b, "SELECT id FROM job AS w WHERE array_job_id = ");
    bj_sql_build_int(b, n->number);
    bj_sql_build_add(
        b,
        " AND array_task IS NULL AND EXISTS (WITH RECURSIVE "
        "part(one, rest)"
        " AS (SELECT '', (SELECT " BEFORE(
            "array_tasks",
            "%") " || ','"
                 " FROM job_more WHERE job = w.id) UNION ALL "
                 "SELECT " BEFORE("rest", ",") ", " BEHIND("rest", ",", "''") " FROM part WHERE rest <> '') SELECT 1 FROM (SELECT one, " NUMBER("low") " AS low, " NUMBER(
                     "high") " AS high, " NUMBER("step") " AS "
                                                         "step "
                                                         "FROM "
                                                         "(SELECT "
                                                         "one,"
                                                         " " BEFORE("span", "-") " AS low, " BEHIND(
                                                             "span", "-",
                                                             "span") " AS "
                                                                     "high, "
                                                                     "step FROM"
                                                                     " (SELECT "
                                                                     "one,"
                                                                     " " BEFORE("one", ":") " AS span, " BEHIND(
                                                                         "one",
                                                                         ":",
                                                                         "'1'") " AS step FROM part) AS a) AS a) AS a"
                                                                                " WHERE one = '...' OR (");
    bj_sql_build_int(b, n->part);
    bj_sql_build_add(b, " BETWEEN low AND high AND (");
    bj_sql_build_int(b, n->part);
    bj_sql_build_add(b, " - low) % nullif(step, 0) = 0)) AND NOT EXISTS (SELECT"
                        " 1 FROM job AS o WHERE o.array_job_id = ");
    bj_sql_build_int(b, n->number);
    bj_sql_build_add(b, " AND o.array_task = ");
    bj_sql_build_int(b, n->part);
    bj_sql_build_add(b, " AND o.cluster = w.cluster AND o.submit = w.submit)");
#undef BEFORE
#undef BEHIND
#undef NUMBER
}

static void by_key(struct bj_sql_build *b, const struct bj_job_name *n)
{
    bj_sql_build_add(b, "SELECT id FROM job WHERE cluster = (SELECT id FROM"
                        " cluster WHERE name = ");
    bj_sql_build_text(b, n->cluster);
    bj_sql_build_add(b, ") AND jobid = ");
    bj_sql_build_jobid(b, n->jobid);
    bj_sql_build_add(b, " AND submit = ");
    bj_sql_build_int(b, n->submit);
    if (b->dialect != BJ_DIALECT_POSTGRESQL)
        return;
    /* Read only the partition of that time. */
    bj_sql_build_add(b, " AND id BETWEEN ");
    bj_sql_build_int(b, bj_job_number_first(n->submit));
    bj_sql_build_add(b, " AND ");
    bj_sql_build_int(b, bj_job_number_last(n->submit));
}

/* Select a run by one of its SLUIDs; a resized one has several.  People may
 * write it in lower case. */
static void by_sluid(struct bj_sql_build *b, struct bj_slice text)
{
    char sluid[SLUID_LEN + 1] = "s"; /* letters and digits: is_sluid */
    for (size_t i = 1; i < SLUID_LEN; i++)
        sluid[i] = (char)(text.p[i] >= 'a' && text.p[i] <= 'z' ? text.p[i] - 32
                                                               : text.p[i]);
    bj_buf_printf(&b->sql,
                  "SELECT id FROM job WHERE sluid = '%s' UNION ALL SELECT job"
                  " FROM job_size WHERE sluid = '%s'",
                  sluid, sluid);
}

void bj_job_name_query(const struct bj_job_name *n,
                       enum bj_job_name_parts parts, struct bj_sql_build *b)
{
    switch (n->kind) {
    case BJ_NAME_KEY:
        by_key(b, n);
        return;
    case BJ_NAME_SLUID:
        by_sluid(b, n->text);
        return;
    case BJ_NAME_TASK:
        by_array(b, n->number);
        bj_sql_build_add(b, " AND array_task = ");
        bj_sql_build_int(b, n->part);
        bj_sql_build_add(b, " UNION ALL ");
        by_member(b, n);
        bj_sql_build_add(b, " UNION ALL ");
        by_jobid(b, n->text);
        return;
    case BJ_NAME_TASKS:
        by_tasks(b, n);
        return;
    case BJ_NAME_COMPONENT:
        by_leader(b, n, true);
        return;
    case BJ_NAME_JOB:
        by_jobid(b, n->text);
        if (parts == BJ_NAME_WITH_PARTS)
            name_by_number(b, n);
        return;
    case BJ_NAME_JOBID:
    case BJ_NAME_UUID:
        by_jobid(b, n->text);
        return;
    }
}

int bj_job_name_newest(struct bj_db *db, struct bj_slice name,
                       enum bj_job_name_parts parts, int64_t *ret,
                       struct bj_err *err)
{
    struct bj_sql_build b = {.dialect = bj_db_dialect(db)};
    const struct bj_job_name n = bj_job_name_parse(name);
    struct bj_st *st = NULL;
    bj_buf_str(&b.sql, "SELECT id FROM job WHERE id IN (");
    bj_job_name_query(&n, parts, &b);
    /* A later run of PBS that never began has the submit time of the job. */
    bj_buf_str(&b.sql, ") ORDER BY CASE WHEN array_job_id IS NULL THEN"
                       " coalesce(start, \"end\", submit) ELSE at END DESC,"
                       " id DESC LIMIT 1");
    int r = bj_sql_build_end(&b, err);
    if (r == 0)
        r = bj_db_prepare(db, b.sql.p, &st, err);
    if (r == 0) {
        bj_sql_build_bind(&b, st);
        r = bj_st_row(st, err);
    }
    if (r > 0)
        *ret = bj_st_get_i64(st, 0);
    bj_st_finalize(st);
    bj_sql_build_free(&b);
    return r;
}

int bj_job_name_find(struct bj_db *db, const char *name, int64_t *ret,
                     struct bj_err *err)
{
    int r = bj_job_name_newest(db, bj_slice_str(name), BJ_NAME_WITH_PARTS, ret,
                               err);
    if (r == 0)
        return bj_err_set(err, -EINVAL, "the store has no job '%.60s'", name);
    return r < 0 ? r : 0;
}
