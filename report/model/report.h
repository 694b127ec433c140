/* The report of a job: what it requested, was allocated and used, what was
 * wrong, what that cost, and what to do.  batchjob_acct, the API and the pages
 * show this one model, so their figures are equal.  docs/reports.md has the
 * formulas.
 *
 * Any number may be BJ_SQL_NULL and any text {NULL, 0}: unknown.  Texts belong
 * to the report. */
#ifndef BJ_REPORT_MODEL_REPORT_H
#define BJ_REPORT_MODEL_REPORT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "report/model/sentence.h"
#include "statsdb/job/job_read.h"
#include "store/db.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The columns of a job (statsdb/job/job_column.h) in its report. */
#define BJ_REPORT_COLUMNS(X)                                                   \
    X(KEY, key)                                                                \
    X(CLUSTER, cluster)                                                        \
    X(SYSTEM, batch_system)                                                    \
    X(JOBID, jobid)                                                            \
    X(DISPLAY_ID, display_id)                                                  \
    X(ARRAY, array_job_id)                                                     \
    X(TASK, array_task)                                                        \
    X(HET, het_job_id)                                                         \
    X(HET_OFFSET, het_offset)                                                  \
    X(NAME, name)                                                              \
    X(USER, user)                                                              \
    X(GROUP, group)                                                            \
    X(ACCOUNT, account)                                                        \
    X(PARTITION, partition)                                                    \
    X(QOS, qos)                                                                \
    X(STATE, state)                                                            \
    X(REASON, reason)                                                          \
    X(EXIT_CODE, exit_code)                                                    \
    X(EXIT_SIGNAL, exit_signal)                                                \
    X(RESTARTS, restarts)                                                      \
    X(SUBMIT, submit)                                                          \
    X(START, start)                                                            \
    X(END, end)                                                                \
    X(WAIT, wait_seconds)                                                      \
    X(ELAPSED, elapsed_seconds)                                                \
    X(LIMIT, time_limit_seconds)                                               \
    X(NODES, nodes)                                                            \
    X(NODELIST, nodelist)                                                      \
    X(CPUS, cpus)                                                              \
    X(CPUS_REQUESTED, cpus_requested)                                          \
    X(TASKS, tasks)                                                            \
    X(GPUS, gpus)                                                              \
    X(GPU_MODEL, gpu_model)                                                    \
    X(MEMORY_REQUESTED, memory_requested_bytes)                                \
    X(MEMORY_ALLOCATED, memory_allocated_bytes)                                \
    X(TRES_REQUESTED, tres_requested)                                          \
    X(CONSTRAINTS, constraints)                                                \
    X(SUBMIT_LINE, submit_line)                                                \
    X(SCRIPT_OPTIONS, script_options)                                          \
    X(CPU_ALLOCATED, cpu_allocated_seconds)                                    \
    X(GPU_ALLOCATED, gpu_allocated_seconds)                                    \
    X(CPU_USED, cpu_used_seconds)                                              \
    X(CPU_EFFICIENCY, cpu_efficiency_percent)                                  \
    X(CPU_SOURCE, cpu_efficiency_source)                                       \
    X(TASK_PEAK, memory_task_peak_bytes)                                       \
    X(MEMORY_PEAK, memory_peak_bytes)                                          \
    X(MEMORY_SAMPLED, memory_peak_sampled)                                     \
    X(MEMORY_CHARGED, memory_charged_peak_bytes)                               \
    X(MEMORY_EFFICIENCY, memory_efficiency_percent)                            \
    X(MEMORY_SOURCE, memory_efficiency_source)                                 \
    X(TIME_EFFICIENCY, time_efficiency_percent)                                \
    X(GPU_EFFICIENCY, gpu_efficiency_percent)                                  \
    X(GPUS_MEASURED, gpus_measured)                                            \
    X(GPUS_UNUSED, gpus_unused)                                                \
    X(GPU_HELD, gpu_held_seconds)                                              \
    X(GPU_IDLE, gpu_idle_seconds)                                              \
    X(GPU_MEMORY_PEAK, gpu_memory_peak_bytes)                                  \
    X(GPU_CONFLICTS, gpu_conflicts)                                            \
    X(READ, read_bytes)                                                        \
    X(WRITE, write_bytes)                                                      \
    X(IO_READ, io_read_bytes)                                                  \
    X(IO_WRITE, io_write_bytes)                                                \
    X(MEASURED_NODES, measured_nodes)                                          \
    X(COVERAGE, coverage_percent)                                              \
    X(ENERGY, energy_joules)                                                   \
    X(ENERGY_PARTIAL, energy_partial)                                          \
    X(ENERGY_SOURCE, energy_source)                                            \
    X(EMISSIONS, emissions_grams)                                              \
    X(EMISSIONS_ESTIMATED, emissions_estimated)                                \
    X(COST, cost)                                                              \
    X(COST_MINIMUM, cost_is_minimum)                                           \
    X(NOT_CHARGED, cost_not_charged)                                           \
    X(FAILED_NODE, failed_node)                                                \
    X(CURRENCY, currency)                                                      \
    X(NOW_CPUS, now_cpus_busy)                                                 \
    X(NOW_MEMORY, now_memory_bytes)                                            \
    X(NOW_GPU, now_gpu_busy_percent)

enum bj_report_column {
#define BJ_REPORT_ENUM(upper, lower) BJ_REPORT_##upper,
    BJ_REPORT_COLUMNS(BJ_REPORT_ENUM)
#undef BJ_REPORT_ENUM
        BJ_REPORT_COLUMN_COUNT
};

/* The figures, in this order. */
enum bj_figure {
    BJ_FIGURE_CPU,        /* CPU time */
    BJ_FIGURE_MEMORY,     /* peak of memory held by the whole job */
    BJ_FIGURE_CHARGED,    /* peak of memory charged, page cache included */
    BJ_FIGURE_GPU,        /* GPU time */
    BJ_FIGURE_GPU_MEMORY, /* peak of its GPUs' memory */
    BJ_FIGURE_TIME,       /* run time; allocated: the limit */
    BJ_FIGURE_READ,
    BJ_FIGURE_WRITE,
    BJ_FIGURE_ENERGY,
    BJ_FIGURE_EMISSIONS,
    BJ_FIGURE_COST, /* at the site's prices */
    BJ_FIGURES
};

/* Numbers in millionths of a second, joule, gram or of the currency; bytes in
 * bytes. */
struct bj_report_figure {
    struct bj_slice figure; /* "cpu": its name in JSON */
    struct bj_slice label;  /* "CPU time" */
    struct bj_slice unit;   /* "seconds", "bytes", "joules", "grams", or the
                               currency; unknown: a currency without name */
    int64_t requested, allocated, used;
    int64_t ppm;             /* used divided by allocated */
    struct bj_slice source;  /* "nodes", "prometheus", "scheduler", "prices" */
    struct bj_slice quality; /* "measured", "recorded" by the scheduler,
                                "estimated", "calculated" from recorded and
                                measured amounts, "at least" */
};

struct bj_report_finding {
    struct bj_slice finding, severity, text, advice, url, condition;
    int64_t tasks; /* number of tasks of the array with this finding, which
                      the text names, too */
    int64_t value; /* of the rule's last condition */
};

/* An action because of a finding while the job ran. */
struct bj_report_warning {
    int64_t at;                      /* seconds since 1970 */
    struct bj_slice finding, action; /* "warn", "cancel" */
    struct bj_slice state;           /* statsdb/running/running.h */
    struct bj_slice detail;          /* why it failed, or what happens next */
    struct bj_slice text;            /* a sentence */
};

struct bj_report_advice {
    struct bj_slice advice;       /* "memory": its name */
    struct bj_slice text;         /* a sentence */
    struct bj_slice option;       /* "--mem=6G"; unknown: nothing to paste */
    struct bj_slice line;         /* "#SBATCH --mem=6G" */
    struct bj_slice replaces;     /* "--mem=64G", as the job was submitted */
    struct bj_slice script_lines; /* in which that is, "3, 4"; unknown: it is
                                     not in the script */
    struct bj_slice finding;      /* the finding that causes the advice */
    struct bj_slice url;
    int64_t runs; /* number of runs on which the advice is based */
};

/* The next request: all options that change, which belong together.  options.n
 * is 0: none changes. */
struct bj_report_next {
    struct bj_slice options; /* "--gres=gpu:1 --mem=6G" */
    struct bj_slice basis;   /* "script": the options of script and submit line
                                are known; "submit_line"; or "accounting": the
                                options of the job are not known */
    struct bj_slice note;    /* sentences: margins, and what to replace where */
    int64_t memory_margin, time_margin; /* percent, of the site */
};

/* The values that a node measured; of a running job what it used in the last
 * minutes. */
struct bj_report_node {
    struct bj_slice node;
    int64_t cpus, cpu_usec, cpu_ppm, memory_peak, memory_limit, gpus;
    int64_t memory_charged; /* peak of memory charged */
    /* Of running jobs only: busy CPUs (millionths), the time of the values, and
       since when less than a tenth of a CPU is used, seconds since 1970. */
    int64_t cpus_busy, at, idle_since;
    struct bj_slice source; /* "nodes" (final records) or "prometheus" */
};

struct bj_report_gpu {
    struct bj_slice node, gpu, index, model;
    int64_t held_usec, idle_usec, busy_ppm, memory_peak;
    int64_t idle_since; /* as of a node: less than 1 % is used */
    /* The worst error while the job held it, of final records: a name of
     * BJ_GPU_FAULTS; its Xid number (0: another kind of error), when, seconds
     * since 1970, and "process" or "holder" (docs/records.md).  Unknown: none
     * is known, which does not mean that there was none. */
    struct bj_slice fault, fault_evidence;
    int64_t fault_xid, fault_at;
    struct bj_slice source; /* as of a node */
};

/* The tasks of an array; spreads include only completed tasks. */
struct bj_report_spread {
    struct bj_slice value; /* "elapsed_seconds", ... */
    int64_t tasks, min, median, p95, max;
    struct bj_slice largest; /* display_id of the task with the maximum */
};

enum {
    BJ_SPREAD_ELAPSED,
    BJ_SPREAD_MEMORY, /* memory of a task, bytes */
    BJ_SPREAD_CPU,    /* busy CPUs, millionths */
    BJ_SPREADS
};

struct bj_report_array {
    int64_t tasks, completed, failed, timeout, oom, cancelled, open;
    int64_t cpu_allocated_usec, cpu_used_usec; /* of all tasks */
    /* Sums over the tasks that ran and ended (ran), and for how many of them
     * each is known: millionths of a joule, of a gram and of the currency. */
    int64_t ran;
    int64_t energy_uj, energy_tasks, emissions_ug, emissions_tasks;
    int64_t cost, cost_tasks; /* cost_tasks: whose whole cost is known */
    int64_t not_charged;      /* of tasks that hardware ended */
    int64_t
        hardware_failed; /* tasks that hardware ended (bj_bill_hardware_failed),
                            whatever their state */
    int64_t node_failed; /* of failed: their node failed */
    int64_t judged;      /* completed tasks with a known use, on which advice is
                            based */
    /* Tasks that ran long enough to judge, and lack this value. */
    int64_t unknown_cpu, unknown_memory, unknown_gpu;
    /* The first of the failed, timeout and oom tasks: "2000_3, 2000_9". */
    struct bj_slice failed_tasks;
    int64_t failed_more; /* those that it leaves out */
    struct bj_report_spread spread[BJ_SPREADS];
};

/* The owner's earlier runs like this one: completed, with the same name,
 * account, partition, application and size.  Of arrays none. */
struct bj_report_usual {
    int64_t runs;   /* the newest, at most 10; 0: none */
    int64_t median; /* of their run times, seconds */
};

struct bj_report_verdict {
    struct bj_slice level; /* "good", "info", "warning", "critical", or
                              "unknown": too little is known to judge */
    struct bj_slice wrong, cost, todo; /* sentences; the first is never empty */
};

struct bj_report {
    struct bj_arena arena;
    struct bj_job_value job[BJ_REPORT_COLUMN_COUNT];
    bool interactive;
    struct bj_slice sentence[BJ_SENTENCE_COUNT]; /* sentences of the site; p
                                                    NULL: the built-in one */
    struct bj_report_verdict verdict;
    struct bj_report_usual usual; /* in reports that are read from a store */
    struct bj_report_figure figure[BJ_FIGURES];
    /* The most severe first, of these the most expensive. */
    struct bj_report_finding *finding;
    struct bj_report_warning *warning; /* the oldest first */
    struct bj_report_advice *advice;
    struct bj_report_next next;
    int64_t memory_of_cpu; /* the site's limit, bytes; 0: none */
    struct bj_report_node *node;
    struct bj_report_gpu *gpu;
    size_t findings, warnings, advices, nodes, gpus;
    struct bj_report_array array; /* tasks is 0 for jobs without array */
};

/* The columns of BJ_REPORT_COLUMNS, in that order; NULL at the end. */
const struct bj_column *const *bj_report_columns(void);

/* Return a number or text of the job. */
int64_t bj_report_number(const struct bj_report *r, enum bj_report_column c);
struct bj_slice bj_report_text(const struct bj_report *r,
                               enum bj_report_column c);
bool bj_report_is(const struct bj_report *r, enum bj_report_column c,
                  const char *text);

/* The advice that a finding causes, else the first one; NULL: there is none. */
const struct bj_report_advice *bj_report_advice_of(const struct bj_report *r,
                                                   struct bj_slice finding);

/* The most severe finding with this name; NULL: the job has none. */
const struct bj_report_finding *bj_report_found(const struct bj_report *r,
                                                const char *name);

/* Append which nodes and GPUs of a running job are idle, and since when: "n1
 * idle since 2026-11-20 15:04:05; n1: GPU 0 idle since ..."; at most 10 of
 * them. Nothing if none is known to be idle. */
void bj_report_idle(const struct bj_report *r, struct bj_buf *out);

/* The place of a use among those of nodes or GPUs, the least first: unknown
 * ones are the last. */
static inline int64_t bj_report_rank(int64_t ppm)
{
    return ppm < 0 ? INT64_MAX - 1 : ppm;
}

/* Are the values of nodes from final records, which have a whole run? */
bool bj_report_has_records(const struct bj_report *r);

/* Append an amount of a figure of r: CPU and GPU time in hours, as sentences
 * have them, others in their unit. */
void bj_report_amount(struct bj_buf *out, const struct bj_report *r,
                      const struct bj_report_figure *f, int64_t v);
void bj_report_amount_html(struct bj_buf *out, const struct bj_report *r,
                           const struct bj_report_figure *f, int64_t v);

/* The state of the job; of an array, whether all of its tasks have ended. */
struct bj_slice bj_report_state(const struct bj_report *r);

/* Append that the values of nodes and GPUs of an ended job are from Prometheus,
 * of how many nodes, and for how much of the run.  Nothing if they are not. */
void bj_report_sampled(const struct bj_report *r, struct bj_buf *out);

void bj_report_free(struct bj_report *r);

#endif
