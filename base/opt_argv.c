#include "base/opt.h"
#include "base/opt_priv.h"
#include "base/text.h"

/* A command line being read. */
struct line {
    const struct bj_optset *sets;
    size_t n;
    char **next, **end;
    struct bj_optseen seen;
    struct bj_err *err;
};

/* One argument, split. */
struct arg {
    struct bj_slice name;  /* without dashes */
    struct bj_slice value; /* after "=" */
    bool has_value;
    const struct bj_optset *set; /* the set of its option */
    const struct bj_opt *opt;
    bool no; /* it was "--no-name" */
};

/* -h and -V, which every program has. */
static const char *long_name(const char *text)
{
    return strcmp(text, "-h") == 0   ? "--help"
           : strcmp(text, "-V") == 0 ? "--version"
                                     : text;
}

static int split(const char *text, struct arg *a, struct bj_err *err)
{
    char shown[80];
    struct bj_slice s = bj_slice_str(long_name(text));
    bj_text_clean(s, shown, sizeof(shown));
    if (!bj_slice_starts(s, BJ_SLICE("--")) || s.n == 2)
        return bj_err_set(
            err, -EINVAL,
            s.n > 1 && s.p[0] == '-' && s.p[1] != '-'
                ? "'%s': options begin with two dashes (--help lists them)"
                : "'%s' is not an option",
            shown);
    s.p += 2;
    s.n -= 2;
    const char *eq = memchr(s.p, '=', s.n);
    *a = (struct arg){.name = s, .has_value = eq};
    if (eq) {
        a->name.n = (size_t)(eq - s.p);
        a->value = (struct bj_slice){eq + 1, s.n - a->name.n - 1};
    }
    return 0;
}

static int find(const struct line *l, struct arg *a)
{
    char shown[80], meant[BJ_OPT_SUGGESTION];
    a->opt = bj_opt_find(l->sets, l->n, a->name, &a->set);
    if (a->opt)
        return 0;
    if (bj_slice_starts(a->name, BJ_SLICE("no-"))) {
        struct bj_slice name = {a->name.p + 3, a->name.n - 3};
        a->opt = bj_opt_find(l->sets, l->n, name, &a->set);
        a->no = true;
        if (a->opt && a->opt->kind == BJ_OPT_BOOL)
            return 0;
    }
    bj_text_clean(a->name, shown, sizeof(shown));
    return bj_err_set(l->err, -EINVAL,
                      "unknown option '--%s'%s (--help lists them)", shown,
                      bj_opt_suggest(l->sets, l->n, a->name, meant));
}

/* The value: after "=", what the option means without one, or the next
 * argument. */
static int take_value(struct line *l, struct arg *a)
{
    if (a->has_value)
        return a->no ? bj_err_set(l->err, -EINVAL, "--no-%s takes no value",
                                  a->opt->name)
                     : 0;
    if (a->opt->kind == BJ_OPT_BOOL) {
        a->value = a->no ? BJ_SLICE("false") : BJ_SLICE("true");
        return 0;
    }
    if (a->opt->bare) {
        a->value = bj_slice_str(a->opt->bare);
        return 0;
    }
    if (l->next == l->end || strncmp(*l->next, "--", 2) == 0)
        return bj_err_set(l->err, -EINVAL, "--%s needs a value", a->opt->name);
    a->value = bj_slice_str(*l->next++);
    return 0;
}

static int next_arg(struct line *l)
{
    struct arg a;
    int r = split(*l->next++, &a, l->err);
    if (r == 0)
        r = find(l, &a);
    if (r == 0)
        r = take_value(l, &a);
    if (r < 0)
        return r;
    r = bj_optseen_add(&l->seen, a.opt, 0);
    if (r < 0)
        return bj_err_set(l->err, r, "--%s", a.opt->name);
    if (r > 0)
        bj_opt_restart(a.set, a.opt);
    return bj_opt_assign(a.set, a.opt, a.value, l->err);
}

int bj_opt_argv(const struct bj_optset *sets, size_t n, int argc, char **argv,
                struct bj_err *err)
{
    struct line l = {.sets = sets, .n = n, .err = err};
    int r = 0;
    if (argc > 0) {
        l.next = argv + 1;
        l.end = argv + argc;
    }
    while (l.next < l.end && r == 0)
        r = next_arg(&l);
    bj_optseen_free(&l.seen);
    return r;
}
