/* The model of Slurm: what depends on what.  Source: sbatch(1),
 * slurm.conf(5). */
#include "report/request/request_impl.h"
#include "sched/sbatch.h"
#include "statsdb/tables/best.h"

#include <string.h>

/* Of report/request_slurm*.c only: the options of a job of Slurm, as they were
 * and as they change. */

/* The options that the model knows. */
enum bj_slurm_opt {
#define BJ_SLURM_ENUM(name) name = BJ_SBATCH_##name,
    BJ_SBATCH_AMOUNTS(BJ_SLURM_ENUM)
#undef BJ_SLURM_ENUM
        OPTS
};

enum { UNSET = -1 };

struct bj_slurm {
    struct bj_request_out *out;
    const struct bj_request_job *job;
    const struct bj_request_need *need;
    /* The submit line, and the script where it is known: the option as
       written, its name and its value. */
    struct {
        bool on;
        struct bj_slice word, name, value;
        int64_t n;     /* the value as a number, or bytes */
        unsigned line; /* of the script; 0: it is on the submit line */
    } o[OPTS];
    struct bj_slice gres[2]; /* before and after the number of GPUs */
    bool line, script;       /* as in struct bj_request */
    bool wraps;              /* the command is the value of --wrap */
    bool whole; /* all options of the submit line were read, and a script has
                   more */
    bool script_known;   /* its options are known */
    unsigned reads_line; /* the line of the script being read */
    bool odd;            /* has options that the model cannot read */
    bool shape;
    int64_t tasks, task_cpus; /* that the job requested; UNSET: unknown */
    /* The next request; UNSET: no change. */
    int64_t to[OPTS];
    enum bj_request_part part[OPTS]; /* to which the change belongs */
    bool no_mem;                     /* MEM replaces MEM_CPU or MEM_GPU */
    bool keep; /* the memory must be requested, so that it stays */
    bool one;  /* all on one node */
    bool needs[BJ_REQUEST_PARTS]; /* wanted, but refused */
};

/* The option that requests memory; OPTS: none on the submit line. */
static enum bj_slurm_opt slurm_memory(const struct bj_slurm *s);

/* --- the submit line -------------------------------------------------------
 */

/* Could one of these words be an option that matters?  Blanks inside a value
 * look like the end of the options, as the line has no quotes. */
static bool may_have_more(struct bj_slice rest)
{
    struct bj_slice word, name;
    while (bj_slice_word(&rest, &word)) {
        if (word.n < 2 || word.p[0] != '-')
            continue;
        const struct bj_sbatch_option *k = bj_sbatch_by_letter(word.p[1]);
        name = (struct bj_slice){word.p + 2, word.n - 2};
        if (word.p[1] == '-' ? bj_slice_field(&name, '=', &word) &&
                                   bj_sbatch_abbreviates(word)
                             : k && k->opt != BJ_SBATCH_HARMLESS)
            return true;
    }
    return false;
}

static void slurm_note(struct bj_slurm *s, const struct bj_sbatch_option *k,
                       struct bj_slice word, struct bj_slice name,
                       struct bj_slice value)
{
    if (k->opt == BJ_SBATCH_SHAPE)
        s->shape = true;
    if (k->opt >= BJ_SBATCH_OPTS)
        return;
    /* The submit line counts, not the script. */
    if (s->reads_line > 0 && s->o[k->opt].on && s->o[k->opt].line == 0)
        return;
    s->o[k->opt].line = s->reads_line;
    s->odd |= s->o[k->opt].on; /* twice */
    s->o[k->opt].on = true;
    s->o[k->opt].word = word;
    s->o[k->opt].name = name;
    s->o[k->opt].value = value;
}

/* Take one option; false: the options end here. */
static bool take_option(struct bj_slurm *s, struct bj_slice word,
                        struct bj_slice *rest)
{
    struct bj_slice name = word, value = {0};
    const struct bj_sbatch_option *k;
    bool attached;
    if (memchr(word.p, '"', word.n) || memchr(word.p, '\'', word.n) ||
        memchr(word.p, '\\', word.n))
        return false;
    if (word.p[1] == '-') {
        const char *equal = memchr(word.p, '=', word.n);
        attached = equal != NULL;
        if (equal) {
            name.n = (size_t)(equal - word.p);
            value = (struct bj_slice){equal + 1, word.n - name.n - 1};
        }
        const struct bj_slice bare = {name.p + 2, name.n - 2};
        k = bj_sbatch_by_name(bare);
        if (!k) {
            s->odd |= bare.n == 0 || bj_sbatch_abbreviates(bare);
            return attached && bare.n > 0; /* an option of the site */
        }
    } else {
        k = bj_sbatch_by_letter(word.p[1]);
        attached = word.n > 2;
        name.n = 2;
        value = (struct bj_slice){word.p + 2, word.n - 2};
        if (!k)
            return false;
        if (attached &&
            k->arg == BJ_SBATCH_NONE) { /* several letters together */
            s->odd = true;
            return false;
        }
    }
    if (k->arg == BJ_SBATCH_NEEDED && !attached) {
        if (!bj_slice_word(rest, &value))
            return false;
        word.n = (size_t)(value.p + value.n - word.p);
    }
    slurm_note(s, k, word, name, value);
    if (k->opt == BJ_SBATCH_WRAP) {
        s->script = may_have_more(*rest);
        s->wraps = true;
        *rest = (struct bj_slice){0};
    }
    return true;
}

static void slurm_read_line(struct bj_slurm *s)
{
    struct bj_slice rest = s->job->submit_line, word;
    if (!bj_slice_word(&rest, &word))
        return;
    const char *slash = memrchr(word.p, '/', word.n);
    if (slash)
        word =
            (struct bj_slice){slash + 1, word.n - (size_t)(slash + 1 - word.p)};
    const bool batch = bj_slice_eq(word, BJ_SLICE("sbatch"));
    if (!batch && !bj_slice_eq(word, BJ_SLICE("salloc")) &&
        !bj_slice_eq(word, BJ_SLICE("srun")))
        return;
    s->line = true;
    while (bj_slice_word(&rest, &word)) {
        if (word.n > 1 && word.p[0] == '-') {
            if (take_option(s, word, &rest))
                continue;
            return;
        }
        /* ":" separates the parts of a heterogeneous job. */
        s->odd |= bj_slice_eq(word, BJ_SLICE(":"));
        s->script = batch || may_have_more(rest);
        s->whole = batch;
        return;
    }
    /* Nothing after the options: a script from standard input, a shell, or the
     * command of --wrap, which has decided this already. */
    s->whole = batch && !s->wraps;
    if (!batch)
        s->script = false;
}

/* The options of the script, each with its line (sched/sbatch_script.h). */
static void read_script(struct bj_slurm *s)
{
    struct bj_slice rest = s->job->script, option, word;
    if (!s->whole || rest.n == 0)
        return;
    s->script = false;
    s->script_known = true;
    if (bj_slice_eq(rest, BJ_SLICE("none")))
        return;
    const enum bj_slurm_opt memory = slurm_memory(s);
    while (bj_script_options_next(&rest, &s->reads_line, &option)) {
        struct bj_slice more = option;
        if (!bj_slice_word(&more, &word) || word.n < 2 || word.p[0] != '-' ||
            !take_option(s, word, &more))
            s->odd = true;
    }
    s->odd |= rest.n > 0;
    s->reads_line = 0;
    /* sbatch refuses two ways to request memory. */
    for (enum bj_slurm_opt i = MEM; memory < OPTS && i <= MEM_GPU; i++)
        s->odd |= i != memory && s->o[i].on;
}

/* --- values ----------------------------------------------------------------
 */

/* The number in "4", "a100:4", or none, which is one. */
static int64_t gpus_of(struct bj_slice value, struct bj_slice around[2])
{
    const char *colon = value.n > 0 ? memrchr(value.p, ':', value.n) : NULL;
    struct bj_slice last = value;
    if (colon)
        last = (struct bj_slice){colon + 1,
                                 value.n - (size_t)(colon + 1 - value.p)};
    around[0] = (struct bj_slice){value.p, value.n - last.n};
    return bj_request_number(last);
}

/* The GPUs in a list such as "lustre:1,gpu:a100:4". */
static int64_t gres_gpus(struct bj_slurm *s)
{
    const struct bj_slice all = s->o[GRES].value;
    struct bj_slice rest = all, item, bare, around[2];
    int64_t n = UNSET;
    unsigned found = 0;
    while (bj_slice_field(&rest, ',', &item)) {
        bare = item;
        if (bj_slice_starts(bare, BJ_SLICE("gres/")))
            bare = (struct bj_slice){bare.p + 5, bare.n - 5};
        if (!bj_slice_starts(bare, BJ_SLICE("gpu")))
            continue;
        found++;
        if (bare.n < 5 || bare.p[3] != ':')
            continue; /* one GPU, or another resource */
        n = gpus_of((struct bj_slice){bare.p + 4, bare.n - 4}, around);
        if (around[0].n == 0)
            around[0].p = bare.p + 4;
        const char *number = around[0].p + around[0].n, *end = item.p + item.n;
        s->gres[0] = (struct bj_slice){all.p, (size_t)(number - all.p)};
        s->gres[1] = (struct bj_slice){end, (size_t)(all.p + all.n - end)};
    }
    if (found == 0)
        s->o[GRES].on = false; /* resources other than GPUs */
    return found == 1 ? n : UNSET;
}

static void read_values(struct bj_slurm *s)
{
    for (unsigned i = 0; i < OPTS; i++) {
        const struct bj_slice v = s->o[i].value;
        struct bj_slice around[2];
        if (!s->o[i].on)
            continue;
        if (i == GRES)
            s->o[i].n = gres_gpus(s);
        else if (i == GPUS || i == GPUS_NODE || i == GPUS_TASK)
            s->o[i].n = memchr(v.p, ',', v.n) ? UNSET : gpus_of(v, around);
        else if (i == MEM || i == MEM_CPU || i == MEM_GPU)
            s->o[i].n = bj_request_bytes(v, 1 << 20);
        else if (i < TIME)
            s->o[i].n = bj_request_number(v);
        /* The model knows no ranges of nodes, and no lists of models. */
        if (s->o[i].on && i < TIME && (s->o[i].n < 0 || v.n == 0)) {
            if (i == MEM || i == MEM_CPU || i == MEM_GPU)
                s->odd = true;
            else
                s->shape = true;
        }
    }
}

/* Find out how many tasks with how many CPUs the job requested, and check
 * this with accounting. */
static void read_tasks(struct bj_slurm *s)
{
    const int64_t cpus = s->job->cpus_requested;
    int64_t tasks = s->o[NTASKS].on ? s->o[NTASKS].n : UNSET;
    int64_t each = s->o[CPUS_TASK].on ? s->o[CPUS_TASK].n : UNSET;
    s->tasks = s->task_cpus = UNSET;
    if (s->odd || s->shape || cpus < 1 || s->o[CPUS_GPU].on ||
        s->job->nodes < 1)
        return;
    if (tasks < 0 && s->o[TASKS_NODE].on) {
        if (!s->o[NODES].on || s->o[NODES].n != s->job->nodes)
            return;
        tasks = s->o[TASKS_NODE].n * s->o[NODES].n;
    }
    if (!s->script) {
        if (tasks < 0)
            tasks = s->o[NODES].on ? s->o[NODES].n : 1;
        if (each < 0)
            each = 1;
    } else if (tasks < 0 && each == cpus) {
        tasks = 1; /* any other number would have given more CPUs */
    } else if (each < 0 && tasks == cpus) {
        each = 1;
    }
    if (tasks < 1 || each < 1 || tasks * each != cpus)
        return;
    s->tasks = tasks;
    s->task_cpus = each;
}

/* Read the submit line, and compare it with accounting: fills o, line, script,
 * odd, shape, tasks and task_cpus. */
static void slurm_read(struct bj_slurm *s)
{
    slurm_read_line(s);
    read_script(s);
    read_values(s);
    read_tasks(s);
}

static enum bj_slurm_opt slurm_memory(const struct bj_slurm *s)
{
    for (enum bj_slurm_opt i = MEM; i <= MEM_GPU; i++)
        if (s->o[i].on)
            return i;
    return OPTS;
}

/* --- words -----------------------------------------------------------------
 */

static void slurm_put_time(struct bj_buf *b, int64_t sec)
{
    const long long hours = sec / 3600, minutes = sec % 3600 / 60;
    if (hours >= 24)
        bj_buf_printf(b, "%lld-%02lld:%02lld:00", hours / 24, hours % 24,
                      minutes);
    else
        bj_buf_printf(b, "%02lld:%02lld:00", hours, minutes);
}

static void slurm_put_value(struct bj_buf *b, const struct bj_slurm *s,
                            enum bj_slurm_opt opt)
{
    static const char *const units[] = {"G", "M"};
    struct bj_slice around[2] = {{0}, {0}};
    if (opt == TIME)
        slurm_put_time(b, s->to[opt]);
    else if (opt == MEM || opt == MEM_CPU || opt == MEM_GPU)
        bj_request_put_memory(b, units, s->to[opt]);
    else {
        if (opt == GRES)
            bj_buf_slice(b, s->gres[0]);
        else if (opt == GPUS || opt == GPUS_NODE || opt == GPUS_TASK) {
            gpus_of(s->o[opt].value, around);
            bj_buf_slice(b, around[0]);
        }
        bj_buf_printf(b, "%lld", (long long)s->to[opt]);
        if (opt == GRES)
            bj_buf_slice(b, s->gres[1]);
    }
}

/* Note where the replaced option is written. */
static void put_place(struct bj_slurm *s, enum bj_request_part part,
                      enum bj_slurm_opt opt)
{
    struct bj_buf *b = &s->out->places[part];
    if (s->o[opt].line == 0)
        s->out->on_submit_line[part] = true;
    else
        bj_buf_printf(b, "%s%u", b->len > 0 ? ", " : "", s->o[opt].line);
}

/* Append the changed options to s->out, in the words of the submit line. */
static void slurm_write(struct bj_slurm *s)
{
    for (enum bj_slurm_opt i = 0; i < OPTS; i++) {
        struct bj_buf b = {0};
        struct bj_slice old = s->o[i].on ? s->o[i].word : (struct bj_slice){0};
        if (s->to[i] == UNSET)
            continue;
        if (i == MEM && s->no_mem)
            old = s->o[slurm_memory(s)].word;
        else if (s->o[i].on && s->to[i] == s->o[i].n && i != TIME) {
            /* It stays, and with fewer GPUs it is less in all. */
            s->out->in[s->part[i]] = BJ_REQUEST_GPUS + 1;
            continue;
        }
        if (!s->o[i].on)
            bj_buf_printf(&b, "--%s=", bj_sbatch_name((enum bj_sbatch_opt)i));
        else {
            bj_buf_slice(&b, s->o[i].name);
            bj_buf_str(&b, s->o[i].name.n > 2 ? "=" : " ");
        }
        slurm_put_value(&b, s, i);
        s->out->arena->failed |= b.failed;
        bj_request_put(s->out, s->part[i], (struct bj_slice){b.p, b.len}, old);
        if (old.n > 0)
            put_place(s, s->part[i],
                      i == MEM && s->no_mem ? slurm_memory(s) : i);
        bj_buf_free(&b);
    }
}

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
    const enum bj_slurm_opt mem = slurm_memory(s);
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
        s->o[GPUS].on || !is_memory_known(s, slurm_memory(s)))
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
        s->o[EXCLUSIVE].on || !is_memory_known(s, slurm_memory(s)) ||
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
    s->keep |= slurm_memory(s) != MEM;
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
        s->keep |= slurm_memory(s) == MEM_CPU;
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
        !is_memory_known(s, slurm_memory(s)))
        return false;
    const bool per_node = opt == GRES || opt == GPUS_NODE;
    if (per_node ? had * j->nodes != j->gpus : j->nodes != 1 || had != j->gpus)
        return false;
    if (!keep_cpus(s, had, now)) {
        s->to[CPUS_GPU] = UNSET;
        return false;
    }
    const enum bj_slurm_opt mem = slurm_memory(s);
    s->keep |= mem == MEM_GPU || mem == OPTS;
    set(s, opt, BJ_REQUEST_GPUS, now);
    return true;
}

/* --- memory ----------------------------------------------------------------
 */

static bool set_memory(struct bj_slurm *s, enum bj_slurm_opt opt, int64_t bytes)
{
    const enum bj_slurm_opt had = slurm_memory(s);
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
    const enum bj_slurm_opt opt = slurm_memory(s);
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
    const enum bj_slurm_opt opt = slurm_memory(s);
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
    const enum bj_slurm_opt opt = slurm_memory(s);
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
    if (s->odd || s->job->nodes < 1 || !is_memory_known(s, slurm_memory(s)))
        return false;
    if (bj_request_wants(need->more))
        return more_memory(s);
    if (s->one && slurm_memory(s) != MEM_CPU)
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
    slurm_read(&s);
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
    slurm_write(&s);
}
