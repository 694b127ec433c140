#include "standalone/dialect.h"

#include "base/digits.h"
#include "base/text.h"

#include <errno.h>

/* Space for the end of a line: brace, blank, sign, value, newline. */
enum {
    TAIL_BYTES = BJ_DIGITS_ROOM + 4,
    KEYS = BJ_INFO_MAX,
    NAME_BYTES = 100 /* of a family; tested */
};

struct page {
    struct bj_buf *out;
    enum bj_page_format format;
    const struct bj_dialect_options *options;
    /* The current family. */
    bool excluded;
    size_t start_len, key_len[KEYS];
    char start[BJ_PREFIX_BYTES + NAME_BYTES + 1]; /* name{ */
    const char *const *key;
};

/* HELP texts need no escapes; tested. */
static void put_comment(struct page *p, const char *what, size_t name_len,
                        const char *text)
{
    bj_buf_str(p->out, what);
    bj_buf_put(p->out, p->start, name_len);
    bj_buf_put(p->out, " ", 1);
    bj_buf_str(p->out, text);
    bj_buf_put(p->out, "\n", 1);
}

static int on_family(void *ctx, const struct bj_dialect_row *row,
                     const char *const *key)
{
    struct page *p = ctx;
    const char *prefix = p->options->prefix ? p->options->prefix : "";
    size_t before = strnlen(prefix, BJ_PREFIX_BYTES);
    size_t family = before + strnlen(row->name, NAME_BYTES);
    memcpy(p->start, prefix, before);
    memcpy(p->start + before, row->name, family - before);
    p->key = key;
    for (size_t i = 0; key[i]; i++)
        p->key_len[i] = strlen(key[i]);
    p->start[family] = '{';
    p->start_len = family + 1;
    p->excluded = bj_dialect_options_excludes(
        p->options, (struct bj_slice){p->start, family});
    if (p->excluded)
        return 0;
    if (p->format == BJ_PAGE_OPENMETRICS && row->kind == BJ_COUNTER)
        family -= strlen("_total");
    put_comment(p, "# HELP ", family, row->help);
    put_comment(p, "# TYPE ", family,
                row->kind == BJ_COUNTER ? "counter" : "gauge");
    return p->out->failed ? -ENOMEM : 0;
}

static inline char *put(char *at, const char *from, size_t n)
{
    memcpy(at, from, n);
    return at + n;
}

/* A label value, its closing quote and a comma. */
static char *put_value(char *at, struct bj_slice s)
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

static size_t key_bytes(const struct page *p, const struct bj_slice *value)
{
    size_t n = 0;
    for (size_t i = 0; p->key[i]; i++)
        n += p->key_len[i] + 2 + 2 * value[i].n + 2;
    return n;
}

/* The end of a line. Replaces the comma after the last label, or the brace when
 * there is no label. */
static inline void put_end(struct page *p, const struct bj_dialect_sample *s,
                           char *at)
{
    if (at[-1] == ',') {
        at[-1] = '}';
        *at++ = ' ';
    } else {
        at[-1] = ' ';
    }
    if (s->digits == BJ_DIGITS_MINUS)
        *at++ = '-';
    at = s->digits == BJ_DIGITS_MICRO ? bj_digits_micro(at, s->value)
                                      : bj_digits_u64(at, s->value);
    *at++ = '\n';
    p->out->len = (size_t)(at - p->out->p);
}

/* A sample with the family's own labels. */
__attribute__((noinline)) static int
put_other(struct page *p, const struct bj_dialect_sample *s)
{
    struct bj_buf *out = p->out;
    if (!bj_buf_room(out, p->start_len + s->labels.n + key_bytes(p, s->key) +
                              TAIL_BYTES))
        return -ENOMEM;
    char *at = put(out->p + out->len, p->start, p->start_len);
    if (s->labels.n > 0)
        at = put(at, s->labels.p, s->labels.n);
    for (size_t i = 0; p->key[i]; i++) {
        at = put(at, p->key[i], p->key_len[i]);
        at = put(at, "=\"", 2);
        at = put_value(at, s->key[i]);
    }
    put_end(p, s, at);
    return 0;
}

/* Nearly all samples have only the labels of their job. Space is reserved once
 * a line. */
static int on_sample(void *ctx, const struct bj_dialect_sample *s)
{
    struct page *p = ctx;
    struct bj_buf *out = p->out;
    if (p->excluded)
        return 0;
    if (s->key)
        return put_other(p, s);
    if (!bj_buf_room(out, p->start_len + s->labels.n + TAIL_BYTES))
        return -ENOMEM;
    char *at = put(out->p + out->len, p->start, p->start_len);
    if (s->labels.n > 0)
        at = put(at, s->labels.p, s->labels.n);
    put_end(p, s, at);
    return 0;
}

int bj_dialect_page(const struct bj_dialect *d, const struct bj_snap *snap,
                    const struct bj_dialect_options *options,
                    enum bj_page_format format, struct bj_dialect_room *room,
                    struct bj_buf *out)
{
    struct page p = {.out = out, .format = format, .options = options};
    const struct bj_dialect_sink sink = {&p, on_family, on_sample};
    if (bj_view_dialect(d, snap, &options->env, room, &sink) < 0)
        out->failed = true;
    if (format == BJ_PAGE_OPENMETRICS)
        bj_buf_str(out, "# EOF\n");
    return out->failed ? -ENOMEM : 0;
}
