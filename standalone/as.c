#include "standalone/as.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A flag on the command line. */
struct given {
    const struct bj_as_flag *flag;
    const char *value; /* NULL: none yet */
    bool no;           /* --no-x */
};

/* --- values -------------------------------------------------------------- */

/* As Go's strconv.ParseBool; -1: neither. */
static int parse_bool(const char *s)
{
    static const char *const words[2][7] = {
        {"0", "f", "F", "false", "FALSE", "False", NULL},
        {"1", "t", "T", "true", "TRUE", "True", NULL}};
    for (int v = 0; v < 2; v++)
        for (int i = 0; words[v][i]; i++)
            if (strcmp(s, words[v][i]) == 0)
                return v;
    return -1;
}

static int as_refuse(const struct bj_as_flag *f, const char *value,
                     struct bj_err *err)
{
    char shown[80];
    bj_text_clean(bj_slice_str(value), shown, sizeof(shown));
    return bj_err_set(err, -EINVAL, "%s: '%s': %s", f->name, shown,
                      f->why ? f->why : "not supported");
}

static int apply(struct bj_as *as, const struct given *g, struct bj_err *err)
{
    const struct bj_as_flag *f = g->flag;
    const uint64_t bit = 1ull << (f - as->program->flags);
    const char *value = g->value, *to = f->to;
    as->seen |= bit;
    if (f->is_switch) {
        int on = parse_bool(value);
        if (on < 0)
            return bj_err_set(err, -EINVAL, "%s: '%.40s' is not true or false",
                              f->name, value);
        if (g->no)
            on = !on;
        value = on ? "true" : "false";
        to = on ? f->to : f->off;
        as->on = on ? as->on | bit : as->on & ~bit;
    }
    if (f->only && strcmp(value, f->only) != 0)
        return as_refuse(f, value, err);
    if (f->take)
        return f->take(as, f, value, err);
    return to ? bj_as_add_words(as, to, value, err) : 0;
}

/* --- flags --------------------------------------------------------------- */

static int unknown(const char *arg, struct bj_err *err)
{
    char shown[80];
    bj_text_clean(bj_slice_str(arg), shown, sizeof(shown));
    return bj_err_set(err, -EINVAL, "unknown flag '%s'", shown);
}

/* By name; for argparse also by a unique prefix of it. */
static const struct bj_as_flag *as_by_name(const struct bj_as_program *p,
                                           struct bj_slice name)
{
    const struct bj_as_flag *found = NULL;
    unsigned n = 0;
    for (const struct bj_as_flag *f = p->flags; f->name; f++) {
        if (f->only_env)
            continue;
        if (bj_slice_eq(bj_slice_str(f->name), name))
            return f;
        if (p->syntax == BJ_AS_ARGPARSE &&
            bj_slice_starts(bj_slice_str(f->name), name)) {
            found = f;
            n++;
        }
    }
    return n == 1 && name.n > 0 ? found : NULL;
}

static bool find_long(const struct bj_as_program *p, struct bj_slice name,
                      struct given *g)
{
    g->flag = as_by_name(p, name);
    if (g->flag || p->syntax != BJ_AS_KINGPIN ||
        !bj_slice_starts(name, BJ_SLICE("no-")))
        return g->flag;
    g->flag = as_by_name(p, (struct bj_slice){name.p + 3, name.n - 3});
    g->no = true;
    return g->flag && g->flag->is_switch;
}

static bool find_letter(const struct bj_as_program *p, char letter,
                        struct given *g)
{
    for (const struct bj_as_flag *f = p->flags; f->name; f++)
        if (f->letter == letter && letter) {
            g->flag = f;
            return true;
        }
    return false;
}

/* Find the flag of an argument, and the value in it. */
static bool read_flag(const struct bj_as_program *p, const char *arg,
                      struct given *g)
{
    const char *name = arg + 1;
    if (arg[0] != '-' || arg[1] == '\0')
        return false;
    if (*name == '-')
        name++;
    else if (p->syntax != BJ_AS_GO) {
        if (arg[2])
            g->value = arg[2] == '=' ? arg + 3 : arg + 2;
        return find_letter(p, arg[1], g);
    }
    const char *eq = strchr(name, '=');
    if (eq)
        g->value = eq + 1;
    return find_long(
        p, (struct bj_slice){name, eq ? (size_t)(eq - name) : strlen(name)}, g);
}

static bool is_help(const struct bj_as_program *p, const char *arg)
{
    return strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0 ||
           (p->syntax == BJ_AS_GO && strcmp(arg, "-help") == 0);
}

/* A switch of argparse and kingpin takes no value, not even with "=". */
static int check_value(const struct bj_as_program *p, const struct given *g,
                       const char *next, struct bj_err *err)
{
    if (g->flag->is_switch && g->value && p->syntax != BJ_AS_GO)
        return bj_err_set(err, -EINVAL, "%s takes no value", g->flag->name);
    if (!g->flag->is_switch && !g->value && !next)
        return bj_err_set(err, -EINVAL, "%s needs a value", g->flag->name);
    return 0;
}

static int take_args(struct bj_as *as, int argc, char **argv, bool *help,
                     struct bj_err *err)
{
    int r = 0;
    for (int i = 1; i < argc && r == 0; i++) {
        struct given g = {0};
        if (strcmp(argv[i], "--") == 0) {
            while (++i < argc && r == 0)
                r = bj_as_add(as, argv[i], NULL, err);
            break;
        }
        if (is_help(as->program, argv[i])) {
            *help = true;
            return 0;
        }
        if (!read_flag(as->program, argv[i], &g))
            return unknown(argv[i], err);
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        r = check_value(as->program, &g, next, err);
        if (r == 0 && g.flag->is_switch && !g.value)
            g.value = "true";
        if (r == 0 && !g.value) {
            g.value = next;
            i++;
        }
        if (r == 0)
            r = apply(as, &g, err);
    }
    return r;
}

static int take_env(struct bj_as *as, struct bj_err *err)
{
    int r = 0;
    for (const struct bj_as_flag *f = as->program->flags; f->name && r == 0;
         f++) {
        const char *value = f->env ? getenv(f->env) : NULL;
        struct given g = {.flag = f, .value = value};
        if (value && *value)
            r = apply(as, &g, err);
    }
    return r;
}

/* Switches that were not given are off. */
static int take_rest(struct bj_as *as, struct bj_err *err)
{
    int r = 0;
    for (const struct bj_as_flag *f = as->program->flags; f->name && r == 0;
         f++)
        if (f->is_switch && f->off && !f->take &&
            !(as->seen & 1ull << (f - as->program->flags)))
            r = bj_as_add_words(as, f->off, "false", err);
    return r;
}

int bj_as_translate(const struct bj_as_program *p, int argc, char **argv,
                    struct bj_as *ret, bool *help, struct bj_err *err)
{
    *ret = (struct bj_as){.program = p};
    *help = false;
    int r = bj_as_add(ret, argc > 0 ? argv[0] : "", NULL, err);
    if (r == 0 && p->first)
        r = bj_as_add_words(ret, p->first, "", err);
    if (r == 0)
        r = take_env(ret, err);
    struct bj_as behind = {.program = p, .seen = ret->seen, .on = ret->on};
    if (r == 0)
        r = take_args(&behind, argc, argv, help, err);
    ret->seen = behind.seen;
    ret->on = behind.on;
    if (r == 0 && !*help)
        r = take_rest(ret, err);
    if (r == 0 && !*help && p->end)
        r = p->end(ret, err);
    /* The command line goes last, since it takes precedence. */
    for (size_t i = 0; i < behind.argv.n && r == 0; i++)
        r = bj_as_add(ret, behind.argv.v[i], NULL, err);
    bj_as_free(&behind);
    return r < 0 ? bj_err_wrap(err, r, "%s", p->names[0]) : 0;
}

void bj_as_free(struct bj_as *as)
{
    bj_strv_free(&as->argv);
    as->argv = (struct bj_strv){0};
}

/* --- names --------------------------------------------------------------- */

static const struct bj_as_program *as_find_name(struct bj_slice name)
{
    for (size_t i = 0; bj_as_programs[i]; i++)
        for (size_t k = 0; bj_as_programs[i]->names[k]; k++)
            if (bj_slice_eq(bj_slice_str(bj_as_programs[i]->names[k]), name))
                return bj_as_programs[i];
    return NULL;
}

static struct bj_slice base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct bj_slice name = bj_slice_str(slash ? slash + 1 : path);
    if (name.n > 3 && memcmp(name.p + name.n - 3, ".py", 3) == 0)
        name.n -= 3;
    return name;
}

int bj_as_find(int argc, char **argv, const struct bj_as_program **ret,
               int *ret_skip, struct bj_err *err)
{
    const char *name = NULL;
    *ret = NULL;
    *ret_skip = 0;
    if (argc > 1 && strncmp(argv[1], "--as=", 5) == 0) {
        name = argv[1] + 5;
        *ret_skip = 1;
    } else if (argc > 1 && strcmp(argv[1], "--as") == 0) {
        name = argc > 2 ? argv[2] : "";
        *ret_skip = 2;
    } else if (argc > 0) {
        *ret = as_find_name(base_name(argv[0]));
        return 0;
    }
    if (name)
        *ret = as_find_name(bj_slice_str(name));
    if (!name || *ret)
        return 0;
    struct bj_buf all = {0};
    for (size_t i = 0; bj_as_programs[i]; i++)
        bj_buf_printf(&all, "%s%s", i ? ", " : "", bj_as_programs[i]->names[0]);
    bj_buf_put(&all, "", 1);
    bj_err_set(err, -EINVAL, "--as: '%.40s' is not one of %s", name,
               all.failed ? "those in docs/dialects.md" : all.p);
    bj_buf_free(&all);
    return -EINVAL;
}

void bj_as_help(const struct bj_as_program *p, struct bj_buf *out)
{
    const char *dash = p->syntax == BJ_AS_GO ? "-" : "--";
    bj_buf_printf(
        out,
        "batchjob_exporter with the command line of %s.\nFlags and the options "
        "they set. Options of batchjob_exporter follow after --.\n\n",
        p->names[0]);
    for (const struct bj_as_flag *f = p->flags; f->name; f++) {
        if (f->letter)
            bj_buf_printf(out, "  -%c,", f->letter);
        if (!f->only_env)
            bj_buf_printf(out, "  %s%s%s", dash, f->name,
                          f->is_switch ? "" : "=VALUE");
        if (f->env)
            bj_buf_printf(out, "  $%s", f->env);
        if (f->to)
            bj_buf_printf(out, ": %s", f->to);
        else if (f->why)
            bj_buf_printf(out, ": %s", f->why);
        bj_buf_str(out, "\n");
    }
}
