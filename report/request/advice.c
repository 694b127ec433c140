#include "report/request/advice.h"

#include "report/model/show.h"
#include "report/request/advice_impl.h"

enum { MICRO = 1000000 };

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
    bj_buf_slice(bj_advice_value(a),
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
        bj_buf_slice(bj_advice_value(a), a->shown[part][i]);
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
    const bool gpus = bj_advice_wished(a, BJ_REQUEST_GPUS);
    const struct {
        enum bj_request_part part, of;
        enum bj_sentence sentence;
    } all[] = {{BJ_REQUEST_CPUS, BJ_REQUEST_GPUS, BJ_SENTENCE_KEEP_CPUS},
               {BJ_REQUEST_MEMORY,
                bj_advice_wished(a, BJ_REQUEST_NODES) ? BJ_REQUEST_NODES
                : gpus                                ? BJ_REQUEST_GPUS
                                                      : BJ_REQUEST_CPUS,
                BJ_SENTENCE_KEEP_MEMORY}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const enum bj_request_part part = all[i].part;
        if (a->next.of[part].option.n == 0 || bj_advice_wished(a, part) ||
            !bj_advice_wished(a, all[i].of))
            continue;
        a->finding = a->wish[all[i].of].finding;
        put_option(a, part);
        set_option(a, part, bj_advice_append(a, names[part], all[i].sentence));
    }
}

static struct bj_slice join(struct bj_report *r, struct bj_slice a,
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
    r->next.note =
        join(r, r->next.note, bj_sentence_text(r, which, a->value, a->values));
    a->values = 0;
}

static void put_next(struct bj_advisor *a)
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
        bj_show_number(bj_advice_value(a), n->memory_margin);
        put_note(a, BJ_SENTENCE_NEXT_MARGIN_MEMORY);
    }
    if (a->need.time != BJ_SQL_NULL && c[BJ_REQUEST_TIME].option.n > 0) {
        bj_show_number(bj_advice_value(a), bj_advice_of_array(a)
                                               ? n->time_margin / 2
                                               : n->time_margin);
        put_note(a, BJ_SENTENCE_NEXT_MARGIN_TIME);
    }
}

static void request_next(struct bj_advisor *a)
{
    const struct bj_report *r = a->r;
    const int64_t cpus = bj_advice_busy(a);
    if (cpus >= 0)
        a->need.busy = (cpus + MICRO - 1) / MICRO;
    const struct bj_request_job job = {
        .system = bj_report_text(r, BJ_REPORT_SYSTEM),
        .submit_line = bj_report_text(r, BJ_REPORT_SUBMIT_LINE),
        .script = bj_report_text(r, BJ_REPORT_SCRIPT_OPTIONS),
        .nodes = bj_advice_number(a, BJ_REPORT_NODES),
        .cpus = bj_advice_number(a, BJ_REPORT_CPUS),
        .cpus_requested = bj_advice_number(a, BJ_REPORT_CPUS_REQUESTED),
        .gpus = bj_advice_number(a, BJ_REPORT_GPUS),
        .memory = bj_advice_memory_had(a),
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
            bj_advice_add(a, advice_of[i].name, advice_of[i].sentence);
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
        if (bj_advice_is_common(&a))
            bj_advice_find(&a);
    }
    if (r->advice)
        request_next(&a);
    for (size_t i = 0; r->advice && i < r->findings; i++) {
        a.finding = &r->finding[i];
        if (bj_advice_is_common(&a))
            advise(&a, &r->finding[i]);
    }
    if (r->advice) {
        add_dependent(&a);
        put_next(&a);
    }
    for (unsigned i = 0; i < BJ_SENTENCE_VALUES; i++) {
        r->arena.failed |= a.value[i].failed;
        bj_buf_free(&a.value[i]);
    }
}
