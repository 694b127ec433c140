#include "report/request/request_slurm.h"
#include "sched/sbatch_script.h"

#include <string.h>

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

static void note(struct bj_slurm *s, const struct bj_sbatch_option *k,
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
    note(s, k, word, name, value);
    if (k->opt == BJ_SBATCH_WRAP) {
        s->script = may_have_more(*rest);
        s->wraps = true;
        *rest = (struct bj_slice){0};
    }
    return true;
}

static void read_line(struct bj_slurm *s)
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
    const enum bj_slurm_opt memory = bj_slurm_memory(s);
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

void bj_slurm_read(struct bj_slurm *s)
{
    read_line(s);
    read_script(s);
    read_values(s);
    read_tasks(s);
}

enum bj_slurm_opt bj_slurm_memory(const struct bj_slurm *s)
{
    for (enum bj_slurm_opt i = MEM; i <= MEM_GPU; i++)
        if (s->o[i].on)
            return i;
    return OPTS;
}

/* --- words -----------------------------------------------------------------
 */

static void put_time(struct bj_buf *b, int64_t sec)
{
    const long long hours = sec / 3600, minutes = sec % 3600 / 60;
    if (hours >= 24)
        bj_buf_printf(b, "%lld-%02lld:%02lld:00", hours / 24, hours % 24,
                      minutes);
    else
        bj_buf_printf(b, "%02lld:%02lld:00", hours, minutes);
}

static void put_value(struct bj_buf *b, const struct bj_slurm *s,
                      enum bj_slurm_opt opt)
{
    static const char *const units[] = {"G", "M"};
    struct bj_slice around[2] = {{0}, {0}};
    if (opt == TIME)
        put_time(b, s->to[opt]);
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

void bj_slurm_write(struct bj_slurm *s)
{
    for (enum bj_slurm_opt i = 0; i < OPTS; i++) {
        struct bj_buf b = {0};
        struct bj_slice old = s->o[i].on ? s->o[i].word : (struct bj_slice){0};
        if (s->to[i] == UNSET)
            continue;
        if (i == MEM && s->no_mem)
            old = s->o[bj_slurm_memory(s)].word;
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
        put_value(&b, s, i);
        s->out->arena->failed |= b.failed;
        bj_request_put(s->out, s->part[i], (struct bj_slice){b.p, b.len}, old);
        if (old.n > 0)
            put_place(s, s->part[i],
                      i == MEM && s->no_mem ? bj_slurm_memory(s) : i);
        bj_buf_free(&b);
    }
}
