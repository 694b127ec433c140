#include "report/job/job.h"

#include "base/amount.h"
#include "base/local.h"
#include "report/model/limits.h"
#include "report/model/show.h"
#include "statsdb/tables/fragment.h"

#include <stdlib.h>

static struct bj_slice job_local(const char *english)
{
    return bj_slice_str(bj_local(english));
}

/* Append known text to scratch after a separator. */
static void job_word(struct bj_doc *d, const char *before, struct bj_slice s)
{
    if (s.n == 0)
        return;
    bj_local_str(&d->scratch, d->scratch.len > 0 ? before : "");
    bj_buf_clean(&d->scratch, s);
}

/* Append "2 nodes" to scratch, if it is known. */
static void job_count(struct bj_doc *d, int64_t n, const char *one,
                      const char *many)
{
    if (n <= 0)
        return;
    bj_buf_str(&d->scratch, d->scratch.len > 0 ? ", " : "");
    bj_show_number(&d->scratch, n);
    bj_buf_printf(&d->scratch, " %s", bj_local(n == 1 ? one : many));
}

static struct bj_slice job_time(struct bj_doc *d, int64_t sec)
{
    bj_show_time(&d->scratch, sec);
    return bj_doc_take(d);
}

static struct bj_slice job_percent(struct bj_doc *d, int64_t ppm)
{
    bj_show_percent(&d->scratch, ppm);
    return bj_doc_take(d);
}

static struct bj_slice job_bytes(struct bj_doc *d, int64_t bytes)
{
    bj_show_bytes(&d->scratch, bytes);
    return bj_doc_take(d);
}

/* --- the first lines -------------------------------------------------------
 */

static void job_put_title(const struct bj_report *r, struct bj_doc *d)
{
    const struct bj_slice id = bj_report_text(r, BJ_REPORT_DISPLAY_ID);
    const long long array = (long long)bj_report_number(r, BJ_REPORT_ARRAY);
    d->name = bj_report_text(r, BJ_REPORT_NAME);
    if (r->array.tasks > 1) {
        d->task = id;
        bj_local_put(&d->scratch, "{Array} %lld", array);
    } else if (id.n > 0) {
        bj_local_str(&d->scratch, "{Job} ");
        bj_buf_clean(&d->scratch, id);
    }
    d->title = bj_doc_take(d);
    if (r->array.tasks > 1)
        bj_local_put(&d->scratch, "{Report of array %lld}", array);
    else
        bj_local_put(&d->scratch, "{Report of job %s}", id.p ? id.p : "");
    if (d->name.n > 0) {
        bj_buf_str(&d->scratch, " (");
        bj_buf_clean(&d->scratch, d->name);
        bj_buf_str(&d->scratch, ")");
    }
    d->whole_title = bj_doc_take(d);
}

static void job_put_head(const struct bj_report *r, struct bj_doc *d)
{
    const enum bj_report_column order[] = {BJ_REPORT_END, BJ_REPORT_START,
                                           BJ_REPORT_SUBMIT};
    const struct bj_report_verdict *v = &r->verdict;
    job_put_title(r, d);
    for (unsigned i = 3; i-- > 0;) {
        const int64_t sec = bj_report_number(r, order[i]);
        d->created_sec = sec != BJ_SQL_NULL ? sec : d->created_sec;
    }
    bj_buf_clean(&d->scratch, bj_report_state(r));
    job_word(d, ", {of} ", bj_report_text(r, BJ_REPORT_USER));
    job_word(d, ", {account} ", bj_report_text(r, BJ_REPORT_ACCOUNT));
    job_word(d, ", {partition} ", bj_report_text(r, BJ_REPORT_PARTITION));
    job_word(d, ", {cluster} ", bj_report_text(r, BJ_REPORT_CLUSTER));
    struct bj_doc_section *s =
        bj_doc_add(d, BJ_DOC_ABOUT, NULL, BJ_DOC_ABOUT_COLUMNS);
    bj_doc_row(d, s)->text = bj_doc_take(d);
    s = bj_doc_add(d, BJ_DOC_VERDICT, NULL, BJ_DOC_VERDICT_COLUMNS);
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_LEVEL].text = v->level;
    row[BJ_DOC_WRONG].text = v->wrong;
    row[BJ_DOC_COST].text = v->cost;
    row[BJ_DOC_TODO].text = v->todo;
}

/* Add the text of scratch as a section of one sentence, if there is one. */
static void job_put_sentence(struct bj_doc *d, enum bj_doc_name name)
{
    if (d->scratch.len == 0)
        return;
    struct bj_doc_section *s = bj_doc_add(d, name, NULL, BJ_DOC_ABOUT_COLUMNS);
    bj_doc_row(d, s)->text = bj_doc_take(d);
}

/* "It has been running for 2 h of 4 h." */
static void job_put_running(const struct bj_report *r, struct bj_doc *d)
{
    const int64_t elapsed = bj_report_number(r, BJ_REPORT_ELAPSED),
                  limit = bj_report_number(r, BJ_REPORT_LIMIT);
    if (!bj_report_is(r, BJ_REPORT_STATE, "running") || elapsed == BJ_SQL_NULL)
        return;
    bj_local_str(&d->scratch, "{It has been running for} ");
    bj_show_seconds(&d->scratch, elapsed);
    if (limit != BJ_SQL_NULL) {
        bj_local_str(&d->scratch, " {of} ");
        bj_show_seconds(&d->scratch, limit);
    }
    bj_buf_str(&d->scratch, ".");
    job_put_sentence(d, BJ_DOC_RUNNING);
}

/* --- lists -----------------------------------------------------------------
 */

static void job_put_advice(const struct bj_report *r, struct bj_doc *d)
{
    if (r->advices == 0 && r->next.note.n == 0)
        return;
    struct bj_doc_section *s = bj_doc_add(
        d, BJ_DOC_ADVICE, bj_local("What to change"), BJ_DOC_ITEM_COLUMNS);
    for (size_t i = 0; i < r->advices; i++) {
        struct bj_doc_cell *row = bj_doc_row(d, s);
        row[BJ_DOC_ITEM].text = r->advice[i].text;
        row[BJ_DOC_LINE].text = r->advice[i].line;
        row[BJ_DOC_URL].text = r->advice[i].url;
    }
    s->note = r->next.note;
}

static void job_put_findings(const struct bj_report *r, struct bj_doc *d)
{
    if (r->findings == 0)
        return;
    struct bj_doc_section *s = bj_doc_add(
        d, BJ_DOC_FINDINGS, bj_local("Findings"), BJ_DOC_ITEM_COLUMNS);
    for (size_t i = 0; i < r->findings; i++) {
        struct bj_doc_cell *row = bj_doc_row(d, s);
        row[BJ_DOC_MARK].text = r->finding[i].severity;
        row[BJ_DOC_ITEM].text = r->finding[i].text;
        row[BJ_DOC_URL].text = r->finding[i].url;
    }
}

static void job_put_warnings(const struct bj_report *r, struct bj_doc *d)
{
    if (r->warnings == 0)
        return;
    struct bj_doc_section *s = bj_doc_add(
        d, BJ_DOC_WARNINGS, bj_local("Warnings"), BJ_DOC_ITEM_COLUMNS);
    for (size_t i = 0; i < r->warnings; i++) {
        struct bj_doc_cell *row = bj_doc_row(d, s);
        row[BJ_DOC_MARK].text = job_time(d, r->warning[i].at);
        row[BJ_DOC_ITEM].text = r->warning[i].text;
    }
}

/* --- requested and used ----------------------------------------------------
 */

/* What an ended job used that ran for less time than the verdict needs is not
 * judged. */
static enum bj_doc_judge job_judge(const struct bj_report *r,
                                   enum bj_doc_judge as)
{
    const bool is_short =
        r->array.tasks <= 1 &&
        bj_report_number(r, BJ_REPORT_END) != BJ_SQL_NULL &&
        bj_report_number(r, BJ_REPORT_ELAPSED) < BJ_REPORT_LEAST_SEC;
    return is_short ? BJ_DOC_NOT_JUDGED : as;
}

static struct bj_slice job_amount(const struct bj_report *r, struct bj_doc *d,
                                  const struct bj_report_figure *f, int64_t v)
{
    if (v != BJ_SQL_NULL)
        bj_report_amount(&d->scratch, r, f, v);
    return bj_doc_take(d);
}

static void job_put_figure(const struct bj_report *r, struct bj_doc *d,
                           struct bj_doc_section *s, enum bj_figure which)
{
    static const enum bj_doc_judge judges[BJ_FIGURES] = {
        [BJ_FIGURE_CPU] = BJ_DOC_JUDGE_CPU,
        [BJ_FIGURE_MEMORY] = BJ_DOC_JUDGE_MEMORY,
        [BJ_FIGURE_CHARGED] = BJ_DOC_JUDGE_MEMORY,
        [BJ_FIGURE_GPU] = BJ_DOC_JUDGE_GPU,
        [BJ_FIGURE_TIME] = BJ_DOC_JUDGE_TIME};
    const struct bj_report_figure *f = &r->figure[which];
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_PERCENT].judge = job_judge(r, judges[which]);
    row[BJ_DOC_LABEL].text = f->label;
    row[BJ_DOC_PERCENT].ppm = f->ppm;
    row[BJ_DOC_PERCENT].has_meter =
        f->allocated != BJ_SQL_NULL || f->ppm != BJ_SQL_NULL;
    if (row[BJ_DOC_PERCENT].has_meter)
        row[BJ_DOC_PERCENT].text = job_percent(d, f->ppm);
    bj_report_amount(&d->scratch, r, f, f->used);
    if (f->allocated != BJ_SQL_NULL) {
        bj_local_str(&d->scratch, " {of} ");
        bj_report_amount(&d->scratch, r, f, f->allocated);
    }
    row[BJ_DOC_AMOUNT].text = bj_doc_take(d);
    if (!bj_slice_eq(f->quality, BJ_SLICE("measured")))
        row[BJ_DOC_QUALITY].text = f->quality;
    row[BJ_DOC_AMOUNT_USED].text = job_amount(r, d, f, f->used);
    row[BJ_DOC_ALLOCATED].text = job_amount(r, d, f, f->allocated);
    row[BJ_DOC_REQUESTED].text = job_amount(r, d, f, f->requested);
    job_word(d, "", f->source);
    job_word(d, ", ", f->quality);
    row[BJ_DOC_SOURCE].text = bj_doc_take(d);
}

/* --- the request -----------------------------------------------------------
 */

enum { MILLION = 1000000, NEARLY_FULL = 950000 /* ppm */ };

/* A resource of a request: what was requested and held of it, and what was
 * used, is used now, or was needed at most.  Amounts in millionths, or bytes;
 * BJ_SQL_NULL: unknown. */
struct job_ask {
    const char *label, *how;
    int64_t asked, held, used, ppm;
    enum bj_doc_judge judge;
    enum { JOB_COUNT, JOB_BYTES, JOB_TIME } unit;
    const char *advice, *more; /* names of advice about it; NULL: none */
};

static struct bj_slice job_ask_amount(struct bj_doc *d, const struct job_ask *a,
                                      int64_t v)
{
    if (v == BJ_SQL_NULL)
        return (struct bj_slice){0};
    if (a->unit == JOB_BYTES)
        bj_show_bytes(&d->scratch, v);
    else if (a->unit == JOB_TIME)
        bj_show_seconds(&d->scratch, v / MILLION);
    else
        bj_show_millionths(&d->scratch, v);
    return bj_doc_take(d);
}

/* The option that changes it in the next request. */
static struct bj_slice job_next(const struct bj_report *r,
                                const struct job_ask *a)
{
    for (size_t i = 0; a->advice && i < r->advices; i++)
        if (r->advice[i].option.n > 0 &&
            (bj_slice_eq(r->advice[i].advice, bj_slice_str(a->advice)) ||
             bj_slice_eq(r->advice[i].advice, bj_slice_str(a->more))))
            return r->advice[i].option;
    return (struct bj_slice){0};
}

static void job_put_ask(const struct bj_report *r, struct bj_doc *d,
                        struct bj_doc_section *s, const struct job_ask *a)
{
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_RESOURCE].text = job_local(a->label);
    row[BJ_DOC_ASKED].text = job_ask_amount(d, a, a->asked);
    if (a->held != BJ_SQL_NULL && a->asked != BJ_SQL_NULL &&
        a->held != a->asked) {
        bj_buf_slice(&d->scratch, row[BJ_DOC_ASKED].text);
        bj_local_str(&d->scratch, ", {held} ");
        bj_buf_slice(&d->scratch, job_ask_amount(d, a, a->held));
        row[BJ_DOC_ASKED].text = bj_doc_take(d);
    }
    row[BJ_DOC_TAKEN].text = job_ask_amount(d, a, a->used);
    row[BJ_DOC_NEXT].text = job_next(r, a);
    if (a->used == BJ_SQL_NULL)
        return;
    row[BJ_DOC_HOW].text = a->how ? job_local(a->how) : (struct bj_slice){0};
    row[BJ_DOC_OF_ASKED].judge = job_judge(r, a->judge);
    row[BJ_DOC_OF_ASKED].has_meter = true;
    row[BJ_DOC_OF_ASKED].ppm = a->ppm;
    row[BJ_DOC_OF_ASKED].text = job_percent(d, a->ppm);
}

/* Add what a running job uses now of what it holds. */
static void job_put_now(struct bj_doc *d, const struct job_ask *a)
{
    struct bj_doc_section *s = &d->section[BJ_DOC_NOW];
    const int64_t held = a->held != BJ_SQL_NULL ? a->held : a->asked;
    if (!s->is_there)
        s = bj_doc_add(d, BJ_DOC_NOW, bj_local("In use now"),
                       BJ_DOC_FIGURE_COLUMNS);
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_LABEL].text = job_local(a->label);
    row[BJ_DOC_ALLOCATED].text = job_ask_amount(d, a, held);
    row[BJ_DOC_AMOUNT_USED].text = job_ask_amount(d, a, a->used);
    row[BJ_DOC_AMOUNT_USED].unit = bj_local("now");
    row[BJ_DOC_PERCENT].judge = a->judge;
    row[BJ_DOC_PERCENT].has_meter = true;
    row[BJ_DOC_PERCENT].ppm = a->ppm;
    row[BJ_DOC_PERCENT].text = job_percent(d, a->ppm);
    bj_buf_slice(&d->scratch, row[BJ_DOC_AMOUNT_USED].text);
    if (held != BJ_SQL_NULL) {
        bj_local_str(&d->scratch, " {of} ");
        bj_buf_slice(&d->scratch, row[BJ_DOC_ALLOCATED].text);
    }
    row[BJ_DOC_AMOUNT].text = bj_doc_take(d);
}

static int64_t job_part(int64_t used, int64_t held)
{
    return used == BJ_SQL_NULL || held <= 0
               ? BJ_SQL_NULL
               : (int64_t)((double)used * 1e6 / (double)held + 0.5);
}

static int64_t job_millions(int64_t n)
{
    return n > 0 ? n * MILLION : BJ_SQL_NULL;
}

/* What a job that has ended used of its request. */
static void job_ask_ended(const struct bj_report *r, struct job_ask *cpus,
                          struct job_ask *memory, struct job_ask *gpus)
{
    const int64_t elapsed = bj_report_number(r, BJ_REPORT_ELAPSED),
                  held = bj_report_number(r, BJ_REPORT_GPUS);
    const struct bj_report_figure *f = r->figure;
    if (f[BJ_FIGURE_CPU].used != BJ_SQL_NULL && elapsed > 0)
        cpus->used = f[BJ_FIGURE_CPU].used / elapsed;
    cpus->how = gpus->how = "on average";
    cpus->ppm = f[BJ_FIGURE_CPU].ppm;
    memory->used = f[BJ_FIGURE_MEMORY].used;
    memory->how = "at most";
    memory->ppm = f[BJ_FIGURE_MEMORY].ppm;
    memory->judge = BJ_DOC_JUDGE_MEMORY;
    gpus->ppm = f[BJ_FIGURE_GPU].ppm;
    if (held > 0 && gpus->ppm != BJ_SQL_NULL)
        gpus->used = held * gpus->ppm;
}

/* What a job that has not ended uses now. */
static void job_ask_now(const struct bj_report *r, struct job_ask *cpus,
                        struct job_ask *memory, struct job_ask *gpus)
{
    const int64_t milli = bj_report_number(r, BJ_REPORT_NOW_CPUS),
                  ppm = bj_report_number(r, BJ_REPORT_NOW_GPU),
                  held = bj_report_number(r, BJ_REPORT_GPUS);
    cpus->used = milli != BJ_SQL_NULL ? milli * 1000 : BJ_SQL_NULL;
    memory->used = bj_report_number(r, BJ_REPORT_NOW_MEMORY);
    gpus->used = held > 0 && ppm != BJ_SQL_NULL ? held * ppm : BJ_SQL_NULL;
    cpus->how = memory->how = gpus->how = "now";
    cpus->ppm = job_part(cpus->used,
                         cpus->held != BJ_SQL_NULL ? cpus->held : cpus->asked);
    memory->ppm =
        job_part(memory->used,
                 memory->held != BJ_SQL_NULL ? memory->held : memory->asked);
    gpus->ppm = job_part(gpus->used, gpus->held);
    /* before the end of a job, only memory that is nearly full is a problem */
    if (memory->ppm > NEARLY_FULL)
        memory->judge = BJ_DOC_JUDGE_MEMORY;
}

static void job_put_request(const struct bj_report *r, struct bj_doc *d)
{
    const struct bj_report_figure *time = &r->figure[BJ_FIGURE_TIME];
    const bool ended = bj_report_number(r, BJ_REPORT_END) != BJ_SQL_NULL;
    const int64_t asked = bj_report_number(r, BJ_REPORT_CPUS_REQUESTED),
                  cpus = bj_report_number(r, BJ_REPORT_CPUS),
                  gpus = bj_report_number(r, BJ_REPORT_GPUS);
    struct job_ask all[] = {
        {"CPUs", NULL, job_millions(asked > 0 ? asked : cpus),
         job_millions(cpus), BJ_SQL_NULL, BJ_SQL_NULL, BJ_DOC_JUDGE_CPU,
         JOB_COUNT, "cpus", "nodes"},
        {"Memory", NULL, bj_report_number(r, BJ_REPORT_MEMORY_REQUESTED),
         bj_report_number(r, BJ_REPORT_MEMORY_ALLOCATED), BJ_SQL_NULL,
         BJ_SQL_NULL, BJ_DOC_NOT_JUDGED, JOB_BYTES, "memory", "more_memory"},
        {"GPUs", NULL, job_millions(gpus), job_millions(gpus), BJ_SQL_NULL,
         BJ_SQL_NULL, BJ_DOC_JUDGE_GPU, JOB_COUNT, "gpus", "gpus"},
        {"Run time", NULL, time->allocated, time->allocated, time->used,
         time->ppm, BJ_DOC_JUDGE_TIME, JOB_TIME, "time", "more_time"}};
    struct bj_doc_section *s =
        bj_doc_add(d, BJ_DOC_REQUEST, bj_local("Requested and used"),
                   BJ_DOC_REQUEST_COLUMNS);
    (ended ? job_ask_ended : job_ask_now)(r, &all[0], &all[1], &all[2]);
    s->head[BJ_DOC_ASKED] = bj_local("requested");
    if (bj_report_number(r, BJ_REPORT_START) != BJ_SQL_NULL)
        s->head[BJ_DOC_TAKEN] = bj_local("used");
    if (r->next.options.n > 0)
        s->head[BJ_DOC_NEXT] = bj_local("next request");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct job_ask *a = &all[i];
        if (a->asked == BJ_SQL_NULL && a->held != BJ_SQL_NULL)
            a->asked = a->held;
        if (a->asked == BJ_SQL_NULL && a->used == BJ_SQL_NULL)
            continue;
        job_put_ask(r, d, s, a);
        if (!ended && a->used != BJ_SQL_NULL && a->unit != JOB_TIME)
            job_put_now(d, a);
    }
}

static void job_put_figures(const struct bj_report *r, struct bj_doc *d)
{
    struct bj_doc_section *held = bj_doc_add(d, BJ_DOC_HELD, NULL,
                                             BJ_DOC_FIGURE_COLUMNS),
                          *s = NULL;
    const bool ended = bj_report_number(r, BJ_REPORT_END) != BJ_SQL_NULL;
    for (unsigned i = 0; i < BJ_FIGURES; i++) {
        const struct bj_report_figure *f = &r->figure[i];
        const bool known = f->used != BJ_SQL_NULL || f->ppm != BJ_SQL_NULL;
        if (ended &&
            (known || (f->allocated != BJ_SQL_NULL && i != BJ_FIGURE_CHARGED)))
            job_put_figure(r, d, held, i);
        if (!known)
            continue;
        if (!s)
            s = bj_doc_add(d, BJ_DOC_FIGURES, NULL, BJ_DOC_FIGURE_COLUMNS);
        job_put_figure(r, d, s, i);
    }
    if (!s)
        return;
    s->head[BJ_DOC_AMOUNT_USED] = bj_local("used");
    s->head[BJ_DOC_ALLOCATED] = bj_local("allocated");
    s->head[BJ_DOC_REQUESTED] = bj_local("requested");
    s->head[BJ_DOC_SOURCE] = bj_local("source, quality");
    s->title = bj_local("Resources used");
    if (r->array.tasks <= 1)
        return;
    bj_local_put(&d->scratch, "{Task %s: resources used}",
                 d->task.p ? d->task.p : "");
    s->title = bj_doc_take(d).p;
}

/* --- nodes, GPUs, tasks ----------------------------------------------------
 */

struct job_rank {
    int64_t place;
    size_t at;
};

static int job_by_use(const void *a, const void *b)
{
    const struct job_rank *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Return the places of n values in the order of bj_report_rank(), the least
 * first: it indicates the problem. */
static struct job_rank *
job_ranks(struct bj_doc *d, const struct bj_report *r, size_t n,
          int64_t (*use)(const struct bj_report *r, size_t i))
{
    struct job_rank *v = bj_arena_alloc(&d->arena, n * sizeof(*v));
    for (size_t i = 0; v && i < n; i++)
        v[i] = (struct job_rank){bj_report_rank(use(r, i)), i};
    if (v && n > 0)
        qsort(v, n, sizeof(*v), job_by_use);
    return v;
}

static int64_t job_node_use(const struct bj_report *r, size_t i)
{
    return r->node[i].cpu_ppm;
}

static int64_t job_gpu_use(const struct bj_report *r, size_t i)
{
    return r->gpu[i].busy_ppm;
}

static void job_put_busy(struct bj_doc *d, struct bj_doc_cell *c, int64_t ppm)
{
    c->has_meter = true;
    c->ppm = ppm;
    c->text = job_percent(d, ppm);
}

static void job_put_since(struct bj_doc *d, struct bj_doc_cell *c, int64_t sec)
{
    if (sec == BJ_SQL_NULL)
        return;
    bj_local_str(&d->scratch, "{idle since} ");
    c->text = job_time(d, sec);
}

static void job_put_node(struct bj_doc *d, struct bj_doc_section *s,
                         const struct bj_report_node *n)
{
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_PART].text = n->node;
    job_put_busy(d, &row[BJ_DOC_BUSY], n->cpu_ppm);
    if (n->memory_peak >= 0 && n->memory_limit > 0)
        job_put_busy(
            d, &row[BJ_DOC_MEMORY],
            (int64_t)((double)n->memory_peak * 1e6 / (double)n->memory_limit +
                      0.5));
    row[BJ_DOC_PEAK].text = job_bytes(d, n->memory_peak);
    row[BJ_DOC_LIMIT].text = job_bytes(d, n->memory_limit);
    bj_show_bytes(&d->scratch, n->memory_peak);
    if (n->memory_limit > 0) {
        bj_local_str(&d->scratch, " {of} ");
        bj_show_bytes(&d->scratch, n->memory_limit);
    }
    row[BJ_DOC_PEAK_OF].text = bj_doc_take(d);
    job_put_since(d, &row[BJ_DOC_IDLE_SINCE], n->idle_since);
}

static void job_put_nodes(const struct bj_report *r, struct bj_doc *d)
{
    if (r->nodes == 0 || (r->nodes == 1 && r->node[0].at == BJ_SQL_NULL))
        return;
    struct bj_doc_section *s =
        bj_doc_add(d, BJ_DOC_NODES, bj_local("CPUs and memory of nodes"),
                   BJ_DOC_PART_COLUMNS);
    s->head[BJ_DOC_PART] = bj_local("node");
    s->head[BJ_DOC_BUSY] = bj_local("busy");
    s->head[BJ_DOC_MEMORY] = bj_local("memory");
    s->head[BJ_DOC_PEAK_OF] = bj_local("memory");
    s->head[BJ_DOC_PEAK] = bj_local("peak");
    s->head[BJ_DOC_LIMIT] = bj_local("of");
    const struct job_rank *v = job_ranks(d, r, r->nodes, job_node_use);
    for (size_t i = 0; v && i < r->nodes; i++)
        job_put_node(d, s, &r->node[v[i].at]);
}

/* "results in doubt (Xid 95)" */
static struct bj_slice job_fault(const struct bj_report_gpu *g,
                                 struct bj_doc *d)
{
    static const char *const faults[] = {
#define NAME(n, name) [n] = name,
        BJ_GPU_FAULTS(NAME)
#undef NAME
    };
    static const char *const words[] = {"no error known",
                                        "program error",
                                        "needs attention",
                                        "needs a reset later",
                                        "results in doubt",
                                        "needs a reset",
                                        "lost"};
    unsigned state = 6;
    if (!bj_slice_eq(g->source, BJ_SLICE("nodes")))
        return job_local("errors not known");
    while (state > 0 && !bj_slice_eq(g->fault, bj_slice_str(faults[state])))
        state--;
    bj_buf_str(&d->scratch, bj_local(words[state]));
    if (g->fault_xid > 0)
        bj_buf_printf(&d->scratch, " (Xid %lld)", (long long)g->fault_xid);
    return bj_doc_take(d);
}

static void job_put_gpus(const struct bj_report *r, struct bj_doc *d)
{
    if (r->gpus == 0)
        return;
    struct bj_doc_section *s =
        bj_doc_add(d, BJ_DOC_GPUS, bj_local("GPUs"), BJ_DOC_PART_COLUMNS);
    s->head[BJ_DOC_PART] = bj_local("GPU");
    s->head[BJ_DOC_BUSY] = bj_local("busy");
    s->head[BJ_DOC_MODEL] = bj_local("model");
    s->head[BJ_DOC_PEAK] = bj_local("memory");
    s->head[BJ_DOC_FAULT] = bj_local("errors");
    const struct job_rank *v = job_ranks(d, r, r->gpus, job_gpu_use);
    for (size_t i = 0; v && i < r->gpus; i++) {
        const struct bj_report_gpu *g = &r->gpu[v[i].at];
        struct bj_doc_cell *row = bj_doc_row(d, s);
        bj_show_gpu(&d->scratch, g->node, g->index, g->gpu);
        row[BJ_DOC_PART].text = bj_doc_take(d);
        job_put_busy(d, &row[BJ_DOC_BUSY], g->busy_ppm);
        row[BJ_DOC_PEAK].text = job_bytes(d, g->memory_peak);
        row[BJ_DOC_MODEL].text = g->model;
        row[BJ_DOC_FAULT].text = job_fault(g, d);
        job_put_since(d, &row[BJ_DOC_IDLE_SINCE], g->idle_since);
    }
}

static void job_show_spread(struct bj_buf *b, unsigned which, int64_t v)
{
    if (which == BJ_SPREAD_MEMORY)
        bj_show_bytes(b, v);
    else if (which == BJ_SPREAD_ELAPSED)
        bj_show_seconds(b, v);
    else
        bj_show_millionths(b, v);
}

/* "1,000 tasks: 990 completed, 10 failed" */
static struct bj_slice job_outcomes(const struct bj_report_array *a,
                                    struct bj_doc *d)
{
    const struct {
        int64_t n;
        const char *what;
    } all[] = {{a->completed, "completed"}, {a->failed, "failed"},
               {a->timeout, "timed out"},   {a->oom, "out of memory"},
               {a->cancelled, "cancelled"}, {a->open, "not ended"}};
    char n[BJ_AMOUNT_COUNT];
    bj_local_put(&d->scratch, "{%s tasks}", bj_amount_count(n, a->tasks));
    const char *before = ": ";
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].n <= 0)
            continue;
        bj_buf_str(&d->scratch, before);
        bj_show_number(&d->scratch, all[i].n);
        bj_buf_printf(&d->scratch, " %s", bj_local(all[i].what));
        before = ", ";
    }
    if (a->hardware_failed > 0)
        bj_local_put(&d->scratch, "; {%s of them ended by hardware}",
                     bj_amount_count(n, a->hardware_failed));
    return bj_doc_take(d);
}

static void job_put_array(const struct bj_report *r, struct bj_doc *d)
{
    static const char *const labels[] = {[BJ_SPREAD_ELAPSED] = "Run time",
                                         [BJ_SPREAD_MEMORY] = "Memory",
                                         [BJ_SPREAD_CPU] = "Busy CPUs"};
    static const char *const heads[] = {
        [BJ_DOC_VALUE] = "completed", [BJ_DOC_LEAST] = "least",
        [BJ_DOC_MEDIAN] = "median",   [BJ_DOC_P95] = "95 %",
        [BJ_DOC_MOST] = "most",       [BJ_DOC_TASK] = "task",
        [BJ_DOC_SPREAD] = "0 to most"};
    if (r->array.tasks <= 1)
        return;
    struct bj_doc_section *s = bj_doc_add(
        d, BJ_DOC_ARRAY, bj_local("Tasks of the array"), BJ_DOC_ARRAY_COLUMNS);
    for (unsigned i = 0; i < BJ_DOC_ARRAY_COLUMNS; i++)
        s->head[i] = bj_local(heads[i]);
    s->note = job_outcomes(&r->array, d);
    for (unsigned i = 0; i < BJ_SPREADS; i++) {
        const struct bj_report_spread *of = &r->array.spread[i];
        const int64_t v[] = {of->min, of->median, of->p95, of->max};
        if (of->tasks <= 0)
            continue;
        struct bj_doc_cell *row = bj_doc_row(d, s);
        row[BJ_DOC_VALUE].text = job_local(labels[i]);
        for (unsigned k = 0; k < 4; k++) {
            job_show_spread(&d->scratch, i, v[k]);
            row[BJ_DOC_LEAST + k].text = bj_doc_take(d);
            if (of->max > 0 && v[k] >= 0)
                row[BJ_DOC_LEAST + k].part = (double)v[k] / (double)of->max;
        }
        row[BJ_DOC_TASK].text = of->largest;
    }
}

/* --- facts -----------------------------------------------------------------
 */

/* Add the text of scratch, if there is one. */
static void job_put_fact(struct bj_doc *d, struct bj_doc_section *s,
                         const char *label)
{
    if (d->scratch.len == 0)
        return;
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_FACT].text = job_local(label);
    row[BJ_DOC_FACT_TEXT].text = bj_doc_take(d);
}

static void job_put_when(struct bj_doc *d, struct bj_doc_section *s,
                         const char *label, int64_t sec)
{
    if (sec != BJ_SQL_NULL)
        bj_show_time(&d->scratch, sec);
    job_put_fact(d, s, label);
}

static void job_put_facts(const struct bj_report *r, struct bj_doc *d)
{
    struct bj_doc_section *s =
        bj_doc_add(d, BJ_DOC_FACTS, bj_local("The job"), BJ_DOC_FACT_COLUMNS);
    const int64_t start = bj_report_number(r, BJ_REPORT_START),
                  wait = bj_report_number(r, BJ_REPORT_WAIT);
    job_count(d, bj_report_number(r, BJ_REPORT_NODES), "node", "nodes");
    job_count(d, bj_report_number(r, BJ_REPORT_CPUS), "CPU", "CPUs");
    job_count(d, bj_report_number(r, BJ_REPORT_GPUS), "GPU", "GPUs");
    job_word(d, " {on} ", bj_report_text(r, BJ_REPORT_NODELIST));
    job_put_fact(d, s, start != BJ_SQL_NULL ? "Allocated" : "Requested");
    job_put_when(d, s, "Submitted", bj_report_number(r, BJ_REPORT_SUBMIT));
    if (wait != BJ_SQL_NULL)
        bj_show_seconds(&d->scratch, wait);
    job_put_fact(d, s, "Waited");
    job_put_when(d, s, "Started", start);
    job_put_when(d, s, "Ended", bj_report_number(r, BJ_REPORT_END));
    job_count(d, bj_report_number(r, BJ_REPORT_RESTARTS), "time", "times");
    job_put_fact(d, s, "Requeued");
    bj_show_zone(&d->scratch);
    s->note = bj_doc_take(d);
}

/* What is in doubt about the GPUs of the job. */
static void job_put_doubts(const struct bj_report *r, struct bj_doc *d)
{
    static const struct {
        struct bj_slice name;
        const char *text;
    } doubts[] = {
        {{"denied", 6},
         "The job named a GPU that another job held: that is not counted."},
        {{"stray", 5},
         "The job used a GPU that it was not given: whose it was is in doubt."},
        {{"double", 6},
         "Another job had a GPU of the job at the same time, and not both "
         "requested a part of it: what each used is an estimate."},
        {{"unresolved", 10},
         "A GPU of the job cannot be distinguished from others: its values are "
         "missing."}};
    struct bj_slice rest = bj_report_text(r, BJ_REPORT_GPU_CONFLICTS), name;
    while (bj_slice_field(&rest, ',', &name))
        for (size_t i = 0; i < sizeof(doubts) / sizeof(doubts[0]); i++)
            if (bj_slice_eq(bj_slice_trim(name), doubts[i].name)) {
                bj_buf_str(&d->scratch, d->scratch.len > 0 ? " " : "");
                bj_buf_str(&d->scratch, bj_local(doubts[i].text));
            }
}

void bj_report_document(const struct bj_report *r, struct bj_doc *ret)
{
    job_put_head(r, ret);
    job_put_running(r, ret);
    job_put_advice(r, ret);
    job_put_request(r, ret);
    job_put_figures(r, ret);
    job_put_findings(r, ret);
    job_put_warnings(r, ret);
    job_put_nodes(r, ret);
    job_put_gpus(r, ret);
    bj_report_idle(r, &ret->scratch);
    job_put_sentence(ret, BJ_DOC_IDLE);
    bj_report_sampled(r, &ret->scratch);
    job_put_doubts(r, ret);

    job_put_sentence(ret, BJ_DOC_SAMPLED);
    job_put_array(r, ret);
    job_put_facts(r, ret);
}
