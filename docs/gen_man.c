/* Manual pages: prose from a template (docs/man/NAME.in), whose line @OPTIONS@
 * is replaced by the options of the tables. */
#include "docs/gen.h"

#include "base/opt.h"
#include "core/conf.h"
#include "standalone/conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TEMPLATE_MAX = 65536 };

/* A list of options being written. */
struct page {
    struct bj_buf *out;
    bool collectd; /* write names as in collectd's files */
    struct bj_slice group;
};

/* roff interprets backslashes, and dashes as hyphens. */
static void put_bytes(struct bj_buf *out, const char *s, size_t n)
{
    for (; n; s++, n--) {
        if (*s == '\\' || *s == '-')
            bj_buf_str(out, "\\");
        bj_buf_put(out, *s == '\\' ? "e" : s, 1);
    }
}

static void put_text(struct bj_buf *out, const char *s)
{
    put_bytes(out, s, strlen(s));
}

/* Write a paragraph in lines that mandoc accepts (80 bytes). */
static void put_lines(struct bj_buf *out, const char *s)
{
    size_t column = 0;
    while (*s) {
        size_t n = strcspn(s, " ");
        bool fits = column && column + n <= 66;
        bj_buf_str(out, fits ? " " : column ? "\n" : "");
        bj_buf_str(out, !fits && (*s == '.' || *s == '\'') ? "\\&" : "");
        put_bytes(out, s, n);
        column = fits ? column + n + 1 : n;
        s += n + strspn(s + n, " ");
    }
    bj_buf_str(out, "\n");
}

/* "path.procfs" as collectd's files write it: PathProcfs. */
static void put_camel_name(struct bj_buf *out, const char *name)
{
    bool upper = true;
    for (; *name; name++) {
        char c = *name;
        if (c == '.' || c == '-' || c == '_') {
            upper = true;
            continue;
        }
        if (upper && c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        upper = false;
        bj_buf_put(out, &c, 1);
    }
}

static const char *argument(const struct bj_opt *o)
{
    static const char *const kinds[] = {
        [BJ_OPT_BOOL] = "true|false",   [BJ_OPT_U64] = "number",
        [BJ_OPT_DURATION] = "duration", [BJ_OPT_SIZE] = "size",
        [BJ_OPT_STR] = "text",          [BJ_OPT_LIST] = "text"};
    return o->choices ? o->choices : o->arg ? o->arg : kinds[o->kind];
}

static void put_title(const struct page *p, const struct bj_opt *o)
{
    bj_buf_str(p->out, ".TP\n\\fB");
    if (p->collectd) {
        put_camel_name(p->out, o->name);
    } else {
        bj_buf_str(p->out, "\\-\\-");
        bj_buf_str(p->out, o->kind == BJ_OPT_BOOL ? "[no\\-]" : "");
        put_text(p->out, o->name);
    }
    bj_buf_str(p->out, "\\fR");
    if (p->collectd || o->kind != BJ_OPT_BOOL) {
        bj_buf_str(p->out, o->bare ? "[=" : p->collectd ? " " : "=");
        bj_buf_str(p->out, "\\fI");
        put_text(p->out, argument(o));
        bj_buf_str(p->out, o->bare ? "\\fR]" : "\\fR");
    }
    bj_buf_str(p->out, o->kind == BJ_OPT_LIST ? " (repeatable)\n" : "\n");
}

static void put_option(void *ctx, struct bj_slice group, const struct bj_opt *o)
{
    struct page *p = ctx;
    if (!bj_slice_eq(p->group, group)) {
        bj_buf_str(p->out, ".SS ");
        bj_buf_slice(p->out, group);
        bj_buf_str(p->out, "\n");
        p->group = group;
    }
    put_title(p, o);
    put_lines(p->out, o->help);
    if (o->more)
        put_lines(p->out, o->more);
    if (o->kind == BJ_OPT_U64)
        bj_buf_printf(p->out, "From %llu to %llu.\n", (unsigned long long)o->lo,
                      (unsigned long long)o->hi);
    if (!o->preset || !*o->preset)
        return;
    bj_buf_str(p->out, "Default: ");
    put_text(p->out, o->preset);
    bj_buf_str(p->out, ".\n");
}

static int fill(const char *template, const struct bj_optset *sets, size_t n,
                bool collectd, struct bj_buf *out)
{
    static char text[TEMPLATE_MAX];
    FILE *f = fopen(template, "r");
    if (!f)
        return -errno;
    struct bj_slice rest = {text, fread(text, 1, sizeof(text), f)}, line;
    fclose(f);
    bj_buf_printf(out, ".\\\" Generated from %s and the option tables.\n",
                  template);
    while (bj_slice_line(&rest, &line)) {
        if (bj_slice_eq(line, BJ_SLICE("@OPTIONS@"))) {
            struct page p = {.out = out, .collectd = collectd};
            bj_opt_walk(sets, n, put_option, &p);
            continue;
        }
        bj_buf_slice(out, line);
        bj_buf_str(out, "\n");
    }
    return 0;
}

int bj_gen_man_plugin(struct bj_buf *out)
{
    struct bj_conf conf;
    struct bj_optset sets[BJ_CONF_SETS];
    bj_conf_sets(&conf, sets);
    return fill("docs/man/collectd-batchjob.5.in", sets, BJ_CONF_SETS, true,
                out);
}

int bj_gen_man_exporter(struct bj_buf *out)
{
    struct bj_exporter_conf conf;
    struct bj_optset sets[BJ_EXPORTER_SETS];
    bj_exporter_conf_sets(&conf, sets);
    return fill("docs/man/batchjob_exporter.8.in", sets, BJ_EXPORTER_SETS,
                false, out);
}
