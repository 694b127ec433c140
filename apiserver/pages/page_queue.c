/* The page of the queue: waiting jobs with their reasons, and how long jobs
 * have waited, by partition, account and user. */
#include "apiserver/frame/state.h"
#include "apiserver/frame/widget.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/jobs.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "report/model/reason.h"

#include <stdlib.h>

enum {
    DAY = 86400,
    DAYS = 7,
    GROUPS = 25, /* maximum number of groups of a table */
    /* maximum number of started jobs that are read, the newest */
    STARTED_MAX = 50000,
    REASONS = 100,
    NEVER = 20,    /* jobs shown that never start */
    WAITING = 200, /* jobs of the list */
    QUEUE = BJ_BIT(BJ_PARAM_USER) | BJ_BIT(BJ_PARAM_ACCOUNT) |
            BJ_BIT(BJ_PARAM_PARTITION) | BJ_BIT(BJ_PARAM_CLUSTER)
};

/* --- why jobs wait ---------------------------------------------------------
 */

/* The jobs that wait for one reason. */
struct reason {
    int64_t id; /* BJ_SQL_NULL: no reason */
    enum bj_reason_kind kind;
    int64_t jobs, since; /* since: the oldest; BJ_SQL_NULL: not known */
};

struct reasons {
    struct reason v[REASONS];
    size_t n;
    int64_t jobs; /* all that wait */
};

/* Append the condition for waiting jobs; an index has those that have not
 * ended. */
static void queue_put_waiting(struct bj_query *q)
{
    bj_query_sql(q, " WHERE j.\"end\" IS NULL AND j.start IS NULL AND j.state"
                    " = 1 AND j.cluster IN (SELECT id FROM cluster)");
}

static int read_reasons(struct bj_call *c, const struct bj_params *p,
                        struct reasons *w)
{
    struct bj_query q = {.named = true};
    struct bj_st *st = NULL;
    bj_query_sql(&q, "SELECT j.reason AS reason, count(*) AS jobs,"
                     " min(coalesce(j.eligible, nullif(j.submit, 0))) AS since"
                     " FROM job AS j");
    queue_put_waiting(&q);
    int r = bj_query_scope(&q, c, p, "j");
    bj_query_sql(&q, " GROUP BY j.reason ORDER BY count(*) DESC, j.reason");
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        struct reason one = {.id = bj_st_i64(st, "reason"),
                             .jobs = bj_st_i64(st, "jobs"),
                             .since = bj_st_i64(st, "since")};
        struct bj_slice text = {NULL, 0};
        r = one.id == BJ_SQL_NULL
                ? 0
                : bj_words_text(c->worker->words, c->reader, BJ_WORD_OTHER,
                                one.id, &text, &c->err);
        one.kind = bj_reason_kind_of(text);
        w->jobs += one.jobs;
        if (w->n < REASONS)
            w->v[w->n++] = one;
    }
    bj_query_free(&q);
    return r;
}

static void queue_put_kind(struct bj_call *c, const struct reasons *w,
                           enum bj_reason_kind kind)
{
    struct bj_buf *b = &c->reply->body;
    char text[BJ_AMOUNT_COUNT];
    int64_t jobs = 0, since = INT64_MAX;
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].kind == kind) {
            jobs += w->v[i].jobs;
            if (w->v[i].since != BJ_SQL_NULL && w->v[i].since < since)
                since = w->v[i].since;
        }
    if (jobs == 0)
        return;
    bj_buf_str(b, "<tr><th scope=\"row\">");
    bj_html_text(b, bj_slice_str(bj_reason_kind_title(kind)));
    bj_buf_str(b, "</th><td>");
    bj_widget_bar(b, kind == BJ_REASON_NEVER ? BJ_LOOK_BAD : BJ_LOOK_NONE,
                  false, 100 * (double)jobs / (double)w->jobs);
    bj_buf_printf(b, "</td><td class=\"n\" data-l=\"%s\">%s</td>",
                  bj_local_escaped("Jobs"), bj_amount_count(text, jobs));
    bj_buf_printf(b, "<td class=\"n\" data-l=\"%s\">",
                  bj_local_escaped("Longest"));
    if (since != INT64_MAX && since <= c->now_sec)
        bj_amount_seconds(b, (uint64_t)(c->now_sec - since));
    else
        bj_buf_str(b, "&ndash;");
    bj_buf_str(b, "</td></tr>\n");
}

static void put_reasons(struct bj_call *c, const struct reasons *w)
{
    static const enum bj_reason_kind order[] = {
        BJ_REASON_NEVER,     BJ_REASON_OWN,       BJ_REASON_GROUP,
        BJ_REASON_RESOURCES, BJ_REASON_OPERATORS, BJ_REASON_OTHER};
    struct bj_buf *b = &c->reply->body;
    if (w->jobs == 0)
        return;
    bj_widget_card(b, "What they wait for", NULL, NULL);
    bj_widget_table(b, bj_local_escaped("What they wait for"), "stack", true);
    bj_local_html(b, "<thead><tr><th scope=\"col\">{Waits for}</th><th "
                     "scope=\"col\">{Part}</th><th scope=\"col\" class=\"n\">"
                     "{Jobs}</th><th scope=\"col\" class=\"n\">{Longest}</th>"
                     "</tr></thead><tbody>\n");
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        queue_put_kind(c, w, order[i]);
    bj_widget_table_end(b);
    bj_widget_card_end(b);
}

/* --- jobs that never start -------------------------------------------------
 */

static void put_never_job(struct bj_call *c, struct bj_st *st,
                          struct bj_slice reason)
{
    struct bj_buf *b = &c->reply->body, key = {0};
    const struct bj_slice cluster = bj_st_text(st, "cluster");
    const struct bj_slice id = bj_st_text(st, "jobid");
    const struct bj_slice name = bj_st_text(st, "name");
    const char *sentence = bj_reason_text(reason);
    bj_buf_slice(&key, cluster);
    bj_buf_str(&key, ":");
    bj_buf_slice(&key, id);
    bj_buf_printf(&key, ":%lld", (long long)bj_st_i64(st, "submit"));
    bj_buf_str(b, "<li><span><a href=\"jobs/");
    bj_url_text(b, (struct bj_slice){key.p, key.len});
    bj_buf_str(b, "\"><bdi>");
    bj_html_text(b, name.n > 0 ? name : id);
    bj_buf_str(b, "</bdi></a></span><span>");
    bj_html_text(b, sentence ? bj_slice_str(sentence) : reason);
    bj_buf_str(b, " <code>");
    bj_html_text(b, reason);
    bj_buf_str(b, "</code></span><span>");
    bj_html_text(b, id);
    bj_buf_str(b, "</span></li>\n");
    b->failed |= key.failed;
    bj_buf_free(&key);
}

static void never_query(struct bj_query *q, const struct reasons *w)
{
    bool any = false;
    bj_query_sql(q, "SELECT (SELECT name FROM cluster WHERE id = j.cluster) AS"
                    " cluster, CAST(j.jobid AS TEXT) AS jobid, j.submit AS"
                    " submit, (SELECT text FROM jobname WHERE id = j.name) AS"
                    " name, j.reason AS reason FROM job AS j");
    queue_put_waiting(q);
    bj_query_sql(q, " AND j.reason IN (");
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].kind == BJ_REASON_NEVER) {
            bj_query_sql(q, any ? ", " : "");
            bj_query_int(q, w->v[i].id);
            any = true;
        }
    bj_query_sql(q, ")");
}

static int put_never(struct bj_call *c, const struct bj_params *p,
                     const struct reasons *w)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_query q = {.named = true};
    struct bj_st *st = NULL;
    char text[BJ_AMOUNT_COUNT];
    int64_t jobs = 0;
    for (size_t i = 0; i < w->n; i++)
        jobs += w->v[i].kind == BJ_REASON_NEVER ? w->v[i].jobs : 0;
    if (jobs == 0)
        return 0;
    never_query(&q, w);
    int r = bj_query_scope(&q, c, p, "j");
    bj_query_sql(&q, " ORDER BY j.submit, j.jobid LIMIT ");
    bj_query_int(&q, NEVER);
    bj_local_html(b,
                  "<section class=\"card verdict bad\"><span class=\"s bad\">"
                  "{Never start}</span><h2>");
    bj_local_html(b,
                  jobs == 1 ? "{%s job waits for something that will not "
                              "happen.}"
                            : "{%s jobs wait for something that will not "
                              "happen.}",
                  bj_amount_count(text, jobs));
    bj_buf_str(b, "</h2><ul class=\"todo\">\n");
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        struct bj_slice reason;
        r = bj_words_text(c->worker->words, c->reader, BJ_WORD_OTHER,
                          bj_st_i64(st, "reason"), &reason, &c->err);
        if (r == 0)
            put_never_job(c, st, reason);
    }
    bj_query_free(&q);
    bj_buf_str(b, "</ul>");
    if (jobs > NEVER)
        bj_local_html(b, "<p class=\"small\">{The %d oldest of %s.}</p>", NEVER,
                      bj_amount_count(text, jobs));
    bj_buf_str(b, "</section>\n");
    return r;
}

int bj_page_never_start(struct bj_call *c, const struct bj_params *p)
{
    struct reasons why = {.n = 0};
    int r = read_reasons(c, p, &why);
    return r == 0 ? put_never(c, p, &why) : r;
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
    bj_query_sql(&q, "SELECT j.partition AS partition, j.account AS account,"
                     " j.user AS user, j.start - coalesce(j.eligible,"
                     " nullif(j.submit, 0)) AS sec FROM job AS j"
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
            to->ids[i] = bj_st_i64(st, bys[i].parameter);
        const int64_t sec = bj_st_i64(st, "sec");
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
    bj_widget_table(b, bj_local_escaped(bys[by].title), "stack", true);
    bj_local_html(b,
                  "<thead><tr><th scope=\"col\">%s</th><th scope=\"col\" "
                  "class=\"n\">{Jobs "
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

/* The parts of the jobs by the length of their wait. */
static void put_spread(struct bj_buf *b, const struct waits *w)
{
    static const struct {
        const char *title;
        int64_t below; /* seconds */
    } steps[] = {{"below 1 minute", 60},     {"1 to 10 minutes", 600},
                 {"10 to 60 minutes", 3600}, {"1 to 6 hours", 6 * 3600},
                 {"6 to 24 hours", DAY},     {"more than a day", INT64_MAX}};
    char text[BJ_AMOUNT_COUNT];
    bj_widget_table(b, bj_local_escaped("How long jobs waited"), "stack",
                    false);
    bj_local_html(b, "<thead><tr><th scope=\"col\">{Wait}</th><th "
                     "scope=\"col\">{Part}</th><th scope=\"col\" "
                     "class=\"n\">{Jobs started}</th></tr></thead><tbody>\n");
    int64_t from = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int64_t jobs = 0;
        for (size_t k = 0; k < w->n; k++)
            jobs += w->v[k].sec >= from && w->v[k].sec < steps[i].below;
        from = steps[i].below;
        bj_buf_printf(b, "<tr><th scope=\"row\">%s</th><td>",
                      bj_local_escaped(steps[i].title));
        bj_widget_bar(b, BJ_LOOK_NONE, false,
                      100 * (double)jobs / (double)w->n);
        bj_buf_printf(b, "</td><td class=\"n\" data-l=\"%s\">%s</td></tr>\n",
                      bj_local_escaped("Jobs started"),
                      bj_amount_count(text, jobs));
    }
    bj_widget_table_end(b);
}

static int put_all_waits(struct bj_call *c, struct waits *w)
{
    struct bj_buf *b = &c->reply->body;
    bj_local_html(b,
                  "<section class=\"card\"><h2>{Waiting times of the last %d "
                  "days}</h2>\n",
                  DAYS);
    if (w->n == 0) {
        bj_local_html(b, "<p class=\"none\">{No jobs started in this time.}"
                         "</p></section>\n");
        return 0;
    }
    int r = put_waits(c, w, BY_PARTITION);
    put_spread(b, w);
    for (enum by by = BY_ACCOUNT; by < BYS && r == 0; by++) {
        bj_local_html(b, "<details><summary>{By %s}</summary>\n",
                      bj_local_escaped(bys[by].parameter));
        r = put_waits(c, w, by);
        bj_buf_str(b, "</details>\n");
    }
    bj_local_html(b,
                  "<p class=\"small mute\">{For jobs that you may see, from "
                  "the time at which they became eligible.}</p></section>\n");
    return r;
}

/* --- waiting jobs ----------------------------------------------------------
 */

static const char *const waiting_keys[] = {"key",
                                           "display_id",
                                           "name",
                                           "reason",
                                           "user",
                                           "account",
                                           "partition",
                                           "cpus_requested",
                                           "gpus_requested",
                                           "nodes",
                                           "time_limit_seconds",
                                           "priority",
                                           "eligible",
                                           "submit",
                                           NULL};

struct waiting {
    struct bj_cells cells;
    struct bj_call *c;
    uint64_t rows;
    const struct group *group; /* the started jobs, by partition */
    size_t groups;
};

/* How long a job has waited since it could start, else since its submission;
 * BJ_SQL_NULL: not known. */
static int64_t waiting_age(const struct bj_cells *row, int64_t now)
{
    const struct bj_cell *v = bj_cells_get(row, "eligible");
    if (!v || v->kind != BJ_CELL_TIME)
        v = bj_cells_get(row, "submit");
    return v && v->kind == BJ_CELL_TIME && v->number > 0 && v->number <= now
               ? now - v->number
               : BJ_SQL_NULL;
}

/* How much longer half of the jobs waited that had waited this long, in the
 * same partition; BJ_SQL_NULL: there were too few. */
static int64_t waiting_estimate(const struct group *g, int64_t age)
{
    enum { LEAST = 10 };
    size_t first = 0;
    while (first < g->n && g->v[first].sec < age)
        first++;
    return g->n - first < LEAST ? BJ_SQL_NULL
                                : g->v[first + (g->n - first) / 2].sec - age;
}

/* Only of jobs that wait for free resources: others wait for people. */
static void waiting_put_estimate(const struct waiting *w,
                                 const struct bj_cells *row, int64_t age)
{
    struct bj_buf *b = &w->c->reply->body;
    const struct bj_cell *reason = bj_cells_get(row, "reason"),
                         *partition = bj_cells_get(row, "partition");
    struct bj_slice name;
    int64_t sec = BJ_SQL_NULL;
    int r = 0;
    for (size_t i = 0;
         i < w->groups && age != BJ_SQL_NULL && r == 0 &&
         !bj_cell_is_empty(partition) && !bj_cell_is_empty(reason) &&
         bj_reason_kind_of(reason->text) == BJ_REASON_RESOURCES;
         i++) {
        r = bj_words_text(w->c->worker->words, w->c->reader, BJ_WORD_PARTITION,
                          w->group[i].v->ids[BY_PARTITION], &name, &w->c->err);
        if (r == 0 && bj_slice_eq(name, partition->text)) {
            sec = waiting_estimate(&w->group[i], age);
            break;
        }
    }
    if (sec == BJ_SQL_NULL) {
        bj_buf_str(b, "&ndash;");
    } else {
        bj_local_html(b, "{in about} ");
        bj_amount_seconds(b, (uint64_t)sec);
    }
}

static void waiting_put_limit(struct bj_buf *b, const struct bj_cells *row)
{
    const struct bj_cell *v = bj_cells_get(row, "time_limit_seconds");
    if (v && v->kind == BJ_CELL_NUMBER && v->digits == 0 && v->number >= 0)
        bj_amount_seconds(b, (uint64_t)v->number);
    else
        bj_buf_str(b, "&ndash;");
}

static void waiting_number(struct bj_buf *b, const struct bj_cells *row,
                           const char *key, const char *label)
{
    bj_buf_printf(b, "<td class=\"n\" data-l=\"%s\">", bj_local_escaped(label));
    bj_page_text(b, row, key);
    bj_buf_str(b, "</td>");
}

static void put_waiting_job(void *ctx, const struct bj_cells *row)
{
    struct waiting *w = ctx;
    struct bj_buf *b = &w->c->reply->body;
    const struct bj_cell *reason = bj_cells_get(row, "reason");
    const char *sentence = reason && reason->kind == BJ_CELL_TEXT
                               ? bj_reason_text(reason->text)
                               : NULL;
    const int64_t age = waiting_age(row, w->c->now_sec);
    w->rows++;
    bj_buf_str(b, "<tr><th scope=\"row\" class=\"wrap\">");
    bj_page_named(b, row, "");
    bj_buf_str(b, "</th><td class=\"wrap w\">");
    if (sentence)
        bj_html_text(b, bj_slice_str(sentence));
    bj_buf_str(b, sentence ? " <small>" : "");
    bj_page_text(b, row, "reason");
    bj_buf_str(b, sentence ? "</small></td><td><bdi>" : "</td><td><bdi>");
    bj_page_text(b, row, "user");
    bj_buf_str(b, "</bdi></td><td class=\"p\"><bdi>");
    bj_page_text(b, row, "account");
    bj_buf_str(b, "</bdi></td><td class=\"p\"><bdi>");
    bj_page_text(b, row, "partition");
    bj_buf_str(b, "</bdi></td>");
    waiting_number(b, row, "cpus_requested", "CPUs");
    waiting_number(b, row, "gpus_requested", "GPUs");
    bj_buf_printf(b, "<td class=\"n\" data-l=\"%s\">",
                  bj_local_escaped("Time limit"));
    waiting_put_limit(b, row);
    bj_buf_str(b, "</td><td class=\"n p\">");
    bj_page_text(b, row, "priority");
    bj_buf_printf(b, "</td><td class=\"n\" data-l=\"%s\">",
                  bj_local_escaped("Has waited"));
    if (age == BJ_SQL_NULL)
        bj_buf_str(b, "&ndash;");
    else
        bj_amount_seconds(b, (uint64_t)age);
    bj_buf_printf(b, "</td><td class=\"n\" data-l=\"%s\">",
                  bj_local_escaped("Starts (estimate)"));
    waiting_put_estimate(w, row, age);
    bj_buf_str(b, "</td></tr>\n");
}

/* Begin the table; return where its head begins, for bj_widget_table_part. */
static size_t waiting_put_head(struct bj_buf *b)
{
    bj_widget_table(b, bj_local_escaped("Waiting jobs"), "stack", true);
    const size_t head = b->len;
    bj_local_html(b, "<thead><tr><th scope=\"col\">{Job}</th><th "
                     "scope=\"col\">{Reason}</th><th scope=\"col\">{User}</th>"
                     "<th scope=\"col\" class=\"p\">{Account}</th><th "
                     "scope=\"col\" class=\"p\">{Partition}</th><th "
                     "scope=\"col\" class=\"n\">{CPUs}</th><th scope=\"col\" "
                     "class=\"n\">{GPUs}</th><th scope=\"col\" class=\"n\">"
                     "{Time limit}</th><th scope=\"col\" class=\"n p\">"
                     "{Priority}</th><th scope=\"col\" class=\"n\">{Has "
                     "waited}</th><th scope=\"col\" class=\"n\">{Starts "
                     "(estimate)}</th></tr></thead><tbody>\n");
    return head;
}

static int put_waiting(struct bj_call *c, const struct bj_params *filters,
                       struct waits *waits)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_params p = *filters;
    struct bj_jobs_end end = {0};
    struct waiting w = {.c = c};
    struct group *group = make_groups(waits, BY_PARTITION, &w.groups);
    if (!group)
        return bj_err_set(&c->err, -ENOMEM, "queue");
    w.group = group;
    w.cells = (struct bj_cells){.row = put_waiting_job, .ctx = &w};
    int r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_STATE), BJ_SLICE("state"),
                          BJ_SLICE("pending"));
    for (unsigned i = 0; waiting_keys[i] && r == 0; i++)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          bj_slice_str(waiting_keys[i]));
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_SORT), BJ_SLICE("sort"),
                          BJ_SLICE("priority"));
    if (r != 0) {
        free(group);
        return r;
    }
    p.given[BJ_PARAM_FROM] = p.given[BJ_PARAM_LIMIT] = true;
    p.number[BJ_PARAM_FROM] = c->now_sec - 365 * DAY;
    p.number[BJ_PARAM_LIMIT] = WAITING;
    bj_widget_card(b, "Waiting jobs", NULL, NULL);
    const size_t before = b->len;
    const size_t head = waiting_put_head(b);
    r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &w.cells}, &end);
    if (*end.next)
        bj_widget_table_part(b, head);
    bj_widget_table_end(b);
    if (w.rows == 0 && !b->failed)
        b->len = before;
    if (w.rows == 0)
        bj_buf_printf(b, "<p class=\"none\">%s</p>",
                      bj_local_escaped(bj_page_sees_others(c)
                                           ? "There are no waiting jobs."
                                           : "You have no waiting jobs."));
    if (*end.next)
        bj_local_html(
            b, "<p><a href=\"jobs?state=pending\">{All waiting jobs}</a></p>");
    if (w.rows > 0)
        bj_local_html(b, "<p class=\"small mute\">{Those with the highest "
                         "priority first. The estimate is the time after which "
                         "half of the jobs started that had waited as long, in "
                         "the same partition in the last 7 days; there is none "
                         "for jobs that wait for a limit, another job or "
                         "people.}</p>");
    bj_widget_card_end(b);
    bj_cells_free(&w.cells);
    free(group);
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
    struct reasons why = {.n = 0};
    int r = bj_params_read(c, QUEUE, &p);
    if (r != 0)
        return r;
    w.v = malloc(STARTED_MAX * sizeof(*w.v));
    if (!w.v)
        return bj_err_set(&c->err, -ENOMEM, "queue");
    bj_page_open(c, bj_local("Queue"), "");
    queue_put_form(c, &p);
    r = read_reasons(c, &p, &why);
    if (r == 0)
        r = put_never(c, &p, &why);
    if (r == 0) {
        put_reasons(c, &why);
        r = read_waits(c, &p, &w);
    }
    if (r == 0)
        r = put_all_waits(c, &w);
    if (r == 0)
        r = put_waiting(c, &p, &w);
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
     .menu = "Queue",
     .help =
         "Web page: waiting jobs, and waiting times by partition, account and "
         "user.",
     .type = "text/html",
     .params = QUEUE},
    {.path = NULL},
};
