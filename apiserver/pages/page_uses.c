#include "apiserver/pages/page_job.h"
#include "base/local.h"

static const double nearly_full = 95; /* percent */

/* Resources that a job requested and used: figures of its report, or current
 * values. */
static bool known(double v)
{
    return v - v == 0;
}

/* One row; NaN leaves a cell empty. */
struct use {
    const char *title;
    enum bj_page_form form;
    double requested, used;
    const char *used_unit; /* unit after the used amount */
    double percent;
    enum bj_page_form percent_form;
    const char *note;
};

static void put_use(struct bj_buf *b, const struct use *u)
{
    if (!known(u->used) && !known(u->percent) &&
        (!known(u->requested) || u->requested <= 0))
        return;
    bj_buf_printf(b, "<tr><th scope=\"row\">%s</th><td class=\"n\">",
                  bj_local_escaped(u->title));
    if (known(u->requested))
        bj_page_amount(b, u->form == BJ_SHOW_ROUND ? BJ_SHOW_NUMBER : u->form,
                       u->requested);
    bj_buf_str(b, "</td><td class=\"n\">");
    if (known(u->used)) {
        bj_page_amount(b, u->form, u->used);
        bj_buf_str(b, *u->used_unit ? " " : "");
        bj_buf_str(b, bj_local_escaped(u->used_unit));
    }
    bj_buf_str(b, "</td><td>");
    if (known(u->percent))
        bj_page_amount(b, u->percent_form, u->percent);
    bj_buf_printf(b, "</td><td class=\"note\">%s</td></tr>\n",
                  bj_local_escaped(u->note));
}

/* The current use of the job; NaN: unknown. */
static double current_value(const struct bj_job_page *g, const char *metric)
{
    double v;
    return bj_curves_now(&g->curves, metric, &v) ? v : __builtin_nan("");
}

static double ratio(double a, double b)
{
    return known(a) && known(b) && b > 0 ? a / b : __builtin_nan("");
}

static double first_known(double a, double b)
{
    return known(a) ? a : b;
}

static void put_gpus(struct bj_buf *b, const struct bj_job_page *g)
{
    const double none = __builtin_nan(""), gpus = g->fact[BJ_JOB_GPUS];
    const double percent = g->fact[BJ_JOB_NOW_GPUS];
    if (!known(gpus) || gpus <= 0)
        return;
    put_use(b, &(struct use){"GPUs", BJ_SHOW_ROUND, gpus,
                             ratio(percent * gpus, 100), "now", percent,
                             BJ_SHOW_GPU, ""});
    put_use(b, &(struct use){"GPU memory", BJ_SHOW_BYTES, none,
                             current_value(g, "gpu_memory_bytes"), "now", none,
                             0, ""});
}

/* The uses of a running or waiting job. */
static void put_uses(struct bj_buf *b, const struct bj_job_page *g)
{
    const double none = __builtin_nan("");
    const double *v = g->fact;
    /* as findings and the other forms have them (job_part) */
    const double cpus = v[BJ_JOB_NOW_CPUS], bytes = v[BJ_JOB_NOW_MEMORY];
    double of =
        first_known(v[BJ_JOB_MEMORY_ALLOCATED], v[BJ_JOB_MEMORY_REQUESTED]);
    put_use(b, &(struct use){"CPUs", BJ_SHOW_ROUND, v[BJ_JOB_CPUS], cpus, "now",
                             100 * ratio(cpus, v[BJ_JOB_CPUS]), BJ_SHOW_PERCENT,
                             ""});
    /* Before the end of a job, only memory that is nearly full is a problem. */
    double memory = 100 * ratio(bytes, of);
    put_use(b, &(struct use){
                   "Memory", BJ_SHOW_BYTES, of, bytes, "now", memory,
                   memory > nearly_full ? BJ_SHOW_MEMORY : BJ_SHOW_PART, ""});
    put_gpus(b, g);
    put_use(b, &(struct use){"Time", BJ_SHOW_SECONDS, v[BJ_JOB_LIMIT],
                             v[BJ_JOB_ELAPSED], "",
                             100 * ratio(v[BJ_JOB_ELAPSED], v[BJ_JOB_LIMIT]),
                             BJ_SHOW_PART,
                             known(v[BJ_JOB_LIMIT]) ? "" : "no time limit"});
    put_use(b, &(struct use){"Power", BJ_SHOW_ROUND, none,
                             current_value(g, "power_watts"), "W now", none, 0,
                             ""});
}

/* --- the report ------------------------------------------------------------
 */

static void put_meter(struct bj_buf *b, enum bj_doc_judge judge, int64_t ppm)
{
    static const enum bj_page_form forms[] = {
        [BJ_DOC_NOT_JUDGED] = BJ_SHOW_PART,
        [BJ_DOC_JUDGE_CPU] = BJ_SHOW_PERCENT,
        [BJ_DOC_JUDGE_MEMORY] = BJ_SHOW_MEMORY,
        [BJ_DOC_JUDGE_GPU] = BJ_SHOW_GPU,
        [BJ_DOC_JUDGE_TIME] = BJ_SHOW_TIME_USED};
    bj_page_amount(b, forms[judge], (double)ppm / 1e4);
}

const struct bj_html_page bj_job_html = {"../jobs?job=", put_meter};

void bj_job_uses(struct bj_buf *b, const struct bj_job_page *g)
{
    bj_local_html(b, g->is_array_task
                         ? "<h2>{This task: requested and used}</h2>\n"
                         : "<h2>{Requested and used}</h2>\n");
    bj_local_html(
        b, "<div class=\"wide\"><table class=\"uses\"><thead><tr><th></th><th "
           "scope=\"col\" class=\"n\">");
    /* a job that waits holds nothing */
    bj_local_html(b, known(g->fact[BJ_JOB_START]) ? "{Held}" : "{Requested}");
    bj_local_html(b, "</th><th scope=\"col\" class=\"n\">{Used}</th><th "
                     "scope=\"col\">{Efficiency}</th><th></th></tr></thead>"
                     "<tbody>\n");
    if (bj_job_has_ended(g)) {
        bj_buf_slice(b, (struct bj_slice){g->figures.p, g->figures.len});
        b->failed |= g->figures.failed;
    } else {
        put_uses(b, g);
    }
    bj_buf_str(b, "</tbody></table></div>\n");
}
