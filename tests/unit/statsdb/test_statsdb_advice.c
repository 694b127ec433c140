/* Advice by simulation: random jobs are submitted to a model of Slurm, report
 * what they used, and are submitted again as the report advises.  The model
 * here shares no code with that of the report (sbatch(1), slurm.conf(5)).
 *
 * The next job never lacks what the job was seen to use, requests no more of
 * anything unless the job ran out of it, and has no options that contradict
 * each other.  With an argument: the seed. */
#include "report/model/limits.h"
#include "report/request/advice.h"
#include "tests/unit/statsdb/slurm_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JOBS = 10000 };

/* --- jobs ------------------------------------------------------------------
 */

struct job {
    const struct site *site;
    struct request request;
    struct allocation got;
    bool script, known, oom, timeout, uneven;
    char line[MANY * LENGTH];
    char options[MANY * (LENGTH + 8)]; /* of the script, if it is known */
    /* What it used.  Memory in MiB; CPUs in thousandths. */
    int64_t task_memory, memory[NODES_MAX], peak, sum;
    int64_t busy, gpus[NODES_MAX], gpus_used, gpus_most, used_nodes;
    int64_t ran, limit;
    struct bj_report r;
    bool no_peak, no_busy, no_limit;
};

static const enum option gpu_options[] = {GRES, G_, GPN, GPT};

static void make_request(struct job *j)
{
    struct request *r = &j->request;
    const bool unknown = j->script;
#define PUT(o, v) add_word(r, o, v, unknown &&chance(50))
    if (chance(45))
        PUT(N_, chance(50) ? 1 : between(1, 4));
    if (chance(35))
        PUT(n_, between(1, 16));
    else if (chance(25) && has(r, N_))
        PUT(TPN, between(1, 12));
    const bool gpus = chance(45);
    if (gpus)
        PUT(gpu_options[between(0, 3)], between(1, 4));
    if (chance(50))
        PUT(C_, chance(40) ? between(8, 32) : between(1, 8));
    else if (gpus && chance(40))
        PUT(CPG, between(1, 12));
    if (chance(35))
        PUT(M_, chance(4) ? 0 : between(1, 96) * 1024 + (chance(20) ? 300 : 0));
    else if (chance(45))
        PUT(MC, between(1, 24) * 512);
    else if (gpus && chance(60))
        PUT(MG, between(1, 60) * 1024);
    if (chance(60))
        PUT(T_, between(20, 6000) * 60);
    if (chance(6))
        PUT(X_, 1);
#undef PUT
}

static void make_line(struct job *j)
{
    static const char *const filler[] = {
        "-J test", "--job-name=a", "--partition=main",
        "-p main", "-o out.txt",   "--site-plugin=7",
        "-A phys", "--array 1-3",  "-H"};
    static const char *const commands[] = {"salloc", "srun", "sbatch"};
    const int kind = j->script ? 3 : (int)between(0, 2);
    snprintf(j->line, sizeof(j->line), "%s%s", chance(10) ? "/usr/bin/" : "",
             kind == 3 ? "sbatch" : commands[kind]);
    for (unsigned i = 0; i < j->request.n; i++) {
        size_t n = strlen(j->line);
        if (chance(25)) {
            snprintf(j->line + n, sizeof(j->line) - n, " %s",
                     filler[between(0, 8)]);
            n = strlen(j->line);
        }
        if (!j->request.word[i].script)
            snprintf(j->line + n, sizeof(j->line) - n, " %s",
                     j->request.word[i].text);
    }
    size_t n = strlen(j->line);
    snprintf(j->line + n, sizeof(j->line) - n, "%s",
             kind == 3   ? " job.sh --mem=1 -c 99"
             : kind == 2 ? " --wrap=./prog"
             : kind == 1 ? " ./prog -x"
                         : "");
}

static void make_script(struct job *j)
{
    unsigned line = 1;
    size_t n = 0;
    snprintf(j->options, sizeof(j->options), "none");
    for (unsigned i = 0; i < j->request.n; i++) {
        if (!j->request.word[i].script)
            continue;
        line += (unsigned)between(0, 3);
        n += (size_t)snprintf(j->options + n, sizeof(j->options) - n, "%s%u %s",
                              n > 0 ? "; " : "", line, j->request.word[i].text);
    }
}

static void use(struct job *j)
{
    const struct allocation *a = &j->got;
    const int64_t per_task = a->memory / a->tasks;
    int64_t most = 0, least = INT64_MAX;
    j->oom = chance(10);
    j->timeout = !j->oom && chance(5);
    j->used_nodes =
        a->nodes > 1 && chance(25) ? between(1, a->nodes - 1) : a->nodes;
    for (int64_t i = 0; i < a->nodes; i++) {
        const int64_t share = a->at[i].memory / a->at[i].tasks;
        least = share < least ? share : least;
    }
    j->task_memory = least < per_task ? least : per_task;
    if (!j->oom)
        j->task_memory = chance(10) ? j->task_memory
                                    : j->task_memory * between(1, 100) / 100;
    j->uneven = a->nodes == a->tasks && chance(30);
    for (int64_t i = 0; i < a->nodes; i++) {
        const bool works = i < j->used_nodes;
        j->memory[i] = !works ? 1 : a->at[i].tasks * j->task_memory;
        if (j->uneven && works)
            j->memory[i] = j->memory[i] * between(10, 100) / 100;
        j->sum += j->memory[i];
        j->peak = j->memory[i] > j->peak ? j->memory[i] : j->peak;
        most += works ? a->at[i].cpus : 0;
        j->gpus[i] = !works       ? 0
                     : chance(50) ? a->at[i].gpus
                                  : between(0, a->at[i].gpus);
        j->gpus_used += j->gpus[i];
        j->gpus_most = j->gpus[i] > j->gpus_most ? j->gpus[i] : j->gpus_most;
    }
    j->busy = chance(30)   ? between(900, 1000)
              : chance(40) ? most * 1000
                           : most * between(1, 100) * 10;
    j->limit = has(&j->request, T_) ? amount(&j->request, T_) : 86400;
    j->ran = chance(20) ? j->limit : j->limit * between(1, 100) / 100;
    j->ran = j->timeout ? j->limit : j->ran;
    j->ran = j->ran < 1 ? 1 : j->ran;
}

static void number(struct job *j, enum bj_report_column c, int64_t v)
{
    j->r.job[c] = (struct bj_job_value){.known = true, .number = v};
}

static void text(struct job *j, enum bj_report_column c, const char *s)
{
    j->r.job[c] = (struct bj_job_value){.known = true, .text = bj_slice_str(s)};
}

static void find(struct job *j, const char *name)
{
    j->r.finding[j->r.findings++] = (struct bj_report_finding){
        .finding = bj_slice_str(name), .tasks = BJ_SQL_NULL};
}

/* Measure memory: nodes, Prometheus (sometimes only some nodes), accounting. */
static void measure_memory(struct job *j)
{
    const int64_t nodes = j->got.nodes;
    const int way = (int)between(1, 100);
    j->no_peak = false;
    number(j, BJ_REPORT_MEASURED_NODES, nodes);
    if (way <= 90) {
        number(j, BJ_REPORT_MEMORY_PEAK, MIB(j->sum));
        text(j, BJ_REPORT_MEMORY_SOURCE, j->r.nodes ? "nodes" : "prometheus");
    } else if (way <= 95) {
        /* The largest process. */
        number(j, BJ_REPORT_MEMORY_PEAK, MIB(j->task_memory / 2));
        number(j, BJ_REPORT_TASK_PEAK, MIB(j->task_memory / 2));
        text(j, BJ_REPORT_MEMORY_SOURCE, "scheduler");
        j->no_peak = true;
    } else {
        j->no_peak = true;
    }
    if (j->no_peak)
        for (size_t i = 0; i < j->r.nodes; i++)
            j->r.node[i].memory_peak = BJ_SQL_NULL;
    if (nodes > 1 && j->r.nodes == 0 && chance(10)) {
        number(j, BJ_REPORT_MEASURED_NODES, 1);
        number(j, BJ_REPORT_MEMORY_PEAK, MIB(j->memory[0]));
        j->no_peak = true;
    }
}

static void report_nodes(struct job *j)
{
    static const char *const hosts[NODES_MAX] = {"a", "b", "c", "d",
                                                 "e", "f", "g", "h"};
    struct bj_report *r = &j->r;
    r->node = bj_arena_alloc(&r->arena, NODES_MAX * sizeof(*r->node));
    r->gpu = bj_arena_alloc(&r->arena, 64 * sizeof(*r->gpu));
    if (chance(30))
        return;
    for (int64_t i = 0; i < j->got.nodes; i++) {
        r->node[r->nodes++] = (struct bj_report_node){
            .node = bj_slice_str(hosts[i]),
            .cpus = j->got.at[i].cpus,
            .cpu_usec = i < j->used_nodes ? 50000000 : 10,
            .memory_peak = MIB(j->memory[i])};
        for (int64_t g = 0; g < j->got.at[i].gpus; g++)
            r->gpu[r->gpus++] =
                (struct bj_report_gpu){.node = bj_slice_str(hosts[i]),
                                       .busy_ppm = g < j->gpus[i] ? 500000 : 0};
    }
}

static void report(struct job *j)
{
    struct bj_report *r = &j->r;
    const struct allocation *a = &j->got;
    r->finding = bj_arena_alloc(&r->arena, 20 * sizeof(*r->finding));
    report_nodes(j);
    text(j, BJ_REPORT_SYSTEM, "slurm");
    text(j, BJ_REPORT_STATE,
         j->oom       ? "oom"
         : j->timeout ? "timeout"
                      : "completed");
    number(j, BJ_REPORT_ELAPSED, j->ran);
    number(j, BJ_REPORT_LIMIT, j->limit);
    number(j, BJ_REPORT_NODES, a->nodes);
    number(j, BJ_REPORT_CPUS, a->cpus);
    number(j, BJ_REPORT_CPUS_REQUESTED, a->requested_cpus);
    number(j, BJ_REPORT_GPUS, a->gpus);
    number(j, BJ_REPORT_GPUS_UNUSED, a->gpus - j->gpus_used);
    number(j, BJ_REPORT_MEMORY_ALLOCATED, MIB(a->memory));
    number(j, BJ_REPORT_CPU_USED, j->busy * 1000 * j->ran);
    text(j, BJ_REPORT_SUBMIT_LINE, j->line);
    if (j->known)
        text(j, BJ_REPORT_SCRIPT_OPTIONS, j->options);
    measure_memory(j);
    static const enum bj_report_column may_lack[] = {
        BJ_REPORT_LIMIT,       BJ_REPORT_NODES,
        BJ_REPORT_CPUS,        BJ_REPORT_CPUS_REQUESTED,
        BJ_REPORT_GPUS,        BJ_REPORT_GPUS_UNUSED,
        BJ_REPORT_CPU_USED,    BJ_REPORT_MEMORY_ALLOCATED,
        BJ_REPORT_SUBMIT_LINE, BJ_REPORT_ELAPSED,
        BJ_REPORT_SYSTEM,      BJ_REPORT_MEASURED_NODES};
    for (size_t i = 0; i < sizeof(may_lack) / sizeof(may_lack[0]); i++)
        if (chance(3))
            r->job[may_lack[i]].known = false;
    j->no_busy =
        !r->job[BJ_REPORT_CPU_USED].known || !r->job[BJ_REPORT_ELAPSED].known;
    j->no_limit =
        !r->job[BJ_REPORT_LIMIT].known || !r->job[BJ_REPORT_ELAPSED].known;
    if (a->gpus > j->gpus_used)
        find(j, "gpus_unused");
    if (j->used_nodes < a->nodes)
        find(j, "nodes_unused");
    if (j->oom)
        find(j, "oom");
    if (j->timeout)
        find(j, "timeout");
    find(j, chance(50) ? "memory_low" : "memory_per_gpu");
    if (a->nodes == 1 && a->gpus == 0 && a->cpus > 1 && j->busy > 850 &&
        j->busy < 1010)
        find(j, "serial_many_cpus");
    else if (a->gpus == 0)
        find(j, "cpu_very_low");
    if (a->nodes > 1 && a->gpus == 0 && a->cpus < 16 &&
        j->used_nodes == a->nodes && j->sum < 54 << 10)
        find(j, "too_many_nodes");
    find(j, "time_limit_too_long");
    r->next.memory_margin = chance(50) ? 20 : between(5, 100);
    r->next.time_margin = chance(50) ? 50 : between(5, 100);
    r->memory_of_cpu = MIB(j->site->max_cpu);
    r->interactive = false;
    bj_report_advise(r, &(struct bj_report_known){.tasks = 0});
}

/* --- the next job ----------------------------------------------------------
 */

/* Skip to what is after text; false: s does not contain it. */
static bool skip_to(struct bj_slice *s, const char *text)
{
    const char *at = memmem(s->p, s->n, text, strlen(text));
    if (!at)
        return false;
    at += strlen(text);
    *s = (struct bj_slice){at, s->n - (size_t)(at - s->p)};
    return true;
}

/* "2-03:00:00", "27:00:00" */
static int64_t read_time(struct bj_slice s)
{
    uint64_t v[4] = {0};
    unsigned n = memchr(s.p, '-', s.n) ? 0 : 1;
    for (; n < 4 && bj_slice_number(&s, &v[n]); n++)
        if (s.n > 0)
            s = (struct bj_slice){s.p + 1, s.n - 1};
    assert_int_equal(n, 4);
    return (int64_t)(((v[0] * 24 + v[1]) * 60 + v[2]) * 60 + v[3]);
}

/* Read an option as the report writes it. */
static bool read_word(struct bj_slice option, struct bj_slice value,
                      struct word *ret)
{
    for (unsigned o = 0; o < ALL; o++) {
        uint64_t v;
        if (!bj_slice_eq(option, bj_slice_str(long_names[o])) &&
            (!short_names[o] ||
             !bj_slice_eq(option, bj_slice_str(short_names[o]))))
            continue;
        *ret = (struct word){.option = o};
        if (o == T_) {
            ret->v = read_time(value);
            return true;
        }
        if (o == GRES)
            skip_to(&value, "gpu:");
        skip_to(&value, "a100:");
        if (!bj_slice_number(&value, &v))
            return false;
        const bool gib = value.n > 0 && value.p[0] == 'G';
        ret->v = (int64_t)v * (o >= M_ && o <= MG && gib ? 1024 : 1);
        return true;
    }
    return false;
}

static void drop(struct request *r, unsigned i)
{
    memmove(&r->word[i], &r->word[i + 1], (r->n - i - 1) * sizeof(*r->word));
    r->n--;
}

#define WRONG(j, ...)                                                          \
    do {                                                                       \
        describe(j);                                                           \
        fail_msg(__VA_ARGS__);                                                 \
    } while (0)

static void describe(const struct job *j)
{
    print_message("site %s: %s\n script%s:", j->site->name, j->line,
                  j->known ? ", known" : "");
    for (unsigned i = 0; i < j->request.n; i++)
        if (j->request.word[i].script)
            print_message(" %s", j->request.word[i].text);
    print_message("\n got %lld nodes, %lld tasks, %lld CPUs (%lld requested),"
                  " %lld MiB, %lld GPUs\n",
                  (long long)j->got.nodes, (long long)j->got.tasks,
                  (long long)j->got.cpus, (long long)j->got.requested_cpus,
                  (long long)j->got.memory, (long long)j->got.gpus);
    print_message(" used %lld nodes, %lld MiB on one, %lld MiB, %lld CPUs / "
                  "1000, %lld GPUs, %lld on one; oom %d, uneven %d\n",
                  (long long)j->used_nodes, (long long)j->peak,
                  (long long)j->sum, (long long)j->busy,
                  (long long)j->gpus_used, (long long)j->gpus_most, j->oom,
                  j->uneven);
    for (size_t i = 0; i < j->r.advices; i++)
        print_message(" * %.*s\n", (int)j->r.advice[i].text.n,
                      j->r.advice[i].text.p);
    print_message(" next: %.*s\n", (int)j->r.next.options.n,
                  j->r.next.options.p ? j->r.next.options.p : "");
}

/* Remove what an advice replaces: what it names must be on the line, or in the
 * script where that is known. */
static void replace(struct job *j, struct request *next, struct bj_slice old)
{
    char all[400];
    snprintf(all, sizeof(all), "%.*s", (int)old.n, old.p ? old.p : "");
    for (unsigned i = 0; i < next->n;) {
        char *found = strstr(all, next->word[i].text);
        const size_t n = strlen(next->word[i].text);
        if ((!next->word[i].script || j->known) && found &&
            (found[n] == '\0' || found[n] == ' ') &&
            (found == all || found[-1] == ' ')) {
            memset(found, ' ', n);
            drop(next, i);
        } else {
            i++;
        }
    }
    if (strspn(all, " ") != strlen(all))
        WRONG(j, "it replaces what is not there: %s", all);
}

static unsigned known_scripts;

/* Add the options to the submit line, and remove the same ones from a script
 * that is not known. */
static void follow(struct job *j, struct request *next)
{
    struct bj_slice rest = j->r.next.options, option, value;
    /* Without the submit line all options are those of the note. */
    const bool unknown = bj_slice_eq(j->r.next.basis, BJ_SLICE("accounting"));
    const bool known = bj_slice_eq(j->r.next.basis, BJ_SLICE("script"));
    known_scripts += known;
    *next = j->request;
    for (size_t i = 0; i < j->r.advices; i++)
        replace(j, next, j->r.advice[i].replaces);
    while (bj_slice_word(&rest, &option)) {
        struct word word;
        value = option;
        if (memchr(option.p, '=', option.n))
            bj_slice_field(&value, '=', &option);
        else if (!bj_slice_word(&rest, &value))
            WRONG(j, "an option without a value");
        if (!read_word(option, value, &word))
            WRONG(j, "not an option: %.*s", (int)option.n, option.p);
        for (unsigned i = 0; i < next->n;)
            if (((next->word[i].script && !known) || unknown) &&
                (next->word[i].option == word.option ||
                 (word.option == M_ &&
                  (next->word[i].option == MC || next->word[i].option == MG))))
                drop(next, i);
            else
                i++;
        next->word[next->n++] = word;
    }
}

/* --- checks ----------------------------------------------------------------
 */

static unsigned changed[ALL], without;

static void check_enough(struct job *j, const struct request *next)
{
    struct allocation a, old;
    const uint64_t state = random_state;
    allocate(j->site, &j->request, 0, &old);
    random_state = state;
    allocate(j->site, next, 0, &a);
    if (a.refused && !old.refused)
        WRONG(j, "refused: %s", a.refused);
    /* Placed otherwise, the first request may not have fitted, either. */
    if (a.refused)
        return;
    for (int64_t i = 0; i < a.nodes; i++) {
        const int64_t n = a.at[i].tasks;
        const bool same =
            !old.refused && old.nodes == a.nodes && old.at[i].tasks == n;
        int64_t memory = a.nodes > 1          ? j->task_memory * n
                         : j->used_nodes == 1 ? j->peak
                                              : j->sum;
        if (j->got.nodes == 1)
            memory = up(j->sum * n, a.tasks);
        else if (j->uneven && a.nodes > 1)
            memory = j->peak;
        if (same && old.at[i].memory < memory)
            memory = old.at[i].memory;
        if (a.at[i].memory < memory)
            WRONG(j, "node %lld has %lld MiB instead of %lld", (long long)i,
                  (long long)a.at[i].memory, (long long)memory);
        if (a.nodes == j->got.nodes && !has(next, G_) &&
            a.at[i].gpus < j->gpus_most &&
            !(same && old.at[i].gpus <= a.at[i].gpus))
            WRONG(j, "GPUs");
    }
    if (a.nodes == j->got.nodes && a.gpus < j->gpus_used &&
        (old.refused || a.gpus < old.gpus))
        WRONG(j, "%lld GPUs", (long long)a.gpus);
    if (a.cpus * 1000 < j->busy && (old.refused || a.cpus < old.cpus))
        WRONG(j, "%lld CPUs", (long long)a.cpus);
    if (has(next, T_) && amount(next, T_) < j->ran)
        WRONG(j, "time");
}

static void check_less(struct job *j, const struct request *next)
{
    struct allocation old, a;
    const uint64_t state = random_state;
    allocate(j->site, &j->request, j->got.nodes, &old);
    random_state = state;
    allocate(j->site, next, j->got.nodes, &a);
    if (old.refused || (a.refused && j->oom))
        return;
    if (a.refused)
        WRONG(j, "refused: %s", a.refused);
    if (a.nodes > old.nodes || a.gpus > old.gpus)
        WRONG(j, "more nodes or GPUs");
    /* The same request may have a CPU more or less, as tasks are placed. */
    const struct allocation *got = &j->got;
    if (!j->oom && ((a.cpus > old.cpus && a.cpus > got->cpus) ||
                    (a.memory > old.memory && a.memory > got->memory)))
        WRONG(j, "more: %lld CPUs, %lld MiB", (long long)a.cpus,
              (long long)a.memory);
    if (j->oom && (has(next, M_) || has(next, MC) || has(next, MG)) &&
        a.memory < old.memory)
        WRONG(j, "less memory after OOM");
    const int64_t limit = amount(next, T_);
    if (limit > 0 && limit > j->limit)
        WRONG(j, "more time");
    if (j->no_peak && !j->oom && a.memory < old.memory * a.nodes / old.nodes)
        WRONG(j, "less memory than unknown");
    if (j->no_busy && a.cpus < old.cpus * a.nodes / old.nodes)
        WRONG(j, "fewer CPUs than unknown");
    if (j->no_limit && limit != amount(&j->request, T_))
        WRONG(j, "time from unknown values");
}

static void check_job(const struct site *site)
{
    struct job j = {.site = site};
    struct request next;
    j.script = chance(50);
    do {
        j.request.n = 0;
        make_request(&j);
        allocate(site, &j.request, 0, &j.got);
    } while (j.got.refused || j.got.memory < 1);
    make_line(&j);
    make_script(&j);
    j.known = j.script && chance(50);
    use(&j);
    report(&j);
    follow(&j, &next);
    without += j.r.next.options.n == 0;
    const char *contra = contradiction(&next);
    if (contra)
        WRONG(&j, "%s", contra);
    for (int i = 0; i < 4 && !j.oom; i++)
        check_enough(&j, &next);
    check_less(&j, &next);
    for (unsigned o = 0; o < ALL; o++)
        changed[o] += amount(&next, o) != amount(&j.request, o);
    bj_arena_free(&j.r.arena);
}

static uint64_t seed = 20261128;

static void test_random_jobs(void **state)
{
    (void)state;
    random_state = seed;
    for (int i = 0; i < JOBS; i++)
        check_job(&sites[i % 3]);
    print_message("next request with a known script: %u\n", known_scripts);
    assert_true(known_scripts > 100);
    print_message("without an option: %u of %d\n", without, JOBS);
    for (unsigned o = 0; o < ALL; o++) {
        print_message("%-20s changed %u times\n", long_names[o], changed[o]);
        /* The test would prove nothing without advice. */
        if (o != X_)
            assert_true(changed[o] > 10);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_jobs)};
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
