#include "base/local.h"

#include "base/array.h"
#include "base/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 9 }; /* directives of one part */

static _Thread_local const struct bj_locals *used;

/* --- the set ---------------------------------------------------------------
 */

/* The index of the text, or where to insert it. */
static size_t local_place(const struct bj_locals *l, struct bj_slice s,
                          bool *found)
{
    size_t from = 0, to = l->n;
    *found = false;
    while (from < to && !*found) {
        size_t at = from + (to - from) / 2;
        const struct bj_slice e = l->text[at].english;
        int c = memcmp(s.p, e.p, s.n < e.n ? s.n : e.n);
        c = c != 0 ? c : (s.n > e.n) - (s.n < e.n);
        *found = c == 0;
        from = c > 0 ? at + 1 : c == 0 ? at : from;
        to = c < 0 ? at : to;
    }
    return from;
}

void bj_locals_add(struct bj_locals *l, struct bj_slice english,
                   struct bj_slice text)
{
    bool found;
    size_t at = local_place(l, english, &found);
    if (!found && !BJ_GROW(l->text, l->n + 1, l->cap)) {
        l->arena.failed = 1;
        return;
    }
    if (!found) {
        memmove(l->text + at + 1, l->text + at,
                (l->n++ - at) * sizeof(*l->text));
        l->text[at].english = bj_arena_copy(&l->arena, english);
    }
    struct bj_buf html = {0};
    bj_html_text(&html, text);
    l->text[at].text = bj_arena_copy(&l->arena, text);
    l->text[at].html =
        bj_arena_copy(&l->arena, (struct bj_slice){html.p, html.len});
    l->arena.failed |= html.failed;
    bj_buf_free(&html);
}

bool bj_locals_has(const struct bj_locals *l, struct bj_slice english)
{
    bool found;
    local_place(l, english, &found);
    return found;
}

void bj_locals_free(struct bj_locals *l)
{
    used = used == l ? NULL : used;
    bj_arena_free(&l->arena);
    free(l->text);
    *l = (struct bj_locals){.n = 0};
}

void bj_locals_use(const struct bj_locals *l)
{
    used = l && l->n > 0 ? l : NULL;
}

const struct bj_locals *bj_locals_used(void)
{
    return used;
}

static const struct bj_local_text *local_find(struct bj_slice english)
{
    bool found = false;
    size_t at = used ? local_place(used, english, &found) : 0;
    return found ? &used->text[at] : NULL;
}

struct bj_slice bj_local_slice(struct bj_slice english)
{
    const struct bj_local_text *t = local_find(english);
    return t ? t->text : english;
}

const char *bj_local(const char *english)
{
    return bj_local_slice(bj_slice_str(english)).p;
}

const char *bj_local_escaped(const char *english)
{
    const struct bj_local_text *t = local_find(bj_slice_str(english));
    return t ? t->html.p : english;
}

/* --- formats ---------------------------------------------------------------
 */

/* A directive without its %, such as "zu", and its argument. */
struct directive {
    struct bj_slice s;
    unsigned arg;
};

struct format {
    struct bj_buf out, part;
    bool html, plain; /* plain: without directives */
    unsigned args;
    unsigned values; /* of the part */
    struct directive value[VALUES];
};

static void put_directive(struct bj_buf *out, const struct directive *d)
{
    bj_buf_printf(out, "%%%u$", d->arg);
    bj_buf_slice(out, d->s);
}

static void put_percents(struct bj_buf *out, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        bj_buf_put(out, s.p[i] == '%' ? "%%" : s.p + i, s.p[i] == '%' ? 2 : 1);
}

/* Text of a part: escaped, and its {1} made directives again. */
static void put_part(struct format *f, struct bj_slice s)
{
    struct bj_buf text = {0};
    if (f->html)
        bj_html_text(&text, s);
    else
        bj_buf_slice(&text, s);
    s = (struct bj_slice){text.p, text.len};
    for (size_t i = 0; i < s.n; i++) {
        const char *p = s.p + i;
        unsigned n = i + 2 < s.n && *p == '{' && p[2] == '}'
                         ? (unsigned)(p[1] - '1')
                         : VALUES;
        if (n >= f->values) {
            put_percents(&f->out, (struct bj_slice){p, 1});
            continue;
        }
        put_directive(&f->out, &f->value[n]);
        i += 2;
    }
    f->out.failed |= text.failed;
    bj_buf_free(&text);
}

/* Read the directive at s, after its %; returns its length. */
static size_t take_directive(struct format *f, const char *s, bool in_part)
{
    const struct directive d = {{s, strcspn(s, "diucsfgxX") + 1}, ++f->args};
    if (!in_part)
        put_directive(&f->out, &d);
    else if (f->values < VALUES) {
        f->value[f->values++] = d;
        bj_buf_printf(&f->part, "{%u}", f->values);
    }
    return d.s.n;
}

static void convert(struct format *f, const char *fmt)
{
    bool in_part = false;
    for (const char *p = fmt; *p; p++) {
        struct bj_buf *to = in_part ? &f->part : &f->out;
        if (*p == '%' && f->plain) {
            bj_buf_str(to, in_part ? "%" : "%%");
        } else if (*p == '%' && p[1] == '%') {
            bj_buf_str(to, in_part ? "%" : "%%");
            p++;
        } else if (*p == '%') {
            p += take_directive(f, p + 1, in_part);
        } else if (*p == '{' && !in_part) {
            in_part = true;
            f->part.len = f->values = 0;
        } else if (*p == '}' && in_part) {
            in_part = false;
            put_part(f,
                     bj_local_slice((struct bj_slice){f->part.p, f->part.len}));
        } else {
            bj_buf_put(to, p, 1);
        }
    }
    bj_buf_put(&f->out, "", 1);
}

/* The format is a literal, the % of replaced texts are doubled, and a catalogue
 * is only accepted with the same directives. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void local_put(struct bj_buf *b, struct format f, const char *fmt,
                      va_list ap)
{
    char *text = NULL;
    convert(&f, fmt);
    bool failed = f.out.failed || f.part.failed;
    int n = failed ? -1 : vasprintf(&text, f.out.p, ap);
    if (n >= 0)
        bj_buf_put(b, text, (size_t)n);
    if (n >= 0)
        free(text);
    b->failed |= n < 0;
    bj_buf_free(&f.out);
    bj_buf_free(&f.part);
}

void bj_local_put(struct bj_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    local_put(b, (struct format){.html = false}, fmt, ap);
    va_end(ap);
}

void bj_local_html(struct bj_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    local_put(b, (struct format){.html = true}, fmt, ap);
    va_end(ap);
}

static void put_plain(struct bj_buf *b, bool html, const char *text, ...)
{
    va_list ap;
    va_start(ap, text);
    local_put(b, (struct format){.html = html, .plain = true}, text, ap);
    va_end(ap);
}

void bj_local_str(struct bj_buf *b, const char *text)
{
    put_plain(b, false, text);
}

void bj_local_html_str(struct bj_buf *b, const char *text)
{
    put_plain(b, true, text);
}
