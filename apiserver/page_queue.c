/* The page of the queue: waiting jobs with their reasons, and how long jobs
 * have waited in each partition. */
#include "apiserver/jobs.h"
#include "apiserver/page_form.h"
#include "apiserver/state.h"
#include "base/html.h"

#include <stdlib.h>

enum {
    DAY = 86400,
    DAYS = 7,
    STARTED_MAX = 50000, /* jobs whose waits are read, the newest */
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
    {"gpus", "GPUs", BJ_SHOW_NUMBER, false},
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
    bj_buf_str(&c->reply->body, "<h2>Waiting jobs</h2>\n");
    bj_page_table_begin(&table, &c->reply->body, columns, "");
    r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &table.cells}, &end);
    bj_page_table_end(&table, "You have no waiting jobs.");
    if (*end.next)
        bj_buf_str(&c->reply->body, "<p><a href=\"jobs?state=pending\">All "
                                    "waiting jobs</a></p>\n");
    return r;
}

/* --- waits by partition ----------------------------------------------------
 */

struct waits {
    int64_t *pair; /* partition, seconds */
    size_t n;
};

static int by_partition(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    if (x[0] != y[0])
        return x[0] < y[0] ? -1 : 1;
    return (x[1] > y[1]) - (x[1] < y[1]);
}

static int read_waits(struct bj_call *c, const struct bj_params *p,
                      struct waits *w)
{
    const struct bj_query_time time = {c->now_sec - DAYS * DAY, c->now_sec};
    struct bj_query q = {.time = &time};
    struct bj_st *st = NULL;
    bj_query_sql(&q, "SELECT j.partition, max(j.start - coalesce(j.eligible,"
                     " nullif(j.submit, 0)), 0) FROM job AS j WHERE j.start"
                     " IS NOT NULL");
    int r = bj_query_scope(&q, c, p, "j");
    bj_query_sql(&q, " AND j.at BETWEEN ");
    bj_query_int(&q, time.from);
    bj_query_sql(&q, " AND ");
    bj_query_int(&q, time.to);
    bj_query_sql(&q, " LIMIT ");
    bj_query_int(&q, STARTED_MAX);
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        r = 0;
        if (bj_st_get_i64(st, 0) == BJ_SQL_NULL ||
            bj_st_get_i64(st, 1) == BJ_SQL_NULL)
            continue;
        w->pair[2 * w->n] = bj_st_get_i64(st, 0);
        w->pair[2 * w->n + 1] = bj_st_get_i64(st, 1);
        w->n++;
    }
    bj_query_free(&q);
    return r;
}

/* The value below which so many percent of n sorted pairs are. */
static int64_t percentile(const int64_t *pair, size_t n, unsigned percent)
{
    size_t at = (n * percent + 99) / 100;
    return pair[2 * (at > 0 ? at - 1 : 0) + 1];
}

static int put_partition(struct bj_call *c, const int64_t *pair, size_t n)
{
    static const unsigned percent[] = {50, 75, 90, 95, 100};
    static const char *const titles[] = {"Half wait less than",
                                         "75 % less than", "90 % less than",
                                         "95 % less than", "Longest"};
    struct bj_buf *b = &c->reply->body;
    struct bj_slice name;
    int r = bj_words_text(c->worker->words, c->reader, BJ_WORD_PARTITION,
                          pair[0], &name, &c->err);
    bj_buf_str(b, "<tr><td data-l=\"Partition\"><a href=\"jobs?partition=");
    bj_url_text(b, name);
    bj_buf_str(b, "\">");
    bj_html_text(b, name);
    bj_buf_printf(
        b, "</a></td><td class=\"n\" data-l=\"Jobs started\">%zu</td>", n);
    for (size_t i = 0; i < sizeof(percent) / sizeof(percent[0]); i++) {
        bj_buf_printf(b, "<td class=\"n\" data-l=\"%s\">", titles[i]);
        bj_page_amount(b, BJ_SHOW_SECONDS,
                       (double)percentile(pair, n, percent[i]));
        bj_buf_str(b, "</td>");
    }
    bj_buf_str(b, "</tr>\n");
    return r;
}

static int put_waits(struct bj_call *c, struct waits *w)
{
    struct bj_buf *b = &c->reply->body;
    int r = 0;
    bj_buf_printf(b, "<h2>Waiting times of the last %d days</h2>\n", DAYS);
    if (w->n == 0) {
        bj_buf_str(b, "<p class=\"none\">No jobs started in this time.</p>\n");
        return 0;
    }
    qsort(w->pair, w->n, 2 * sizeof(*w->pair), by_partition);
    bj_buf_str(b,
               "<div class=\"wide\"><table class=\"cards\"><thead><tr><th "
               "scope=\"col\">Partition</th><th scope=\"col\" class=\"n\">"
               "Jobs started</th><th scope=\"col\" class=\"n\">Half wait less "
               "than</th><th scope=\"col\" class=\"n\">75 % less than</th><th "
               "scope=\"col\" class=\"n\">90 % less than</th><th "
               "scope=\"col\" class=\"n\">95 % less than</th><th "
               "scope=\"col\" class=\"n\">Longest</th></tr></thead><tbody>\n");
    for (size_t first = 0, i = 1; i <= w->n && r == 0; i++)
        if (i == w->n || w->pair[2 * i] != w->pair[2 * first]) {
            r = put_partition(c, w->pair + 2 * first, i - first);
            first = i;
        }
    bj_buf_str(b,
               "</tbody></table></div>\n<p class=\"note\">For jobs that you "
               "may see, from the time at which they became eligible.</p>\n");
    return r;
}

/* --- the page --------------------------------------------------------------
 */

static void put_form(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<form>");
    if (bj_page_sees_others(c))
        bj_page_input(b, p, BJ_PARAM_USER, "User", "text");
    bj_page_input(b, p, BJ_PARAM_ACCOUNT, "Account", "text");
    bj_page_input(b, p, BJ_PARAM_PARTITION, "Partition", "text");
    bj_page_input(b, p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_buf_str(b, "<button>Show</button></form>\n");
}

static int on_queue(struct bj_call *c)
{
    struct bj_params p;
    struct waits w = {.n = 0};
    int r = bj_params_read(c, QUEUE, &p);
    if (r != 0)
        return r;
    w.pair = malloc(2 * STARTED_MAX * sizeof(*w.pair));
    if (!w.pair)
        return bj_err_set(&c->err, -ENOMEM, "queue");
    bj_page_open(c, "Queue", "");
    put_form(c, &p);
    r = put_waiting(c, &p);
    if (r == 0)
        r = read_waits(c, &p, &w);
    if (r == 0)
        r = put_waits(c, &w);
    bj_page_close(c);
    free(w.pair);
    return r;
}

const struct bj_endpoint bj_endpoints_page_queue[] = {
    {.path = "/queue",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_queue,
     .refused = bj_page_refuse,
     .up = "",
     .help = "Web page: waiting jobs, and waiting times by partition.",
     .type = "text/html",
     .params = QUEUE},
    {.path = NULL},
};
