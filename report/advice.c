#include "report/advice.h"

#include "report/limits.h"
#include "report/request.h"
#include "report/sentence.h"
#include "report/show.h"

#include <string.h>

enum { ADVICE_MAX = 32, MICRO = 1000000 };

struct advisor {
    struct bj_report *r;
    const struct bj_report_known *known;
    /* the finding to which the advice belongs */
    const struct bj_report_finding *finding;
    struct bj_buf value[BJ_SENTENCE_VALUES];
    unsigned values;
    struct bj_buf option, line;
};

/* --- sentences -------------------------------------------------------------
 */

static struct bj_buf *value(struct advisor *a)
{
    struct bj_buf *b = &a->value[a->values++];
    b->len = 0;
    return b;
}

static void reset(struct advisor *a)
{
    a->values = 0;
    a->option.len = a->line.len = 0;
}

/* Make the option the first value; false: the scheduler has no such option. */
static bool request(struct advisor *a, enum bj_request what, int64_t amount)
{
    reset(a);
    if (!bj_request_option(bj_report_text(a->r, BJ_REPORT_SYSTEM), what, amount,
                           &a->option, &a->line))
        return false;
    struct bj_buf *b = value(a);
    bj_buf_put(b, a->option.p, a->option.len);
    return true;
}

static struct bj_slice copy_buf(struct advisor *a, const struct bj_buf *b)
{
    a->r->arena.failed |= b->failed;
    return b->len > 0
               ? bj_arena_copy(&a->r->arena, (struct bj_slice){b->p, b->len})
               : (struct bj_slice){0};
}

static void add_advice(struct advisor *a, const char *name,
                       enum bj_sentence which)
{
    struct bj_report *r = a->r;
    if (r->advices == ADVICE_MAX)
        return;
    for (size_t i = 0; i < r->advices; i++)
        if (bj_slice_eq(r->advice[i].advice, bj_slice_str(name)))
            return; /* another finding has caused this advice already */
    r->advice[r->advices++] = (struct bj_report_advice){
        .advice = bj_slice_str(name),
        .text = bj_sentence_text(r, which, a->value, a->values),
        .option = copy_buf(a, &a->option),
        .line = copy_buf(a, &a->line),
        .finding = a->finding->finding,
        .url = a->finding->url,
        .runs = a->known->tasks > 0 ? a->known->tasks : 1};
}

/* --- data ------------------------------------------------------------------
 */

static int64_t number(const struct advisor *a, enum bj_report_column c)
{
    return bj_report_number(a->r, c);
}

/* Do completed runs show what the job needs? */
static bool is_judged(const struct advisor *a)
{
    int64_t coverage = number(a, BJ_REPORT_COVERAGE);
    if (a->r->interactive)
        return false;
    if (a->r->array.tasks > 1)
        return a->known->tasks >= BJ_REPORT_LEAST_TASKS;
    return bj_report_is(a->r, BJ_REPORT_STATE, "completed") &&
           number(a, BJ_REPORT_ELAPSED) >= BJ_REPORT_LEAST_SEC &&
           (coverage == BJ_SQL_NULL || a->r->nodes > 0 ||
            coverage >= BJ_REPORT_LEAST_COVERAGE);
}

/* In an array, a finding counts if half of the tasks have it. */
static bool is_common(const struct advisor *a)
{
    return a->r->array.tasks <= 1 ||
           2 * a->finding->tasks >= a->r->array.completed;
}

static bool submitted_with(const struct advisor *a, const char *option)
{
    struct bj_slice line = bj_report_text(a->r, BJ_REPORT_SUBMIT_LINE);
    return line.p && memmem(line.p, line.n, option, strlen(option));
}

/* The highest memory of a node, and its CPUs. */
static int64_t node_peak(const struct advisor *a, int64_t *cpus)
{
    const struct bj_report *r = a->r;
    int64_t nodes = number(a, BJ_REPORT_NODES), peak = -1;
    *cpus = number(a, BJ_REPORT_CPUS);
    if (r->array.tasks > 1)
        return nodes == 1 ? a->known->memory : BJ_SQL_NULL;
    if (nodes > 1) {
        *cpus /= nodes;
        for (size_t i = 0; i < r->nodes; i++) {
            if (r->node[i].memory_peak == BJ_SQL_NULL)
                return BJ_SQL_NULL;
            if (r->node[i].memory_peak > peak)
                peak = r->node[i].memory_peak;
        }
        return (int64_t)r->nodes >= nodes ? peak : BJ_SQL_NULL;
    }
    /* The scheduler's value, of the largest process, is less than the total. */
    peak = number(a, BJ_REPORT_MEMORY_PEAK);
    bool recorded = bj_report_is(r, BJ_REPORT_MEMORY_SOURCE, "scheduler");
    return recorded && peak == number(a, BJ_REPORT_TASK_PEAK) ? BJ_SQL_NULL
                                                              : peak;
}

/* --- advice for each kind of finding ---------------------------------------
 */

/* Memory per node, CPU or GPU, in the way the job requested it. */
static void less_memory(struct advisor *a)
{
    int64_t cpus, peak = node_peak(a, &cpus);
    int64_t had = number(a, BJ_REPORT_MEMORY_ALLOCATED), parts = 1;
    int64_t nodes = number(a, BJ_REPORT_NODES),
            gpus = number(a, BJ_REPORT_GPUS);
    enum bj_request what = BJ_REQUEST_MEMORY;
    if (had == BJ_SQL_NULL)
        had = number(a, BJ_REPORT_MEMORY_REQUESTED);
    if (!is_judged(a) || peak < 0 || had <= 0 || nodes < 1)
        return;
    if (cpus > 1 && submitted_with(a, "--mem-per-cpu")) {
        what = BJ_REQUEST_MEMORY_PER_CPU;
        parts = cpus;
    } else if (gpus >= nodes && submitted_with(a, "--mem-per-gpu")) {
        what = BJ_REQUEST_MEMORY_PER_GPU;
        parts = gpus / nodes;
    }
    int64_t want = bj_request_memory(peak / parts);
    if (what == BJ_REQUEST_MEMORY_PER_GPU && want < INT64_C(8) << 30)
        want = INT64_C(8) << 30;
    /* No advice unless it saves a tenth. */
    if (want * parts > had / nodes / 10 * 9 || !request(a, what, want))
        return;
    bj_show_bytes(value(a), peak);
    bj_show_bytes(value(a), had / nodes);
    if (a->known->memory_beyond > 0)
        bj_show_number(value(a), a->known->memory_beyond);
    add_advice(a, "memory",
               number(a, BJ_REPORT_MEMORY_SAMPLED) > 0
                   ? BJ_SENTENCE_MEMORY_SAMPLED
               : a->known->memory_beyond > 0 ? BJ_SENTENCE_MEMORY_BEYOND
               : a->known->tasks > 0         ? BJ_SENTENCE_MEMORY_ARRAY
                                             : BJ_SENTENCE_MEMORY);
}

/* A job that ran out of memory used less than it needs.  It may have used more
 * than was allocated if memory is not limited. */
static void more_memory(struct advisor *a)
{
    int64_t cpus, used = node_peak(a, &cpus);
    int64_t task = number(a, BJ_REPORT_TASK_PEAK);
    int64_t nodes = number(a, BJ_REPORT_NODES);
    int64_t had = number(a, BJ_REPORT_MEMORY_ALLOCATED);
    if (had == BJ_SQL_NULL)
        had = number(a, BJ_REPORT_MEMORY_REQUESTED);
    if (had <= 0 || nodes < 1 || had > INT64_MAX / 4)
        return;
    had /= nodes;
    had = used > had ? used : had;
    had = task > had ? task : had;
    if (had > INT64_MAX / 4 ||
        !request(a, BJ_REQUEST_MEMORY, bj_request_round_memory(had / 2 * 3)))
        return;
    bj_show_bytes(value(a), had);
    add_advice(a, "more_memory", BJ_SENTENCE_MORE_MEMORY);
}

static void less_time(struct advisor *a)
{
    const struct bj_report_known *k = a->known;
    int64_t limit = number(a, BJ_REPORT_LIMIT);
    int64_t ran = k->tasks > 0 ? k->elapsed : number(a, BJ_REPORT_ELAPSED);
    if (!is_judged(a) || limit <= 0 || limit == INT64_MAX ||
        ran < BJ_REPORT_LEAST_TIME_SEC)
        return;
    int64_t want =
        bj_request_round_time(k->tasks > 0 ? ran + ran / 4 : ran + ran / 2);
    if (want > limit / 10 * 9 || !request(a, BJ_REQUEST_TIME, want))
        return;
    bj_show_seconds(value(a), ran);
    bj_show_seconds(value(a), limit);
    if (k->elapsed_beyond > 0)
        bj_show_number(value(a), k->elapsed_beyond);
    add_advice(a, "time",
               k->elapsed_beyond > 0 ? BJ_SENTENCE_TIME_BEYOND
               : k->tasks > 0        ? BJ_SENTENCE_TIME_ARRAY
                                     : BJ_SENTENCE_TIME);
}

/* Only other tasks of the array show how much time it needs. */
static void more_time(struct advisor *a)
{
    int64_t limit = number(a, BJ_REPORT_LIMIT);
    reset(a);
    if (a->known->tasks >= BJ_REPORT_LEAST_TASKS && limit != INT64_MAX) {
        int64_t max = a->r->array.spread[BJ_SPREAD_ELAPSED].max;
        int64_t want = bj_request_round_time(max + max / 4);
        if (want > limit && request(a, BJ_REQUEST_TIME, want)) {
            bj_show_seconds(value(a), max);
            add_advice(a, "more_time", BJ_SENTENCE_MORE_TIME_ARRAY);
            return;
        }
    }
    reset(a);
    add_advice(a, "more_time", BJ_SENTENCE_MORE_TIME);
}

static void serial(struct advisor *a)
{
    bool tasks = number(a, BJ_REPORT_TASKS) > 1;
    if (!is_judged(a) ||
        !request(a, tasks ? BJ_REQUEST_TASKS : BJ_REQUEST_CPUS, 1))
        return;
    bj_show_number(value(a), number(a, BJ_REPORT_CPUS));
    add_advice(a, "cpus", BJ_SENTENCE_SERIAL);
}

/* The mean number of busy CPUs, and a tenth more. */
static void fewer_cpus(struct advisor *a)
{
    int64_t cpus = number(a, BJ_REPORT_CPUS);
    int64_t used = number(a, BJ_REPORT_CPU_USED);
    int64_t sec = number(a, BJ_REPORT_ELAPSED), busy;
    if (!is_judged(a) || number(a, BJ_REPORT_NODES) != 1 || cpus < 2 ||
        number(a, BJ_REPORT_TASKS) > 1 || sec <= 0)
        return;
    if (bj_report_found(a->r, "cpu_uneven"))
        return; /* the job has phases of different use */
    busy = a->known->tasks > 0 ? a->known->busy_micro : used / sec;
    if (busy < 0 || busy > INT64_MAX / 4)
        return;
    int64_t want = (busy + busy / 10 + MICRO - 1) / MICRO;
    want = want < 1 ? 1 : want;
    if (want * 20 > cpus * 13 || !request(a, BJ_REQUEST_CPUS, want))
        return;
    bj_buf_fixed(value(a), (uint64_t)(busy + MICRO / 20) / (MICRO / 10), 1);
    bj_show_number(value(a), cpus);
    add_advice(a, "cpus", BJ_SENTENCE_FEWER_CPUS);
}

/* A failed job may have ended before it used its GPUs. */
static void fewer_gpus(struct advisor *a)
{
    int64_t gpus = number(a, BJ_REPORT_GPUS);
    int64_t unused = number(a, BJ_REPORT_GPUS_UNUSED);
    if (gpus < 1 || unused < 1 || bj_report_is(a->r, BJ_REPORT_STATE, "failed"))
        return;
    reset(a);
    if (unused >= gpus) {
        add_advice(a, "gpus", BJ_SENTENCE_NO_GPUS);
        return;
    }
    if (!request(a, BJ_REQUEST_GPUS, gpus - unused))
        return;
    bj_show_number(value(a), unused);
    bj_show_number(value(a), gpus);
    add_advice(a, "gpus", BJ_SENTENCE_FEWER_GPUS);
}

/* A node with less than a second of CPU time counts as unused. */
static void fewer_nodes(struct advisor *a)
{
    int64_t nodes = number(a, BJ_REPORT_NODES), unused = 0;
    for (size_t i = 0; i < a->r->nodes; i++)
        unused += a->r->node[i].cpu_usec != BJ_SQL_NULL &&
                  a->r->node[i].cpu_usec < MICRO;
    if (unused < 1 || unused >= nodes ||
        !request(a, BJ_REQUEST_NODES, nodes - unused))
        return;
    bj_show_number(value(a), unused);
    bj_show_number(value(a), nodes);
    add_advice(a, "nodes", BJ_SENTENCE_FEWER_NODES);
}

static void one_node(struct advisor *a)
{
    if (is_judged(a) && request(a, BJ_REQUEST_NODES, 1))
        add_advice(a, "nodes", BJ_SENTENCE_ONE_NODE);
}

/* --- findings and their advice ---------------------------------------------
 */

static const struct {
    const char *finding;
    void (*advise)(struct advisor *a); /* NULL: only the sentence */
    enum bj_sentence sentence;
    const char *name;
} advice_of[] = {
    {"gpus_unused", fewer_gpus, 0, NULL},
    {"nodes_unused", fewer_nodes, 0, NULL},
    {"oom", more_memory, 0, NULL},
    {"timeout", more_time, 0, NULL},
    {"memory_low", less_memory, 0, NULL},
    {"memory_low_gpu", less_memory, 0, NULL},
    {"memory_per_gpu", less_memory, 0, NULL},
    {"serial_many_cpus", serial, 0, NULL},
    {"cpu_very_low", fewer_cpus, 0, NULL},
    {"too_many_nodes", one_node, 0, NULL},
    {"time_limit_far_too_long", less_time, 0, NULL},
    {"time_limit_too_long", less_time, 0, NULL},
    {"gpu_low_interactive", NULL, BJ_SENTENCE_GPU_SESSION, "gpu_session"},
    {"gpu_very_low", NULL, BJ_SENTENCE_GPU_LOW, "gpu_use"},
    {"gpu_low", NULL, BJ_SENTENCE_GPU_LOW, "gpu_use"},
    {"gpu_slice", NULL, BJ_SENTENCE_GPU_SLICE, "gpu_slice"},
    {"gpu_spread", NULL, BJ_SENTENCE_GPU_SPREAD, "gpu_spread"},
    {"cpus_per_gpu", NULL, BJ_SENTENCE_GPU_CPUS, "gpu_cpus"},
    {"cpu_uneven", NULL, BJ_SENTENCE_UNEVEN, "uneven"},
    {"threads", NULL, BJ_SENTENCE_THREADS, "threads"},
    {"small_io", NULL, BJ_SENTENCE_SMALL_IO, "small_io"},
    {"scratch_unused", NULL, BJ_SENTENCE_SCRATCH, "scratch"},
    {"oom_kills", NULL, BJ_SENTENCE_OOM_STEPS, "oom_steps"},
    {"oom_steps", NULL, BJ_SENTENCE_OOM_STEPS, "oom_steps"},
};

/* A text of the site's rule replaces the built-in sentence, but not a computed
 * request. */
static void advise(struct advisor *a)
{
    const struct bj_report_finding *f = a->finding;
    const size_t before = a->r->advices;
    for (size_t i = 0; i < sizeof(advice_of) / sizeof(advice_of[0]); i++) {
        if (!bj_slice_eq(f->finding, bj_slice_str(advice_of[i].finding)))
            continue;
        reset(a);
        if (advice_of[i].advise)
            advice_of[i].advise(a);
        else if (f->advice.n == 0)
            add_advice(a, advice_of[i].name, advice_of[i].sentence);
    }
    if (f->advice.n == 0 || a->r->advices == ADVICE_MAX)
        return;
    if (a->r->advices == before)
        a->r->advice[a->r->advices++] = (struct bj_report_advice){
            .advice = f->finding,
            .finding = f->finding,
            .url = f->url,
            .runs = a->known->tasks > 0 ? a->known->tasks : 1};
    a->r->advice[before].text = f->advice;
}

void bj_report_advise(struct bj_report *r, const struct bj_report_known *known)
{
    struct advisor a = {.r = r, .known = known};
    r->advice = bj_arena_alloc(&r->arena, ADVICE_MAX * sizeof(*r->advice));
    for (size_t i = 0; r->advice && i < r->findings; i++) {
        a.finding = &r->finding[i];
        if (is_common(&a))
            advise(&a);
    }
    for (unsigned i = 0; i < BJ_SENTENCE_VALUES; i++)
        bj_buf_free(&a.value[i]);
    bj_buf_free(&a.option);
    bj_buf_free(&a.line);
}
