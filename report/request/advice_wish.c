#include "report/model/limits.h"
#include "report/model/show.h"
#include "report/request/advice_impl.h"

#include <string.h>

enum { MICRO = 1000000 };

/* --- data ------------------------------------------------------------------
 */

/* Do completed runs show what the job needs? */
static bool is_judged(const struct bj_advisor *a)
{
    int64_t coverage = bj_advice_number(a, BJ_REPORT_COVERAGE);
    if (a->r->interactive)
        return false;
    if (a->r->array.tasks > 1)
        return a->known->tasks >= BJ_REPORT_LEAST_TASKS;
    return bj_report_is(a->r, BJ_REPORT_STATE, "completed") &&
           bj_advice_number(a, BJ_REPORT_ELAPSED) >= BJ_REPORT_LEAST_SEC &&
           (coverage == BJ_SQL_NULL || bj_report_has_records(a->r) ||
            coverage >= BJ_REPORT_LEAST_COVERAGE);
}

/* In an array, a finding counts if half of the tasks have it. */
bool bj_advice_is_common(const struct bj_advisor *a)
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
int64_t bj_advice_memory_had(const struct bj_advisor *a)
{
    const int64_t had = bj_advice_number(a, BJ_REPORT_MEMORY_ALLOCATED);
    return had != BJ_SQL_NULL ? had
                              : bj_advice_number(a, BJ_REPORT_MEMORY_REQUESTED);
}

/* The peak of the whole job.  The scheduler's value, of the largest process, is
 * less than that. */
static int64_t job_peak(const struct bj_advisor *a)
{
    const struct bj_report *r = a->r;
    const int64_t peak = bj_advice_number(a, BJ_REPORT_MEMORY_PEAK);
    const bool measured =
        bj_report_is(r, BJ_REPORT_MEMORY_SOURCE, "nodes") ||
        bj_report_is(r, BJ_REPORT_MEMORY_SOURCE, "prometheus");
    return !measured && peak == bj_advice_number(a, BJ_REPORT_TASK_PEAK)
               ? BJ_SQL_NULL
               : peak;
}

/* The highest memory of a node.  *ret_sum: only the sum of all nodes is known,
 * which is at least as much. */
static int64_t node_peak(const struct bj_advisor *a, bool *ret_sum)
{
    const struct bj_report *r = a->r;
    const int64_t nodes = bj_advice_number(a, BJ_REPORT_NODES);
    int64_t peak = -1;
    *ret_sum = false;
    if (bj_advice_of_array(a))
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
    return bj_advice_number(a, BJ_REPORT_MEASURED_NODES) >= nodes ? job_peak(a)
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
    const int64_t nodes = bj_advice_number(a, BJ_REPORT_NODES),
                  had = bj_advice_memory_had(a);
    const bool sampled = bj_advice_number(a, BJ_REPORT_MEMORY_SAMPLED) > 0;
    bool sum;
    const int64_t peak = node_peak(a, &sum);
    if (bj_advice_wished(a, BJ_REQUEST_MEMORY) || !is_judged(a) || peak < 0 ||
        had <= 0 || nodes < 1)
        return;
    const int64_t want = bj_request_memory(peak, margin);
    if (bj_advice_of_array(a)) {
        bj_show_bytes(bj_advice_value(a), s->median);
        bj_buf_slice(bj_advice_value(a), s->largest);
    }
    bj_show_bytes(bj_advice_value(a), peak);
    bj_show_bytes(bj_advice_value(a), had / nodes);
    if (saves(want, had / nodes)) {
        a->need.memory = want;
        bj_advice_wish(a, BJ_REQUEST_MEMORY,
                       bj_advice_of_array(a) ? BJ_SENTENCE_MEMORY_ARRAY
                       : sampled             ? BJ_SENTENCE_MEMORY_SAMPLED
                       : sum                 ? BJ_SENTENCE_MEMORY_ALL
                                             : BJ_SENTENCE_MEMORY,
                       bj_advice_of_array(a) ? BJ_SENTENCE_MEMORY_OUTLIER
                       : sum                 ? BJ_SENTENCE_COUNT
                                             : BJ_SENTENCE_MEMORY_WORDS,
                       0);
    } else if (bj_advice_of_array(a) &&
               saves(bj_request_memory(s->p95, margin), had / nodes)) {
        bj_advice_add(a, "memory", BJ_SENTENCE_MEMORY_OUTLIER);
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
    const int64_t task = bj_advice_number(a, BJ_REPORT_TASK_PEAK);
    const int64_t nodes = bj_advice_number(a, BJ_REPORT_NODES);
    int64_t had = bj_advice_memory_had(a);
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
    bj_show_bytes(bj_advice_value(a), had);
    bj_advice_wish(a, BJ_REQUEST_MEMORY, BJ_SENTENCE_MORE_MEMORY,
                   BJ_SENTENCE_MORE_MEMORY_WORDS, 0);
}

static void less_time(struct bj_advisor *a)
{
    const struct bj_report_known *k = a->known;
    const struct bj_report_spread *s = &a->r->array.spread[BJ_SPREAD_ELAPSED];
    const int64_t limit = bj_advice_number(a, BJ_REPORT_LIMIT);
    const int64_t ran = bj_advice_of_array(a)
                            ? k->elapsed
                            : bj_advice_number(a, BJ_REPORT_ELAPSED);
    /* Many runs need a smaller margin. */
    const int64_t margin = bj_advice_of_array(a) ? a->r->next.time_margin / 2
                                                 : a->r->next.time_margin;
    if (bj_advice_wished(a, BJ_REQUEST_TIME) || !is_judged(a) || limit <= 0 ||
        limit == INT64_MAX || ran < BJ_REPORT_LEAST_TIME_SEC || ran > limit)
        return;
    const int64_t want = bj_request_round_time(ran + ran * margin / 100);
    if (bj_advice_of_array(a)) {
        bj_show_seconds(bj_advice_value(a), s->median);
        bj_buf_slice(bj_advice_value(a), s->largest);
    }
    bj_show_seconds(bj_advice_value(a), ran);
    bj_show_seconds(bj_advice_value(a), limit);
    if (saves(want, limit)) {
        a->need.time = want;
        bj_advice_wish(
            a, BJ_REQUEST_TIME,
            bj_advice_of_array(a) ? BJ_SENTENCE_TIME_ARRAY : BJ_SENTENCE_TIME,
            bj_advice_of_array(a) ? BJ_SENTENCE_COUNT : BJ_SENTENCE_TIME_WORDS,
            0);
    } else if (bj_advice_of_array(a) &&
               saves(bj_request_round_time(s->p95 + s->p95 * margin / 100),
                     limit)) {
        bj_advice_add(a, "time", BJ_SENTENCE_TIME_OUTLIER);
    }
    a->values = 0;
}

/* Only other tasks of the array show how much time it needs. */
static void more_time(struct bj_advisor *a)
{
    const int64_t limit = bj_advice_number(a, BJ_REPORT_LIMIT);
    if (a->known->tasks >= BJ_REPORT_LEAST_TASKS && limit > 0 &&
        limit != INT64_MAX) {
        const int64_t max = a->r->array.spread[BJ_SPREAD_ELAPSED].max;
        const int64_t want = bj_request_round_time(
            max + max * (a->r->next.time_margin / 2) / 100);
        if (want > limit) {
            a->need.time = want;
            bj_show_seconds(bj_advice_value(a), max);
            bj_advice_wish(a, BJ_REQUEST_TIME, BJ_SENTENCE_MORE_TIME_ARRAY,
                           BJ_SENTENCE_MORE_TIME, 1);
            return;
        }
    }
    /* A job that reached its limit needs no less. */
    a->need.time = BJ_SQL_NULL;
    bj_advice_wish(a, BJ_REQUEST_TIME, BJ_SENTENCE_MORE_TIME,
                   BJ_SENTENCE_MORE_TIME, 0);
}

/* Did the job request no more CPUs than it needs?  It may have been allocated
 * more, such as all threads of a core. */
static bool requested_few(const struct bj_advisor *a, int64_t cpus)
{
    const int64_t requested = bj_advice_number(a, BJ_REPORT_CPUS_REQUESTED);
    return requested != BJ_SQL_NULL && requested <= cpus;
}

/* The most CPUs of a job that were busy on average, in millionths. */
int64_t bj_advice_busy(const struct bj_advisor *a)
{
    const int64_t used = bj_advice_number(a, BJ_REPORT_CPU_USED);
    const int64_t sec = bj_advice_number(a, BJ_REPORT_ELAPSED);
    if (bj_advice_of_array(a))
        return a->known->busy_micro;
    return used >= 0 && sec > 0 ? used / sec : BJ_SQL_NULL;
}

static void serial(struct bj_advisor *a)
{
    const int64_t now = bj_advice_busy(a);
    if (bj_advice_wished(a, BJ_REQUEST_CPUS) || !is_judged(a) || now < 0 ||
        now > MICRO / 10 * 11 || requested_few(a, 1))
        return;
    a->need.cpus = 1;
    a->need.serial = true;
    bj_show_number(bj_advice_value(a), bj_advice_number(a, BJ_REPORT_CPUS));
    bj_advice_wish(a, BJ_REQUEST_CPUS, BJ_SENTENCE_SERIAL,
                   BJ_SENTENCE_SERIAL_WORDS, 0);
}

/* The mean number of busy CPUs, and a tenth more. */
static void fewer_cpus(struct bj_advisor *a)
{
    const int64_t cpus = bj_advice_number(a, BJ_REPORT_CPUS),
                  now = bj_advice_busy(a);
    if (bj_advice_wished(a, BJ_REQUEST_CPUS) || !is_judged(a) ||
        bj_advice_number(a, BJ_REPORT_NODES) != 1 || cpus < 2)
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
    bj_buf_fixed(bj_advice_value(a),
                 (uint64_t)(now + MICRO / 20) / (MICRO / 10), 1);
    bj_show_number(bj_advice_value(a), cpus);
    bj_advice_wish(a, BJ_REQUEST_CPUS, BJ_SENTENCE_FEWER_CPUS,
                   BJ_SENTENCE_FEWER_CPUS_WORDS, 0);
}

/* The GPUs of the node that used most of them; 0: not known. */
static int64_t gpus_of_node(const struct bj_advisor *a, int64_t gpus,
                            int64_t unused)
{
    const struct bj_report *r = a->r;
    int64_t most = 0, all = 0;
    if (bj_advice_of_array(a))
        return 0; /* another task may have used all of them */
    if (bj_advice_number(a, BJ_REPORT_NODES) == 1)
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
    const int64_t gpus = bj_advice_number(a, BJ_REPORT_GPUS);
    const int64_t unused = bj_advice_number(a, BJ_REPORT_GPUS_UNUSED);
    if (gpus < 1 || unused < 1 || !has_finished(a))
        return;
    a->need.gpus = 0;
    if (unused >= gpus) {
        bj_advice_wish(a, BJ_REQUEST_GPUS, BJ_SENTENCE_NO_GPUS,
                       BJ_SENTENCE_NO_GPUS, 0);
        return;
    }
    a->need.gpus = gpus_of_node(a, gpus, unused);
    bj_show_number(bj_advice_value(a), unused);
    bj_show_number(bj_advice_value(a), gpus);
    bj_advice_wish(a, BJ_REQUEST_GPUS, BJ_SENTENCE_FEWER_GPUS,
                   BJ_SENTENCE_FEWER_GPUS_WORDS, 0);
}

/* A node with less than a second of CPU time counts as unused. */
static void fewer_nodes(struct bj_advisor *a)
{
    const int64_t nodes = bj_advice_number(a, BJ_REPORT_NODES);
    int64_t unused = 0, known = 0;
    for (size_t i = 0; i < a->r->nodes; i++) {
        known += a->r->node[i].cpu_usec != BJ_SQL_NULL;
        unused += a->r->node[i].cpu_usec != BJ_SQL_NULL &&
                  a->r->node[i].cpu_usec < MICRO;
    }
    if (unused < 1 || unused >= nodes || !has_finished(a))
        return;
    a->need.nodes = bj_advice_of_array(a) || known < nodes ? 0 : nodes - unused;
    bj_show_number(bj_advice_value(a), unused);
    bj_show_number(bj_advice_value(a), nodes);
    bj_advice_wish(a, BJ_REQUEST_NODES, BJ_SENTENCE_FEWER_NODES,
                   BJ_SENTENCE_FEWER_NODES_WORDS, 0);
}

static void one_node(struct bj_advisor *a)
{
    const int64_t peak = bj_advice_of_array(a) ? BJ_SQL_NULL : job_peak(a);
    if (bj_advice_wished(a, BJ_REQUEST_NODES) || !is_judged(a))
        return;
    a->need.nodes = 1;
    a->need.one_node = true;
    if (peak >= 0 && bj_advice_number(a, BJ_REPORT_MEASURED_NODES) >=
                         bj_advice_number(a, BJ_REPORT_NODES))
        a->need.memory_sum = bj_request_memory(peak, a->r->next.memory_margin);
    bj_advice_wish(a, BJ_REQUEST_NODES, BJ_SENTENCE_ONE_NODE,
                   BJ_SENTENCE_ONE_NODE_WORDS, 0);
}

/* --- findings and their wishes ----------------------------------------------
 */

void bj_advice_find(struct bj_advisor *a)
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
