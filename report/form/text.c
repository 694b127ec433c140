#include "report/form/text.h"

#include "base/local.h"
#include "report/form/meter.h"
#include "report/form/text_parts.h"
#include "report/model/show.h"

enum {
    LABEL = 12, /* columns */
    /* maximum number of nodes and GPUs shown, the least busy first */
    SHOWN = 10,
    INDENT = 2
};

struct page {
    const struct bj_report *r;
    const struct bj_report_style *style;
    struct bj_buf *out;
    struct bj_buf scratch;
};

static const char *colour_of(struct bj_slice level)
{
    static const struct {
        const char *level, *colour;
    } colours[] = {{"critical", "\033[1;31m"},
                   {"warning", "\033[1;33m"},
                   {"info", "\033[36m"},
                   {"good", "\033[32m"}};
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
        if (bj_slice_eq(level, bj_slice_str(colours[i].level)))
            return colours[i].colour;
    return "\033[1m";
}

static void colour(struct page *p, const char *code)
{
    bj_buf_str(p->out, p->style->colour ? code : "");
}

static void title(struct page *p, const char *text)
{
    bj_buf_str(p->out, "\n");
    colour(p, "\033[1m");
    bj_buf_str(p->out, bj_local(text));
    colour(p, "\033[0m");
    bj_buf_str(p->out, "\n");
}

static struct bj_slice text(const struct page *p, enum bj_report_column c)
{
    return bj_report_text(p->r, c);
}

static int64_t number(const struct page *p, enum bj_report_column c)
{
    return bj_report_number(p->r, c);
}

/* --- the first lines -------------------------------------------------------
 */

/* Append known text after a separator. */
static void put_word(struct page *p, const char *before, struct bj_slice s)
{
    if (s.n == 0)
        return;
    bj_local_str(p->out, before);
    bj_buf_clean(p->out, s);
}

static void put_head(struct page *p)
{
    struct bj_buf *out = p->out;
    colour(p, "\033[1m");
    if (p->r->array.tasks > 1)
        bj_local_put(out, "{Array} %lld",
                     (long long)number(p, BJ_REPORT_ARRAY));
    else
        put_word(p, "{Job} ", text(p, BJ_REPORT_DISPLAY_ID));
    colour(p, "\033[0m");
    put_word(p, "  ", text(p, BJ_REPORT_NAME));
    bj_buf_str(out, "\n");
    bj_buf_clean(out, bj_report_state(p->r));
    put_word(p, ", {of} ", text(p, BJ_REPORT_USER));
    put_word(p, ", {account} ", text(p, BJ_REPORT_ACCOUNT));
    put_word(p, ", {partition} ", text(p, BJ_REPORT_PARTITION));
    put_word(p, ", {cluster} ", text(p, BJ_REPORT_CLUSTER));
    bj_buf_str(out, "\n\n");
}

static void put_verdict(struct page *p)
{
    const struct bj_report_verdict *v = &p->r->verdict;
    struct bj_buf *out = p->out;
    unsigned at = bj_text_columns(v->level) + 2;
    colour(p, colour_of(v->level));
    bj_buf_clean(out, v->level);
    colour(p, "\033[0m");
    bj_buf_str(out, ": ");
    bj_text_wrap(out, v->wrong, INDENT, at);
    if (v->cost.n > 0)
        bj_text_wrap(out, v->cost, INDENT, 0);
    if (v->todo.n == 0)
        return;
    colour(p, "\033[1m");
    bj_text_wrap(out, v->todo, INDENT, 0);
    colour(p, "\033[0m");
}

/* --- requested and used ----------------------------------------------------
 */

static void put_meter(struct page *p, int64_t ppm)
{
    bj_meter(p->out, ppm, p->style->ascii);
}

static struct bj_slice scratch(struct page *p)
{
    return (struct bj_slice){p->scratch.p, p->scratch.len};
}

static void put_padded(struct page *p, unsigned width)
{
    unsigned n = bj_text_columns(scratch(p));
    bj_buf_printf(p->out, "%*s", n < width ? (int)(width - n) : 0, "");
    bj_buf_slice(p->out, scratch(p));
    p->scratch.len = 0;
}

static void put_amount(struct page *p, const struct bj_report_figure *f,
                       int64_t v)
{
    bj_report_amount(p->out, p->r, f, v);
}

static void put_figure(struct page *p, const struct bj_report_figure *f)
{
    if (f->used == BJ_SQL_NULL && f->ppm == BJ_SQL_NULL)
        return;
    bj_buf_str(p->out, "  ");
    bj_text_left(p->out, f->label.p, LABEL);
    if (f->allocated != BJ_SQL_NULL || f->ppm != BJ_SQL_NULL) {
        put_meter(p, f->ppm);
        bj_show_percent(&p->scratch, f->ppm);
        put_padded(p, 7);
        bj_buf_str(p->out, "  ");
    }
    put_amount(p, f, f->used);
    if (f->allocated != BJ_SQL_NULL) {
        bj_local_put(p->out, " {of} ");
        put_amount(p, f, f->allocated);
    }
    if (f->quality.n > 0 && !bj_slice_eq(f->quality, BJ_SLICE("measured")))
        put_word(p, ", ", f->quality);
    bj_buf_str(p->out, "\n");
}

/* The percentage of memory may refer to the requested instead of the allocated
 * memory. */
static void put_figures(struct page *p)
{
    bool any = false;
    for (unsigned i = 0; i < BJ_FIGURES; i++)
        any = any || p->r->figure[i].used != BJ_SQL_NULL;
    if (!any)
        return;
    if (p->r->array.tasks > 1) {
        struct bj_slice id = text(p, BJ_REPORT_DISPLAY_ID);
        bj_local_put(&p->scratch, "{Task %s: resources used}",
                     id.p ? id.p : "");
    } else {
        bj_local_str(&p->scratch, "{Resources used}");
    }
    bj_buf_put(&p->scratch, "", 1);
    title(p, p->scratch.failed ? "" : p->scratch.p);
    p->scratch.len = 0;
    for (unsigned i = 0; i < BJ_FIGURES; i++)
        put_figure(p, &p->r->figure[i]);
}

static void put_row(struct page *p, const char *label)
{
    if (p->scratch.len > 0) {
        bj_buf_str(p->out, "  ");
        bj_text_left(p->out, label, LABEL);
        bj_text_wrap(p->out, scratch(p), LABEL + INDENT, LABEL + INDENT);
    }
    p->scratch.len = 0;
}

static void put_when(struct page *p, const char *label, enum bj_report_column c)
{
    int64_t sec = number(p, c);
    if (sec != BJ_SQL_NULL)
        bj_show_time(&p->scratch, sec);
    put_row(p, label);
}

static void put_count(struct page *p, enum bj_report_column c, const char *one,
                      const char *many)
{
    int64_t n = number(p, c);
    if (n <= 0)
        return;
    bj_buf_str(&p->scratch, p->scratch.len > 0 ? ", " : "");
    bj_show_number(&p->scratch, n);
    bj_buf_printf(&p->scratch, " %s", bj_local(n == 1 ? one : many));
}

static void put_facts(struct page *p)
{
    title(p, "The job");
    put_count(p, BJ_REPORT_NODES, "node", "nodes");
    put_count(p, BJ_REPORT_CPUS, "CPU", "CPUs");
    put_count(p, BJ_REPORT_GPUS, "GPU", "GPUs");
    if (text(p, BJ_REPORT_NODELIST).n > 0) {
        bj_local_str(&p->scratch, p->scratch.len > 0 ? " {on} " : "");
        bj_buf_clean(&p->scratch, text(p, BJ_REPORT_NODELIST));
    }
    put_row(p, number(p, BJ_REPORT_START) != BJ_SQL_NULL ? "Allocated"
                                                         : "Requested");
    put_when(p, "Submitted", BJ_REPORT_SUBMIT);
    if (number(p, BJ_REPORT_WAIT) != BJ_SQL_NULL)
        bj_show_seconds(&p->scratch, number(p, BJ_REPORT_WAIT));
    put_row(p, "Waited");
    put_when(p, "Started", BJ_REPORT_START);
    put_when(p, "Ended", BJ_REPORT_END);
    put_count(p, BJ_REPORT_RESTARTS, "time", "times");
    put_row(p, "Requeued");
    bj_show_zone(&p->scratch);
    bj_buf_str(p->out, "  ");
    bj_text_wrap(p->out, scratch(p), INDENT, INDENT);
    p->scratch.len = 0;
}

/* --- findings and advice ---------------------------------------------------
 */

static void put_findings(struct page *p)
{
    const struct bj_report *r = p->r;
    if (r->findings > 0)
        title(p, "Findings");
    for (size_t i = 0; i < r->findings; i++) {
        const struct bj_report_finding *f = &r->finding[i];
        bj_buf_str(p->out, "  ");
        colour(p, colour_of(f->severity));
        bj_buf_printf(p->out, "%-*.*s", LABEL - INDENT, (int)f->severity.n,
                      f->severity.p);
        colour(p, "\033[0m");
        bj_buf_slice(&p->scratch, f->text);
        bj_text_wrap(p->out, scratch(p), LABEL, LABEL);
        p->scratch.len = 0;
    }
}

static void put_warnings(struct page *p)
{
    const struct bj_report *r = p->r;
    if (r->warnings > 0)
        title(p, "Warnings");
    for (size_t i = 0; i < r->warnings; i++) {
        const struct bj_report_warning *w = &r->warning[i];
        bj_buf_str(p->out, "  ");
        bj_show_time(p->out, w->at);
        bj_buf_str(p->out, "\n    ");
        bj_text_wrap(p->out, w->text, 4, 4);
    }
}

static void put_advice(struct page *p)
{
    const struct bj_report *r = p->r;
    if (r->advices > 0)
        title(p, "Advice");
    for (size_t i = 0; i < r->advices; i++) {
        const struct bj_report_advice *a = &r->advice[i];
        bj_buf_str(p->out, "  * ");
        bj_text_wrap(p->out, a->text, 4, 4);
        put_word(p, "      ", a->line);
        bj_buf_str(p->out, a->line.n > 0 ? "\n" : "");
        put_word(p, "      ", a->url);
        bj_buf_str(p->out, a->url.n > 0 ? "\n" : "");
    }
    if (r->next.note.n > 0) {
        bj_buf_str(p->out, "    ");
        bj_text_wrap(p->out, r->next.note, 4, 4);
    }
}

/* --- nodes, GPUs, tasks ----------------------------------------------------
 */

static void put_idle_since(struct page *p, int64_t sec)
{
    if (sec == BJ_SQL_NULL)
        return;
    bj_local_put(p->out, "  {idle since} ");
    bj_show_time(p->out, sec);
}

/* Return the next row in the order of a value, the smallest first. */
static size_t least(const int64_t *v, const bool *done, size_t n)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (!done[i] && (best == n || v[i] < v[best]))
            best = i;
    return best;
}

static void put_node(struct page *p, size_t i)
{
    const struct bj_report_node *n = &p->r->node[i];
    bj_buf_str(p->out, "  ");
    bj_buf_clean(&p->scratch, n->node);
    int pad = LABEL - (int)bj_text_columns(scratch(p));
    bj_buf_slice(p->out, scratch(p));
    bj_buf_printf(p->out, "%*s", pad > 0 ? pad : 1, "");
    p->scratch.len = 0;
    put_meter(p, n->cpu_ppm);
    bj_show_percent(&p->scratch, n->cpu_ppm);
    put_padded(p, 7);
    bj_buf_str(p->out, "  ");
    bj_show_bytes(p->out, n->memory_peak);
    bj_local_put(p->out, " {of} ");
    bj_show_bytes(p->out, n->memory_limit);
    put_idle_since(p, n->idle_since);
    bj_buf_str(p->out, "\n");
}

static void put_gpu(struct page *p, size_t i)
{
    const struct bj_report_gpu *g = &p->r->gpu[i];
    bj_show_gpu(&p->scratch, g->node, g->index, g->gpu);
    int pad = LABEL - (int)bj_text_columns(scratch(p));
    bj_buf_str(p->out, "  ");
    bj_buf_slice(p->out, scratch(p));
    bj_buf_printf(p->out, "%*s", pad > 0 ? pad : 1, "");
    p->scratch.len = 0;
    put_meter(p, g->busy_ppm);
    bj_show_percent(&p->scratch, g->busy_ppm);
    put_padded(p, 7);
    bj_buf_str(p->out, "  ");
    bj_show_bytes(p->out, g->memory_peak);
    put_word(p, "  ", g->model);
    put_idle_since(p, g->idle_since);
    bj_buf_str(p->out, "\n");
}

/* The rows with the least use, which indicate the problem. */
static void put_least(struct page *p, const char *what, size_t n,
                      int64_t (*value)(const struct bj_report *r, size_t i),
                      void (*put)(struct page *p, size_t i))
{
    struct bj_arena arena = {0};
    int64_t *v = bj_arena_alloc(&arena, n * sizeof(*v));
    bool *done = bj_arena_alloc(&arena, n * sizeof(*done));
    bj_buf_str(&p->scratch, bj_local(what));
    bj_local_str(&p->scratch, n > SHOWN ? ", {the 10 least busy}" : "");
    bj_buf_put(&p->scratch, "", 1);
    title(p, p->scratch.p ? p->scratch.p : what);
    p->scratch.len = 0;
    for (size_t i = 0; v && done && i < n; i++)
        v[i] = bj_report_rank(value(p->r, i));
    for (size_t i = 0; v && done && i < n && i < SHOWN; i++) {
        size_t at = least(v, done, n);
        done[at] = true;
        put(p, at);
    }
    bj_arena_free(&arena);
}

static int64_t node_use(const struct bj_report *r, size_t i)
{
    return r->node[i].cpu_ppm;
}

static int64_t gpu_use(const struct bj_report *r, size_t i)
{
    return r->gpu[i].busy_ppm;
}

static void show_spread(struct bj_buf *b, unsigned which, int64_t v)
{
    if (which == BJ_SPREAD_MEMORY)
        bj_show_bytes(b, v);
    else if (which == BJ_SPREAD_ELAPSED)
        bj_show_seconds(b, v);
    else
        bj_show_millionths(b, v);
}

static void put_array(struct page *p)
{
    static const char *const labels[] = {[BJ_SPREAD_ELAPSED] = "Run time",
                                         [BJ_SPREAD_MEMORY] = "Memory",
                                         [BJ_SPREAD_CPU] = "Busy CPUs"};
    static const char *const heads[] = {"least", "median", "95 %", "most"};
    const struct bj_report_array *a = &p->r->array;
    if (a->tasks <= 1)
        return;
    title(p, "Tasks of the array that completed");
    bj_buf_printf(p->out, "  %*s", LABEL, "");
    for (unsigned k = 0; k < 4; k++)
        bj_text_right(p->out, heads[k], 12);
    bj_local_str(p->out, "  {task}\n");
    for (unsigned i = 0; i < BJ_SPREADS; i++) {
        const struct bj_report_spread *s = &a->spread[i];
        const int64_t v[] = {s->min, s->median, s->p95, s->max};
        if (s->tasks <= 0)
            continue;
        bj_buf_str(p->out, "  ");
        bj_text_left(p->out, labels[i], LABEL);
        for (unsigned k = 0; k < 4; k++) {
            show_spread(&p->scratch, i, v[k]);
            put_padded(p, 12);
        }
        put_word(p, "  ", s->largest);
        bj_buf_str(p->out, "\n");
    }
}

void bj_report_print(const struct bj_report *r,
                     const struct bj_report_style *style, struct bj_buf *out)
{
    struct page p = {.r = r, .style = style, .out = out};
    put_head(&p);
    put_verdict(&p);
    put_advice(&p);
    put_figures(&p);
    put_findings(&p);
    put_warnings(&p);
    if (r->nodes > 1 || (r->nodes > 0 && r->node[0].at != BJ_SQL_NULL))
        put_least(&p, "CPUs and memory of nodes", r->nodes, node_use, put_node);
    if (r->gpus > 0)
        put_least(&p, "GPUs", r->gpus, gpu_use, put_gpu);
    bj_report_sampled(r, &p.scratch);
    if (p.scratch.len > 0)
        bj_text_wrap(out, scratch(&p), 2, 0);
    p.scratch.len = 0;
    put_array(&p);
    put_facts(&p);
    out->failed |= p.scratch.failed;
    bj_buf_free(&p.scratch);
}
