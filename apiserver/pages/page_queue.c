/* The page of the queue: waiting jobs with their reasons, and how long jobs
 * have waited, by partition, account and user. */
#include "apiserver/frame/state.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/jobs.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"

#include <stdlib.h>

enum {
    DAY = 86400,
    DAYS = 7,
    GROUPS = 25, /* maximum number of groups of a table */
    /* maximum number of started jobs that are read, the newest */
    STARTED_MAX = 50000,
    QUEUE = BJ_BIT(BJ_PARAM_USER) | BJ_BIT(BJ_PARAM_ACCOUNT) |
            BJ_BIT(BJ_PARAM_PARTITION) | BJ_BIT(BJ_PARAM_CLUSTER)
};

/* --- waiting jobs ----------------------------------------------------------
 */

static const struct bj_page_column columns[] = {
    {"display_id", "Job", BJ_SHOW_JOB, false},
    {"reason", "Reason", BJ_SHOW_REASON, false},
    {"name", "Name", BJ_SHOW_TEXT, false},
    {"user", "User", BJ_SHOW_USER, false},
    {"account", "Account", BJ_SHOW_ACCOUNT, false},
    {"partition", "Partition", BJ_SHOW_PARTITION, false},
    {"cpus_requested", "CPUs", BJ_SHOW_NUMBER, false},
    {"gpus_requested", "GPUs", BJ_SHOW_NUMBER, false},
    {"nodes", "Nodes", BJ_SHOW_NUMBER, false},
    {"time_limit_seconds", "Time limit", BJ_SHOW_SECONDS, false},
    {"priority", "Priority", BJ_SHOW_NUMBER, false},
    {"submit", "Submitted", BJ_SHOW_TIME, false},
    {NULL, NULL, 0, false},
};

static int put_waiting(struct bj_call *c, const struct bj_params *filters)
{
    struct bj_params p = *filters;
    struct bj_jobs_end end = {0};
    struct bj_page_table table;
    int r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_STATE), BJ_SLICE("state"),
                          BJ_SLICE("pending"));
    if (r == 0)
        r = bj_page_fields(c, &p, columns);
    if (r != 0)
        return r;
    p.given[BJ_PARAM_FROM] = p.given[BJ_PARAM_LIMIT] = true;
    p.number[BJ_PARAM_FROM] = c->now_sec - 365 * DAY;
    p.number[BJ_PARAM_LIMIT] = 200;
    bj_local_html(&c->reply->body, "<h2>{Waiting jobs}</h2>\n");
    bj_page_table_begin(&table, &c->reply->body, columns, "");
    r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &table.cells}, &end);
    bj_page_table_end(&table, bj_page_sees_others(c)
                                  ? "There are no waiting jobs."
                                  : "You have no waiting jobs.");
    if (*end.next)
        bj_local_html(
            &c->reply->body,
            "<p><a href=\"jobs?state=pending\">{All waiting jobs}</a></p>\n");
    return r;
}

/* --- waiting times by partition, account and user
 * -----------------------------------
 */

enum by { BY_PARTITION, BY_ACCOUNT, BY_USER, BYS };

static const struct {
    const char *title, *parameter;
    enum bj_word word;
} bys[BYS] = {
    [BY_PARTITION] = {"Partition", "partition", BJ_WORD_PARTITION},
    [BY_ACCOUNT] = {"Account", "account", BJ_WORD_ACCOUNT},
    [BY_USER] = {"User", "user", BJ_WORD_USER},
};

struct wait {
    int64_t ids[BYS]; /* ids; BJ_SQL_NULL: none */
    int64_t sec;
};

struct waits {
    struct wait *v;
    size_t n;
};

/* The waits of one partition, account or user. */
struct group {
    const struct wait *v;
    size_t n;
};

static int by_group(const void *a, const void *b, void *ctx)
{
    const struct wait *x = a, *y = b;
    const enum by by = *(const enum by *)ctx;
    if (x->ids[by] != y->ids[by])
        return x->ids[by] < y->ids[by] ? -1 : 1;
    return (x->sec > y->sec) - (x->sec < y->sec);
}

static int by_jobs(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return (x->n < y->n) - (x->n > y->n);
}

static int read_waits(struct bj_call *c, const struct bj_params *p,
                      struct waits *w)
{
    const struct bj_filter_time time = {c->now_sec - DAYS * DAY, c->now_sec, 0};
    struct bj_query q = {.time = &time};
    struct bj_st *st = NULL;
    bj_query_sql(&q, "SELECT j.partition, j.account, j.user, j.start -"
                     " coalesce(j.eligible, nullif(j.submit, 0)) FROM job AS j"
                     " WHERE j.start IS NOT NULL");
    int r = bj_query_scope(&q, c, p, "j");
    if (r == 0)
        r = bj_query_between(&q, c, "j.at", &time);
    bj_query_sql(&q, " LIMIT ");
    bj_query_int(&q, STARTED_MAX);
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        struct wait *to = &w->v[w->n];
        r = 0;
        for (int i = 0; i < BYS; i++)
            to->ids[i] = bj_st_get_i64(st, i);
        const int64_t sec = bj_st_get_i64(st, BYS);
        if (sec == BJ_SQL_NULL)
            continue;
        to->sec = sec > 0 ? sec : 0;
        w->n++;
    }
    bj_query_free(&q);
    return r;
}

/* A percentile of the waits of a group. */
static int64_t percentile(const struct group *g, unsigned percent)
{
    size_t at = (g->n * percent + 99) / 100;
    return g->v[at > 0 ? at - 1 : 0].sec;
}

static const unsigned percents[] = {50, 75, 90, 95, 100};
static const char *const titles[] = {"Half wait less than", "75 % less than",
                                     "90 % less than", "95 % less than",
                                     "Longest"};
enum { PERCENTS = sizeof(percents) / sizeof(percents[0]) };

static int queue_put_group(struct bj_call *c, enum by by, const struct group *g)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_slice name;
    char text[BJ_AMOUNT_COUNT];
    int r = bj_words_text(c->worker->words, c->reader, bys[by].word,
                          g->v->ids[by], &name, &c->err);
    bj_buf_printf(b, "<tr><td data-l=\"%s\"><a href=\"jobs?%s=",
                  bj_local_escaped(bys[by].title), bys[by].parameter);
    bj_url_text(b, name);
    bj_buf_str(b, "\"><bdi>");
    bj_html_text(b, name);
    bj_buf_printf(b, "</bdi></a></td><td class=\"n\" data-l=\"%s\">%s</td>",
                  bj_local_escaped("Jobs started"),
                  bj_amount_count(text, (int64_t)g->n));
    for (unsigned i = 0; i < PERCENTS; i++) {
        bj_buf_printf(b, "<td class=\"n\" data-l=\"%s\">",
                      bj_local_escaped(titles[i]));
        bj_page_amount(b, BJ_SHOW_SECONDS, (double)percentile(g, percents[i]));
        bj_buf_str(b, "</td>");
    }
    bj_buf_str(b, "</tr>\n");
    return r;
}

/* Make the groups, those with the most jobs first; free() them. */
static struct group *make_groups(struct waits *w, enum by by, size_t *ret)
{
    struct group *v = calloc(w->n + 1, sizeof(*v));
    *ret = 0;
    if (!v)
        return NULL;
    qsort_r(w->v, w->n, sizeof(*w->v), by_group, &by);
    for (size_t first = 0, i = 1; i <= w->n; i++) {
        if (i < w->n && w->v[i].ids[by] == w->v[first].ids[by])
            continue;
        if (w->v[first].ids[by] != BJ_SQL_NULL)
            v[(*ret)++] = (struct group){w->v + first, i - first};
        first = i;
    }
    qsort(v, *ret, sizeof(*v), by_jobs);
    return v;
}

static int put_waits(struct bj_call *c, struct waits *w, enum by by)
{
    char all[BJ_AMOUNT_COUNT];
    struct bj_buf *b = &c->reply->body;
    int r = 0;
    size_t n;
    struct group *v = make_groups(w, by, &n);
    if (!v)
        return bj_err_set(&c->err, -ENOMEM, "queue");
    bj_local_html(b,
                  "<div class=\"wide\"><table class=\"stack\"><thead><tr><th "
                  "scope=\"col\">%s</th><th scope=\"col\" class=\"n\">{Jobs "
                  "started}</th>",
                  bj_local_escaped(bys[by].title));
    for (unsigned i = 0; i < PERCENTS; i++)
        bj_buf_printf(b, "<th scope=\"col\" class=\"n\">%s</th>",
                      bj_local_escaped(titles[i]));
    bj_buf_str(b, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < n && i < GROUPS && r == 0; i++)
        r = queue_put_group(c, by, &v[i]);
    bj_buf_str(b, "</tbody></table></div>\n");
    if (n > GROUPS)
        bj_local_html(b, "<p>{%d of %s: those with the most jobs.}</p>\n",
                      GROUPS, bj_amount_count(all, (int64_t)n));
    free(v);
    return r;
}

static int put_all_waits(struct bj_call *c, struct waits *w)
{
    struct bj_buf *b = &c->reply->body;
    bj_local_html(b, "<h2>{Waiting times of the last %d days}</h2>\n", DAYS);
    if (w->n == 0) {
        bj_local_html(
            b, "<p class=\"none\">{No jobs started in this time.}</p>\n");
        return 0;
    }
    int r = put_waits(c, w, BY_PARTITION);
    for (enum by by = BY_ACCOUNT; by < BYS && r == 0; by++) {
        bj_local_html(b, "<details><summary>{By %s}</summary>\n",
                      bj_local_escaped(bys[by].parameter));
        r = put_waits(c, w, by);
        bj_buf_str(b, "</details>\n");
    }
    bj_local_html(b, "<p class=\"mute\">{For jobs that you may see, from the "
                     "time at which they became eligible.}</p>\n");
    return r;
}

/* --- the page --------------------------------------------------------------
 */

static void queue_put_form(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<form>");
    if (bj_page_sees_others(c))
        bj_page_input(b, p, BJ_PARAM_USER, "User", "text");
    bj_page_input(b, p, BJ_PARAM_ACCOUNT, "Account", "text");
    bj_page_input(b, p, BJ_PARAM_PARTITION, "Partition", "text");
    bj_page_input(b, p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_local_html(b, "<button>{Show}</button></form>\n");
}

static int on_queue(struct bj_call *c)
{
    struct bj_params p;
    struct waits w = {.n = 0};
    int r = bj_params_read(c, QUEUE, &p);
    if (r != 0)
        return r;
    w.v = malloc(STARTED_MAX * sizeof(*w.v));
    if (!w.v)
        return bj_err_set(&c->err, -ENOMEM, "queue");
    bj_page_open(c, bj_local("Queue"), "");
    queue_put_form(c, &p);
    r = put_waiting(c, &p);
    if (r == 0)
        r = read_waits(c, &p, &w);
    if (r == 0)
        r = put_all_waits(c, &w);
    bj_page_close(c);
    free(w.v);
    return r;
}

const struct bj_endpoint bj_endpoints_page_queue[] = {
    {.path = "/queue",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_queue,
     .refused = bj_page_refuse,
     .to_root = "",
     .help =
         "Web page: waiting jobs, and waiting times by partition, account and "
         "user.",
     .type = "text/html",
     .params = QUEUE},
    {.path = NULL},
};
