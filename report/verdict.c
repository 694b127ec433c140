#include "report/verdict.h"

#include "report/limits.h"
#include "report/reason.h"
#include "report/sentence.h"
#include "report/show.h"
#include "statsdb/best.h"

struct judge {
    struct bj_report *r;
    struct bj_buf value[BJ_SENTENCE_VALUES];
    unsigned values;
    struct bj_buf text; /* the sentences so far */
};

static struct bj_buf *value(struct judge *j)
{
    struct bj_buf *b = &j->value[j->values++];
    b->len = 0;
    return b;
}

static void put(struct judge *j, struct bj_slice sentence)
{
    if (sentence.n == 0)
        return;
    bj_buf_str(&j->text, j->text.len > 0 ? " " : "");
    bj_buf_slice(&j->text, sentence);
}

static void say(struct judge *j, enum bj_sentence which)
{
    put(j, bj_say(j->r, which, j->value, j->values));
    j->values = 0;
}

/* Return the sentences so far, and begin again. */
static struct bj_slice taken(struct judge *j)
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

static bool is(const struct judge *j, const char *state)
{
    return bj_report_is(j->r, BJ_REPORT_STATE, state);
}

static int64_t number(const struct judge *j, enum bj_report_column c)
{
    return bj_report_number(j->r, c);
}

static void put_elapsed(struct judge *j)
{
    bj_show_seconds(value(j), number(j, BJ_REPORT_ELAPSED));
}

/* --- the problem -----------------------------------------------------------
 */

static void say_failed(struct judge *j)
{
    int64_t code = number(j, BJ_REPORT_EXIT_CODE);
    int64_t signal = number(j, BJ_REPORT_EXIT_SIGNAL);
    bool somehow = signal <= 0 && code <= 0;
    if (!somehow)
        bj_show_number(value(j), signal > 0 ? signal : code);
    put_elapsed(j);
    say(j, somehow      ? BJ_SAY_FAILED_SOMEHOW
           : signal > 0 ? BJ_SAY_SIGNALLED
                        : BJ_SAY_FAILED);
}

static void say_oom(struct judge *j)
{
    int64_t nodes = number(j, BJ_REPORT_NODES);
    int64_t had = number(j, BJ_REPORT_MEMORY_ALLOCATED);
    if (had == BJ_SQL_NULL)
        had = number(j, BJ_REPORT_MEMORY_REQUESTED);
    bj_show_bytes(value(j), had >= 0 && nodes > 0 ? had / nodes : had);
    say(j, BJ_SAY_OOM);
}

/* Add how a job ended that did not complete; false: it completed. */
static bool say_end(struct judge *j)
{
    struct bj_slice state = bj_report_text(j->r, BJ_REPORT_STATE);
    if (is(j, "oom") || bj_report_found(j->r, "oom")) {
        say_oom(j);
    } else if (is(j, "timeout")) {
        bj_show_seconds(value(j), number(j, BJ_REPORT_LIMIT));
        say(j, BJ_SAY_TIMEOUT);
    } else if (is(j, "failed")) {
        say_failed(j);
    } else if (is(j, "cancelled")) {
        put_elapsed(j);
        say(j, BJ_SAY_CANCELLED);
    } else if (is(j, "node_fail") || is(j, "boot_fail")) {
        say(j, BJ_SAY_NODE_FAIL);
    } else if (!is(j, "completed") && state.n > 0) {
        bj_buf_slice(value(j), state);
        put_elapsed(j);
        say(j, BJ_SAY_ENDED);
    } else {
        return false;
    }
    return true;
}

/* Add that the job has not ended, and why; false: it has ended. */
static bool say_open(struct judge *j)
{
    struct bj_slice reason = bj_report_text(j->r, BJ_REPORT_REASON);
    if (is(j, "running") || is(j, "suspended")) {
        say(j, j->r->findings > 0 ? BJ_SAY_RUNS_NOW : BJ_SAY_RUNS);
    } else if (is(j, "pending") && reason.n > 0) {
        const char *text = bj_reason_text(reason);
        bj_buf_clean(value(j), text ? bj_slice_str(text) : reason);
        say(j, text ? BJ_SAY_WAITS_AS : BJ_SAY_WAITS_FOR);
    } else if (is(j, "pending")) {
        say(j, BJ_SAY_WAITS);
    } else {
        return false;
    }
    return true;
}

static bool is_severe(const struct bj_report_finding *f)
{
    return !bj_slice_eq(f->severity, BJ_SLICE("info"));
}

static bool is_known(const struct judge *j)
{
    return j->r->figure[BJ_FIGURE_CPU].used != BJ_SQL_NULL ||
           j->r->figure[BJ_FIGURE_MEMORY].used != BJ_SQL_NULL;
}

/* Findings that only repeat how the job ended. */
static bool repeats(const struct bj_report_finding *f)
{
    return bj_slice_eq(f->finding, BJ_SLICE("oom")) ||
           bj_slice_eq(f->finding, BJ_SLICE("timeout"));
}

/* Add the most severe relevant finding; returns its severity. */
static struct bj_slice say_finding(struct judge *j)
{
    const struct bj_report *r = j->r;
    for (size_t i = 0; i < r->findings; i++) {
        const struct bj_report_finding *f = &r->finding[i];
        if (!is_severe(f) || repeats(f))
            continue;
        if (r->array.tasks > 1) {
            bj_show_number(value(j), f->tasks);
            bj_buf_slice(value(j), f->text);
            say(j, BJ_SAY_TASKS_HAVE);
        } else {
            put(j, f->text);
        }
        return f->severity;
    }
    return (struct bj_slice){0};
}

static struct bj_slice level_of(struct bj_slice found, struct bj_slice other)
{
    return found.n > 0 ? found : other;
}

static void say_array(struct judge *j)
{
    const struct bj_report_array *a = &j->r->array;
    int64_t bad = a->failed + a->timeout + a->oom;
    bj_show_number(value(j), a->tasks);
    bj_show_number(value(j), a->completed);
    if (bad > 0)
        bj_show_number(value(j), bad);
    say(j, bad > 0 ? BJ_SAY_ARRAY_FAILED : BJ_SAY_ARRAY);
}

/* Add a sentence for a job without relevant findings; returns the level. */
static struct bj_slice say_rest(struct judge *j, bool ended_badly)
{
    if (ended_badly)
        return BJ_SLICE("info");
    if (number(j, BJ_REPORT_ELAPSED) < BJ_REPORT_LEAST_SEC &&
        j->r->array.tasks <= 1) {
        put_elapsed(j);
        say(j, BJ_SAY_SHORT);
        return BJ_SLICE("unknown");
    }
    if (!is_known(j) && j->r->array.judged == 0) {
        say(j, BJ_SAY_UNMEASURED);
        return BJ_SLICE("unknown");
    }
    if (j->r->findings > 0) {
        say(j, BJ_SAY_HINTS);
        return BJ_SLICE("info");
    }
    say(j, BJ_SAY_GOOD);
    return BJ_SLICE("good");
}

static struct bj_slice say_wrong(struct judge *j)
{
    const struct bj_report *r = j->r;
    bool ended = false;
    if (r->array.tasks > 1)
        say_array(j);
    else if (say_open(j))
        return level_of(say_finding(j), BJ_SLICE("unknown"));
    else
        ended = say_end(j);
    struct bj_slice level = say_finding(j);
    /* oom and timeout have their own severity. */
    if (r->findings > 0 && is_severe(&r->finding[0]))
        return r->finding[0].severity;
    return level.n > 0 ? level : say_rest(j, ended);
}

/* --- cost and advice -------------------------------------------------------
 */

static void say_cpu_cost(struct judge *j, int64_t had, int64_t used,
                         int64_t ppm)
{
    if (had <= 0)
        return;
    bj_show_hours(value(j), had);
    if (used != BJ_SQL_NULL) {
        bj_show_hours(value(j), used);
        bj_show_percent(value(j), ppm);
    }
    say(j, used != BJ_SQL_NULL ? BJ_SAY_COST_CPU : BJ_SAY_COST_CPU_UNKNOWN);
}

static void say_money(struct judge *j, int64_t micro)
{
    const struct bj_report_figure *f = &j->r->figure[BJ_FIGURE_COST];
    if (micro == BJ_SQL_NULL)
        return;
    bj_show_money(value(j), micro, f->unit);
    say(j, bj_slice_eq(f->quality, BJ_SLICE("at least"))
               ? BJ_SAY_COST_MONEY_AT_LEAST
               : BJ_SAY_COST_MONEY);
}

static void say_energy(struct judge *j)
{
    const struct bj_report_figure *f = j->r->figure;
    if (f[BJ_FIGURE_ENERGY].used == BJ_SQL_NULL)
        return;
    bool grams = f[BJ_FIGURE_EMISSIONS].used != BJ_SQL_NULL;
    bj_show_energy(value(j), f[BJ_FIGURE_ENERGY].used);
    if (grams)
        bj_show_grams(value(j), f[BJ_FIGURE_EMISSIONS].used);
    say(j, grams ? BJ_SAY_COST_EMISSIONS : BJ_SAY_COST_ENERGY);
}

/* For an array, the CPU hours and the cost of all its tasks. */
static void say_cost(struct judge *j)
{
    const struct bj_report_array *a = &j->r->array;
    const struct bj_report_figure *f = j->r->figure;
    const struct bj_report_figure *cpu = &f[BJ_FIGURE_CPU],
                                  *gpu = &f[BJ_FIGURE_GPU];
    if (a->tasks > 1) {
        say_cpu_cost(
            j, a->cpu_allocated_usec, a->cpu_used_usec,
            bj_best_ratio(a->cpu_used_usec, 1000000, a->cpu_allocated_usec));
        say_money(j, a->cost);
        return;
    }
    if (is(j, "pending") || is(j, "running"))
        return;
    say_cpu_cost(j, cpu->allocated, cpu->used, cpu->ppm);
    if (gpu->allocated > 0 && gpu->used != BJ_SQL_NULL) {
        bj_show_hours(value(j), gpu->allocated);
        bj_show_hours(value(j), gpu->allocated > gpu->used
                                    ? gpu->allocated - gpu->used
                                    : 0);
        say(j, BJ_SAY_COST_GPU);
    }
    say_energy(j);
    say_money(j, f[BJ_FIGURE_COST].used);
}

/* Add all options, or without options the first advice in words. */
static void say_todo(struct judge *j)
{
    const struct bj_report *r = j->r;
    struct bj_buf *options = value(j);
    for (size_t i = 0; i < r->advices; i++) {
        if (r->advice[i].option.n == 0)
            continue;
        bj_buf_str(options, options->len > 0 ? " " : "");
        bj_buf_slice(options, r->advice[i].option);
    }
    if (options->len > 0) {
        say(j, BJ_SAY_NEXT_TIME);
        return;
    }
    j->values = 0;
    if (r->advices > 0)
        put(j, r->advice[0].text);
    else if (r->findings > 0 && is(j, "running"))
        put(j, r->finding[0].advice);
}

void bj_report_judge(struct bj_report *r)
{
    struct judge j = {.r = r};
    r->verdict.level = say_wrong(&j);
    r->verdict.wrong = taken(&j);
    say_cost(&j);
    r->verdict.cost = taken(&j);
    say_todo(&j);
    r->verdict.todo = taken(&j);
    for (unsigned i = 0; i < BJ_SENTENCE_VALUES; i++) {
        r->arena.failed |= j.value[i].failed;
        bj_buf_free(&j.value[i]);
    }
    bj_buf_free(&j.text);
}
