/* The jobs of the tests of reports, with their final records: one job for each
 * kind of report. */
#ifndef BJ_TESTS_UNIT_STATSDB_REPORT_JOBS_H
#define BJ_TESTS_UNIT_STATSDB_REPORT_JOBS_H

#include "statsdb/derive/price.h"
#include "tests/unit/statsdb/test_statsdb_derive.h"

#define GIB(n) (UINT64_C(n) << 30)

/* One node, 4 CPUs, one hour of 80 minutes, 8 GiB. */
static inline void plain_job(struct bj_sched_job *j, const char *id, int64_t at)
{
    make_job(j, id, at, 3600);
    j->nodes = 1;
    j->nodelist = BJ_SLICE("n1");
    j->name = BJ_SLICE("solve");
    j->time_limit_sec = 4800;
    j->use.cpu_usec = BJ_ABSENT;
    j->exit_code = 0;
    j->exit_signal = 0;
}

/* Write a final record of the job on one node; more: additional fields. */
static inline void put_measured(struct derive_rig *w,
                                const struct bj_sched_job *j, const char *host,
                                unsigned cpu_sec, double gib, const char *more)
{
    char text[800], id[32];
    snprintf(id, sizeof(id), "%.*s", (int)j->jobid.n, j->jobid.p);
    snprintf(text, sizeof(text),
             ",\"start\":%llu,\"cpus\":%llu,\"cpu_usec\":%llu,"
             "\"memory_held_peak_bytes\":%llu,"
             "\"memory_charged_peak_bytes\":%llu,\"memory_limit_bytes\":%llu,"
             "\"io_read_bytes\":1073741824,\"io_write_bytes\":5368709120%s",
             (unsigned long long)j->start_sec,
             (unsigned long long)(j->cpus / j->nodes), cpu_sec * 1000000ull,
             (unsigned long long)(gib * (double)GIB(1)),
             (unsigned long long)(gib * (double)GIB(1)),
             (unsigned long long)(j->mem_allocated_bytes / j->nodes), more);
    put_record(w, id, host, (int64_t)j->end_sec, text);
}

#define ENERGY                                                                 \
    ",\"energy_policy\":\"hybrid\",\"energy_uj\":{\"hybrid\":{\"cpu\":"        \
    "720000000000}}"

static inline void put_single(struct derive_rig *w)
{
    struct bj_sched_job j;
    /* 1000: good */
    plain_job(&j, "1000", 0);
    put_job(w, &j);
    put_measured(w, &j, "n1", 13700, 7, ENERGY);
    /* 1001: two GPUs, one of them idle */
    plain_job(&j, "1001", 60);
    j.submit_line = BJ_SLICE("sbatch -c 4 --mem=8G --gres=gpu:h100:2 job.sh");
    j.gpus = 2;
    put_job(w, &j);
    put_measured(
        w, &j, "n1", 13700, 7,
        ",\"gpus\":{\"GPU-a\":{\"index\":\"0\",\"model\":\"H100\","
        "\"held_usec\":3600000000,\"idle_usec\":360000000,\"busy_ppm\":"
        "900000,\"memory_peak_bytes\":8589934592},\"GPU-b\":{\"index\":"
        "\"1\",\"model\":\"H100\",\"held_usec\":3600000000,\"idle_usec\":"
        "3600000000,\"busy_ppm\":0,\"memory_peak_bytes\":0}}");
    /* 1002: too much memory */
    plain_job(&j, "1002", 120);
    j.mem_allocated_bytes = GIB(64);
    j.submit_line = BJ_SLICE("sbatch -c 4 --mem=64G job.sh");
    put_job(w, &j);
    put_measured(w, &j, "n1", 13700, 4.6, "");
    /* 1003: out of memory */
    plain_job(&j, "1003", 180);
    j.state = BJ_STATE_OOM;
    j.submit_line = BJ_SLICE("sbatch --mem-per-cpu=2G job.sh");
    put_job(w, &j);
    put_measured(w, &j, "n1", 13700, 8, ",\"oom_kills\":1");
    /* 1004: time limit */
    plain_job(&j, "1004", 240);
    j.state = BJ_STATE_TIMEOUT;
    j.time_limit_sec = 3600;
    put_job(w, &j);
    put_measured(w, &j, "n1", 13700, 7, "");
    /* 1005: one of three nodes works */
    plain_job(&j, "1005", 300);
    j.cpus = j.cpus_requested = 96;
    j.nodes = 3;
    j.nodelist = BJ_SLICE("n[1-3]");
    j.mem_allocated_bytes = GIB(24);
    j.submit_line = BJ_SLICE("sbatch -N 3 --ntasks-per-node=32 --wrap=./solve");
    put_job(w, &j);
    put_measured(w, &j, "n1", 113000, 7, "");
    put_measured(w, &j, "n2", 0, 0.01, "");
    put_measured(w, &j, "n3", 0, 0.01, "");
}

/* 2000: an array of 20 tasks with 32 GiB each; one uses much more memory and
 * time than the others. */
static inline void put_array(struct derive_rig *w)
{
    struct bj_sched_job j;
    char id[16];
    for (unsigned i = 1; i <= 20; i++) {
        snprintf(id, sizeof(id), "%u", i == 20 ? 2000 : 2000 + i);
        plain_job(&j, id, 1000 + (int64_t)i);
        j.array_job = 2000;
        j.array_task = i;
        j.mem_allocated_bytes = GIB(32);
        j.elapsed_sec = i == 7 ? 4000 : 1800 + i;
        j.end_sec = j.start_sec + j.elapsed_sec;
        put_job(w, &j);
        put_measured(w, &j, "n1", (unsigned)(j.elapsed_sec * 4 / 100 * 95),
                     i == 7 ? 30 : 2.1, "");
    }
}

static inline void put_odd(struct derive_rig *w)
{
    struct bj_sched_job j;
    /* 3000+1: a component of a heterogeneous job */
    plain_job(&j, "3001", 2000);
    j.het_job = 3000;
    j.het_offset = 1;
    j.display_id = BJ_SLICE("3000+1");
    put_job(w, &j);
    put_measured(w, &j, "n1", 13700, 7, "");
    /* 3100: requeued; this is its second run */
    plain_job(&j, "3100", 2100);
    j.state = BJ_STATE_NODE_FAIL;
    put_job(w, &j);
    plain_job(&j, "3100", 9000);
    j.restarts = 1;
    put_job(w, &j);
    put_measured(w, &j, "n1", 5400, 7, "");
    /* 3200: very short */
    plain_job(&j, "3200", 2200);
    j.elapsed_sec = 12;
    j.end_sec = j.start_sec + 12;
    put_job(w, &j);
    put_measured(w, &j, "n1", 1, 0.1, "");
    /* 3300: nothing was measured */
    plain_job(&j, "3300", 2300);
    put_job(w, &j);
    /* 3400: hostile names, and a failure */
    plain_job(&j, "3400", 2400);
    j.state = BJ_STATE_FAILED;
    j.exit_code = 3;
    j.name = BJ_SLICE("=1+\"x\"<script>\n\033[2J\xff\\\xe2\x80\xae");
    j.user = BJ_SLICE("a'; DROP--");
    put_job(w, &j);
    put_measured(w, &j, "n1", 5400, 1, "");
    /* 3500: pending, with a reason */
    bj_sched_job_init(&j);
    j.jobid = BJ_SLICE("3500");
    j.batch_system = BJ_SLICE("slurm");
    j.user = BJ_SLICE("anna");
    j.account = BJ_SLICE("phys");
    j.partition = BJ_SLICE("long");
    j.state = BJ_STATE_PENDING;
    j.reason = BJ_SLICE("Priority");
    j.submit_sec = T0 + 2500;
    j.cpus = j.cpus_requested = 4;
    j.nodes = 1;
    put_job(w, &j);
    /* 3600: a serial program on four CPUs; the scheduler measured it */
    plain_job(&j, "3600", 2600);
    j.submit_line = BJ_SLICE("sbatch -c 4 --mem-per-cpu=2G job.sh");
    j.use.cpu_usec = UINT64_C(3550) * 1000000;
    j.use.mem_task_peak_bytes = GIB(7);
    put_job(w, &j);
    /* 3700: 3 of 32 CPUs, a tenth of the limit */
    plain_job(&j, "3700", 2700);
    j.submit_line = BJ_SLICE("sbatch -c32 -t 1-0 job.sh");
    j.cpus = j.cpus_requested = 32;
    j.time_limit_sec = 86400;
    put_job(w, &j);
    put_measured(w, &j, "n1", 11000, 7, "");
}

static inline void put_prices(struct derive_rig *w)
{
    char text[5][8] = {"EUR", "0.01", "0.5", "0.002", "0.25"};
    OK(bj_prices_write(w->s,
                       &(struct bj_report_conf){.currency = text[0],
                                                .cpu_hour = text[1],
                                                .gpu_hour = text[2],
                                                .gib_hour = text[3],
                                                .kwh = text[4]},
                       &err));
}

static inline void put_report_jobs(struct derive_rig *w)
{
    put_prices(w);
    put_single(w);
    put_array(w);
    put_odd(w);
    derive_all(w);
}

#endif
