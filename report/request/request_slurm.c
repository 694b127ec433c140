/* The model of Slurm: what depends on what.  Source: sbatch(1),
 * slurm.conf(5). */
#include "report/request/request_slurm.h"
#include "statsdb/tables/best.h"

/* --- what is known ---------------------------------------------------------
 */

/* Is the next job placed on the nodes as this one was: the same number of nodes
 * with the same tasks each? */
static bool is_fixed(const struct bj_slurm *s)
{
    const int64_t nodes = s->job->nodes;
    if (s->tasks < 0 || !s->o[NODES].on || s->o[NODES].n != nodes)
        return false;
    if (s->script)
        return s->o[TASKS_NODE].on && s->o[CPUS_TASK].on && !s->o[NTASKS].on;
    return !s->o[NTASKS].on || s->o[NTASKS].n == nodes;
}

/* Is the next job on one node, too?  Tasks may be spread over several nodes if
 * the number of nodes is not requested. */
static bool is_single(const struct bj_slurm *s)
{
    const bool one_task =
        s->tasks == 1 || (!s->script && !s->odd && !s->o[NODES].on &&
                          !s->o[NTASKS].on && !s->o[TASKS_NODE].on);
    return s->job->nodes == 1 &&
           (one_task || (s->o[NODES].on && s->o[NODES].n == 1));
}

/* The option of the submit line that requests GPUs; OPTS: none, or several. */
static enum bj_slurm_opt gpu_option(const struct bj_slurm *s)
{
    enum bj_slurm_opt ret = OPTS;
    for (enum bj_slurm_opt i = GRES; i <= GPUS_TASK; i++) {
        if (!s->o[i].on)
            continue;
        if (ret != OPTS)
            return OPTS;
        ret = i;
    }
    return ret;
}

/* Does accounting say what the memory option says? */
static bool is_memory_known(const struct bj_slurm *s, enum bj_slurm_opt opt)
{
    const struct bj_request_job *j = s->job;
    const int64_t n = opt < OPTS ? s->o[opt].n : 0;
    int64_t a = 0, b = 0;
    if (j->memory <= 0)
        return false;
    if (opt == OPTS || (opt == MEM && n == 0))
        return true; /* --mem=0: all memory of the node */
    const int64_t by = opt == MEM       ? j->nodes
                       : opt == MEM_CPU ? j->cpus
                                        : j->gpus;
    return (by > 0 && !__builtin_mul_overflow(n, by, &a) && a == j->memory) ||
           (opt == MEM_CPU && j->cpus_requested > 0 &&
            !__builtin_mul_overflow(n, j->cpus_requested, &b) &&
            b == j->memory);
}

/* May the job have got CPUs only because of its memory?  It may lose them with
 * less memory.  Slurm gives so many CPUs, or so many times the CPUs of a task,
 * that each has no more than the limit; it has more than half of it then. */
static bool has_cpus_of_memory(const struct bj_slurm *s)
{
    const struct bj_request_job *j = s->job;
    if (j->memory_of_cpu <= 0 || s->tasks > 0)
        return false;
    return j->cpus < 1 || j->memory / j->cpus >= j->memory_of_cpu / 2;
}

/* Would so much memory on each node give the job more CPUs than it
 * requested? */
static bool adds_cpus(const struct bj_slurm *s, int64_t bytes, int64_t nodes)
{
    const struct bj_request_job *j = s->job;
    return j->memory_of_cpu > 0 &&
           (j->cpus_requested < 1 ||
            bytes / j->memory_of_cpu >= j->cpus_requested / nodes);
}

static void set(struct bj_slurm *s, enum bj_slurm_opt opt,
                enum bj_request_part part, int64_t v)
{
    s->to[opt] = v;
    s->part[opt] = part;
}

/* --- nodes -----------------------------------------------------------------
 */

/* All tasks on one node, with the memory of all nodes. */
static bool all_on_one(struct bj_slurm *s)
{
    const enum bj_slurm_opt mem = bj_slurm_memory(s);
    const int64_t sum = s->need->memory_sum;
    if (s->o[EXCLUSIVE].on || s->o[MEM_GPU].on || s->job->gpus > 0 ||
        (s->o[TASKS_NODE].on && s->o[NTASKS].on))
        return false;
    /* Two halves of a core on two nodes have more CPUs than on one. */
    if (!bj_request_wants(s->need->busy) ||
        s->need->busy > s->job->cpus_requested)
        return false;
    if (!bj_request_wants(sum) ||
        sum > (mem == MEM_CPU ? s->o[mem].n * s->job->cpus_requested
                              : s->job->memory) ||
        adds_cpus(s, sum, 1))
        return false;
    if (s->o[TASKS_NODE].on)
        set(s, TASKS_NODE, BJ_REQUEST_NODES, s->tasks);
    else if (!s->o[NTASKS].on && s->tasks > 1)
        set(s, NTASKS, BJ_REQUEST_NODES, s->tasks);
    if (mem != MEM_CPU) {
        s->no_mem = mem != OPTS && mem != MEM;
        set(s, MEM, BJ_REQUEST_MEMORY, sum);
    }
    s->one = true;
    return true;
}

static bool fewer_nodes(struct bj_slurm *s)
{
    const int64_t now = s->need->nodes, had = s->job->nodes;
    if (s->odd || s->shape || s->script || s->tasks < 0 || now < 1 ||
        now >= had || (s->o[NODES].on && s->o[NODES].n != had) ||
        s->o[GPUS].on || !is_memory_known(s, bj_slurm_memory(s)))
        return false;
    if (s->need->one_node ? !all_on_one(s) : !is_fixed(s))
        return false;
    if (!s->need->one_node && s->o[NTASKS].on) /* one on each node */
        set(s, NTASKS, BJ_REQUEST_NODES, now);
    set(s, NODES, BJ_REQUEST_NODES, now);
    return true;
}

/* --- CPUs ------------------------------------------------------------------
 */

static bool fewer_tasks(struct bj_slurm *s, int64_t tasks)
{
    if (tasks >= s->tasks)
        return true;
    if (s->o[NTASKS].on == s->o[TASKS_NODE].on)
        return false;
    set(s, s->o[NTASKS].on ? NTASKS : TASKS_NODE, BJ_REQUEST_CPUS, tasks);
    return true;
}

static bool fewer_task_cpus(struct bj_slurm *s, int64_t cpus)
{
    if (cpus >= s->task_cpus)
        return true;
    if (!s->o[CPUS_TASK].on)
        return false;
    set(s, CPUS_TASK, BJ_REQUEST_CPUS, cpus);
    return true;
}

static bool fewer_cpus(struct bj_slurm *s)
{
    const int64_t want = s->need->cpus;
    if (s->tasks < 0 || s->job->nodes != 1 || s->job->gpus > 0 || want < 1 ||
        s->o[EXCLUSIVE].on || !is_memory_known(s, bj_slurm_memory(s)) ||
        want >= s->tasks * s->task_cpus)
        return false;
    bool ok;
    if (s->need->serial) {
        ok = fewer_tasks(s, 1) && fewer_task_cpus(s, 1);
    } else {
        /* Tasks are parts of the work: rather give each fewer CPUs. */
        int64_t each = bj_request_up(want, s->tasks);
        ok = each < s->task_cpus
                 ? fewer_task_cpus(s, each)
                 : fewer_tasks(s, bj_request_up(want, s->task_cpus));
    }
    bool changes = s->to[NTASKS] != UNSET || s->to[TASKS_NODE] != UNSET ||
                   s->to[CPUS_TASK] != UNSET;
    if (!ok || !changes) {
        s->to[NTASKS] = s->to[TASKS_NODE] = s->to[CPUS_TASK] = UNSET;
        return false;
    }
    s->keep |= bj_slurm_memory(s) != MEM;
    return true;
}

/* --- GPUs ------------------------------------------------------------------
 */

/* Keep the CPUs that are requested for each GPU, explicitly or by default. */
static bool keep_cpus_of_gpus(struct bj_slurm *s, int64_t had, int64_t now)
{
    const int64_t cpus = s->job->cpus_requested / s->job->nodes; /* per node */
    if (s->job->cpus_requested % s->job->nodes != 0 || cpus % had != 0 ||
        (gpu_option(s) == GPUS && !is_single(s)))
        return false;
    const int64_t each = cpus / now;
    if (cpus % now != 0) {
        if (each < 1 || !bj_request_wants(s->need->busy) ||
            s->job->nodes != 1 || each * now < s->need->busy)
            return false;
        s->keep |= bj_slurm_memory(s) == MEM_CPU;
    }
    set(s, CPUS_GPU, BJ_REQUEST_CPUS, each);
    return true;
}

/* Do the CPUs of the job stay if it requests fewer GPUs? */
static bool keep_cpus(struct bj_slurm *s, int64_t had, int64_t now)
{
    const int64_t cpus = s->job->cpus_requested;
    if (s->o[CPUS_GPU].on)
        return !s->o[CPUS_TASK].on && s->o[CPUS_GPU].n * s->job->gpus == cpus &&
               keep_cpus_of_gpus(s, had, now);
    const bool listed =
        s->o[CPUS_TASK].on || s->o[NTASKS].on || s->o[TASKS_NODE].on;
    if (s->tasks > 0 && listed)
        return true;
    /* Each GPU would have at least one. */
    if (cpus < s->job->gpus)
        return true;
    return !s->script && !listed && keep_cpus_of_gpus(s, had, now);
}

static bool fewer_gpus(struct bj_slurm *s)
{
    const struct bj_request_job *j = s->job;
    const enum bj_slurm_opt opt = gpu_option(s);
    const int64_t now = s->need->gpus, had = opt < OPTS ? s->o[opt].n : 0;
    if (s->odd || s->shape || s->o[EXCLUSIVE].on || now < 1 || had <= now ||
        j->nodes < 1 || j->cpus_requested < 1 ||
        !is_memory_known(s, bj_slurm_memory(s)))
        return false;
    const bool per_node = opt == GRES || opt == GPUS_NODE;
    if (per_node ? had * j->nodes != j->gpus : j->nodes != 1 || had != j->gpus)
        return false;
    if (!keep_cpus(s, had, now)) {
        s->to[CPUS_GPU] = UNSET;
        return false;
    }
    const enum bj_slurm_opt mem = bj_slurm_memory(s);
    s->keep |= mem == MEM_GPU || mem == OPTS;
    set(s, opt, BJ_REQUEST_GPUS, now);
    return true;
}

/* --- memory ----------------------------------------------------------------
 */

static bool set_memory(struct bj_slurm *s, enum bj_slurm_opt opt, int64_t bytes)
{
    const enum bj_slurm_opt had = bj_slurm_memory(s);
    s->no_mem = opt == MEM && had != OPTS && had != MEM;
    set(s, opt, BJ_REQUEST_MEMORY, bytes);
    return true;
}

/* Less memory for each CPU or GPU. */
static bool less_of_unit(struct bj_slurm *s, enum bj_slurm_opt opt,
                         int64_t bytes, int64_t units, int64_t all_units)
{
    const int64_t least = opt == MEM_GPU ? INT64_C(8) << 30 : 0;
    int64_t each = bj_request_round_unit(bj_request_up(bytes, units));
    each = each < least ? least : each;
    if (each > s->job->memory / all_units ||
        !bj_request_saves(each * all_units, s->job->memory))
        return false;
    return set_memory(s, opt, each);
}

static bool more_memory(struct bj_slurm *s)
{
    const enum bj_slurm_opt opt = bj_slurm_memory(s);
    const int64_t node = s->job->memory / s->job->nodes, more = s->need->more;
    /* An amount for the node may replace any other one. */
    const bool whole = s->job->nodes == 1 && !has_cpus_of_memory(s);
    if (opt == MEM)
        return s->o[MEM].n > 0 && set_memory(s, MEM, more);
    if (opt == OPTS)
        return whole && set_memory(s, MEM, more);
    /* As many times more for each as for the node. */
    int64_t each = bj_best_ratio(s->o[opt].n, more, node);
    if (each < 1 || each > INT64_MAX / 4)
        return false;
    each = bj_request_round_unit(each);
    /* Above the limit the memory is that of a task, not of its CPUs. */
    if (opt == MEM_CPU && s->job->memory_of_cpu > 0 &&
        each > s->job->memory_of_cpu)
        return whole && set_memory(s, MEM, more);
    return set_memory(s, opt, each);
}

/* Fewer CPUs or GPUs, with the memory that the job had or needs. */
static bool keep_memory(struct bj_slurm *s, int64_t node)
{
    const enum bj_slurm_opt opt = bj_slurm_memory(s);
    const enum bj_slurm_opt gpus = gpu_option(s);
    const int64_t had = s->job->memory / s->job->nodes;
    const bool less = bj_request_wants(node) && bj_request_saves(node, had) &&
                      !has_cpus_of_memory(s) &&
                      (s->job->nodes == 1 || is_fixed(s));
    if (opt == MEM_GPU && gpus < OPTS && s->to[gpus] != UNSET &&
        (is_single(s) || gpus == GRES || gpus == GPUS_NODE)) {
        const int64_t now = s->to[gpus];
        const int64_t each =
            less ? bj_request_round_unit(bj_request_up(node, now)) : had / now;
        if (less ? each * now <= had : had % (now << 20) == 0)
            return set_memory(s, opt, each);
    }
    /* Its memory is requested as an amount that depends on nothing. */
    node = less ? node : had;
    return s->job->nodes == 1 && !adds_cpus(s, node, 1) &&
           set_memory(s, MEM, node);
}

/* node: what the fullest of the nodes needs. */
static bool less_memory(struct bj_slurm *s, int64_t node, int64_t nodes)
{
    const struct bj_request_job *j = s->job;
    const enum bj_slurm_opt opt = bj_slurm_memory(s);
    const bool plain = opt == MEM || opt == OPTS;
    const bool fewer = s->needs[BJ_REQUEST_CPUS] || s->needs[BJ_REQUEST_GPUS];
    if (s->o[EXCLUSIVE].on || has_cpus_of_memory(s) ||
        (nodes > 1 && !is_fixed(s)))
        return false;
    /* GPUs, and CPUs for them, are not spread over nodes as tasks are. */
    const bool spread = (opt == MEM_GPU || s->job->gpus != 0) &&
                        !is_single(s) && !(s->o[GRES].on || s->o[GPUS_NODE].on);
    if (plain || ((fewer || spread) && nodes == 1))
        return !adds_cpus(s, node, nodes) &&
               bj_request_saves(node, j->memory / nodes) &&
               set_memory(s, MEM, node);
    if (fewer || spread)
        return false; /* the user may take fewer CPUs or GPUs */
    const int64_t all = opt == MEM_GPU ? j->gpus : j->cpus;
    int64_t units = all;
    if (opt == MEM_CPU && (j->cpus_requested < 1 || j->cpus < 1))
        return false;
    if (opt == MEM_CPU && j->cpus_requested < units)
        units = j->cpus_requested;
    if (units < 1 || units % nodes != 0)
        return false;
    return less_of_unit(s, opt, node, units / nodes,
                        bj_request_up(all, nodes) * nodes);
}

static bool memory(struct bj_slurm *s)
{
    const struct bj_request_need *need = s->need;
    if (s->odd || s->job->nodes < 1 || !is_memory_known(s, bj_slurm_memory(s)))
        return false;
    if (bj_request_wants(need->more))
        return more_memory(s);
    if (s->one && bj_slurm_memory(s) != MEM_CPU)
        return true; /* set with the nodes */
    if (s->keep)
        return keep_memory(s, need->memory);
    const int64_t node = s->one ? need->memory_sum : need->memory;
    return !bj_request_wants(need->memory) || !bj_request_wants(node) ||
           less_memory(s, node, s->one ? 1 : s->job->nodes);
}

static void clear(struct bj_slurm *s, enum bj_request_part part)
{
    for (unsigned i = 0; i < OPTS; i++)
        if (s->to[i] != UNSET && s->part[i] == part)
            s->to[i] = UNSET;
}

/* Take the changes of nodes, CPUs and GPUs back, as the memory of the job
 * would not stay. */
static void undo(struct bj_slurm *s)
{
    for (unsigned i = 0; i < OPTS; i++)
        s->to[i] = UNSET;
    s->keep = s->one = s->no_mem = false;
    s->needs[BJ_REQUEST_CPUS] = bj_request_wants(s->need->cpus);
    s->needs[BJ_REQUEST_GPUS] = bj_request_wants(s->need->gpus);
    if (!memory(s))
        clear(s, BJ_REQUEST_MEMORY);
}

void bj_request_slurm(struct bj_request_out *o)
{
    struct bj_slurm s = {
        .out = o, .job = o->job, .need = o->need, .script = true};
    for (unsigned i = 0; i < OPTS; i++)
        s.to[i] = UNSET;
    bj_slurm_read(&s);
    o->ret->line = s.line;
    o->ret->script = s.script;
    o->ret->script_known = s.script_known;
    if (!s.script && !s.script_known)
        o->directive = "";
    if (bj_request_wants(o->need->nodes) && !fewer_nodes(&s))
        s.needs[BJ_REQUEST_NODES] = true;
    if (bj_request_wants(o->need->cpus))
        s.needs[BJ_REQUEST_CPUS] = !fewer_cpus(&s);
    if (bj_request_wants(o->need->gpus))
        s.needs[BJ_REQUEST_GPUS] = !fewer_gpus(&s);
    if (!memory(&s)) {
        if (s.keep || s.one)
            undo(&s);
        else
            clear(&s, BJ_REQUEST_MEMORY);
    }
    if (bj_request_wants(o->need->time) && !s.odd && !s.o[TIME_MIN].on)
        set(&s, TIME, BJ_REQUEST_TIME, o->need->time);
    bj_slurm_write(&s);
}
