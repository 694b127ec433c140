#include "base/opt.h"

#include "base/opt_priv.h"
#include "base/opt_value.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A value for messages: clean and short. */
struct shown {
    char text[64];
};

static const char *show(struct bj_slice value, struct shown *s)
{
    bj_text_clean(value, s->text, sizeof(s->text));
    return s->text;
}

static void *field(const struct bj_optset *set, const struct bj_opt *o)
{
    return (char *)set->base + o->off;
}

/* A text as bool. */
static int set_bool(const struct bj_opt *o, bool *p, struct bj_slice value,
                    struct bj_err *err)
{
    static const char *const words[] = {"false", "true", "no", "yes",
                                        "off",   "on",   "0",  "1"};
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (value.n == strlen(words[i]) &&
            strncasecmp(value.p, words[i], value.n) == 0) {
            *p = i % 2;
            return 0;
        }
    struct shown s;
    return bj_err_set(err, -EINVAL, "%s: '%s' is not true or false", o->name,
                      show(value, &s));
}

static const char *plain_text(uint64_t v, char buf[static BJ_AMOUNT_MAX])
{
    snprintf(buf, BJ_AMOUNT_MAX, "%" PRIu64, v);
    return buf;
}

/* How the kinds of numbers are read and written. */
static const struct number {
    int (*parse)(struct bj_slice s, uint64_t *ret);
    const char *(*text)(uint64_t v, char buf[static BJ_AMOUNT_MAX]);
    const char *what;
} numbers[] = {
    [BJ_OPT_U64] = {bj_slice_u64, plain_text, "a whole number"},
    [BJ_OPT_DURATION] = {bj_duration_parse, bj_duration_text,
                         "a duration such as 250ms, 15s, 2m or 1h"},
    [BJ_OPT_SIZE] = {bj_size_parse, bj_size_text,
                     "a size such as 4096, 64K, 16M or 1G"},
};

static int set_number(const struct bj_opt *o, uint64_t *p,
                      struct bj_slice value, struct bj_err *err)
{
    const struct number *kind = &numbers[o->kind];
    uint64_t hi = o->hi > 0 ? o->hi : UINT64_MAX, v = 0;
    struct shown s;
    char lo_text[BJ_AMOUNT_MAX], hi_text[BJ_AMOUNT_MAX];
    int r = kind->parse(value, &v);
    if (r == -EINVAL)
        return bj_err_set(err, r, "%s: '%s' is not %s", o->name,
                          show(value, &s), kind->what);
    if (r == 0 && v >= o->lo && v <= hi) {
        *p = v;
        return 0;
    }
    return bj_err_set(err, -ERANGE, "%s: '%s' is not between %s and %s",
                      o->name, show(value, &s), kind->text(o->lo, lo_text),
                      kind->text(hi, hi_text));
}

/* "a|b|c" as "a, b, c". */
static void list_choices(const char *choices, char *buf, size_t cap)
{
    struct bj_slice rest = bj_slice_str(choices), word;
    size_t len = 0;
    buf[0] = '\0';
    while (len < cap && bj_slice_field(&rest, '|', &word))
        len += (size_t)snprintf(buf + len, cap - len, "%s%.*s",
                                len > 0 ? ", " : "", (int)word.n, word.p);
}

static int check_text(const struct bj_opt *o, struct bj_slice value,
                      struct bj_err *err)
{
    struct shown s;
    char list[120];
    if (value.n > 0 && memchr(value.p, '\0', value.n))
        return bj_err_set(err, -EINVAL, "%s: '%s' contains a NUL byte", o->name,
                          show(value, &s));
    if (!o->choices)
        return 0;
    struct bj_slice rest = bj_slice_str(o->choices), word;
    while (bj_slice_field(&rest, '|', &word))
        if (bj_slice_eq(word, value))
            return 0;
    list_choices(o->choices, list, sizeof(list));
    return bj_err_set(err, -EINVAL, "%s: '%s' is not one of %s", o->name,
                      show(value, &s), list);
}

/* A copy of the text, checked. */
static int opt_take_text(const struct bj_opt *o, struct bj_slice value,
                         char **ret, struct bj_err *err)
{
    int r = check_text(o, value, err);
    if (r < 0)
        return r;
    char *p = malloc(value.n + 1);
    if (!p)
        return bj_err_set(err, -ENOMEM, "%s", o->name);
    if (value.n > 0)
        memcpy(p, value.p, value.n);
    p[value.n] = '\0';
    if (o->check && value.n > 0 && (r = o->check(p, err)) < 0) {
        free(p);
        return bj_err_wrap(err, r, "%s", o->name);
    }
    *ret = p;
    return 0;
}

static int set_str(const struct bj_opt *o, char **p, struct bj_slice value,
                   struct bj_err *err)
{
    char *text;
    int r = opt_take_text(o, value, &text, err);
    if (r < 0)
        return r;
    free(*p);
    *p = text;
    return 0;
}

static int add_str(const struct bj_opt *o, struct bj_strv *list,
                   struct bj_slice value, struct bj_err *err)
{
    if (value.n == 0) {
        bj_strv_free(list);
        /* an array without texts: set, to nothing */
        list->v = calloc(1, sizeof(*list->v));
        return list->v ? 0 : bj_err_set(err, -ENOMEM, "%s", o->name);
    }
    if (list->n >= BJ_OPT_LIST_MAX)
        return bj_err_set(err, -ERANGE, "%s: more than %d values", o->name,
                          BJ_OPT_LIST_MAX);
    char *text;
    int r = opt_take_text(o, value, &text, err);
    if (r < 0)
        return r;
    return bj_strv_add(list, text) ? 0
                                   : bj_err_set(err, -ENOMEM, "%s", o->name);
}

/* Whether a value is a list with commas: where no single value has one. */
static bool has_commas(const struct bj_opt *o)
{
    return o->choices || (o->preset && strchr(o->preset, ','));
}

static int add_words(const struct bj_opt *o, struct bj_strv *list,
                     struct bj_slice rest, struct bj_err *err)
{
    struct bj_slice word;
    int r = 0;
    while (r == 0 && bj_slice_field(&rest, ',', &word))
        if (word.n > 0)
            r = add_str(o, list, word, err);
    return r;
}

/* Add "a,b"; "+a,b" adds to the preset. */
static int add_list(const struct bj_opt *o, struct bj_strv *list,
                    struct bj_slice value, struct bj_err *err)
{
    const size_t had = list->n;
    const bool was_set = list->v;
    int r = 0;
    if (value.n == 0 || !has_commas(o))
        return add_str(o, list, value, err);
    if (value.p[0] == '+') {
        value.p++;
        value.n--;
        if (!list->v && o->preset)
            r = add_words(o, list, bj_slice_str(o->preset), err);
    }
    if (r == 0)
        r = add_words(o, list, value, err);
    while (r < 0 && list->n > had)
        free(list->v[--list->n]);
    if (r < 0 && !was_set)
        bj_strv_free(list);
    return r;
}

/* Record that a source has set an option. */
static void note_set(const struct bj_optset *set, const struct bj_opt *o,
                     bool was_set)
{
    if (o->set_off > 0)
        *(bool *)((char *)set->base + o->set_off) = was_set;
}

static int assign(const struct bj_optset *set, const struct bj_opt *o,
                  struct bj_slice value, struct bj_err *err)
{
    switch (o->kind) {
    case BJ_OPT_BOOL:
        return set_bool(o, field(set, o), value, err);
    case BJ_OPT_U64:
    case BJ_OPT_DURATION:
    case BJ_OPT_SIZE:
        return set_number(o, field(set, o), value, err);
    case BJ_OPT_STR:
        return set_str(o, field(set, o), value, err);
    case BJ_OPT_LIST:
        return add_list(o, field(set, o), value, err);
    }
    return bj_err_set(err, -EINVAL, "%s: unknown kind of option", o->name);
}

int bj_opt_assign(const struct bj_optset *set, const struct bj_opt *o,
                  struct bj_slice value, struct bj_err *err)
{
    int r = assign(set, o, value, err);
    if (r == 0)
        note_set(set, o, true);
    return r;
}

static void clear(const struct bj_optset *set, const struct bj_opt *o)
{
    switch (o->kind) {
    case BJ_OPT_BOOL:
        *(bool *)field(set, o) = false;
        break;
    case BJ_OPT_U64:
    case BJ_OPT_DURATION:
    case BJ_OPT_SIZE:
        *(uint64_t *)field(set, o) = 0;
        break;
    case BJ_OPT_STR:
        free(*(char **)field(set, o));
        *(char **)field(set, o) = NULL;
        break;
    case BJ_OPT_LIST:
        bj_strv_free(field(set, o));
        break;
    }
}

int bj_opt_presets(const struct bj_optset *set, struct bj_err *err)
{
    for (const struct bj_opt *o = set->opts; o->name; o++) {
        clear(set, o);
        note_set(set, o, false);
        if (!o->preset || o->kind == BJ_OPT_LIST)
            continue;
        int r = assign(set, o, bj_slice_str(o->preset), err);
        if (r < 0)
            return bj_err_wrap(err, r, "preset");
    }
    return 0;
}

int bj_opt_finish(const struct bj_optset *set, struct bj_err *err)
{
    for (const struct bj_opt *o = set->opts; o->name; o++) {
        if (o->kind != BJ_OPT_LIST || !o->preset)
            continue;
        if (((const struct bj_strv *)field(set, o))->v)
            continue;
        struct bj_slice rest = bj_slice_str(o->preset), word;
        while (bj_slice_field(&rest, ',', &word)) {
            if (word.n == 0)
                continue;
            int r = assign(set, o, word, err);
            if (r < 0)
                return bj_err_wrap(err, r, "preset");
        }
    }
    return 0;
}

void bj_opt_free(const struct bj_optset *set)
{
    for (const struct bj_opt *o = set->opts; o->name; o++)
        if (o->kind == BJ_OPT_STR || o->kind == BJ_OPT_LIST)
            clear(set, o);
}

void bj_opt_restart(const struct bj_optset *set, const struct bj_opt *o)
{
    if (o->kind == BJ_OPT_LIST)
        clear(set, o);
}

/* The next significant letter of a name, in lower case; -1 at the end. */
static int next_letter(struct bj_slice *s)
{
    while (s->n > 0) {
        char c = *s->p++;
        s->n--;
        if (c != '.' && c != '-' && c != '_')
            return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : (unsigned char)c;
    }
    return -1;
}

static bool same_name(struct bj_slice a, struct bj_slice b)
{
    int x, y;
    do {
        x = next_letter(&a);
        y = next_letter(&b);
    } while (x == y && x >= 0);
    return x == y;
}

const struct bj_opt *bj_opt_find(const struct bj_optset *sets, size_t n,
                                 struct bj_slice name,
                                 const struct bj_optset **ret_set)
{
    for (size_t i = 0; i < n; i++)
        for (const struct bj_opt *o = sets[i].opts; o->name; o++)
            if (same_name(name, bj_slice_str(o->name))) {
                if (ret_set)
                    *ret_set = &sets[i];
                return o;
            }
    return NULL;
}

int bj_opt_set(const struct bj_optset *sets, size_t n, struct bj_slice name,
               struct bj_slice value, struct bj_err *err)
{
    const struct bj_optset *set;
    const struct bj_opt *o = bj_opt_find(sets, n, name, &set);
    struct shown s;
    if (!o)
        return bj_err_set(err, -EINVAL, "unknown option '%s'", show(name, &s));
    return bj_opt_assign(set, o, value, err);
}

int bj_optseen_add(struct bj_optseen *seen, const struct bj_opt *opt,
                   size_t len)
{
    for (size_t i = 0; i < seen->n; i++)
        if (seen->v[i].opt == opt && seen->v[i].len == len)
            return 0;
    if (!BJ_GROW(seen->v, seen->n + 1, seen->cap))
        return -ENOMEM;
    seen->v[seen->n++] = (struct bj_optseen_row){opt, len};
    return 1;
}

void bj_optseen_free(struct bj_optseen *seen)
{
    free(seen->v);
    *seen = (struct bj_optseen){0};
}

/* --- Options by group, for --help and the manual --------------------------*/

/* The word before the first dot; empty without a dot. */
static struct bj_slice prefix_of(const struct bj_opt *o)
{
    const char *dot = strchr(o->name, '.');
    return (struct bj_slice){o->name, dot ? (size_t)(dot - o->name) : 0};
}

/* Call fn for the options of a group; returns how many there are.  fn NULL:
 * only count. */
static size_t walk_group(const struct bj_optset *sets, size_t n,
                         struct bj_slice group, bj_opt_fn *fn, void *ctx)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (const struct bj_opt *o = sets[i].opts; o->name; o++) {
            if (!bj_slice_eq(prefix_of(o), group))
                continue;
            count++;
            if (fn)
                fn(ctx, group, o);
        }
    return count;
}

static bool is_first(const struct bj_optset *sets, const struct bj_opt *opt,
                     struct bj_slice group)
{
    for (;; sets++)
        for (const struct bj_opt *o = sets->opts; o->name; o++) {
            if (o == opt)
                return true;
            if (bj_slice_eq(prefix_of(o), group))
                return false;
        }
}

void bj_opt_walk(const struct bj_optset *sets, size_t n, bj_opt_fn *fn,
                 void *ctx)
{
    for (int general = 0; general < 2; general++)
        for (size_t i = 0; i < n; i++)
            for (const struct bj_opt *o = sets[i].opts; o->name; o++) {
                struct bj_slice group = prefix_of(o);
                bool alone =
                    group.n == 0 || walk_group(sets, n, group, NULL, NULL) == 1;
                if (alone && general)
                    fn(ctx, BJ_SLICE("general"), o);
                else if (!alone && !general && is_first(sets, o, group))
                    walk_group(sets, n, group, fn, ctx);
            }
}

/* --- The option that a misspelt name was meant to be ----------------------*/

enum { NAME_MAX_BYTES = 64 };

/* The first parts of a name, as many as parts; a part ends at a dot. */
static struct bj_slice first_parts(const char *name, size_t parts)
{
    size_t n = 0;
    for (; name[n]; n++)
        if (name[n] == '.' && --parts == 0)
            break;
    return (struct bj_slice){name, n};
}

static size_t count_parts(struct bj_slice s)
{
    size_t parts = 1;
    for (size_t i = 0; i < s.n; i++)
        parts += s.p[i] == '.';
    return parts;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Characters to insert, delete, replace or swap with the next one to get from a
 * to b (optimal string alignment).  Both have at most NAME_MAX_BYTES. */
static unsigned distance(struct bj_slice a, struct bj_slice b)
{
    unsigned row[3][NAME_MAX_BYTES + 1];
    for (size_t j = 0; j <= b.n; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned *now = row[i % 3];
        const unsigned *before = row[(i - 1) % 3], *older = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b.n; j++) {
            now[j] = least(before[j - 1] + (a.p[i - 1] != b.p[j - 1]),
                           least(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] &&
                a.p[i - 2] == b.p[j - 1])
                now[j] = least(now[j], older[j - 2] + 1);
        }
    }
    return row[a.n % 3][b.n];
}

/* The most similar name so far. */
struct best {
    unsigned distance;
    struct bj_slice name;
};

static struct best opt_begin(struct bj_slice name)
{
    return (struct best){.distance = 2 + (unsigned)name.n / 8};
}

static void opt_compare(struct best *best, struct bj_slice name,
                        struct bj_slice s)
{
    if (name.n > NAME_MAX_BYTES || s.n > NAME_MAX_BYTES)
        return;
    unsigned d = distance(name, s);
    if (d < best->distance && 2 * d < s.n)
        *best = (struct best){d, s};
}

static const char *show_best(const struct best *best,
                             char buf[static BJ_OPT_SUGGESTION])
{
    buf[0] = '\0';
    if (best->name.n > 0)
        snprintf(buf, BJ_OPT_SUGGESTION, "; did you mean '%.*s'?",
                 (int)best->name.n, best->name.p);
    return buf;
}

const char *bj_suggest(struct bj_slice name,
                       const char *(*at)(const void *ctx, size_t i),
                       const void *ctx, char buf[static BJ_OPT_SUGGESTION])
{
    struct best best = opt_begin(name);
    const char *s;
    for (size_t i = 0; (s = at(ctx, i)) != NULL; i++)
        opt_compare(&best, name, bj_slice_str(s));
    return show_best(&best, buf);
}

const char *bj_suggest_or_list(struct bj_slice name,
                               const char *(*at)(const void *ctx, size_t i),
                               const void *ctx, char *buf, size_t cap)
{
    char like[BJ_OPT_SUGGESTION], shown[48];
    const char *s;
    bj_suggest(name, at, ctx, like);
    bj_text_clean(name, shown, sizeof(shown));
    int len = snprintf(buf, cap, "'%s' is unknown%s", shown, like);
    for (size_t i = 0; !like[0] && (s = at(ctx, i)) && (size_t)len < cap; i++)
        len += snprintf(buf + len, cap - (size_t)len, "%s%s",
                        i ? ", " : "; expected ", s);
    return buf;
}

const char *bj_opt_suggest(const struct bj_optset *sets, size_t n,
                           struct bj_slice name,
                           char buf[static BJ_OPT_SUGGESTION])
{
    const size_t parts = count_parts(name);
    struct best best = opt_begin(name);
    for (size_t i = 0; i < n; i++)
        for (const struct bj_opt *o = sets[i].opts; o->name; o++)
            opt_compare(&best, name, first_parts(o->name, parts));
    return show_best(&best, buf);
}

/* --- help ------------------------------------------------------------------*/

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

/* --- the command line ------------------------------------------------------*/

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

static int opt_split(const char *text, struct arg *a, struct bj_err *err)
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

static int opt_find(const struct line *l, struct arg *a)
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
    int r = opt_split(*l->next++, &a, l->err);
    if (r == 0)
        r = opt_find(l, &a);
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

/* --- positional arguments ---------------------------------------------------
 */

/* Replace "-u" by "--user", if the letter is known. */
static char *opt_spell_out(struct bj_opt_letter *letters, char *arg)
{
    const bool letter = arg[0] == '-' && arg[1] && arg[1] != '-' && !arg[2];
    for (struct bj_opt_letter *l = letters; letter && l && l->letter; l++)
        if (l->letter == arg[1])
            return l->option;
    return arg;
}

/* Is the next argument the value of this one? */
static bool opt_wants_value(const struct bj_optset *sets, size_t n,
                            const char *arg)
{
    if (strncmp(arg, "--", 2) != 0 || strchr(arg, '='))
        return false;
    const struct bj_opt *o = bj_opt_find(sets, n, bj_slice_str(arg + 2), NULL);
    return o && o->kind != BJ_OPT_BOOL && !o->bare;
}

size_t bj_opt_words(const struct bj_optset *sets, size_t n,
                    struct bj_opt_letter *letters, int *argc, char **argv,
                    char **word)
{
    size_t words = 0;
    int kept = *argc > 0;
    bool value = false, rest = false;
    for (int i = kept; i < *argc; i++) {
        char *arg = argv[i];
        if (!rest && !value && strcmp(arg, "--") == 0) {
            rest = true;
        } else if (rest || (!value && (arg[0] != '-' || !arg[1]))) {
            word[words++] = arg;
        } else {
            arg = value ? arg : opt_spell_out(letters, arg);
            value = !value && opt_wants_value(sets, n, arg);
            argv[kept++] = arg;
        }
    }
    argv[kept] = NULL;
    *argc = kept;
    word[words] = NULL;
    return words;
}
