#include "standalone/page.h"

#include "base/digits.h"
#include "core/find/ident.h"

const char *const bj_page_types[BJ_PAGE_FORMATS] = {
    [BJ_PAGE_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
    [BJ_PAGE_OPENMETRICS] =
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/* Room for a value, and for the brace, the blank and the newline around it. */
enum { TAIL_BYTES = BJ_DIGITS_ROOM + 3 };

/* Text of HELP: OpenMetrics escapes quotes as well. */
static void put_help(struct bj_page *p, const char *help)
{
    const char *special = p->format == BJ_PAGE_OPENMETRICS ? "\\\n\"" : "\\\n";
    for (;;) {
        size_t n = strcspn(help, special);
        bj_buf_put(p->out, help, n);
        help += n;
        if (!*help)
            return;
        bj_buf_put(p->out, "\\", 1);
        bj_buf_put(p->out, *help == '\n' ? "n" : help, 1);
        help++;
    }
}

/* The start of a comment: "# TYPE name ". */
static void put_comment(struct bj_page *p, const char *what,
                        struct bj_slice name)
{
    bj_buf_str(p->out, what);
    bj_buf_slice(p->out, name);
    bj_buf_put(p->out, " ", 1);
}

static bool is_info(const struct bj_table *t, const struct bj_metric *m)
{
    return t->info && strcmp(m->name, "info") == 0;
}

/* The comments above a family.  OpenMetrics names it without the suffix of its
 * samples. */
static void put_head(struct bj_page *p, const struct bj_table *t,
                     const struct bj_metric *m)
{
    static const char *const types[] = {
        [BJ_GAUGE] = "gauge", [BJ_COUNTER] = "counter"};
    const char *type = types[m->kind];
    const char *unit = bj_units[m->unit].prom;
    struct bj_slice name = {p->name.p, p->name.len};
    if (p->format == BJ_PAGE_OPENMETRICS && m->kind == BJ_COUNTER) {
        name.n -= strlen("_total");
    } else if (p->format == BJ_PAGE_OPENMETRICS && is_info(t, m)) {
        name.n -= strlen("_info");
        type = "info";
    }
    put_comment(p, "# HELP ", name);
    put_help(p, m->help);
    put_comment(p, "\n# TYPE ", name);
    bj_buf_str(p->out, type);
    if (p->format == BJ_PAGE_OPENMETRICS && *unit) {
        put_comment(p, "\n# UNIT ", name);
        bj_buf_str(p->out, unit + 1);
    }
    bj_buf_put(p->out, "\n", 1);
}

static int on_family(void *ctx, const struct bj_table *t,
                     const struct bj_metric *m)
{
    struct bj_page *p = ctx;
    p->micro = bj_units[m->unit].digits == 6;
    p->name.len = 0;
    bj_metric_prom_name(t, m, &p->name);
    p->start.len = 0;
    bj_buf_put(&p->start, p->name.p, p->name.len);
    bj_buf_put(&p->start, "{", 1);
    if (p->cluster.n > 0) {
        bj_buf_str(&p->start, "cluster=\"");
        bj_buf_label(&p->start, p->cluster);
        bj_buf_str(&p->start, "\",");
    }
    for (int i = 0; i < BJ_SUB_KEYS; i++) {
        p->keys[i].len = 0;
        if (t->label[i]) {
            bj_buf_str(&p->keys[i], t->label[i]);
            bj_buf_put(&p->keys[i], "=\"", 2);
        }
    }
    p->ninfo = 0;
    while (t->info && p->ninfo < BJ_PAGE_INFO_MAX && t->info[p->ninfo]) {
        p->info[p->ninfo] = bj_slice_str(t->info[p->ninfo]);
        p->ninfo++;
    }
    bool failed = p->name.failed || p->start.failed;
    for (int i = 0; i < BJ_SUB_KEYS; i++)
        failed |= p->keys[i].failed;
    if (failed)
        return -ENOMEM;
    put_head(p, t, m);
    return p->out->failed ? -ENOMEM : 0;
}

/* The hot path: every line asks for room once, and then writes at a cursor. */

static inline char *put(char *at, const char *p, size_t n)
{
    memcpy(at, p, n);
    return at + n;
}

/* A label value with its closing quote. */
static inline char *put_value(char *at, struct bj_slice s)
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

/* Most bytes that the labels of a sample can take, those of the job aside. */
static size_t label_bytes(const struct bj_page *p, const struct bj_sample *s)
{
    size_t n = 0;
    for (int i = 0; s->sub && i < BJ_SUB_KEYS; i++)
        n += p->keys[i].len + 2 * s->sub->key[i].n + 2;
    for (size_t i = 0; s->info && i < p->ninfo; i++)
        n += p->info[i].n + 2 + 2 * s->info[i].n + 2;
    return n;
}

static char *put_labels(const struct bj_page *p, const struct bj_sample *s,
                        char *at)
{
    for (int i = 0; s->sub && i < BJ_SUB_KEYS && p->keys[i].len > 0; i++) {
        at = put(at, p->keys[i].p, p->keys[i].len);
        at = put_value(at, s->sub->key[i]);
    }
    for (size_t i = 0; s->info && i < p->ninfo; i++) {
        if (s->info[i].n == 0)
            continue;
        at = put(at, p->info[i].p, p->info[i].n);
        at = put(at, "=\"", 2);
        at = put_value(at, s->info[i]);
    }
    return at;
}

static inline void put_number(const struct bj_page *p, uint64_t v, char *at)
{
    at = p->micro ? bj_digits_micro(at, v) : bj_digits_u64(at, v);
    *at++ = '\n';
    p->out->len = (size_t)(at - p->out->p);
}

/* A sample with labels of its own, or without a job.  Each label ends with a
 * comma, so that nobody has to know who was first; the last comma, or the brace
 * when there is no label, is written over. */
__attribute__((noinline)) static int put_other(const struct bj_page *p,
                                               const struct bj_sample *s)
{
    struct bj_buf *out = p->out;
    struct bj_slice job = {0};
    if (s->job)
        job = s->job->ident->labels;
    if (!bj_buf_room(out,
                     p->start.len + job.n + label_bytes(p, s) + TAIL_BYTES))
        return -ENOMEM;
    char *at = put(out->p + out->len, p->start.p, p->start.len);
    if (job.n > 0) {
        at = put(at, job.p, job.n);
        *at++ = ',';
    }
    at = put_labels(p, s, at);
    if (at[-1] == ',')
        *at++ = ' ';
    at[-1] = ' ';
    if (at[-2] == ',')
        at[-2] = '}';
    put_number(p, s->value, at);
    return 0;
}

/* Nearly all samples are of a job and have its labels only. */
static int on_sample(void *ctx, const struct bj_sample *s)
{
    const struct bj_page *p = ctx;
    struct bj_buf *out = p->out;
    if (!s->job || s->sub || s->info || s->job->ident->labels.n == 0)
        return put_other(p, s);
    const struct bj_slice *job = &s->job->ident->labels;
    if (!bj_buf_room(out, p->start.len + job->n + TAIL_BYTES))
        return -ENOMEM;
    char *at = put(out->p + out->len, p->start.p, p->start.len);
    at = put(at, job->p, job->n);
    memcpy(at, "} ", 2);
    put_number(p, s->value, at + 2);
    return 0;
}

struct bj_sink bj_page_begin(struct bj_page *p, enum bj_page_format format,
                             struct bj_slice cluster, struct bj_buf *out)
{
    *p = (struct bj_page){.out = out, .format = format, .cluster = cluster};
    return (struct bj_sink){p, on_family, on_sample};
}

int bj_page_end(struct bj_page *p)
{
    if (p->format == BJ_PAGE_OPENMETRICS)
        bj_buf_str(p->out, "# EOF\n");
    bj_buf_free(&p->name);
    bj_buf_free(&p->start);
    for (int i = 0; i < BJ_SUB_KEYS; i++)
        bj_buf_free(&p->keys[i]);
    return p->out->failed ? -ENOMEM : 0;
}

int bj_page_write(const struct bj_snap *snap, enum bj_page_format format,
                  struct bj_buf *out)
{
    struct bj_page p;
    struct bj_sink sink = bj_page_begin(&p, format, snap->cluster, out);
    int r = bj_view_native(snap, &sink);
    if (r < 0)
        out->failed = true;
    return bj_page_end(&p);
}
