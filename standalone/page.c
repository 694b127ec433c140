#include "standalone/page.h"

#include "base/accept.h"
#include "base/array.h"
#include "base/digits.h"
#include "core/find/ident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const bj_page_types[BJ_PAGE_FORMATS] = {
    [BJ_PAGE_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
    [BJ_PAGE_OPENMETRICS] =
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/* Space for a value with brace, blank and newline. */
enum { TAIL_BYTES = BJ_DIGITS_ROOM + 3 };

/* Heads */

/* Cached heads of families, in one text: the comments, name{ with the cluster,
 * device=" and its kind. */
enum { COMMENTS, START, KEYS, PIECES = KEYS + BJ_SUB_KEYS };
struct bj_page_head {
    const struct bj_metric_table *table;
    const struct bj_metric *metric;
    size_t end[PIECES + 1]; /* of the pieces; [0]: start of the first */
};

/* HELP text; OpenMetrics escapes quotes as well. */
static void put_help(struct bj_buf *b, enum bj_page_format format,
                     const char *help)
{
    const char *special = format == BJ_PAGE_OPENMETRICS ? "\\\n\"" : "\\\n";
    for (;;) {
        size_t n = strcspn(help, special);
        bj_buf_put(b, help, n);
        help += n;
        if (!*help)
            return;
        bj_buf_put(b, "\\", 1);
        bj_buf_put(b, *help == '\n' ? "n" : help, 1);
        help++;
    }
}

/* The start of a comment: "# TYPE name ". */
static void put_comment(struct bj_buf *b, const char *what,
                        struct bj_slice name)
{
    bj_buf_str(b, what);
    bj_buf_slice(b, name);
    bj_buf_put(b, " ", 1);
}

static bool is_info(const struct bj_metric *m)
{
    return strcmp(m->name, "info") == 0;
}

/* The comments before a family. OpenMetrics names it without the suffix of its
 * samples. */
static void put_comments(struct bj_buf *b, enum bj_page_format format,
                         const struct bj_page_head *h, struct bj_slice name)
{
    static const char *const types[] = {
        [BJ_GAUGE] = "gauge", [BJ_COUNTER] = "counter"};
    const struct bj_metric *m = h->metric;
    const char *type = types[m->kind];
    const char *unit = bj_units[m->unit].prom;
    if (format == BJ_PAGE_OPENMETRICS && m->kind == BJ_COUNTER) {
        name.n -= strlen("_total");
    } else if (format == BJ_PAGE_OPENMETRICS && is_info(m)) {
        name.n -= strlen("_info");
        type = "info";
    }
    put_comment(b, "# HELP ", name);
    put_help(b, format, m->help);
    put_comment(b, "\n# TYPE ", name);
    bj_buf_str(b, type);
    if (format == BJ_PAGE_OPENMETRICS && *unit) {
        put_comment(b, "\n# UNIT ", name);
        bj_buf_str(b, unit + 1);
    }
    bj_buf_put(b, "\n", 1);
}

static void put_pieces(const struct bj_page *p, struct bj_page_head *h,
                       struct bj_slice name)
{
    struct bj_buf *b = &p->heads->text;
    h->end[0] = b->len;
    put_comments(b, p->format, h, name);
    h->end[COMMENTS + 1] = b->len;
    bj_buf_slice(b, name);
    bj_buf_put(b, "{", 1);
    if (p->cluster.n > 0) {
        bj_buf_str(b, "cluster=\"");
        bj_buf_label(b, p->cluster);
        bj_buf_str(b, "\",");
    }
    h->end[START + 1] = b->len;
    for (int i = 0; i < BJ_SUB_KEYS; i++) {
        if (h->table->label[i]) {
            bj_buf_str(b, h->table->label[i]);
            bj_buf_put(b, "=\"", 2);
        }
        h->end[KEYS + i + 1] = b->len;
    }
}

static struct bj_page_head *new_head(const struct bj_page *p,
                                     const struct bj_metric_table *t,
                                     const struct bj_metric *m)
{
    struct bj_page_heads *heads = p->heads;
    if (!BJ_GROW(heads->v, heads->n + 1, heads->cap))
        return NULL;
    struct bj_page_head *v = heads->v;
    v[heads->n] = (struct bj_page_head){.table = t, .metric = m};
    struct bj_buf name = {0};
    bj_metric_prom_name(t, m, &name);
    put_pieces(p, &v[heads->n], (struct bj_slice){name.p, name.len});
    bool failed = name.failed || heads->text.failed;
    bj_buf_free(&name);
    return failed ? NULL : &v[heads->n++];
}

/* The head of a family. The order is the same on each page, so the one after
 * the last is tried first. */
static struct bj_page_head *head_of(const struct bj_page *p,
                                    const struct bj_metric_table *t,
                                    const struct bj_metric *m)
{
    struct bj_page_heads *heads = p->heads;
    for (size_t i = 0; i < heads->n; i++, heads->next++) {
        if (heads->next >= heads->n)
            heads->next = 0;
        struct bj_page_head *h = &heads->v[heads->next];
        if (h->metric == m && h->table == t) {
            heads->next++;
            return h;
        }
    }
    return new_head(p, t, m);
}

void bj_page_heads_free(struct bj_page_heads *heads)
{
    bj_buf_free(&heads->text);
    bj_buf_free(&heads->cluster);
    free(heads->v);
    *heads = (struct bj_page_heads){0};
}

static struct bj_slice piece(const struct bj_page *p,
                             const struct bj_page_head *h, int i)
{
    return (struct bj_slice){p->heads->text.p + h->end[i],
                             h->end[i + 1] - h->end[i]};
}

static int on_family(void *ctx, const struct bj_metric_table *t,
                     const struct bj_metric *m)
{
    struct bj_page *p = ctx;
    const struct bj_page_head *h = head_of(p, t, m);
    if (!h) { /* remove a partial head */
        bj_page_heads_free(p->heads);
        return -ENOMEM;
    }
    p->table = t;
    p->plain = t->owner == BJ_OF_JOB && !t->list && !t->info;
    p->micro = bj_units[m->unit].digits == 6;
    p->start = piece(p, h, START);
    for (int i = 0; i < BJ_SUB_KEYS; i++)
        p->key[i] = piece(p, h, KEYS + i);
    bj_buf_slice(p->out, piece(p, h, COMMENTS));
    return p->out->failed ? -ENOMEM : 0;
}

/* The hot path: space is reserved once a line. */

static inline char *page_put(char *at, const char *p, size_t n)
{
    memcpy(at, p, n);
    return at + n;
}

/* A label value with its closing quote. */
static inline char *page_put_value(char *at, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '\\' || c == '"' || c == '\n')
            *at++ = '\\';
        *at++ = c == '\n' ? 'n' : c;
    }
    *at++ = '"';
    *at++ = ',';
    return at;
}

/* Maximum size of a sample's own labels. */
static size_t key_bytes(const struct bj_page *p, const struct bj_sub *sub)
{
    size_t n = 0;
    for (int i = 0; i < BJ_SUB_KEYS && p->key[i].n > 0; i++)
        n += p->key[i].n + 2 * sub->key[i].n + 2;
    return n;
}

static size_t info_bytes(const struct bj_page *p, const struct bj_slice *values)
{
    size_t n = 0;
    for (size_t i = 0; p->table->info[i]; i++)
        n += strlen(p->table->info[i]) + 2 + 2 * values[i].n + 2;
    return n;
}

static char *put_keys(const struct bj_page *p, const struct bj_sub *sub,
                      char *at)
{
    for (int i = 0; i < BJ_SUB_KEYS && p->key[i].n > 0; i++) {
        at = page_put(at, p->key[i].p, p->key[i].n);
        at = page_put_value(at, sub->key[i]);
    }
    return at;
}

static char *put_info(const struct bj_page *p, const struct bj_slice *values,
                      char *at)
{
    for (size_t i = 0; p->table->info[i]; i++) {
        if (values[i].n == 0)
            continue;
        at = page_put(at, p->table->info[i], strlen(p->table->info[i]));
        at = page_put(at, "=\"", 2);
        at = page_put_value(at, values[i]);
    }
    return at;
}

/* Labels that are already written, if any. */
static inline char *put_ready(char *at, struct bj_slice labels)
{
    if (labels.n == 0)
        return at;
    at = page_put(at, labels.p, labels.n);
    *at++ = ',';
    return at;
}

static inline void page_put_number(const struct bj_page *p, uint64_t v,
                                   char *at)
{
    at = p->micro ? bj_digits_micro(at, v) : bj_digits_u64(at, v);
    *at++ = '\n';
    p->out->len = (size_t)(at - p->out->p);
}

/* A sample with its own labels, or without a job. Each label ends with a comma;
 * the last comma, or the brace when there is no label, is replaced. */
__attribute__((noinline)) static int put_other(const struct bj_page *p,
                                               const struct bj_sample *s)
{
    struct bj_buf *out = p->out;
    struct bj_slice job = {0}, job_info = {0};
    if (s->job)
        job = s->job->ident->labels;
    if (s->job && s->info)
        job_info = s->job->ident->info;
    const struct bj_slice *values = s->job ? NULL : s->info;
    size_t room = p->start.n + job.n + job_info.n + TAIL_BYTES;
    room += s->sub ? key_bytes(p, s->sub) : 0;
    room += values ? info_bytes(p, values) : 0;
    if (!bj_buf_room(out, room))
        return -ENOMEM;
    char *at = page_put(out->p + out->len, p->start.p, p->start.n);
    at = put_ready(at, job);
    at = put_ready(at, job_info);
    at = s->sub ? put_keys(p, s->sub, at) : at;
    at = values ? put_info(p, values, at) : at;
    if (at[-1] == ',')
        *at++ = ' ';
    at[-1] = ' ';
    if (at[-2] == ',')
        at[-2] = '}';
    page_put_number(p, s->value, at);
    return 0;
}

/* Nearly all samples belong to a job and have no labels of their own. */
static int on_sample(void *ctx, const struct bj_sample *s)
{
    const struct bj_page *p = ctx;
    struct bj_buf *out = p->out;
    if (!p->plain)
        return put_other(p, s);
    const struct bj_slice *job = &s->job->ident->labels;
    if (!bj_buf_room(out, p->start.n + job->n + TAIL_BYTES))
        return -ENOMEM;
    char *at = page_put(out->p + out->len, p->start.p, p->start.n);
    at = page_put(at, job->p, job->n);
    memcpy(at, "} ", 2);
    page_put_number(p, s->value, at + 2);
    return 0;
}

struct bj_sink bj_page_begin(struct bj_page *p, enum bj_page_format format,
                             struct bj_slice cluster,
                             struct bj_page_heads *heads, struct bj_buf *out)
{
    *p = (struct bj_page){
        .out = out, .format = format, .cluster = cluster, .heads = heads};
    if (!heads)
        p->heads = &p->own;
    const struct bj_buf *old = &p->heads->cluster;
    if (!bj_slice_eq(cluster, (struct bj_slice){old->p, old->len})) {
        bj_page_heads_free(p->heads);
        bj_buf_slice(&p->heads->cluster, cluster);
        out->failed |= p->heads->cluster.failed;
    }
    p->heads->next = 0;
    return (struct bj_sink){p, on_family, on_sample};
}

static const struct bj_slice mark = {"# EOF\n", 6};

bool bj_page_reopen(enum bj_page_format format, struct bj_buf *page)
{
    if (format != BJ_PAGE_OPENMETRICS || page->len < mark.n ||
        memcmp(page->p + page->len - mark.n, mark.p, mark.n) != 0)
        return false;
    page->len -= mark.n;
    return true;
}

void bj_page_close(bool marked, struct bj_buf *page)
{
    if (marked)
        bj_buf_slice(page, mark);
}

int bj_page_end(struct bj_page *p)
{
    bj_page_close(p->format == BJ_PAGE_OPENMETRICS, p->out);
    bj_page_heads_free(&p->own);
    return p->out->failed ? -ENOMEM : 0;
}

int bj_page_write(const struct bj_snap *snap, enum bj_page_format format,
                  struct bj_page_heads *heads, struct bj_buf *out)
{
    struct bj_page p;
    struct bj_sink sink = bj_page_begin(&p, format, snap->cluster, heads, out);
    int r = bj_view_native(snap, &sink);
    if (r < 0)
        out->failed = true;
    return bj_page_end(&p);
}

/* --- the format that a client accepts --------------------------------------*/

/* Three forms match plain text; the most specific one counts. */
enum bj_page_format bj_accept_format(struct bj_slice accept)
{
    struct bj_accept_best text = {0}, open = {0};
    struct bj_accept_item it;
    while (bj_accept_next(&accept, &it)) {
        if (bj_accept_is(it.name, "application/openmetrics-text")) {
            if (it.version.n == 0 || bj_accept_is(it.version, "1.0.0") ||
                bj_accept_is(it.version, "0.0.1"))
                bj_accept_consider(&open, 1, it.weight);
        } else if (bj_accept_is(it.name, "text/plain")) {
            if (it.version.n == 0 || bj_accept_is(it.version, "0.0.4"))
                bj_accept_consider(&text, 3, it.weight);
        } else if (bj_accept_is(it.name, "text/*")) {
            bj_accept_consider(&text, 2, it.weight);
        } else if (bj_accept_is(it.name, "*/*")) {
            bj_accept_consider(&text, 1, it.weight);
        }
    }
    return open.weight > 0 && open.weight >= text.weight ? BJ_PAGE_OPENMETRICS
                                                         : BJ_PAGE_TEXT;
}
