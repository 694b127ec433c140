/* The page of GPUs: the use of each over the last day, as a table whose cells
 * have the colour of their value. */
#include "apiserver/pages/nodes.h"
#include "apiserver/pages/pages.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "report/model/show.h"

#include <stdlib.h>

enum {
    HOURS = 24,
    HOUR = 3600,
    SHOWN = 100, /* maximum number of GPUs of a page */
    LEVELS = 5,  /* number of colours */
    MASK = BJ_BIT(BJ_PARAM_CLUSTER)
};

static bool gpus_known(double v)
{
    return v - v == 0;
}

/* --- sorted GPUs ------------------------------------------------------------
 */

struct gpu {
    const struct bj_grid_row *use, *held;
    double mean;   /* use while held, percent; NaN: never held */
    double unused; /* hours held but, on average, not used */
};

/* The part of an hour in which jobs held the GPU; NaN: unknown. */
static double held_at(const struct gpu *g, unsigned i)
{
    double v = g->held ? g->held->value[i] : __builtin_nan("");
    if (!gpus_known(v))
        return gpus_known(g->use->value[i]) ? 0 : v;
    return v > 1 ? 1 : v;
}

static void gpus_judge(struct gpu *g)
{
    double held = 0, used = 0;
    for (unsigned i = 0; i < HOURS; i++) {
        double h = held_at(g, i), u = g->use->value[i];
        if (!gpus_known(h) || !gpus_known(u))
            continue;
        held += h;
        used += u < h ? u : h; /* use outside of jobs does not count */
    }
    g->unused = held - used;
    g->mean = held >= 0.05 ? 100 * used / held : __builtin_nan("");
}

static int by_unused(const void *a, const void *b)
{
    const struct gpu *x = a, *y = b;
    return (x->unused < y->unused) - (x->unused > y->unused);
}

static struct gpu *make_gpus(const struct bj_grid *g, const char *part,
                             const char *held, size_t *ret)
{
    struct gpu *v = calloc(g->rows + 1, sizeof(*v));
    *ret = 0;
    for (size_t i = 0; v && i < g->rows; i++) {
        if (g->row[i].part != part)
            continue;
        v[*ret] = (struct gpu){.use = &g->row[i],
                               .held = bj_grid_find(g, held, g->row[i].label)};
        gpus_judge(&v[(*ret)++]);
    }
    if (v)
        qsort(v, *ret, sizeof(*v), by_unused);
    return v;
}

/* --- the table -------------------------------------------------------------
 */

static void gpus_put_name(struct bj_buf *b, const struct gpu *g)
{
    const struct bj_slice node = bj_node_host_of(g->use->label[0]);
    struct bj_buf name = {0};
    bj_show_gpu(&name, node, g->use->label[1], g->use->label[2]);
    bj_buf_str(b, "<a href=\"nodes/");
    bj_url_text(b, node);
    bj_buf_str(b, "\">");
    bj_html_text(b, (struct bj_slice){name.p, name.len});
    bj_buf_str(b, "</a>");
    b->failed |= name.failed;
    bj_buf_free(&name);
}

static void put_hour(struct bj_buf *b, const struct bj_grid *g, unsigned i)
{
    char stamp[BJ_STAMP_MAX];
    const int64_t sec = g->range.from + ((int64_t)i - 1) * HOUR;
    bj_stamp_text(sec * 1000000, 0, bj_tz_offset(bj_tz_used(), sec) / 60,
                  stamp);
    bj_buf_printf(b, "%.5s", stamp + 11);
}

static void gpus_put_cell(struct bj_buf *b, const struct bj_grid *g,
                          const struct gpu *gpu, unsigned i)
{
    double held = held_at(gpu, i), use = gpu->use->value[i];
    bool is_free = gpus_known(held) && held < 0.05;
    bj_buf_str(b, "<td class=\"");
    if (!gpus_known(held) || !gpus_known(use))
        bj_local_html(b, "hu\" title=\"{unknown}, ");
    else if (is_free)
        bj_local_html(b, "hf\" title=\"{free}, ");
    else {
        double part = use / held > 1 ? 1 : use / held;
        unsigned level = (unsigned)(part * (double)LEVELS);
        bj_buf_printf(b, "h%u\" title=\"", level < LEVELS ? level : LEVELS - 1);
        bj_amount(b, BJ_AMOUNT_PERCENT, 100 * part);
        bj_buf_str(b, ", ");
    }
    put_hour(b, g, i);
    bj_buf_str(b, "\">");
    if (gpus_known(held) && gpus_known(use) && !is_free)
        bj_buf_printf(b, "%.0f", 100 * (use / held > 1 ? 1 : use / held));
    else if (is_free)
        bj_buf_str(b, "&middot;");
    bj_buf_str(b, "</td>");
}

static void gpus_put_gpu(struct bj_buf *b, const struct bj_grid *g,
                         const struct gpu *gpu)
{
    bj_buf_str(b, "<tr><th scope=\"row\">");
    gpus_put_name(b, gpu);
    bj_buf_str(b, "</th><td class=\"n u\">");
    if (gpus_known(gpu->mean))
        bj_amount(b, BJ_AMOUNT_PERCENT, gpu->mean);
    else
        bj_local_html(b, "{free}");
    bj_buf_str(b, "</td><td class=\"n\">");
    bj_amount(b, BJ_AMOUNT_HOURS, gpu->unused);
    bj_buf_str(b, "</td>");
    for (unsigned i = 0; i < HOURS; i++)
        gpus_put_cell(b, g, gpu, i);
    bj_buf_str(b, "</tr>\n");
}

static void put_legend(struct bj_buf *b)
{
    static const char *const names[LEVELS] = {"below 20 %", "20 to 40 %",
                                              "40 to 60 %", "60 to 80 %",
                                              "80 % and more"};
    bj_local_html(b, "<p class=\"legend\">{Use while held by a job:}");
    for (unsigned i = 0; i < LEVELS; i++)
        bj_buf_printf(b, " <span class=\"h%u\">%s</span>", i,
                      bj_local_escaped(names[i]));
    bj_local_html(b, " <span class=\"hf\">&middot; {free}</span> <span "
                     "class=\"hu\">{unknown}</span></p>\n");
}

static void gpus_put_table(struct bj_buf *b, const struct bj_grid *g,
                           const struct gpu *gpu, size_t n)
{
    char all[BJ_AMOUNT_COUNT];
    put_legend(b);
    bj_local_html(
        b,
        "<div class=\"wide\"><table class=\"heat\"><caption>{Use of GPUs in "
        "percent, by hours ago; the most unused first}</caption><thead><tr><th "
        "scope=\"col\">{Node and GPU}</th><th scope=\"col\" class=\"n "
        "u\">{Use}</th><th scope=\"col\" class=\"n\">{Held, unused}</th>");
    for (unsigned i = 0; i < HOURS; i++) {
        bj_buf_printf(b, "<th scope=\"col\">%u</th>", HOURS - 1 - i);
    }
    bj_buf_str(b, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < n && i < SHOWN; i++)
        gpus_put_gpu(b, g, &gpu[i]);
    bj_buf_str(b, "</tbody></table></div>\n");
    if (n > SHOWN)
        bj_local_html(b,
                      "<p>{%d of %s GPUs: those that jobs held longest "
                      "without use.}</p>\n",
                      SHOWN, bj_amount_count(all, (int64_t)n));
}

/* "8 GPUs; jobs held them for 123.4 GPU hours; 56.7 of these were not used." */
static void put_sums(struct bj_buf *b, const struct gpu *gpu, size_t n)
{
    double held = 0, unused = 0;
    for (size_t i = 0; i < n; i++) {
        for (unsigned h = 0; h < HOURS; h++)
            if (gpus_known(held_at(&gpu[i], h)))
                held += held_at(&gpu[i], h);
        unused += gpu[i].unused;
    }
    char all[BJ_AMOUNT_COUNT];
    struct bj_buf v[2] = {{0}, {0}};
    bj_amount(&v[0], BJ_AMOUNT_PLAIN, held);
    bj_amount(&v[1], BJ_AMOUNT_PLAIN, unused);
    bj_buf_put(&v[0], "", 1);
    bj_buf_put(&v[1], "", 1);
    b->failed |= v[0].failed || v[1].failed;
    if (!b->failed)
        bj_local_html(b,
                      "<p>{%s GPUs. In the last %d hours jobs held them for "
                      "%s GPU hours; %s of these were not used.}</p>\n",
                      bj_amount_count(all, (int64_t)n), HOURS, v[0].p, v[1].p);
    bj_buf_free(&v[0]);
    bj_buf_free(&v[1]);
}

/* --- the page --------------------------------------------------------------
 */

static const char use_part[] = "use", held_part[] = "held";

static void gpus_put_page(struct bj_call *c, const struct bj_grid *g)
{
    struct bj_buf *b = &c->reply->body;
    size_t n;
    struct gpu *gpu = g->why ? NULL : make_gpus(g, g->part[0], g->part[1], &n);
    if (bj_grid_put_why(b, g)) {
        bj_page_close(c);
        return;
    }
    b->failed |= !gpu;
    if (gpu && n == 0)
        bj_local_html(b, "<p class=\"none\">{The Prometheus server has no data "
                         "of GPUs.}</p>\n");
    else if (gpu) {
        put_sums(b, gpu, n);
        gpus_put_table(b, g, gpu, n);
    }
    free(gpu);
    bj_local_html(
        b,
        "<p class=\"mute\">{A GPU counts as used while any kernel runs on "
        "it.} <a href=\"support\">{Running jobs with unused GPUs}</a></p>\n");
    bj_page_close(c);
}

static int on_gpus(struct bj_call *c)
{
    struct bj_params p;
    struct bj_grid *g = NULL;
    int r = bj_params_read(c, MASK, &p);
    if (r == 0 && !c->identity.admin)
        r = bj_call_refuse(c, 404,
                           "Only administrators see the use of all "
                           "GPUs; the page of a job shows its own.");
    if (r == 0)
        r = bj_grid_new(c, bj_params_text(&p, BJ_PARAM_CLUSTER), HOURS, HOUR,
                        &g);
    if (r != 0)
        return r;
    g->labels[0] = "instance";
    g->labels[1] = "index";
    g->labels[2] = "gpu";
    bj_grid_add(g, use_part,
                "avg by(instance,index,gpu)(avg_over_time("
                "batchjob_gpu_busy_ratio$S[1h]))");
    bj_grid_add(g, held_part,
                "sum by(instance,index,gpu)(increase("
                "batchjob_job_gpu_held_seconds_total$S[1h]))/3600");
    bj_page_open(c, bj_local("GPUs"), "");
    bj_buf_str(&c->reply->body, "<form>");
    bj_page_input(&c->reply->body, &p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_local_html(&c->reply->body, "<button>{Show}</button></form>\n");
    return bj_grid_run(c, g, gpus_put_page);
}

static int after_gpus(struct bj_call *c)
{
    return bj_grid_after(c, gpus_put_page);
}

const struct bj_endpoint bj_endpoints_page_gpus[] = {
    {.path = "/gpus",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_USER,
     .run = on_gpus,
     .after = after_gpus,
     .refused = bj_page_refuse,
     .to_root = "",
     .menu = "GPUs",
     .menu_for = BJ_MENU_ADMINS,
     .help = "Web page: use of all GPUs over the last day; admins only.",
     .type = "text/html",
     .params = MASK},
    {.path = NULL},
};
