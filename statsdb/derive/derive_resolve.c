/* Which source of a value counts, and what follows from the values; no SQL. */
#include "base/stamp.h"
#include "sched/job.h"
#include "statsdb/derive/bill.h"
#include "statsdb/derive/derive_impl.h"

#include <math.h>
#include <string.h>

/* --- values ---------------------------------------------------------------*/

/* Were all nodes measured?  Also true if the scheduler does not report their
 * number. */
static bool all_nodes(const struct bj_derive_job *j, int64_t measured)
{
    /* BJ_SQL_NULL is smaller */
    return measured > 0 && measured >= j->v[BJ_DJ_NODES];
}

static int64_t resolve_times(int64_t a, int64_t b)
{
    int64_t v;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &v) ? BJ_SQL_NULL : v;
}

/* --- values ----------------------------------------------------------------
 */

/* A 0 of memory, or of CPU time of the whole job, means that nothing was
 * measured. */
static int64_t measured_value(int64_t v, int value)
{
    const bool vital = value == BJ_USE_CPU || value == BJ_USE_MEM_HELD ||
                       value == BJ_USE_MEM_CHARGED || value == BJ_USE_MEM_MEAN;
    return v == 0 && vital ? BJ_SQL_NULL : v;
}

/* Final records are preferred, unless Prometheus has more nodes. */
static void resolve_values(struct bj_derive_job *j)
{
    bool nodes_first = j->nodes.nodes >= j->prom.nodes;
    int64_t sources = 0;
    for (int i = 0; i < BJ_USE_VALUE_COUNT; i++) {
        int64_t n = measured_value(j->nodes.v[i], i);
        int64_t p = measured_value(j->prom.v[i], i);
        bool nodes = n != BJ_SQL_NULL && (nodes_first || p == BJ_SQL_NULL);
        j->use[i] = nodes ? n : p;
        if (j->use[i] != BJ_SQL_NULL)
            sources |= (int64_t)(nodes ? BJ_FROM_NODES : BJ_FROM_PROM) << 2 * i;
    }
    int64_t most = nodes_first ? j->nodes.nodes : j->prom.nodes;
    j->use[BJ_USE_SOURCES] = sources;
    j->use[BJ_USE_MEASURED_NODES] = most > 0 ? most : BJ_SQL_NULL;
    j->use[BJ_USE_COVERAGE] = j->prom_coverage;
    j->use[BJ_USE_GPU_MODEL] = j->gpu_model;
    j->use[BJ_USE_GPU_FAULT] = j->gpu_fault;
    j->use[BJ_USE_GPU_CONFLICTS] = j->gpu_conflicts;
    j->use[BJ_USE_APPLICATION] = j->use[BJ_USE_APPLICATION_BY] = BJ_SQL_NULL;
}

static int64_t source_of(const struct bj_derive_job *j, int value)
{
    return j->use[BJ_USE_SOURCES] >> 2 * value & 3;
}

/* A value measured on all nodes. */
static int64_t value_if_complete(const struct bj_derive_job *j, int value)
{
    int64_t source = source_of(j, value);
    int64_t measured = source == BJ_FROM_NODES  ? j->nodes.nodes
                       : source == BJ_FROM_PROM ? j->prom.nodes
                                                : 0;
    return all_nodes(j, measured) ? j->use[value] : BJ_SQL_NULL;
}

/* Was the use of all GPUs of the job measured?  GPUS_SEEN counts those with a
 * value. */
static bool all_gpus(const struct bj_derive_job *j)
{
    /* BJ_SQL_NULL is smaller */
    return j->v[BJ_DJ_GPUS] <= j->use[BJ_USE_GPUS_SEEN];
}

/* A value measured on all GPUs. */
static int64_t value_of_gpus(const struct bj_derive_job *j, int value)
{
    return all_gpus(j) ? value_if_complete(j, value) : BJ_SQL_NULL;
}

/* GPUs that are known to be unused; 0 only where all are known. */
static int64_t gpus_unused(const struct bj_derive_job *j)
{
    int64_t n = value_if_complete(j, BJ_USE_GPUS_UNUSED);
    return n > 0 || all_gpus(j) ? n : BJ_SQL_NULL;
}

/* --- efficiency ------------------------------------------------------------
 */

static void put_best(struct bj_derive_job *j, int value, int source,
                     struct bj_best best)
{
    j->use[value] = best.value;
    j->use[source] = best.source;
}

static struct bj_best best_cpu(const struct bj_derive_job *j)
{
    return bj_best_cpu(value_if_complete(j, BJ_USE_CPU),
                       source_of(j, BJ_USE_CPU), j->v[BJ_DJ_CPU]);
}

static struct bj_best best_peak(const struct bj_derive_job *j)
{
    int64_t held = value_if_complete(j, BJ_USE_MEM_HELD);
    int value = held != BJ_SQL_NULL ? BJ_USE_MEM_HELD : BJ_USE_MEM_CHARGED;
    return bj_best_peak(
        held, value_if_complete(j, BJ_USE_MEM_CHARGED), source_of(j, value),
        bj_accounting_peak(j->v[BJ_DJ_PEAK], j->v[BJ_DJ_TASK_PEAK]));
}

/* CPU time allocated, in seconds. */
static int64_t cpu_held(const struct bj_derive_job *j)
{
    return bj_best_held(j->v[BJ_DJ_CPU_SEC], j->v[BJ_DJ_CPUS],
                        j->v[BJ_DJ_ELAPSED]);
}

/* CPU time that the job held while the freezer suspended it, in seconds: of
 * that, a scheduler which knows of the suspension has left out its part of the
 * run time. */
static int64_t cpu_suspended(const struct bj_derive_job *j, int64_t held)
{
    const int64_t *v = j->v, usec = value_if_complete(j, BJ_USE_SUSPENDED);
    if (usec == BJ_SQL_NULL || v[BJ_DJ_CPUS] <= 0 || v[BJ_DJ_ELAPSED] < 0 ||
        !bj_bill_dated(v[BJ_DJ_START]) || !bj_bill_dated(v[BJ_DJ_END]))
        return 0;
    const int64_t out = v[BJ_DJ_END] - v[BJ_DJ_START] - v[BJ_DJ_ELAPSED],
                  sec = usec / 1000000 - (out > 0 ? out : 0);
    int64_t cpu;
    return sec <= 0 || __builtin_mul_overflow(sec, v[BJ_DJ_CPUS], &cpu) ||
                   cpu >= held
               ? 0
               : cpu;
}

/* The sources are those of the CPU time and the peak, which may be known when
 * the allocated amount is not. */
static void resolve_efficiency(struct bj_derive_job *j)
{
    struct bj_best cpu = best_cpu(j), peak = best_peak(j);
    const int64_t held = cpu_held(j);
    cpu.value = bj_best_cpu_ppm(cpu.value, held - cpu_suspended(j, held), 1);
    peak.value = bj_best_memory_ppm(peak.value, j->v[BJ_DJ_MEM]);
    put_best(j, BJ_USE_CPU_EFF, BJ_USE_CPU_EFF_SOURCE, cpu);
    put_best(j, BJ_USE_MEM_EFF, BJ_USE_MEM_EFF_SOURCE, peak);
    const int64_t gpu = value_of_gpus(j, BJ_USE_GPU_HELD),
                  idle = value_of_gpus(j, BJ_USE_GPU_IDLE);
    int64_t busy = value_of_gpus(j, BJ_USE_GPU_BUSY);
    if (busy == BJ_SQL_NULL && idle >= 0 && gpu >= idle)
        busy = bj_best_ratio(gpu - idle, 1000000, gpu);
    j->use[BJ_USE_GPU_EFF] = busy;
}

/* --- energy ----------------------------------------------------------------
 */

static int64_t resolve_sum_of(const struct bj_derive_energy *e)
{
    int64_t sum = BJ_SQL_NULL;
    for (int i = 0; i < BJ_COMPONENTS; i++)
        if (e->component[i] >= 0 && e->component[i] < BJ_MOST_UJ)
            sum = (sum == BJ_SQL_NULL ? 0 : sum) + e->component[i];
    return sum;
}

static void take_energy(struct bj_derive_job *j,
                        const struct bj_derive_energy *e, int64_t source)
{
    j->use[BJ_USE_ENERGY_SOURCE] = source;
    j->use[BJ_USE_ENERGY_POLICY] = e->policy;
    j->use[BJ_USE_ENERGY] = resolve_sum_of(e);
    j->use[BJ_USE_ENERGY_CPU] = e->component[0];
    j->use[BJ_USE_ENERGY_DRAM] = e->component[1];
    j->use[BJ_USE_ENERGY_GPU] = e->component[2];
    j->use[BJ_USE_ENERGY_OTHER] = e->component[3];
    j->use[BJ_USE_ENERGY_USED] = e->used;
    j->use[BJ_USE_ENERGY_RESERVED] = e->reserved;
}

/* Energy of all nodes until the end of the job. */
static void resolve_energy(struct bj_derive_job *j)
{
    const struct bj_derive_energy *n = &j->node_energy, *p = &j->prom_energy;
    for (int i = BJ_USE_ENERGY_SOURCE; i <= BJ_USE_ENERGY_RESERVED; i++)
        j->use[i] = BJ_SQL_NULL;
    if (all_nodes(j, n->nodes) && resolve_sum_of(n) != BJ_SQL_NULL) {
        take_energy(j, n, BJ_FROM_NODES);
    } else if (all_nodes(j, p->nodes) && j->prom_final >= p->nodes &&
               resolve_sum_of(p) != BJ_SQL_NULL) {
        take_energy(j, p, BJ_FROM_PROM);
    } else {
        put_best(j, BJ_USE_ENERGY, BJ_USE_ENERGY_SOURCE,
                 bj_best(BJ_SQL_NULL, BJ_SQL_NULL,
                         bj_accounting_uj(j->v[BJ_DJ_ENERGY])));
    }
}

/* As in rollup.c, larger values are invalid and count as 0. */
static int64_t sane(int64_t v)
{
    return v >= 0 && v < INT64_C(1) << 53 ? v : 0;
}

/* The difference between the best CPU time and that of accounting. */
static void resolve_cpu_count(struct bj_derive_job *j, int64_t cpu_sec)
{
    int64_t had = j->v[BJ_DJ_CPU], best = best_cpu(j).value;
    int64_t more =
        sane(best < 0 ? 0 : best / 1000) - sane(had < 0 ? 0 : had / 1000);
    j->use[BJ_USE_COUNTED_MORE] = more > 0 ? more : 0;
    j->use[BJ_USE_COUNTED_KNOWN] =
        had == BJ_SQL_NULL && best != BJ_SQL_NULL ? cpu_sec : 0;
}

/* GPU time of jobs with a measured use, and the used time. */
static void resolve_gpu_count(struct bj_derive_job *j)
{
    int64_t busy = j->use[BJ_USE_GPU_EFF];
    int64_t gpu_sec = sane(bj_best_held(j->v[BJ_DJ_GPU_SEC], j->v[BJ_DJ_GPUS],
                                        j->v[BJ_DJ_ELAPSED]));
    if (busy == BJ_SQL_NULL)
        return;
    j->use[BJ_USE_COUNTED_GPU] = gpu_sec;
    j->use[BJ_USE_COUNTED_GPU_USED] = sane(resolve_times(gpu_sec, busy)) / 1000;
}

/* What a job held that hardware ended. */
static void resolve_failed(struct bj_derive_job *j, int64_t cpu_sec)
{
    const int64_t *v = j->v;
    const int64_t bytes = v[BJ_DJ_MEM_ALLOCATED];
    const int64_t mib = bytes < 0 ? BJ_SQL_NULL : bytes >> 20;
    j->use[BJ_USE_FAILED_CPU] = cpu_sec;
    j->use[BJ_USE_FAILED_GPU] =
        sane(bj_best_held(v[BJ_DJ_GPU_SEC], v[BJ_DJ_GPUS], v[BJ_DJ_ELAPSED]));
    j->use[BJ_USE_FAILED_MIB] =
        bytes > 0 ? sane(bj_best_held(v[BJ_DJ_MIB_SEC], mib, v[BJ_DJ_ELAPSED]))
                  : 0;
}

/* What the job held and used, for the sums by application. */
static void resolve_held(struct bj_derive_job *j, int64_t cpu_sec)
{
    const int64_t had = j->v[BJ_DJ_CPU];
    j->use[BJ_USE_HELD_CPU] = cpu_sec;
    j->use[BJ_USE_HELD_KNOWN] =
        had == BJ_SQL_NULL ? j->use[BJ_USE_COUNTED_KNOWN] : cpu_sec;
    j->use[BJ_USE_HELD_USED] =
        sane(had < 0 ? 0 : had / 1000) + j->use[BJ_USE_COUNTED_MORE];
    j->use[BJ_USE_HELD_GPU] = sane(bj_best_held(
        j->v[BJ_DJ_GPU_SEC], j->v[BJ_DJ_GPUS], j->v[BJ_DJ_ELAPSED]));
}

/* Values for the daily sums; assoc is set later, and the application. */
static void resolve_count(struct bj_derive_job *j)
{
    static const int64_t last_sec = INT64_C(253402300799); /* of year 9999 */
    int64_t start = j->v[BJ_DJ_START], end = j->v[BJ_DJ_END];
    int64_t cpu = sane(cpu_held(j));
    bool dated = start >= 0 && end >= start && end <= last_sec;
    j->use[BJ_USE_ASSOC] = BJ_SQL_NULL;
    j->use[BJ_USE_COUNTED_CPU] = 0;
    j->use[BJ_USE_COUNTED_MORE] = j->use[BJ_USE_COUNTED_KNOWN] = 0;
    j->use[BJ_USE_COUNTED_GPU] = j->use[BJ_USE_COUNTED_GPU_USED] = 0;
    for (int i = BJ_USE_FAILED_CPU; i <= BJ_USE_HELD_GPU; i++)
        j->use[i] = BJ_SQL_NULL;
    j->use[BJ_USE_COUNTED_START] = dated ? start : 0;
    j->use[BJ_USE_COUNTED_END] = dated ? end : 0;
    if (dated) {
        resolve_cpu_count(j, cpu);
        resolve_gpu_count(j);
        resolve_held(j, cpu);
        if (bj_bill_hardware_failed(j->v[BJ_DJ_STATE],
                                    j->use[BJ_USE_GPU_FAULT]))
            resolve_failed(j, cpu);
    }
    if (dated && j->use[BJ_USE_ENERGY] != BJ_SQL_NULL)
        j->use[BJ_USE_COUNTED_CPU] = cpu;
}

void bj_derive_resolve(struct bj_derive_job *j)
{
    resolve_values(j);
    resolve_efficiency(j);
    resolve_energy(j);
    resolve_count(j);
    j->has_use = j->nodes.nodes > 0 || j->prom.nodes > 0 ||
                 j->use[BJ_USE_ENERGY] != BJ_SQL_NULL ||
                 j->use[BJ_USE_FAILED_CPU] != BJ_SQL_NULL;
}

/* --- facts -----------------------------------------------------------------
 */

static double resolve_number(int64_t v)
{
    return v == BJ_SQL_NULL ? (double)NAN : (double)v;
}

static double percent(int64_t ppm)
{
    return resolve_number(ppm) / 1e4;
}

static double known_ratio(double a, double b)
{
    return b > 0 ? a / b : (double)NAN;
}

static void measured_facts(const struct bj_derive_job *j, double *f)
{
    double cpu = resolve_number(best_cpu(j).value);
    f[BJ_FACT_CPU_EFFICIENCY] = percent(j->use[BJ_USE_CPU_EFF]);
    f[BJ_FACT_MEM_EFFICIENCY] = percent(j->use[BJ_USE_MEM_EFF]);
    f[BJ_FACT_GPU_EFFICIENCY] = percent(j->use[BJ_USE_GPU_EFF]);
    f[BJ_FACT_CPUS_BUSY] = known_ratio(cpu / 1e6, f[BJ_FACT_RUNTIME]);
    f[BJ_FACT_CPU_EVENNESS] =
        100 * known_ratio(
                  f[BJ_FACT_CPUS_BUSY],
                  resolve_number(value_if_complete(j, BJ_USE_CPU_PEAK)) / 1e3);
    f[BJ_FACT_MEM_PEAK] = resolve_number(best_peak(j).value);
    f[BJ_FACT_MEM_RECENT_PEAK] = (double)NAN; /* of running jobs */
    f[BJ_FACT_MEM_REMOTE] = percent(value_if_complete(j, BJ_USE_MEM_REMOTE));
    f[BJ_FACT_SUSPENDED] =
        resolve_number(value_if_complete(j, BJ_USE_SUSPENDED)) / 1e6;
    f[BJ_FACT_GPUS_UNUSED] = resolve_number(gpus_unused(j));
    f[BJ_FACT_GPU_MEM_PEAK] =
        resolve_number(value_of_gpus(j, BJ_USE_GPU_MEM_PEAK));
    f[BJ_FACT_GPU_IDLE] =
        resolve_number(value_of_gpus(j, BJ_USE_GPU_IDLE)) / 1e6;
    /* Not all nodes of a job can be without CPU time. */
    f[BJ_FACT_NODES_UNUSED] =
        isnan(cpu) ? (double)NAN
                   : resolve_number(value_if_complete(j, BJ_USE_NODES_UNUSED));
    f[BJ_FACT_IO_BYTES] = resolve_number(value_if_complete(j, BJ_USE_IO_READ)) +
                          resolve_number(value_if_complete(j, BJ_USE_IO_WRITE));
    f[BJ_FACT_OPEN_FILES] =
        resolve_number(value_if_complete(j, BJ_USE_OPEN_FDS));
    f[BJ_FACT_THREADS] = resolve_number(value_if_complete(j, BJ_USE_THREADS));
    f[BJ_FACT_SCRATCH_FILES] =
        resolve_number(value_if_complete(j, BJ_USE_SCRATCH));
    f[BJ_FACT_CORE_MIN] = percent(value_if_complete(j, BJ_USE_CORE_MIN));
    f[BJ_FACT_CORES_USED] =
        resolve_number(value_if_complete(j, BJ_USE_CORES_USED));
    f[BJ_FACT_OOM_KILLS] =
        resolve_number(value_if_complete(j, BJ_USE_OOM_KILLS));
    f[BJ_FACT_COVERAGE] = percent(j->use[BJ_USE_COVERAGE]);
    f[BJ_FACT_ENERGY] = resolve_number(j->use[BJ_USE_ENERGY]) / 1e6;
    f[BJ_FACT_ENERGY_USED] = resolve_number(j->use[BJ_USE_ENERGY_USED]) / 1e6;
    f[BJ_FACT_ENERGY_RESERVED] =
        resolve_number(j->use[BJ_USE_ENERGY_RESERVED]) / 1e6;
}

/* Time without any use; not known of a job that was suspended, whose time of
 * suspension has no place in its curves. */
static double idle_time(const struct bj_derive_job *j, int value,
                        double suspended)
{
    return suspended > 0 ? (double)NAN
                         : resolve_number(value_if_complete(j, value));
}

/* From the curves of the job. */
static void course_facts(const struct bj_derive_job *j, double *f)
{
    const double of = f[BJ_FACT_MEM_ALLOCATED], limit = f[BJ_FACT_TIME_LIMIT];
    const double hours = f[BJ_FACT_RUNTIME] / 3600;
    double left = (limit - f[BJ_FACT_RUNTIME]) / 3600;
    left = left < 0 ? 0 : left; /* NAN stays */
    const double rise = resolve_number(value_if_complete(j, BJ_USE_MEM_RISE));
    f[BJ_FACT_IDLE_START] =
        idle_time(j, BJ_USE_IDLE_START, f[BJ_FACT_SUSPENDED]);
    f[BJ_FACT_IDLE_END] = idle_time(j, BJ_USE_IDLE_END, f[BJ_FACT_SUSPENDED]);
    f[BJ_FACT_MEM_RISE] = rise;
    f[BJ_FACT_MEM_STEADY] = percent(value_if_complete(j, BJ_USE_MEM_STEADY));
    f[BJ_FACT_MEM_GROWTH] = 100 * known_ratio(rise * hours, of);
    f[BJ_FACT_MEM_FORECAST] =
        isnan(limit) ? (double)NAN
                     : 100 * known_ratio(f[BJ_FACT_MEM_PEAK] + rise * left, of);
}

/* A job that failed since the kernel killed its processes: with a step that the
 * scheduler saw run out of memory, or killed by SIGKILL (as an exit code of a
 * shell: 137) while kills for lack of memory were counted. */
static bool out_of_memory(const struct bj_derive_job *j)
{
    enum { SIGKILLED = 9, SHELL_SIGKILLED = 128 + SIGKILLED };
    const int64_t *v = j->v;
    bool killed = v[BJ_DJ_EXIT_SIGNAL] == SIGKILLED ||
                  v[BJ_DJ_EXIT_CODE] == SHELL_SIGKILLED;
    if (v[BJ_DJ_STATE] != BJ_STATE_FAILED)
        return v[BJ_DJ_STATE] == BJ_STATE_OOM;
    return v[BJ_DJ_OOM_STEPS] > 0 || (killed && j->use[BJ_USE_OOM_KILLS] > 0);
}

/* Facts about what the job used are unknown if hardware ended it: they would be
 * about a part of its work. */
static void drop_use(double *f)
{
    static const enum bj_fact of_use[] = {
        BJ_FACT_TIME_EFFICIENCY, BJ_FACT_CPU_EFFICIENCY, BJ_FACT_MEM_EFFICIENCY,
        BJ_FACT_GPU_EFFICIENCY,  BJ_FACT_CPUS_BUSY,      BJ_FACT_CPU_EVENNESS,
        BJ_FACT_CORE_MIN,        BJ_FACT_CORES_USED,     BJ_FACT_MEM_PEAK,
        BJ_FACT_GPU_MEM_PEAK,    BJ_FACT_GPU_IDLE,       BJ_FACT_GPUS_UNUSED,
        BJ_FACT_NODES_UNUSED,    BJ_FACT_NODES_UNEVEN,   BJ_FACT_NODE_DEVIATION,
        BJ_FACT_GPUS_UNEVEN,     BJ_FACT_GPU_DEVIATION,  BJ_FACT_IDLE_START,
        BJ_FACT_IDLE_END,        BJ_FACT_MEM_RISE,       BJ_FACT_MEM_STEADY,
        BJ_FACT_MEM_GROWTH,      BJ_FACT_MEM_FORECAST,   BJ_FACT_MEM_REMOTE,
        BJ_FACT_THREADS,         BJ_FACT_OPEN_FILES,     BJ_FACT_SCRATCH_FILES,
        BJ_FACT_IO_BYTES,        BJ_FACT_ENERGY,         BJ_FACT_ENERGY_USED,
        BJ_FACT_ENERGY_RESERVED};
    for (size_t i = 0; i < sizeof(of_use) / sizeof(of_use[0]); i++)
        f[of_use[i]] = (double)NAN;
}

void bj_derive_facts(struct bj_derive_job *j, double *f)
{
    const int64_t *v = j->v;
    double limit = v[BJ_DJ_LIMIT] == INT64_MAX ? (double)NAN
                                               : resolve_number(v[BJ_DJ_LIMIT]);
    double wait =
        resolve_number(v[BJ_DJ_START]) - resolve_number(v[BJ_DJ_ELIGIBLE]);
    f[BJ_FACT_STATE] = resolve_number(v[BJ_DJ_STATE]);
    /* a job that never started has no run time */
    f[BJ_FACT_RUNTIME] = v[BJ_DJ_START] == BJ_SQL_NULL && v[BJ_DJ_ELAPSED] == 0
                             ? (double)NAN
                             : resolve_number(v[BJ_DJ_ELAPSED]);
    f[BJ_FACT_TIME_LIMIT] = limit;
    f[BJ_FACT_WAIT] = wait < 0 ? 0 : wait;
    f[BJ_FACT_NODES] = resolve_number(v[BJ_DJ_NODES]);
    f[BJ_FACT_CPUS] = resolve_number(v[BJ_DJ_CPUS]);
    f[BJ_FACT_GPUS] =
        v[BJ_DJ_GPUS] == BJ_SQL_NULL ? 0 : resolve_number(v[BJ_DJ_GPUS]);
    f[BJ_FACT_INTERACTIVE] = resolve_number(v[BJ_DJ_INTERACTIVE]);
    f[BJ_FACT_OOM_STEPS] = resolve_number(v[BJ_DJ_OOM_STEPS]);
    f[BJ_FACT_OUT_OF_MEMORY] = out_of_memory(j);
    f[BJ_FACT_RESTARTS] = resolve_number(v[BJ_DJ_RESTARTS]);
    f[BJ_FACT_EXIT_CODE] = resolve_number(v[BJ_DJ_EXIT_CODE]);
    f[BJ_FACT_TIME_EFFICIENCY] = 100 * known_ratio(f[BJ_FACT_RUNTIME], limit);
    f[BJ_FACT_MEM_ALLOCATED] = resolve_number(v[BJ_DJ_MEM]);
    measured_facts(j, f);
    course_facts(j, f);
    bj_parts_facts(&j->parts, v[BJ_DJ_NODES], v[BJ_DJ_GPUS], f, &j->names);
    f[BJ_FACT_GPU_FAULT] = resolve_number(j->use[BJ_USE_GPU_FAULT]);
    f[BJ_FACT_HARDWARE_FAILED] =
        bj_bill_hardware_failed(v[BJ_DJ_STATE], j->use[BJ_USE_GPU_FAULT]);
    if (f[BJ_FACT_HARDWARE_FAILED] > 0)
        drop_use(f);
}

/* --- daily sums -----------------------------------------------------------*/

enum { DAY = 86400 };

static const char *const energy_sums[BJ_DAY_SUM_COUNT] = {"jobs",
#define SUM(upper, lower) #lower,
                                                          BJ_DAY_SUMS(SUM)
#undef SUM
};
static const char *const gram_sums[] = {"micrograms", "covered_mj"};
enum { GRAM_SUMS = sizeof(gram_sums) / sizeof(gram_sums[0]) };
static const char *const named_sums[BJ_NAMED_SUM_COUNT] = {"jobs",
#define SUM(upper, lower) #lower,
                                                           BJ_NAMED_SUMS(SUM)
#undef SUM
};

/* Tables of sums: their statements, the column of the key beside id (NULL:
 * none), and the sums. */
static const struct table {
    int add, sweep, sums;
    const char *key;
    const char *const *name;
} energy_table = {BJ_DE_DAY_ENERGY, BJ_DE_DAY_ENERGY_SWEEP, BJ_DAY_SUM_COUNT,
                  NULL, energy_sums},
  grams_table = {BJ_DE_DAY_GRAMS, BJ_DE_DAY_GRAMS_SWEEP, GRAM_SUMS, "source",
                 gram_sums},
  named_table = {BJ_DE_DAY_NAMED, BJ_DE_DAY_NAMED_SWEEP, BJ_NAMED_SUM_COUNT,
                 "application", named_sums};

enum { SUMS_MAX = BJ_DAY_SUM_COUNT };
_Static_assert((int)BJ_NAMED_SUM_COUNT <= (int)SUMS_MAX, "the largest");

/* Daily and monthly sums of one job. Totals are spread as in rollup.c: a day
 * gets the whole units at its end minus those at its start. */
struct stretch {
    int64_t assoc, start, end;
    int sign;
};

/* The row of a day; that of its month has its higher bits. */
enum { OF_DAY = 31 };

static int64_t day_id(int64_t assoc, int64_t day)
{
    struct bj_civil date;
    bj_civil_from_days(day, &date);
    int64_t month = (int64_t)date.year * 12 + (int64_t)date.month - 1;
    return month << 37 | assoc << 5 | (int64_t)date.day;
}

/* Add parts to one row; key: as the table says. */
static int resolve_put(struct bj_derive *d, const struct table *t, int64_t id,
                       int64_t key, const int64_t *part, int sign,
                       struct bj_err *err)
{
    struct bj_st *add = d->st[t->add], *sweep = d->st[t->sweep];
    bool any = false;
    bj_st_set_i64(add, "id", id);
    bj_st_set_i64(sweep, "id", id);
    if (t->key) {
        bj_st_set_i64(add, t->key, key);
        bj_st_set_i64(sweep, t->key, key);
    }
    for (int i = 0; i < t->sums; i++) {
        bj_st_set_i64(add, t->name[i], part[i] * sign);
        any = any || part[i] != 0;
    }
    if (!any)
        return 0;
    int r = bj_st_run(add, err);
    return r < 0 || sign > 0 ? r : bj_st_run(sweep, err);
}

/* Spread totals over the days.  The first of energy and applications, the jobs,
 * is not spread: it counts on the last day. */
static int spread(struct bj_derive *d, const struct stretch *s,
                  const struct table *t, int64_t key, const int64_t *total,
                  struct bj_err *err)
{
    const int64_t first =
        s->end - s->start > (int64_t)BJ_BILL_DAYS * DAY || s->end <= s->start
            ? s->end
            : s->start;
    const int64_t last = bj_tz_day(d->tz, s->end - (s->end > first));
    int64_t day = bj_tz_day(d->tz, first);
    int64_t from = bj_tz_midnight(d->tz, day), to;
    int64_t month[SUMS_MAX] = {0};
    int r = 0;
    for (; r == 0 && day <= last; day++, from = to) {
        int64_t part[SUMS_MAX];
        const int64_t id = day_id(s->assoc, day);
        to = bj_tz_midnight(d->tz, day + 1);
        for (int i = 0; i < t->sums; i++)
            part[i] = bj_bill_part(total[i], s->start, s->end, from, to);
        if (t != &grams_table)
            part[0] = day == last ? total[0] : 0;
        for (int i = 0; i < t->sums; i++)
            month[i] += part[i];
        r = resolve_put(d, t, id, key, part, s->sign, err);
        if (r == 0 &&
            (day == last || day_id(s->assoc, day + 1) >> 5 != id >> 5)) {
            r = resolve_put(d, t, id & ~(int64_t)OF_DAY, key, month, s->sign,
                            err);
            memset(month, 0, sizeof(month));
        }
    }
    return r;
}

/* Microjoules to millijoules, or unknown. */
static int64_t mj(int64_t uj)
{
    return uj > 0 ? uj / 1000 : 0;
}

/* A value of a job whose node failed; of others 0. */
static int64_t failed_sum(const int64_t *use, int value)
{
    return use[BJ_USE_FAILED_CPU] == BJ_SQL_NULL ? 0 : use[value];
}

/* Count what a job with a known application held and used. */
static int count_named(struct bj_derive *d, const struct stretch *s,
                       const int64_t *use, struct bj_err *err)
{
    if (use[BJ_USE_APPLICATION] == BJ_SQL_NULL ||
        use[BJ_USE_HELD_CPU] == BJ_SQL_NULL)
        return 0;
    const int64_t total[BJ_NAMED_SUM_COUNT] = {
        [BJ_NAMED_JOBS] = 1,
        [BJ_NAMED_CPU] = use[BJ_USE_HELD_CPU],
        [BJ_NAMED_KNOWN] = use[BJ_USE_HELD_KNOWN],
        [BJ_NAMED_USED] = use[BJ_USE_HELD_USED],
        [BJ_NAMED_GPU] = use[BJ_USE_HELD_GPU],
        [BJ_NAMED_GPU_KNOWN] = use[BJ_USE_COUNTED_GPU],
        [BJ_NAMED_GPU_USED] = use[BJ_USE_COUNTED_GPU_USED],
        [BJ_NAMED_ENERGY_CPU] = use[BJ_USE_COUNTED_CPU],
        [BJ_NAMED_ENERGY] = mj(use[BJ_USE_ENERGY])};
    return spread(d, s, &named_table, use[BJ_USE_APPLICATION], total, err);
}

int bj_derive_count(struct bj_derive *d, const int64_t *use,
                    const struct bj_grams_row *grams, size_t n, int sign,
                    struct bj_err *err)
{
    const struct stretch s = {use[BJ_USE_ASSOC], use[BJ_USE_COUNTED_START],
                              use[BJ_USE_COUNTED_END], sign};
    if (s.assoc == BJ_SQL_NULL)
        return 0;
    const int64_t energy[BJ_DAY_SUM_COUNT] = {
        [BJ_DAY_JOBS] = use[BJ_USE_ENERGY] != BJ_SQL_NULL,
        [BJ_DAY_CPU] = use[BJ_USE_COUNTED_CPU],
        [BJ_DAY_ENERGY] = mj(use[BJ_USE_ENERGY]),
        [BJ_DAY_ENERGY_USED] = mj(use[BJ_USE_ENERGY_USED]),
        [BJ_DAY_ENERGY_RESERVED] = mj(use[BJ_USE_ENERGY_RESERVED]),
        [BJ_DAY_CPU_MORE] = use[BJ_USE_COUNTED_MORE],
        [BJ_DAY_CPU_KNOWN] = use[BJ_USE_COUNTED_KNOWN],
        [BJ_DAY_GPU] = use[BJ_USE_COUNTED_GPU],
        [BJ_DAY_GPU_USED] = use[BJ_USE_COUNTED_GPU_USED],
        [BJ_DAY_FAILED_CPU] = failed_sum(use, BJ_USE_FAILED_CPU),
        [BJ_DAY_FAILED_GPU] = failed_sum(use, BJ_USE_FAILED_GPU),
        [BJ_DAY_FAILED_MEMORY] = failed_sum(use, BJ_USE_FAILED_MIB),
        [BJ_DAY_FAILED_ENERGY_CPU] = failed_sum(use, BJ_USE_COUNTED_CPU),
        [BJ_DAY_FAILED_ENERGY] = mj(failed_sum(use, BJ_USE_ENERGY))};
    int r = spread(d, &s, &energy_table, 0, energy, err);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const int64_t total[GRAM_SUMS] = {grams[i].micrograms,
                                          mj(grams[i].covered_uj)};
        r = spread(d, &s, &grams_table, grams[i].source, total, err);
    }
    return r < 0 ? r : count_named(d, &s, use, err);
}
