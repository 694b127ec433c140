#include "report/job/job.h"

#include "report/model/limits.h"
#include "report/model/reason.h"
#include "report/model/sentence.h"
#include "report/model/show.h"
#include "statsdb/tables/best.h"

struct judge {
    struct bj_report *r;
    struct bj_buf value[BJ_SENTENCE_VALUES];
    unsigned values;
    struct bj_buf text; /* the sentences so far */
};

static struct bj_buf *verdict_value(struct judge *j)
{
    struct bj_buf *b = &j->value[j->values++];
    b->len = 0;
    return b;
}

static void verdict_put(struct judge *j, struct bj_slice sentence)
{
    if (sentence.n == 0)
        return;
    bj_buf_str(&j->text, j->text.len > 0 ? " " : "");
    bj_buf_slice(&j->text, sentence);
}

static void put_sentence(struct judge *j, enum bj_sentence which)
{
    verdict_put(j, bj_sentence_text(j->r, which, j->value, j->values));
    j->values = 0;
}

/* Return the sentences so far, and begin again. */
static struct bj_slice verdict_take_text(struct judge *j)
{
    struct bj_report *r = j->r;
    r->arena.failed |= j->text.failed;
    struct bj_slice ret =
        j->text.len > 0
            ? bj_arena_copy(&r->arena,
                            (struct bj_slice){j->text.p, j->text.len})
            : (struct bj_slice){0};
    j->text.len = 0;
    return ret;
}

static bool has_state(const struct judge *j, const char *state)
{
    return bj_report_is(j->r, BJ_REPORT_STATE, state);
}

static int64_t verdict_number(const struct judge *j, enum bj_report_column c)
{
    return bj_report_number(j->r, c);
}

static void put_elapsed(struct judge *j)
{
    bj_show_seconds(verdict_value(j), verdict_number(j, BJ_REPORT_ELAPSED));
}

/* Did the job end without having run?  PBS reports no run time of a job that
 * was deleted while it waited. */
static bool never_started(const struct judge *j)
{
    const int64_t elapsed = verdict_number(j, BJ_REPORT_ELAPSED);
    return bj_report_text(j->r, BJ_REPORT_START).n == 0 &&
           (elapsed == 0 ||
            (elapsed == BJ_SQL_NULL && has_state(j, "cancelled") &&
             bj_report_text(j->r, BJ_REPORT_NODELIST).n == 0));
}

/* PBS and LSF also limit the CPU time, which the store does not have. */
static void put_timeout(struct judge *j)
{
    const int64_t limit = verdict_number(j, BJ_REPORT_LIMIT);
    const int64_t elapsed = verdict_number(j, BJ_REPORT_ELAPSED);
    if (limit <= 0 || (elapsed >= 0 && elapsed < limit)) {
        put_sentence(j, BJ_SENTENCE_TIMEOUT_ANY);
        return;
    }
    bj_show_seconds(verdict_value(j), limit);
    put_sentence(j, BJ_SENTENCE_TIMEOUT);
}

/* --- the problem -----------------------------------------------------------
 */

/* "9 (SIGKILL)" */
static void show_signal(struct bj_buf *b, int64_t number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{1, "SIGHUP"},   {2, "SIGINT"},   {3, "SIGQUIT"},
                 {4, "SIGILL"},   {5, "SIGTRAP"},  {6, "SIGABRT"},
                 {7, "SIGBUS"},   {8, "SIGFPE"},   {9, "SIGKILL"},
                 {10, "SIGUSR1"}, {11, "SIGSEGV"}, {12, "SIGUSR2"},
                 {13, "SIGPIPE"}, {14, "SIGALRM"}, {15, "SIGTERM"},
                 {24, "SIGXCPU"}, {25, "SIGXFSZ"}, {31, "SIGSYS"}};
    bj_show_number(b, number);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].number == number)
            bj_buf_printf(b, " (%s)", names[i].name);
}

/* Add what the exit code means by the conventions of shells. */
static void put_exit_code(struct judge *j)
{
    enum { NOT_EXECUTABLE = 126, NOT_FOUND, SIGNALS, LAST_SIGNAL = 64 };
    int64_t code = verdict_number(j, BJ_REPORT_EXIT_CODE);
    if (verdict_number(j, BJ_REPORT_EXIT_SIGNAL) > 0)
        return;
    if (code == NOT_EXECUTABLE) {
        put_sentence(j, BJ_SENTENCE_EXIT_NOT_EXECUTABLE);
    } else if (code == NOT_FOUND) {
        put_sentence(j, BJ_SENTENCE_EXIT_NOT_FOUND);
    } else if (code > SIGNALS && code <= SIGNALS + LAST_SIGNAL) {
        bj_show_number(verdict_value(j), code);
        show_signal(verdict_value(j), code - SIGNALS);
        put_sentence(j, BJ_SENTENCE_EXIT_SIGNAL);
    }
}

static void put_failed(struct judge *j)
{
    int64_t code = verdict_number(j, BJ_REPORT_EXIT_CODE);
    int64_t signal = verdict_number(j, BJ_REPORT_EXIT_SIGNAL);
    bool somehow = signal <= 0 && code <= 0;
    if (signal > 0)
        show_signal(verdict_value(j), signal);
    else if (!somehow)
        bj_show_number(verdict_value(j), code);
    put_elapsed(j);
    put_sentence(j, somehow      ? BJ_SENTENCE_FAILED_SOMEHOW
                    : signal > 0 ? BJ_SENTENCE_SIGNALLED
                                 : BJ_SENTENCE_FAILED);
    put_exit_code(j);
}

static bool node_failed(const struct judge *j)
{
    return has_state(j, "node_fail") || has_state(j, "boot_fail");
}

/* Did hardware end the job? */
static bool hardware_failed(const struct judge *j)
{
    return node_failed(j) || bj_report_found(j->r, "gpu_hardware");
}

static void put_node_fail(struct judge *j)
{
    const struct bj_slice known = bj_report_text(j->r, BJ_REPORT_FAILED_NODE);
    const bool one = verdict_number(j, BJ_REPORT_NODES) <= 1;
    bj_buf_clean(
        verdict_value(j),
        known.n > 0 && !one ? known : bj_report_text(j->r, BJ_REPORT_NODELIST));
    put_sentence(j, one           ? BJ_SENTENCE_NODE_FAIL
                    : known.n > 0 ? BJ_SENTENCE_NODE_OF_FAIL
                                  : BJ_SENTENCE_NODES_FAIL);
}

static void put_oom(struct judge *j)
{
    int64_t nodes = verdict_number(j, BJ_REPORT_NODES);
    int64_t had = verdict_number(j, BJ_REPORT_MEMORY_ALLOCATED);
    if (had == BJ_SQL_NULL)
        had = verdict_number(j, BJ_REPORT_MEMORY_REQUESTED);
    bj_show_bytes(verdict_value(j), had >= 0 && nodes > 0 ? had / nodes : had);
    put_sentence(j, BJ_SENTENCE_OOM);
    const struct bj_report_finding *leak = bj_report_found(j->r, "oom_leak");
    if (leak)
        verdict_put(j, leak->text);
    if (has_state(j, "failed"))
        put_exit_code(j);
}

/* Add how a job ended that did not complete; returns the level of that, empty:
 * it completed. */
static struct bj_slice verdict_put_end(struct judge *j)
{
    struct bj_slice state = bj_report_text(j->r, BJ_REPORT_STATE);
    if (has_state(j, "oom") || bj_report_found(j->r, "oom")) {
        put_oom(j);
    } else if (never_started(j) && !has_state(j, "completed")) {
        const bool cancelled = has_state(j, "cancelled");
        if (!cancelled)
            bj_buf_slice(verdict_value(j), state);
        put_sentence(j, cancelled ? BJ_SENTENCE_CANCELLED_BEFORE
                                  : BJ_SENTENCE_ENDED_BEFORE);
        if (cancelled)
            return BJ_SLICE("info");
    } else if (has_state(j, "timeout")) {
        put_timeout(j);
    } else if (has_state(j, "failed")) {
        put_failed(j);
    } else if (has_state(j, "cancelled")) {
        put_elapsed(j);
        put_sentence(j, BJ_SENTENCE_CANCELLED);
        return BJ_SLICE("info");
    } else if (node_failed(j)) {
        put_node_fail(j);
    } else if (has_state(j, "deadline")) {
        put_elapsed(j);
        put_sentence(j, BJ_SENTENCE_DEADLINE);
    } else if (has_state(j, "preempted")) {
        put_elapsed(j);
        put_sentence(j, BJ_SENTENCE_PREEMPTED);
        return BJ_SLICE("info");
    } else if (!has_state(j, "completed") && state.n > 0) {
        bj_buf_slice(verdict_value(j), state);
        put_elapsed(j);
        put_sentence(j, BJ_SENTENCE_ENDED);
        return BJ_SLICE("info");
    } else {
        return (struct bj_slice){0};
    }
    return BJ_SLICE("warning");
}

/* The sum of a value of all nodes of a running job; unknown if that of one is
 * not known. */
static int64_t sum_now(const struct judge *j, bool memory)
{
    const struct bj_report *r = j->r;
    int64_t sum = 0;
    if (!has_state(j, "running") || r->array.tasks > 1 || r->nodes == 0 ||
        (int64_t)r->nodes != verdict_number(j, BJ_REPORT_NODES))
        return BJ_SQL_NULL;
    for (size_t i = 0; i < r->nodes; i++) {
        const struct bj_report_node *n = &r->node[i];
        const int64_t v = memory ? n->memory_peak : n->cpus_busy;
        if (v < 0 || __builtin_add_overflow(sum, v, &sum))
            return BJ_SQL_NULL;
    }
    return sum;
}

static bool knows_now(const struct judge *j)
{
    return sum_now(j, false) != BJ_SQL_NULL || sum_now(j, true) != BJ_SQL_NULL;
}

static void put_now_gpus(struct judge *j)
{
    const struct bj_report *r = j->r;
    int64_t sum = 0;
    if (!knows_now(j) || r->gpus == 0 ||
        (int64_t)r->gpus != verdict_number(j, BJ_REPORT_GPUS))
        return;
    for (size_t i = 0; i < r->gpus; i++) {
        if (r->gpu[i].busy_ppm < 0)
            return;
        sum += r->gpu[i].busy_ppm;
    }
    bj_show_percent(verdict_value(j), sum / (int64_t)r->gpus);
    put_sentence(j, BJ_SENTENCE_NOW_GPUS);
}

/* Add what a running job uses now. */
static void put_now(struct judge *j)
{
    const int64_t cpus = sum_now(j, false), memory = sum_now(j, true);
    const int64_t had = verdict_number(j, BJ_REPORT_CPUS);
    int64_t of = verdict_number(j, BJ_REPORT_MEMORY_ALLOCATED);
    if (of == BJ_SQL_NULL)
        of = verdict_number(j, BJ_REPORT_MEMORY_REQUESTED);
    if (cpus != BJ_SQL_NULL && had == 1) {
        bj_show_percent(verdict_value(j), cpus);
        put_sentence(j, BJ_SENTENCE_NOW_CPU);
    } else if (cpus != BJ_SQL_NULL && had > 0) {
        bj_show_millionths(verdict_value(j), cpus);
        bj_show_number(verdict_value(j), had);
        put_sentence(j, BJ_SENTENCE_NOW_CPUS);
    }
    if (memory != BJ_SQL_NULL && of > 0) {
        bj_show_bytes(verdict_value(j), memory);
        bj_show_bytes(verdict_value(j), of);
        put_sentence(j, BJ_SENTENCE_NOW_MEMORY);
    }
    put_now_gpus(j);
}

/* Add that the job has not ended, and why; false: it has ended. */
static bool put_open(struct judge *j)
{
    struct bj_slice reason = bj_report_text(j->r, BJ_REPORT_REASON);
    if (has_state(j, "running") || has_state(j, "suspended")) {
        put_sentence(j, j->r->findings > 0 || knows_now(j)
                            ? BJ_SENTENCE_RUNS_NOW
                            : BJ_SENTENCE_RUNS);
    } else if (has_state(j, "pending") && reason.n > 0) {
        const char *text = bj_reason_text(reason);
        bj_buf_clean(verdict_value(j), text ? bj_slice_str(text) : reason);
        put_sentence(j, text ? BJ_SENTENCE_WAITS_AS : BJ_SENTENCE_WAITS_FOR);
    } else if (has_state(j, "pending")) {
        put_sentence(j, BJ_SENTENCE_WAITS);
    } else {
        return false;
    }
    return true;
}

static bool is_severe(const struct bj_report_finding *f)
{
    return !bj_slice_eq(f->severity, BJ_SLICE("info"));
}

/* The figures of what the job held, and whether its use is unknown; of an
 * array, of some task. */
static bool is_unknown(const struct judge *j, enum bj_figure f)
{
    const struct bj_report_array *a = &j->r->array;
    if (a->tasks > 1)
        return f == BJ_FIGURE_CPU      ? a->unknown_cpu > 0
               : f == BJ_FIGURE_MEMORY ? a->unknown_memory > 0
                                       : a->unknown_gpu > 0;
    return (f != BJ_FIGURE_GPU || verdict_number(j, BJ_REPORT_GPUS) > 0) &&
           j->r->figure[f].used == BJ_SQL_NULL;
}

static bool verdict_is_known(const struct judge *j)
{
    return !is_unknown(j, BJ_FIGURE_CPU) || !is_unknown(j, BJ_FIGURE_MEMORY);
}

/* Add "1 of 2 nodes were measured." if not all were. */
static void put_measured(struct judge *j, int64_t measured, int64_t all,
                         enum bj_sentence which)
{
    if (measured < 0 || measured >= all || j->r->array.tasks > 1)
        return;
    bj_show_number(verdict_value(j), measured);
    bj_show_number(verdict_value(j), all);
    put_sentence(j, which);
}

static void verdict_put_parts(struct judge *j)
{
    put_measured(j, verdict_number(j, BJ_REPORT_MEASURED_NODES),
                 verdict_number(j, BJ_REPORT_NODES), BJ_SENTENCE_PARTLY_NODES);
    put_measured(j, verdict_number(j, BJ_REPORT_GPUS_MEASURED),
                 verdict_number(j, BJ_REPORT_GPUS), BJ_SENTENCE_PARTLY_GPUS);
}

/* Add what is not known of the use; false: all is known. */
static bool put_unknown(struct judge *j)
{
    static const enum bj_figure held[] = {BJ_FIGURE_CPU, BJ_FIGURE_MEMORY,
                                          BJ_FIGURE_GPU};
    struct bj_buf *names = verdict_value(j);
    for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
        if (is_unknown(j, held[i])) {
            bj_buf_str(names, names->len > 0 ? ", " : "");
            bj_buf_slice(names, j->r->figure[held[i]].label);
        }
    if (names->len == 0) {
        j->values = 0;
        return false;
    }
    put_sentence(j, j->r->findings > 0 ? BJ_SENTENCE_PARTLY_HINTS
                                       : BJ_SENTENCE_PARTLY);
    verdict_put_parts(j);
    return true;
}

/* Findings that only repeat how the job ended; put_oom() names its leak. */
static bool repeats(const struct judge *j, const struct bj_report_finding *f)
{
    return bj_slice_eq(f->finding, BJ_SLICE("oom")) ||
           bj_slice_eq(f->finding, BJ_SLICE("timeout")) ||
           (bj_slice_eq(f->finding, BJ_SLICE("oom_leak")) &&
            j->r->array.tasks <= 1);
}

/* Add the most severe relevant finding; returns its severity. */
static struct bj_slice put_finding(struct judge *j)
{
    const struct bj_report *r = j->r;
    for (size_t i = 0; i < r->findings; i++) {
        const struct bj_report_finding *f = &r->finding[i];
        if (!is_severe(f) || repeats(j, f))
            continue;
        verdict_put(j, f->text);
        return f->severity;
    }
    return (struct bj_slice){0};
}

static struct bj_slice level_of(struct bj_slice found, struct bj_slice other)
{
    return found.n > 0 ? found : other;
}

/* Add how the tasks ended; returns the level of that, as put_end(). */
static struct bj_slice put_array(struct judge *j)
{
    const struct bj_report_array *a = &j->r->array;
    int64_t bad = a->failed + a->timeout + a->oom;
    bj_show_number(verdict_value(j), a->tasks);
    bj_show_number(verdict_value(j), a->completed);
    if (bad > 0)
        bj_show_number(verdict_value(j), bad);
    put_sentence(j, bad > 0 ? BJ_SENTENCE_ARRAY_FAILED : BJ_SENTENCE_ARRAY);
    if (a->failed_tasks.n > 0) {
        bj_buf_slice(verdict_value(j), a->failed_tasks);
        if (a->failed_more > 0)
            bj_show_number(verdict_value(j), a->failed_more);
        put_sentence(j, a->failed_more > 0 ? BJ_SENTENCE_ARRAY_NAMES_MORE
                                           : BJ_SENTENCE_ARRAY_NAMES);
    }
    return bad > 0 ? BJ_SLICE("warning") : (struct bj_slice){0};
}

/* Add a sentence for a completed job without relevant findings; returns the
 * level: good needs that the use of all is known that the job held. */
static struct bj_slice put_no_finding(struct judge *j)
{
    if (verdict_number(j, BJ_REPORT_ELAPSED) < BJ_REPORT_LEAST_SEC &&
        j->r->array.tasks <= 1) {
        put_elapsed(j);
        put_sentence(j, BJ_SENTENCE_SHORT);
        return BJ_SLICE("unknown");
    }
    if (!verdict_is_known(j) && j->r->array.judged == 0) {
        if (!put_open(j)) { /* it is open only in an array */
            put_sentence(j, BJ_SENTENCE_UNMEASURED);
            verdict_put_parts(j);
        }
        return BJ_SLICE("unknown");
    }
    if (put_unknown(j))
        return j->r->findings > 0 ? BJ_SLICE("info") : BJ_SLICE("unknown");
    if (j->r->findings > 0) {
        put_sentence(j, BJ_SENTENCE_HINTS);
        return BJ_SLICE("info");
    }
    put_sentence(j, BJ_SENTENCE_GOOD);
    return BJ_SLICE("good");
}

static struct bj_slice put_problem(struct judge *j)
{
    const struct bj_report *r = j->r;
    struct bj_slice end;
    if (r->array.tasks <= 1 && put_open(j)) {
        const struct bj_slice found = put_finding(j);
        put_now(j);
        return level_of(found, BJ_SLICE("unknown"));
    }
    end = r->array.tasks > 1 ? put_array(j) : verdict_put_end(j);
    /* What a job used until its node failed is no reason to change it. */
    if (r->array.tasks <= 1 && node_failed(j))
        return end; /* a GPU that failed is a finding */
    put_finding(j);
    /* oom and timeout have their own severity. */
    if (r->findings > 0 && is_severe(&r->finding[0]))
        return r->finding[0].severity;
    return end.n > 0 ? end : put_no_finding(j);
}

/* --- cost and advice -------------------------------------------------------
 */

static void put_cpu_cost(struct judge *j, int64_t had, int64_t used,
                         int64_t ppm)
{
    if (had <= 0)
        return;
    bj_show_hours(verdict_value(j), had);
    if (used != BJ_SQL_NULL) {
        bj_show_hours(verdict_value(j), used);
        bj_show_percent(verdict_value(j), ppm);
    }
    put_sentence(j, used != BJ_SQL_NULL ? BJ_SENTENCE_COST_CPU
                                        : BJ_SENTENCE_COST_CPU_UNKNOWN);
}

static void put_money(struct judge *j, int64_t micro)
{
    const struct bj_report_figure *f = &j->r->figure[BJ_FIGURE_COST];
    if (micro == BJ_SQL_NULL)
        return;
    bj_show_money(verdict_value(j), micro, f->unit);
    put_sentence(j, bj_slice_eq(f->quality, BJ_SLICE("at least"))
                        ? BJ_SENTENCE_COST_MONEY_AT_LEAST
                        : BJ_SENTENCE_COST_MONEY);
}

static void verdict_put_energy(struct judge *j)
{
    const struct bj_report_figure *f = j->r->figure;
    if (f[BJ_FIGURE_ENERGY].used == BJ_SQL_NULL)
        return;
    bool grams = f[BJ_FIGURE_EMISSIONS].used != BJ_SQL_NULL;
    bj_show_energy(verdict_value(j), f[BJ_FIGURE_ENERGY].used);
    if (grams)
        bj_show_grams(verdict_value(j), f[BJ_FIGURE_EMISSIONS].used);
    const bool part =
        bj_slice_eq(f[BJ_FIGURE_ENERGY].quality, BJ_SLICE("at least"));
    put_sentence(j, grams && part ? BJ_SENTENCE_COST_EMISSIONS_AT_LEAST
                    : grams       ? BJ_SENTENCE_COST_EMISSIONS
                    : part        ? BJ_SENTENCE_COST_ENERGY_AT_LEAST
                                  : BJ_SENTENCE_COST_ENERGY);
}

/* Add for how many tasks of the array the value of a sentence is known. */
static void put_known_tasks(struct judge *j, int64_t tasks)
{
    bj_show_number(verdict_value(j), tasks);
    bj_show_number(verdict_value(j), j->r->array.ran);
}

/* Add what the site does not charge, as a node failed. */
static void put_not_charged(struct judge *j, int64_t micro,
                            enum bj_sentence sentence)
{
    if (micro <= 0)
        return;
    bj_show_money(verdict_value(j), micro,
                  bj_report_text(j->r, BJ_REPORT_CURRENCY));
    put_sentence(j, sentence);
}

/* Energy, emissions and cost of the tasks, and of how many they are known. */
static void put_array_cost(struct judge *j)
{
    const struct bj_report_array *a = &j->r->array;
    const bool all = a->energy_tasks == a->ran,
               grams = a->emissions_tasks == a->ran;
    if (a->energy_tasks > 0) {
        bj_show_energy(verdict_value(j), a->energy_uj);
        if (!all)
            put_known_tasks(j, a->energy_tasks);
        else if (grams)
            bj_show_grams(verdict_value(j), a->emissions_ug);
        put_sentence(j, !all    ? BJ_SENTENCE_COST_ENERGY_PART
                        : grams ? BJ_SENTENCE_COST_EMISSIONS
                                : BJ_SENTENCE_COST_ENERGY);
    }
    if (a->emissions_tasks > 0 && !(all && grams)) {
        bj_show_grams(verdict_value(j), a->emissions_ug);
        put_known_tasks(j, a->emissions_tasks);
        put_sentence(j, BJ_SENTENCE_COST_EMISSIONS_PART);
    }
    if (a->cost == BJ_SQL_NULL)
        return;
    bj_show_money(verdict_value(j), a->cost,
                  bj_report_text(j->r, BJ_REPORT_CURRENCY));
    if (a->cost_tasks > 0 && a->cost_tasks < a->ran)
        put_known_tasks(j, a->cost_tasks);
    put_sentence(j, a->cost_tasks == a->ran ? BJ_SENTENCE_COST_MONEY
                    : a->cost_tasks > 0     ? BJ_SENTENCE_COST_MONEY_PART
                                            : BJ_SENTENCE_COST_MONEY_AT_LEAST);
    put_not_charged(j, a->not_charged, BJ_SENTENCE_NOT_CHARGED_OF);
}

/* For an array, the CPU hours and the cost of all its tasks. */
static void put_cost(struct judge *j)
{
    const struct bj_report_array *a = &j->r->array;
    const struct bj_report_figure *f = j->r->figure;
    const struct bj_report_figure *cpu = &f[BJ_FIGURE_CPU],
                                  *gpu = &f[BJ_FIGURE_GPU];
    if (a->tasks > 1) {
        put_cpu_cost(
            j, a->cpu_allocated_usec, a->cpu_used_usec,
            bj_best_ratio(a->cpu_used_usec, 1000000, a->cpu_allocated_usec));
        put_array_cost(j);
        return;
    }
    if (has_state(j, "pending") || has_state(j, "running"))
        return;
    put_cpu_cost(j, cpu->allocated, cpu->used, cpu->ppm);
    if (gpu->allocated > 0 && gpu->used != BJ_SQL_NULL) {
        bj_show_hours(verdict_value(j), gpu->allocated);
        bj_show_hours(verdict_value(j), gpu->allocated > gpu->used
                                            ? gpu->allocated - gpu->used
                                            : 0);
        bool idle = verdict_number(j, BJ_REPORT_GPU_IDLE) != BJ_SQL_NULL;
        if (idle)
            bj_show_hours(verdict_value(j),
                          verdict_number(j, BJ_REPORT_GPU_IDLE));
        put_sentence(j,
                     idle ? BJ_SENTENCE_COST_GPU_IDLE : BJ_SENTENCE_COST_GPU);
    }
    verdict_put_energy(j);
    put_money(j, f[BJ_FIGURE_COST].used);
    put_not_charged(j, verdict_number(j, BJ_REPORT_NOT_CHARGED),
                    BJ_SENTENCE_NOT_CHARGED);
}

/* Add the next request, or without one the first advice in words. */
static void put_advice(struct judge *j)
{
    const struct bj_report *r = j->r;
    if (r->array.tasks <= 1 && hardware_failed(j)) {
        put_sentence(j, BJ_SENTENCE_SUBMIT_AGAIN);
        return;
    }
    if (r->array.tasks > 1 && r->array.hardware_failed > 0) {
        bj_show_number(verdict_value(j), r->array.hardware_failed);
        put_sentence(j, BJ_SENTENCE_SUBMIT_TASKS_AGAIN);
    }
    if (r->next.options.n > 0) {
        bj_buf_slice(verdict_value(j), r->next.options);
        put_sentence(j, BJ_SENTENCE_NEXT_TIME);
    } else if (r->advices > 0)
        verdict_put(j, r->advice[0].text);
    else if (r->findings > 0 && has_state(j, "running"))
        verdict_put(j, r->finding[0].advice);
}

/* Was a completed job much slower than the owner's earlier runs like it? */
static bool put_slower(struct judge *j)
{
    enum { RUNS_LEAST = 5, LONG_SEC = 600 };
    const struct bj_report_usual *u = &j->r->usual;
    const int64_t elapsed = verdict_number(j, BJ_REPORT_ELAPSED);
    /* more than 1.5 times as long */
    if (u->runs < RUNS_LEAST || elapsed < LONG_SEC ||
        elapsed - u->median <= u->median / 2)
        return false;
    put_elapsed(j);
    bj_show_number(verdict_value(j), u->runs);
    bj_show_seconds(verdict_value(j), u->median);
    put_sentence(j, BJ_SENTENCE_SLOWER);
    return true;
}

void bj_report_judge(struct bj_report *r)
{
    struct judge j = {.r = r};
    r->verdict.level = put_problem(&j);
    if (put_slower(&j) && bj_slice_eq(r->verdict.level, BJ_SLICE("good")))
        r->verdict.level = BJ_SLICE("info");
    r->verdict.wrong = verdict_take_text(&j);
    put_cost(&j);
    r->verdict.cost = verdict_take_text(&j);
    put_advice(&j);
    r->verdict.todo = verdict_take_text(&j);
    for (unsigned i = 0; i < BJ_SENTENCE_VALUES; i++) {
        r->arena.failed |= j.value[i].failed;
        bj_buf_free(&j.value[i]);
    }
    bj_buf_free(&j.text);
}
