#include "sched/jobcomp.h"

#include "base/json.h"
#include "sched/sacct_column.h"
#include "sched/state.h"
#include "sched/tres.h"
#include "sched/value.h"

#include <stdio.h>

enum { RECORD_VALUES = 1000, ID_TEXT = 48 };

/* The members of a record, and the columns of sacct that have the same value.
 */
static const struct {
    const char *key;
    struct bj_slice column;
} jobcomp_members[] = {
    {"sluid", BJ_WORD("SLUID")},
    {"cluster", BJ_WORD("Cluster")},
    {"job_name", BJ_WORD("JobName")},
    {"username", BJ_WORD("User")},
    {"user_id", BJ_WORD("UID")},
    {"groupname", BJ_WORD("Group")},
    {"group_id", BJ_WORD("GID")},
    {"account", BJ_WORD("Account")},
    {"wc_key", BJ_WORD("WCKey")},
    {"partition", BJ_WORD("Partition")},
    {"qos", BJ_WORD("QOS")},
    {"state", BJ_WORD("State")},
    {"exit_code", BJ_WORD("ExitCode")},
    {"derived_ec", BJ_WORD("DerivedExitCode")},
    {"@submit", BJ_WORD("Submit")},
    {"@eligible", BJ_WORD("Eligible")},
    {"@start", BJ_WORD("Start")},
    {"@end", BJ_WORD("End")},
    {"elapsed", BJ_WORD("ElapsedRaw")},
    {"total_cpus", BJ_WORD("AllocCPUS")},
    {"total_nodes", BJ_WORD("NNodes")},
    {"nodes", BJ_WORD("NodeList")},
    {"tres_req", BJ_WORD("ReqTRES")},
    {"tres_alloc", BJ_WORD("AllocTRES")},
    {"priority", BJ_WORD("Priority")},
    {"reservation_name", BJ_WORD("Reservation")},
    {"features", BJ_WORD("Constraints")},
    {"work_dir", BJ_WORD("WorkDir")},
    {"container", BJ_WORD("Container")},
    {"comment", BJ_WORD("Comment")},
    {"admin_comment", BJ_WORD("AdminComment")},
    {"failed_node", BJ_WORD("FailedNode")},
    {"std_out", BJ_WORD("StdOut")},
    {"std_err", BJ_WORD("StdErr")},
};

enum { JOBCOMP_MEMBERS = sizeof(jobcomp_members) / sizeof(jobcomp_members[0]) };

static const struct bj_sacct_column *jobcomp_column(struct bj_slice name)
{
    const struct bj_sacct_column *c = bj_sacct_columns;
    while (c->job == BJ_SACCT_NOWHERE || !bj_slice_eq(c->name, name))
        c++;
    return c;
}

/* The id as sacct prints it: "4700_3" of an array task, "4711+1" of a part of a
 * heterogeneous job. Slurm 22.05 writes 0 for jobs that are no such part. */
static struct bj_slice jobcomp_shown_id(struct bj_arena *a,
                                        const struct bj_json *v)
{
    static const struct {
        const char *of, *number;
        char between;
    } ids[] = {{"array_job_id", "array_task_id", '_'},
               {"het_job_id", "het_job_offset", '+'}};
    char text[ID_TEXT];
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t of = bj_json_u64_or(bj_json_get(v, ids[i].of), 0);
        uint64_t number;
        if (of == 0 || bj_json_u64(bj_json_get(v, ids[i].number), &number) < 0)
            continue;
        snprintf(text, sizeof(text), "%llu%c%llu", (unsigned long long)of,
                 ids[i].between, (unsigned long long)number);
        return bj_arena_copy(a, bj_slice_str(text));
    }
    return (struct bj_slice){NULL, 0};
}

/* What the record means where accounting says something else. */
static void jobcomp_settle(struct bj_sched_job *job)
{
    const bool ended = job->end_sec != BJ_ABSENT;
    /* It did not run: its start is then that of its end, or one planned. */
    if (job->nodelist.n == 0) {
        job->start_sec = job->elapsed_sec = BJ_ABSENT;
        job->cpus = job->nodes = BJ_ABSENT;
    }
    /* A requeued job waits again, and so it is called. */
    if (ended && job->state == BJ_STATE_PENDING) {
        job->state = BJ_STATE_REQUEUED;
        job->state_raw = BJ_SLICE("REQUEUED");
    }
    if (bj_state_is_open(job->state))
        job->end_sec = job->elapsed_sec = BJ_ABSENT;
    job->cpus_requested = bj_tres_get(&job->tres_requested, BJ_TRES_CPU);
}

int bj_jobcomp_read(struct bj_arena *a, struct bj_slice text,
                    struct bj_slice cluster,
                    void (*bad)(void *ctx, const struct bj_sacct_bad *bad),
                    void *ctx, struct bj_sched_job *ret,
                    struct bj_slice *ret_script, struct bj_err *err)
{
    const struct bj_json_limits limits = {.values = RECORD_VALUES};
    const struct bj_json *v;
    struct bj_sacct_job_row row = {0};
    uint64_t limit;
    int r = bj_json_parse(a, text, "jobcomp", &limits, &v, err);
    if (r < 0)
        return r;
    bj_sched_job_init(&row.job);
    row.job.batch_system = BJ_SLICE("slurm");
    row.job.cluster = cluster;
    row.job.jobid = bj_json_text(bj_json_get(v, "jobid"));
    for (unsigned i = 0; i < JOBCOMP_MEMBERS; i++) {
        const struct bj_sacct_column *c =
            jobcomp_column(jobcomp_members[i].column);
        const struct bj_slice s =
            bj_json_text(bj_json_get(v, jobcomp_members[i].key));
        if (s.n == 0 || c->parse(s, (char *)&row + c->job) == 0 || !bad)
            continue;
        bad(ctx, &(struct bj_sacct_bad){
                     .job = row.job.jobid,
                     .field = bj_slice_str(jobcomp_members[i].key),
                     .value = s,
                     .expected = c->expected});
    }
    if (bj_json_u64(bj_json_get(v, "time_limit"), &limit) == 0)
        row.job.time_limit_sec = limit;
    row.job_id = jobcomp_shown_id(a, v);
    if (a->failed)
        return bj_err_set(err, -ENOMEM, "jobcomp");
    bj_sacct_settle_job(&row);
    if (row.job.id_number == BJ_ABSENT)
        return bj_err_set(err, -EINVAL, "jobcomp: jobid: expected a number");
    if (row.job.state == BJ_STATE_UNKNOWN)
        return bj_err_set(err, -EINVAL,
                          "jobcomp: state: expected a state of Slurm");
    row.job.snapshot = true;
    const enum bj_jobcomp_kind kind =
        row.job.state == BJ_STATE_RESIZED ? BJ_JOBCOMP_SIZE : BJ_JOBCOMP_JOB;
    jobcomp_settle(&row.job);
    *ret = row.job;
    *ret_script = bj_json_text(bj_json_get(v, "script"));
    return (int)kind;
}
