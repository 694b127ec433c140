#include "sched/pbs_attr.h"

#include "sched/hostlist.h"
#include "sched/jobid.h"
#include "sched/value.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static int pbs_attr_text(struct bj_slice s, void *to)
{
    *(struct bj_slice *)to = s;
    return 0;
}

/* PBS writes this attribute before all text of users, which can contain it,
 * too: the first value is that of PBS. */
static int pbs_attr_first(struct bj_slice s, void *to)
{
    const struct bj_slice *have = to;
    return have->n > 0 ? 0 : pbs_attr_text(s, to);
}

/* Where PBS escapes no quotes, free text can contain this attribute, too: with
 * different values none of them counts. */
static int only(struct bj_slice s, void *to)
{
    struct bj_slice *have = to;
    if (have->p && !bj_slice_eq(*have, s)) {
        *have = (struct bj_slice){"", 0};
        return -EINVAL;
    }
    *have = s;
    return 0;
}

static int letter(struct bj_slice s, void *to)
{
    return s.n == 1 ? pbs_attr_text(s, to) : -EINVAL;
}

/* "_pbs_project_default" means no project. */
static int project(struct bj_slice s, void *to)
{
    return bj_slice_eq(s, BJ_SLICE("_pbs_project_default"))
               ? 0
               : pbs_attr_text(s, to);
}

static int hosts(struct bj_slice s, void *to)
{
    uint64_t n;
    const int r = bj_hostlist_count(s, BJ_HOSTS_PBS, &n);
    return r < 0 ? r : pbs_attr_text(s, to);
}

static int pbs_attr_number(struct bj_slice s, void *to)
{
    return bj_slice_u64(s, to);
}

/* 0 is none: the start of a job that is deleted while it begins to run. */
static int pbs_attr_moment(struct bj_slice s, void *to)
{
    return bj_slice_eq(s, BJ_SLICE("0")) ? 0 : bj_time_pbs(s, to);
}

static int pbs_attr_seconds(struct bj_slice s, void *to)
{
    return bj_duration_sec(s, to);
}

static int pbs_attr_usec(struct bj_slice s, void *to)
{
    return bj_elapsed_parse(s, to);
}

static int pbs_attr_size(struct bj_slice s, void *to)
{
    return bj_memory_parse(s, 1, to);
}

static int exit_status(struct bj_slice s, void *to)
{
    struct bj_pbs_row *row = to;
    uint64_t v;
    struct bj_slice digits = s;
    const bool minus = s.n > 0 && s.p[0] == '-';
    if (minus) {
        digits.p++;
        digits.n--;
    }
    int r = bj_slice_u64(digits, &v);
    if (r < 0 || v > INT32_MAX)
        return r < 0 ? r : -ERANGE;
    row->job.exit_raw = s;
    row->exit_status = minus ? -(int64_t)v : (int64_t)v;
    return 0;
}

#define J(member) offsetof(struct bj_pbs_row, job.member)
#define ROW(member) offsetof(struct bj_pbs_row, member)

#define TEXT pbs_attr_text, "text"
#define HOSTS hosts, "a list of hosts"
#define NUMBER pbs_attr_number, "a number"
#define MOMENT pbs_attr_moment, "a time"
#define SECONDS pbs_attr_seconds, "a length of time"
#define USEC pbs_attr_usec, "a length of time"
#define SIZE pbs_attr_size, "a size"

/* Sources: OpenPBS, pbs_job_attributes(7), src/server/accounting.c. */
static const struct attr {
    struct bj_slice key;
    int (*parse)(struct bj_slice s, void *to);
    const char *expected;
    size_t at;
} attrs[] = {
    /* qstat */
    {BJ_WORD("Job_Name"), TEXT, J(name)},
    {BJ_WORD("Job_Owner"), pbs_attr_first, "text", ROW(owner)},
    {BJ_WORD("job_state"), letter, "a letter", ROW(state)},
    {BJ_WORD("substate"), NUMBER, ROW(substate)},
    {BJ_WORD("euser"), only, "one value", J(user)},
    {BJ_WORD("egroup"), only, "one value", J(group)},
    {BJ_WORD("Account_Name"), TEXT, J(account)},
    {BJ_WORD("stime"), MOMENT, J(start_sec)},
    {BJ_WORD("obittime"), MOMENT, J(end_sec)},
    {BJ_WORD("mtime"), MOMENT, ROW(modified_sec)},
    {BJ_WORD("comment"), TEXT, J(comment)},
    {BJ_WORD("array_state_count"), TEXT, ROW(tasks)},
    {BJ_WORD("array_indices_remaining"), TEXT, ROW(waiting)},
    {BJ_WORD("Hold_Types"), TEXT, ROW(hold)},
    {BJ_WORD("depend"), TEXT, ROW(depend)},
    {BJ_WORD("Submit_arguments"), TEXT, J(submit_line)},
    {BJ_WORD("Submit_Host"), TEXT, J(submit_host)},
    {BJ_WORD("Priority"), NUMBER, J(priority)},
    {BJ_WORD("reserve_ID"), TEXT, J(reservation)},
    {BJ_WORD("Variable_List.PBS_O_WORKDIR"), TEXT, J(work_dir)},
    /* accounting files */
    {BJ_WORD("jobname"), TEXT, J(name)},
    {BJ_WORD("owner"), pbs_attr_first, "text", ROW(owner)}, /* Torque */
    {BJ_WORD("user"), pbs_attr_first, "text", J(user)},
    {BJ_WORD("group"), pbs_attr_first, "text", J(group)},
    {BJ_WORD("account"), TEXT, J(account)},
    {BJ_WORD("start"), MOMENT, J(start_sec)},
    {BJ_WORD("end"), MOMENT, J(end_sec)},
    {BJ_WORD("resvID"), TEXT, J(reservation)},
    /* both */
    {BJ_WORD("project"), project, "text", J(project)},
    {BJ_WORD("queue"), TEXT, J(partition)},
    {BJ_WORD("ctime"), MOMENT, J(submit_sec)},
    {BJ_WORD("qtime"), MOMENT, ROW(qtime_sec)},
    {BJ_WORD("etime"), MOMENT, J(eligible_sec)},
    {BJ_WORD("exec_host"), HOSTS, ROW(exec_host)},
    {BJ_WORD("exec_vnode"), HOSTS, ROW(exec_vnode)},
    {BJ_WORD("run_count"), NUMBER, ROW(run_count)},
    {BJ_WORD("Exit_status"), exit_status, "a number", 0},
    {BJ_WORD("requestor"), TEXT, ROW(requestor)},
    {BJ_WORD("resources_used.diag_messages"), TEXT, ROW(diagnosis)},
    {BJ_WORD("Resource_List.cput"), USEC, ROW(cpu_limit_usec)},
    {BJ_WORD("Resource_List.walltime"), SECONDS, J(time_limit_sec)},
    {BJ_WORD("Resource_List.mem"), SIZE, J(mem_requested_bytes)},
    {BJ_WORD("Resource_List.ncpus"), NUMBER, J(cpus_requested)},
    {BJ_WORD("Resource_List.mpiprocs"), NUMBER, J(tasks)},
    {BJ_WORD("Resource_List.ngpus"), NUMBER, ROW(gpus_requested)},
    {BJ_WORD("Resource_List.naccelerators"), NUMBER,
     ROW(accelerators_requested)},
    /* PBS makes a select of nodes; Torque has no select. */
    {BJ_WORD("Resource_List.nodes"), pbs_attr_first, "text",
     J(tres_requested_raw)},
    {BJ_WORD("Resource_List.select"), TEXT, J(tres_requested_raw)},
    {BJ_WORD("Resource_List.place"), TEXT, J(constraints)},
    {BJ_WORD("resources_used.walltime"), SECONDS, J(elapsed_sec)},
    {BJ_WORD("resources_used.cput"), USEC, J(use.cpu_usec)},
    {BJ_WORD("resources_used.mem"), SIZE, J(use.mem_peak_bytes)},
    {BJ_WORD("resources_used.vmem"), SIZE, J(use.vmem_peak_bytes)},
};

void bj_pbs_row_init(struct bj_pbs_row *row)
{
    bj_sched_job_init(&row->job);
    row->job.batch_system = BJ_SLICE("pbs");
    row->state = row->owner = (struct bj_slice){NULL, 0};
    row->exec_host = row->exec_vnode = (struct bj_slice){NULL, 0};
    row->exit_status = INT64_MIN;
    row->substate = row->qtime_sec = row->modified_sec = BJ_ABSENT;
    row->run_count = row->gpus_requested = BJ_ABSENT;
    row->accelerators_requested = BJ_ABSENT;
    row->tasks = row->hold = row->depend = (struct bj_slice){NULL, 0};
    row->waiting = (struct bj_slice){NULL, 0};
    row->cpu_limit_usec = BJ_ABSENT;
    row->requestor = row->diagnosis = (struct bj_slice){NULL, 0};
}

const char *bj_pbs_attr(struct bj_pbs_row *row, struct bj_slice key,
                        struct bj_slice value)
{
    for (size_t i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
        if (!bj_slice_eq(key, attrs[i].key))
            continue;
        void *to = (char *)row + attrs[i].at;
        return value.n == 0 || attrs[i].parse(value, to) == 0
                   ? NULL
                   : attrs[i].expected;
    }
    return NULL;
}

/* Add the amount of a resource in a chunk of exec_vnode, "n1:ncpus=4:mem=2gb".
 */
static void add_chunk(struct bj_slice chunk, struct bj_slice key,
                      int (*parse)(struct bj_slice, void *), uint64_t *sum)
{
    struct bj_slice part;
    while (bj_slice_field(&chunk, ':', &part)) {
        uint64_t v;
        if (!bj_slice_starts(part, key))
            continue;
        part.p += key.n;
        part.n -= key.n;
        if (parse(part, &v) < 0)
            continue;
        if (*sum == BJ_ABSENT)
            *sum = 0;
        if (__builtin_add_overflow(*sum, v, sum) || *sum == BJ_ABSENT)
            *sum = BJ_ABSENT - 1;
    }
}

/* The allocated resources, from "(n1:ncpus=4:ngpus=1)+(n2:ncpus=4)". */
static void add_vnodes(struct bj_sched_job *job, struct bj_slice vnodes)
{
    struct bj_slice chunk;
    uint64_t accelerators = BJ_ABSENT;
    while (bj_slice_field(&vnodes, '+', &chunk)) {
        if (chunk.n > 0 && chunk.p[0] == '(') {
            chunk.p++;
            chunk.n--;
        }
        if (chunk.n > 0 && chunk.p[chunk.n - 1] == ')')
            chunk.n--;
        add_chunk(chunk, BJ_SLICE("ncpus="), pbs_attr_number, &job->cpus);
        add_chunk(chunk, BJ_SLICE("ngpus="), pbs_attr_number, &job->gpus);
        add_chunk(chunk, BJ_SLICE("naccelerators="), pbs_attr_number,
                  &accelerators);
        add_chunk(chunk, BJ_SLICE("mem="), pbs_attr_size,
                  &job->mem_allocated_bytes);
    }
    if (job->gpus == BJ_ABSENT)
        job->gpus = accelerators == BJ_ABSENT ? 0 : accelerators;
}

static void settle_id(struct bj_sched_job *job, struct bj_slice full_id)
{
    struct bj_jobid id;
    job->jobid = job->display_id = full_id;
    if (bj_jobid_pbs(full_id, &id) < 0)
        return;
    job->id_number = id.number;
    if (id.array) {
        job->array_job = id.number;
        job->array_task = id.task;
        job->array_tasks = id.tasks;
    }
}

/* On Linux PBS adds 256 to the signal that ended a job; smaller values are exit
 * codes of the shell. */
static void settle_exit(struct bj_pbs_row *row)
{
    struct bj_sched_job *job = &row->job;
    if (row->exit_status == INT64_MIN)
        return;
    if (row->exit_status >= 256) {
        job->exit_code = 0;
        job->exit_signal = (uint64_t)row->exit_status % 256;
    } else if (row->exit_status >= 0) {
        job->exit_code = (uint64_t)row->exit_status;
        job->exit_signal = 0;
    }
}

/* A job that waits has no hosts, also if it ran before. */
static int settle_hosts(struct bj_pbs_row *row, struct bj_hostfold *fold)
{
    struct bj_sched_job *job = &row->job;
    struct bj_hosts on = {.hosts = 0};
    if (row->state.n == 1 && memchr("QHWT", row->state.p[0], 4))
        row->exec_host = row->exec_vnode = (struct bj_slice){NULL, 0};
    const struct bj_slice where =
        row->exec_host.n > 0 ? row->exec_host : row->exec_vnode;
    if (bj_hostfold(fold, where, BJ_HOSTS_PBS, &on) == -ENOMEM)
        return -ENOMEM;
    job->nodelist = on.text;
    job->tres_allocated_raw = row->exec_vnode;
    if (row->exec_vnode.n > 0)
        add_vnodes(job, row->exec_vnode);
    if (on.hosts > 0)
        job->nodes = on.hosts;
    if (job->cpus == BJ_ABSENT && on.hosts > 0 && row->exec_host.n > 0)
        job->cpus = on.slots;
    if (job->cpus == BJ_ABSENT)
        job->cpus = job->cpus_requested;
    if (job->gpus == BJ_ABSENT && where.n > 0)
        job->gpus = row->gpus_requested;
    return 0;
}

int bj_pbs_settle(struct bj_pbs_row *row, struct bj_slice id,
                  struct bj_hostfold *fold)
{
    struct bj_sched_job *job = &row->job;
    if (row->gpus_requested == BJ_ABSENT)
        row->gpus_requested = row->accelerators_requested;
    settle_id(job, id);
    settle_exit(row);
    const int r = settle_hosts(row, fold);
    if (job->submit_sec == BJ_ABSENT)
        job->submit_sec = row->qtime_sec;
    if (row->run_count != BJ_ABSENT && row->run_count > 0)
        job->restarts = row->run_count - 1;
    const char *at =
        row->owner.n > 0 ? memchr(row->owner.p, '@', row->owner.n) : NULL;
    if (job->user.n == 0)
        job->user = (struct bj_slice){
            row->owner.p, at ? (size_t)(at - row->owner.p) : row->owner.n};
    if (job->submit_host.n == 0 && at)
        job->submit_host = (struct bj_slice){
            at + 1, row->owner.n - (size_t)(at - row->owner.p) - 1};
    return r;
}

enum bj_job_state bj_pbs_killed(const struct bj_pbs_row *row,
                                enum bj_job_state state)
{
    enum { SHELL = 128, KILL = 9 }; /* a shell ends with 128 and the signal */
    static const struct bj_slice memory = BJ_WORD("mem limit exceeded");
    static const struct bj_slice swap = BJ_WORD("memsw limit exceeded");
    const struct bj_slice found = row->diagnosis;
    const uint64_t used = row->job.use.cpu_usec;
    const bool killed =
        row->job.exit_signal == KILL || row->job.exit_code == SHELL + KILL;
    if (state != BJ_STATE_FAILED)
        return state;
    if (found.n > 0 && (memmem(found.p, found.n, memory.p, memory.n) ||
                        memmem(found.p, found.n, swap.p, swap.n)))
        return BJ_STATE_OOM;
    return killed && row->cpu_limit_usec != BJ_ABSENT && used != BJ_ABSENT &&
                   used >= row->cpu_limit_usec
               ? BJ_STATE_TIMEOUT
               : state;
}
