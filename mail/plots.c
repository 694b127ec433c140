#include "mail/plots.h"

#include "base/html.h"
#include "base/local.h"
#include "base/log.h"
#include "report/chart/charts.h"
#include "report/pdf/draw.h"

#include <stdio.h>
#include <string.h>

enum { QUERY_USEC = 10000000, AGAIN_SEC = 300, SCALE = 2 };

struct bj_mail_plots_from
bj_mail_plots_from_conf(const struct bj_statsdb_conf *c,
                        const atomic_bool *stop)
{
    return (struct bj_mail_plots_from){.cluster = c->cluster,
                                       .clusters = c->clusters,
                                       .program = BJ_DRAW_SELF,
                                       .stop = stop};
}

bool bj_mail_plots_drawn(int argc, char *const *argv, int *ret_status)
{
    if (argc != 2 || strcmp(argv[1], BJ_DRAW_COMMAND) != 0)
        return false;
    *ret_status = bj_draw_process();
    return true;
}

void bj_mail_plots_free(struct bj_mail_plots *p)
{
    for (unsigned i = 0; i < BJ_CHARTS; i++)
        bj_buf_free(&p->png[i]);
    bj_charts_free(&p->charts);
}

/* Draw the first charts, and use their images up to the maximum size. */
static int draw(const struct bj_mail_plots_from *from, const char *name,
                struct bj_mail_plots *p, struct bj_err *err)
{
    size_t bytes = 0;
    char why[320];
    if (p->charts.charts == 0)
        return 0;
    if (p->charts.charts > BJ_MAIL_PLOTS) {
        p->left_out = p->charts.charts - BJ_MAIL_PLOTS;
        p->charts.charts = BJ_MAIL_PLOTS;
    }
    int r = bj_draw_png(from->program, &p->charts, BJ_MAIL_PLOTS_WIDTH, SCALE,
                        p->png, err);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        bj_log(BJ_LOG_WARN, NULL, "a mail goes without plots: %s",
               bj_err_reason(err, why, sizeof(why)));
    for (unsigned i = 0; i < p->charts.charts; i++) {
        bytes += p->png[i].len;
        if (r < 0 || bytes > BJ_MAIL_PLOTS_BYTES) {
            p->left_out += p->charts.charts - i;
            p->charts.charts = i;
            break;
        }
        snprintf(p->cid[i], sizeof(p->cid[i]), "plot%u.%.40s@batchjob", i,
                 name);
        p->image[i] = (struct bj_mail_image){bj_slice_str(p->cid[i]),
                                             {p->png[i].p, p->png[i].len}};
        p->images++;
    }
    if (p->images == 0)
        p->charts.why = bj_local("The plots could not be drawn.");
    return 0;
}

static const struct bj_cluster_conf *
cluster_of(const struct bj_mail_plots_from *from, const struct bj_report *r)
{
    for (size_t i = 0; i < from->clusters; i++)
        if (bj_report_is(r, BJ_REPORT_CLUSTER, from->cluster[i].name))
            return &from->cluster[i];
    return NULL;
}

int bj_mail_plots_of_job(struct bj_mail_plots_from *from,
                         const struct bj_report *r, const char *name,
                         int64_t now_sec, struct bj_mail_plots *ret,
                         struct bj_err *err)
{
    const struct bj_cluster_conf *c = from ? cluster_of(from, r) : NULL;
    if (!c || !c->prom.url || !c->prom.url[0])
        return 0;
    if (c == from->unreachable && now_sec < from->retry_sec) {
        ret->charts.why = bj_charts_why(NULL, -EIO, false);
        return 0;
    }
    struct bj_err why = {0};
    int e = bj_charts_query(&c->prom, from->stop, QUERY_USEC, r, now_sec,
                            &ret->charts, &why);
    if (e < 0)
        return bj_err_set(err, e, "plots");
    if (why.code != 0) {
        bj_log(BJ_LOG_WARN, &why, "a mail lacks plots");
        from->unreachable = c;
        from->retry_sec = now_sec + AGAIN_SEC;
    }
    return draw(from, name, ret, err);
}

int bj_mail_plots_of_period(const struct bj_mail_plots_from *from,
                            const struct bj_period *p, const char *name,
                            struct bj_mail_plots *ret, struct bj_err *err)
{
    if (!from)
        return 0;
    bj_period_charts(p, &ret->charts);
    return ret->charts.arena.failed ? bj_err_set(err, -ENOMEM, "plots")
                                    : draw(from, name, ret, err);
}

/* --- the two parts ---------------------------------------------------------
 */

static void plots_put_title(const struct bj_chart *k, struct bj_buf *out)
{
    bj_buf_str(out, k->title);
    bj_buf_str(out, k->of.n > 0 ? ", " : "");
    bj_buf_clean(out, k->of);
}

/* "CPUs. CPUs used: 3.2 on average, at most 7.9." */
static void put_words(const struct bj_chart *k, struct bj_buf *out)
{
    double mean, highest;
    plots_put_title(k, out);
    bj_buf_str(out, ". ");
    if (k->kind != BJ_CHART_ROWS) {
        bj_chart_summary(out, k);
        return;
    }
    bj_local_str(out, "{Mean}: ");
    for (unsigned i = 0; i < k->lines; i++) {
        bj_buf_str(out, i > 0 ? ", " : "");
        bj_buf_str(out, k->line[i].name);
        bj_buf_str(out, " ");
        if (!bj_chart_mean(k, i, &mean, &highest))
            bj_local_str(out, "{unknown}");
        else if (highest <= 0)
            bj_local_str(out, "{always 0}");
        else
            bj_chart_amount(out, k->unit, mean);
    }
    bj_buf_str(out, ".");
}

void bj_mail_plots_html(const struct bj_mail_plots *p, struct bj_buf *out)
{
    if (p->images == 0 && !p->charts.why)
        return;
    bj_local_html_str(out, "<h2>{Over time}</h2>\n");
    for (unsigned i = 0; i < p->images; i++) {
        struct bj_buf words = {0};
        put_words(&p->charts.chart[i], &words);
        bj_buf_printf(out, "<p><img src=\"cid:%s\" width=\"%d\" alt=\"",
                      p->cid[i], BJ_MAIL_PLOTS_WIDTH);
        bj_html_text(out, (struct bj_slice){words.p, words.len});
        bj_buf_str(out, "\"></p>\n");
        out->failed |= words.failed;
        bj_buf_free(&words);
    }
    if (p->images == 0) {
        bj_buf_str(out, "<p>");
        bj_html_text(out, bj_slice_str(p->charts.why));
        bj_buf_str(out, "</p>\n");
    } else if (p->left_out > 0) {
        bj_local_html(out, "<p>{%u more on the page of the job.}</p>\n",
                      p->left_out);
    }
}

/* Words in lines of at most 78 columns, indented. */
static void put_wrapped(struct bj_slice s, struct bj_buf *out)
{
    size_t column = 0;
    struct bj_slice word;
    while (s.n > 0 && bj_slice_field(&s, ' ', &word)) {
        if (column > 0 && column + 1 + word.n > 76) {
            bj_buf_str(out, "\n");
            column = 0;
        }
        bj_buf_str(out, column > 0 ? " " : "  ");
        bj_buf_slice(out, word);
        column += word.n + (column > 0 ? 1 : 2);
    }
    bj_buf_str(out, "\n");
}

void bj_mail_plots_text(const struct bj_mail_plots *p, struct bj_buf *out)
{
    if (p->images == 0 && !p->charts.why)
        return;
    bj_local_str(out, "\n{Over time}\n");
    for (unsigned i = 0; i < p->images; i++) {
        struct bj_buf words = {0};
        put_words(&p->charts.chart[i], &words);
        put_wrapped((struct bj_slice){words.p, words.len}, out);
        out->failed |= words.failed;
        bj_buf_free(&words);
    }
    if (p->images == 0)
        put_wrapped(bj_slice_str(p->charts.why), out);
}
