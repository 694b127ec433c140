/* A model of Slurm for tests of advice: sites, requests, and what a site
 * allocates to a request (sbatch(1), slurm.conf(5)).  It shares no code with
 * the programs. */
#ifndef BJ_TESTS_UNIT_STATSDB_SLURM_MODEL_H
#define BJ_TESTS_UNIT_STATSDB_SLURM_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NODES_MAX = 8, MANY = 40, LENGTH = 60 };

#define MIB(n) ((int64_t)(n) << 20)

static uint64_t random_state;

static inline uint64_t random_u64(void)
{
    /* splitmix64 */
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline int64_t between(int64_t lo, int64_t hi)
{
    return lo + (int64_t)(random_u64() % (uint64_t)(hi - lo + 1));
}

static inline bool chance(int percent)
{
    return between(1, 100) <= percent;
}

/* --- sites -----------------------------------------------------------------
 */

/* Memory in MiB; 0: not set. */
struct site {
    const char *name;
    int64_t threads;            /* of a core; cores are allocated */
    int64_t cpus, memory, gpus; /* of a node */
    int64_t def_cpu, def_node, def_gpu, max_cpu, gpu_cpus;
};

static const struct site sites[] = {
    {"plain", 1, 64, 512 << 10, 8, 0, 16 << 10, 0, 0, 0},
    {"threads and limits", 2, 96, 384 << 10, 4, 2 << 10, 0, 0, 4 << 10, 0},
    {"GPUs", 1, 128, 1 << 20, 8, 4 << 10, 0, 64 << 10, 0, 12},
};

/* --- a request -------------------------------------------------------------
 */

enum option {
    N_,
    n_,
    TPN,
    C_,
    GRES,
    G_,
    GPN,
    GPT,
    CPG,
    M_,
    MC,
    MG,
    T_,
    X_,
    ALL
};

static const char *const long_names[ALL] = {
    "--nodes",        "--ntasks",   "--ntasks-per-node", "--cpus-per-task",
    "--gres",         "--gpus",     "--gpus-per-node",   "--gpus-per-task",
    "--cpus-per-gpu", "--mem",      "--mem-per-cpu",     "--mem-per-gpu",
    "--time",         "--exclusive"};
static const char *const short_names[ALL] = {
    [N_] = "-N", [n_] = "-n", [C_] = "-c", [G_] = "-G", [T_] = "-t"};

/* An option as it is written: where it is, and its amount. */
struct word {
    enum option option;
    bool script; /* in #SBATCH, not on the submit line */
    char text[LENGTH];
    int64_t v; /* number, MiB, or seconds */
};

struct request {
    struct word word[MANY];
    unsigned n;
};

static inline int64_t amount(const struct request *r, enum option o)
{
    for (unsigned i = 0; i < r->n; i++)
        if (r->word[i].option == o)
            return r->word[i].v;
    return -1;
}

static inline bool has(const struct request *r, enum option o)
{
    return amount(r, o) >= 0;
}

static inline void add_word(struct request *r, enum option o, int64_t v,
                            bool script)
{
    struct word *w = &r->word[r->n++];
    *w = (struct word){.option = o, .script = script, .v = v};
    char value[40] = "", mid = '=';
    const char *name = long_names[o];
    const bool whole = v % 1024 == 0 && chance(80);
    if (o >= M_ && o <= MG)
        snprintf(value, sizeof(value), "%lld%s",
                 (long long)(whole ? v / 1024 : v),
                 whole        ? "G"
                 : chance(50) ? "M"
                              : "");
    else if (o == T_)
        snprintf(value, sizeof(value), "%02lld:%02lld:00", (long long)v / 3600,
                 (long long)v % 3600 / 60);
    else if (o == GRES)
        snprintf(value, sizeof(value), "%sgpu:%s%lld%s",
                 chance(10) ? "lustre:1," : "", chance(40) ? "a100:" : "",
                 (long long)v, chance(10) ? ",nvme:2" : "");
    else if (o >= G_ && o <= GPT)
        snprintf(value, sizeof(value), "%s%lld", chance(30) ? "a100:" : "",
                 (long long)v);
    else if (o != X_)
        snprintf(value, sizeof(value), "%lld", (long long)v);
    if (short_names[o] && chance(50)) {
        name = short_names[o];
        mid = ' ';
    } else if (chance(20)) {
        mid = ' ';
    }
    if (o == X_)
        snprintf(w->text, sizeof(w->text), "--exclusive");
    else if (mid == ' ' && name == short_names[o] && chance(40))
        snprintf(w->text, sizeof(w->text), "%s%s", name, value);
    else
        snprintf(w->text, sizeof(w->text), "%s%c%s", name, mid, value);
}

/* --- the model of Slurm ----------------------------------------------------
 */

struct allocation {
    const char *refused; /* NULL: it starts */
    int64_t nodes, tasks, requested_cpus;
    struct {
        int64_t tasks, cpus, memory, gpus;
    } at[NODES_MAX];
    int64_t cpus, memory, gpus; /* of all nodes */
};

static inline int64_t up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Place tasks on nodes at random, at least one on each. */
static inline void place(struct allocation *a, int64_t most)
{
    int64_t left = a->tasks - a->nodes;
    for (int64_t i = 0; i < a->nodes; i++)
        a->at[i].tasks = 1;
    for (int64_t i = 0; left > 0 && i < 10 * a->tasks + 100; i++) {
        int64_t to = between(0, a->nodes - 1);
        if (a->at[to].tasks < most) {
            a->at[to].tasks++;
            left--;
        }
    }
    if (left > 0)
        a->refused = "tasks do not fit their nodes";
}

static const char *contradiction(const struct request *r)
{
    for (unsigned i = 0; i < r->n; i++)
        for (unsigned k = i + 1; k < r->n; k++)
            if (r->word[i].option == r->word[k].option)
                return "an option is there twice";
    if (has(r, M_) + has(r, MC) + has(r, MG) > 1)
        return "two options for memory";
    if (has(r, GRES) + has(r, G_) + has(r, GPN) + has(r, GPT) > 1)
        return "two options for GPUs";
    if (has(r, CPG) && has(r, C_))
        return "CPUs per GPU and per task";
    return NULL;
}

/* Give node i what its tasks request.  each, mem_cpu: for a task and for a
 * CPU, within the limits of the site. */
static inline void give(const struct site *s, const struct request *r,
                        int64_t each, int64_t mem_cpu, struct allocation *a,
                        int64_t i)
{
    const int64_t of_gpu = amount(r, CPG);
    int64_t tasks = a->at[i].tasks, cpus = tasks * each, *g = &a->at[i].gpus;
    if (has(r, GRES) || has(r, GPN))
        *g = has(r, GRES) ? amount(r, GRES) : amount(r, GPN);
    else if (has(r, GPT))
        *g = tasks * amount(r, GPT);
    const int64_t by = of_gpu > 0                 ? of_gpu
                       : has(r, C_) || has(r, n_) ? 0
                                                  : s->gpu_cpus;
    if (*g * by > cpus)
        cpus = *g * by;
    int64_t mem = amount(r, M_) > 0      ? amount(r, M_)
                  : amount(r, M_) == 0   ? s->memory
                  : has(r, MG)           ? amount(r, MG) * *g
                  : has(r, MC)           ? 0
                  : s->def_gpu && *g > 0 ? s->def_gpu * *g
                                         : s->def_node;
    if (amount(r, M_) > 0 && s->max_cpu > 0 && mem > s->max_cpu * cpus)
        cpus = up(mem, s->max_cpu);
    a->requested_cpus += cpus;
    cpus = up(cpus, s->threads) * s->threads;
    if (has(r, X_))
        cpus = s->cpus;
    if (has(r, MC))
        mem = mem_cpu * cpus;
    else if (mem == 0 && s->def_cpu > 0)
        mem = s->def_cpu * cpus;
    a->at[i].cpus = cpus;
    a->at[i].memory = mem;
    a->cpus += cpus;
    a->memory += mem;
    a->gpus += *g;
    if (cpus > s->cpus || mem > s->memory || *g > s->gpus)
        a->refused = "no node is large enough";
}

/* Allocate nodes to a request.  If the number of nodes is free, it is that
 * wanted, or at random (0). */
static inline void allocate(const struct site *s, const struct request *r,
                            int64_t wanted, struct allocation *a)
{
    *a = (struct allocation){.refused = contradiction(r)};
    int64_t each = has(r, C_) ? amount(r, C_) : 1;
    int64_t mem_cpu = amount(r, MC);
    a->nodes = amount(r, N_);
    a->tasks = has(r, n_)     ? amount(r, n_)
               : has(r, TPN)  ? amount(r, TPN) * (a->nodes > 0 ? a->nodes : 1)
               : a->nodes > 0 ? a->nodes
                              : 1;
    if (a->nodes < 0) {
        int64_t most = a->tasks < NODES_MAX ? a->tasks : NODES_MAX;
        if (has(r, G_) && most > amount(r, G_))
            most = amount(r, G_);
        a->nodes = wanted > 0   ? (wanted < most ? wanted : most)
                   : chance(60) ? 1
                                : between(1, most);
        if (has(r, TPN) && !has(r, n_))
            a->nodes = 1;
    }
    if (a->nodes > NODES_MAX || a->nodes > a->tasks || a->tasks < 1)
        a->refused = "more nodes than tasks";
    if (a->refused)
        return;
    const bool even = has(r, TPN) && !has(r, n_);
    place(a, even || has(r, TPN) ? amount(r, TPN) : a->tasks);
    /* More memory for each CPU than allowed: more CPUs for each task. */
    if (s->max_cpu > 0 && mem_cpu > s->max_cpu) {
        int64_t times = up(mem_cpu, s->max_cpu);
        each *= times;
        mem_cpu = up(mem_cpu, times);
    }
    int64_t left = amount(r, G_) - a->nodes;
    for (int64_t i = 0; i < a->nodes && has(r, G_); i++)
        a->at[i].gpus = 1;
    for (; has(r, G_) && left > 0; left--)
        a->at[between(0, a->nodes - 1)].gpus++;
    if (has(r, G_) && left < 0)
        a->refused = "fewer GPUs than nodes";
    for (int64_t i = 0; i < a->nodes; i++)
        give(s, r, each, mem_cpu, a, i);
}

#endif
