#include "statsdb/tables/row.h"

#include "statsdb/tables/row_table.h"

#include <string.h>

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
    [BJ_JOB_DIR] = OWN("dir"),
    [BJ_JOB_LEAF] = {.name = "leaf", .kind = BJ_KIND_ID, .which = 1},
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
};

static const struct bj_row_column more_cols[BJ_MORE_COLS] = {
    [BJ_MORE_JOB] = {"job", BJ_KIND_OWN, 0, 0, 1},
    [BJ_MORE_SHOWN_ID] = {.name = "display_id", .kind = BJ_KIND_ID, .which = 0},
    [BJ_MORE_CANCELLED_BY] = OWN("cancelled_by"),
    [BJ_MORE_EXIT_RAW] = OWN("exit_raw"),
    [BJ_MORE_CPUS_REQUESTED] = OWN("cpus_requested"),
    [BJ_MORE_GPU_MODEL] = OWN("gpu_model"),
    [BJ_MORE_STEPS_LEFT_OUT] = OWN("steps_left_out"),
    [BJ_MORE_REST] = JT("array_tasks", array_tasks, 1),
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
