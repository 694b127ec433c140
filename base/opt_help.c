#include "base/opt.h"

#include <stdio.h>

enum { INDENT = 6, HELP_COLUMN = 32, WIDTH = 80 };

static void put_blanks(struct bj_buf *out, size_t n)
{
    while (n-- > 0)
        bj_buf_put(out, " ", 1);
}

/* --path.procfs="/proc", --max-jobs=1024, --[no-]open-fds. */
static void put_flag(struct bj_buf *out, const struct bj_opt *o)
{
    static const char *const args[] = {
        [BJ_OPT_BOOL] = "",         [BJ_OPT_U64] = "N",
        [BJ_OPT_DURATION] = "TIME", [BJ_OPT_SIZE] = "BYTES",
        [BJ_OPT_STR] = "TEXT",      [BJ_OPT_LIST] = "TEXT",
    };
    bool text = o->kind == BJ_OPT_STR || o->kind == BJ_OPT_LIST;
    if (o->kind == BJ_OPT_BOOL)
        bj_buf_printf(out, "--[no-]%s", o->name);
    else if (o->bare)
        bj_buf_printf(out, "--%s[=%s]", o->name, o->choices);
    else if (o->preset)
        bj_buf_printf(out, text ? "--%s=\"%s\"" : "--%s=%s", o->name,
                      o->preset);
    else
        bj_buf_printf(out, "--%s=%s", o->name, o->arg ? o->arg : args[o->kind]);
    if (o->kind == BJ_OPT_LIST)
        bj_buf_str(out, " ...");
}

/* The help, or only its first sentence, and what the flag does not show. */
static void put_help(struct bj_buf *out, const struct bj_opt *o, bool all)
{
    const char *help = o->help ? o->help : "";
    const char *end = all ? NULL : strstr(help, ". ");
    bj_buf_put(out, help, end ? (size_t)(end + 1 - help) : strlen(help));
    if (o->choices) {
        struct bj_slice rest = bj_slice_str(o->choices), word;
        const char *sep = " One of: ";
        while (bj_slice_field(&rest, '|', &word)) {
            bj_buf_str(out, sep);
            bj_buf_slice(out, word);
            sep = ", ";
        }
        bj_buf_str(out, ".");
    }
    if (o->kind == BJ_OPT_BOOL)
        bj_buf_printf(out, " (default: %s)", o->preset ? o->preset : "false");
}

/* Words of s from HELP_COLUMN on; the line is already at columns long. */
static void put_wrapped(struct bj_buf *out, struct bj_slice s, size_t at)
{
    struct bj_slice word;
    bool first = true;
    while (bj_slice_word(&s, &word)) {
        bool wraps = !first && at + 1 + word.n > WIDTH;
        if (wraps) {
            bj_buf_str(out, "\n");
            at = 0;
        }
        size_t gap = at < HELP_COLUMN ? HELP_COLUMN - at : !first;
        put_blanks(out, gap);
        bj_buf_slice(out, word);
        at += gap + word.n;
        first = false;
    }
    bj_buf_str(out, "\n");
}

static void put_option(struct bj_buf *out, const struct bj_opt *o, bool all,
                       struct bj_buf *help)
{
    put_blanks(out, INDENT);
    size_t from = out->len;
    put_flag(out, o);
    size_t at = INDENT + out->len - from;
    if (at + 2 > HELP_COLUMN) {
        bj_buf_str(out, "\n");
        at = 0;
    }
    help->len = 0;
    put_help(help, o, all);
    put_wrapped(out, (struct bj_slice){help->p, help->len}, at);
}

/* A page of --help being written. */
struct page {
    struct bj_buf *out, help;
    struct bj_slice group; /* of the last option */
    bool all;
};

static void show_option(void *ctx, struct bj_slice group,
                        const struct bj_opt *o)
{
    struct page *p = ctx;
    if (o->rare && !p->all)
        return;
    if (!bj_slice_eq(p->group, group)) {
        bj_buf_str(p->out, "\n");
        bj_buf_slice(p->out, group);
        bj_buf_str(p->out, ":\n");
        p->group = group;
    }
    put_option(p->out, o, p->all, &p->help);
}

void bj_opt_help(const struct bj_optset *set, struct bj_buf *out)
{
    struct bj_buf help = {0};
    for (const struct bj_opt *o = set->opts; o->name; o++)
        put_option(out, o, true, &help);
    if (help.failed)
        out->failed = true;
    bj_buf_free(&help);
}

void bj_opt_help_groups(const struct bj_optset *sets, size_t n, bool all,
                        struct bj_buf *out)
{
    struct page p = {.out = out, .all = all};
    bj_opt_walk(sets, n, show_option, &p);
    if (p.help.failed)
        out->failed = true;
    bj_buf_free(&p.help);
}
