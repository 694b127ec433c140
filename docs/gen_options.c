/* The options of the programs, for the manual pages. */
#include "docs/gen.h"

#include "core/conf.h"
#include "snmp-agent/conf.h"
#include "standalone/conf.h"

/* A list of options being written. */
struct page {
    struct bj_buf *out;
    enum bj_gen_style style;
    struct bj_slice group; /* the heading that was written last */
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

void bj_gen_roff(struct bj_buf *out, const char *s)
{
    put_bytes(out, s, strlen(s));
}

/* Write a paragraph in lines that mandoc accepts (80 bytes). */
void bj_gen_roff_lines(struct bj_buf *out, const char *s)
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
    const bool dashes = p->style == BJ_GEN_COMMAND_LINE;
    bj_buf_str(p->out, ".TP\n\\fB");
    if (p->style == BJ_GEN_COLLECTD) {
        put_camel_name(p->out, o->name);
    } else {
        bj_buf_str(p->out, dashes ? "\\-\\-" : "");
        bj_buf_str(p->out, dashes && o->kind == BJ_OPT_BOOL ? "[no\\-]" : "");
        bj_gen_roff(p->out, o->name);
    }
    bj_buf_str(p->out, "\\fR");
    if (!dashes || o->kind != BJ_OPT_BOOL) {
        const char *const between[] = {[BJ_GEN_COMMAND_LINE] = "=",
                                       [BJ_GEN_COLLECTD] = " ",
                                       [BJ_GEN_YAML] = ": "};
        bj_buf_str(p->out, o->bare ? "[=" : between[p->style]);
        bj_buf_str(p->out, "\\fI");
        bj_gen_roff(p->out, argument(o));
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
    bj_gen_roff_lines(p->out, o->help);
    if (o->more)
        bj_gen_roff_lines(p->out, o->more);
    if (o->kind == BJ_OPT_U64 && o->hi < INT64_MAX)
        bj_buf_printf(p->out, "From %llu to %llu.\n", (unsigned long long)o->lo,
                      (unsigned long long)o->hi);
    if (!o->preset || !*o->preset)
        return;
    bj_buf_str(p->out, "Default: ");
    bj_gen_roff(p->out, o->preset);
    bj_buf_str(p->out, ".\n");
}

void bj_gen_options(struct bj_buf *out, const struct bj_optset *sets, size_t n,
                    enum bj_gen_style style)
{
    struct page p = {.out = out, .style = style};
    bj_opt_walk(sets, n, put_option, &p);
}

void bj_gen_options_below(struct bj_buf *out, const char *heading,
                          const struct bj_optset *set)
{
    struct bj_slice group = bj_slice_str(heading);
    struct page p = {.out = out, .style = BJ_GEN_COMMAND_LINE, .group = group};
    bj_buf_printf(out, ".SS %s\n", heading);
    for (const struct bj_opt *o = set->opts; o->name; o++)
        put_option(&p, group, o);
}

int bj_gen_plugin_options(struct bj_buf *out)
{
    struct bj_conf conf;
    struct bj_optset sets[BJ_CONF_SETS];
    bj_conf_sets(&conf, sets);
    bj_gen_options(out, sets, BJ_CONF_SETS, BJ_GEN_COLLECTD);
    return 0;
}

int bj_gen_snmp_options(struct bj_buf *out)
{
    struct bj_snmp_conf conf;
    struct bj_optset sets[BJ_SNMP_SETS];
    bj_snmp_conf_sets(&conf, sets);
    bj_gen_options(out, sets, BJ_SNMP_SETS, BJ_GEN_COMMAND_LINE);
    return 0;
}

int bj_gen_exporter_options(struct bj_buf *out)
{
    struct bj_exporter_conf conf;
    struct bj_optset sets[BJ_EXPORTER_SETS];
    bj_exporter_conf_sets(&conf, sets);
    bj_gen_options(out, sets, BJ_EXPORTER_SETS, BJ_GEN_COMMAND_LINE);
    return 0;
}
