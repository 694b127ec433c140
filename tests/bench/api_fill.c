/* A store with many jobs, for tests/bench/api.py.
 *
 *   api_fill STORE JOBS
 *
 * A thousand users in fifty accounts, jobs evenly over a year up to now, each
 * derived: with an application, two of three, and findings. */
#include "base/clock.h"
#include "statsdb/derive/derive.h"
#include "statsdb/import/upsert.h"
#include "statsdb/tables/application.h"
#include "store/db.h"

#include <stdio.h>

enum { BATCH = 20000, YEAR = 365 * 86400, USERS = 1000 };

struct texts {
    char id[24], user[16], account[16], name[24], host[16], dir[40], tres[64];
};

static uint64_t mix(uint64_t v)
{
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return v ^ (v >> 31);
}

static const char *const lines[] = {"sbatch --wrap='srun vasp_std'",
                                    "sbatch --wrap='srun lmp'",
                                    "sbatch --wrap='srun gmx_mpi'",
                                    "sbatch --wrap='srun pw.x'",
                                    "sbatch run.sh",
                                    "sbatch work.sh"};
enum { LINES = sizeof(lines) / sizeof(lines[0]) };

static void make(struct bj_sched_job *j, struct texts *t, uint64_t n,
                 uint64_t jobs, uint64_t now)
{
    uint64_t r = mix(n), user = r % USERS, cpus = 1u << (r >> 20) % 7;
    uint64_t submit = now - YEAR + (uint64_t)((double)n / (double)jobs * YEAR);
    uint64_t took = 60 + (r >> 32) % 14400;
    bj_sched_job_init(j);
    snprintf(t->id, sizeof(t->id), "%u", (unsigned)n + 1);
    snprintf(t->user, sizeof(t->user), "user%u", (unsigned)user);
    snprintf(t->account, sizeof(t->account), "acct%u", (unsigned)user % 50);
    snprintf(t->name, sizeof(t->name), "run-%u.sh", (unsigned)(r >> 10) % 5000);
    snprintf(t->host, sizeof(t->host), "n%04u", (unsigned)(r >> 12) % 1000);
    snprintf(t->dir, sizeof(t->dir), "/home/%s/w%u", t->user, (unsigned)n % 97);
    snprintf(t->tres, sizeof(t->tres), "cpu=%u,mem=%uM,node=1", (unsigned)cpus,
             (unsigned)cpus * 2000);
    j->batch_system = BJ_SLICE("slurm");
    j->jobid = j->display_id = bj_slice_str(t->id);
    j->user = bj_slice_str(t->user);
    j->group = j->account = bj_slice_str(t->account);
    j->submit_line = bj_slice_str(lines[(r >> 24) % LINES]);
    j->uid = 1000 + user;
    j->gid = 1000 + user % 50;
    j->partition = r & 1 ? BJ_SLICE("cpu") : BJ_SLICE("gpu");
    j->qos = BJ_SLICE("normal");
    j->name = bj_slice_str(t->name);
    j->state = r & 6 ? BJ_STATE_COMPLETED : BJ_STATE_FAILED;
    j->state_raw = r & 6 ? BJ_SLICE("COMPLETED") : BJ_SLICE("FAILED");
    j->exit_code = j->exit_signal = 0;
    j->submit_sec = j->eligible_sec = submit;
    j->start_sec = submit + r % 600;
    j->end_sec = j->start_sec + took;
    j->elapsed_sec = took;
    j->time_limit_sec = r >> 40 & 1 ? 86400 : took + took / 2; /* a finding */
    j->cpus = j->cpus_requested = cpus;
    j->nodes = 1;
    j->nodelist = bj_slice_str(t->host);
    j->mem_requested_bytes = j->mem_allocated_bytes = cpus * 2000 << 20;
    j->gpus = r & 1 ? 0 : 1;
    j->tres_requested_raw = j->tres_allocated_raw = bj_slice_str(t->tres);
    j->use.cpu_usec = took * cpus * 800000;
    j->use.mem_task_peak_bytes = j->use.mem_peak_bytes = cpus * 900 << 20;
    j->use.energy_joules = took * cpus * 5;
    j->work_dir = bj_slice_str(t->dir);
}

static int derive_all(struct bj_store *s, int64_t now, struct bj_err *err)
{
    struct bj_derive_options opt = {.findings_sec = 0};
    struct bj_rules *rules = NULL;
    struct bj_applications *applications = NULL;
    struct bj_derive *d = NULL;
    int r = bj_rules_text("", BJ_SLICE(""), &rules, err);
    if (r == 0)
        r = bj_applications_load(NULL, &applications, err);
    opt.rules = rules;
    opt.applications = applications;
    if (r == 0)
        r = bj_derive_new(s, &opt, &d, err);
    while (r == 0 && (r = bj_derive_step(d, now, 5000, err)) > 0)
        r = 0;
    bj_derive_free(d);
    bj_rules_free(rules);
    bj_applications_free(applications);
    return r;
}

int main(int argc, char **argv)
{
    struct bj_err err = {0};
    struct bj_store *s;
    struct bj_upsert *u;
    struct texts t;
    struct bj_sched_job j;
    uint64_t jobs = 0, now = bj_clock_wall_usec() / 1000000 - 7200;
    if (argc != 3 || bj_slice_u64(bj_slice_str(argv[2]), &jobs) < 0)
        return 2;
    bj_db_single_thread();
    struct bj_store_options opt = {.path = argv[1], .cache_bytes = 64 << 20};
    int r = bj_store_open(&opt, &s, &err);
    if (r == 0)
        r = bj_upsert_new(s, &u, &err);
    for (uint64_t n = 0; r == 0 && n < jobs; n++) {
        if (n % BATCH == 0)
            r = bj_upsert_begin(u, &err);
        make(&j, &t, n, jobs, now);
        if (r == 0)
            r = bj_upsert_job(u, BJ_SLICE("bench"), &j, &err);
        if (r == 0 && (n % BATCH == BATCH - 1 || n == jobs - 1))
            r = bj_upsert_commit(u, &err);
    }
    if (r == 0)
        r = derive_all(s, (int64_t)now, &err);
    if (r < 0) {
        fprintf(stderr, "api_fill: %s\n", err.msg);
        return 1;
    }
    bj_upsert_free(u);
    if (bj_db_exec(bj_store_db(s), "PRAGMA wal_checkpoint(TRUNCATE)", &err) < 0)
        fprintf(stderr, "api_fill: %s\n", err.msg);
    bj_store_close(s);
    return 0;
}
