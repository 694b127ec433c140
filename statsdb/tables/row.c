#include "statsdb/tables/row.h"

#include "sched/state.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* --- tables --------------------------------------------------------------- */

/* Content of a column. U64 to TEXT are copied from a field of a record. */
enum bj_row_kind {
    BJ_KIND_U64,
    BJ_KIND_ENUM, /* a state */
    BJ_KIND_DICT, /* the number of a text in a dictionary; NULL: empty */
    BJ_KIND_TEXT, /* a text, stored as it is */
    BJ_KIND_OWN,  /* a number set by code */
    BJ_KIND_ID    /* a number or a text, set by code */
};

struct bj_row_column {
    const char *name;
    enum bj_row_kind kind;
    unsigned short off;  /* offset in the record */
    unsigned char which; /* dictionary, or index of the text in the row */
    unsigned char key;   /* part of an index */
};

enum { BJ_KEY_COLUMNS = 2 };

struct bj_row_table {
    const char *name;
    const char *key[BJ_KEY_COLUMNS]; /* the columns that identify a row */
    const struct bj_row_column *col;
    unsigned n;
    bool rank; /* has states */
};

/* Is the value a text, with its index in the row?  An id may be a number. */
static bool row_textual(const struct bj_row_column *c)
{
    return c->kind == BJ_KIND_TEXT || c->kind == BJ_KIND_ID;
}

#define J(column, kind_, member)                                               \
    {                                                                          \
        .name = column, .kind = kind_,                                         \
        .off = offsetof(struct bj_sched_job, member)                           \
    }
#define JD(column, member, dict)                                               \
    {                                                                          \
        .name = column, .kind = BJ_KIND_DICT,                                  \
        .off = offsetof(struct bj_sched_job, member), .which = dict            \
    }
#define JT(column, member, place)                                              \
    {                                                                          \
        .name = column, .kind = BJ_KIND_TEXT,                                  \
        .off = offsetof(struct bj_sched_job, member), .which = place           \
    }
#define S(column, kind_, member)                                               \
    {                                                                          \
        .name = column, .kind = kind_,                                         \
        .off = offsetof(struct bj_job_step, member)                            \
    }
#define SD(column, member, dict)                                               \
    {                                                                          \
        .name = column, .kind = BJ_KIND_DICT,                                  \
        .off = offsetof(struct bj_job_step, member), .which = dict             \
    }
#define OWN(column)                                                            \
    {                                                                          \
        .name = column, .kind = BJ_KIND_OWN                                    \
    }

static const struct bj_row_column job_cols[BJ_JOB_COLS] = {
    [BJ_COL_NAME] = JD("name", name, BJ_DICT_JOBNAME),
    [BJ_COL_STATE] = {"state", BJ_KIND_ENUM,
                      offsetof(struct bj_sched_job, state), 0, 1},
    [BJ_COL_STATE_RAW] = JD("state_raw", state_raw, BJ_DICT_WORD),
    [BJ_COL_EXIT_CODE] = J("exit_code", BJ_KIND_U64, exit_code),
    [BJ_COL_EXIT_SIGNAL] = J("exit_signal", BJ_KIND_U64, exit_signal),
    [BJ_COL_START] = {"start", BJ_KIND_U64,
                      offsetof(struct bj_sched_job, start_sec), 0, 1},
    [BJ_COL_END] = {"end", BJ_KIND_U64, offsetof(struct bj_sched_job, end_sec),
                    0, 1},
    [BJ_COL_ELAPSED] = J("elapsed", BJ_KIND_U64, elapsed_sec),
    [BJ_COL_SUSPENDED] = J("suspended", BJ_KIND_U64, suspended_sec),
    [BJ_COL_CPUS] = J("cpus", BJ_KIND_U64, cpus),
    [BJ_COL_NODES] = J("nodes", BJ_KIND_U64, nodes),
    [BJ_COL_HOSTS] = JD("hosts", nodelist, BJ_DICT_HOSTS),
    [BJ_COL_TRES_ALLOCATED] =
        JD("tres_allocated", tres_allocated_raw, BJ_DICT_TRES),
    [BJ_COL_CPU] = J("cpu_usec", BJ_KIND_U64, use.cpu_usec),
    [BJ_COL_CPU_SYSTEM] =
        J("cpu_system_usec", BJ_KIND_U64, use.cpu_system_usec),
    [BJ_COL_CPU_USER] = J("cpu_user_usec", BJ_KIND_U64, use.cpu_user_usec),
    [BJ_COL_TASK_PEAK] =
        J("memory_task_peak_bytes", BJ_KIND_U64, use.mem_task_peak_bytes),
    [BJ_COL_PEAK] =
        J("memory_scheduler_peak_bytes", BJ_KIND_U64, use.mem_peak_bytes),
    [BJ_COL_ENERGY] =
        J("energy_scheduler_joules", BJ_KIND_U64, use.energy_joules),
    [BJ_COL_READ] = J("read_bytes", BJ_KIND_U64, use.read_bytes),
    [BJ_COL_WRITE] = J("write_bytes", BJ_KIND_U64, use.write_bytes),

    [BJ_JOB_CLUSTER] = {"cluster", BJ_KIND_OWN, 0, 0, 1},
    [BJ_JOB_RAW_ID] = {"jobid", BJ_KIND_ID, 0, 0, 1},
    [BJ_JOB_SUBMIT] = {"submit", BJ_KIND_OWN, 0, 0, 1},
    [BJ_JOB_USER] = {"user", BJ_KIND_DICT, offsetof(struct bj_sched_job, user),
                     BJ_DICT_USER, 1},
    [BJ_JOB_ACCOUNT] = {"account", BJ_KIND_DICT,
                        offsetof(struct bj_sched_job, account), BJ_DICT_ACCOUNT,
                        1},
    [BJ_JOB_PARTITION] = {"partition", BJ_KIND_DICT,
                          offsetof(struct bj_sched_job, partition),
                          BJ_DICT_PARTITION, 0},
    [BJ_JOB_QOS] = JD("qos", qos, BJ_DICT_QOS),
    [BJ_JOB_OWNER] = OWN("owner"),
    [BJ_JOB_ELIGIBLE] = J("eligible", BJ_KIND_U64, eligible_sec),
    [BJ_JOB_TIME_LIMIT] = J("time_limit", BJ_KIND_U64, time_limit_sec),
    [BJ_JOB_GPUS] = J("gpus", BJ_KIND_U64, gpus),
    [BJ_JOB_REQUESTED_MEM] =
        J("memory_requested_bytes", BJ_KIND_U64, mem_requested_bytes),
    [BJ_JOB_ALLOCATED_MEM] =
        J("memory_allocated_bytes", BJ_KIND_U64, mem_allocated_bytes),
    [BJ_JOB_TRES_REQUESTED] =
        JD("tres_requested", tres_requested_raw, BJ_DICT_TRES),
    [BJ_JOB_WORK_DIR] = JT("work_dir", work_dir, 1),
    [BJ_JOB_ARRAY_JOB] = {"array_job_id", BJ_KIND_U64,
                          offsetof(struct bj_sched_job, array_job), 0, 1},
    [BJ_JOB_ARRAY_TASK] = J("array_task", BJ_KIND_U64, array_task),
    [BJ_JOB_DERIVED_EXIT_CODE] =
        J("derived_exit_code", BJ_KIND_U64, derived_exit_code),
    [BJ_JOB_DERIVED_EXIT_SIGNAL] =
        J("derived_exit_signal", BJ_KIND_U64, derived_exit_signal),
    [BJ_JOB_RESTARTS] = J("restarts", BJ_KIND_U64, restarts),
    [BJ_JOB_PRIORITY] = J("priority", BJ_KIND_U64, priority),
    [BJ_JOB_TASKS] = J("tasks", BJ_KIND_U64, tasks),
    [BJ_JOB_TASK_TIME] = J("cpu_task_usec", BJ_KIND_U64, use.cpu_task_usec),
    [BJ_JOB_VPEAK] = J("vmemory_peak_bytes", BJ_KIND_U64, use.vmem_peak_bytes),
    [BJ_JOB_REASON] = JD("reason", reason, BJ_DICT_WORD),
    [BJ_JOB_FLAGS] = JD("flags", flags, BJ_DICT_WORD),
    [BJ_JOB_SLUID] = {"sluid", BJ_KIND_TEXT,
                      offsetof(struct bj_sched_job, sluid), 2, 1},
    [BJ_JOB_CPU_SEC] = J("cpu_sec", BJ_KIND_U64, cpu_sec),
    [BJ_JOB_NODE_SEC] = J("node_sec", BJ_KIND_U64, node_sec),
    [BJ_JOB_GPU_SEC] = J("gpu_sec", BJ_KIND_U64, gpu_sec),
    [BJ_JOB_MIB_SEC] = J("memory_mib_sec", BJ_KIND_U64, memory_mib_sec),
    [BJ_JOB_SHOWN_ID] = JT("display_id", display_id, 3),
    [BJ_JOB_EXIT_RAW] = JD("exit_raw", exit_raw, BJ_DICT_WORD),
    [BJ_JOB_CPUS_REQUESTED] = J("cpus_requested", BJ_KIND_U64, cpus_requested),
    [BJ_JOB_GPU_MODEL] = JD("gpu_model", gpu_model, BJ_DICT_WORD),
};

static const struct bj_row_column more_cols[BJ_MORE_COLS] = {
    [BJ_MORE_JOB] = {"job", BJ_KIND_OWN, 0, 0, 1},
    [BJ_MORE_STEPS_LEFT_OUT] = OWN("steps_left_out"),
    [BJ_MORE_ARRAY_TASKS] = JT("array_tasks", array_tasks, 1),
    [BJ_MORE_REST] = J("cancelled_by", BJ_KIND_U64, cancelled_by),
    J("het_job_id", BJ_KIND_U64, het_job),
    J("het_offset", BJ_KIND_U64, het_offset),
    JD("project", project, BJ_DICT_WORD),
    JD("wckey", wckey, BJ_DICT_WORD),
    JD("reservation", reservation, BJ_DICT_WORD),
    JD("constraints", constraints, BJ_DICT_WORD),
    JD("licenses", licenses, BJ_DICT_WORD),
    JD("batch_host", batch_host, BJ_DICT_WORD),
    JD("submit_host", submit_host, BJ_DICT_WORD),
    JT("container", container, 2),
    JT("submit_line", submit_line, 3),
    JT("comment", comment, 4),
    JT("admin_comment", admin_comment, 5),
    JT("system_comment", system_comment, 6),
    JD("failed_node", failed_node, BJ_DICT_WORD),
    JT("stdout_path", stdout_path, 7),
    JT("stderr_path", stderr_path, 8),
};

static const struct bj_row_column step_cols[BJ_STEP_COLS] = {
    [BJ_COL_NAME] = SD("name", name, BJ_DICT_JOBNAME),
    [BJ_COL_STATE] = S("state", BJ_KIND_ENUM, state),
    [BJ_COL_STATE_RAW] = SD("state_raw", state_raw, BJ_DICT_WORD),
    [BJ_COL_EXIT_CODE] = S("exit_code", BJ_KIND_U64, exit_code),
    [BJ_COL_EXIT_SIGNAL] = S("exit_signal", BJ_KIND_U64, exit_signal),
    [BJ_COL_START] = S("start", BJ_KIND_U64, start_sec),
    [BJ_COL_END] = S("end", BJ_KIND_U64, end_sec),
    [BJ_COL_ELAPSED] = S("elapsed", BJ_KIND_U64, elapsed_sec),
    [BJ_COL_SUSPENDED] = S("suspended", BJ_KIND_U64, suspended_sec),
    [BJ_COL_CPUS] = S("cpus", BJ_KIND_U64, cpus),
    [BJ_COL_NODES] = S("nodes", BJ_KIND_U64, nodes),
    [BJ_COL_HOSTS] = SD("hosts", nodelist, BJ_DICT_HOSTS),
    [BJ_COL_TRES_ALLOCATED] =
        SD("tres_allocated", tres_alloc_raw, BJ_DICT_TRES),
    [BJ_COL_CPU] = S("cpu_usec", BJ_KIND_U64, use.cpu_usec),
    [BJ_COL_CPU_SYSTEM] =
        S("cpu_system_usec", BJ_KIND_U64, use.cpu_system_usec),
    [BJ_COL_CPU_USER] = S("cpu_user_usec", BJ_KIND_U64, use.cpu_user_usec),
    [BJ_COL_TASK_PEAK] =
        S("memory_task_peak_bytes", BJ_KIND_U64, use.mem_task_peak_bytes),
    [BJ_COL_PEAK] =
        S("memory_scheduler_peak_bytes", BJ_KIND_U64, use.mem_peak_bytes),
    [BJ_COL_ENERGY] =
        S("energy_scheduler_joules", BJ_KIND_U64, use.energy_joules),
    [BJ_COL_READ] = S("read_bytes", BJ_KIND_U64, use.read_bytes),
    [BJ_COL_WRITE] = S("write_bytes", BJ_KIND_U64, use.write_bytes),

    [BJ_STEP_JOB] = {"job", BJ_KIND_OWN, 0, 0, 1},
    [BJ_STEP_SLOT] = {"slot", BJ_KIND_OWN, 0, 0, 1},
    [BJ_STEP_OTHER] = {"other", BJ_KIND_ID, 0, 0, 1},
    [BJ_STEP_TASKS] = S("tasks", BJ_KIND_U64, tasks),
    [BJ_STEP_PEAK_NODE] = SD("peak_node", mem_peak_node, BJ_DICT_WORD),
    [BJ_STEP_TASK_TIME] = S("cpu_task_usec", BJ_KIND_U64, use.cpu_task_usec),
    [BJ_STEP_VPEAK] = S("vmemory_peak_bytes", BJ_KIND_U64, use.vmem_peak_bytes),
    [BJ_STEP_SUBMIT_LINE] = {"submit_line", BJ_KIND_TEXT,
                             offsetof(struct bj_job_step, submit_line), 1, 0},
};

const struct bj_row_table bj_table_job = {
    "job", {"id"}, job_cols, BJ_JOB_COLS, true};
const struct bj_row_table bj_table_more = {
    "job_more", {"job"}, more_cols, BJ_MORE_COLS, false};
const struct bj_row_table bj_table_step = {
    "step", {"job", "slot"}, step_cols, BJ_STEP_COLS, true};

/* --- from records -------------------------------------------------------- */

static int64_t field_u64(const void *rec, const struct bj_row_column *c)
{
    uint64_t v;
    memcpy(&v, (const char *)rec + c->off, sizeof(v));
    return bj_sql_u64(v);
}

static void set_text(struct bj_row *row, unsigned col, unsigned place,
                     struct bj_slice s)
{
    row->s[place] = s;
    row->v[col] = s.n > 0 ? (int64_t)place : BJ_SQL_NULL;
}

static int fill_one(struct bj_dicts *d, const struct bj_row_column *c,
                    const void *rec, unsigned col, struct bj_row *row,
                    struct bj_err *err)
{
    const char *at = (const char *)rec + c->off;
    struct bj_slice s;
    switch (c->kind) {
    case BJ_KIND_U64:
        row->v[col] = field_u64(rec, c);
        return 0;
    case BJ_KIND_ENUM:
        row->v[col] = *(const enum bj_job_state *)at;
        return 0;
    case BJ_KIND_DICT:
        memcpy(&s, at, sizeof(s));
        row->v[col] = BJ_SQL_NULL;
        if (s.n == 0)
            return 0;
        return bj_dict_text(d, c->which, s, &row->v[col], err);
    case BJ_KIND_TEXT:
        memcpy(&s, at, sizeof(s));
        set_text(row, col, c->which, s);
        return 0;
    case BJ_KIND_OWN:
    case BJ_KIND_ID:
        break;
    }
    row->v[col] = BJ_SQL_NULL;
    return 0;
}

static int row_fill(struct bj_dicts *d, const struct bj_row_table *t,
                    const void *rec, struct bj_row *row, struct bj_err *err)
{
    memset(row->s, 0, sizeof(row->s));
    for (unsigned i = 0; i < t->n; i++) {
        int r = fill_one(d, &t->col[i], rec, i, row, err);
        if (r < 0)
            return bj_err_wrap(err, r, "%s.%s", t->name, t->col[i].name);
    }
    return 0;
}

/* No process runs without memory, and none runs for seconds without CPU time:
 * there a 0 means that nothing was measured, and so does its I/O of 0. */
static void drop_unmeasured(int64_t *v)
{
    static const unsigned char memory[] = {BJ_COL_TASK_PEAK, BJ_COL_PEAK},
                               io[] = {BJ_COL_READ, BJ_COL_WRITE};
    bool gathered = false;
    if (v[BJ_COL_CPU] == 0 && v[BJ_COL_ELAPSED] != 0)
        v[BJ_COL_CPU] = BJ_SQL_NULL;
    /* Of a few milliseconds, both parts may be rounded to 0. */
    if (v[BJ_COL_CPU_USER] == 0 && v[BJ_COL_CPU_SYSTEM] == 0 &&
        (v[BJ_COL_CPU] == BJ_SQL_NULL || v[BJ_COL_CPU] >= 1000000))
        v[BJ_COL_CPU_USER] = v[BJ_COL_CPU_SYSTEM] = BJ_SQL_NULL;
    for (unsigned i = 0; i < 2; i++) {
        if (v[memory[i]] == 0)
            v[memory[i]] = BJ_SQL_NULL;
        gathered = gathered || v[memory[i]] != BJ_SQL_NULL;
    }
    for (unsigned i = 0; i < 2; i++)
        if (!gathered && v[io[i]] == 0)
            v[io[i]] = BJ_SQL_NULL;
}

/* A plain number is stored as an integer, which needs four bytes and sorts
 * numerically. An id with leading zeros stays a text. */
static void set_id(struct bj_row *row, unsigned col, unsigned place,
                   struct bj_slice s)
{
    int64_t v = 0;
    row->s[place] = bj_jobid_number(s, &v) ? (struct bj_slice){NULL, 0} : s;
    row->v[col] = v;
}

int bj_row_job(struct bj_dicts *d, int64_t cluster,
               const struct bj_sched_job *job, struct bj_row *ret,
               struct bj_err *err)
{
    int r = row_fill(d, &bj_table_job, job, ret, err);
    if (r < 0)
        return r;
    drop_unmeasured(ret->v);
    ret->weak = job->snapshot;
    if (job->snapshot && ret->v[BJ_COL_CPU] == 0) /* or not reported yet */
        ret->v[BJ_COL_CPU] = BJ_SQL_NULL;
    ret->v[BJ_JOB_CLUSTER] = cluster;
    set_id(ret, BJ_JOB_RAW_ID, 0, job->jobid);
    if (job->display_id.n == 0)
        set_text(ret, BJ_JOB_SHOWN_ID, 3, job->jobid);
    int64_t submit = bj_sql_u64(job->submit_sec);
    ret->v[BJ_JOB_SUBMIT] = submit == BJ_SQL_NULL ? 0 : submit;
    ret->energy_of_steps = job->energy_of_steps;
    /* No job runs without memory: the scheduler does not allocate it. */
    if (ret->v[BJ_JOB_ALLOCATED_MEM] == 0)
        ret->v[BJ_JOB_ALLOCATED_MEM] = BJ_SQL_NULL;
    int64_t uid = bj_sql_u64(job->uid), gid = bj_sql_u64(job->gid);
    if (uid != BJ_SQL_NULL || gid != BJ_SQL_NULL || job->group.n > 0)
        r = bj_dict_owner(d, uid, gid, job->group, &ret->v[BJ_JOB_OWNER], err);
    return r;
}

int bj_row_more(struct bj_dicts *d, int64_t id, const struct bj_sched_job *job,
                struct bj_row *ret, struct bj_err *err)
{
    int r = row_fill(d, &bj_table_more, job, ret, err);
    ret->v[BJ_MORE_JOB] = id;
    if (job->steps_left_out > 0)
        ret->v[BJ_MORE_STEPS_LEFT_OUT] = job->steps_left_out;
    return r;
}

bool bj_row_more_empty(const struct bj_row *row)
{
    for (unsigned i = BJ_MORE_JOB + 1; i < BJ_MORE_COLS; i++)
        if (row->v[i] != BJ_SQL_NULL)
            return false;
    return true;
}

static int64_t slot_of(struct bj_slice step)
{
    static const struct {
        struct bj_slice name;
        int64_t slot;
    } names[] = {
        {{"batch", 5}, BJ_SLOT_BATCH},
        {{"extern", 6}, BJ_SLOT_EXTERN},
        {{"interactive", 11}, BJ_SLOT_INTERACTIVE},
    };
    uint64_t v;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (bj_slice_eq(step, names[i].name))
            return names[i].slot;
    if (step.n > 0 && (step.p[0] != '0' || step.n == 1) &&
        bj_slice_u64(step, &v) == 0 && v < BJ_SLOT_OTHER - BJ_SLOT_ZERO)
        return (int64_t)v + BJ_SLOT_ZERO;
    return BJ_SLOT_OTHER;
}

int bj_row_step(struct bj_dicts *d, int64_t id, const struct bj_job_step *step,
                struct bj_row *ret, struct bj_err *err)
{
    int r = row_fill(d, &bj_table_step, step, ret, err);
    int64_t slot = slot_of(step->step_id);
    drop_unmeasured(ret->v);
    ret->v[BJ_STEP_JOB] = id;
    ret->v[BJ_STEP_SLOT] = slot;
    if (slot == BJ_SLOT_OTHER)
        set_text(ret, BJ_STEP_OTHER, 0, step->step_id);
    return r;
}

/* --- to and from statements ---------------------------------------------- */

void bj_row_bind_one(const struct bj_row_table *t, const struct bj_row *row,
                     unsigned col, struct bj_st *st, int at)
{
    const struct bj_row_column *c = &t->col[col];
    if (row_textual(c) && row->s[c->which].n > 0)
        bj_st_bind_filled(st, at, row->s[c->which]);
    else if (c->kind == BJ_KIND_ID && row->v[col] != BJ_SQL_NULL)
        bj_st_bind_jobid_number(st, at, row->v[col]);
    else if (row->v[col] != BJ_SQL_NULL)
        bj_st_bind_i64(st, at, row->v[col]);
}

int bj_row_bind(const struct bj_row_table *t, const struct bj_row *row,
                struct bj_st *st)
{
    bj_st_clear(st);
    for (unsigned i = 0; i < t->n; i++)
        bj_row_bind_one(t, row, i, st, (int)i + 1);
    return (int)t->n + 1;
}

int bj_row_bind_plain(const struct bj_row_table *t, const struct bj_row *row,
                      struct bj_st *st)
{
    int at = 1;
    bj_st_clear(st);
    for (unsigned i = 0; i < t->n; i++)
        if (!t->col[i].key)
            bj_row_bind_one(t, row, i, st, at++);
    return at;
}

void bj_row_values(const struct bj_row_table *t, const struct bj_row *row,
                   struct bj_value *ret)
{
    for (unsigned i = 0; i < t->n; i++) {
        const struct bj_row_column *c = &t->col[i];
        if (row_textual(c) && row->s[c->which].n > 0)
            ret[i] = (struct bj_value){BJ_TYPE_TEXT, .text = row->s[c->which]};
        else if (row->v[i] != BJ_SQL_NULL)
            ret[i] = (struct bj_value){BJ_TYPE_INTEGER, .i64 = row->v[i]};
        else
            ret[i].type = BJ_TYPE_NULL;
    }
}

int bj_row_names(const struct bj_row_table *t, const char **ret)
{
    for (unsigned i = 0; i < t->n; i++)
        ret[i] = t->col[i].name;
    return (int)t->n;
}

void bj_row_read(const struct bj_row_table *t, struct bj_st *st, int col,
                 struct bj_row *ret)
{
    ret->weak = ret->energy_of_steps = false;
    for (unsigned i = 0; i < t->n; i++, col++) {
        const struct bj_row_column *c = &t->col[i];
        if (!row_textual(c)) {
            ret->v[i] = bj_st_get_i64(st, col);
        } else if (t == &bj_table_job && i == BJ_JOB_RAW_ID &&
                   bj_jobid_number(bj_st_get_text(st, col), &ret->v[i])) {
            ret->s[c->which] = (struct bj_slice){NULL, 0};
        } else if (bj_st_type(st, col) == BJ_TYPE_TEXT) {
            ret->s[c->which] = bj_st_get_text(st, col);
            ret->v[i] = 0;
        } else {
            ret->s[c->which] = (struct bj_slice){NULL, 0};
            ret->v[i] = bj_st_get_i64(st, col);
        }
    }
}

/* --- SQL ------------------------------------------------------------------ */

void bj_row_sql_columns(const struct bj_row_table *t, struct bj_buf *ret)
{
    for (unsigned i = 0; i < t->n; i++)
        bj_buf_printf(ret, "%s\"%s\"", i ? ", " : "", t->col[i].name);
}

void bj_row_sql_insert(const struct bj_row_table *t, struct bj_buf *ret)
{
    bj_buf_printf(ret, "INSERT INTO %s(", t->name);
    bj_row_sql_columns(t, ret);
    bj_buf_str(ret, ") VALUES(");
    for (unsigned i = 0; i < t->n; i++)
        bj_buf_printf(ret, "%s?%u", i ? ", " : "", i + 1);
    bj_buf_str(ret, ") ON CONFLICT DO NOTHING");
}

void bj_row_sql_update(const struct bj_row_table *t, bool plain,
                       struct bj_buf *ret)
{
    unsigned at = 1;
    bj_buf_printf(ret, "UPDATE %s SET ", t->name);
    for (unsigned i = 0; i < t->n; i++) {
        if (plain && t->col[i].key)
            continue;
        bj_buf_printf(ret, "%s\"%s\" = ?%u", at > 1 ? ", " : "", t->col[i].name,
                      at);
        at++;
    }
    for (int i = 0; i < BJ_KEY_COLUMNS && t->key[i]; i++)
        bj_buf_printf(ret, "%s%s = ?%u", i ? " AND " : " WHERE ", t->key[i],
                      at++);
}

static bool is_key(const struct bj_row_table *t, unsigned col)
{
    for (int i = 0; i < BJ_KEY_COLUMNS && t->key[i]; i++)
        if (strcmp(t->key[i], t->col[col].name) == 0)
            return true;
    return false;
}

void bj_row_sql_change(const struct bj_row_table *t, const char *more,
                       struct bj_buf *ret)
{
    const char *comma = "";
    bj_buf_printf(ret, "UPDATE %s AS t SET ", t->name);
    for (unsigned i = 0; i < t->n; i++)
        if (!is_key(t, i)) {
            bj_buf_printf(ret, "%s\"%s\" = w.\"%s\"", comma, t->col[i].name,
                          t->col[i].name);
            comma = ", ";
        }
    bj_buf_str(ret, " FROM unnest(");
    for (unsigned i = 0; i < t->n; i++)
        bj_buf_printf(ret, "%sCAST(?%u AS %s[])", i ? ", " : "", i + 1,
                      t->col[i].kind == BJ_KIND_TEXT ||
                              t->col[i].kind == BJ_KIND_ID
                          ? "text"
                          : "bigint");
    if (more)
        bj_buf_printf(ret, ", CAST(?%u AS bigint[])", t->n + 1);
    bj_buf_str(ret, ") AS w(");
    bj_row_sql_columns(t, ret);
    bj_buf_printf(ret, "%s%s)", more ? ", " : "", more ? more : "");
    for (int i = 0; i < BJ_KEY_COLUMNS && t->key[i]; i++)
        bj_buf_printf(ret, "%st.%s = w.%s", i ? " AND " : " WHERE ", t->key[i],
                      t->key[i]);
}

/* --- merging ---------------------------------------------------------------
 */

/* It has ended, and nothing says how. */
static bool ended_unknown(const struct bj_row *row)
{
    return row->v[BJ_COL_STATE] == BJ_STATE_UNKNOWN &&
           row->v[BJ_COL_END] != BJ_SQL_NULL;
}

/* Rank of a row's state: later states win. A requeued run may continue under
 * the same key if the scheduler does not count runs; a resized one continues.
 */
static int rank(const struct bj_row *row)
{
    const int64_t state = row->v[BJ_COL_STATE];
    if (ended_unknown(row))
        return 2;
    if (state == BJ_STATE_RUNNING || state == BJ_STATE_SUSPENDED ||
        state == BJ_STATE_REQUEUED || state == BJ_STATE_RESIZED)
        return 1;
    return state == BJ_STATE_PENDING || state == BJ_STATE_UNKNOWN ? 0 : 2;
}

static bool row_known(const struct bj_row_column *c, const struct bj_row *row,
                      unsigned col)
{
    if (row_textual(c))
        return row->s[c->which].n > 0 || row->v[col] != BJ_SQL_NULL;
    if (c->kind == BJ_KIND_ENUM)
        return row->v[col] != BJ_STATE_UNKNOWN;
    return row->v[col] != BJ_SQL_NULL;
}

static bool differ(const struct bj_row_column *c, const struct bj_row *a,
                   const struct bj_row *b, unsigned col)
{
    if (!row_textual(c))
        return a->v[col] != b->v[col];
    return !bj_slice_eq(a->s[c->which], b->s[c->which]) ||
           (a->s[c->which].n == 0 && a->v[col] != b->v[col]);
}

static void copy_value(const struct bj_row_column *c, const struct bj_row *from,
                       struct bj_row *to, unsigned col)
{
    to->v[col] = from->v[col];
    if (row_textual(c))
        to->s[c->which] = from->s[c->which];
}

/* Usage only grows during a run, and an answer for a period lacks what was used
 * outside of it; of steps that were left out, the most are known. */
static bool is_usage(const struct bj_row_table *t, unsigned col)
{
    if (t == &bj_table_more)
        return col == BJ_MORE_STEPS_LEFT_OUT;
    return (col >= BJ_COL_CPU && col <= BJ_COL_WRITE) ||
           col == (t == &bj_table_job ? (unsigned)BJ_JOB_VPEAK
                                      : (unsigned)BJ_STEP_VPEAK);
}

/* Do two ended rows describe the same run?  A scheduler that does not count
 * runs reports them under one key. */
static bool same_run(const struct bj_row *a, const struct bj_row *b)
{
    const int64_t start = a->v[BJ_COL_START], other = b->v[BJ_COL_START];
    return rank(a) == 2 && rank(b) == 2 &&
           (start == BJ_SQL_NULL || other == BJ_SQL_NULL || start == other);
}

/* CPU time is one value in three columns: its parts must come from the row of
 * the total. */
static void merge_cpu_parts(const struct bj_row *old, const struct bj_row *new,
                            struct bj_row *row)
{
    const bool from_new = new->v[BJ_COL_CPU] != BJ_SQL_NULL &&
                          row->v[BJ_COL_CPU] == new->v[BJ_COL_CPU];
    const struct bj_row *of = from_new ? new : old;
    if (of->v[BJ_COL_CPU] == BJ_SQL_NULL ||
        of->v[BJ_COL_CPU_SYSTEM] == BJ_SQL_NULL)
        return;
    row->v[BJ_COL_CPU_SYSTEM] = of->v[BJ_COL_CPU_SYSTEM];
    row->v[BJ_COL_CPU_USER] = of->v[BJ_COL_CPU_USER];
}

/* PBS reports first that a job was deleted, then that a signal ended it. */
static bool ends_cancelled(const struct bj_row *old, const struct bj_row *row)
{
    return old->v[BJ_COL_STATE] == BJ_STATE_CANCELLED &&
           row->v[BJ_COL_STATE] == BJ_STATE_FAILED &&
           row->v[BJ_COL_EXIT_SIGNAL] > 0;
}

/* The change from a row to another. */
static enum bj_row_change change_of(const struct bj_row_table *t,
                                    const struct bj_row *old,
                                    const struct bj_row *row)
{
    enum bj_row_change change = BJ_ROW_SAME;
    for (unsigned i = 0; i < t->n; i++)
        if (differ(&t->col[i], old, row, i)) {
            if (t->col[i].key)
                return BJ_ROW_INDEXED;
            change = BJ_ROW_PLAIN;
        }
    return change;
}

enum bj_row_change bj_row_merge(const struct bj_row_table *t,
                                const struct bj_row *old, struct bj_row *row)
{
    bool stale = false, open = false, unknown = false, larger = !t->rank;
    if (t == &bj_table_job)
        row->weak = row->weak &&
                    bj_state_ended((enum bj_job_state)old->v[BJ_COL_STATE]);
    if (t == &bj_table_job && ends_cancelled(old, row))
        row->v[BJ_COL_STATE] = BJ_STATE_CANCELLED;
    const struct bj_row new = *row;
    if (t->rank) {
        stale = rank(row) < rank(old) || row->weak;
        open =
            !stale && row->v[BJ_COL_STATE] != BJ_STATE_UNKNOWN && rank(row) < 2;
        unknown = ended_unknown(row) && rank(old) < 2;
        larger = same_run(old, row) && !row->weak;
    }
    stale = stale || row->weak;
    for (unsigned i = 0; i < t->n; i++) {
        const struct bj_row_column *c = &t->col[i];
        /* A running job has no end, even if the old row has one. */
        if ((open && i == BJ_COL_END) || (unknown && i == BJ_COL_STATE))
            continue;
        if (!row_known(c, row, i) || (stale && row_known(c, old, i)) ||
            (larger && is_usage(t, i) && old->v[i] > row->v[i]))
            copy_value(c, old, row, i);
    }
    if (t->rank)
        merge_cpu_parts(old, &new, row);
    return change_of(t, old, row);
}

/* --- usage of the steps ---------------------------------------------------
 */

static uint64_t unsigned_of(int64_t v)
{
    return v < 0 ? BJ_ABSENT : (uint64_t)v;
}

static void read_use(const struct bj_row *row, unsigned vpeak,
                     struct bj_sched_usage *ret)
{
    const int64_t *v = row->v;
    bj_sched_usage_init(ret);
    ret->cpu_usec = unsigned_of(v[BJ_COL_CPU]);
    ret->cpu_system_usec = unsigned_of(v[BJ_COL_CPU_SYSTEM]);
    ret->cpu_user_usec = unsigned_of(v[BJ_COL_CPU_USER]);
    ret->mem_task_peak_bytes = unsigned_of(v[BJ_COL_TASK_PEAK]);
    ret->mem_peak_bytes = unsigned_of(v[BJ_COL_PEAK]);
    ret->vmem_peak_bytes = unsigned_of(v[vpeak]);
    ret->energy_joules = unsigned_of(v[BJ_COL_ENERGY]);
    ret->read_bytes = unsigned_of(v[BJ_COL_READ]);
    ret->write_bytes = unsigned_of(v[BJ_COL_WRITE]);
}

void bj_row_add_step(const struct bj_row *row, struct bj_step_sum *sum)
{
    const int64_t slot = row->v[BJ_STEP_SLOT];
    struct bj_job_step step;
    bj_job_step_init(&step);
    step.step_id = slot == BJ_SLOT_BATCH    ? BJ_SLICE("batch")
                   : slot == BJ_SLOT_EXTERN ? BJ_SLICE("extern")
                                            : step.step_id;
    step.state = (enum bj_job_state)row->v[BJ_COL_STATE];
    read_use(row, BJ_STEP_VPEAK, &step.use);
    bj_step_sum_add(sum, &step);
}

enum bj_row_change bj_row_complete(const struct bj_step_sum *sum,
                                   const struct bj_row *old, struct bj_row *row)
{
    struct bj_sched_job job;
    const struct bj_sched_usage *use = &job.use;
    bj_sched_job_init(&job);
    job.state = (enum bj_job_state)row->v[BJ_COL_STATE];
    job.energy_of_steps = row->energy_of_steps;
    read_use(row, BJ_JOB_VPEAK, &job.use);
    const struct bj_sched_usage was = *use;
    bj_step_sum_complete(sum, &job);
    if (use->cpu_usec != was.cpu_usec) {
        row->v[BJ_COL_CPU] = bj_sql_u64(use->cpu_usec);
        row->v[BJ_COL_CPU_SYSTEM] = bj_sql_u64(use->cpu_system_usec);
        row->v[BJ_COL_CPU_USER] = bj_sql_u64(use->cpu_user_usec);
    }
    row->v[BJ_COL_TASK_PEAK] = bj_sql_u64(use->mem_task_peak_bytes);
    row->v[BJ_COL_PEAK] = bj_sql_u64(use->mem_peak_bytes);
    row->v[BJ_JOB_VPEAK] = bj_sql_u64(use->vmem_peak_bytes);
    row->v[BJ_COL_ENERGY] = bj_sql_u64(use->energy_joules);
    row->v[BJ_COL_READ] = bj_sql_u64(use->read_bytes);
    row->v[BJ_COL_WRITE] = bj_sql_u64(use->write_bytes);
    return change_of(&bj_table_job, old, row);
}
