#include "report/request/advice.h"

#include "report/model/limits.h"
#include "report/model/sentence.h"
#include "report/model/show.h"
#include "report/request/request.h"

#include <string.h>

enum { BJ_ADVICE_MAX = 32 };

/* Advice that follows from a finding and that is part of the next request. */
struct bj_wish {
    const struct bj_report_finding *finding; /* NULL: no wish */
    enum bj_sentence with;  /* {1} is the option, then the values */
    enum bj_sentence words; /* without option; BJ_SENTENCE_COUNT: none */
    unsigned words_from;    /* the first value of words */
};

struct bj_advisor {
    struct bj_report *r;
    const struct bj_report_known *known;
    /* the finding to which the advice belongs */
    const struct bj_report_finding *finding;
    struct bj_buf value[BJ_SENTENCE_VALUES];
    unsigned values;
    struct bj_request_need need;
    struct bj_request next;
    /* The wishes, with the values of their sentences as texts. */
    struct bj_wish wish[BJ_REQUEST_PARTS];
    struct bj_slice shown[BJ_REQUEST_PARTS][BJ_SENTENCE_VALUES];
    unsigned shows[BJ_REQUEST_PARTS];
};

/* Append an advice with the values so far; NULL: there are too many. */
struct bj_report_advice *bj_advice_append(struct bj_advisor *a,
                                          const char *name,
                                          enum bj_sentence which);

static bool advice_wished(const struct bj_advisor *a, enum bj_request_part part)
{
    return a->wish[part].finding != NULL;
}

static bool advice_of_array(const struct bj_advisor *a)
{
    return a->r->array.tasks > 1;
}

static int64_t advice_number(const struct bj_advisor *a,
                             enum bj_report_column c)
{
    return bj_report_number(a->r, c);
}

/* The next value of the next sentence, empty. */
static struct bj_buf *advice_value(struct bj_advisor *a)
{
    struct bj_buf *b = &a->value[a->values++];
    b->len = 0;
    return b;
}

static struct bj_slice copy_buf(struct bj_advisor *a, const struct bj_buf *b)
{
    a->r->arena.failed |= b->failed;
    return b->len > 0
               ? bj_arena_copy(&a->r->arena, (struct bj_slice){b->p, b->len})
               : (struct bj_slice){0};
}

struct bj_report_advice *
bj_advice_append(struct bj_advisor *a, const char *name, enum bj_sentence which)
{
    struct bj_report *r = a->r;
    const unsigned values = a->values;
    a->values = 0;
    if (r->advices == BJ_ADVICE_MAX)
        return NULL;
    struct bj_report_advice *ret = &r->advice[r->advices++];
    *ret = (struct bj_report_advice){
        .advice = bj_slice_str(name),
        .text = bj_sentence_text(r, which, a->value, values),
        .finding = a->finding->finding,
        .url = a->finding->url,
        .runs = a->known->tasks > 0 ? a->known->tasks : 1};
    return ret;
}

/* Append an advice with the values so far, unless there is one of that name. */
static void advice_add(struct bj_advisor *a, const char *name,
                       enum bj_sentence which)
{
    for (size_t i = 0; i < a->r->advices; i++)
        if (bj_slice_eq(a->r->advice[i].advice, bj_slice_str(name))) {
            a->values = 0;
            return; /* another finding has caused this advice already */
        }
    bj_advice_append(a, name, which);
}

/* Make the values so far the wish for a part of the next request; words_from:
 * the first value of words. */
static void advice_wish(struct bj_advisor *a, enum bj_request_part part,
                        enum bj_sentence with, enum bj_sentence words,
                        unsigned words_from)
{
    a->wish[part] = (struct bj_wish){a->finding, with, words, words_from};
    a->shows[part] = a->values;
    for (unsigned i = 0; i < a->values; i++)
        a->shown[part][i] = copy_buf(a, &a->value[i]);
    a->values = 0;
}

enum { MICRO = 1000000 };

/* --- data ------------------------------------------------------------------
 */

/* Do completed runs show what the job needs? */
static bool is_judged(const struct bj_advisor *a)
{
    int64_t coverage = advice_number(a, BJ_REPORT_COVERAGE);
    if (a->r->interactive)
        return false;
    if (a->r->array.tasks > 1)
        return a->known->tasks >= BJ_REPORT_LEAST_TASKS;
    return bj_report_is(a->r, BJ_REPORT_STATE, "completed") &&
           advice_number(a, BJ_REPORT_ELAPSED) >= BJ_REPORT_LEAST_SEC &&
           (coverage == BJ_SQL_NULL || bj_report_has_records(a->r) ||
            coverage >= BJ_REPORT_LEAST_COVERAGE);
}

/* In an array, a finding counts if half of the tasks have it. */
static bool advice_is_common(const struct bj_advisor *a)
{
    return a->r->array.tasks <= 1 ||
           2 * a->finding->tasks >= a->r->array.completed;
}

/* Did the job come to an end that shows what it does not need? */
static bool has_finished(const struct bj_advisor *a)
{
    static const char *const not [] = {"failed", "oom", "node_fail",
                                       "boot_fail"};
    for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
        if (bj_report_is(a->r, BJ_REPORT_STATE, not [i]))
            return false;
    return true;
}

/* Memory allocated to the job, else requested. */
static int64_t advice_memory_had(const struct bj_advisor *a)
{
    const int64_t had = advice_number(a, BJ_REPORT_MEMORY_ALLOCATED);
    return had != BJ_SQL_NULL ? had
                              : advice_number(a, BJ_REPORT_MEMORY_REQUESTED);
}

/* The peak of the whole job.  The scheduler's value, of the largest process, is
 * less than that. */
static int64_t job_peak(const struct bj_advisor *a)
{
    const struct bj_report *r = a->r;
    const int64_t peak = advice_number(a, BJ_REPORT_MEMORY_PEAK);
    const bool measured =
        bj_report_is(r, BJ_REPORT_MEMORY_SOURCE, "nodes") ||
        bj_report_is(r, BJ_REPORT_MEMORY_SOURCE, "prometheus");
    return !measured && peak == advice_number(a, BJ_REPORT_TASK_PEAK)
               ? BJ_SQL_NULL
               : peak;
}

/* The highest memory of a node.  *ret_sum: only the sum of all nodes is known,
 * which is at least as much. */
static int64_t node_peak(const struct bj_advisor *a, bool *ret_sum)
{
    const struct bj_report *r = a->r;
    const int64_t nodes = advice_number(a, BJ_REPORT_NODES);
    int64_t peak = -1;
    *ret_sum = false;
    if (advice_of_array(a))
        return nodes == 1 ? a->known->memory : BJ_SQL_NULL;
    if (nodes <= 1)
        return job_peak(a);
    size_t known = 0;
    for (; known < r->nodes && r->node[known].memory_peak != BJ_SQL_NULL;
         known++)
        if (r->node[known].memory_peak > peak)
            peak = r->node[known].memory_peak;
    if ((int64_t)known >= nodes)
        return peak;
    *ret_sum = true;
    return advice_number(a, BJ_REPORT_MEASURED_NODES) >= nodes ? job_peak(a)
                                                               : BJ_SQL_NULL;
}

/* --- advice for each kind of finding ---------------------------------------
 */

/* No advice unless it saves a tenth. */
static bool saves(int64_t now, int64_t had)
{
    return now <= had / 10 * 9;
}

static void less_memory(struct bj_advisor *a)
{
    const struct bj_report_spread *s = &a->r->array.spread[BJ_SPREAD_MEMORY];
    const int64_t margin = a->r->next.memory_margin;
    const int64_t nodes = advice_number(a, BJ_REPORT_NODES),
                  had = advice_memory_had(a);
    const bool sampled = advice_number(a, BJ_REPORT_MEMORY_SAMPLED) > 0;
    bool sum;
    const int64_t peak = node_peak(a, &sum);
    if (advice_wished(a, BJ_REQUEST_MEMORY) || !is_judged(a) || peak < 0 ||
        had <= 0 || nodes < 1)
        return;
    const int64_t want = bj_request_memory(peak, margin);
    if (advice_of_array(a)) {
        bj_show_bytes(advice_value(a), s->median);
        bj_buf_slice(advice_value(a), s->largest);
    }
    bj_show_bytes(advice_value(a), peak);
    bj_show_bytes(advice_value(a), had / nodes);
    if (saves(want, had / nodes)) {
        a->need.memory = want;
        advice_wish(a, BJ_REQUEST_MEMORY,
                    advice_of_array(a) ? BJ_SENTENCE_MEMORY_ARRAY
                    : sampled          ? BJ_SENTENCE_MEMORY_SAMPLED
                    : sum              ? BJ_SENTENCE_MEMORY_ALL
                                       : BJ_SENTENCE_MEMORY,
                    advice_of_array(a) ? BJ_SENTENCE_MEMORY_OUTLIER
                    : sum              ? BJ_SENTENCE_COUNT
                                       : BJ_SENTENCE_MEMORY_WORDS,
                    0);
    } else if (advice_of_array(a) &&
               saves(bj_request_memory(s->p95, margin), had / nodes)) {
        advice_add(a, "memory", BJ_SENTENCE_MEMORY_OUTLIER);
    }
    a->values = 0;
}

/* A job that ran out of memory used less than it needs.  It may have used more
 * than was allocated if memory is not limited.  With a leak no amount is
 * enough. */
static void more_memory(struct bj_advisor *a)
{
    bool sum;
    const int64_t used = node_peak(a, &sum);
    const int64_t task = advice_number(a, BJ_REPORT_TASK_PEAK);
    const int64_t nodes = advice_number(a, BJ_REPORT_NODES);
    int64_t had = advice_memory_had(a);
    if (had <= 0 || nodes < 1 || bj_report_found(a->r, "oom_leak"))
        return;
    had /= nodes;
    had = used > had && !sum ? used : had;
    had = task > had ? task : had;
    if (had > INT64_MAX / 4)
        return;
    /* It counts more than any saving. */
    a->need.memory = BJ_SQL_NULL;
    a->need.more = bj_request_round_memory(had / 2 * 3);
    bj_show_bytes(advice_value(a), had);
    advice_wish(a, BJ_REQUEST_MEMORY, BJ_SENTENCE_MORE_MEMORY,
                BJ_SENTENCE_MORE_MEMORY_WORDS, 0);
}

static void less_time(struct bj_advisor *a)
{
    const struct bj_report_known *k = a->known;
    const struct bj_report_spread *s = &a->r->array.spread[BJ_SPREAD_ELAPSED];
    const int64_t limit = advice_number(a, BJ_REPORT_LIMIT);
    const int64_t ran =
        advice_of_array(a) ? k->elapsed : advice_number(a, BJ_REPORT_ELAPSED);
    /* Many runs need a smaller margin. */
    const int64_t margin = advice_of_array(a) ? a->r->next.time_margin / 2
                                              : a->r->next.time_margin;
    if (advice_wished(a, BJ_REQUEST_TIME) || !is_judged(a) || limit <= 0 ||
        limit == INT64_MAX || ran < BJ_REPORT_LEAST_TIME_SEC || ran > limit)
        return;
    const int64_t want = bj_request_round_time(ran + ran * margin / 100);
    if (advice_of_array(a)) {
        bj_show_seconds(advice_value(a), s->median);
        bj_buf_slice(advice_value(a), s->largest);
    }
    bj_show_seconds(advice_value(a), ran);
    bj_show_seconds(advice_value(a), limit);
    if (saves(want, limit)) {
        a->need.time = want;
        advice_wish(
            a, BJ_REQUEST_TIME,
            advice_of_array(a) ? BJ_SENTENCE_TIME_ARRAY : BJ_SENTENCE_TIME,
            advice_of_array(a) ? BJ_SENTENCE_COUNT : BJ_SENTENCE_TIME_WORDS, 0);
    } else if (advice_of_array(a) &&
               saves(bj_request_round_time(s->p95 + s->p95 * margin / 100),
                     limit)) {
        advice_add(a, "time", BJ_SENTENCE_TIME_OUTLIER);
    }
    a->values = 0;
}

/* Only other tasks of the array show how much time it needs. */
static void more_time(struct bj_advisor *a)
{
    const int64_t limit = advice_number(a, BJ_REPORT_LIMIT);
    if (a->known->tasks >= BJ_REPORT_LEAST_TASKS && limit > 0 &&
        limit != INT64_MAX) {
        const int64_t max = a->r->array.spread[BJ_SPREAD_ELAPSED].max;
        const int64_t want = bj_request_round_time(
            max + max * (a->r->next.time_margin / 2) / 100);
        if (want > limit) {
            a->need.time = want;
            bj_show_seconds(advice_value(a), max);
            advice_wish(a, BJ_REQUEST_TIME, BJ_SENTENCE_MORE_TIME_ARRAY,
                        BJ_SENTENCE_MORE_TIME, 1);
            return;
        }
    }
    /* A job that reached its limit needs no less. */
    a->need.time = BJ_SQL_NULL;
    advice_wish(a, BJ_REQUEST_TIME, BJ_SENTENCE_MORE_TIME,
                BJ_SENTENCE_MORE_TIME, 0);
}

/* Did the job request no more CPUs than it needs?  It may have been allocated
 * more, such as all threads of a core. */
static bool requested_few(const struct bj_advisor *a, int64_t cpus)
{
    const int64_t requested = advice_number(a, BJ_REPORT_CPUS_REQUESTED);
    return requested != BJ_SQL_NULL && requested <= cpus;
}

/* The most CPUs of a job that were busy on average, in millionths. */
static int64_t advice_busy(const struct bj_advisor *a)
{
    const int64_t used = advice_number(a, BJ_REPORT_CPU_USED);
    const int64_t sec = advice_number(a, BJ_REPORT_ELAPSED);
    if (advice_of_array(a))
        return a->known->busy_micro;
    return used >= 0 && sec > 0 ? used / sec : BJ_SQL_NULL;
}

static void serial(struct bj_advisor *a)
{
    const int64_t now = advice_busy(a);
    if (advice_wished(a, BJ_REQUEST_CPUS) || !is_judged(a) || now < 0 ||
        now > MICRO / 10 * 11 || requested_few(a, 1))
        return;
    a->need.cpus = 1;
    a->need.serial = true;
    bj_show_number(advice_value(a), advice_number(a, BJ_REPORT_CPUS));
    advice_wish(a, BJ_REQUEST_CPUS, BJ_SENTENCE_SERIAL,
                BJ_SENTENCE_SERIAL_WORDS, 0);
}

/* The mean number of busy CPUs, and a tenth more. */
static void fewer_cpus(struct bj_advisor *a)
{
    const int64_t cpus = advice_number(a, BJ_REPORT_CPUS), now = advice_busy(a);
    if (advice_wished(a, BJ_REQUEST_CPUS) || !is_judged(a) ||
        advice_number(a, BJ_REPORT_NODES) != 1 || cpus < 2)
        return;
    if (bj_report_found(a->r, "cpu_uneven"))
        return; /* the job has phases of different use */
    if (now < 0 || now > INT64_MAX / 4)
        return;
    int64_t want = (now + now / 10 + MICRO - 1) / MICRO;
    want = want < 1 ? 1 : want;
    if (want * 20 > cpus * 13 || requested_few(a, want))
        return;
    a->need.cpus = want;
    bj_buf_fixed(advice_value(a), (uint64_t)(now + MICRO / 20) / (MICRO / 10),
                 1);
    bj_show_number(advice_value(a), cpus);
    advice_wish(a, BJ_REQUEST_CPUS, BJ_SENTENCE_FEWER_CPUS,
                BJ_SENTENCE_FEWER_CPUS_WORDS, 0);
}

/* The GPUs of the node that used most of them; 0: not known. */
static int64_t gpus_of_node(const struct bj_advisor *a, int64_t gpus,
                            int64_t unused)
{
    const struct bj_report *r = a->r;
    int64_t most = 0, all = 0;
    if (advice_of_array(a))
        return 0; /* another task may have used all of them */
    if (advice_number(a, BJ_REPORT_NODES) == 1)
        return gpus - unused;
    for (size_t i = 0; i < r->gpus; i++) {
        int64_t used = 0;
        for (size_t j = 0; j < r->gpus; j++)
            used += bj_slice_eq(r->gpu[j].node, r->gpu[i].node) &&
                    r->gpu[j].busy_ppm != 0;
        most = used > most ? used : most;
        all += r->gpu[i].busy_ppm != 0;
    }
    return (int64_t)r->gpus == gpus && all == gpus - unused ? most : 0;
}

/* A job that failed may have ended before it used its GPUs. */
static void fewer_gpus(struct bj_advisor *a)
{
    const int64_t gpus = advice_number(a, BJ_REPORT_GPUS);
    const int64_t unused = advice_number(a, BJ_REPORT_GPUS_UNUSED);
    if (gpus < 1 || unused < 1 || !has_finished(a))
        return;
    a->need.gpus = 0;
    if (unused >= gpus) {
        advice_wish(a, BJ_REQUEST_GPUS, BJ_SENTENCE_NO_GPUS,
                    BJ_SENTENCE_NO_GPUS, 0);
        return;
    }
    a->need.gpus = gpus_of_node(a, gpus, unused);
    bj_show_number(advice_value(a), unused);
    bj_show_number(advice_value(a), gpus);
    advice_wish(a, BJ_REQUEST_GPUS, BJ_SENTENCE_FEWER_GPUS,
                BJ_SENTENCE_FEWER_GPUS_WORDS, 0);
}

/* A node with less than a second of CPU time counts as unused. */
static void fewer_nodes(struct bj_advisor *a)
{
    const int64_t nodes = advice_number(a, BJ_REPORT_NODES);
    int64_t unused = 0, known = 0;
    for (size_t i = 0; i < a->r->nodes; i++) {
        known += a->r->node[i].cpu_usec != BJ_SQL_NULL;
        unused += a->r->node[i].cpu_usec != BJ_SQL_NULL &&
                  a->r->node[i].cpu_usec < MICRO;
    }
    if (unused < 1 || unused >= nodes || !has_finished(a))
        return;
    a->need.nodes = advice_of_array(a) || known < nodes ? 0 : nodes - unused;
    bj_show_number(advice_value(a), unused);
    bj_show_number(advice_value(a), nodes);
    advice_wish(a, BJ_REQUEST_NODES, BJ_SENTENCE_FEWER_NODES,
                BJ_SENTENCE_FEWER_NODES_WORDS, 0);
}

static void one_node(struct bj_advisor *a)
{
    const int64_t peak = advice_of_array(a) ? BJ_SQL_NULL : job_peak(a);
    if (advice_wished(a, BJ_REQUEST_NODES) || !is_judged(a))
        return;
    a->need.nodes = 1;
    a->need.one_node = true;
    if (peak >= 0 && advice_number(a, BJ_REPORT_MEASURED_NODES) >=
                         advice_number(a, BJ_REPORT_NODES))
        a->need.memory_sum = bj_request_memory(peak, a->r->next.memory_margin);
    advice_wish(a, BJ_REQUEST_NODES, BJ_SENTENCE_ONE_NODE,
                BJ_SENTENCE_ONE_NODE_WORDS, 0);
}

/* --- findings and their wishes ----------------------------------------------
 */

static void advice_find(struct bj_advisor *a)
{
    static const struct {
        const char *finding;
        void (*wish)(struct bj_advisor *a);
    } wishes[] = {
        {"gpus_unused", fewer_gpus},
        {"nodes_unused", fewer_nodes},
        {"oom", more_memory},
        {"timeout", more_time},
        {"memory_low", less_memory},
        {"memory_low_gpu", less_memory},
        {"memory_per_gpu", less_memory},
        {"serial_many_cpus", serial},
        {"cpu_very_low", fewer_cpus},
        {"too_many_nodes", one_node},
        {"time_limit_far_too_long", less_time},
        {"time_limit_too_long", less_time},
    };
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
        if (bj_slice_eq(a->finding->finding, bj_slice_str(wishes[i].finding)))
            wishes[i].wish(a);
}

static const char *const names[BJ_REQUEST_PARTS] = {
    [BJ_REQUEST_NODES] = "nodes",
    [BJ_REQUEST_CPUS] = "cpus",
    [BJ_REQUEST_GPUS] = "gpus",
    [BJ_REQUEST_MEMORY] = "memory",
    [BJ_REQUEST_TIME] = "time"};

/* --- advice in words --------------------------------------------------------
 */

static const struct {
    const char *finding;
    enum bj_sentence sentence;
    const char *name;
} advice_of[] = {
    {"gpu_hardware", BJ_SENTENCE_SUBMIT_AGAIN, "submit_again"},
    {"gpu_low_interactive", BJ_SENTENCE_GPU_SESSION, "gpu_session"},
    {"gpu_very_low", BJ_SENTENCE_GPU_LOW, "gpu_use"},
    {"gpu_low", BJ_SENTENCE_GPU_LOW, "gpu_use"},
    {"gpu_slice", BJ_SENTENCE_GPU_SLICE, "gpu_slice"},
    {"gpu_spread", BJ_SENTENCE_GPU_SPREAD, "gpu_spread"},
    {"cpus_per_gpu", BJ_SENTENCE_GPU_CPUS, "gpu_cpus"},
    {"cpu_uneven", BJ_SENTENCE_UNEVEN, "uneven"},
    {"threads", BJ_SENTENCE_THREADS, "threads"},
    {"small_io", BJ_SENTENCE_SMALL_IO, "small_io"},
    {"scratch_unused", BJ_SENTENCE_SCRATCH, "scratch"},
    {"oom_leak", BJ_SENTENCE_OOM_LEAK, "leak"},
    {"leak", BJ_SENTENCE_LEAK, "leak"},
    {"oom_kills", BJ_SENTENCE_OOM_STEPS, "oom_steps"},
    {"oom_steps", BJ_SENTENCE_OOM_STEPS, "oom_steps"},
};

/* --- the next request ------------------------------------------------------
 */

/* Start a sentence with the option of a part, and what it replaces. */
static void put_option(struct bj_advisor *a, enum bj_request_part part)
{
    const struct bj_request_change *c = &a->next.of[a->next.of[part].in];
    const bool script = c->places.n > 0;
    struct bj_buf v[3] = {{0}, {0}, {0}};
    bj_buf_slice(&v[0], c->option);
    bj_buf_slice(&v[1], c->replaces);
    bj_buf_slice(&v[2], c->places);
    bj_buf_slice(advice_value(a),
                 c->replaces.n == 0
                     ? c->option
                     : bj_sentence_text(a->r,
                                        script ? BJ_SENTENCE_NEXT_INSTEAD_LINE
                                               : BJ_SENTENCE_NEXT_INSTEAD,
                                        v, script ? 3 : 2));
    for (int i = 0; i < 3; i++) {
        a->r->arena.failed |= v[i].failed;
        bj_buf_free(&v[i]);
    }
}

static void set_option(const struct bj_advisor *a, enum bj_request_part part,
                       struct bj_report_advice *to)
{
    const struct bj_request_change *c = &a->next.of[part];
    if (!to)
        return;
    to->option = c->option;
    to->line = c->line;
    to->replaces = c->replaces;
    to->script_lines = c->places;
}

/* Say what the wish for a part has become. */
static void add_wish(struct bj_advisor *a, enum bj_request_part part)
{
    const struct bj_wish *w = &a->wish[part];
    const struct bj_request_change *c = &a->next.of[part];
    const bool words = c->refused || a->next.of[c->in].option.n == 0;
    a->finding = w->finding;
    if (words && w->words == BJ_SENTENCE_COUNT)
        return;
    if (!words)
        put_option(a, part);
    for (unsigned i = words ? w->words_from : 0; i < a->shows[part]; i++)
        bj_buf_slice(advice_value(a), a->shown[part][i]);
    const char *name = names[part];
    if (part == BJ_REQUEST_MEMORY && a->need.more != BJ_SQL_NULL)
        name = "more_memory";
    if (part == BJ_REQUEST_TIME && (w->with == BJ_SENTENCE_MORE_TIME ||
                                    w->with == BJ_SENTENCE_MORE_TIME_ARRAY))
        name = "more_time";
    set_option(a, part, bj_advice_append(a, name, words ? w->words : w->with));
}

/* Add the changes that only follow from others. */
static void add_dependent(struct bj_advisor *a)
{
    const bool gpus = advice_wished(a, BJ_REQUEST_GPUS);
    const struct {
        enum bj_request_part part, of;
        enum bj_sentence sentence;
    } all[] = {{BJ_REQUEST_CPUS, BJ_REQUEST_GPUS, BJ_SENTENCE_KEEP_CPUS},
               {BJ_REQUEST_MEMORY,
                advice_wished(a, BJ_REQUEST_NODES) ? BJ_REQUEST_NODES
                : gpus                             ? BJ_REQUEST_GPUS
                                                   : BJ_REQUEST_CPUS,
                BJ_SENTENCE_KEEP_MEMORY}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const enum bj_request_part part = all[i].part;
        if (a->next.of[part].option.n == 0 || advice_wished(a, part) ||
            !advice_wished(a, all[i].of))
            continue;
        a->finding = a->wish[all[i].of].finding;
        put_option(a, part);
        set_option(a, part, bj_advice_append(a, names[part], all[i].sentence));
    }
}

static struct bj_slice advice_join(struct bj_report *r, struct bj_slice a,
                                   struct bj_slice b)
{
    struct bj_buf all = {0};
    bj_buf_slice(&all, a);
    bj_buf_str(&all, a.n > 0 ? " " : "");
    bj_buf_slice(&all, b);
    r->arena.failed |= all.failed;
    const struct bj_slice ret =
        bj_arena_copy(&r->arena, (struct bj_slice){all.p, all.len});
    bj_buf_free(&all);
    return ret;
}

static void put_note(struct bj_advisor *a, enum bj_sentence which)
{
    struct bj_report *r = a->r;
    r->next.note = advice_join(r, r->next.note,
                               bj_sentence_text(r, which, a->value, a->values));
    a->values = 0;
}

static void advice_put_next(struct bj_advisor *a)
{
    struct bj_report_next *n = &a->r->next;
    const struct bj_request_change *c = a->next.of,
                                   *memory = &c[BJ_REQUEST_MEMORY];
    bool added = false;
    n->options = a->next.all;
    if (n->options.n == 0)
        return;
    n->basis = a->next.script_known ? BJ_SLICE("script")
               : a->next.line       ? BJ_SLICE("submit_line")
                                    : BJ_SLICE("accounting");
    for (unsigned i = 0; i < BJ_REQUEST_PARTS; i++)
        added |= c[i].option.n > 0 && c[i].replaces.n == 0;
    if (a->next.select)
        put_note(a, BJ_SENTENCE_NEXT_SELECT);
    else if (!a->next.line)
        put_note(a, BJ_SENTENCE_NEXT_UNKNOWN);
    else if (added && a->next.script)
        put_note(a, BJ_SENTENCE_NEXT_SCRIPT);
    if (memory->option.n > 0 && memory->replaces.n == 0 && a->next.script &&
        bj_slice_starts(memory->option, BJ_SLICE("--mem=")))
        put_note(a, BJ_SENTENCE_NEXT_MEMORY);
    if (a->need.memory != BJ_SQL_NULL && memory->option.n > 0) {
        bj_show_number(advice_value(a), n->memory_margin);
        put_note(a, BJ_SENTENCE_NEXT_MARGIN_MEMORY);
    }
    if (a->need.time != BJ_SQL_NULL && c[BJ_REQUEST_TIME].option.n > 0) {
        bj_show_number(advice_value(a), advice_of_array(a) ? n->time_margin / 2
                                                           : n->time_margin);
        put_note(a, BJ_SENTENCE_NEXT_MARGIN_TIME);
    }
}

static void request_next(struct bj_advisor *a)
{
    const struct bj_report *r = a->r;
    const int64_t cpus = advice_busy(a);
    if (cpus >= 0)
        a->need.busy = (cpus + MICRO - 1) / MICRO;
    const struct bj_request_job job = {
        .system = bj_report_text(r, BJ_REPORT_SYSTEM),
        .submit_line = bj_report_text(r, BJ_REPORT_SUBMIT_LINE),
        .script = bj_report_text(r, BJ_REPORT_SCRIPT_OPTIONS),
        .nodes = advice_number(a, BJ_REPORT_NODES),
        .cpus = advice_number(a, BJ_REPORT_CPUS),
        .cpus_requested = advice_number(a, BJ_REPORT_CPUS_REQUESTED),
        .gpus = advice_number(a, BJ_REPORT_GPUS),
        .memory = advice_memory_had(a),
        .memory_of_cpu = r->memory_of_cpu,
        .select = bj_report_text(r, BJ_REPORT_TRES_REQUESTED),
        .place = bj_report_text(r, BJ_REPORT_CONSTRAINTS)};
    bj_request_next(&job, &a->need, &a->r->arena, &a->next);
}

/* --- all -------------------------------------------------------------------
 */

/* A text of the site's rule replaces the built-in sentence, but not a computed
 * request. */
static void use_text_of_site(struct bj_advisor *a,
                             const struct bj_report_finding *f)
{
    struct bj_report *r = a->r;
    bool used = false;
    for (size_t i = 0; i < r->advices; i++)
        if (bj_slice_eq(r->advice[i].finding, f->finding)) {
            r->advice[i].text = used ? r->advice[i].text : f->advice;
            used = true;
        }
    if (used || r->advices == BJ_ADVICE_MAX)
        return;
    r->advice[r->advices++] = (struct bj_report_advice){
        .advice = f->finding,
        .text = f->advice,
        .finding = f->finding,
        .url = f->url,
        .runs = a->known->tasks > 0 ? a->known->tasks : 1};
}

/* Add the advice of one finding: its part of the next request, or words. */
static void advise(struct bj_advisor *a, const struct bj_report_finding *f)
{
    for (unsigned i = 0; i < BJ_REQUEST_PARTS; i++)
        if (a->wish[i].finding == f)
            add_wish(a, i);
    a->finding = f;
    for (size_t i = 0; i < sizeof(advice_of) / sizeof(advice_of[0]); i++)
        if (f->advice.n == 0 &&
            bj_slice_eq(f->finding, bj_slice_str(advice_of[i].finding)))
            advice_add(a, advice_of[i].name, advice_of[i].sentence);
    if (f->advice.n > 0)
        use_text_of_site(a, f);
}

void bj_report_advise(struct bj_report *r, const struct bj_report_known *known)
{
    struct bj_advisor a = {.r = r,
                           .known = known,
                           .need = {BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL,
                                    BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL,
                                    BJ_SQL_NULL, BJ_SQL_NULL, false, false}};
    r->advice = bj_arena_alloc(&r->arena, BJ_ADVICE_MAX * sizeof(*r->advice));
    for (size_t i = 0; r->advice && i < r->findings; i++) {
        a.finding = &r->finding[i];
        if (advice_is_common(&a))
            advice_find(&a);
    }
    if (r->advice)
        request_next(&a);
    for (size_t i = 0; r->advice && i < r->findings; i++) {
        a.finding = &r->finding[i];
        if (advice_is_common(&a))
            advise(&a, &r->finding[i]);
    }
    if (r->advice) {
        add_dependent(&a);
        advice_put_next(&a);
    }
    for (unsigned i = 0; i < BJ_SENTENCE_VALUES; i++) {
        r->arena.failed |= a.value[i].failed;
        bj_buf_free(&a.value[i]);
    }
}
