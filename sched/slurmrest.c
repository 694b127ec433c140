#include "sched/slurmrest.h"

#include "base/array.h"
#include "base/buf.h"
#include "sched/job.h"
#include "sched/slurmjson.h"
#include "sched/slurmrest_value.h"
#include "sched/state.h"
#include "sched/tres.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS_MAX = 1000 };

struct bj_slurmrest {
    struct bj_slurmrest_conf conf;
    struct bj_slurmrest_counts counts;
    struct bj_json_stream *stream;
    struct bj_slurmjson_fix fix;
    struct bj_arena arena; /* of the current job */
    struct bj_sched_job job;
    struct bj_job_step *step;
    size_t steps_cap;
    struct bj_step_sum step_sum;
    char first_error[BJ_REST_ERROR]; /* the first of "errors" */
};

/* A field: its path in the document and its offset in the record.  Of several
 * paths for the same offset the last one present counts. */
struct field {
    const char *path;
    int (*parse)(const struct bj_json *v, struct bj_arena *a, void *to);
    const char *expected;
    size_t at;
};

#define J(member) offsetof(struct bj_sched_job, member)
#define S(member) offsetof(struct bj_job_step, member)

#define TEXT bj_rest_text, "a text"
#define WORDS bj_rest_words, "a text or a list of them"
#define NUMBER bj_rest_number, "a number"
#define TIME bj_rest_time, "a time"
#define MINUTES bj_rest_minutes, "minutes"
#define USEC bj_rest_usec, "seconds and microseconds"
#define ENERGY bj_rest_energy, "joules"
#define EXIT bj_rest_exit, "an exit code"
#define TRES bj_rest_tres, "a list of resources"
#define TRES_TEXT bj_rest_tres_text, "a list of resources"

static const struct field job_fields[] = {
    {"sluid", TEXT, J(sluid)},
    {"original_sluid", TEXT, J(original_sluid)},
    {"cluster", TEXT, J(cluster)},
    {"association.account", TEXT, J(account)},
    {"account", TEXT, J(account)},
    {"association.user", TEXT, J(user)},
    {"user", TEXT, J(user)},
    {"group", TEXT, J(group)},
    {"name", TEXT, J(name)},
    {"partition", TEXT, J(partition)},
    {"qos", TEXT, J(qos)},
    {"wckey.wckey", TEXT, J(wckey)},
    {"array.job_id", NUMBER, J(array_job)},
    {"array.task_id", NUMBER, J(array_task)},
    {"array.task", TEXT, J(array_tasks)},
    {"het.job_id", NUMBER, J(het_job)},
    {"het.job_offset", NUMBER, J(het_offset)},
    {"state.current", WORDS, J(state_raw)},
    {"state.reason", TEXT, J(reason)},
    {"exit_code", EXIT, J(exit_code)},
    {"derived_exit_code", EXIT, J(derived_exit_code)},
    {"restart_cnt", NUMBER, J(restarts)},
    {"time.submission", TIME, J(submit_sec)},
    {"time.eligible", TIME, J(eligible_sec)},
    {"time.start", TIME, J(start_sec)},
    {"time.end", TIME, J(end_sec)},
    {"time.elapsed", NUMBER, J(elapsed_sec)},
    {"time.suspended", NUMBER, J(suspended_sec)},
    {"time.limit", MINUTES, J(time_limit_sec)},
    {"time.total", USEC, J(use.cpu_usec)},
    {"time.user", USEC, J(use.cpu_user_usec)},
    {"time.system", USEC, J(use.cpu_system_usec)},
    {"required.CPUs", NUMBER, J(cpus_requested)},
    {"allocation_nodes", NUMBER, J(nodes)},
    {"nodes", TEXT, J(nodelist)},
    {"tres.requested", TRES, J(tres_requested)},
    {"tres.allocated", TRES, J(tres_allocated)},
    {"tres.requested", TRES_TEXT, J(tres_requested_raw)},
    {"tres.allocated", TRES_TEXT, J(tres_allocated_raw)},
    {"priority", NUMBER, J(priority)},
    {"reservation.name", TEXT, J(reservation)},
    {"constraints", TEXT, J(constraints)},
    {"licenses", TEXT, J(licenses)},
    {"flags", WORDS, J(flags)},
    {"working_directory", TEXT, J(work_dir)},
    {"submit_line", TEXT, J(submit_line)},
    {"container", TEXT, J(container)},
    {"comment.job", TEXT, J(comment)},
    {"comment.administrator", TEXT, J(admin_comment)},
    {"comment.system", TEXT, J(system_comment)},
    {"failed_node", TEXT, J(failed_node)},
    {"stdout", TEXT, J(stdout_path)},
    {"stderr", TEXT, J(stderr_path)},
};

static const struct field step_fields[] = {
    {"step.name", TEXT, S(name)},
    {"state", WORDS, S(state_raw)},
    {"time.start", TIME, S(start_sec)},
    {"time.end", TIME, S(end_sec)},
    {"time.elapsed", NUMBER, S(elapsed_sec)},
    {"time.suspended", NUMBER, S(suspended_sec)},
    {"time.total", USEC, S(use.cpu_usec)},
    {"time.user", USEC, S(use.cpu_user_usec)},
    {"time.system", USEC, S(use.cpu_system_usec)},
    {"exit_code", EXIT, S(exit_code)},
    {"tasks.count", NUMBER, S(tasks)},
    {"nodes.count", NUMBER, S(nodes)},
    {"nodes.range", TEXT, S(nodelist)},
    {"statistics.energy.consumed", ENERGY, S(use.energy_joules)},
    {"submit_line", TEXT, S(submit_line)},
    {"tres.allocated", TRES_TEXT, S(tres_alloc_raw)},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void slurmrest_report(struct bj_slurmrest *r,
                             struct bj_slurmrest_bad bad)
{
    if (bad.left_out)
        r->counts.bad_jobs++;
    else
        r->counts.bad_fields++;
    bad.record = r->counts.jobs + r->counts.bad_jobs + !bad.left_out;
    bad.job = r->job.jobid;
    if (r->conf.bad)
        r->conf.bad(r->conf.ctx, &bad);
}

static void read_fields(struct bj_slurmrest *r, const struct bj_json *v,
                        const struct field *f, size_t n, void *record)
{
    for (const struct field *end = f + n; f < end; f++) {
        const struct bj_json *value = bj_json_path(v, f->path);
        if (value && f->parse(value, &r->arena, (char *)record + f->at) < 0)
            slurmrest_report(r, (struct bj_slurmrest_bad){
                                    .field = f->path, .expected = f->expected});
    }
}

/* Slurm 22.05 and older report every code but a signal as success. */
static void mend_exit(enum bj_job_state state, uint64_t *code, uint64_t *sig)
{
    if ((state == BJ_STATE_FAILED || state == BJ_STATE_OOM) && *code == 0 &&
        *sig == 0)
        *code = *sig = BJ_ABSENT;
}

/* Of a state that is a list of words ("PENDING+RESIZING"), sacct prints one. */
static struct bj_slice state_word(struct bj_slice words)
{
    static const struct bj_slice above[] = {{"RESIZING", 8}, {"REQUEUED", 8}};
    struct bj_slice rest = words, word, first = {NULL, 0};
    while (bj_slice_field(&rest, '+', &word)) {
        for (size_t i = 0; i < COUNT(above); i++)
            if (bj_slice_eq(word, above[i]))
                return word;
        if (first.n == 0)
            first = word;
    }
    return first.n > 0 ? first : words;
}

/* --- steps ----------------------------------------------------------------*/

/* "123.batch", "batch", 0, or {"job_id":123,"step_id":"0"}. */
static struct bj_slice step_id(const struct bj_json *step)
{
    const struct bj_json *v = bj_json_path(step, "step.id");
    if (bj_json_kind(v) == BJ_JSON_OBJECT)
        v = bj_json_get(v, "step_id");
    if (bj_json_kind(v) == BJ_JSON_OBJECT) /* {"set","infinite","number"} */
        v = bj_json_get(v, "number");
    struct bj_slice s = bj_json_text(v);
    const char *dot = s.n > 0 ? memchr(s.p, '.', s.n) : NULL;
    if (dot) {
        s.n -= (size_t)(dot + 1 - s.p);
        s.p = dot + 1;
    }
    return s;
}

/* "requested" is bytes read and "consumed" bytes written, in spite of the
 * words. */
static void step_use(const struct bj_json *v, struct bj_job_step *step)
{
    const struct bj_json *total = bj_json_path(v, "tres.requested.total");
    const struct bj_json *max = bj_json_path(v, "tres.requested.max");
    const struct bj_json *out = bj_json_path(v, "tres.consumed.total");
    struct bj_sched_usage *use = &step->use;
    use->mem_peak_bytes = bj_rest_used(total, "mem", "", NULL);
    use->read_bytes = bj_rest_used(total, "fs", "disk", NULL);
    const uint64_t cpu_msec = bj_rest_used(total, "cpu", "", NULL);
    if ((use->cpu_usec == BJ_ABSENT || use->cpu_usec == 0) &&
        cpu_msec < BJ_UNLIMITED / 1000)
        use->cpu_usec = cpu_msec * 1000;
    use->write_bytes = bj_rest_used(out, "fs", "disk", NULL);
    use->vmem_peak_bytes = bj_rest_used(max, "vmem", "", NULL);
    use->mem_task_peak_bytes =
        bj_rest_used(max, "mem", "", &step->mem_peak_node);
    step->cpus =
        bj_rest_used(bj_json_path(v, "tres.allocated"), "cpu", "", NULL);
}

static int read_step(struct bj_slurmrest *r, const struct bj_json *v)
{
    struct bj_job_step step;
    bj_job_step_init(&step);
    step.step_id = step_id(v);
    read_fields(r, v, step_fields, COUNT(step_fields), &step);
    step_use(v, &step);
    step.state_raw = state_word(step.state_raw);
    step.state = bj_state_slurm(step.state_raw, NULL);
    mend_exit(step.state, &step.exit_code, &step.exit_signal);
    bj_step_sum_add(&r->step_sum, &step);
    r->counts.steps++;
    if (r->job.steps >= r->conf.max_steps) {
        r->job.steps_left_out++;
        return 0;
    }
    if (!BJ_GROW(r->step, r->job.steps + 1u, r->steps_cap))
        return -ENOMEM;
    r->step[r->job.steps++] = step;
    return 0;
}

/* --- jobs -----------------------------------------------------------------*/

/* Whether task i is in "0x1F0": its hexadecimal digits begin with the last
 * tasks. */
static bool has_task(struct bj_slice mask, uint64_t i)
{
    static const char digits[] = "0123456789abcdef";
    if (i / 4 >= mask.n - 2)
        return false;
    const char c = mask.p[mask.n - 1 - i / 4];
    const char *at = memchr(digits, c >= 'A' && c <= 'F' ? c | 32 : c, 16);
    return at && ((unsigned)(at - digits) >> i % 4 & 1);
}

/* The tasks that wait, as sacct prints them: "1,3,100-120%3". */
static void settle_tasks(struct bj_slurmrest *r, const struct bj_json *v)
{
    const struct bj_slice mask = r->job.array_tasks;
    struct bj_buf list = {0};
    uint64_t most = BJ_ABSENT, to;
    if (!bj_slice_starts(mask, BJ_SLICE("0x")))
        return;
    for (uint64_t i = 0; i / 4 < mask.n - 2; i = to + 1) {
        to = i;
        if (!has_task(mask, i))
            continue;
        while (has_task(mask, to + 1))
            to++;
        bj_buf_printf(&list, "%s%llu", list.len > 0 ? "," : "",
                      (unsigned long long)i);
        if (to > i)
            bj_buf_printf(&list, "-%llu", (unsigned long long)to);
    }
    if (bj_rest_number(bj_json_path(v, "array.limits.max.running.tasks"),
                       &r->arena, &most) == 0 &&
        most != BJ_ABSENT && most > 0 && list.len > 0)
        bj_buf_printf(&list, "%%%llu", (unsigned long long)most);
    r->job.array_tasks =
        bj_arena_copy(&r->arena, (struct bj_slice){list.p, list.len});
    r->arena.failed = r->arena.failed || list.failed;
    bj_buf_free(&list);
}

/* The id as sacct prints it; 0 means no array and no het job. */
static void settle_ids(struct bj_slurmrest *r, const struct bj_json *v)
{
    struct bj_sched_job *job = &r->job;
    struct bj_buf waiting = {0};
    char text[48];
    int n = 0;
    settle_tasks(r, v);
    if (job->array_job == 0)
        job->array_job = job->array_task = BJ_ABSENT;
    if (job->het_job == 0)
        job->het_job = job->het_offset = BJ_ABSENT;
    job->display_id = job->jobid;
    if (job->array_job != BJ_ABSENT && job->array_task != BJ_ABSENT)
        n = snprintf(text, sizeof(text), "%llu_%llu",
                     (unsigned long long)job->array_job,
                     (unsigned long long)job->array_task);
    else if (job->het_job != BJ_ABSENT && job->het_offset != BJ_ABSENT)
        n = snprintf(text, sizeof(text), "%llu+%llu",
                     (unsigned long long)job->het_job,
                     (unsigned long long)job->het_offset);
    else if (job->array_job != BJ_ABSENT && job->array_tasks.n > 0) {
        bj_buf_printf(&waiting, "%llu_[", (unsigned long long)job->array_job);
        bj_buf_slice(&waiting, job->array_tasks);
        bj_buf_str(&waiting, "]");
        job->display_id =
            bj_arena_copy(&r->arena, (struct bj_slice){waiting.p, waiting.len});
        r->arena.failed = r->arena.failed || waiting.failed;
        bj_buf_free(&waiting);
    }
    if (n > 0)
        job->display_id =
            bj_arena_copy(&r->arena, (struct bj_slice){text, (size_t)n});
}

/* Who cancelled the job, as in the text of sacct: "CANCELLED by 1000". */
static void settle_canceller(struct bj_slurmrest *r, const struct bj_json *v)
{
    struct bj_sched_job *job = &r->job;
    const struct bj_slice user =
        bj_json_text(bj_json_get(v, "kill_request_user"));
    char text[48];
    if (job->state != BJ_STATE_CANCELLED || user.n == 0)
        return;
    if (bj_slice_u64(user, &job->cancelled_by) < 0)
        job->cancelled_by =
            r->conf.uid ? r->conf.uid(r->conf.ctx, user) : BJ_ABSENT;
    if (job->cancelled_by == BJ_ABSENT)
        return;
    const int n = snprintf(text, sizeof(text), "CANCELLED by %llu",
                           (unsigned long long)job->cancelled_by);
    job->state_raw =
        bj_arena_copy(&r->arena, (struct bj_slice){text, (size_t)n});
}

static void slurmrest_settle(struct bj_slurmrest *r, const struct bj_json *v)
{
    struct bj_sched_job *job = &r->job;
    settle_ids(r, v);
    job->state_raw = state_word(job->state_raw);
    job->state = bj_state_slurm(job->state_raw, NULL);
    settle_canceller(r, v);
    mend_exit(job->state, &job->exit_code, &job->exit_signal);
    job->mem_requested_bytes = bj_tres_get(&job->tres_requested, BJ_TRES_MEM);
    job->cpus = job->cpus_requested;
    if (job->tres_allocated.n > 0) {
        const struct bj_tres_list *list = &job->tres_allocated;
        const uint64_t joules = bj_tres_get(list, BJ_TRES_ENERGY);
        job->cpus = bj_tres_get(list, BJ_TRES_CPU);
        job->mem_allocated_bytes = bj_tres_get(list, BJ_TRES_MEM);
        job->gpus =
            bj_tres_sum(list, BJ_TRES_GRES, BJ_SLICE("gpu"), &job->gpu_model);
        if (joules > 0)
            job->use.energy_joules = joules;
    }
    bj_step_sum_end(&r->step_sum, job);
    job->step = job->steps > 0 ? r->step : NULL;
}

static int slurmrest_take_job(void *ctx, struct bj_slice key,
                              const struct bj_json *v, struct bj_err *err)
{
    struct bj_slurmrest *r = ctx;
    struct bj_sched_job *job = &r->job;
    int e = 0;
    (void)key;
    bj_arena_reset(&r->arena);
    bj_step_sum_begin(&r->step_sum);
    bj_sched_job_init(job);
    job->batch_system = BJ_SLICE("slurm");
    job->cluster = r->conf.cluster;
    job->jobid = bj_json_text(bj_json_get(v, "job_id"));
    if (bj_slice_u64(job->jobid, &job->id_number) < 0) {
        slurmrest_report(r, (struct bj_slurmrest_bad){.field = "job_id",
                                                      .expected = "a job id",
                                                      .left_out = true});
        return 0;
    }
    read_fields(r, v, job_fields, COUNT(job_fields), job);
    BJ_JSON_EACH(step, bj_json_get(v, "steps"))
    if (e == 0)
        e = read_step(r, step);
    slurmrest_settle(r, v);
    if (e < 0 || r->arena.failed)
        return bj_err_set(err, -ENOMEM, "slurmrestd: no memory");
    r->counts.jobs++;
    e = r->conf.job(r->conf.ctx, job, err);
    if (e < 0 && err && err->code == 0) /* the stream returns its code */
        bj_err_set(err, e, "slurmrestd: the callback ended the reading");
    return e;
}

static int take_error(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    struct bj_slurmrest *r = ctx;
    (void)key;
    (void)err;
    bj_rest_error(v, r->first_error);
    return 0;
}

enum { TARGET_JOBS, TARGET_ERRORS };

static const struct bj_json_target targets[] = {
    [TARGET_JOBS] = {"jobs", slurmrest_take_job},
    [TARGET_ERRORS] = {"errors", take_error},
    {NULL, NULL},
};

int bj_slurmrest_path(unsigned version, uint64_t start_sec, uint64_t end_sec,
                      const uint64_t *job, size_t jobs,
                      char buf[static BJ_SLURMREST_PATH_MAX])
{
    enum { OLDEST = 37, DUPLICATES = 40, NEWEST = 99 };
    if (version < OLDEST || version > NEWEST ||
        start_sec < BJ_SLURMREST_FIRST_SEC || end_sec < start_sec ||
        end_sec > INT64_MAX || jobs > BJ_SLURMREST_JOBS)
        return -EINVAL;
    size_t n = (size_t)snprintf(
        buf, BJ_SLURMREST_PATH_MAX,
        "/slurmdb/v0.0.%u/jobs?start_time=uts%llu&end_time=uts%llu%s", version,
        (unsigned long long)start_sec, (unsigned long long)end_sec,
        version >= DUPLICATES ? "&show_duplicates=true"
                                "&disable_truncate_usage_time=true"
                              : "");
    for (size_t i = 0; i < jobs && job[i] <= UINT32_MAX; i++)
        n += (size_t)snprintf(buf + n, BJ_SLURMREST_PATH_MAX - n, "&step=%llu",
                              (unsigned long long)job[i]);
    return 0;
}

int bj_slurmrest_new(const struct bj_slurmrest_conf *conf,
                     struct bj_slurmrest **ret, struct bj_err *err)
{
    if (!conf->job)
        return bj_err_set(err, -EINVAL, "slurmrestd: no callback for jobs");
    struct bj_slurmrest *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "slurmrestd: no memory");
    r->conf = *conf;
    if (r->conf.max_steps == 0)
        r->conf.max_steps = STEPS_MAX;
    int e = bj_json_stream_new(targets, r, "slurmrestd", NULL, &r->stream, err);
    if (e < 0) {
        free(r);
        return e;
    }
    *ret = r;
    return 0;
}

static int feed(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    struct bj_slurmrest *r = ctx;
    return bj_json_stream_feed(r->stream, piece, err);
}

int bj_slurmrest_feed(struct bj_slurmrest *r, struct bj_slice piece,
                      struct bj_err *err)
{
    r->counts.bytes += piece.n;
    return bj_slurmjson_fix(&r->fix, piece, feed, r, err);
}

int bj_slurmrest_end(struct bj_slurmrest *r, struct bj_err *err)
{
    const int e = bj_json_stream_end(r->stream, err);
    if (e < 0)
        return e;
    if (r->first_error[0])
        return bj_err_set(err, -EREMOTEIO, "slurmrestd: %s", r->first_error);
    if (!bj_json_stream_found(r->stream, TARGET_JOBS))
        return bj_err_set(err, -EINVAL, "slurmrestd: no jobs in the reply");
    return 0;
}

const struct bj_slurmrest_counts *
bj_slurmrest_counts(const struct bj_slurmrest *r)
{
    return &r->counts;
}

void bj_slurmrest_free(struct bj_slurmrest *r)
{
    if (!r)
        return;
    bj_json_stream_free(r->stream);
    bj_arena_free(&r->arena);
    free(r->step);
    free(r);
}
